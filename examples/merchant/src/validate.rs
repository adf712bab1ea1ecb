//! Holds every body against the published contract, in the view of its operation and direction.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, Validator};
use serde::Serialize;
use serde_json::{Map, Value, json};
use ucp_schema::{Direction, ResolveOptions};

use crate::Error;
use crate::operation::Operation;
use crate::profile::{CART, CHECKOUT, RELEASE};

/// One place where a body departs from the contract.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Violation {
    /// JSON pointer into the body.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// The contract of the release with this merchant's extensions, compiled.
pub struct Contract {
    requests: BTreeMap<Operation, Validator>,
    responses: BTreeMap<Operation, Validator>,
    error: Validator,
    profile: Validator,
}

impl std::fmt::Debug for Contract {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Contract")
    }
}

/// Compiled once a process: it never changes, and takes a good part of a second without
/// optimisation.
static CONTRACT: LazyLock<Result<Contract, String>> =
    LazyLock::new(|| Contract::load().map_err(|error| error.to_string()));

impl Contract {
    /// The request and response views of every operation.
    ///
    /// # Errors
    ///
    /// When the contract data lacks an operation or a schema does not compile.
    pub fn compiled() -> Result<&'static Self, Error> {
        CONTRACT.as_ref().map_err(|error| error.as_str().into())
    }

    fn load() -> Result<Self, Error> {
        let dir = tempfile::tempdir()?;
        contract_dir(dir.path())?;
        let rest = read(&dir.path().join("rest.json"))?;

        let mut requests = BTreeMap::new();
        let mut responses = BTreeMap::new();
        for operation in Operation::ALL {
            let contract = find(&rest, operation)?;
            let overlays = overlays(operation);
            if let Some(mark) = operation.request_mark() {
                let body = media_schema(&rest, contract.get("requestBody"))
                    .ok_or_else(|| missing(operation, "requestBody"))?;
                let view = ResolveOptions::new(Direction::Request, mark);
                requests.insert(operation, compile(dir.path(), body, &overlays, &view)?);
            }
            let status = operation.success_status().to_string();
            let body = media_schema(&rest, contract.pointer(&format!("/responses/{status}")))
                .ok_or_else(|| missing(operation, "response"))?;
            // Of a choice between resource and error, the resource: `ucp.status` chooses, not trial.
            let body = body.pointer("/oneOf/0").cloned().unwrap_or(body);
            let view = ResolveOptions::new(Direction::Response, "read");
            responses.insert(operation, compile(dir.path(), body, &overlays, &view)?);
        }

        let get_order = find(&rest, Operation::GetOrder)?;
        let error = media_schema(&rest, get_order.pointer("/responses/200"))
            .and_then(|body| body.pointer("/oneOf/1").cloned())
            .ok_or_else(|| missing(Operation::GetOrder, "error response"))?;
        let view = ResolveOptions::new(Direction::Response, "read");
        let profile = json!({"$ref": "profile.json#/$defs/business_profile"});
        Ok(Contract {
            requests,
            responses,
            error: compile(dir.path(), error, &[], &view)?,
            profile: compile(dir.path(), profile, &[], &view)?,
        })
    }

    /// What is wrong with a request body; empty when nothing is.
    pub fn request_violations(&self, operation: Operation, body: &Value) -> Vec<Violation> {
        self.requests
            .get(&operation)
            .map_or_else(Vec::new, |validator| violations(validator, body))
    }

    /// What is wrong with a response body (or, for `get_order`, with a webhook's).
    pub fn response_violations(&self, operation: Operation, body: &Value) -> Vec<Violation> {
        let is_error = body.pointer("/ucp/status").and_then(Value::as_str) == Some("error");
        let validator = if is_error {
            Some(&self.error)
        } else {
            self.responses.get(&operation)
        };
        validator.map_or_else(Vec::new, |validator| violations(validator, body))
    }

    /// What is wrong with a merchant's profile.
    pub fn profile_violations(&self, profile: &Value) -> Vec<Violation> {
        violations(&self.profile, profile)
    }
}

/// Writes the release's files as JSON.
fn contract_dir(dir: &Path) -> Result<(), Error> {
    let release = ucp_specs::release(RELEASE).ok_or("the release is not among the specs")?;
    release.write_json_tree(dir)?;
    Ok(())
}

fn read(file: &Path) -> Result<Value, Error> {
    let text = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(serde_json::from_slice(&text)?)
}

