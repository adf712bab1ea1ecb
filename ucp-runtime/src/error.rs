//! What can go wrong, where, and what to do about it.
//!
//! No error prints a body, a secret or a query: it prints lengths, and keeps the answer for
//! [`Error::response`].

use crate::anomaly::Anomaly;
use crate::fetch::SpecialUse;
use crate::guard::Refusals;
use crate::handoff::{Handoff, Host, Message, NotUcp, View};
use crate::negotiation::{NoRelease, NotTheLeaf};
use crate::outcome::OutcomeUnknown;
use crate::profile::NotAProfile;
use crate::response::RawResponse;
use crate::signatures::SignError;
use crate::transport::{BoxError, TransportError};
use crate::verification::Unverified;
use crate::wire::{DecodeError, Note, Violations};
use http::{HeaderName, Method, StatusCode};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Everything that can go wrong between building an agent and reading an answer.
///
/// ```
/// use ucp_runtime::{Agent, Error};
///
/// match Agent::builder("http://agent.example/profile") {
///     Err(Error::Config(problem)) => println!("{problem}"),
///     _ => unreachable!(),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An agent or a merchant that cannot be made of what was given.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A call that could not be turned into a request. Nothing was sent.
    #[error(transparent)]
    NotSent(Box<NotSent>),
    /// A request that got no answer.
    #[error(transparent)]
    Transport(Box<NoAnswer>),
    /// An answer whose status is not 2xx.
    #[error(transparent)]
    Status(Box<StatusError>),
    /// A 2xx answer whose body cannot be used.
    #[error(transparent)]
    Body(Box<BodyError>),
    /// A call that may have changed something at the merchant, and whose outcome is not known.
    #[error(transparent)]
    OutcomeUnknown(Box<OutcomeUnknown>),
    /// An answer whose signature does not hold, or that has none where one is required.
    #[error(transparent)]
    Unverified(Box<Unverified>),
    /// A 2xx answer that says by `ucp.status: error` that the operation was not done.
    #[error(transparent)]
    Declined(Box<Declined>),
    /// A merchant that was not found, or that cannot be agreed with. It is shared by all who asked
    /// at the time.
    #[error(transparent)]
    Discovery(Arc<DiscoveryError>),
    /// An answer that says nothing about what happens next.
    #[error(transparent)]
    NoHandoff(Box<NoHandoff>),
    /// A checkout that did not settle in time.
    #[error(transparent)]
    Unsettled(Box<Unsettled>),
    /// A list whose next page cannot be asked for.
    #[error(transparent)]
    Paging(Box<PagingError>),
}

impl Error {
    /// The answer that the error is about, where there was one.
    #[must_use]
    pub fn response(&self) -> Option<&RawResponse> {
        match self {
            Self::Config(_) | Self::NotSent(_) | Self::Transport(_) | Self::Unverified(_) => None,
            Self::Status(error) => Some(&error.response),
            Self::Body(error) => Some(&error.response),
            Self::Declined(error) => Some(&error.response),
            Self::Discovery(error) => error.response.as_ref(),
            Self::NoHandoff(error) => Some(&error.response),
            Self::OutcomeUnknown(error) => error.cause()?.response(),
            Self::Unsettled(error) => Some(&error.response),
            Self::Paging(error) => Some(&error.response),
        }
    }

    /// What happens next, where the answer behind the error says so: an error envelope, a refusal
    /// `{code, content}`, or a checkout that does not fit its type in other places.
    ///
    /// # Errors
    ///
    /// The error itself when there is no decision in it: no answer, a body that is broken or has no
    /// UCP shape, and the statuses 401, 403, 408, 409, 425, 429 and 5xx whatever their body.
    pub fn handoff(self, host: &Host) -> Result<Handoff, Self> {
        let view = match &self {
            Self::Status(error) => View::from_failure(error.status, error.response.whole()),
            Self::Body(error) => error.view(),
            Self::OutcomeUnknown(error) => match error.cause() {
                Some(Self::Body(error)) => error.view(),
                _ => Err(NotUcp),
            },
            Self::Declined(error) => View::from_bytes(error.response.whole()),
            Self::Unsettled(error) => View::from_bytes(error.response.whole()),
            _ => Err(NotUcp),
        };
        view.map(|view| view.into_decision(host))
            .map_err(|NotUcp| self)
    }

