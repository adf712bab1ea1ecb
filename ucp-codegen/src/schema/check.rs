//! What the types cannot hold, as rules that generated code carries: see `ucp_runtime::wire::Check`.

use super::marks::{self, Mark};
use super::{NodeId, Reader, Type, View};
use crate::source::Place;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A rule about a value. `T` is how a generated type is referred to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Check<T> {
    Pattern(String),
    Format(String),
    /// A rule with one bound; the name is the variant's in the runtime.
    Size(&'static str, u64),
    Bound(&'static str, i64),
    UniqueItems,
    /// No members but these.
    Closed(Vec<String>),
    Const(Literal),
    Enum(Vec<Literal>),
    Type(Vec<String>),
    Required(Vec<String>),
    Dependent(String, Vec<String>),
    Member(String, Vec<Self>),
    Values(Vec<String>, Vec<Self>),
    Names(Vec<Self>),
    Items(Vec<Self>),
    Contains(Vec<Self>, u64, Option<u64>),
    When(Vec<Self>, Vec<Self>, Vec<Self>),
    Not(Vec<Self>),
    AnyOf(Vec<Vec<Self>>),
    OneOf(Vec<Vec<Self>>),
    /// The rules of a generated struct or union, or the strings of a vocabulary.
    Is(T),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Integer(i64),
    Text(String),
}

impl Literal {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Null),
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Number(number) => number.as_i64().map(Self::Integer),
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl<T> Check<T> {
    /// The rules with every type reference turned into another, and those that say nothing left out.
    pub(crate) fn convert<U>(checks: &[Self], to: &impl Fn(&T) -> Option<U>) -> Vec<Check<U>> {
        checks
            .iter()
            .filter_map(|check| check.converted(to))
            .collect()
    }

    fn converted<U>(&self, to: &impl Fn(&T) -> Option<U>) -> Option<Check<U>> {
        let all = |checks: &[Self]| Self::convert(checks, to);
        let some = |checks: &[Self]| Some(all(checks)).filter(|checks| !checks.is_empty());
        let each = |branches: &[Vec<Self>]| branches.iter().map(|branch| all(branch)).collect();
        Some(match self {
            Self::Pattern(pattern) => Check::Pattern(pattern.clone()),
            Self::Format(format) => Check::Format(format.clone()),
            Self::Size(name, bound) => Check::Size(name, *bound),
            Self::Bound(name, bound) => Check::Bound(name, *bound),
            Self::UniqueItems => Check::UniqueItems,
            Self::Closed(names) => Check::Closed(names.clone()),
            Self::Const(literal) => Check::Const(literal.clone()),
            Self::Enum(literals) => Check::Enum(literals.clone()),
            Self::Type(types) => Check::Type(types.clone()),
            Self::Required(names) => Check::Required(names.clone()),
            Self::Dependent(name, others) => Check::Dependent(name.clone(), others.clone()),
            Self::Member(name, checks) => Check::Member(name.clone(), some(checks)?),
            Self::Values(except, checks) => Check::Values(except.clone(), some(checks)?),
            Self::Names(checks) => Check::Names(some(checks)?),
            Self::Items(checks) => Check::Items(some(checks)?),
            Self::Contains(checks, least, most) => Check::Contains(all(checks), *least, *most),
            Self::When(condition, then, otherwise) => {
                let (then, otherwise) = (all(then), all(otherwise));
                if then.is_empty() && otherwise.is_empty() {
                    return None;
                }
                Check::When(all(condition), then, otherwise)
            }
            Self::Not(checks) => Check::Not(all(checks)),
            Self::AnyOf(branches) => Check::AnyOf(each(branches)),
            Self::OneOf(branches) => Check::OneOf(each(branches)),
            Self::Is(of) => Check::Is(to(of)?),
        })
    }
}

type Checks = Vec<Check<NodeId>>;

/// How rules are read from schemas.
#[derive(Clone)]
struct Walk<'w> {
    /// The view whose marks apply; `None` inside a condition, which asks what is there.
    view: Option<&'w View>,
    /// Schemas whose rules belong to a type of their own.
    stop: BTreeSet<Place>,
    /// Whether a type stands in for the schema: then what it holds is no rule.
    typed: bool,
    /// Whether the type takes the alternatives apart by itself.
    apart: bool,
    /// The schemas on the way here: a rule that contains itself ends.
    chain: Vec<Place>,
}

impl Walk<'_> {
    /// Inside a rule: there is no type, so everything that is said is a rule.
    fn raw(&self) -> Self {
        Self {
            stop: BTreeSet::new(),
            typed: false,
            apart: false,
            ..self.clone()
        }
    }

    /// The mark of a property in the view; a mark that is none is reported where types are read.
    fn mark(&self, property: &Value) -> Option<Mark> {
        marks::mark(property, self.view?)
            .ok()
            .flatten()
            .map(|marked| marked.mark)
    }

    /// Inside a rule that only asks.
    fn asking(&self) -> Self {
        Self {
            view: None,
            ..self.raw()
        }
    }
}

