//! The REST binding: holds each request against the protocol, then has the shop perform it.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, any, on};
use serde_json::Value;
use sfv::{BareItem, Dictionary, ListEntry, Parser};
use sha2::{Digest, Sha256};
use ucp_runtime::signatures::RequestHead;
use uuid::Uuid;

use crate::answer::Answer;
use crate::idempotency::{Seen, fingerprint};
use crate::operation::Operation;
use crate::profile::ENDPOINT;
use crate::shop::{Call, Outcome};
use crate::signatures::sign_answer;
use crate::{Exchange, Merchant, agent, lock, profile};

/// The largest body that is read.
const LARGEST_BODY: usize = 256 * 1024;

/// The operations under the endpoint; what else is asked for there is not found, and signed so.
pub(crate) fn router() -> Router<Merchant> {
    let nothing = any(|| async { StatusCode::NOT_FOUND });
    let router = Router::new().route(&format!("{ENDPOINT}/{{*path}}"), nothing);
    Operation::ALL
        .into_iter()
        .fold(router, |router, operation| {
            let (method, path) = operation.route();
            let filter = match method {
                Method::GET => MethodFilter::GET,
                Method::PUT => MethodFilter::PUT,
                _ => MethodFilter::POST,
            };
            let handler = move |State(merchant): State<Merchant>,
                                id: Option<Path<String>>,
                                method: Method,
                                uri: Uri,
                                headers: HeaderMap,
                                body: Bytes| async move {
                let id = id.map(|Path(id)| id).unwrap_or_default();
                let request = Incoming {
                    operation,
                    id,
                    method,
                    uri,
                    headers,
                    body,
                };
                merchant.serve(request).await
            };
            router.route(&format!("{ENDPOINT}{path}"), on(filter, handler))
        })
}

/// A request that found its operation.
struct Incoming {
    operation: Operation,
    id: String,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl Merchant {
    async fn serve(&self, request: Incoming) -> Response {
        match self.judge(&request).await {
            Ok(response) => response,
            Err(refusal) => respond(refusal.status, json_bytes(&refusal.body), None),
        }
    }

    /// Every check in the order of what it needs, then the act. An error has not acted.
    async fn judge(&self, request: &Incoming) -> Result<Response, Answer> {
        let operation = request.operation;
        let now = (self.inner.clock)();
        let profile = agent::profile_url(&request.headers)?;
        let key = check_headers(request)?;
        let agent = self.inner.agents.identify(profile, now).await?;
        let head = RequestHead {
            method: &request.method,
            uri: &request.uri,
            headers: &request.headers,
        };
        let signatures = self.inner.signatures;
        signatures.judge(head, &request.body, &agent.keys, now)?;
        if !agent.common.contains(operation.capability()) {
            let content = format!("The agent does not offer {}.", operation.capability());
            let ucp = profile::envelope(&Default::default(), operation.capability());
            let code = "capabilities_incompatible";
            return Err(Answer::envelope(ucp, code, &content));
        }

        let print = fingerprint(request.method.as_str(), request.uri.path(), &request.body);
        let seen = |key: &str| {
            let shop = lock(&self.inner.shop);
            shop.answers.look_up(&agent.profile, key, &print)
        };
        if let Some(settled) = key.map(seen).and_then(settle) {
            return settled;
        }
        let body = self.read_body(operation, &request.body)?;

        // One lock from the last look at the key to the keeping of the answer: of two requests
        // under one key, the second finds what the first was told.
        let (status, bytes, outcome) = {
            let mut shop = lock(&self.inner.shop);
            let repeated = key.map(|key| shop.answers.look_up(&agent.profile, key, &print));
            if let Some(settled) = repeated.and_then(settle) {
                return settled;
            }
            let outcome = shop.perform(Call {
                operation,
                agent: &agent,
                now,
                id: &request.id,
                body: &body,
                script: Vec::new(),
            });
            let (status, bytes) = (outcome.answer.status, json_bytes(&outcome.answer.body));
            // What was refused has not acted, and so has not used its key up.
            if let Some(key) = key.filter(|_| status < 400) {
                let answer = bytes.clone();
                shop.answers
                    .keep(&agent.profile, key, print, status, answer);
            }
            self.announce(&mut shop);
            (status, bytes, outcome)
        };
        let Outcome {
            retry_after, lose, ..
        } = outcome;
        if lose {
            return Err(Answer::refused(502, "bad_gateway", "The answer got lost."));
        }
        Ok(respond(status, bytes, retry_after))
    }

    /// The body as JSON that follows the contract; null where the operation has none.
    fn read_body(&self, operation: Operation, bytes: &[u8]) -> Result<Value, Answer> {
        if operation.request_mark().is_none() {
            // The contract gives these no body; the prose shows an empty object.
            return match bytes.trim_ascii() {
                b"" | b"{}" => Ok(Value::Null),
                _ => Err(Answer::invalid("", "the operation takes no body")),
            };
        }
        let body: Value = serde_json::from_slice(bytes)
            .map_err(|error| Answer::invalid("", &format!("not JSON: {error}")))?;
        let found = self.inner.contract.request_violations(operation, &body);
        match found.as_slice() {
            [] => Ok(body),
            found => Err(Answer::violations(found)),
        }
    }
}

fn settle(seen: Seen) -> Option<Result<Response, Answer>> {
    match seen {
        Seen::New => None,
        Seen::Replay(status, body) => Some(Ok(respond(status, body, None))),
        Seen::Conflict => Some(Err(Answer::refused(
            409,
            "idempotency_conflict",
            "The key was used for another request.",
        ))),
    }
}

/// An answer under the endpoint, but for its signature.
fn respond(status: u16, body: Bytes, retry_after: Option<u32>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn json_bytes(value: &Value) -> Bytes {
    value.to_string().into()
}

/// Checks all headers but `UCP-Agent`, and gives the idempotency key.
fn check_headers(request: &Incoming) -> Result<Option<&str>, Answer> {
    let Incoming {
        operation,
        headers,
        body,
        ..
    } = request;
    if uuid(headers, "request-id")?.is_none() {
        return Err(invalid("Request-Id is missing"));
    }
    let key = uuid(headers, "idempotency-key")?;
    if operation.changes_state() && key.is_none() {
        return Err(invalid("Idempotency-Key is missing"));
    }
    if let Some(accept) = single(headers, "accept")? {
        let json = |range: &str| {
            let range = range.split(';').next().unwrap_or_default().trim();
            ["application/json", "application/*", "*/*"]
                .iter()
                .any(|good| range.eq_ignore_ascii_case(good))
        };
        if !accept.split(',').any(json) {
            let content = "Answers are application/json.";
            return Err(Answer::refused(406, "not_acceptable", content));
        }
    }
    if operation.request_mark().is_some() {
        let given = single(headers, "content-type")?.unwrap_or_default();
        let essence = given.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(invalid("Content-Type is not application/json"));
        }
    }
    if let Some(digest) = single(headers, "content-digest")? {
        check_digest(digest, body)?;
    }
    Ok(key.filter(|_| operation.changes_state()))
}

fn invalid(content: &str) -> Answer {
    Answer::refused(400, "invalid_header", content)
}

fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Answer> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(invalid(&format!("{name} is not text"))),
        },
        (Some(_), Some(_)) => Err(invalid(&format!("{name} is there more than once"))),
    }
}