    pub(crate) fn no_handoff(response: &RawResponse) -> Self {
        Self::NoHandoff(Box::new(NoHandoff {
            response: response.clone(),
        }))
    }

    pub(crate) fn not_sent(operation: &'static str, problem: RequestError) -> Self {
        Self::NotSent(Box::new(NotSent { operation, problem }))
    }
}

/// An agent or a merchant that cannot be made of what was given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The URL of the agent's profile.
    #[error(
        "the profile URL is refused: {problem}; give an absolute https URL such as https://agent.example/.well-known/ucp"
    )]
    ProfileUrl {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The secret from which ids are derived.
    #[error("the id secret has {length} bytes: give 32 random bytes or more, and keep them")]
    IdSecret {
        /// How long it is, in bytes.
        length: usize,
    },
    /// A header value that was configured.
    #[error(
        "the value configured for the header `{name}` does not fit a header: use visible ASCII"
    )]
    Header {
        /// The header.
        name: HeaderName,
    },
    /// The origin of a merchant.
    #[error(
        "the merchant `{origin}` is refused: {problem}; give an origin such as https://shop.example"
    )]
    Origin {
        /// What was given, without user information, query and fragment.
        origin: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The endpoint of a merchant.
    #[error(
        "the endpoint `{endpoint}` is refused: {problem}; an endpoint is an https URL without a query"
    )]
    Endpoint {
        /// What was given or advertised, without user information, query and fragment.
        endpoint: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A request was to be signed by an agent that has no key.
    #[error("the agent has no key to sign with: give one with `signing_key(…)`")]
    NoSigner,
    /// How requests are signed.
    #[error("requests cannot be signed so")]
    Signing {
        /// Why.
        source: SignError,
    },
    /// The transport could not be made, or there is none.
    #[error("there is no transport: give one with `transport(…)`, or check its settings")]
    Transport {
        /// Why.
        source: BoxError,
    },
}

/// A call that could not be turned into a request. Nothing was sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotSent {
    /// The contract's `operationId`.
    pub operation: &'static str,
    /// What stood in the way.
    pub problem: RequestError,
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was not sent: {}", self.operation, self.problem)
    }
}

impl std::error::Error for NotSent {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// Why a call could not be turned into a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The body breaks rules of the contract; [`Call::unvalidated`](crate::Call::unvalidated) sends
    /// it all the same.
    #[error("the body breaks the contract: {violations}")]
    Rules {
        /// Every rule that it breaks.
        violations: Violations,
    },
    /// The call changes a checkout, and what it is judged against does not allow it: see
    /// [`guard`](crate::guard).
    #[error("the checkout does not allow it: {refusals}")]
    Refused {
        /// Every reason.
        refusals: Refusals,
    },
    /// The call moves money, and the checkout to judge it against could not be read.
    #[error(
        "the checkout could not be read: give the one that the buyer agreed to with `from(…)`, or try again"
    )]
    Unread {
        /// Why.
        source: Box<Error>,
    },
    /// The call moves money, and the contract has no operation that reads the checkout to judge it
    /// against.
    #[error(
        "there is nothing to judge it against: give the checkout that the buyer agreed to with `from(…)`"
    )]
    NoBasis,
    /// The call's id was used for another call. Each call needs an id of its own.
    #[error(
        "its call id was used for `{operation}` with another {differs}: each call needs an id of its own"
    )]
    CallIdReused {
        /// The operation that the id was used for.
        operation: String,
        /// What differs: `method`, `URL`, `body` or `idempotency key`.
        differs: &'static str,
    },
    /// The journal does not keep the call, so it is not sent.
    #[error("the journal failed, and what is not recorded is not sent")]
    Journal {
        /// Why.
        source: BoxError,
    },
    /// The checkout given to `from(…)` does not serialise.
    #[error("the checkout to judge it against does not serialise as JSON")]
    Basis {
        /// Why.
        source: serde_json::Error,
    },
    /// A path parameter.
    #[error("the path parameter `{name}` is refused: {problem}")]
    Path {
        /// The parameter.
        name: String,
        /// What is wrong with its value.
        problem: &'static str,
    },
    /// The body does not serialise.
    #[error("its body does not serialise as JSON")]
    Body {
        /// Why.
        source: serde_json::Error,
    },
    /// The operation is of another release than the merchant speaks.
    #[error(
        "it is of release {release}, and the merchant speaks {version}: use the client generated for {version}"
    )]
    Release {
        /// The release of the contract that the client was generated from.
        release: &'static str,
        /// The merchant's `ucp.version`.
        version: String,
    },
    /// A call id without a secret to derive from: a public constant would let two buyers share a key.
    #[error("a call id needs a secret: give `id_secret(…)` to the agent")]
    NoIdSecret,
    /// A call id that says nothing.
    #[error("the call id is empty: make it of a stored conversation id and the place in it")]
    EmptyCallId,
    /// An idempotency key that no header can carry.
    #[error("the idempotency key is refused: give a UUID, or 1 to 255 visible ASCII characters")]
    IdempotencyKey,
    /// The source of randomness failed.
    #[error("no random id could be made")]
    Randomness {
        /// Why.
        source: BoxError,
    },
    /// A header that cannot be set this way.
    #[error("the header `{name}` is refused: {problem}")]
    Header {
        /// The header.
        name: HeaderName,
        /// Why.
        problem: &'static str,
    },
    /// An exposed header whose name is none.
    #[error("`{name}` is not the name of a header")]
    HeaderName {
        /// The name.
        name: &'static str,
    },
    /// `Request-Signature`, which the releases of January 2026 require without defining its content.
    #[error(
        "the contract requires the header `Request-Signature`: give the value agreed with the merchant to `request_signature(…)` on the agent"
    )]
    NoRequestSignature,
    /// The credential provider failed, or its credential fits no header.
    #[error("there is no usable credential for {origin}")]
    Credential {
        /// The merchant's origin.
        origin: String,
        /// Why.
        source: BoxError,
    },
    /// A hook stopped the call.
    #[error("a `prepare_request` hook stopped it")]
    Hook {
        /// The hook's error.
        source: BoxError,
    },
}

