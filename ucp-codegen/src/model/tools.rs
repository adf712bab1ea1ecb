//! Operations as tools for a model: a name, a description, and the JSON Schema (2020-12) of an
//! operation's own inputs. The schema says what the types and their rules hold, no more and no less.

use super::build::{Bodies, Builder};
use super::names::Scope;
use super::{Method, Tool};
use crate::contract::{Location, Operation};
use crate::schema::{Check, Docs, Field, Literal, Node, NodeId, Shape, Type};
use serde_json::{Map, Value, json};

type Checks = [Check<NodeId>];

/// The longest name that every model's provider takes.
const LONGEST: usize = 64;

/// What a model should know of the protocol's operations, besides what the contract says.
const HINTS: [(&str, &str); 13] = [
    (
        "create_checkout",
        "Use it once the buyer has chosen what to buy. It orders and pays nothing. The answer has the session's `id`, its totals, and in `messages` what is still missing.",
    ),
    (
        "get_checkout",
        "Use it to see how a checkout stands now, above all after the buyer was sent to the shop.",
    ),
    (
        "update_checkout",
        "Send everything that the checkout shall hold, not only what changes: start from the last answer, keep the `id` of each line item, and leave out what only the shop sets. Use it to mend what `messages` asks for.",
    ),
    (
        "complete_checkout",
        "This moves money and cannot be undone. Use it only when the checkout is `ready_for_complete`, and after the buyer has seen the total and agreed to it in so many words. Never repeat it because an answer is missing: read the checkout instead.",
    ),
    (
        "cancel_checkout",
        "Use it only when the buyer no longer wants the checkout. It cannot be undone.",
    ),
    (
        "create_cart",
        "A cart collects items and estimates what they cost, before the buyer decides. It orders nothing. A checkout can start from its `id`.",
    ),
    ("get_cart", "Use it to see what a cart holds now."),
    (
        "update_cart",
        "Send everything that the cart shall hold, not only what changes.",
    ),
    (
        "cancel_cart",
        "Use it only when the buyer no longer wants the cart.",
    ),
    (
        "search_catalog",
        "Use it to find products. Buy by the `id` of a variant, not by that of its product.",
    ),
    (
        "lookup_catalog",
        "Use it when the identifiers are known; otherwise search.",
    ),
    (
        "get_product",
        "Use it to see all variants and details of one product.",
    ),
    (
        "get_order",
        "Use it for the state of an order that was placed, by the order's `id`, which is not the checkout's.",
    ),
];

/// A tool for each operation that can be called.
pub(super) fn add(builder: &Builder<'_>, operations: &[Bodies], methods: &mut [Method]) {
    let mut names = Scope::default();
    for (bodies, method) in operations.iter().zip(methods) {
        if method.link {
            continue;
        }
        method.tool = Some(Tool {
            name: name(&bodies.operation.id, &mut names),
            capability: bodies.capability.clone(),
            description: description(&bodies.operation),
            schema: Schemas::new(builder).inputs(bodies, method).to_string(),
        });
    }
}

fn name(id: &str, names: &mut Scope) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = |length: usize| -> String {
        let characters = id.chars().map(|c| if legal(c) { c } else { '_' });
        characters.take(length).collect()
    };
    // What tells two of one name apart needs room.
    names.claim(&[name(LONGEST), name(LONGEST - 8)])
}

fn description(operation: &Operation) -> String {
    let hint = HINTS.iter().find(|(id, _)| *id == operation.id);
    let hint = hint.map(|(_, hint)| (*hint).to_owned());
    let deprecated = operation.deprecated.then(|| "Deprecated.".to_owned());
    let said = [&operation.summary, &operation.description];
    let mut said: Vec<String> = said.into_iter().flatten().map(|text| line(text)).collect();
    said.dedup();
    said.extend(deprecated.into_iter().chain(hint));
    if said.is_empty() {
        return format!("`{} {}`.", operation.method, operation.path);
    }
    said.join(" ")
}

/// A text of the contract as one line that ends like a sentence.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.is_empty() || line.ends_with(['.', '!', '?', ':']) {
        line
    } else {
        line + "."
    }
}

/// The schema of one tool, and the definitions that it refers to.
struct Schemas<'b> {
    builder: &'b Builder<'b>,
    /// By the name of the type; `null` while one is being made, which is what ends a recursion.
    definitions: Map<String, Value>,
}

impl<'b> Schemas<'b> {
    fn new(builder: &'b Builder<'b>) -> Self {
        Self {
            builder,
            definitions: Map::new(),
        }
    }

