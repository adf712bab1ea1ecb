//! Random contracts, made of the patterns that published ones are made of: `allOf` with references
//! and refinement, marks, tagged and untagged unions, `null`, maps, recursion, vocabularies, constants,
//! formats, bounds, conditions, odd names. A shape is drawn first; from it come the schema that a
//! contract would write and values that fit it, so the two can be held against each other.
//!
//! The build script generates a client of one such contract; tests draw more of them.

#![allow(
    clippy::indexing_slicing,
    unreachable_pub,
    dead_code,
    missing_docs,
    reason = "a part of the build script and of tests, each of which uses some of it"
)]

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The contract that the build script generates: its seed and its number of schemas.
pub const COMPILED: (u64, usize) = (0x2026_0408, 200);

/// Where decisions come from: a seed, or a tape whose end means the simplest choice.
#[derive(Debug)]
pub struct Choices {
    tape: Option<Vec<u8>>,
    state: u64,
}

impl Choices {
    pub fn seeded(seed: u64) -> Self {
        Self {
            tape: None,
            state: seed,
        }
    }

    pub fn of(mut tape: Vec<u8>) -> Self {
        tape.reverse();
        Self {
            tape: Some(tape),
            state: 0,
        }
    }

    fn next(&mut self) -> u64 {
        if let Some(tape) = &mut self.tape {
            return tape.pop().map_or(0, u64::from);
        }
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % (bound.max(1) as u64)).unwrap_or(0)
    }

    /// True once in `times`; never when the tape has ended.
    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }

    fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// Which view of a schema a value fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Response,
    /// The request of a `create` operation.
    Create,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Omitted,
    Optional,
    Required,
}

#[derive(Clone, Debug)]
struct Member {
    name: String,
    shape: Shape,
    required: bool,
    /// A mark's keyword and its value.
    mark: Option<(&'static str, Value)>,
    /// Declared only by a branch that a condition guards.
    conditional: bool,
}

impl Member {
    fn plain(name: &str, shape: Shape, required: bool) -> Self {
        Self {
            name: name.to_owned(),
            shape,
            required,
            mark: None,
            conditional: false,
        }
    }

    fn presence(&self, view: View) -> Presence {
        let keyword = match view {
            View::Response => "ucp_response",
            View::Create => "ucp_request",
        };
        let mark = self
            .mark
            .as_ref()
            .filter(|(found, _)| *found == keyword)
            .map(|(_, mark)| mark);
        let said = mark.and_then(|mark| match mark {
            Value::Object(forms) => {
                let form = forms
                    .get("transition")
                    .map(|_| mark)
                    .or_else(|| forms.get("create"))?;
                form.get("transition")
                    .and_then(|transition| transition.get("from"))
                    .unwrap_or(form)
                    .as_str()
            }
            other => other.as_str(),
        });
        match said {
            Some("omit") => Presence::Omitted,
            Some("optional") => Presence::Optional,
            Some("required") => Presence::Required,
            _ if self.required => Presence::Required,
            _ => Presence::Optional,
        }
    }
}

/// What a value is.
#[derive(Clone, Debug)]
enum Shape {
    Any,
    Bool,
    Integer(i64, i64),
    Number,
    /// A text with what restricts it, and texts that fit.
    Text(Value, &'static [&'static str]),
    /// `const` and `enum` of anything.
    Fixed(Vec<Value>),
    Vocabulary(Vec<String>),
    List(Box<Shape>),
    Map(Box<Shape>),
    FreeForm,
    Nullable(Box<Shape>),
    OneOrMany(Box<Shape>),
    Object(Vec<Member>),
    Tagged(String, Vec<(String, Vec<Member>)>),
    /// Arms with the member that only they require; the last has none.
    Untagged(Vec<Vec<Member>>),
    /// Alternatives of which some are no objects.
    Mixed(Vec<Shape>),
    /// The definition that encloses this place.
    Enclosing(usize),
    Definition(usize, Box<Shape>),
}