/// A request that got no answer.
#[non_exhaustive]
pub struct NoAnswer {
    /// The method.
    pub method: Method,
    /// The URL.
    pub url: Url,
    /// What the transport reports.
    pub error: TransportError,
}

impl fmt::Debug for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoAnswer")
            .field("method", &self.method)
            .field("url", &shown(self.url.as_str()))
            .field("error", &self.error)
            .finish()
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}: {}",
            self.method,
            shown(self.url.as_str()),
            self.error
        )?;
        f.write_str(if self.error.may_have_arrived() {
            "; repeat it only with the same bytes and keys"
        } else {
            "; check the address and the network"
        })
    }
}

impl std::error::Error for NoAnswer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// When a merchant asks to be asked again (RFC 9110 section 10.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryAfter {
    /// After so many seconds.
    Seconds(u64),
    /// At an instant.
    At(jiff::Timestamp),
}

/// An answer whose status is not 2xx. Merchants print errors in many shapes; what could be read of
/// them is here, and all of it in `response`.
#[non_exhaustive]
pub struct StatusError {
    /// The status.
    pub status: StatusCode,
    /// The error code, as written: of `{code, …}`, of the first error message, of `{error}`.
    pub code: Option<String>,
    /// The text for a person: of `{content}`, `{detail}`, `{message}`, the first error message, or a
    /// plain text body.
    pub text: Option<String>,
    /// The `continue_url` that the body offers, unchecked.
    pub continue_url: Option<String>,
    /// `Retry-After`.
    pub retry_after: Option<RetryAfter>,
    /// The answer: status, headers, bytes.
    pub response: RawResponse,
}

impl fmt::Debug for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusError")
            .field("status", &self.status)
            .field("code", &self.printable_code())
            .field("text", &self.text.as_ref().map(|text| Length(text.len())))
            .field(
                "continue_url",
                &self.continue_url.as_ref().map(|url| Length(url.len())),
            )
            .field("retry_after", &self.retry_after)
            .field("response", &self.response)
            .finish()
    }
}

/// What a 409 is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// The idempotency key was used for another request: its code or its text says so.
    KeyReused,
    /// The resource is in a state that the operation does not fit, or whatever else merchants use the
    /// status for.
    State,
}

