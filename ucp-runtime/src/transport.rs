//! What carries a request to a merchant and its answer back.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use std::fmt;
use std::pin::Pin;

/// An error of whatever kind.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// The body of an answer, as it streams in.
pub type ResponseBody = UnsyncBoxBody<Bytes, BoxError>;

/// Sends one request and returns the answer's head with its body still to be read.
///
/// A transport follows no redirect, decodes no content coding, retries nothing, and adds no header
/// but those that frame the message: limits, deadlines and ids are kept above it, and a digest
/// covers the bytes that it is given. It needs no request of its own to be made, so a test can stand
/// in for a merchant:
///
/// ```
/// use http_body_util::{BodyExt, Full};
/// use ucp_runtime::http::{Request, Response};
/// use ucp_runtime::{BoxFuture, ResponseBody, Transport, TransportError};
///
/// struct Canned(&'static str);
/// impl Transport for Canned {
///     fn send(
///         &self,
///         _: Request<bytes::Bytes>,
///     ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
///         let body = Full::new(self.0.as_bytes().into()).map_err(|never| match never {});
///         Box::pin(std::future::ready(Ok(Response::new(body.boxed_unsync()))))
///     }
/// }
/// ```
pub trait Transport: Send + Sync {
    /// Sends one request.
    ///
    /// # Errors
    ///
    /// [`TransportError`] when no answer arrived.
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>>;
}

/// A request that got no answer.
///
/// Whether the merchant may have received it decides what can be done next, so a transport says.
#[derive(Debug)]
pub struct TransportError {
    source: BoxError,
    may_have_arrived: bool,
}

impl TransportError {
    /// The request may have reached the merchant: anything after its first byte was written.
    pub fn new(source: impl Into<BoxError>) -> Self {
        Self {
            source: source.into(),
            may_have_arrived: true,
        }
    }

    /// The request certainly did not leave: no connection was made.
    pub fn not_sent(source: impl Into<BoxError>) -> Self {
        Self {
            source: source.into(),
            may_have_arrived: false,
        }
    }

    /// Whether the merchant may have received the request.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        self.may_have_arrived
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.may_have_arrived {
            "no answer arrived, and the merchant may have received the request"
        } else {
            "no connection was made, and nothing was sent"
        })
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.source.as_ref())
    }
}