fn uuid<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Answer> {
    let value = single(headers, name)?;
    // `format: uuid` is the hyphenated form alone.
    let valid = |text: &str| text.len() == 36 && Uuid::try_parse(text).is_ok();
    match value {
        Some(text) if !valid(text) => Err(invalid(&format!("{name} is not a UUID"))),
        value => Ok(value),
    }
}

fn check_digest(given: &str, body: &[u8]) -> Result<(), Answer> {
    let parsed = Parser::new(given).parse::<Dictionary>();
    let sha256 = parsed.as_ref().ok().and_then(|all| all.get("sha-256"));
    let matches = match sha256 {
        Some(ListEntry::Item(item)) => match &item.bare_item {
            BareItem::ByteSequence(bytes) => bytes.as_slice() == Sha256::digest(body).as_slice(),
            _ => false,
        },
        _ => false,
    };
    if matches {
        Ok(())
    } else {
        let content = "Content-Digest has no sha-256 of this body.";
        Err(Answer::refused(400, "digest_mismatch", content))
    }
}

/// Bounds the body, signs the answers under the endpoint, and records what came and what went.
pub(crate) async fn record(
    State(merchant): State<Merchant>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let read = axum::body::to_bytes(body, LARGEST_BODY).await;
    let body = read.as_ref().map_or_else(|_| Bytes::new(), Bytes::clone);
    let is_operation = parts.uri.path().starts_with(ENDPOINT);
    let mut exchange = Exchange {
        method: parts.method.to_string(),
        path: parts.uri.to_string(),
        headers: parts.headers.clone(),
        body: body.clone(),
        status: 0,
        answer: Bytes::new(),
    };
    let response = match read {
        Ok(body) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Err(_) => {
            let answer = Answer::refused(413, "request_too_large", "The body is too large.");
            respond(answer.status, json_bytes(&answer.body), None)
        }
    };
    let (mut parts, body) = response.into_parts();
    let Ok(answer) = axum::body::to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    if is_operation {
        sign_answer(&merchant.inner.key, &mut parts, &answer).await;
    }
    exchange.status = parts.status.as_u16();
    exchange.answer = answer.clone();
    lock(&merchant.inner.exchanges).push(exchange);
    Response::from_parts(parts, Body::from(answer))
}
