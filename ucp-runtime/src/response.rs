//! What comes back: the answer as it arrived, and as the operation's types read it.

use crate::anomaly::Anomaly;
use crate::context::Context;
use crate::error::{BodyError, BodyProblem, Declined, Error, StatusError, shown};
use crate::handoff::{Handoff, Host, NotUcp, View};
use crate::ids::Keys;
use crate::merchant::Merchant;
use crate::said::{self, Said};
use crate::signatures::Verified;
use crate::wire::{self, DecodeError, Note, Read};
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
            if said::is_html(&self.bytes) {
                BodyProblem::Html
            } else {
                BodyProblem::NotJson { source }
            }
        })
    }

    /// The error that a non-2xx answer is.
    pub(crate) fn into_status_error(self) -> StatusError {
        let said = Said::read(&self.bytes);
        StatusError {
            status: self.status,
            code: said.code,
            text: said.text,
            continue_url: said.continue_url,
            retry_after: self.header(header::RETRY_AFTER).and_then(said::retry_after),
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
    verified: Option<Verified>,
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

    /// The signature that vouches for the answer. `None` when none was looked at: see
    /// [`Verification`](crate::Verification); and when the answer comes out of the journal.
    #[must_use]
    pub fn verified(&self) -> Option<&Verified> {
        self.verified.as_ref()
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

    /// Insists on an answer that is exactly as the contract has it: what was read leniently is an
    /// error. [`AgentBuilder::strict`](crate::AgentBuilder::strict) insists for all calls.
    ///
    /// ```no_run
    /// # use ucp_runtime::{Call, Endpoint, Error};
    /// # async fn example<E: Endpoint>(call: Call<E>) -> Result<(), Error> {
    /// let response = call.await?.strict()?;
    /// assert!(response.notes().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Body`] with [`BodyProblem::Lenient`] when there are [`notes`](Self::notes) or
    /// [`anomalies`](Self::anomalies). The operation was done all the same.
    pub fn strict(self) -> Result<Self, Error> {
        if self.notes.is_empty() && self.anomalies.is_empty() {
            return Ok(self);
        }
        Err(Error::Body(Box::new(BodyError {
            problem: BodyProblem::Lenient {
                notes: self.notes,
                anomalies: self.anomalies,
            },
            response: self.raw,
        })))
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
            Err(NotUcp) => Err(Error::no_handoff(&self.raw)),
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
    pub(crate) verified: Option<Verified>,
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
            verified: None,
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
            wire::read_body(self.value)
                .or_else(|error| with_envelope(&self.raw, self.merchant.version(), error))
                .map(|(body, notes)| (Outcome::Success(body), notes))
        };
        let strict = self.merchant.agent().inner().strict;
        match read {
            Ok((outcome, notes)) => {
                let response = Response {
                    raw: self.raw,
                    view,
                    outcome,
                    notes,
                    anomalies: self.anomalies,
                    keys: self.keys,
                    verified: self.verified,
                    merchant: self.merchant,
                };
                if strict {
                    response.strict()
                } else {
                    Ok(response)
                }
            }
            Err(error) => Err(Error::Body(Box::new(BodyError {
                problem: BodyProblem::Shape(error),
                response: self.raw,
            }))),
        }
    }
}

/// Reads a body once more, with the envelope that it lacks.
fn with_envelope<T: Read>(
    raw: &RawResponse,
    version: &str,
    error: DecodeError,
) -> Result<(T, Vec<Note>), DecodeError> {
    if error.path != wire::JsonPath::member("ucp") || !["nothing", "null"].contains(&error.found) {
        return Err(error);
    }
    let Ok(Value::Object(mut body)) = serde_json::from_slice(&raw.bytes) else {
        return Err(error);
    };
    body.insert("ucp".to_owned(), serde_json::json!({ "version": version }));
    let (body, mut notes) = wire::read_body(Value::Object(body))?;
    notes.push(Note {
        path: error.path,
        text: format!("absent though required, read as an envelope of {version}").into(),
    });
    Ok((body, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_text_or_a_page_says_what_is_wrong_too() {
        for (media, body, text) in [
            (
                "text/plain",
                " Internal Server Error\n",
                Some("Internal Server Error"),
            ),
            (
                "text/html",
                "<!doctype html><html><head><TITLE lang=en> 502 Bad Gateway </TITLE>",
                Some("502 Bad Gateway"),
            ),
            ("text/html", "<p>no title", None),
            ("text/html", "<title", None),
            ("text/html", "<title>", None),
            ("application/json", "", None),
            ("application/json", "{broken", Some("{broken")),
        ] {
            let Err(Error::Status(error)) = answer(502, Some(media), body) else {
                panic!("{body}")
            };
            assert_eq!(error.text.as_deref(), text, "{body}");
            assert_eq!(error.code, None);
            assert_eq!(error.response.bytes(), body.as_bytes());
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