impl StatusError {
    /// What a 409 is about; `None` for another status.
    #[must_use]
    pub fn conflict(&self) -> Option<Conflict> {
        let said = [&self.code, &self.text];
        let names_the_key = said.into_iter().flatten().any(|said| {
            let said = said.to_ascii_lowercase();
            said.contains("idempotency") || said.contains("idempotent")
        });
        (self.status == StatusCode::CONFLICT).then_some(if names_the_key {
            Conflict::KeyReused
        } else {
            Conflict::State
        })
    }

    /// Whether nothing answers for the operation at the endpoint that the profile names: 404, 405 or
    /// 501 without a code of the protocol. No other transport of the merchant is tried instead.
    #[must_use]
    pub fn is_endpoint_unavailable(&self) -> bool {
        matches!(self.status.as_u16(), 404 | 405 | 501) && self.code.is_none()
    }

    /// The code, if it looks like one: what a merchant put there may be anything.
    fn printable_code(&self) -> Option<&str> {
        self.code.as_deref().filter(|code| {
            (1..=64).contains(&code.len())
                && code
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_.-:".contains(&byte))
        })
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} was answered {}",
            self.response.request_line(),
            self.status.as_u16()
        )?;
        if let Some(code) = self.printable_code() {
            write!(f, " with code `{code}`")?;
        }
        let advice = match self.status.as_u16() {
            300..=399 => {
                return match self.response.location() {
                    Some(to) => write!(
                        f,
                        ", a redirect to {}: redirects are not followed",
                        shown(to)
                    ),
                    None => f.write_str(", a redirect: redirects are not followed"),
                };
            }
            401 | 403 => "check the merchant's credential and the agent's profile",
            404 | 405 | 501 => {
                "check the id, and that the merchant's endpoint offers the operation"
            }
            409 => "read the session before anything else, and never repeat this under a new key",
            408 | 425 | 429 | 503 => "repeat it later with the same bytes and keys",
            500..=599 => {
                "the merchant may have acted on it: read the session, or repeat it with the same bytes and keys"
            }
            _ => "see `text`, and what `handoff` makes of it",
        };
        write!(f, ": {advice}")
    }
}

impl std::error::Error for StatusError {}

/// A 2xx answer whose body cannot be used. The request may well have taken effect.
#[derive(Debug)]
#[non_exhaustive]
pub struct BodyError {
    /// What is wrong with the body.
    pub problem: BodyProblem,
    /// The answer: status, headers, and the bytes there are.
    pub response: RawResponse,
}

impl BodyError {
    /// What a decision may rest on: nothing, where the body is about something else.
    fn view(&self) -> Result<View, NotUcp> {
        match self.problem {
            BodyProblem::OtherId { .. } => Err(NotUcp),
            _ => View::from_bytes(self.response.whole()),
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} was answered {}, but {} ({} bytes kept); the merchant may have acted on it: read the session before repeating it",
            self.response.request_line(),
            self.response.status().as_u16(),
            self.problem,
            self.response.bytes().len(),
        )
    }
}

impl std::error::Error for BodyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// What is wrong with a body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyProblem {
    /// It does not fit its type.
    #[error("its body does not fit: {0}")]
    Shape(DecodeError),
    /// It was read, but only leniently, and [strict](crate::Response::strict) reading was wanted.
    #[error("it is not exactly as the contract has it: {}", lenient(.notes, .anomalies))]
    Lenient {
        /// What in the body was read although the contract does not allow it.
        notes: Vec<Note>,
        /// What looked wrong about the answer as a whole.
        anomalies: Vec<Anomaly>,
    },
    /// It is not JSON.
    #[error("its body is not JSON")]
    NotJson {
        /// Where it stops being JSON.
        source: serde_json::Error,
    },
    /// It is a page for people: a bot wall, a login, a proxy's error.
    #[error("its body is an HTML page")]
    Html,
    /// It is empty.
    #[error("its body is empty")]
    Empty,
    /// It says that it is something else than JSON.
    #[error("its Content-Type is `{found}` where application/json is due")]
    ContentType {
        /// The media type that it states.
        found: String,
    },
    /// It is compressed although `Accept-Encoding: identity` was sent.
    #[error("its body is coded as `{coding}` although identity was asked for")]
    Encoded {
        /// The content coding.
        coding: String,
    },
    /// It ended before it was whole.
    #[error("its body broke off after {received} bytes")]
    Truncated {
        /// How many bytes arrived.
        received: usize,
        /// What the transport reports.
        source: BoxError,
    },
    /// It is about another resource than the one that was asked for.
    #[error("its body is about `{found}`, which is not what was asked for")]
    OtherId {
        /// The `id` that the body has.
        found: String,
    },
    /// It is longer than the agent reads.
    #[error(
        "its body is longer than the limit of {limit} bytes: raise `response_limit(…)` if that is right"
    )]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
}

