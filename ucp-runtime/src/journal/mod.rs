//! The journal: what was about to be sent, and what came of it, so that a restart changes nothing.
//!
//! A call that has a [call id](crate::CallId) and changes something at the merchant is recorded before
//! its first byte leaves, and again once its outcome is known. The same call id, in this process or
//! another, then gives the recorded answer back at once, or sends the recorded bytes again under the
//! same keys. With other inputs it is refused ([`RequestError::CallIdReused`]) and nothing is sent.
//!
//! No header is recorded, so no credential is; the request's body is dropped once the outcome is known,
//! and payment data with it. [`SealedJournal`] encrypts bodies before they reach the store.

mod memory;
mod sealed;
#[cfg(feature = "sqlite")]
mod sqlite;

use crate::error::RequestError;
use crate::prepared::Request;
use crate::response::RawResponse;
use crate::transport::{BoxError, BoxFuture};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
pub use memory::MemoryJournal;
pub use sealed::{Seal, SealedJournal};
use sha2::{Digest as _, Sha256};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteJournal;
use std::fmt;
use url::Url;

/// Where calls are recorded.
///
/// What [`begin`](Journal::begin) was given must outlive the process once it has returned: on a disk,
/// synced; on another machine, acknowledged. Several processes may share one.
pub trait Journal: Send + Sync {
    /// Records a call that is about to be sent, unless its id is known: then the record that there is
    /// comes back, and nothing changes. This is one step, also against other processes.
    ///
    /// # Errors
    ///
    /// Whatever keeps the record from being kept; the call is then not sent.
    fn begin(&self, record: Record) -> BoxFuture<'_, Result<Option<Record>, BoxError>>;

    /// Records the outcome of a call, and drops the body of its request. One outcome is kept: a second
    /// one changes nothing.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being kept. The call's answer stands all the same; its record stays open.
    fn settle(&self, call_id: &str, answer: RecordedAnswer) -> BoxFuture<'_, Result<(), BoxError>>;

    /// What is recorded of a call.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being read; the call that asks is then not sent.
    fn find(&self, call_id: &str) -> BoxFuture<'_, Result<Option<Record>, BoxError>>;

    /// The calls whose outcome is not known, the oldest first: what a restarted agent has to look into.
    ///
    /// # Errors
    ///
    /// Whatever keeps them from being read.
    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>>;
}

impl<J: Journal + ?Sized> Journal for std::sync::Arc<J> {
    fn begin(&self, record: Record) -> BoxFuture<'_, Result<Option<Record>, BoxError>> {
        (**self).begin(record)
    }

    fn find(&self, call_id: &str) -> BoxFuture<'_, Result<Option<Record>, BoxError>> {
        (**self).find(call_id)
    }

    fn settle(&self, call_id: &str, answer: RecordedAnswer) -> BoxFuture<'_, Result<(), BoxError>> {
        (**self).settle(call_id, answer)
    }

    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        (**self).open_calls()
    }
}

/// One call, as recorded.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The caller's id of the call, which the record goes by.
    pub call_id: String,
    /// The `operationId`.
    pub operation: String,
    /// The release of the contract.
    pub release: String,
    /// The merchant's origin.
    pub merchant: String,
    /// The method.
    pub method: String,
    /// The absolute URL.
    pub url: String,
    /// The `Idempotency-Key`.
    pub idempotency_key: String,
    /// The `Request-Id`.
    pub request_id: String,
    /// When the call was first recorded, by the agent's clock.
    pub created: jiff::Timestamp,
    /// SHA-256 of the body; of nothing when there is none.
    pub digest: [u8; 32],
    /// The body, byte for byte; `None` once the outcome is known.
    pub body: Option<Bytes>,
    /// The outcome, once it is known.
    pub answer: Option<RecordedAnswer>,
}

/// An answer, as recorded.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedAnswer {
    /// The status.
    pub status: u16,
    /// Its `Content-Type`.
    pub content_type: Option<String>,
    /// The body, byte for byte.
    pub body: Bytes,
}

