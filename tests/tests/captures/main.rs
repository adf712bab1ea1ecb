//! Exchanges recorded from merchants of other makes, answered once more over loopback HTTP: each is
//! decoded and decided, and the decision is written down here. Of further files, what holds for every
//! answer is checked.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where its data is not what it must be"
)]

mod expected;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use expected::EXPECTED;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::net::TcpListener;
use ucp_runtime::handoff::View;
use ucp_runtime::profile::{Profile, PublishedKeys};
use ucp_runtime::serde_json::Value;
use ucp_runtime::signatures::{ResponseHead, Verifier, is_signed};
use ucp_runtime::{
    Agent, Call, Endpoint, Error, Handoff, Host, Merchant, Operation, Response, Retry,
    Verification, http, serde_json,
};
use ucp_tests::registry::{CLIENTS, Client};
use ucp_tests::shared;
use ucp_tests::types::Ty;

const RELEASE: &str = "2026-04-08";

/// Asks for a recorded answer.
struct Recorded;

impl Endpoint for Recorded {
    const OPERATION: &'static Operation = &Operation::new(
        RELEASE,
        "dev.ucp.shopping",
        "recorded",
        http::Method::GET,
        // Two parameters: no answer is held to be about one of them.
        "/{file}/{index}",
        &[],
    );
    type Success = Value;
    type Failure = Value;
}

type Answer = (StatusCode, HeaderMap, Vec<u8>);