fn lenient(notes: &[Note], anomalies: &[Anomaly]) -> String {
    let all = notes.iter().map(ToString::to_string);
    let all: Vec<String> = all
        .chain(anomalies.iter().map(ToString::to_string))
        .collect();
    all.join("; ")
}

/// A merchant that was not found, or that cannot be agreed with.
#[derive(Debug)]
#[non_exhaustive]
pub struct DiscoveryError {
    /// The URL of the profile: the merchant's own, or one that it names for another version.
    pub url: Url,
    /// What is wrong.
    pub problem: DiscoveryProblem,
    /// The answer, where there was one, with no more than the first 4 KiB of its body.
    pub response: Option<RawResponse>,
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no merchant at {}: {}",
            shown(self.url.as_str()),
            self.problem
        )
    }
}

impl std::error::Error for DiscoveryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// Why a merchant's profile cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryProblem {
    /// The request for it could not be made. Nothing was sent.
    #[error("it was not asked for: {0}")]
    NotSent(RequestError),
    /// Its host is at no public address. Nothing was sent.
    #[error(transparent)]
    SpecialUse(SpecialUse),
    /// No answer arrived.
    #[error("{0}")]
    NoAnswer(TransportError),
    /// The answer did not end in time.
    #[error("its answer did not end within {after:?}")]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// A redirect, which a profile must not be (and which is not followed).
    #[error("it redirects to {to}: connect to that origin if you trust it")]
    Redirect {
        /// The target, as the `Location` header has it but without query and fragment.
        to: String,
    },
    /// Something bars the way: a status that asks for a login or for patience.
    #[error("it answered {}: something bars the way, such as a login or a bot wall; do not ask again at once", .0.as_u16())]
    Blocked(StatusCode),
    /// Another status than 200.
    #[error("it answered {}: there is no profile", .0.as_u16())]
    Status(StatusCode),
    /// An answer that is longer than the agent reads.
    #[error(
        "its answer is longer than {limit} bytes: give a higher `limit(…)` to `Discovery` if that is right"
    )]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A body that is no JSON, or not whole.
    #[error("{0}, so there is no profile to read")]
    Body(BodyProblem),
    /// JSON that is no profile.
    #[error(transparent)]
    NotAProfile(NotAProfile),
    /// A merchant that speaks none of the agent's releases.
    #[error("{0}")]
    NoRelease(NoRelease),
    /// A profile of another version than it was named for.
    #[error(transparent)]
    NotTheLeaf(NotTheLeaf),
    /// A profile that offers no endpoint which this runtime can use.
    #[error("its profile of version {version} offers no usable REST endpoint for {service}: {}", join(.offers))]
    NoEndpoint {
        /// The profile's `ucp.version`.
        version: String,
        /// The service that was looked for.
        service: String,
        /// What was offered, and why each offer was refused.
        offers: Vec<Offer>,
    },
}

/// A binding that a profile offers and that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Its transport, for example `mcp`.
    pub transport: String,
    /// Its version.
    pub version: String,
    /// Why it was refused.
    pub refused: String,
}

fn join(offers: &[Offer]) -> String {
    if offers.is_empty() {
        return "it offers none".to_owned();
    }
    let offers: Vec<String> = offers
        .iter()
        .map(|offer| format!("{} {} ({})", offer.transport, offer.version, offer.refused))
        .collect();
    offers.join(", ")
}

/// An answer that says nothing about what happens next.
#[derive(Debug)]
#[non_exhaustive]
pub struct NoHandoff {
    /// The answer.
    pub response: RawResponse,
}

impl fmt::Display for NoHandoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the answer to {} decides nothing: {NotUcp}",
            self.response.request_line()
        )
    }
}

impl std::error::Error for NoHandoff {}

