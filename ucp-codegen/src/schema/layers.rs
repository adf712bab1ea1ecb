//! Intersecting the schemas that describe one value.

use super::marks::{self, Mark, View};
use super::{Docs, Reader};
use crate::diagnostics::Code;
use crate::ledger;
use crate::tree::{At, Kind, Place};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Keywords that say something for people or tools and nothing about the shape.
pub(super) fn is_annotation(keyword: &str) -> bool {
    matches!(
        ledger::lookup(ledger::SCHEMA, keyword),
        Some(ledger::Use::Ignored(_)) | Some(ledger::Use::Documented)
    ) || matches!(
        keyword,
        "title" | "deprecated" | "$defs" | "ucp_request" | "ucp_response" | "name"
    )
}

/// A property of an object, from all branches that declare it.
#[derive(Clone, Debug, Default)]
pub(super) struct Property {
    pub(super) places: Vec<Place>,
    pub(super) transition: Option<String>,
    /// Whether the declarations come from branches that apply only under a condition.
    conditional: bool,
}

/// The branches of one `oneOf` or `anyOf`.
#[derive(Clone, Debug)]
pub(super) struct Alternatives {
    pub(super) places: Vec<Place>,
}

/// The properties of an object in the order of their first declaration.
#[derive(Clone, Debug, Default)]
pub(super) struct Properties(Vec<(String, Property)>);

impl Properties {
    pub(super) fn get(&self, name: &str) -> Option<&Property> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, property)| property)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn entry(&mut self, name: &str) -> Option<&mut Property> {
        let known = self.0.iter().position(|(known, _)| known == name);
        let index = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push((name.to_owned(), Property::default()));
        }
        self.0.get_mut(index).map(|(_, property)| property)
    }
}

impl<'a> IntoIterator for &'a Properties {
    type Item = &'a (String, Property);
    type IntoIter = std::slice::Iter<'a, (String, Property)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// The intersection of all schemas that describe one value.
#[derive(Clone, Debug, Default)]
pub(super) struct Merged {
    /// The types that each branch allows, with the place that says so.
    declared: Vec<(Types, Place)>,
    pub(super) properties: Properties,
    pub(super) required: BTreeSet<String>,
    pub(super) items: Vec<Place>,
    pub(super) additional: Vec<Place>,
    /// The lowest `maximum` of all branches.
    pub(super) maximum: Option<i64>,
    pub(super) constant: Option<Place>,
    pub(super) vocabulary: Option<Vec<String>>,
    pub(super) alternatives: Vec<Alternatives>,
    pub(super) docs: Docs,
    /// What the keywords imply where no branch states a type.
    implied: Types,
    /// Members that some branch leaves out of this view.
    omitted: BTreeSet<String>,
    /// Whether a mark had a part in it; without one, it is the same in every view.
    marked: bool,
}

impl Merged {
    /// The types that all branches allow.
    pub(super) fn types(&self, reader: &mut Reader<'_>) -> Types {
        let mut types: Option<Types> = None;
        for (declared, place) in &self.declared {
            types = Some(match types {
                None => *declared,
                Some(before) => {
                    let both = before.intersect(*declared);
                    if both.is_empty() {
                        let first = self
                            .declared
                            .first()
                            .map(|(_, first)| reader.describe(*first))
                            .unwrap_or_default();
                        let message = format!(
                            "`type: {}` and `type: {}` of {first} exclude each other",
                            declared.list(),
                            before.list()
                        );
                        reader.problem(
                            *place,
                            Code::Conflict,
                            message,
                            Some("one of the two must give way".to_owned()),
                        );
                        return before;
                    }
                    both
                }
            });
        }
        types.unwrap_or(self.implied)
    }
}

/// A set of JSON types, a bit for each of [`Types::NAMES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    const NAMES: [&'static str; 7] = [
        "array", "boolean", "integer", "null", "number", "object", "string",
    ];

    fn bit(name: &str) -> u8 {
        let index = Self::NAMES.iter().position(|known| *known == name);
        index.map_or(0, |index| 1 << index)
    }

    fn insert(&mut self, name: &str) {
        self.0 |= Self::bit(name);
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let had = self.contains(name);
        self.0 &= !Self::bit(name);
        had
    }

    pub(super) fn contains(self, name: &str) -> bool {
        self.0 & Self::bit(name) != 0
    }

    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names, in their order.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .enumerate()
            .filter(move |(index, _)| self.0 & (1 << index) != 0)
            .map(|(_, name)| name)
    }

    /// Every integer is a number.
    fn intersect(self, other: Self) -> Self {
        let mut both = Self(self.0 & other.0);
        if (self.contains("integer") && other.contains("number"))
            || (self.contains("number") && other.contains("integer"))
        {
            both.insert("integer");
        }
        both
    }

    fn list(self) -> String {
        self.names().collect::<Vec<_>>().join(" or ")
    }
}