/// A recorded answer. Some recordings have no status; the expectations say which it must have been.
fn answer(recorded: &Value, status: u16) -> Answer {
    let status = recorded["status"]
        .as_u64()
        .map_or(status, |status| u16::try_from(status).unwrap());
    let mut headers = HeaderMap::new();
    for header in recorded["headers"].as_array().into_iter().flatten() {
        let [name, value] = [0, 1].map(|index| header[index].as_str().unwrap());
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let body = recorded["body"].as_str().unwrap_or_default();
    (
        StatusCode::from_u16(status).unwrap(),
        headers,
        body.as_bytes().to_vec(),
    )
}

/// A merchant that gives these answers, by their index.
async fn merchant(answers: Vec<Answer>) -> Merchant {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let answers = Arc::new(answers);
    let router = Router::new().route(
        "/file/{index}",
        axum::routing::get(move |Path(index): Path<usize>| {
            let answer = answers[index].clone();
            async move {
                let (status, headers, body) = answer;
                // A bare body: one of bytes would bring a `Content-Type` of its own.
                let mut response = axum::response::Response::new(axum::body::Body::from(body));
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                response
            }
        }),
    );
    tokio::spawn(async move { axum::serve(listener, router).await });
    let agent = Agent::builder("https://agent.example/.well-known/ucp")
        .unwrap()
        .development()
        // They are given by another host than signed them: see below for their signatures.
        .verification(Verification::Off)
        .retry(Retry::never())
        .build()
        .unwrap();
    Merchant::at(&agent, &origin, &origin, RELEASE).unwrap()
}

/// The JSON pointer under which a body has a text; the text itself where it has it nowhere.
fn place(body: &Value, text: &str) -> String {
    fn find(value: &Value, text: &str, at: &str) -> Option<String> {
        match value {
            Value::String(found) => (found == text).then(|| at.to_owned()),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .find_map(|(index, item)| find(item, text, &format!("{at}/{index}"))),
            Value::Object(members) => members
                .iter()
                .find_map(|(name, member)| find(member, text, &format!("{at}/{name}"))),
            _ => None,
        }
    }
    find(body, text, "").unwrap_or_else(|| format!("{text:?}"))
}

fn decision(handoff: &Handoff, body: &Value) -> String {
    let url = |url: Option<&str>| url.map(|url| format!(" {}", place(body, url)));
    match handoff {
        Handoff::Conversational { next, .. } => format!("{next:?}"),
        Handoff::ContinueUrl {
            url: to, reason, ..
        } => {
            format!(
                "ContinueUrl{} {reason:?}",
                url(Some(to.as_str())).unwrap_or_default()
            )
        }
        Handoff::Completed { order, .. } => {
            let id = order.as_ref().and_then(|order| order.id.as_deref());
            format!("Completed{}", url(id).unwrap_or_default())
        }
        Handoff::Canceled { .. } => "Canceled".to_owned(),
        Handoff::Failed {
            reason,
            continue_url,
            ..
        } => {
            let to = continue_url
                .as_ref()
                .map(ucp_runtime::handoff::HandoffUrl::as_str);
            format!("Failed {reason:?}{}", url(to).unwrap_or_default())
        }
        other => panic!("{other:?}"),
    }
}

/// What an answer came to, in a line: the decision, or the error with where its words come from, and
/// the decision that follows from it.
fn line(result: Result<Response<Value, Value>, Error>, body: &Value, host: &Host) -> String {
    let error = match result {
        Ok(response) => match response.handoff(host) {
            Ok(handoff) => return decision(&handoff, body),
            Err(Error::NoHandoff(_)) => return "nothing to decide".to_owned(),
            Err(error) => error,
        },
        Err(error) => error,
    };
    let Error::Status(status) = &error else {
        return format!("{error}");
    };
    let mut line = "error".to_owned();
    for (name, text) in [
        ("code", &status.code),
        ("text", &status.text),
        ("url", &status.continue_url),
    ] {
        if let Some(text) = text {
            line += &format!(" {name}={}", place(body, text));
        }
    }
    match error.handoff(host) {
        Ok(handoff) => format!("{line}, {}", decision(&handoff, body)),
        Err(_) => line,
    }
}

/// What holds for every answer.
fn check(answer: &Answer, body: Option<&Value>, result: &Result<Response<Value, Value>, Error>) {
    let (status, _, bytes) = answer;
    let raw = match result {
        Ok(response) => response.raw(),
        Err(error) => error
            .response()
            .unwrap_or_else(|| panic!("{error}: no answer")),
    };
    assert_eq!(raw.status(), *status);
    assert_eq!(raw.bytes(), bytes.as_slice(), "nothing is lost");
    assert!(raw.is_whole());
    let host = Host::default().development();
    let handoff = match result {
        Ok(response) => response.handoff(&host).ok(),
        Err(Error::Status(_)) => View::from_failure(*status, bytes)
            .map(|view| view.decide(&host))
            .ok(),
        Err(Error::Body(_)) => View::from_bytes(bytes).map(|view| view.decide(&host)).ok(),
        Err(error) => panic!("{error}"),
    };
    if let Some(Handoff::Completed { .. }) = handoff {
        assert_eq!(body.unwrap()["status"], "completed");
    }
}

/// The compiled types of a checkout, by client.
fn checkouts() -> Vec<(&'static Client, String)> {
    CLIENTS
        .iter()
        .filter_map(|client| {
            match client
                .types()
                .bodies
                .get("get_checkout")
                .map(|bodies| &bodies.success)
            {
                Some(Ty::Named(name)) => Some((client, name.clone())),
                _ => None,
            }
        })
        .collect()
}

/// The compiled types of a release's checkout read the body, and decide as the bytes do.
fn check_typed(checkouts: &[(&'static Client, String)], file: &str, body: &Value) -> usize {
    let host = Host::default().development();
    let mut read = 0;
    for (client, name) in checkouts
        .iter()
        .filter(|(client, _)| file.contains(client.release()))
    {
        let Some(Ok((back, _))) = (client.again)(name, body.clone()) else {
            continue;
        };
        read += 1;
        let decide = |body: &Value| View::from_value(body).map(|view| view.decide(&host));
        assert_eq!(decide(&back), decide(body), "{file} in {}", client.document);
    }
    read
}

#[tokio::test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
async fn every_recorded_answer_is_decoded_and_decided() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let expected: BTreeMap<&str, BTreeMap<&str, (u16, &str)>> = EXPECTED
        .iter()
        .map(|(file, steps)| {
            let steps = steps
                .iter()
                .map(|(step, status, line)| (*step, (*status, *line)));
            (*file, steps.collect())
        })
        .collect();
    let checkouts = checkouts();
    let host = Host::default().development();
    let (mut wrong, mut seen, mut further, mut typed) = (Vec::new(), 0, 0, 0);
    for path in shared::files(&folder.join("captures"), "json") {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let capture = shared::json(&path);
        let steps = expected.get(file.as_str());
        let exchanges = capture["exchanges"].as_array().unwrap();
        let step = |exchange: &Value| exchange["step"].as_str().unwrap_or_default().to_owned();
        let wanted = |exchange: &Value| {
            steps
                .and_then(|steps| steps.get(step(exchange).as_str()))
                .copied()
        };
        let answers: Vec<Answer> = exchanges
            .iter()
            .map(|exchange| {
                let status = wanted(exchange).map_or(200, |(status, _)| status);
                answer(&exchange["response"], status)
            })
            .collect();
        let merchant = merchant(answers.clone()).await;
        for (index, (exchange, answer)) in exchanges.iter().zip(&answers).enumerate() {
            let result = Call::<Recorded>::new(&merchant)
                .path("file", "file")
                .path("index", index.to_string())
                .await;
            let body = serde_json::from_slice::<Value>(&answer.2).ok();
            check(answer, body.as_ref(), &result);
            let body = body.unwrap_or_default();
            if answer.0.is_success() && body.get("line_items").is_some() {
                typed += check_typed(&checkouts, &file, &body);
            }
            let place = format!("{file} {}", step(exchange));
            let found = (answer.0.as_u16(), line(result, &body, &host));
            match wanted(exchange) {
                Some((status, line)) => {
                    seen += 1;
                    if (status, line) != (found.0, found.1.as_str()) {
                        wrong.push(format!("{place}: {found:?}, not {:?}", (status, line)));
                    }
                }
                None => {
                    further += 1;
                    println!("(\"{}\", {}, {:?}),", step(exchange), found.0, found.1);
                }
            }
        }
    }
    println!(
        "captures: {seen} answers as expected, {further} further ones, {typed} typed readings that \
         decide as the bytes do"
    );
    assert_eq!(wrong, [""; 0]);
    assert!(typed > 0 && seen > 0);
    let known: usize = EXPECTED.iter().map(|(_, steps)| steps.len()).sum();
    assert_eq!(seen, known, "every expectation met its answer");
}

/// What merchants signed verifies by the keys of the profiles that were recorded with it, and by nothing
/// once a byte is another.
#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn signatures_of_merchants_hold() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let mut held = 0;
    for path in shared::files(&folder.join("captures"), "json") {
        let capture = shared::json(&path);
        let exchanges = capture["exchanges"].as_array().unwrap();
        let discovery = exchanges
            .iter()
            .find(|exchange| exchange["step"] == "discovery");
        let profile = discovery.and_then(|exchange| exchange["response"]["body"].as_str());
        let Some(profile) = profile.and_then(|body| serde_json::from_str::<Value>(body).ok())
        else {
            continue;
        };
        let keys = match Profile::read(profile.clone()) {
            Ok(profile) => profile.keys,
            Err(_) => PublishedKeys::from_jwk_set(&profile),
        };
        let verifier = Verifier::at("2026-12-01T00:00:00Z".parse().unwrap());
        for exchange in exchanges {
            let (status, headers, mut body) = answer(&exchange["response"], 200);
            if !is_signed(&headers) || exchange["response"]["status"].is_null() {
                continue;
            }
            let head = ResponseHead {
                status,
                headers: &headers,
            };
            let step = format!("{} {}", path.display(), exchange["step"]);
            verifier
                .response(head, &body, &keys)
                .unwrap_or_else(|rejected| panic!("{step}: {rejected}"));
            held += 1;
            body.push(b' ');
            assert!(verifier.response(head, &body, &keys).is_err(), "{step}");
        }
    }
    println!("{held} signatures hold");
    assert!(held >= 30, "{held}");
}