impl RecordedAnswer {
    /// An answer.
    #[must_use]
    pub fn new(status: u16, content_type: Option<String>, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type,
            body: body.into(),
        }
    }

    pub(crate) fn of(raw: &RawResponse) -> Self {
        let content_type = raw.headers().get(http::header::CONTENT_TYPE);
        Self {
            status: raw.status().as_u16(),
            content_type: content_type
                .and_then(|value| value.to_str().ok())
                .map(ToOwned::to_owned),
            body: raw.bytes().clone(),
        }
    }

    /// The answer as if it had just arrived.
    pub(crate) fn replayed(self, method: Method, url: Url) -> Result<RawResponse, BoxError> {
        let mut head = http::Response::new(()).into_parts().0;
        head.status = StatusCode::from_u16(self.status)?;
        head.headers = HeaderMap::new();
        if let Some(value) = self.content_type {
            head.headers
                .insert(http::header::CONTENT_TYPE, HeaderValue::try_from(value)?);
        }
        let mut raw = RawResponse::new(method, url, head);
        raw.fill(self.body, true);
        Ok(raw)
    }
}

impl Record {
    /// The record of a request; `None` when there is nothing to record it by: no call id, or nothing
    /// that it changes.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        if !request.operation.changes {
            return None;
        }
        let message = &request.message;
        Some(Self {
            call_id: request.call_id.as_ref()?.as_str().to_owned(),
            operation: request.operation.id.to_owned(),
            release: request.operation.release.to_owned(),
            merchant: request.merchant.origin().to_owned(),
            method: message.method.to_string(),
            url: message.url.to_string(),
            idempotency_key: request.keys.idempotency_key.as_ref()?.as_str().to_owned(),
            request_id: request.keys.request_id.to_string(),
            created: request.created,
            digest: Sha256::digest(message.body.as_deref().unwrap_or_default()).into(),
            body: message.body.clone(),
            answer: None,
        })
    }

    /// What differs from another call of the same id.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        [
            (self.method != other.method, "method"),
            (self.url != other.url, "URL"),
            (self.digest != other.digest, "body"),
            (
                self.idempotency_key != other.idempotency_key,
                "idempotency key",
            ),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("call_id", &self.call_id)
            .field("operation", &self.operation)
            .field("merchant", &self.merchant)
            .field("created", &self.created)
            .field("answer", &self.answer)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RecordedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedAnswer")
            .field("status", &self.status)
            .field("body", &crate::error::Length(self.body.len()))
            .finish_non_exhaustive()
    }
}

/// What the journal knows of a call that is about to be sent.
pub(crate) enum Standing {
    /// Nothing: it is new, or not recorded at all.
    New,
    /// It was begun at that time, and may have been sent.
    Open(jiff::Timestamp),
    /// It was answered.
    Answered(RecordedAnswer),
}

/// Records a request, or finds what is recorded of it.
pub(crate) async fn begin(
    journal: &dyn Journal,
    request: &Request,
) -> Result<Standing, RequestError> {
    let Some(record) = Record::of(request) else {
        return Ok(Standing::New);
    };
    let known = journal
        .begin(record.clone())
        .await
        .map_err(|source| RequestError::Journal { source })?;
    let Some(known) = known else {
        return Ok(Standing::New);
    };
    if let Some(differs) = known.difference(&record) {
        return Err(RequestError::CallIdReused {
            operation: known.operation,
            differs,
        });
    }
    Ok(match known.answer {
        Some(answer) => Standing::Answered(answer),
        None => Standing::Open(known.created),
    })
}

/// Records the outcome of a request. A journal that fails leaves the record open, which the next use of
/// the call id finds; the answer itself is not lost over it.
pub(crate) async fn settle(journal: &dyn Journal, request: &Request, raw: &RawResponse) {
    let Some(call_id) = request
        .call_id
        .as_ref()
        .filter(|_| request.operation.changes)
    else {
        return;
    };
    if let Err(error) = journal
        .settle(call_id.as_str(), RecordedAnswer::of(raw))
        .await
    {
        crate::trace::outcome_not_kept(request.operation.id, &error);
    }
}