    fn inputs(mut self, bodies: &Bodies, method: &Method) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let described = |location, name: &str| {
            let mut parameters = bodies.operation.parameters.iter();
            let found = parameters.find(|it| it.location == location && it.name == name);
            let text = found.and_then(|parameter| parameter.description.as_deref());
            let mut schema = keyword("type", "string".into());
            schema.extend(text.map(|text| ("description".to_owned(), line(text).into())));
            Value::Object(schema)
        };
        for (_, name) in &method.path_parameters {
            properties.insert(name.clone(), described(Location::Path, name));
            required.push(name.clone());
        }
        for argument in &method.arguments {
            let location = match argument.header {
                true => Location::Header,
                false => Location::Query,
            };
            let schema = described(location, &argument.wire);
            properties.insert(argument.wire.clone(), schema);
            required.extend(argument.required.then(|| argument.wire.clone()));
        }
        if let Some(body) = &bodies.request {
            // In place, so that an application can take members out of it.
            let schema = match body {
                Type::Node(id) => self.node(*id),
                body => self.of(body, &[]),
            };
            properties.insert("body".to_owned(), Value::Object(schema));
            required.push("body".to_owned());
        }
        let mut schema = keyword("type", "object".into());
        schema.insert("properties".to_owned(), Value::Object(properties));
        schema.insert("required".to_owned(), required.into());
        schema.insert("additionalProperties".to_owned(), false.into());
        if !self.definitions.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(self.definitions));
        }
        Value::Object(schema)
    }

    fn get(&self, id: NodeId) -> Option<&'b Node> {
        self.builder.graph.node(self.builder.graph.shared(id))
    }

    /// The schema of a type of its own.
    fn node(&mut self, id: NodeId) -> Map<String, Value> {
        let Some(node) = self.get(id) else {
            return Map::new();
        };
        let mut schema = Map::new();
        match &node.shape {
            Shape::Vocabulary(values) => {
                schema = keyword("type", "string".into());
                schema.insert("enum".to_owned(), values.clone().into());
                return schema;
            }
            Shape::Object(fields) => {
                schema.insert("type".to_owned(), "object".into());
                describe(&mut schema, &node.docs);
                self.members(&mut schema, fields);
                for check in self.telling(&node.checks) {
                    self.add(&mut schema, &check);
                }
            }
            // The rules of a union say which arm it is, as the arms do here.
            Shape::Union { arms, .. } => {
                describe(&mut schema, &node.docs);
                let arms: Vec<Value> = arms
                    .iter()
                    .map(|arm| self.of(&arm.ty, &[]).into())
                    .collect();
                schema.insert("anyOf".to_owned(), arms.into());
            }
        }
        schema
    }

    fn members(&mut self, schema: &mut Map<String, Value>, fields: &[Field]) {
        let mut properties = Map::new();
        for field in fields {
            let checks = self.telling(&field.checks);
            let mut member = self.of(&field.ty, &checks);
            // What a type says of itself need not be said again.
            let known = field.ty.nodes().and_then(|(id, _)| self.get(id));
            if known.is_none_or(|node| node.docs.description != field.docs.description) {
                describe(&mut member, &field.docs);
            }
            self.annotate(&mut member, &field.docs);
            properties.insert(field.name.clone(), member.into());
        }
        schema.insert("properties".to_owned(), properties.into());
        let required = fields.iter().filter(|field| field.required);
        let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
    }

    /// A default and examples, where they are what the schema takes.
    fn annotate(&self, schema: &mut Map<String, Value>, docs: &Docs) {
        let source = self.builder.source;
        let default = docs.default.map(|place| source.at(place).to_value());
        if let Some(default) = default.filter(|value| self.fits(schema, value)) {
            schema.insert("default".to_owned(), default);
        }
        let examples = docs.examples.into_iter();
        let examples = examples.flat_map(|place| source.at(place).items());
        let examples: Vec<Value> = examples
            .map(|example| example.to_value())
            .filter(|example| self.fits(schema, example))
            .collect();
        if !examples.is_empty() {
            schema.insert("examples".to_owned(), examples.into());
        }
    }

    /// The rules that say something beyond what types do.
    fn telling(&self, checks: &Checks) -> Vec<Check<NodeId>> {
        let builder = self.builder;
        Check::convert(checks, &|id: &NodeId| {
            let ruled = builder.ruled.contains(&builder.graph.shared(*id));
            ruled.then_some(*id)
        })
    }

    /// The schema of a value of a type that is held by rules.
    fn of(&mut self, ty: &Type, checks: &Checks) -> Map<String, Value> {
        let mut own = None;
        let mut schema = match ty {
            Type::Any => Map::new(),
            Type::Boolean => keyword("type", "boolean".into()),
            Type::Integer | Type::SafeInteger => keyword("type", "integer".into()),
            Type::Number => keyword("type", "number".into()),
            Type::String => keyword("type", "string".into()),
            Type::Constant(value) => keyword("const", value.as_str().into()),
            Type::FreeForm => keyword("type", "object".into()),
            Type::List(inner) => {
                let mut schema = keyword("type", "array".into());
                let rules = checks.iter().find_map(|check| match check {
                    Check::Items(rules) => Some((check, rules.as_slice())),
                    _ => None,
                });
                own = rules.map(|(check, _)| check);
                let items = self.of(inner, rules.map_or(&[], |(_, rules)| rules));
                schema.insert("items".to_owned(), items.into());
                schema
            }
            Type::Map(inner) => {
                let mut schema = keyword("type", "object".into());
                let rules = checks.iter().find_map(|check| match check {
                    Check::Values(except, rules) if except.is_empty() => {
                        Some((check, rules.as_slice()))
                    }
                    _ => None,
                });
                own = rules.map(|(check, _)| check);
                let values = self.of(inner, rules.map_or(&[], |(_, rules)| rules));
                schema.insert("additionalProperties".to_owned(), values.into());
                schema
            }
            Type::Nullable(inner) => {
                let schema = self.of(inner, &[]);
                match schema.get("type") {
                    Some(kind) if schema.len() == 1 => {
                        keyword("type", json!([kind.clone(), "null"]))
                    }
                    _ => keyword("anyOf", json!([schema, {"type": "null"}])),
                }
            }
            Type::OneOrMany(inner) => {
                let one = Value::Object(self.of(inner, &[]));
                let many = json!({"type": "array", "items": one});
                keyword("anyOf", vec![one, many].into())
            }
            Type::Node(id) => self.refer(*id),
        };
        let refers = |check: &Check<NodeId>| {
            let shared = |id| self.builder.graph.shared(id);
            matches!((check, ty.nodes()), (Check::Is(of), Some((id, _))) if shared(*of) == shared(id))
        };
        let rest: Vec<&Check<NodeId>> = checks
            .iter()
            .filter(|check| own != Some(*check) && !refers(check))
            .collect();
        for check in rest {
            self.add(&mut schema, check);
        }
        schema
    }

    /// A reference to a type of its own; a list of strings is said in place.
    fn refer(&mut self, id: NodeId) -> Map<String, Value> {
        let id = self.builder.graph.shared(id);
        if self
            .get(id)
            .is_some_and(|node| matches!(node.shape, Shape::Vocabulary(_)))
        {
            return self.node(id);
        }
        let name = self.builder.named(id);
        if !self.definitions.contains_key(&name) {
            self.definitions.insert(name.clone(), Value::Null);
            let schema = self.node(id);
            self.definitions.insert(name.clone(), schema.into());
        }
        keyword("$ref", format!("#/$defs/{name}").into())
    }

    /// The schema that rules by themselves are.
    fn rules(&mut self, checks: &Checks) -> Value {
        let mut schema = Map::new();
        for check in checks {
            self.add(&mut schema, check);
        }
        schema.into()
    }

    /// Adds a rule to a schema: beside what is there, or as a schema of its own where the two would
    /// be one.
    fn add(&mut self, schema: &mut Map<String, Value>, check: &Check<NodeId>) {
        let part = self.part(check);
        // Its keywords belong to each other, and to no other `properties`.
        let apart = matches!(check, Check::Closed(_) | Check::Values(..) | Check::Is(_));
        let known = |name: &String| schema.contains_key(name);
        if part
            .iter()
            .all(|(name, value)| schema.get(name) == Some(value))
        {
            return;
        }
        if !apart && !part.keys().any(known) {
            schema.extend(part);
            return;
        }
        if let (Check::Member(name, _), Some(Value::Object(properties))) =
            (check, schema.get_mut("properties"))
            && !properties.contains_key(name)
            && let Some(Value::Object(member)) = part.get("properties")
        {
            properties.extend(member.clone());
            return;
        }
        let all = schema.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(part.into());
        }
    }

    /// The keywords of a rule.
    fn part(&mut self, check: &Check<NodeId>) -> Map<String, Value> {
        let taken = |names: &[String]| -> Map<String, Value> {
            let names = names.iter().cloned();
            names.map(|name| (name, Value::Bool(true))).collect()
        };
        match check {
            Check::Pattern(pattern) => keyword("pattern", pattern.as_str().into()),
            Check::Format(format) => keyword("format", format.as_str().into()),
            Check::Size(name, bound) => keyword(&camel(name), (*bound).into()),
            Check::Bound(name, bound) => keyword(&camel(name), (*bound).into()),
            Check::UniqueItems => keyword("uniqueItems", true.into()),
            Check::Closed(names) => {
                let mut part = keyword("properties", taken(names).into());
                part.insert("additionalProperties".to_owned(), false.into());
                part
            }
            Check::Const(literal) => keyword("const", value(literal)),
            Check::Enum(literals) => {
                let literals: Vec<Value> = literals.iter().map(value).collect();
                keyword("enum", literals.into())
            }
            Check::Type(types) => match types.as_slice() {
                [one] => keyword("type", one.as_str().into()),
                types => keyword("type", types.into()),
            },
            Check::Required(names) => keyword("required", names.clone().into()),
            Check::Dependent(name, others) => keyword("dependentRequired", json!({ name: others })),
            Check::Member(name, rules) => {
                let member = self.rules(rules);
                keyword("properties", json!({ name: member }))
            }
            Check::Values(except, rules) => {
                let values = self.rules(rules);
                let mut part = keyword("properties", taken(except).into());
                part.insert("additionalProperties".to_owned(), values);
                part
            }
            Check::Names(rules) => keyword("propertyNames", self.rules(rules)),
            Check::Items(rules) => keyword("items", self.rules(rules)),
            Check::Contains(rules, least, most) => {
                let mut part = keyword("contains", self.rules(rules));
                part.insert("minContains".to_owned(), (*least).into());
                part.extend(most.map(|most| ("maxContains".to_owned(), most.into())));
                part
            }
            Check::When(condition, then, otherwise) => {
                let mut part = keyword("if", self.rules(condition));
                for (name, rules) in [("then", then), ("else", otherwise)] {
                    if !rules.is_empty() {
                        part.insert(name.to_owned(), self.rules(rules));
                    }
                }
                part
            }
            Check::Not(rules) => keyword("not", self.rules(rules)),
            Check::AnyOf(branches) => keyword("anyOf", self.each(branches)),
            Check::OneOf(branches) => keyword("oneOf", self.each(branches)),
            Check::Is(id) => self.refer(*id),
        }
    }

    fn each(&mut self, branches: &[Vec<Check<NodeId>>]) -> Value {
        let branches = branches.iter().map(|branch| self.rules(branch));
        branches.collect::<Vec<Value>>().into()
    }

    /// Whether a value is of the kind that a schema asks for, at every depth. Texts are not read.
    fn fits(&self, schema: &Map<String, Value>, value: &Value) -> bool {
        let inside = |schema: &Value, value: &Value| match schema {
            Value::Object(schema) => self.fits(schema, value),
            _ => true,
        };
        schema
            .iter()
            .all(|(keyword, wanted)| match keyword.as_str() {
                "type" => match wanted {
                    Value::Array(types) => types.iter().any(|name| is(value, name)),
                    name => is(value, name),
                },
                "const" => wanted == value,
                "enum" => list(wanted).contains(value),
                "minimum" => value.as_i64() >= wanted.as_i64() || !value.is_i64(),
                "maximum" => value.as_i64() <= wanted.as_i64() || !value.is_i64(),
                "items" => list(value).iter().all(|item| inside(wanted, item)),
                "anyOf" | "oneOf" => list(wanted).iter().any(|branch| inside(branch, value)),
                "allOf" => list(wanted).iter().all(|branch| inside(branch, value)),
                "required" => {
                    let has =
                        |name: &Value| name.as_str().is_some_and(|it| value.get(it).is_some());
                    !value.is_object() || list(wanted).iter().all(has)
                }
                "properties" => wanted.as_object().into_iter().flatten().all(|(name, of)| {
                    let member = value.get(name);
                    member.is_none_or(|member| inside(of, member))
                }),
                "$ref" => {
                    let name = wanted.as_str().and_then(|to| to.strip_prefix("#/$defs/"));
                    let of = name.and_then(|name| self.definitions.get(name));
                    of.is_none_or(|of| inside(of, value))
                }
                _ => true,
            })
    }
}

fn is(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn keyword(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

fn value(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => (*value).into(),
        Literal::Integer(value) => (*value).into(),
        Literal::Text(value) => value.as_str().into(),
    }
}

/// `minLength` for `MinLength`.
fn camel(name: &str) -> String {
    let (first, rest) = name.split_at(name.len().min(1));
    first.to_ascii_lowercase() + rest
}

fn describe(schema: &mut Map<String, Value>, of: &Docs) {
    if let Some(text) = of.description.as_deref().filter(|text| !text.is_empty()) {
        schema.insert("description".to_owned(), line(text).into());
    }
    if of.deprecated.is_some() {
        schema.insert("deprecated".to_owned(), true.into());
    }
}
