//! Taking out of a tool's schema what a model is not to set.

use crate::headers;
use crate::wire::{Map, Value};
use http::HeaderName;

/// The name under which a schema has its own definitions.
const DEFINITIONS: &str = "#/$defs/";

/// What is not a model's to set, and where.
#[derive(Clone, Debug)]
pub(super) struct Provided {
    /// Whether it is a member of the body; an input otherwise.
    pub(super) in_body: bool,
    pub(super) name: String,
    /// What the application sets it to, if anything.
    pub(super) value: Option<Value>,
}

/// Takes out what the application provides or withholds, and says where that goes. `known` is set for
/// what the tool takes.
pub(super) fn provide(
    schema: &mut Map,
    all: &[(String, Option<Value>)],
    known: &mut [bool],
) -> Vec<Provided> {
    let mut provided = Vec::new();
    for ((name, value), known) in all.iter().zip(known) {
        let mut set = |in_body| {
            *known = true;
            provided.push(Provided {
                in_body,
                name: name.clone(),
                value: value.clone(),
            });
        };
        if take(schema, name) {
            set(false);
            continue;
        }
        let body = schema
            .get_mut("properties")
            .and_then(|it| it.get_mut("body"));
        let Some(Value::Object(body)) = body else {
            continue;
        };
        if take(body, name) {
            set(true);
            // A model is not asked for a body of nothing.
            let left = body.get("properties").and_then(Value::as_object);
            if value.is_some() && left.is_some_and(Map::is_empty) {
                take(schema, "body");
            }
        }
    }
    if !provided.is_empty() {
        prune(schema);
    }
    provided
}

/// Requires nothing of a body any more.
pub(super) fn loosen(schema: &mut Map) {
    let body = schema
        .get_mut("properties")
        .and_then(|it| it.get_mut("body"));
    if let Some(Value::Object(body)) = body {
        body.retain(|name, _| name != "required");
    }
}

/// Takes out the headers that say who asks, although the client has them as arguments.
pub(super) fn keep_from_models(schema: &mut Map) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(Map::keys);
    let names: Vec<String> = names.filter(|name| is_kept(name)).cloned().collect();
    for name in names {
        take(schema, &name);
    }
}

/// Whether an input is a header that no model sets.
pub(super) fn is_kept(name: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok_and(|name| headers::is_identity(&name))
}

/// Takes a member out of a schema; `false` when it declares none of that name.
fn take(schema: &mut Map, name: &str) -> bool {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let Some(properties) = properties.filter(|it| it.contains_key(name)) else {
        return false;
    };
    // What is left keeps its order.
    properties.retain(|other, _| other != name);
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|other| other != name);
    }
    true
}

/// Leaves out the definitions that nothing refers to any more.
fn prune(schema: &mut Map) {
    let Some(Value::Object(mut definitions)) = schema.remove("$defs") else {
        return;
    };
    let mut kept = Map::new();
    let mut open = Vec::new();
    schema.values().for_each(|value| refers(value, &mut open));
    while let Some(name) = open.pop() {
        if let Some(definition) = definitions.remove(&name) {
            refers(&definition, &mut open);
            kept.insert(name, definition);
        }
    }
    if !kept.is_empty() {
        schema.insert("$defs".to_owned(), kept.into());
    }
}

/// The definitions that a schema refers to.
fn refers(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            let to = members.get("$ref").and_then(Value::as_str);
            names.extend(
                to.and_then(|to| to.strip_prefix(DEFINITIONS))
                    .map(str::to_owned),
            );
            members.values().for_each(|value| refers(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| refers(value, names)),
        _ => {}
    }
}
