//! Brings the OpenAPI 3.1 envelope down to the 3.0 that the crate `openapiv3` reads.
//!
//! That crate drops what it does not know without a word, so this is the one place that looks at the
//! raw document: references of the envelope are resolved, webhooks become paths, what the published
//! files leave out is supplied, every keyword is looked up in the ledger, and each JSON Schema is
//! replaced by a reference to its own place.

use crate::diagnostics::{Code, Diagnostics};
use crate::ledger;
use crate::source::{FileId, Place, Source};
use openapiv3::{OpenAPI, ReferenceOr};
use serde_json::{Map, Value, json};

/// What the path of a lowered webhook begins with.
pub(super) const WEBHOOK: &str = "/x-webhooks/";
/// What a lowered schema reference begins with: file, then pointer, follow.
const PLACE: &str = "place:";
const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// Whether a media type is JSON. Parameters and case do not count (RFC 9110 section 8.3.1).
pub(super) fn is_json(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or(media).trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// The place that a lowered schema stands for.
pub(super) fn place_of(schema: &ReferenceOr<openapiv3::Schema>) -> Option<Place> {
    let ReferenceOr::Reference { reference } = schema else { return None };
    let (file, pointer) = reference.strip_prefix(PLACE)?.split_once('#')?;
    Some(Place { file: FileId::from_text(file)?, pointer: pointer.into() })
}

fn reference_to(place: &Place) -> Value {
    json!({ "$ref": format!("{PLACE}{}#{}", place.file.to_text(), place.pointer) })
}

pub(super) fn lower(source: &mut Source, entry: FileId, diagnostics: &mut Diagnostics) -> Option<OpenAPI> {
    let root = Place::root(entry);
    let mut lowering = Lowering { source, diagnostics };
    let document = lowering.object(&root)?;
    let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("3.1") && !version.starts_with("3.0") {
        lowering.problem(&root, "not an OpenAPI 3.1 document", Some("name the REST contract: the file that has `openapi` and `paths`"));
        return None;
    }
    lowering.check(ledger::DOCUMENT, &root, &document);
    let title = document.get("info").and_then(|info| info.get("title")).and_then(Value::as_str).unwrap_or_default();

    let mut paths = Map::new();
    for (section, prefix) in [("paths", ""), ("webhooks", WEBHOOK)] {
        let place = root.child(section);
        for name in lowering.keys(&place) {
            let item = lowering.path_item(&place.child(&name));
            paths.insert(format!("{prefix}{name}"), item);
        }
    }
    // `info.version` is absent in published files; the release comes from the caller.
    let lowered = json!({ "openapi": "3.0.3", "info": { "title": title, "version": "" }, "paths": paths });
    match serde_json::from_value(lowered) {
        Ok(document) => Some(document),
        Err(error) => {
            lowering.problem(&root, &format!("not an OpenAPI 3.1 document: {error}"), None);
            None
        }
    }
}

struct Lowering<'a> {
    source: &'a mut Source,
    diagnostics: &'a mut Diagnostics,
}