/// The JSON types, as a message lists them.
const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "string", "integer",
];

impl Reader<'_> {
    /// `file#pointer`, for a message that names a second place.
    pub(super) fn describe(&self, place: Place) -> String {
        let pointer = self.source.at(place).pointer();
        format!("{}#{pointer}", self.source.file_name(place))
    }

    /// Intersects all schemas at `places`, in a view.
    pub(super) fn merge(&mut self, places: &[Place], view: &View) -> Rc<Merged> {
        if let Some(known) = self.unmarked.get(places) {
            return Rc::clone(known);
        }
        let key = (places.to_vec(), view.clone());
        if let Some(known) = self.merged.get(&key) {
            return Rc::clone(known);
        }
        let merged = Rc::new(self.intersection(places, view));
        if merged.marked {
            self.merged.insert(key, Rc::clone(&merged));
        } else {
            self.unmarked.insert(key.0, Rc::clone(&merged));
        }
        merged
    }

    fn intersection(&mut self, places: &[Place], view: &View) -> Merged {
        let mut merged = Merged::default();
        let mut conditional = Vec::new();
        for place in places {
            self.collect(
                *place,
                view,
                false,
                &mut merged,
                &mut conditional,
                &mut Vec::new(),
            );
        }
        // A object with members of its own is not a union: its alternatives only add conditions.
        if !merged.properties.is_empty() {
            let alternatives = std::mem::take(&mut merged.alternatives);
            conditional.extend(
                alternatives
                    .into_iter()
                    .flat_map(|alternatives| alternatives.places),
            );
        }
        for place in conditional {
            self.collect(
                place,
                view,
                true,
                &mut merged,
                &mut Vec::new(),
                &mut Vec::new(),
            );
        }
        // A branch may require what another branch leaves out of this view.
        let declared: BTreeSet<&String> =
            merged.properties.0.iter().map(|(name, _)| name).collect();
        let missing: Vec<String> = merged
            .required
            .iter()
            .filter(|name| !declared.contains(name) && !merged.omitted.contains(*name))
            .cloned()
            .collect();
        merged
            .required
            .retain(|name| !merged.omitted.contains(name) || merged.properties.contains_key(name));
        if !merged.properties.is_empty() {
            for name in missing {
                merged.properties.entry(&name);
            }
        }
        merged
    }

    fn collect(
        &mut self,
        place: Place,
        view: &View,
        conditional: bool,
        merged: &mut Merged,
        later: &mut Vec<Place>,
        chain: &mut Vec<Place>,
    ) {
        if let Some(start) = chain.iter().position(|known| *known == place) {
            // Whichever way the cycle was entered, it is reported at one place.
            let first = chain
                .iter()
                .skip(start)
                .min_by_key(|place| self.source.at(**place).pointer())
                .copied()
                .unwrap_or(place);
            self.problem(
                first,
                Code::RefCycle,
                "the schema is defined only by itself",
                Some("a recursive type needs a property, an item or a branch between".to_owned()),
            );
            return;
        }
        if chain.len() >= super::DEEPEST {
            self.too_deep(place);
            return;
        }
        let schema = self.source.at(place);
        match schema.kind() {
            Kind::Object => {}
            Kind::Bool(true) => return,
            Kind::Bool(false) => {
                self.problem(
                    place,
                    Code::Schema,
                    "`false` allows no value",
                    Some("leave the property out".to_owned()),
                );
                return;
            }
            _ => {
                self.problem(
                    place,
                    Code::Schema,
                    "a JSON Schema is an object or a boolean",
                    None,
                );
                return;
            }
        }
        chain.push(place);
        if self.checked.insert(place) {
            self.check(schema);
        }
        if let Some(target) = self.source.target(place) {
            self.collect(target, view, conditional, merged, later, chain);
        }
        for branch in branches(schema, "allOf") {
            self.collect(branch, view, conditional, merged, later, chain);
        }
        self.own(schema, view, conditional, merged);
        let then = schema.get("then").into_iter().chain(schema.get("else"));
        later.extend(then.map(|at| at.place));
        for keyword in ["oneOf", "anyOf"] {
            let places: Vec<Place> = branches(schema, keyword).collect();
            // Branches that only say which members must be there describe no other shape.
            if places.iter().any(|branch| self.shapes(*branch)) {
                merged.alternatives.push(Alternatives { places });
            }
        }
        chain.pop();
    }

    /// Whether a branch says more than which members are required.
    fn shapes(&self, branch: Place) -> bool {
        self.source
            .at(branch)
            .members()
            .any(|(keyword, _)| keyword != "required" && !is_annotation(keyword))
    }

    /// The keywords of one schema, without what it includes.
    fn own(&mut self, schema: At<'_>, view: &View, conditional: bool, merged: &mut Merged) {
        if !conditional {
            self.own_type(schema, merged);
            own_docs(schema, merged);
        }
        let mut required: Vec<&str> = schema
            .get("required")
            .into_iter()
            .flat_map(At::items)
            .filter_map(At::as_str)
            .collect();
        let properties = schema.get("properties");
        for (name, property) in properties.into_iter().flat_map(At::members) {
            let marked = if marks::is_marked(property) {
                merged.marked = true;
                marks::mark(property, view).unwrap_or_else(|message| {
                    self.problem(property.place, Code::Schema, message, None);
                    None
                })
            } else {
                None
            };
            match marked.as_ref().map(|marked| marked.mark) {
                Some(Mark::Omit) => {
                    required.retain(|other| *other != name);
                    merged.omitted.insert(name.to_owned());
                    continue;
                }
                Some(Mark::Optional) => required.retain(|other| *other != name),
                Some(Mark::Required) => required.push(name),
                None => {}
            }
            // What holds only under a condition cannot narrow what always holds.
            if conditional
                && merged
                    .properties
                    .get(name)
                    .is_some_and(|known| !known.conditional)
            {
                continue;
            }
            if let Some(known) = merged.properties.entry(name) {
                known.conditional = conditional;
                known.transition = known
                    .transition
                    .take()
                    .or(marked.and_then(|marked| marked.transition));
                if !known.places.contains(&property.place) {
                    known.places.push(property.place);
                }
            }
        }
        if conditional {
            return;
        }
        merged
            .required
            .extend(required.into_iter().map(ToOwned::to_owned));
        merged
            .items
            .extend(schema.get("items").map(|items| items.place));
        if let Some(additional) = schema.get("additionalProperties")
            && additional.is_object()
        {
            merged.marked |= marks::is_marked(additional);
            let omitted = marks::mark(additional, view)
                .ok()
                .flatten()
                .is_some_and(|marked| marked.mark == Mark::Omit);
            if !omitted {
                merged.additional.push(additional.place);
            }
        }
        if let Some(maximum) = schema.get("maximum").and_then(At::as_i64) {
            merged.maximum = Some(merged.maximum.map_or(maximum, |other| other.min(maximum)));
        }
        if let Some(constant) = schema.get("const") {
            let other = merged.constant.map(|other| self.source.at(other));
            if other.is_some_and(|other| other != constant) {
                self.problem(
                    constant.place,
                    Code::Conflict,
                    "another `const` applies to the same value",
                    None,
                );
            }
            merged.constant = Some(constant.place);
        }
        if let Some(values) = schema.get("enum").filter(|values| values.is_list())
            && let Some(strings) = values
                .items()
                .filter(|value| !value.is_null())
                .map(At::as_str)
                .collect::<Option<Vec<_>>>()
        {
            let mut both: Vec<String> = Vec::new();
            for value in strings {
                let allowed = merged
                    .vocabulary
                    .as_ref()
                    .is_none_or(|before| before.iter().any(|known| known == value));
                if allowed && !both.iter().any(|known| known == value) {
                    both.push(value.to_owned());
                }
            }
            if !both.is_empty() {
                merged.vocabulary = Some(both);
            } else if merged.vocabulary.is_some() {
                self.problem(
                    values.place,
                    Code::Conflict,
                    "another `enum` of the same value has none of these",
                    None,
                );
            }
        }
    }

    fn own_type(&mut self, schema: At<'_>, merged: &mut Merged) {
        for (keyword, value) in schema.members() {
            match keyword {
                "type" => self.declared(value, schema.place, merged),
                "properties" | "required" | "additionalProperties" | "propertyNames" => {
                    merged.implied.insert("object");
                }
                "items" | "contains" => merged.implied.insert("array"),
                "pattern" | "format" | "minLength" | "maxLength" => merged.implied.insert("string"),
                "const" if value.is_text() => merged.implied.insert("string"),
                "enum" if value.is_list() && value.items().all(At::is_text) => {
                    merged.implied.insert("string");
                }
                _ => {}
            }
        }
    }

    fn declared(&mut self, value: At<'_>, schema: Place, merged: &mut Merged) {
        let mut types = Types::default();
        let mut name = |name: At<'_>| match name.as_str() {
            Some(known) if TYPES.contains(&known) => {
                types.insert(known);
                None
            }
            _ => Some(name.shown()),
        };
        let unknown = if value.is_list() && value.items().next().is_some() {
            value.items().find_map(name)
        } else {
            name(value)
        };
        match unknown {
            Some(unknown) => {
                let message = format!("`{unknown}` is not a JSON type");
                let hint = format!("one of {}", TYPES.join(", "));
                self.problem(value.place, Code::Schema, message, Some(hint));
            }
            None => merged.declared.push((types, schema)),
        }
    }

    fn check(&mut self, schema: At<'_>) {
        for (keyword, value) in schema.members() {
            if let Some((message, hint)) = ledger::check(ledger::SCHEMA, keyword) {
                self.problem(value.place, Code::Keyword, message, hint);
            }
            let (right, kind) = match keyword {
                "$ref" => (value.is_text(), "a string"),
                "properties" => (value.is_object(), "an object"),
                "required" => (
                    value.is_list() && value.items().all(At::is_text),
                    "a list of strings",
                ),
                "items" | "additionalProperties" => {
                    (value.is_object() || value.is_bool(), "a schema")
                }
                "enum" => (is_branches(value), "a list of at least one value"),
                "allOf" | "anyOf" | "oneOf" => (is_branches(value), "a list of schemas"),
                _ => continue,
            };
            if !right {
                let message = format!("`{keyword}` is {kind}");
                self.problem(value.place, Code::Schema, message, None);
            }
        }
    }
}

