//! Brings the OpenAPI 3.1 envelope down to the 3.0 that the crate `openapiv3` reads.
//!
//! That crate drops what it does not know without a word, so this is the one place that looks at the
//! raw document: references of the envelope are resolved, webhooks become paths, what the published
//! files leave out is supplied, every keyword is looked up in the ledger, and each JSON Schema is
//! replaced by a reference to its own place.

use crate::diagnostics::{Code, Diagnostics};
use crate::ledger;
use crate::source::{FileId, Source};
use crate::tree::{At, Place};
use openapiv3::{OpenAPI, ReferenceOr};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What the path of a lowered webhook begins with.
pub(super) const WEBHOOK: &str = "/x-webhooks/";
/// What a lowered schema reference begins with: the place follows.
const PLACE: &str = "place:";
/// What a reference to a lowered parameter begins with: the place follows.
pub(super) const PARAMETER: &str = "#/components/parameters/";
const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// Whether a media type is JSON. Parameters and case do not count (RFC 9110 section 8.3.1).
pub(super) fn is_json(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or(media).trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// The place that a lowered schema stands for.
pub(super) fn place_of(schema: &ReferenceOr<openapiv3::Schema>) -> Option<Place> {
    let ReferenceOr::Reference { reference } = schema else {
        return None;
    };
    reference
        .strip_prefix(PLACE)
        .and_then(|place| place.parse().ok())
        .map(Place)
}

fn reference_to(place: Place) -> Value {
    object([("$ref", format!("{PLACE}{}", place.0).into())])
}

/// A JSON object; `json!` would copy what goes into it.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.map(|(name, value)| (name.to_owned(), value));
    Value::Object(Map::from_iter(members))
}

pub(super) fn lower(
    source: &Source,
    entry: FileId,
    diagnostics: &mut Diagnostics,
) -> Option<OpenAPI> {
    let root = source.at(source.root(entry));
    let mut lowering = Lowering {
        source,
        diagnostics,
        parameters: BTreeMap::new(),
    };
    let document = lowering.object(root)?;
    let version = document.text("openapi").unwrap_or_default();
    if !version.starts_with("3.1") && !version.starts_with("3.0") {
        lowering.problem(
            root,
            "not an OpenAPI 3.1 document",
            Some("name the REST contract: the file that has `openapi` and `paths`"),
        );
        return None;
    }
    lowering.check(ledger::DOCUMENT, document);
    let title = document
        .get("info")
        .and_then(|info| info.text("title"))
        .unwrap_or_default();

    let mut paths = Map::new();
    for (section, prefix) in [("paths", ""), ("webhooks", WEBHOOK)] {
        for (name, item) in root.get(section).into_iter().flat_map(At::members) {
            let item = lowering.path_item(item);
            paths.insert(format!("{prefix}{name}"), item);
        }
    }
    // `info.version` is absent in published files; the release comes from the caller.
    let parameters = std::mem::take(&mut lowering.parameters);
    let parameters = parameters.into_values().flatten();
    let parameters: Map<String, Value> = parameters
        .map(|parameter| {
            let at = source.at(parameter.place);
            (
                parameter.place.0.to_string(),
                lowered_parameter(at, parameter),
            )
        })
        .collect();
    let lowered = object([
        ("openapi", "3.0.3".into()),
        (
            "info",
            object([("title", title.into()), ("version", "".into())]),
        ),
        ("paths", Value::Object(paths)),
        (
            "components",
            object([("parameters", Value::Object(parameters))]),
        ),
    ]);
    match serde_json::from_value(lowered) {
        Ok(document) => Some(document),
        Err(error) => {
            lowering.problem(root, &format!("not an OpenAPI 3.1 document: {error}"), None);
            None
        }
    }
}

struct Lowering<'a> {
    source: &'a Source,
    diagnostics: &'a mut Diagnostics,
    /// The parameters by place: most operations declare the same. Nothing for one that is broken.
    parameters: BTreeMap<Place, Option<Parameter<'a>>>,
}