const NAMES: [&str; 36] = [
    "id",
    "type",
    "note",
    "self",
    "Self",
    "3ds",
    "a-b",
    "a.b",
    "a_b",
    "new",
    "extra",
    "fn",
    "crate",
    "dev.ucp.buyer_ip",
    "com.acme.x",
    "a/b~c",
    "Lot Bar",
    "café",
    "",
    "_",
    "__",
    "$ref",
    "$defs",
    "properties",
    "token",
    "credential",
    "value",
    "values",
    "body",
    "sink",
    "members",
    "validate",
    "update_from",
    "as_str",
    "SKU",
    "sku",
];
const DEFINITIONS: [&str; 16] = [
    "line",
    "dev.ucp.shopping.cart",
    "3d",
    "Vec",
    "option",
    "Box",
    "a b",
    "error",
    "base",
    "String",
    "wire",
    "client",
    "check",
    "operations",
    "a/b",
    "Unknown",
];
const WORDS: [&str; 12] = [
    "shipping", "pickup", "", "3d", "Self", "unknown", "Unknown", "a b", "A B", "a-b", "self",
    "émoi",
];

/// A contract: its files, and the shapes of the members of its one body.
#[derive(Debug)]
pub struct Book {
    pub files: BTreeMap<String, Value>,
    shapes: Vec<Shape>,
    definitions: BTreeMap<usize, Shape>,
}

const FILES: [&str; 2] = ["all.json", "more.json"];

impl Book {
    /// A contract with `count` schemas: `rest.json` with one operation `create_all`, whose request and
    /// answer have the members `s0`, `s1`, ….
    pub fn new(choices: &mut Choices, count: usize) -> Self {
        let mut draft = Draft {
            choices,
            files: [Map::new(), Map::new()],
            definitions: BTreeMap::new(),
            next: 0,
        };
        let mut shapes = Vec::new();
        let mut properties = Map::new();
        for index in 0..count {
            let shape = draft.shape(2, None);
            let schema = draft.schema(&shape, 0);
            let schema = draft.placed(schema, 0);
            properties.insert(format!("s{index}"), schema);
            shapes.push(shape);
        }
        let [all, more] = draft.files;
        let definitions = draft.definitions;
        let body =
            json!({ "content": { "application/json": { "schema": { "$ref": "all.json" } } } });
        let mut answer = body.clone();
        answer["description"] = json!("Done");
        let rest = json!({
            "openapi": "3.1.0",
            "info": { "title": "All" },
            "paths": { "/all": { "post": { "operationId": "create_all", "requestBody": body, "responses": { "200": answer } } } },
        });
        // Something that differs by view, so that there always is a request type.
        properties.insert(
            "marked".to_owned(),
            json!({ "type": "string", "ucp_request": "omit" }),
        );
        let all = json!({ "name": "dev.ucp.shopping.all", "title": "All", "type": "object", "properties": properties, "$defs": all });
        let files = [
            ("rest.json".to_owned(), rest),
            (FILES[0].to_owned(), all),
            (
                FILES[1].to_owned(),
                json!({ "title": "More", "$defs": more }),
            ),
        ];
        Self {
            files: files.into(),
            shapes,
            definitions,
        }
    }

    /// A value that fits a schema in a view, with members here and there that no schema declares.
    pub fn instance(&self, index: usize, view: View, choices: &mut Choices) -> Value {
        self.value(&self.shapes[index], view, choices, 4)
    }