/// Later places are nearer to the use: what they say goes before what they refer to.
fn own_docs(schema: At<'_>, merged: &mut Merged) {
    let mut deprecated = false;
    let mut facts: Vec<(usize, String)> = Vec::new();
    let docs = &mut merged.docs;
    let description = schema.text("description");
    for (keyword, value) in schema.members() {
        match keyword {
            "title" => docs.title = value.as_str().map(ToOwned::to_owned).or(docs.title.take()),
            "deprecated" => deprecated = value.says(true),
            keyword => {
                match keyword {
                    "default" => docs.default = Some(value.place),
                    "examples" if value.is_list() => docs.examples = Some(value.place),
                    _ => {}
                }
                facts.extend(fact(keyword, value));
            }
        }
    }
    if let Some(description) = description {
        docs.description = Some(description.to_owned());
    }
    if deprecated {
        docs.deprecated = Some(description.unwrap_or_default().to_owned());
    }
    facts.sort_by_key(|(order, _)| *order);
    for (_, fact) in facts {
        if !docs.facts.contains(&fact) {
            docs.facts.push(fact);
        }
    }
}

fn is_branches(value: At<'_>) -> bool {
    value.items().next().is_some()
}

/// The schemas under a keyword that has a list of them.
pub(super) fn branches<'t>(schema: At<'t>, keyword: &str) -> impl Iterator<Item = Place> + use<'t> {
    let branches = schema.get(keyword).into_iter().flat_map(At::items);
    branches.map(|branch| branch.place)
}

