//! What comes back: the answer as it arrived, and as the operation's types read it.

use crate::anomaly::Anomaly;
use crate::context::Context;
use crate::error::{
    BodyError, BodyProblem, Declined, Error, NoHandoff, RetryAfter, StatusError, shown,
};
use crate::handoff::{Handoff, Host, NotUcp, View};
use crate::ids::Keys;
use crate::merchant::Merchant;
use crate::wire::{self, Note, Read};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use serde_json::Value;
use std::fmt;
use url::Url;

/// An answer as it arrived. [`Debug`] shows lengths and the names of headers only.
#[derive(Clone)]
pub struct RawResponse {
    method: Method,
    url: Url,
    status: StatusCode,
    headers: HeaderMap,
    bytes: Bytes,
    whole: bool,
}

impl RawResponse {
    pub(crate) fn new(method: Method, url: Url, head: http::response::Parts) -> Self {
        Self {
            method,
            url,
            status: head.status,
            headers: head.headers,
            bytes: Bytes::new(),
            whole: false,
        }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body, or what arrived of it: see [`RawResponse::is_whole`].
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Whether the body arrived to its end.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The URL that was asked.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The body, if it is whole: what a decision may rest on.
    pub(crate) fn whole(&self) -> &[u8] {
        if self.whole { &self.bytes } else { &[] }
    }

    pub(crate) fn fill(&mut self, bytes: Bytes, whole: bool) {
        self.bytes = bytes;
        self.whole = whole;
    }

    /// Keeps no more than the beginning of the body.
    pub(crate) fn shorten(&mut self, length: usize) {
        if let Some(head) = self.bytes.get(..length) {
            self.fill(Bytes::copy_from_slice(head), false);
        }
    }

    pub(crate) fn request_line(&self) -> String {
        format!("{} {}", self.method, shown(self.url.as_str()))
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.header(header::LOCATION)
    }

    fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The essence of `Content-Type`: without parameters, in lower case.
    fn media_type(&self) -> Option<String> {
        let essence = self.header(header::CONTENT_TYPE)?.split(';').next()?;
        Some(essence.trim().to_ascii_lowercase())
    }

    /// The body as JSON: checks the coding, the type and the text, in this order.
    pub(crate) fn json(&self) -> Result<Value, BodyProblem> {
        if let Some(coding) = self.header(header::CONTENT_ENCODING)
            && !coding.trim().eq_ignore_ascii_case("identity")
        {
            return Err(BodyProblem::Encoded {
                coding: coding.to_owned(),
            });
        }
        if self.bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(BodyProblem::Empty);
        }
        match self.media_type() {
            Some(media) if media == "application/json" || media.ends_with("+json") => {}
            None => {}
            Some(media) if media == "text/html" => return Err(BodyProblem::Html),
            Some(found) => return Err(BodyProblem::ContentType { found }),
        }
        serde_json::from_slice(&self.bytes).map_err(|source| {
            if self.looks_like_html() {
                BodyProblem::Html
            } else {
                BodyProblem::NotJson { source }
            }
        })
    }

    fn looks_like_html(&self) -> bool {
        self.bytes.trim_ascii_start().starts_with(b"<")
    }

    /// The error that a non-2xx answer is.
    pub(crate) fn into_status_error(self) -> StatusError {
        let said = match serde_json::from_slice(&self.bytes) {
            Ok(body) => Said::of(&body),
            Err(_) if self.looks_like_html() => Said::default(),
            Err(_) => Said {
                text: std::str::from_utf8(&self.bytes)
                    .ok()
                    .map(|text| text.trim().to_owned())
                    .filter(|text| !text.is_empty()),
                ..Said::default()
            },
        };
        StatusError {
            status: self.status,
            code: said.code,
            text: said.text,
            continue_url: said.continue_url,
            retry_after: self.header(header::RETRY_AFTER).and_then(retry_after),
            response: self,
        }
    }
}

impl fmt::Debug for RawResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawResponse")
            .field("request", &self.request_line())
            .field("status", &self.status.as_u16())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("bytes", &crate::error::Length(self.bytes.len()))
            .field("whole", &self.whole)
            .finish()
    }
}

/// What an error body says, in whichever of the shapes that merchants print.
#[derive(Default)]
struct Said {
    code: Option<String>,
    text: Option<String>,
    continue_url: Option<String>,
}

