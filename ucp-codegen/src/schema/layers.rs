//! Intersecting the schemas that describe one value.

use super::marks::{self, Mark, View};
use super::{Docs, Reader};
use crate::diagnostics::Code;
use crate::ledger;
use crate::source::Place;
use serde_json::{Map, Value};
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
        if !self.contains_key(name) {
            self.0.push((name.to_owned(), Property::default()));
        }
        self.0
            .iter_mut()
            .find(|(known, _)| known == name)
            .map(|(_, property)| property)
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
    declared: Vec<(BTreeSet<String>, Place)>,
    pub(super) properties: Properties,
    pub(super) required: BTreeSet<String>,
    pub(super) items: Vec<Place>,
    pub(super) additional: Vec<Place>,
    /// The lowest `maximum` of all branches.
    pub(super) maximum: Option<i64>,
    pub(super) constant: Option<Value>,
    pub(super) vocabulary: Option<Vec<String>>,
    pub(super) alternatives: Vec<Alternatives>,
    pub(super) docs: Docs,
    /// What the keywords imply where no branch states a type.
    implied: BTreeSet<String>,
    /// Members that some branch leaves out of this view.
    omitted: BTreeSet<String>,
}

impl Merged {
    /// The types that all branches allow.
    pub(super) fn types(&self, reader: &mut Reader<'_>) -> BTreeSet<String> {
        let mut types: Option<BTreeSet<String>> = None;
        for (declared, place) in &self.declared {
            types = Some(match types {
                None => declared.clone(),
                Some(before) => {
                    let both = intersect(&before, declared);
                    if both.is_empty() {
                        let first = self
                            .declared
                            .first()
                            .map(|(_, first)| reader.describe(first))
                            .unwrap_or_default();
                        let message = format!(
                            "`type: {}` and `type: {}` of {first} exclude each other",
                            list(declared),
                            list(&before)
                        );
                        reader.problem(
                            place,
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
        types.unwrap_or_else(|| self.implied.clone())
    }
}

fn list(types: &BTreeSet<String>) -> String {
    types
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" or ")
}

/// Every integer is a number.
fn intersect(a: &BTreeSet<String>, b: &BTreeSet<String>) -> BTreeSet<String> {
    let mut both: BTreeSet<String> = a.intersection(b).cloned().collect();
    if (a.contains("integer") && b.contains("number"))
        || (a.contains("number") && b.contains("integer"))
    {
        both.insert("integer".to_owned());
    }
    both
}

const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "string", "integer",
];

impl Reader<'_> {
    /// `file#pointer`, for a message that names a second place.
    pub(super) fn describe(&self, place: &Place) -> String {
        format!("{}#{}", self.source.file_name(place), place.pointer)
    }

    /// Intersects all schemas at `places`, in a view.
    pub(super) fn merge(&mut self, places: &[Place], view: &View) -> Rc<Merged> {
        let key = (places.to_vec(), view.clone());
        if let Some(known) = self.merged.get(&key) {
            return Rc::clone(known);
        }
        let merged = Rc::new(self.intersection(places, view));
        self.merged.insert(key, Rc::clone(&merged));
        merged
    }

    fn intersection(&mut self, places: &[Place], view: &View) -> Merged {
        let mut merged = Merged::default();
        let mut conditional = Vec::new();
        for place in places {
            self.collect(
                place,
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
                &place,
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
        place: &Place,
        view: &View,
        conditional: bool,
        merged: &mut Merged,
        later: &mut Vec<Place>,
        chain: &mut Vec<Place>,
    ) {
        if let Some(start) = chain.iter().position(|known| known == place) {
            // Whichever way the cycle was entered, it is reported at one place.
            let first = chain
                .iter()
                .skip(start)
                .min()
                .cloned()
                .unwrap_or_else(|| place.clone());
            self.problem(
                &first,
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
        let document = self.source.document(place);
        let schema = match document
            .as_ref()
            .and_then(|document| document.pointer(&place.pointer))
        {
            Some(Value::Object(schema)) => schema,
            Some(Value::Bool(true)) => return,
            Some(Value::Bool(false)) => {
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
        };
        chain.push(place.clone());
        if self.checked.insert(place.clone()) {
            self.check(place, schema);
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.source.resolve(place, reference, self.diagnostics)
        {
            self.collect(&target, view, conditional, merged, later, chain);
        }
        for branch in branches(place, schema, "allOf") {
            self.collect(&branch, view, conditional, merged, later, chain);
        }
        self.own(place, schema, view, conditional, merged);
        for keyword in ["then", "else"] {
            if schema.contains_key(keyword) {
                later.push(place.child(keyword));
            }
        }
        for keyword in ["oneOf", "anyOf"] {
            let places = branches(place, schema, keyword);
            // Branches that only say which members must be there describe no other shape.
            if places.iter().any(|branch| self.shapes(branch)) {
                merged.alternatives.push(Alternatives { places });
            }
        }
        chain.pop();
    }

    /// Whether a branch says more than which members are required.
    fn shapes(&self, branch: &Place) -> bool {
        self.source
            .value(branch)
            .and_then(Value::as_object)
            .is_some_and(|schema| {
                schema
                    .keys()
                    .any(|keyword| keyword != "required" && !is_annotation(keyword))
            })
    }

    /// The keywords of one schema, without what it includes.
    fn own(
        &mut self,
        place: &Place,
        schema: &Map<String, Value>,
        view: &View,
        conditional: bool,
        merged: &mut Merged,
    ) {
        if !conditional {
            self.own_type(place, schema, merged);
            self.own_docs(schema, merged);
        }
        let mut required: BTreeSet<String> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(ToOwned::to_owned)
            .collect();
        let properties = place.child("properties");
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let at = properties.child(name);
            let marked = marks::mark(property, view).unwrap_or_else(|message| {
                self.problem(&at, Code::Schema, message, None);
                None
            });
            match marked.as_ref().map(|marked| marked.mark) {
                Some(Mark::Omit) => {
                    required.remove(name);
                    merged.omitted.insert(name.clone());
                    continue;
                }
                Some(Mark::Optional) => {
                    required.remove(name);
                }
                Some(Mark::Required) => {
                    required.insert(name.clone());
                }
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
                if !known.places.contains(&at) {
                    known.places.push(at);
                }
            }
        }
        if conditional {
            return;
        }
        merged.required.append(&mut required);
        if schema.contains_key("items") {
            merged.items.push(place.child("items"));
        }
        if let Some(Value::Object(additional)) = schema.get("additionalProperties") {
            let omitted = marks::mark(&Value::Object(additional.clone()), view)
                .ok()
                .flatten()
                .is_some_and(|marked| marked.mark == Mark::Omit);
            if !omitted {
                merged.additional.push(place.child("additionalProperties"));
            }
        }
        if let Some(maximum) = schema.get("maximum").and_then(Value::as_i64) {
            merged.maximum = Some(merged.maximum.map_or(maximum, |other| other.min(maximum)));
        }
        if let Some(constant) = schema.get("const") {
            if merged
                .constant
                .as_ref()
                .is_some_and(|other| other != constant)
            {
                self.problem(
                    &place.child("const"),
                    Code::Conflict,
                    "another `const` applies to the same value",
                    None,
                );
            }
            merged.constant = Some(constant.clone());
        }
        if let Some(Value::Array(values)) = schema.get("enum")
            && let Some(strings) = values
                .iter()
                .filter(|value| !value.is_null())
                .map(|value| value.as_str().map(ToOwned::to_owned))
                .collect::<Option<Vec<_>>>()
        {
            let mut both: Vec<String> = Vec::new();
            for value in strings {
                let allowed = merged
                    .vocabulary
                    .as_ref()
                    .is_none_or(|before| before.contains(&value));
                if allowed && !both.contains(&value) {
                    both.push(value);
                }
            }
            if !both.is_empty() {
                merged.vocabulary = Some(both);
            } else if merged.vocabulary.is_some() {
                self.problem(
                    &place.child("enum"),
                    Code::Conflict,
                    "another `enum` of the same value has none of these",
                    None,
                );
            }
        }
    }

    fn own_type(&mut self, place: &Place, schema: &Map<String, Value>, merged: &mut Merged) {
        let names: Vec<String> = match schema.get("type") {
            None => Vec::new(),
            Some(Value::String(name)) => vec![name.clone()],
            Some(Value::Array(names)) if !names.is_empty() => names
                .iter()
                .map(|name| {
                    name.as_str()
                        .map_or_else(|| name.to_string(), ToOwned::to_owned)
                })
                .collect(),
            Some(other) => vec![other.to_string()],
        };
        if let Some(unknown) = names.iter().find(|name| !TYPES.contains(&name.as_str())) {
            let message = format!("`{unknown}` is not a JSON type");
            self.problem(
                &place.child("type"),
                Code::Schema,
                message,
                Some(format!("one of {}", TYPES.join(", "))),
            );
        } else if !names.is_empty() {
            merged
                .declared
                .push((names.into_iter().collect(), place.clone()));
        }
        let implied =
            |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
        if implied(&[
            "properties",
            "required",
            "additionalProperties",
            "propertyNames",
        ]) {
            merged.implied.insert("object".to_owned());
        }
        if implied(&["items", "contains"]) {
            merged.implied.insert("array".to_owned());
        }
        if implied(&["pattern", "format", "minLength", "maxLength"])
            || schema.get("const").is_some_and(Value::is_string)
        {
            merged.implied.insert("string".to_owned());
        }
        if schema
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|values| values.iter().all(Value::is_string))
        {
            merged.implied.insert("string".to_owned());
        }
    }

    /// Later places are nearer to the use: what they say goes before what they refer to.
    fn own_docs(&mut self, schema: &Map<String, Value>, merged: &mut Merged) {
        let text = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(Value::as_str)
                .map(ToOwned::to_owned)
        };
        let docs = &mut merged.docs;
        docs.title = text("title").or(docs.title.take());
        docs.description = text("description").or(docs.description.take());
        if schema.get("deprecated").is_some_and(|value| value == true) {
            docs.deprecated = Some(text("description").unwrap_or_default());
        }
        for fact in facts(schema) {
            if !docs.facts.contains(&fact) {
                docs.facts.push(fact);
            }
        }
    }

    fn check(&mut self, place: &Place, schema: &Map<String, Value>) {
        let (source, diagnostics) = (&*self.source, &mut *self.diagnostics);
        ledger::check(ledger::SCHEMA, schema.keys(), |keyword, message, hint| {
            diagnostics.at(source, &place.child(keyword), Code::Keyword, message, hint);
        });
        let wants = |keyword: &str, right: fn(&Value) -> bool| {
            schema.get(keyword).is_some_and(|value| !right(value))
        };
        let wrong: Vec<(&str, &str)> = [
            ("$ref", "a string", wants("$ref", Value::is_string)),
            (
                "properties",
                "an object",
                wants("properties", Value::is_object),
            ),
            (
                "required",
                "a list of strings",
                wants("required", |value| {
                    value
                        .as_array()
                        .is_some_and(|list| list.iter().all(Value::is_string))
                }),
            ),
            (
                "items",
                "a schema",
                wants("items", |value| value.is_object() || value.is_boolean()),
            ),
            (
                "additionalProperties",
                "a schema",
                wants("additionalProperties", |value| {
                    value.is_object() || value.is_boolean()
                }),
            ),
            (
                "enum",
                "a list of at least one value",
                wants("enum", is_branches),
            ),
            ("allOf", "a list of schemas", wants("allOf", is_branches)),
            ("anyOf", "a list of schemas", wants("anyOf", is_branches)),
            ("oneOf", "a list of schemas", wants("oneOf", is_branches)),
        ]
        .into_iter()
        .filter(|(_, _, wrong)| *wrong)
        .map(|(keyword, kind, _)| (keyword, kind))
        .collect();
        for (keyword, kind) in wrong {
            self.problem(
                &place.child(keyword),
                Code::Schema,
                format!("`{keyword}` is {kind}"),
                None,
            );
        }
    }
}

fn is_branches(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}

pub(super) fn branches(place: &Place, schema: &Map<String, Value>, keyword: &str) -> Vec<Place> {
    let count = schema
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    let at = place.child(keyword);
    (0..count).map(|index| at.child(index)).collect()
}

/// Sentences about what the type does not say.
fn facts(schema: &Map<String, Value>) -> Vec<String> {
    let mut facts = Vec::new();
    let mut say = |keyword: &str, sentence: &dyn Fn(&str) -> String| {
        if let Some(value) = schema.get(keyword) {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), ToOwned::to_owned);
            facts.push(sentence(&text));
        }
    };
    say("format", &|format| format!("Format: `{format}`."));
    say("pattern", &|pattern| format!("Pattern: `{pattern}`."));
    say("minimum", &|bound| format!("At least {bound}."));
    say("maximum", &|bound| format!("At most {bound}."));
    say("exclusiveMinimum", &|bound| format!("More than {bound}."));
    say("exclusiveMaximum", &|bound| format!("Less than {bound}."));
    say("multipleOf", &|bound| format!("A multiple of {bound}."));
    say("minLength", &|bound| {
        format!("At least {bound} characters.")
    });
    say("maxLength", &|bound| format!("At most {bound} characters."));
    say("minItems", &|bound| format!("At least {bound} items."));
    say("maxItems", &|bound| format!("At most {bound} items."));
    say("minProperties", &|bound| {
        format!("At least {bound} members.")
    });
    say("maxProperties", &|bound| {
        format!("At most {bound} members.")
    });
    say("default", &|default| format!("Absent means `{default}`."));
    if schema.get("uniqueItems").is_some_and(|value| value == true) {
        facts.push("No item occurs twice.".to_owned());
    }
    if let Some(Value::Array(examples)) = schema.get("examples") {
        let examples: Vec<String> = examples
            .iter()
            .map(|example| {
                format!(
                    "`{}`",
                    example
                        .as_str()
                        .map_or_else(|| example.to_string(), ToOwned::to_owned)
                )
            })
            .collect();
        facts.push(format!("For example {}.", examples.join(", ")));
    }
    facts
}