/// A sentence about what the type does not say, and where it goes among the others.
fn fact(keyword: &str, value: At<'_>) -> Option<(usize, String)> {
    let bound = |order, before: &str, after: &str| {
        Some((order, format!("{before}{}{after}.", value.shown())))
    };
    match keyword {
        "format" => bound(0, "Format: `", "`"),
        "pattern" => bound(1, "Pattern: `", "`"),
        "minimum" => bound(2, "At least ", ""),
        "maximum" => bound(3, "At most ", ""),
        "exclusiveMinimum" => bound(4, "More than ", ""),
        "exclusiveMaximum" => bound(5, "Less than ", ""),
        "multipleOf" => bound(6, "A multiple of ", ""),
        "minLength" => bound(7, "At least ", " characters"),
        "maxLength" => bound(8, "At most ", " characters"),
        "minItems" => bound(9, "At least ", " items"),
        "maxItems" => bound(10, "At most ", " items"),
        "minProperties" => bound(11, "At least ", " members"),
        "maxProperties" => bound(12, "At most ", " members"),
        "default" => bound(13, "Absent means `", "`"),
        "uniqueItems" if value.says(true) => Some((14, "No item occurs twice.".to_owned())),
        "examples" if value.is_list() => {
            let examples: Vec<String> = value
                .items()
                .map(|example| format!("`{}`", example.shown()))
                .collect();
            Some((15, format!("For example {}.", examples.join(", "))))
        }
        _ => None,
    }
}