impl Said {
    fn of(body: &Value) -> Self {
        let mut said = Self {
            continue_url: text(body, "continue_url"),
            ..Self::default()
        };
        said.read(body);
        if let Some(message) = first_message(body) {
            said.read(message);
        }
        match body.get("detail") {
            // A validation framework's list of {loc, msg}.
            Some(Value::Array(items)) => {
                let lines: Vec<String> = items.iter().filter_map(validation_line).collect();
                if !lines.is_empty() {
                    said.text.get_or_insert(lines.join("; "));
                }
            }
            Some(detail @ Value::Object(_)) => said.nested(detail),
            _ => {}
        }
        match body.get("error") {
            Some(Value::String(code)) => {
                said.code.get_or_insert_with(|| code.clone());
            }
            Some(error @ Value::Object(_)) => said.nested(error),
            _ => {}
        }
        said
    }

    fn read(&mut self, object: &Value) {
        if self.code.is_none() {
            self.code = text(object, "code");
        }
        if self.text.is_none() {
            self.text = ["content", "detail", "message", "error_description", "title"]
                .into_iter()
                .find_map(|name| text(object, name));
        }
    }

    fn nested(&mut self, object: &Value) {
        self.read(object);
        if let Some(first) = object.get("errors").and_then(|errors| errors.get(0)) {
            self.read(first);
        }
    }
}

fn text(object: &Value, name: &str) -> Option<String> {
    wire::tag(object, name).map(str::to_owned)
}

/// The first error among `messages`, or else the first message.
fn first_message(body: &Value) -> Option<&Value> {
    let messages = body.get("messages")?.as_array()?;
    messages
        .iter()
        .find(|message| wire::tag(message, "type") == Some("error"))
        .or_else(|| messages.first())
}

fn validation_line(item: &Value) -> Option<String> {
    let message = wire::tag(item, "msg")?;
    let place: Vec<String> = item
        .get("loc")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|step| {
            step.as_str()
                .map_or_else(|| step.to_string(), str::to_owned)
        })
        .collect();
    if place.is_empty() {
        return Some(message.to_owned());
    }
    Some(format!("{}: {message}", place.join(".")))
}

/// Seconds or an HTTP-date.
fn retry_after(value: &str) -> Option<RetryAfter> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(RetryAfter::Seconds(seconds));
    }
    jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(value)
        .ok()
        .map(RetryAfter::At)
}

/// The two things that an answer can be. `ucp.status` alone decides which: a body may have all of
/// the operation's members and still be an error.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<T, F> {
    /// `ucp.status` is absent or anything but `error`.
    Success(T),
    /// `ucp.status` is `error`.
    Failure(F),
}

/// An answer, read as the operation's types and kept as it arrived.
#[derive(Clone)]
#[non_exhaustive]
pub struct Response<T, F> {
    raw: RawResponse,
    view: Result<View, NotUcp>,
    outcome: Outcome<T, F>,
    notes: Vec<Note>,
    anomalies: Vec<Anomaly>,
    keys: Keys,
    merchant: Merchant,
}

impl<T, F> Response<T, F> {
    /// The status: any 2xx.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.raw.status
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.raw.headers
    }

    /// The body, byte for byte.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.raw.bytes
    }

    /// The answer as it arrived.
    #[must_use]
    pub fn raw(&self) -> &RawResponse {
        &self.raw
    }

    /// The ids that the request carried.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The body as the operation's types read it.
    #[must_use]
    pub fn outcome(&self) -> &Outcome<T, F> {
        &self.outcome
    }

    /// The body, taken out.
    #[must_use]
    pub fn into_outcome(self) -> Outcome<T, F> {
        self.outcome
    }

    /// The resource that the operation answers with.
    ///
    /// # Errors
    ///
    /// [`Error::Declined`] when an error envelope came instead; [`outcome`](Self::outcome) has it
    /// typed.
    pub fn success(&self) -> Result<&T, Error> {
        match &self.outcome {
            Outcome::Success(success) => Ok(success),
            Outcome::Failure(_) => Err(self.declined()),
        }
    }

    /// The resource that the operation answers with, taken out.
    ///
    /// # Errors
    ///
    /// [`Error::Declined`] when an error envelope came instead.
    pub fn into_success(self) -> Result<T, Error> {
        match self.outcome {
            Outcome::Success(success) => Ok(success),
            Outcome::Failure(_) => Err(self.declined()),
        }
    }

    fn declined(&self) -> Error {
        let messages = self.view.as_ref().map(|view| view.messages().to_vec());
        Error::Declined(Box::new(Declined {
            messages: messages.unwrap_or_default(),
            response: self.raw.clone(),
        }))
    }

    /// What was read although the contract does not allow it.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What looked wrong about the answer as a whole.
    #[must_use]
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }

    /// What the answer says about itself in its `ucp` member: the capabilities that it makes use of,
    /// and its registries in the order that the merchant prefers.
    #[must_use]
    pub fn context(&self) -> Context {
        Context::of(&self.raw.bytes, self.merchant.clone())
    }

    /// What happens next.
    ///
    /// # Errors
    ///
    /// [`Error::NoHandoff`] when the body is neither a checkout nor an error, for example the
    /// answer of a catalog search.
    pub fn handoff(&self, host: &Host) -> Result<Handoff, Error> {
        match &self.view {
            Ok(view) => Ok(view.decide(host)),
            Err(NotUcp) => Err(Error::NoHandoff(Box::new(NoHandoff {
                response: self.raw.clone(),
            }))),
        }
    }
}