/// What a merchant declined to do, in its words: the error envelope of a 2xx answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Declined {
    /// Its messages, in order.
    pub messages: Vec<Message>,
    /// The answer.
    pub response: RawResponse,
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was declined", self.response.request_line())?;
        for (index, message) in self.messages.iter().enumerate() {
            write!(f, "{} {message}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Declined {}

/// What did not happen in time.
#[derive(Debug, thiserror::Error)]
#[error("no whole answer within {0:?}")]
pub(crate) struct Late(pub(crate) Duration);

/// A checkout that was waited for and is not settled. Whether the order was placed is not known: read
/// the checkout again, and do not complete it anew.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unsettled {
    /// When the wait ended.
    pub until: jiff::Timestamp,
    /// The last answer.
    pub response: RawResponse,
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the checkout was not settled by {}: read it again, and do not complete it anew",
            self.until
        )
    }
}

impl std::error::Error for Unsettled {}

/// A list whose next page cannot be asked for. The pages before it are good.
#[derive(Debug)]
#[non_exhaustive]
pub struct PagingError {
    /// The page's number, from 1, whose answer is at fault.
    pub page: u64,
    /// What is wrong with it.
    pub problem: PagingProblem,
    /// The answer.
    pub response: RawResponse,
}

impl fmt::Display for PagingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {} is the last: {}", self.page, self.problem)
    }
}

impl std::error::Error for PagingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// What is wrong with a page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PagingProblem {
    /// It announces another page and has no cursor for it.
    #[error("it announces another one and has no cursor for it")]
    NoCursor,
    /// Its cursor was followed before.
    #[error("its cursor was followed before, which would not end")]
    Repeated,
    /// The request is no JSON object that a cursor could be put into.
    #[error("the request takes no cursor")]
    Request,
}

/// A length, printed where a text must not be.
pub(crate) struct Length(pub(crate) usize);

impl fmt::Debug for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.0)
    }
}

/// A URL without what may be secret in it: user information, query, fragment.
pub(crate) fn shown(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (url, _) = url.split_at(end);
    match url.split_once("://") {
        Some((scheme, rest)) => match rest.split_once('/') {
            Some((authority, path)) => {
                let host = authority.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}/{path}")
            }
            None => format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or_default()),
        },
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Error>() <= 72, "{}", size_of::<Error>());
    }

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, text) in [
            ("https://m.example/a?token=1#x", "https://m.example/a"),
            ("https://u:p@m.example/a@b", "https://m.example/a@b"),
            ("https://u:p@m.example", "https://m.example"),
            ("/login?next=1", "/login"),
            ("not a url", "not a url"),
        ] {
            assert_eq!(shown(url), text);
        }
    }

    #[test]
    fn no_form_of_an_error_shows_what_a_url_may_hide() {
        let url = "https://u:SECRET@m.example/a?t=SECRET#SECRET";
        let errors: Vec<Box<dyn std::error::Error>> = vec![
            Box::new(crate::endpoint::origin(url, false).unwrap_err()),
            Box::new(crate::endpoint::base(url, false).unwrap_err()),
            Box::new(NoAnswer {
                method: Method::GET,
                url: url.parse().unwrap(),
                error: TransportError::new("closed"),
            }),
        ];
        for error in errors {
            let text = format!("{error} {error:?}");
            assert!(text.contains("https://m.example/a"), "{text}");
            assert!(!text.contains("SECRET"), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong_and_what_to_do() {
        let error = Error::not_sent(
            "complete_checkout",
            RequestError::Path {
                name: "id".to_owned(),
                problem: "it is empty",
            },
        );
        assert_eq!(
            error.to_string(),
            "`complete_checkout` was not sent: the path parameter `id` is refused: it is empty"
        );
        let error = DiscoveryProblem::NoEndpoint {
            version: "2026-08-25".into(),
            service: "dev.ucp.shopping".into(),
            offers: vec![Offer {
                transport: "mcp".into(),
                version: "2026-08-25".into(),
                refused: "not the REST transport".into(),
            }],
        };
        assert_eq!(
            error.to_string(),
            "its profile of version 2026-08-25 offers no usable REST endpoint for dev.ucp.shopping: mcp 2026-08-25 (not the REST transport)"
        );
    }
}