impl Reader<'_> {
    /// The rules of a value of a type, from all the schemas that describe it.
    pub(super) fn checks(&mut self, places: &[Place], view: &View, ty: &Type) -> Checks {
        let mut checks = Vec::new();
        let mut stop = BTreeSet::new();
        if let Type::Node(id) = ty.innermost() {
            // Its own places and what they include are rules of the type itself.
            let own: Vec<Place> = self
                .nodes
                .get(id.0)
                .map(|node| node.places.clone())
                .unwrap_or_default();
            for place in own {
                stop.extend(self.closure(&place).iter().cloned());
                stop.insert(place);
            }
        }
        let merged = self.merge(places, view);
        match ty {
            Type::Node(id) => checks.push(Check::Is(*id)),
            Type::Nullable(inner) => match self.beside_null(&merged, view) {
                // The type says that it may be null, and the rules are those of the other schema.
                Some(other) => {
                    let rules = self.checks(&[other], view, inner);
                    let null = Check::Type(vec!["null".to_owned()]);
                    checks.push(Check::When(vec![null], Vec::new(), rules));
                }
                None => return self.checks(places, view, inner),
            },
            Type::List(inner) if !merged.items.is_empty() => {
                checks.push(Check::Items(self.checks(&merged.items, view, inner)));
            }
            Type::Map(inner) if !merged.additional.is_empty() => {
                checks.push(Check::Values(
                    Vec::new(),
                    self.checks(&merged.additional, view, inner),
                ));
            }
            Type::OneOrMany(_) => {
                // Rules for a list and rules for one value do not meet in one value.
                let branches: Vec<Place> = merged
                    .alternatives
                    .iter()
                    .flat_map(|it| it.places.clone())
                    .collect();
                let walk = Walk {
                    view: Some(view),
                    stop: BTreeSet::new(),
                    typed: false,
                    apart: false,
                    chain: Vec::new(),
                };
                for branch in branches {
                    let found = self.read_checks(&branch, &walk);
                    checks.extend(
                        found
                            .into_iter()
                            .filter(|check| !matches!(check, Check::Type(_))),
                    );
                }
            }
            _ => {}
        }
        let apart = matches!(ty, Type::OneOrMany(_) | Type::Nullable(_));
        let walk = Walk {
            view: Some(view),
            stop,
            typed: true,
            apart,
            chain: Vec::new(),
        };
        for place in places {
            let found = self.read_checks(place, &walk);
            for check in found {
                if !checks.contains(&check) {
                    checks.push(check);
                }
            }
        }
        checks
    }

    /// The rules that an object has as a whole, its members' rules left out.
    pub(super) fn own_checks(&mut self, places: &[Place], view: &View) -> Checks {
        let walk = Walk {
            view: Some(view),
            stop: BTreeSet::new(),
            typed: true,
            apart: false,
            chain: Vec::new(),
        };
        let mut checks = Vec::new();
        for place in places {
            for check in self.read_checks(place, &walk) {
                if !checks.contains(&check) {
                    checks.push(check);
                }
            }
        }
        let merged = self.merge(places, view);
        if !merged.properties.is_empty() {
            // The type keeps members that it does not declare as JSON: their schema is a rule, for all
            // members but those beside it (JSON Schema 2020-12, section 10.3.2.3).
            for place in &merged.additional {
                let beside = place.parent().map(|schema| schema.child("properties"));
                let beside = beside.and_then(|place| self.source.value(&place)?.as_object());
                let declared = beside
                    .map(|map| map.keys().cloned().collect())
                    .unwrap_or_default();
                let found = self.read_checks(place, &walk.raw());
                checks.push(Check::Values(declared, found));
            }
        }
        checks
    }

    fn read_checks(&mut self, place: &Place, walk: &Walk<'_>) -> Checks {
        if walk.stop.contains(place) || walk.chain.contains(place) {
            return Vec::new();
        }
        if walk.chain.len() >= super::DEEPEST {
            self.too_deep(place);
            return Vec::new();
        }
        let document = self.source.document(place);
        let value = document
            .as_ref()
            .and_then(|document| document.pointer(&place.pointer));
        let Some(Value::Object(schema)) = value else {
            return Vec::new();
        };
        let mut walk = walk.clone();
        walk.chain.push(place.clone());
        let mut checks = Vec::new();
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.source.resolve(place, reference, self.diagnostics)
        {
            match self.generated(&target, &walk) {
                Some(found) => checks.extend(found),
                None => checks.extend(self.read_checks(&target, &walk)),
            }
        }
        for branch in super::layers::branches(place, schema, "allOf") {
            checks.extend(self.read_checks(&branch, &walk));
        }
        scalar_checks(schema, &walk, &mut checks);
        self.structural_checks(place, schema, &walk, &mut checks);
        checks
    }

    /// Inside a rule, the rules of a type that exists: its own, and what reading it demands. This is
    /// what ends a rule that contains itself.
    fn generated(&mut self, target: &Place, walk: &Walk<'_>) -> Option<Checks> {
        let view = walk.view.filter(|_| !walk.typed)?;
        let key = (self.identity(std::slice::from_ref(target)), view.clone());
        let Type::Node(id) = *self.known.get(&key)? else {
            return None;
        };
        let merged = self.merge(&key.0, view);
        let types = merged.types(self).into_iter().collect();
        let mut checks = vec![Check::Type(types)];
        if !merged.required.is_empty() {
            checks.push(Check::Required(merged.required.iter().cloned().collect()));
        }
        checks.push(Check::Is(id));
        Some(checks)
    }

    /// The rules that hold other schemas.
    fn structural_checks(
        &mut self,
        place: &Place,
        schema: &Map<String, Value>,
        walk: &Walk<'_>,
        checks: &mut Checks,
    ) {
        let (raw_walk, asking) = (walk.raw(), walk.asking());
        let raw = |reader: &mut Self, at: Place| reader.read_checks(&at, &raw_walk);
        let ask = |reader: &mut Self, at: Place| reader.read_checks(&at, &asking);
        if schema.contains_key("propertyNames") {
            let mut found = raw(self, place.child("propertyNames"));
            // A name is a string.
            found.retain(|check| !matches!(check, Check::Type(_)));
            checks.push(Check::Names(found));
        }
        if schema.contains_key("contains") {
            let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
            let found = ask(self, place.child("contains"));
            checks.push(Check::Contains(
                found,
                count("minContains").unwrap_or(1),
                count("maxContains"),
            ));
        }
        if schema.contains_key("if") {
            let condition = ask(self, place.child("if"));
            let mut branch = |keyword: &str| {
                if schema.contains_key(keyword) {
                    raw(self, place.child(keyword))
                } else {
                    Vec::new()
                }
            };
            let (then, otherwise) = (branch("then"), branch("else"));
            checks.push(Check::When(condition, then, otherwise));
        }
        if schema.contains_key("not") {
            checks.push(Check::Not(ask(self, place.child("not"))));
        }
        for (name, others) in schema
            .get("dependentRequired")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            checks.push(Check::Dependent(name.clone(), strings(others)));
        }
        // A union's arms have their rules by `arm_checks`; all other alternatives are rules.
        for (keyword, make) in [
            ("anyOf", Check::AnyOf as fn(Vec<Checks>) -> _),
            ("oneOf", Check::OneOf),
        ] {
            let branches = super::layers::branches(place, schema, keyword);
            if branches.is_empty() || walk.apart {
                continue;
            }
            let branches: Vec<Checks> = branches
                .into_iter()
                .map(|branch| raw(self, branch))
                .collect();
            checks.push(make(branches));
        }
        let declared = schema.get("properties").and_then(Value::as_object);
        if schema
            .get("additionalProperties")
            .is_some_and(|value| value == false)
        {
            let names = declared.into_iter().flatten().map(|(name, _)| name.clone());
            checks.push(Check::Closed(names.collect()));
        }
        if walk.typed {
            return;
        }
        let properties = place.child("properties");
        for (name, property) in declared.into_iter().flatten() {
            if walk.mark(property) == Some(Mark::Omit) {
                continue;
            }
            let found = raw(self, properties.child(name));
            checks.push(Check::Member(name.clone(), found));
        }
        if schema.get("items").is_some_and(Value::is_object) {
            checks.push(Check::Items(raw(self, place.child("items"))));
        }
        if schema
            .get("additionalProperties")
            .is_some_and(Value::is_object)
        {
            let except = schema
                .get("properties")
                .and_then(Value::as_object)
                .map(|map| map.keys().cloned().collect())
                .unwrap_or_default();
            checks.push(Check::Values(
                except,
                raw(self, place.child("additionalProperties")),
            ));
        }
    }
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(ToOwned::to_owned)
        .collect()
}