    fn value(&self, shape: &Shape, view: View, choices: &mut Choices, depth: usize) -> Value {
        match shape {
            Shape::Any => choices
                .pick(&[
                    json!("any"),
                    json!(null),
                    json!([1, "x"]),
                    json!({ "a": 1.5 }),
                    json!(true),
                    json!(-7),
                ])
                .clone(),
            Shape::Bool => json!(choices.one_in(2)),
            Shape::Integer(low, high) => {
                let integer =
                    *choices.pick(&[*low, *high, (low / 2 + high / 2).clamp(*low, *high)]);
                // An integral float is the same integer.
                if choices.one_in(6) && integer.unsigned_abs() < 1 << 50 {
                    json!(integer as f64)
                } else {
                    json!(integer)
                }
            }
            Shape::Number => choices
                .pick(&[
                    json!(0.5),
                    json!(4),
                    json!(-1e300),
                    json!(0.0),
                    json!(9_007_199_254_740_991_i64),
                ])
                .clone(),
            Shape::Text(_, samples) => json!(*choices.pick(samples)),
            Shape::Fixed(values) => choices.pick(values).clone(),
            Shape::Vocabulary(words) => json!(choices.pick(words)),
            Shape::List(_) | Shape::Map(_) if depth == 0 => {
                if matches!(shape, Shape::List(_)) {
                    json!([])
                } else {
                    json!({})
                }
            }
            Shape::List(item) => {
                let count = choices.below(3);
                (0..count)
                    .map(|_| self.value(item, view, choices, depth - 1))
                    .collect()
            }
            Shape::Map(item) => {
                let count = choices.below(3);
                let keys = ["k", "a b", "type", "ucp"];
                let entries = (0..count).map(|_| {
                    let key = (*choices.pick(&keys)).to_owned();
                    (key, self.value(item, view, choices, depth - 1))
                });
                Value::Object(entries.collect())
            }
            Shape::FreeForm => choices
                .pick(&[json!({}), json!({ "x": [null, { "y": 1 }] })])
                .clone(),
            Shape::Nullable(inner) => {
                if choices.one_in(3) {
                    Value::Null
                } else {
                    self.value(inner, view, choices, depth)
                }
            }
            Shape::OneOrMany(one) => {
                let one = self.value(one, view, choices, depth);
                if choices.one_in(2) { json!([one]) } else { one }
            }
            Shape::Object(members) => self.object(members, view, choices, depth),
            Shape::Tagged(tag, arms) => {
                let (word, members) = choices.pick(arms);
                let mut object = self.object(members, view, choices, depth);
                object[tag] = json!(word);
                object
            }
            Shape::Untagged(arms) => {
                let members = choices.pick(arms);
                self.object(members, view, choices, depth)
            }
            Shape::Mixed(arms) => {
                let arm = choices.pick(arms);
                self.value(arm, view, choices, depth)
            }
            Shape::Enclosing(id) => self.value(
                &self.definitions[id],
                view,
                choices,
                depth.saturating_sub(1),
            ),
            Shape::Definition(_, shape) => self.value(shape, view, choices, depth),
        }
    }

    fn object(&self, members: &[Member], view: View, choices: &mut Choices, depth: usize) -> Value {
        let mut object = Map::new();
        for member in members {
            let there = match member.presence(view) {
                Presence::Omitted => false,
                Presence::Required => true,
                Presence::Optional => depth > 0 && !choices.one_in(3),
            };
            if there {
                let value = self.value(&member.shape, view, choices, depth.saturating_sub(1));
                object.insert(member.name.clone(), value);
            }
        }
        if choices.one_in(4) {
            let unknown = choices
                .pick(&[
                    json!(1),
                    json!({ "deep": [null] }),
                    json!(null),
                    json!("text"),
                ])
                .clone();
            object.insert("x_not_declared".to_owned(), unknown);
        }
        Value::Object(object)
    }
}

/// A contract that is being drawn.
struct Draft<'c> {
    choices: &'c mut Choices,
    files: [Map<String, Value>; 2],
    definitions: BTreeMap<usize, Shape>,
    next: usize,
}