impl<T: fmt::Debug, F: fmt::Debug> fmt::Debug for Response<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("raw", &self.raw)
            .field("outcome", &self.outcome)
            .field("notes", &self.notes)
            .field("anomalies", &self.anomalies)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// An answer whose body is JSON, not yet read as any operation's type.
pub(crate) struct Answer {
    pub(crate) raw: RawResponse,
    pub(crate) value: Value,
    pub(crate) anomalies: Vec<Anomaly>,
    pub(crate) keys: Keys,
    pub(crate) merchant: Merchant,
}

impl Answer {
    /// Judges an answer: an error for any status but 2xx and for a body that is no JSON.
    pub(crate) fn new(
        raw: RawResponse,
        broken: Option<BodyProblem>,
        keys: Keys,
        merchant: &Merchant,
    ) -> Result<Self, Error> {
        if !raw.status.is_success() {
            return Err(Error::Status(Box::new(raw.into_status_error())));
        }
        let value = match broken.map_or_else(|| raw.json(), Err) {
            Ok(value) => value,
            Err(problem) => {
                return Err(Error::Body(Box::new(BodyError {
                    problem,
                    response: raw,
                })));
            }
        };
        let mut anomalies = Vec::new();
        if !raw.headers.contains_key(header::CONTENT_TYPE) {
            anomalies.push(Anomaly::NoContentType);
        }
        if let Some(found) = value.get("ucp").and_then(|ucp| wire::tag(ucp, "version"))
            && found != merchant.version()
        {
            anomalies.push(Anomaly::OtherVersion {
                expected: merchant.version().to_owned(),
                found: found.to_owned(),
            });
        }
        Ok(Self {
            raw,
            value,
            anomalies,
            keys,
            merchant: merchant.clone(),
        })
    }