impl Lowering<'_> {
    fn problem(&mut self, place: &Place, message: &str, hint: Option<&str>) {
        self.diagnostics.at(self.source, place, Code::OpenApi, message, hint.map(ToOwned::to_owned));
    }

    fn check(&mut self, table: &'static [(&'static str, ledger::Use)], place: &Place, object: &Map<String, Value>) {
        let (source, diagnostics) = (&*self.source, &mut *self.diagnostics);
        ledger::check(table, object.keys(), |keyword, message, hint| {
            diagnostics.at(source, &place.child(keyword), Code::Keyword, message, hint);
        });
    }

    fn keys(&self, place: &Place) -> Vec<String> {
        self.source.value(place).and_then(Value::as_object).map(|map| map.keys().cloned().collect()).unwrap_or_default()
    }

    fn object(&mut self, place: &Place) -> Option<Map<String, Value>> {
        match self.source.value(place) {
            Some(Value::Object(map)) => Some(map.clone()),
            _ => {
                self.problem(place, "expected an object", None);
                None
            }
        }
    }

    /// Follows the references of the envelope to the place that says something.
    fn follow(&mut self, place: &Place) -> Option<Place> {
        let mut seen = vec![place.clone()];
        loop {
            let here = seen.last()?.clone();
            let Some(reference) = self.source.value(&here).and_then(|value| value.get("$ref")).and_then(Value::as_str).map(ToOwned::to_owned)
            else {
                return Some(here);
            };
            let next = self.source.resolve(&here, &reference, self.diagnostics)?;
            if seen.contains(&next) {
                let message = format!("`$ref: {reference}` leads only to itself");
                self.diagnostics.at(self.source, place, Code::RefCycle, message, None);
                return None;
            }
            seen.push(next);
        }
    }

    fn path_item(&mut self, place: &Place) -> Value {
        let Some(place) = self.follow(place) else { return json!({}) };
        let Some(item) = self.object(&place) else { return json!({}) };
        self.check(ledger::PATH_ITEM, &place, &item);
        let shared = self.parameters(&place.child("parameters"), item.get("parameters"));
        let mut lowered = Map::new();
        for method in METHODS {
            if item.contains_key(method) {
                let operation = self.operation(&place.child(method), &shared);
                lowered.insert(method.to_owned(), operation);
            }
        }
        Value::Object(lowered)
    }

    fn operation(&mut self, place: &Place, shared: &[Map<String, Value>]) -> Value {
        let Some(operation) = self.object(place) else { return json!({ "responses": {} }) };
        self.check(ledger::OPERATION, place, &operation);
        let own = self.parameters(&place.child("parameters"), operation.get("parameters"));
        // An operation's parameter replaces the path's one of the same name and location.
        let same = |a: &Map<String, Value>, b: &Map<String, Value>| a.get("name") == b.get("name") && a.get("in") == b.get("in");
        let parameters: Vec<Value> = shared
            .iter()
            .filter(|parameter| !own.iter().any(|other| same(parameter, other)))
            .chain(&own)
            .cloned()
            .map(Value::Object)
            .collect();

        let mut lowered = Map::new();
        for keyword in ["operationId", "summary", "description", "deprecated"] {
            if let Some(value) = operation.get(keyword) {
                let fits = if keyword == "deprecated" { value.is_boolean() } else { value.is_string() };
                if fits {
                    lowered.insert(keyword.to_owned(), value.clone());
                } else {
                    self.problem(&place.child(keyword), &format!("`{keyword}` has the wrong type"), None);
                }
            }
        }
        lowered.insert("parameters".to_owned(), Value::Array(parameters));
        if operation.contains_key("requestBody") {
            let body = self.request_body(&place.child("requestBody"));
            lowered.insert("requestBody".to_owned(), body);
        }
        let mut responses = Map::new();
        let answers = place.child("responses");
        for status in self.keys(&answers) {
            let valid = status == "default" || status.parse::<u16>().is_ok_and(|code| (100..600).contains(&code)) || is_range(&status);
            if !valid {
                self.problem(&answers.child(&status), &format!("`{status}` is not an HTTP status"), None);
                continue;
            }
            let response = self.response(&answers.child(&status));
            responses.insert(status, response);
        }
        lowered.insert("responses".to_owned(), Value::Object(responses));
        Value::Object(lowered)
    }

    fn parameters(&mut self, place: &Place, list: Option<&Value>) -> Vec<Map<String, Value>> {
        let count = match list {
            None => return Vec::new(),
            Some(Value::Array(items)) => items.len(),
            Some(_) => {
                self.problem(place, "`parameters` is a list", None);
                return Vec::new();
            }
        };
        (0..count).filter_map(|index| self.parameter(&place.child(index))).collect()
    }

    fn parameter(&mut self, place: &Place) -> Option<Map<String, Value>> {
        let place = self.follow(place)?;
        let parameter = self.object(&place)?;
        self.check(ledger::PARAMETER, &place, &parameter);
        let text = |keyword: &str| parameter.get(keyword).and_then(Value::as_str).map(ToOwned::to_owned);
        let (Some(name), Some(location)) = (text("name"), text("in")) else {
            self.problem(&place, "a parameter has a `name` and an `in`", None);
            return None;
        };
        if !["path", "query", "header"].contains(&location.as_str()) {
            self.problem(&place.child("in"), &format!("a parameter in `{location}` cannot be sent"), Some("path, query or header"));
            return None;
        }
        let mut lowered = Map::new();
        lowered.insert("name".to_owned(), name.into());
        lowered.insert("in".to_owned(), location.into());
        lowered.insert("required".to_owned(), parameter.get("required").is_some_and(|value| value == true).into());
        if let Some(description) = text("description") {
            lowered.insert("description".to_owned(), description.into());
        }
        lowered.insert("schema".to_owned(), reference_to(&place.child("schema")));
        Some(lowered)
    }

    fn request_body(&mut self, place: &Place) -> Value {
        let Some((place, body)) = self.follow(place).and_then(|place| Some((place.clone(), self.object(&place)?))) else {
            return json!({ "content": {} });
        };
        self.check(ledger::REQUEST_BODY, &place, &body);
        let content = self.content(&place.child("content"));
        json!({ "content": content, "required": body.get("required").is_some_and(|value| value == true) })
    }

    fn response(&mut self, place: &Place) -> Value {
        let Some((place, response)) = self.follow(place).and_then(|place| Some((place.clone(), self.object(&place)?))) else {
            return json!({ "description": "" });
        };
        self.check(ledger::RESPONSE, &place, &response);
        let content = self.content(&place.child("content"));
        json!({ "description": "", "content": content })
    }

    fn content(&mut self, place: &Place) -> Value {
        let mut lowered = Map::new();
        for media in self.keys(place) {
            let at = place.child(&media);
            let Some(object) = self.object(&at) else { continue };
            self.check(ledger::MEDIA_TYPE, &at, &object);
            if !is_json(&media) {
                self.problem(&at, &format!("`{media}` is not JSON"), Some("UCP's REST binding sends `application/json`"));
                continue;
            }
            let schema = if object.contains_key("schema") { json!({ "schema": reference_to(&at.child("schema")) }) } else { json!({}) };
            lowered.insert(media, schema);
        }
        Value::Object(lowered)
    }
}

/// `2XX` and its like.
fn is_range(status: &str) -> bool {
    matches!(status.as_bytes(), [b'1'..=b'5', b'X', b'X'])
}
