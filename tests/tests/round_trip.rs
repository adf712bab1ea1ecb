//! Nothing that arrives is lost: payloads from the specification's pages and exchanges recorded from
//! merchants are read as the compiled types of their operation and written again.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops where its data is not what it must be"
)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use ucp_tests::registry::{Again, CLIENTS, Client};
use ucp_tests::shared;
use ucp_tests::types::{Bodies, Ty};

/// The bodies of every operation, with the client that they belong to.
fn operations() -> Vec<(&'static Client, BTreeMap<String, Bodies>)> {
    CLIENTS
        .iter()
        .map(|client| (client, client.types().bodies))
        .collect()
}

fn again(client: &Client, ty: &Ty, value: &Value) -> Again {
    match ty {
        Ty::Named(name) => (client.again)(name, value.clone())
            .unwrap_or_else(|| panic!("{}: {name} was not compiled", client.document)),
        Ty::Any => Ok((value.clone(), Vec::new())),
        other => panic!("{}: a body is {other:?}", client.document),
    }
}

/// Whether an answer is an envelope without a resource: its `ucp.status` alone says so.
fn is_error(body: &Value) -> bool {
    body.pointer("/ucp/status")
        .is_some_and(|status| status == "error")
}

/// The first place where two documents differ; numbers are equal by value.
fn difference(sent: &Value, back: &Value, at: &str) -> Option<String> {
    match (sent, back) {
        (Value::Object(sent), Value::Object(back)) => {
            let names = sent.keys().chain(back.keys());
            names.into_iter().find_map(|name| {
                let at = format!("{at}/{name}");
                match (sent.get(name), back.get(name)) {
                    (Some(sent), Some(back)) => difference(sent, back, &at),
                    (Some(_), None) => Some(format!("{at} is lost")),
                    (None, _) => Some(format!("{at} is invented")),
                }
            })
        }
        (Value::Array(sent), Value::Array(back)) if sent.len() == back.len() => sent
            .iter()
            .zip(back)
            .enumerate()
            .find_map(|(index, (sent, back))| difference(sent, back, &format!("{at}/{index}"))),
        (Value::Number(sent), Value::Number(back)) if sent.as_f64() == back.as_f64() => None,
        _ if sent == back => None,
        _ => Some(format!("{at} is {sent} and becomes {back}")),
    }
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn every_example_comes_back_as_it_was() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let operations = operations();
    let mut wrong = Vec::new();
    let mut payloads = 0;
    let mut trips = 0;
    let mut unmet = 0;
    for release in shared::folders(&folder.join("examples")) {
        let index = shared::json(&folder.join("examples").join(&release).join("index.json"));
        for entry in index.as_array().into_iter().flatten() {
            let text = |key: &str| entry[key].as_str().unwrap_or_default();
            let (file, operation) = (text("file"), text("operation"));
            let payload = shared::json(&folder.join("examples").join(&release).join(file));
            let mut read = 0;
            for (client, bodies) in &operations {
                let Some(bodies) = bodies
                    .get(operation)
                    .filter(|_| client.release() == release)
                else {
                    continue;
                };
                let ty = match text("direction") {
                    "request" => bodies.request.as_ref(),
                    _ if is_error(&payload) && bodies.failure != Ty::Any => Some(&bodies.failure),
                    _ => Some(&bodies.success),
                };
                let place = format!("{release}/{file} in {}", client.document);
                let Some(ty) = ty else {
                    wrong.push(format!("{place}: {operation} sends nothing"));
                    continue;
                };
                read += 1;
                match again(client, ty, &payload) {
                    Ok((back, notes)) => {
                        wrong.extend(
                            difference(&payload, &back, "").map(|what| format!("{place}: {what}")),
                        );
                        wrong.extend(notes.iter().map(|note| format!("{place}: {note}")));
                    }
                    // A page on one extension does not write what another requires. Without
                    // extensions it must fit, and what they add is undeclared and kept.
                    Err(error) if client.extended && error.found == "nothing" => {
                        println!("{place}: {error}, by an extension");
                        read -= 1;
                        unmet += 1;
                    }
                    Err(error) => wrong.push(format!("{place}: {error}")),
                }
            }
            if read == 0 {
                wrong.push(format!("{release}/{file}: no type was generated for it"));
            }
            payloads += 1;
            trips += read;
        }
    }
    for what in &wrong {
        println!("{what}");
    }
    println!(
        "payloads: {payloads} read and written, {trips} times in all, {unmet} times without a \
         member that another extension requires, {} differing",
        wrong.len()
    );
    assert!(payloads > 0, "no example was found");
    assert_eq!(wrong.len(), 0);
}

/// What reading forgives is not loss: `null` for an absent member, `[]` for an empty object, an
/// empty map that was left out.
fn forgiven(sent: &Value, back: &Value) -> bool {
    match (sent, back) {
        (Value::Object(sent), Value::Object(back)) => {
            let kept = sent.iter().all(|(name, value)| match back.get(name) {
                Some(back) => forgiven(value, back),
                None => value.is_null(),
            });
            let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
            kept && back
                .iter()
                .all(|(name, value)| sent.contains_key(name) || empty(value))
        }
        (Value::Array(sent), Value::Object(back)) => sent.is_empty() && back.is_empty(),
        (Value::Array(sent), Value::Array(back)) => {
            sent.len() == back.len() && sent.iter().zip(back).all(|(a, b)| forgiven(a, b))
        }
        (Value::Number(sent), Value::Number(back)) => sent.as_f64() == back.as_f64(),
        _ => sent == back,
    }
}