/// The rules that hold no other schema. What types say by themselves is left out when `typed`.
fn scalar_checks(schema: &Map<String, Value>, walk: &Walk<'_>, checks: &mut Checks) {
    let typed = walk.typed;
    let text = |keyword: &str| {
        schema
            .get(keyword)
            .and_then(Value::as_str)
            .map(ToOwned::to_owned)
    };
    checks.extend(text("pattern").map(Check::Pattern));
    checks.extend(text("format").map(Check::Format));
    for (keyword, name) in [
        ("minLength", "MinLength"),
        ("maxLength", "MaxLength"),
        ("minItems", "MinItems"),
        ("maxItems", "MaxItems"),
        ("minProperties", "MinProperties"),
        ("maxProperties", "MaxProperties"),
    ] {
        checks.extend(
            schema
                .get(keyword)
                .and_then(Value::as_u64)
                .map(|bound| Check::Size(name, bound)),
        );
    }
    for (keyword, name) in [
        ("minimum", "Minimum"),
        ("maximum", "Maximum"),
        ("exclusiveMinimum", "ExclusiveMinimum"),
        ("exclusiveMaximum", "ExclusiveMaximum"),
        ("multipleOf", "MultipleOf"),
    ] {
        checks.extend(
            schema
                .get(keyword)
                .and_then(Value::as_i64)
                .map(|bound| Check::Bound(name, bound)),
        );
    }
    if schema.get("uniqueItems").is_some_and(|value| value == true) {
        checks.push(Check::UniqueItems);
    }
    checks.extend(schema.get("const").and_then(Literal::of).map(Check::Const));
    let literals = schema
        .get("enum")
        .and_then(Value::as_array)
        .map(|values| values.iter().filter_map(Literal::of).collect::<Vec<_>>());
    // A vocabulary knows its strings.
    let vocabulary = literals.as_ref().is_some_and(|literals| {
        literals
            .iter()
            .all(|literal| matches!(literal, Literal::Text(_) | Literal::Null))
    });
    checks.extend(literals.filter(|_| !(typed && vocabulary)).map(Check::Enum));
    if typed {
        return;
    }
    match schema.get("type") {
        Some(Value::String(name)) => checks.push(Check::Type(vec![name.clone()])),
        Some(names @ Value::Array(_)) => checks.push(Check::Type(strings(names))),
        _ => {}
    }
    let mut required = schema.get("required").map(strings).unwrap_or_default();
    for (name, property) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        match walk.mark(property) {
            Some(Mark::Omit | Mark::Optional) => required.retain(|other| other != name),
            Some(Mark::Required) if !required.contains(name) => required.push(name.clone()),
            _ => {}
        }
    }
    if !required.is_empty() {
        checks.push(Check::Required(required));
    }
}