impl Draft<'_> {
    fn shape(&mut self, depth: usize, enclosing: Option<usize>) -> Shape {
        let leaves = 9;
        let kinds = if depth == 0 { leaves } else { leaves + 13 };
        match self.choices.below(kinds) {
            0 => Shape::Text(json!({ "type": "string" }), &["text", "", "é\u{1F600}\"\\"]),
            1 => Shape::Bool,
            2 => self.integer(),
            3 => Shape::Number,
            4 => self.text(),
            5 => self.fixed(),
            6 => self.vocabulary(),
            7 => Shape::Any,
            8 => Shape::FreeForm,
            9 => Shape::List(Box::new(self.shape(depth - 1, enclosing))),
            10 => Shape::Map(Box::new(self.shape(depth - 1, enclosing))),
            11 => match self.shape(depth - 1, enclosing) {
                any @ (Shape::Any | Shape::Nullable(_) | Shape::Fixed(_)) => any,
                inner => Shape::Nullable(Box::new(inner)),
            },
            12 => {
                let one = match self.choices.below(3) {
                    0 => self.text(),
                    1 => self.integer(),
                    _ => Shape::Object(self.members(1, None)),
                };
                Shape::OneOrMany(Box::new(one))
            }
            13 | 14 => self.tagged(depth),
            15 => self.untagged(depth),
            16 => Shape::Mixed(vec![
                self.text(),
                Shape::Bool,
                Shape::Object(self.members(0, None)),
            ]),
            17 => self.recursive(depth),
            _ => Shape::Object(self.members(depth, enclosing)),
        }
    }

    fn integer(&mut self) -> Shape {
        let safe = 9_007_199_254_740_991;
        let (low, high) = *self.choices.pick(&[
            (i64::MIN, i64::MAX),
            (0, i64::MAX),
            (1, 10),
            (-safe, safe),
            (0, safe),
            (-5, -5),
        ]);
        Shape::Integer(low, high)
    }

    fn text(&mut self) -> Shape {
        let (rules, samples): (Value, &'static [&'static str]) = match self.choices.below(7) {
            0 => (json!({}), &["x", "ü"]),
            1 => (
                json!({ "format": "date-time" }),
                &["2026-04-08T10:00:00.000+02:00", "2026-04-08T10:00:00Z"],
            ),
            2 => (
                json!({ "format": "uri" }),
                &[
                    "https://shop.example/a?b=c#d",
                    "HTTPS://Shop.Example:443/%7e",
                ],
            ),
            3 => (
                json!({ "format": "uuid" }),
                &["048DA4DD-9d3c-4184-8cce-43348688fad0"],
            ),
            4 => (json!({ "pattern": "^[a-z]{2,5}$" }), &["ab", "abcde"]),
            5 => (json!({ "minLength": 1, "maxLength": 4 }), &["a", "éééé"]),
            _ => (json!({ "format": "uri-reference" }), &["/a?b", "../c"]),
        };
        let mut schema = rules;
        schema["type"] = json!("string");
        Shape::Text(schema, samples)
    }

    fn fixed(&mut self) -> Shape {
        Shape::Fixed(match self.choices.below(6) {
            0 => vec![json!("only")],
            1 => vec![json!(true)],
            2 => vec![json!(7)],
            3 => vec![json!(1), json!(2), json!(3)],
            4 => vec![json!("mixed"), json!(1), json!(false)],
            _ => vec![json!({ "a": [1] })],
        })
    }

    fn vocabulary(&mut self) -> Shape {
        let mut words: Vec<String> = Vec::new();
        for _ in 0..=self.choices.below(5) {
            let word = (*self.choices.pick(&WORDS)).to_owned();
            if !words.contains(&word) {
                words.push(word);
            }
        }
        Shape::Vocabulary(words)
    }

    fn members(&mut self, depth: usize, enclosing: Option<usize>) -> Vec<Member> {
        let mut members: Vec<Member> = Vec::new();
        for _ in 0..=self.choices.below(4) {
            let name = (*self.choices.pick(&NAMES)).to_owned();
            if members.iter().any(|member| member.name == name) {
                continue;
            }
            let shape = self.shape(depth.saturating_sub(1), enclosing);
            let mark = self.mark();
            let mut member = Member {
                name,
                shape,
                required: self.choices.one_in(2),
                mark,
                conditional: false,
            };
            if self.choices.one_in(8) {
                member = Member {
                    conditional: true,
                    required: false,
                    mark: None,
                    ..member
                };
            }
            members.push(member);
        }
        // A schema whose only members are conditional has a shape of its own kind; give it one more.
        if members.iter().all(|member| member.conditional) {
            members.push(Member::plain("anchor", Shape::Bool, false));
        }
        members
    }

    fn mark(&mut self) -> Option<(&'static str, Value)> {
        let word = *self.choices.pick(&["omit", "optional", "required"]);
        let mark = match self.choices.below(14) {
            7 | 8 => json!(word),
            9 => json!({ "create": word, "update": "omit" }),
            10 => json!({ "update": word }),
            11 => json!({ "create": { "transition": { "from": word, "to": "omit" } } }),
            12 => {
                json!({ "transition": { "from": word, "to": "omit", "description": "it moves" } })
            }
            13 => return Some(("ucp_response", json!(word))),
            _ => return None,
        };
        Some(("ucp_request", mark))
    }

    fn tagged(&mut self, depth: usize) -> Shape {
        let tag = *self.choices.pick(&["type", "kind", "fn"]);
        let count = 2 + self.choices.below(2);
        let arms = ["error", "3d", "Self"].into_iter().take(count).map(|word| {
            let mut members = self.members(depth - 1, None);
            members.retain(|member| member.name != tag);
            (word.to_owned(), members)
        });
        Shape::Tagged(tag.to_owned(), arms.collect())
    }

    fn untagged(&mut self, depth: usize) -> Shape {
        let text = || Shape::Text(json!({ "type": "string" }), &["text"]);
        let mut arms = Vec::new();
        for only in ["only-a", "only b"]
            .into_iter()
            .take(1 + self.choices.below(2))
        {
            let mut members = self.members(depth - 1, None);
            members.push(Member::plain(only, text(), true));
            arms.push(members);
        }
        let mut rest = self.members(depth - 1, None);
        rest.push(Member::plain("street", text(), false));
        // The last arm requires nothing that tells it apart.
        for member in &mut rest {
            member.required = false;
            member.mark = None;
        }
        arms.push(rest);
        Shape::Untagged(arms)
    }

    fn recursive(&mut self, depth: usize) -> Shape {
        let id = self.next;
        self.next += 1;
        let mut members = self.members(depth - 1, Some(id));
        let back = || Box::new(Shape::Enclosing(id));
        let again = match self.choices.below(4) {
            0 => Shape::List(back()),
            1 => Shape::Map(back()),
            2 => Shape::Enclosing(id),
            _ => Shape::Nullable(Box::new(Shape::List(back()))),
        };
        members.push(Member::plain("again", again, false));
        let shape = Shape::Object(members);
        self.definitions.insert(id, shape.clone());
        Shape::Definition(id, Box::new(shape))
    }

    /// A schema as a contract would write it.
    fn schema(&mut self, shape: &Shape, file: usize) -> Value {
        let mut schema = match shape {
            Shape::Any => json!({}),
            Shape::Bool => json!({ "type": "boolean" }),
            Shape::Integer(low, high) => {
                let mut schema = json!({ "type": "integer" });
                if *low != i64::MIN {
                    schema["minimum"] = json!(low);
                }
                if *high != i64::MAX {
                    schema["maximum"] = json!(high);
                }
                schema
            }
            Shape::Number => json!({ "type": "number" }),
            Shape::Text(schema, _) => schema.clone(),
            Shape::Fixed(values) => match values.as_slice() {
                [one] => json!({ "const": one }),
                many => json!({ "enum": many }),
            },
            Shape::Vocabulary(words) => json!({ "type": "string", "enum": words }),
            Shape::List(item) => {
                let items = self.schema(item, file);
                json!({ "type": "array", "items": self.placed(items, file) })
            }
            Shape::Map(item) => {
                let values = self.schema(item, file);
                json!({ "type": "object", "additionalProperties": self.placed(values, file) })
            }
            Shape::FreeForm => json!({ "type": "object", "additionalProperties": true }),
            Shape::Nullable(inner) => self.nullable(inner, file),
            Shape::OneOrMany(one) => {
                let one = self.schema(one, file);
                let one = self.placed(one, file);
                json!({ "oneOf": [one, { "type": "array", "items": one }] })
            }
            Shape::Object(members) => self.object(members, file),
            Shape::Tagged(tag, arms) => {
                let mut branches = Vec::new();
                for (word, members) in arms {
                    let mut members = members.clone();
                    members.insert(0, Member::plain(tag, Shape::Fixed(vec![json!(word)]), true));
                    let arm = self.object(&members, file);
                    branches.push(self.placed(arm, file));
                }
                json!({ "oneOf": branches })
            }
            Shape::Untagged(arms) => {
                // Objects are open, so that what fits one arm may fit the last one too.
                let mut branches = Vec::new();
                for members in arms {
                    let arm = self.object(members, file);
                    branches.push(self.placed(arm, file));
                }
                json!({ "anyOf": branches })
            }
            Shape::Mixed(arms) => {
                let arms: Vec<Value> = arms.iter().map(|arm| self.schema(arm, file)).collect();
                json!({ "anyOf": arms })
            }
            Shape::Enclosing(id) => reference(file, recursive(*id), self.home(*id)),
            Shape::Definition(id, shape) => {
                let home = self.home(*id);
                let schema = self.schema(shape, home);
                self.files[home].insert(recursive(*id), schema);
                reference(file, recursive(*id), home)
            }
        };
        if self.choices.one_in(8) {
            schema["description"] = json!("What it is:\n  `x` \"quoted\" */ [link] <b>");
        }
        schema
    }

    fn home(&self, id: usize) -> usize {
        id % FILES.len()
    }

    /// A schema where it stands, or as a definition in a file of its own.
    fn placed(&mut self, mut schema: Value, file: usize) -> Value {
        if !self.choices.one_in(3) {
            return schema;
        }
        // What refers within its file must stay in it.
        let home = if schema.to_string().contains("\"#") {
            file
        } else {
            self.choices.below(FILES.len())
        };
        if self.choices.one_in(4) {
            schema["title"] = json!("Some title");
        }
        let name = format!("{}{}", self.choices.pick(&DEFINITIONS), self.next);
        self.next += 1;
        self.files[home].insert(name.clone(), schema);
        reference(file, name, home)
    }

    fn nullable(&mut self, inner: &Shape, file: usize) -> Value {
        let mut schema = self.schema(inner, file);
        let kind = schema
            .get("type")
            .and_then(Value::as_str)
            .map(ToOwned::to_owned);
        match kind {
            Some(kind) => {
                schema["type"] = json!([kind, "null"]);
                if let Some(Value::Array(values)) = schema.get_mut("enum") {
                    values.push(Value::Null);
                }
                schema
            }
            None => json!({ "oneOf": [schema, { "type": "null" }] }),
        }
    }

    fn object(&mut self, members: &[Member], file: usize) -> Value {
        let mut properties = Map::new();
        let mut weak = Map::new();
        let mut guarded = Map::new();
        let mut required = Vec::new();
        let mut required_apart = Vec::new();
        for member in members {
            let schema = self.schema(&member.shape, file);
            let mut schema = self.placed(schema, file);
            if member.conditional {
                guarded.insert(member.name.clone(), schema);
                continue;
            }
            let mut general = match schema.get("type") {
                Some(kind @ Value::String(_)) => json!({ "type": kind }),
                _ => json!({}),
            };
            if let Some((keyword, mark)) = &member.mark {
                schema[*keyword] = mark.clone();
                general[*keyword] = mark.clone();
            }
            if member.required {
                if member.mark.is_none() && self.choices.one_in(2) {
                    required_apart.push(member.name.clone());
                } else {
                    required.push(member.name.clone());
                }
            }
            weak.insert(member.name.clone(), general);
            properties.insert(member.name.clone(), schema);
        }
        let own = |properties: Map<String, Value>, required: &[String]| {
            let mut schema = json!({ "type": "object", "properties": properties });
            if !required.is_empty() {
                schema["required"] = json!(required);
            }
            schema
        };
        let mut schema = match self.choices.below(5) {
            // A base, a branch that refines it, a branch that only requires.
            3 => {
                let base = own(weak, &required);
                let base = self.placed(base, file);
                let mut branches = vec![base, json!({ "properties": properties })];
                if !required_apart.is_empty() {
                    branches.push(json!({ "required": required_apart }));
                }
                required_apart = Vec::new();
                json!({ "allOf": branches })
            }
            // A base by reference, with the rest beside it.
            4 => {
                let base = own(weak, &required);
                let mut schema = self.placed(base, file);
                if schema.get("$ref").is_some() {
                    schema["properties"] = Value::Object(properties);
                    schema
                } else {
                    own(properties, &required)
                }
            }
            _ => own(properties, &required),
        };
        if !required_apart.is_empty() {
            let before = schema
                .get("required")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            schema["required"] = before
                .into_iter()
                .chain(required_apart.into_iter().map(Value::from))
                .collect();
        }
        if !guarded.is_empty() {
            let condition = json!({ "required": ["x_condition"] });
            if self.choices.one_in(2) {
                schema["if"] = condition;
                schema["then"] = json!({ "properties": guarded });
            } else {
                schema["if"] = condition;
                schema["else"] = json!({ "properties": guarded });
            }
        }
        match self.choices.below(6) {
            3 => schema["additionalProperties"] = json!(true),
            4 if schema.get("$ref").is_none() => {
                schema["anyOf"] = json!([{ "required": ["x_never"] }, { "type": "object" }])
            }
            5 => schema["propertyNames"] = json!({ "maxLength": 40 }),
            _ => {}
        }
        schema
    }
}

fn recursive(id: usize) -> String {
    format!("round{id}")
}

fn reference(from: usize, name: String, home: usize) -> Value {
    let pointer = name
        .replace('~', "~0")
        .replace('/', "~1")
        .replace('%', "%25")
        .replace(' ', "%20");
    let file = if from == home { "" } else { FILES[home] };
    json!({ "$ref": format!("{file}#/$defs/{pointer}") })
}