/// Whether a path is one of a template, below any endpoint.
fn fits(path: &str, template: &str) -> bool {
    let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
    let wanted: Vec<&str> = template
        .split('/')
        .filter(|step| !step.is_empty())
        .collect();
    let Some(skip) = steps.len().checked_sub(wanted.len()) else {
        return false;
    };
    steps
        .iter()
        .skip(skip)
        .zip(&wanted)
        .all(|(step, wanted)| wanted.starts_with('{') || step == wanted)
}

/// The method and path of a step, from any merchant whose recording has them: the steps are the same
/// calls everywhere.
fn calls(captures: &[(String, Value)]) -> BTreeMap<&str, (&str, &str)> {
    let exchanges = captures
        .iter()
        .flat_map(|(_, capture)| capture["exchanges"].as_array().into_iter().flatten());
    exchanges
        .filter_map(|exchange| {
            let request = &exchange["request"];
            let call = (request["method"].as_str()?, request["path"].as_str()?);
            Some((exchange["step"].as_str()?, call))
        })
        .collect()
}

/// The type of one direction of an operation's body.
type Pick = fn(&Bodies, &Value) -> Option<Ty>;

fn answer(bodies: &Bodies, body: &Value) -> Option<Ty> {
    Some(if is_error(body) {
        bodies.failure.clone()
    } else {
        bodies.success.clone()
    })
}

fn request(bodies: &Bodies, _: &Value) -> Option<Ty> {
    bodies.request.clone()
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    success: usize,
    envelope: usize,
    raw: usize,
    requests: usize,
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn no_recorded_body_is_lost() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let captures: Vec<(String, Value)> = shared::files(&folder.join("captures"), "json")
        .iter()
        .map(|path| (name(path), shared::json(path)))
        .collect();
    let calls = calls(&captures);
    let operations: Vec<_> = CLIENTS
        .iter()
        .map(|client| {
            let file = syn::parse_file(client.source).unwrap();
            let operations = ucp_tests::source::operations(&file);
            (client, operations, client.types().bodies)
        })
        .collect();
    let mut wrong = Vec::new();
    let mut counts = Counts::default();
    for (merchant, capture) in &captures {
        for exchange in capture["exchanges"].as_array().into_iter().flatten() {
            let step = exchange["step"].as_str().unwrap_or_default();
            let call = calls.get(step).copied();
            // Every document of the release that has the operation reads it.
            let types = |pick: Pick, body: &Value| -> Vec<(&'static Client, Ty)> {
                let Some((method, path)) = call else {
                    return Vec::new();
                };
                let documents = operations
                    .iter()
                    .filter(|(client, ..)| merchant.contains(client.release()));
                documents
                    .filter_map(|(client, operations, bodies)| {
                        let (id, _) = operations.iter().find(|(_, operation)| {
                            operation.method == method && fits(path, &operation.path)
                        })?;
                        Some((*client, pick(bodies.get(id)?, body)?))
                    })
                    .collect()
            };
            let place = format!("{merchant} {step}");
            let response = &exchange["response"];
            let status = response["status"].as_u64();
            if let Some(Ok(body)) = response["body"].as_str().map(serde_json::from_str::<Value>) {
                // A refusal that is no envelope is an error that keeps status and bytes.
                let good = status.is_none_or(|status| (200..300).contains(&status));
                let types = if good || is_error(&body) {
                    types(answer, &body)
                } else {
                    Vec::new()
                };
                let mut read = false;
                for (client, ty) in types {
                    match again(client, &ty, &body) {
                        Ok((back, notes)) => {
                            read = true;
                            if !forgiven(&body, &back) {
                                let what = difference(&body, &back, "").unwrap_or_default();
                                wrong.push(format!("{place} in {}: {what}", client.document));
                            }
                            if notes.is_empty()
                                && let Some(what) = difference(&body, &back, "")
                            {
                                wrong.push(format!("{place}: {what}, and no note says so"));
                            }
                        }
                        Err(error) => {
                            println!("{place} in {} stays raw: {error}", client.document);
                        }
                    }
                }
                match (read, is_error(&body)) {
                    (true, true) => counts.envelope += 1,
                    (true, false) => counts.success += 1,
                    (false, _) => counts.raw += 1,
                }
            } else {
                counts.raw += 1;
            }
            // Bodies that were sent to be refused are not all well formed; the good ones come back.
            if let Some(Ok(body)) = exchange["request"]["body"]
                .as_str()
                .map(serde_json::from_str::<Value>)
                && status.is_some_and(|status| (200..300).contains(&status))
            {
                for (client, ty) in types(request, &body) {
                    match again(client, &ty, &body) {
                        Ok((back, _)) if forgiven(&body, &back) => counts.requests += 1,
                        Ok((back, _)) => {
                            let what = difference(&body, &back, "").unwrap_or_default();
                            wrong.push(format!("{place} request in {}: {what}", client.document));
                        }
                        Err(error) => println!(
                            "{place} request in {} does not fit: {error}",
                            client.document
                        ),
                    }
                }
            }
        }
    }
    for what in &wrong {
        println!("{what}");
    }
    println!("captures: {counts:?}, {} lost", wrong.len());
    assert!(counts.success > 0 && counts.envelope > 0, "{counts:?}");
    assert_eq!(wrong.len(), 0);
}

fn name(path: &Path) -> String {
    path.file_stem()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
