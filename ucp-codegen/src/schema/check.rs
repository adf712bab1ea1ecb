//! What the types cannot hold, as rules that generated code carries: see `ucp_runtime::wire::Check`.

use super::marks::{self, Mark};
use super::{NodeId, Reader, Type, View};
use crate::tree::{At, Kind, Place};
use rustc_hash::FxHashSet;
use std::rc::Rc;

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
    fn of(value: At<'_>) -> Option<Self> {
        match value.kind() {
            Kind::Null => Some(Self::Null),
            Kind::Bool(value) => Some(Self::Bool(*value)),
            Kind::Number(number) => number.as_i64().map(Self::Integer),
            Kind::Text(text) => Some(Self::Text(text.to_string())),
            Kind::List | Kind::Object => None,
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

    /// Whether [`convert`](Self::convert) would keep the rule.
    pub(crate) fn says(&self, known: &impl Fn(&T) -> bool) -> bool {
        let any = |checks: &[Self]| checks.iter().any(|check| check.says(known));
        match self {
            Self::Member(_, checks)
            | Self::Values(_, checks)
            | Self::Names(checks)
            | Self::Items(checks) => any(checks),
            Self::When(_, then, otherwise) => any(then) || any(otherwise),
            Self::Is(of) => known(of),
            _ => true,
        }
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
    stop: Rc<FxHashSet<Place>>,
    /// Whether a type stands in for the schema: then what it holds is no rule.
    typed: bool,
    /// Whether the type takes the alternatives apart by itself.
    apart: bool,
}

impl<'w> Walk<'w> {
    fn new(view: &'w View, typed: bool) -> Self {
        Self {
            view: Some(view),
            stop: Rc::default(),
            typed,
            apart: false,
        }
    }

    /// Inside a rule: there is no type, so everything that is said is a rule.
    fn raw(&self) -> Self {
        Self {
            view: self.view,
            stop: Rc::default(),
            typed: false,
            apart: false,
        }
    }

    /// The mark of a property in the view; a mark that is none is reported where types are read.
    fn mark(&self, property: At<'_>) -> Option<Mark> {
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
        let mut stop = FxHashSet::default();
        if let Type::Node(id) = ty.innermost() {
            // Its own places and what they include are rules of the type itself.
            let own = self.nodes.get(id.0).map(|node| node.places.clone());
            for place in own.unwrap_or_default() {
                stop.extend(self.closure(place).iter().copied());
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
                let walk = Walk::new(view, false);
                for branch in merged.alternatives.iter().flat_map(|it| &it.places) {
                    let mut found = self.read_checks(*branch, &walk, &mut Vec::new());
                    found.retain(|check| !matches!(check, Check::Type(_)));
                    checks.append(&mut found);
                }
            }
            _ => {}
        }
        let walk = Walk {
            stop: Rc::new(stop),
            apart: matches!(ty, Type::OneOrMany(_) | Type::Nullable(_)),
            ..Walk::new(view, true)
        };
        for place in places {
            for check in self.read_checks(*place, &walk, &mut Vec::new()) {
                if !checks.contains(&check) {
                    checks.push(check);
                }
            }
        }
        checks
    }

    /// The rules that an object has as a whole, its members' rules left out.
    pub(super) fn own_checks(&mut self, places: &[Place], view: &View) -> Checks {
        let walk = Walk::new(view, true);
        let mut checks = Vec::new();
        for place in places {
            for check in self.read_checks(*place, &walk, &mut Vec::new()) {
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
                let schema = self.source.at(*place).parent();
                let declared = schema.map(declared).unwrap_or_default();
                let found = self.read_checks(*place, &walk.raw(), &mut Vec::new());
                checks.push(Check::Values(declared, found));
            }
        }
        checks
    }

    /// `chain` are the schemas on the way here: a rule that contains itself ends.
    fn read_checks(&mut self, place: Place, walk: &Walk<'_>, chain: &mut Vec<Place>) -> Checks {
        if walk.stop.contains(&place) || chain.contains(&place) {
            return Vec::new();
        }
        if chain.len() >= super::DEEPEST {
            self.too_deep(place);
            return Vec::new();
        }
        let schema = self.source.at(place);
        if !schema.is_object() {
            return Vec::new();
        }
        chain.push(place);
        let mut checks = Vec::new();
        if let Some(target) = self.source.target(place) {
            match self.generated(target, walk) {
                Some(found) => checks.extend(found),
                None => checks.extend(self.read_checks(target, walk, chain)),
            }
        }
        for branch in super::layers::branches(schema, "allOf") {
            checks.extend(self.read_checks(branch, walk, chain));
        }
        scalar_checks(schema, walk, &mut checks);
        self.structural_checks(schema, walk, &mut checks, chain);
        chain.pop();
        checks
    }

    /// Inside a rule, the rules of a type that exists: its own, and what reading it demands. This is
    /// what ends a rule that contains itself.
    fn generated(&mut self, target: Place, walk: &Walk<'_>) -> Option<Checks> {
        let view = walk.view.filter(|_| !walk.typed)?;
        let key = (self.identity(&[target]), view.clone());
        let Type::Node(id) = *self.known.get(&key)? else {
            return None;
        };
        let merged = self.merge(&key.0, view);
        let types = merged.types(self).names().map(ToOwned::to_owned).collect();
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
        schema: At<'_>,
        walk: &Walk<'_>,
        checks: &mut Checks,
        chain: &mut Vec<Place>,
    ) {
        let (raw_walk, asking) = (walk.raw(), walk.asking());
        let mut raw = |at: At<'_>| self.read_checks(at.place, &raw_walk, chain);
        if let Some(names) = schema.get("propertyNames") {
            let mut found = raw(names);
            // A name is a string.
            found.retain(|check| !matches!(check, Check::Type(_)));
            checks.push(Check::Names(found));
        }
        if let Some(contains) = schema.get("contains") {
            let count = |keyword: &str| schema.get(keyword).and_then(At::as_u64);
            let found = self.read_checks(contains.place, &asking, chain);
            checks.push(Check::Contains(
                found,
                count("minContains").unwrap_or(1),
                count("maxContains"),
            ));
        }
        if let Some(condition) = schema.get("if") {
            let condition = self.read_checks(condition.place, &asking, chain);
            let mut branch = |keyword: &str| {
                let branch = schema.get(keyword);
                branch.map(|at| self.read_checks(at.place, &raw_walk, chain))
            };
            let then = branch("then").unwrap_or_default();
            let otherwise = branch("else").unwrap_or_default();
            checks.push(Check::When(condition, then, otherwise));
        }
        if let Some(not) = schema.get("not") {
            checks.push(Check::Not(self.read_checks(not.place, &asking, chain)));
        }
        for (name, others) in schema
            .get("dependentRequired")
            .into_iter()
            .flat_map(At::members)
        {
            checks.push(Check::Dependent(name.to_owned(), strings(others)));
        }
        let mut raw = |at: Place| self.read_checks(at, &raw_walk, chain);
        // A union's arms have their rules by `arm_checks`; all other alternatives are rules.
        for (keyword, make) in [
            ("anyOf", Check::AnyOf as fn(Vec<Checks>) -> _),
            ("oneOf", Check::OneOf),
        ] {
            let branches: Vec<Place> = super::layers::branches(schema, keyword).collect();
            if branches.is_empty() || walk.apart {
                continue;
            }
            checks.push(make(branches.into_iter().map(&mut raw).collect()));
        }
        let additional = schema.get("additionalProperties");
        if additional.is_some_and(|value| value.says(false)) {
            checks.push(Check::Closed(declared(schema)));
        }
        if walk.typed {
            return;
        }
        let properties = schema.get("properties");
        for (name, property) in properties.into_iter().flat_map(At::members) {
            if walk.mark(property) == Some(Mark::Omit) {
                continue;
            }
            checks.push(Check::Member(name.to_owned(), raw(property.place)));
        }
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            checks.push(Check::Items(raw(items.place)));
        }
        if let Some(additional) = additional.filter(|value| value.is_object()) {
            checks.push(Check::Values(declared(schema), raw(additional.place)));
        }
    }
}

/// The names of the properties of a schema.
fn declared(schema: At<'_>) -> Vec<String> {
    let properties = schema.get("properties").into_iter();
    properties
        .flat_map(At::members)
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn strings(value: At<'_>) -> Vec<String> {
    value
        .items()
        .filter_map(At::as_str)
        .map(ToOwned::to_owned)
        .collect()
}

/// The rules of one value with one bound, in the order in which they stand among the rules.
const BOUNDS: [(&str, &str, bool); 11] = [
    ("minLength", "MinLength", true),
    ("maxLength", "MaxLength", true),
    ("minItems", "MinItems", true),
    ("maxItems", "MaxItems", true),
    ("minProperties", "MinProperties", true),
    ("maxProperties", "MaxProperties", true),
    ("minimum", "Minimum", false),
    ("maximum", "Maximum", false),
    ("exclusiveMinimum", "ExclusiveMinimum", false),
    ("exclusiveMaximum", "ExclusiveMaximum", false),
    ("multipleOf", "MultipleOf", false),
];

/// The rules that hold no other schema. What types say by themselves is left out when `typed`.
fn scalar_checks(schema: At<'_>, walk: &Walk<'_>, checks: &mut Checks) {
    let typed = walk.typed;
    let mut found: Vec<(usize, Check<NodeId>)> = Vec::new();
    for (keyword, value) in schema.members() {
        let text = || value.as_str().map(ToOwned::to_owned);
        match keyword {
            "properties" | "description" | "title" | "$ref" | "required" | "items" | "allOf" => {}
            "pattern" => found.extend(text().map(|text| (0, Check::Pattern(text)))),
            "format" => found.extend(text().map(|text| (1, Check::Format(text)))),
            "uniqueItems" if value.says(true) => found.push((20, Check::UniqueItems)),
            "const" => found.extend(Literal::of(value).map(|literal| (21, Check::Const(literal)))),
            "enum" if value.is_list() => {
                let literals: Vec<Literal> = value.items().filter_map(Literal::of).collect();
                // A vocabulary knows its strings.
                let vocabulary = literals
                    .iter()
                    .all(|literal| matches!(literal, Literal::Text(_) | Literal::Null));
                if !(typed && vocabulary) {
                    found.push((22, Check::Enum(literals)));
                }
            }
            "type" if !typed => {
                let types = match value.kind() {
                    Kind::Text(name) => vec![name.to_string()],
                    Kind::List => strings(value),
                    _ => continue,
                };
                found.push((23, Check::Type(types)));
            }
            keyword => {
                let bound = BOUNDS.iter().enumerate();
                let bound = bound
                    .filter(|(_, (known, _, _))| *known == keyword)
                    .find_map(|(order, (_, name, size))| {
                        let check = if *size {
                            Check::Size(name, value.as_u64()?)
                        } else {
                            Check::Bound(name, value.as_i64()?)
                        };
                        Some((2 + order, check))
                    });
                found.extend(bound);
            }
        }
    }
    found.sort_by_key(|(order, _)| *order);
    checks.extend(found.into_iter().map(|(_, check)| check));
    if typed {
        return;
    }
    let mut required = schema.get("required").map(strings).unwrap_or_default();
    let properties = schema.get("properties");
    for (name, property) in properties.into_iter().flat_map(At::members) {
        match walk.mark(property) {
            Some(Mark::Omit | Mark::Optional) => required.retain(|other| other != name),
            Some(Mark::Required) if !required.iter().any(|other| other == name) => {
                required.push(name.to_owned());
            }
            _ => {}
        }
    }
    if !required.is_empty() {
        checks.push(Check::Required(required));
    }
}