    /// Reads the body as an operation's types.
    pub(crate) fn read<T: Read, F: Read>(self) -> Result<Response<T, F>, Error> {
        // The envelope says which; trying the one and then the other would lose the error that
        // matters (the field that does not fit).
        let failed = self
            .value
            .get("ucp")
            .is_some_and(|ucp| wire::tag(ucp, "status") == Some("error"));
        let view = View::from_value(&self.value);
        let read = if failed {
            wire::read_body(self.value).map(|(body, notes)| (Outcome::Failure(body), notes))
        } else {
            wire::read_body(self.value).map(|(body, notes)| (Outcome::Success(body), notes))
        };
        match read {
            Ok((outcome, notes)) => Ok(Response {
                raw: self.raw,
                view,
                outcome,
                notes,
                anomalies: self.anomalies,
                keys: self.keys,
                merchant: self.merchant,
            }),
            Err(error) => Err(Error::Body(Box::new(BodyError {
                problem: BodyProblem::Shape(error),
                response: self.raw,
            }))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_the_shapes_of_error_bodies() {
        for (body, code, said) in [
            (json!({"code": "x", "content": "c"}), Some("x"), Some("c")),
            (
                json!({"detail": "gone", "code": "RESOURCE_NOT_FOUND"}),
                Some("RESOURCE_NOT_FOUND"),
                Some("gone"),
            ),
            (
                json!({"detail": [
                    {"type": "missing", "loc": ["body", "items", 0, "id"], "msg": "Field required", "input": "SECRET"},
                    {"msg": "and more"},
                ]}),
                None,
                Some("body.items.0.id: Field required; and more"),
            ),
            (
                json!({"detail": {"status": "error", "errors": [{"code": "V", "message": "m"}]}}),
                Some("V"),
                Some("m"),
            ),
            (
                json!({"error": "signature_invalid"}),
                Some("signature_invalid"),
                None,
            ),
            (
                json!({"error": "invalid_token", "error_description": "expired"}),
                Some("invalid_token"),
                Some("expired"),
            ),
            (
                json!({"error": {"code": "e", "message": "m"}}),
                Some("e"),
                Some("m"),
            ),
            (
                json!({"messages": [
                    {"type": "info", "content": "i"},
                    {"type": "error", "code": "identity_required", "content": "who?"},
                ]}),
                Some("identity_required"),
                Some("who?"),
            ),
            (
                json!({"title": "Bad Request", "status": 400}),
                None,
                Some("Bad Request"),
            ),
            (json!([1]), None, None),
        ] {
            let read = Said::of(&body);
            assert_eq!(
                (read.code.as_deref(), read.text.as_deref()),
                (code, said),
                "{body}"
            );
        }
    }

    #[test]
    fn reads_retry_after() {
        assert_eq!(retry_after("2"), Some(RetryAfter::Seconds(2)));
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(RetryAfter::At("1994-11-06T08:49:37Z".parse().unwrap()))
        );
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after("-1"), None);
    }

    fn answer(
        status: u16,
        content_type: Option<&str>,
        body: &'static str,
    ) -> Result<Answer, Error> {
        let mut head = http::Response::builder().status(status);
        if let Some(content_type) = content_type {
            head = head.header("Content-Type", content_type);
        }
        let (head, ()) = head.body(()).unwrap().into_parts();
        let url = "https://m.example/x?token=SECRET".parse().unwrap();
        let mut raw = RawResponse::new(Method::GET, url, head);
        raw.fill(Bytes::from_static(body.as_bytes()), true);
        let keys = Keys {
            idempotency_key: None,
            request_id: uuid::Uuid::nil(),
        };
        let agent = crate::Agent::builder("https://a.example/profile").unwrap();
        let agent = agent.transport(NotUsed).build().unwrap();
        let at = "https://m.example";
        let merchant = Merchant::at(&agent, at, at, "2026-04-08").unwrap();
        Answer::new(raw, None, keys, &merchant)
    }

    struct NotUsed;
    impl crate::Transport for NotUsed {
        fn send(
            &self,
            _: http::Request<Bytes>,
        ) -> crate::BoxFuture<'_, Result<http::Response<crate::ResponseBody>, crate::TransportError>>
        {
            unreachable!()
        }
    }

    #[test]
    fn media_types_are_compared_without_case_and_parameters() {
        for media in [
            "application/json; charset=utf-8",
            "Application/JSON",
            "application/problem+json",
        ] {
            assert!(answer(200, Some(media), "{}").is_ok(), "{media}");
        }
        assert_eq!(
            answer(201, None, "{}").unwrap().anomalies,
            [Anomaly::NoContentType]
        );
    }

    #[test]
    fn the_envelope_chooses_the_arm() {
        let success = r#"{"ucp":{"version":"2026-04-08","status":"success"}}"#;
        for (body, failed) in [
            (success, false),
            (r#"{"ucp":{"version":"2026-04-08"}}"#, false),
            (
                r#"{"ucp":{"version":"2026-04-08","status":"error"},"id":"1","line_items":[]}"#,
                true,
            ),
        ] {
            let response: Response<Value, Value> = answer(200, Some("application/json"), body)
                .unwrap()
                .read()
                .unwrap();
            assert_eq!(response.success().is_err(), failed, "{body}");
            assert_eq!(response.anomalies(), []);
        }
        let other = answer(
            200,
            Some("application/json"),
            r#"{"ucp":{"version":"2026-01-23"}}"#,
        )
        .unwrap();
        assert_eq!(
            other.anomalies,
            [Anomaly::OtherVersion {
                expected: "2026-04-08".into(),
                found: "2026-01-23".into(),
            }]
        );
    }

    #[test]
    fn a_misfit_keeps_its_answer_and_says_where() {
        let body = r#"{"id": "SECRET"}"#;
        let error = answer(200, Some("application/json"), body)
            .unwrap()
            .read::<std::collections::BTreeMap<String, i64>, Value>()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "GET https://m.example/x was answered 200, but its body does not fit: $.id: expected an integer, found a string (16 bytes kept); the merchant may have acted on it: read the session before repeating it"
        );
        assert_eq!(error.response().unwrap().bytes(), body.as_bytes());
        assert!(!format!("{error:?}").contains("SECRET"));
    }

    #[test]
    fn a_status_error_shows_codes_but_no_texts() {
        let error = answer(
            409,
            Some("application/json"),
            r#"{"code":"idempotency_conflict","content":"SECRET"}"#,
        )
        .err()
        .unwrap();
        assert_eq!(
            error.to_string(),
            "GET https://m.example/x was answered 409 with code `idempotency_conflict`: read the session before anything else, and never repeat this under a new key"
        );
        assert!(!format!("{error:?}").contains("SECRET"));
        let error = answer(400, None, r#"{"code":"not a code: SECRET"}"#)
            .err()
            .unwrap();
        assert!(!format!("{error} {error:?}").contains("SECRET"));
    }
}