/// What tells a lowered parameter from others.
#[derive(Clone, Copy, PartialEq)]
struct Parameter<'a> {
    place: Place,
    name: &'a str,
    location: &'a str,
}

impl<'a> Lowering<'a> {
    fn problem(&mut self, at: At<'a>, message: &str, hint: Option<&str>) {
        self.diagnostics.at(
            self.source,
            at.place,
            Code::OpenApi,
            message,
            hint.map(ToOwned::to_owned),
        );
    }

    fn check(&mut self, table: &'static [(&'static str, ledger::Use)], object: At<'a>) {
        for (keyword, at) in object.members() {
            if let Some((message, hint)) = ledger::check(table, keyword) {
                self.diagnostics
                    .at(self.source, at.place, Code::Keyword, message, hint);
            }
        }
    }

    fn object(&mut self, at: At<'a>) -> Option<At<'a>> {
        if !at.is_object() {
            self.problem(at, "expected an object", None);
            return None;
        }
        Some(at)
    }

    /// Follows the references of the envelope to the place that says something.
    fn follow(&mut self, at: At<'a>) -> Option<At<'a>> {
        let mut seen = vec![at];
        loop {
            let here = *seen.last()?;
            let Some(reference) = here.text("$ref") else {
                return Some(here);
            };
            // Where it leads nowhere, that was said.
            let next = self.source.at(self.source.target(here.place)?);
            if seen.iter().any(|known| known.place == next.place) {
                let message = format!("`$ref: {reference}` leads only to itself");
                self.diagnostics
                    .at(self.source, at.place, Code::RefCycle, message, None);
                return None;
            }
            seen.push(next);
        }
    }

    /// The object that a place or what it refers to is, its keywords checked.
    fn followed(
        &mut self,
        at: At<'a>,
        table: &'static [(&'static str, ledger::Use)],
    ) -> Option<At<'a>> {
        let at = self.follow(at)?;
        let object = self.object(at)?;
        self.check(table, object);
        Some(object)
    }

    fn path_item(&mut self, at: At<'a>) -> Value {
        let Some(item) = self.followed(at, ledger::PATH_ITEM) else {
            return object([]);
        };
        let shared = self.parameters(item);
        let mut lowered = Map::new();
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                let operation = self.operation(operation, &shared);
                lowered.insert(method.to_owned(), operation);
            }
        }
        Value::Object(lowered)
    }

    fn operation(&mut self, at: At<'a>, shared: &[Parameter<'a>]) -> Value {
        let Some(operation) = self.object(at) else {
            return object([("responses", object([]))]);
        };
        self.check(ledger::OPERATION, operation);
        let own = self.parameters(operation);
        // An operation's parameter replaces the path's one of the same name and location.
        let same =
            |a: &Parameter<'_>, b: &Parameter<'_>| (a.name, a.location) == (b.name, b.location);
        let parameters = shared
            .iter()
            .filter(|parameter| !own.iter().any(|other| same(parameter, other)))
            .chain(&own);
        let parameters: Vec<Value> = parameters
            .map(|parameter| {
                let name = format!("{PARAMETER}{}", parameter.place.0);
                object([("$ref", name.into())])
            })
            .collect();

        let mut lowered = Map::new();
        for keyword in ["operationId", "summary", "description", "deprecated"] {
            if let Some(value) = operation.get(keyword) {
                let fits = if keyword == "deprecated" {
                    value.is_bool()
                } else {
                    value.is_text()
                };
                if fits {
                    lowered.insert(keyword.to_owned(), value.to_value());
                } else {
                    self.problem(value, &format!("`{keyword}` has the wrong type"), None);
                }
            }
        }
        lowered.insert("parameters".to_owned(), Value::Array(parameters));
        if let Some(body) = operation.get("requestBody") {
            let body = self.request_body(body);
            lowered.insert("requestBody".to_owned(), body);
        }
        let mut responses = Map::new();
        let answers = operation.get("responses");
        for (status, answer) in answers.into_iter().flat_map(At::members) {
            let valid = status == "default"
                || status
                    .parse::<u16>()
                    .is_ok_and(|code| (100..600).contains(&code))
                || is_range(status);
            if !valid {
                self.problem(answer, &format!("`{status}` is not an HTTP status"), None);
                continue;
            }
            let response = self.response(answer);
            responses.insert(status.to_owned(), response);
        }
        lowered.insert("responses".to_owned(), Value::Object(responses));
        Value::Object(lowered)
    }

    fn parameters(&mut self, of: At<'a>) -> Vec<Parameter<'a>> {
        let Some(list) = of.get("parameters") else {
            return Vec::new();
        };
        if !list.is_list() {
            self.problem(list, "`parameters` is a list", None);
        }
        list.items()
            .filter_map(|item| self.parameter(item))
            .collect()
    }

    fn parameter(&mut self, at: At<'a>) -> Option<Parameter<'a>> {
        let at = self.follow(at)?;
        if let Some(known) = self.parameters.get(&at.place) {
            return *known;
        }
        let read = self.read_parameter(at);
        self.parameters.insert(at.place, read);
        read
    }

    fn read_parameter(&mut self, at: At<'a>) -> Option<Parameter<'a>> {
        let parameter = self.object(at)?;
        self.check(ledger::PARAMETER, parameter);
        let (Some(name), Some(location)) = (parameter.text("name"), parameter.text("in")) else {
            self.problem(parameter, "a parameter has a `name` and an `in`", None);
            return None;
        };
        if !["path", "query", "header"].contains(&location) {
            self.problem(
                parameter.get("in").unwrap_or(parameter),
                &format!("a parameter in `{location}` cannot be sent"),
                Some("path, query or header"),
            );
            return None;
        }
        Some(Parameter {
            place: at.place,
            name,
            location,
        })
    }

    fn request_body(&mut self, at: At<'a>) -> Value {
        let Some(body) = self.followed(at, ledger::REQUEST_BODY) else {
            return object([("content", object([]))]);
        };
        let content = self.content(body);
        let required = body.get("required").is_some_and(|value| value.says(true));
        object([("content", content), ("required", required.into())])
    }

    fn response(&mut self, at: At<'a>) -> Value {
        let Some(response) = self.followed(at, ledger::RESPONSE) else {
            return object([("description", "".into())]);
        };
        let content = self.content(response);
        object([("description", "".into()), ("content", content)])
    }

    fn content(&mut self, of: At<'a>) -> Value {
        let mut lowered = Map::new();
        for (media, at) in of.get("content").into_iter().flat_map(At::members) {
            let Some(object) = self.object(at) else {
                continue;
            };
            self.check(ledger::MEDIA_TYPE, object);
            if !is_json(media) {
                self.problem(
                    at,
                    &format!("`{media}` is not JSON"),
                    Some("UCP's REST binding sends `application/json`"),
                );
                continue;
            }
            let mut schema = Map::new();
            if let Some(at) = object.get("schema") {
                schema.insert("schema".to_owned(), reference_to(at.place));
            }
            lowered.insert(media.to_owned(), Value::Object(schema));
        }
        Value::Object(lowered)
    }
}

fn lowered_parameter(at: At<'_>, parameter: Parameter<'_>) -> Value {
    let required = at.get("required").is_some_and(|value| value.says(true));
    let mut lowered = Map::new();
    lowered.insert("name".to_owned(), parameter.name.into());
    lowered.insert("in".to_owned(), parameter.location.into());
    lowered.insert("required".to_owned(), required.into());
    if let Some(description) = at.text("description") {
        lowered.insert("description".to_owned(), description.into());
    }
    // Nobody reads it, and it must be there.
    lowered.insert("schema".to_owned(), reference_to(at.place));
    Value::Object(lowered)
}

/// `2XX` and its like.
fn is_range(status: &str) -> bool {
    matches!(status.as_bytes(), [b'1'..=b'5', b'X', b'X'])
}