fn missing(operation: Operation, what: &str) -> Error {
    format!("the contract has no {what} for {}", operation.id()).into()
}

fn find(rest: &Value, operation: Operation) -> Result<&Value, Error> {
    rest.get("paths")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values)
        .filter_map(Value::as_object)
        .flat_map(Map::values)
        .find(|candidate| {
            candidate.get("operationId").and_then(Value::as_str) == Some(operation.id())
        })
        .ok_or_else(|| missing(operation, "operation"))
}

/// The JSON schema of a request body or response, references inside the OpenAPI file followed.
fn media_schema(rest: &Value, body: Option<&Value>) -> Option<Value> {
    let body = follow(rest, body?)?;
    follow(rest, body.pointer("/content/application~1json/schema")?).cloned()
}

fn follow<'a>(rest: &'a Value, mut value: &'a Value) -> Option<&'a Value> {
    while let Some(pointer) = value
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| reference.strip_prefix('#'))
    {
        value = rest.pointer(pointer)?;
    }
    Some(value)
}

/// The overlays that this merchant's capabilities put on an operation's resource.
fn overlays(operation: Operation) -> Vec<String> {
    let overlay = |file: &str, name: &str| format!("{file}#/$defs/{name}");
    match operation.capability() {
        CHECKOUT => vec![
            overlay("extensions/discount.json", CHECKOUT),
            overlay("extensions/fulfillment.json", CHECKOUT),
            overlay("extensions/buyer_consent.json", CHECKOUT),
            overlay("cart.json", "checkout"),
        ],
        CART => vec![overlay("extensions/discount.json", CART)],
        _ => Vec::new(),
    }
}

fn compile(
    dir: &Path,
    body: Value,
    overlays: &[String],
    view: &ResolveOptions,
) -> Result<Validator, Error> {
    let mut branches = vec![body];
    branches.extend(overlays.iter().map(|overlay| json!({"$ref": overlay})));
    let mut annotated = json!({"allOf": branches});
    ucp_schema::bundle_refs(&mut annotated, dir)?;
    discard_identities(&mut annotated)?;
    let mut resolved = ucp_schema::resolve(&annotated, view)?;
    refuse_omitted(&annotated, &mut resolved);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .build(&resolved)
        .map_err(|error| format!("a schema does not compile: {error}").into())
}

/// After bundling nothing is referred to, so names of documents would only clash.
///
/// `ucp-schema` leaves a `#` as it is while it copies a definition elsewhere, where `#` then means
/// the wrong document (payment instruments were once held against the checkout). Our files have
/// none; if one comes, the merchant does not start.
fn discard_identities(schema: &mut Value) -> Result<(), Error> {
    match schema {
        Value::Object(members) => {
            if let Some(left) = members.get("$ref") {
                return Err(format!("a reference is left after bundling: {left}").into());
            }
            members.retain(|key, _| !matches!(key.as_str(), "$defs" | "$id" | "$schema"));
            members.values_mut().try_for_each(discard_identities)
        }
        Value::Array(items) => items.iter_mut().try_for_each(discard_identities),
        _ => Ok(()),
    }
}

/// Forbids each property that the resolver took out: the schemas are open, so that a member which
/// does not belong to the view would otherwise pass as an unknown one.
fn refuse_omitted(annotated: &Value, resolved: &mut Value) {
    match (annotated, resolved) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                match after.get_mut(key) {
                    Some(kept) if key == "properties" => {
                        refuse_omitted(value, kept);
                        if let (Value::Object(all), Value::Object(kept)) = (value, kept) {
                            for name in all.keys() {
                                kept.entry(name.clone()).or_insert(Value::Bool(false));
                            }
                        }
                    }
                    Some(kept) => refuse_omitted(value, kept),
                    None => {}
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (before, after) in before.iter().zip(after) {
                refuse_omitted(before, after);
            }
        }
        _ => {}
    }
}

fn violations(validator: &Validator, body: &Value) -> Vec<Violation> {
    let mut found: Vec<Violation> = validator
        .iter_errors(body)
        .map(|error| Violation {
            pointer: error.instance_path().to_string(),
            message: match error.kind() {
                ValidationErrorKind::FalseSchema => {
                    "is not part of this message: the contract omits it here".to_owned()
                }
                _ => error.to_string(),
            },
        })
        .collect();
    // The overlays repeat their base, and so its errors.
    found.sort();
    found.dedup();
    found
}
