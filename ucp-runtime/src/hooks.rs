//! Hooks: what an application, and the runtime itself, adds to a request before it is sent.

use crate::credentials::X_API_KEY;
use crate::error::RequestError;
use crate::headers;
use crate::ids::CallId;
use crate::operation::Operation;
use crate::signatures::content_digest;
use crate::transport::{BoxError, BoxFuture};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, header};
use url::Url;

/// A request as a hook sees it: what will be sent, so far.
#[derive(Clone)]
#[non_exhaustive]
pub struct Outgoing {
    /// The operation.
    pub operation: &'static Operation,
    /// The origin of the merchant that the request goes to, as given to `connect`.
    pub origin: String,
    /// The method.
    pub method: Method,
    /// The absolute URL.
    pub url: Url,
    /// The headers so far, those of earlier hooks included.
    pub headers: HeaderMap,
    /// The body, byte for byte as it will be sent. Empty when there is none.
    pub body: Bytes,
    /// The headers that the signature covers because a hook asked for it.
    pub covered: Vec<HeaderName>,
    /// The caller's id of the call.
    pub call_id: Option<CallId>,
}

impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing")
            .field("operation", &self.operation.id)
            .field("method", &self.method)
            .field("url", &crate::error::shown(self.url.as_str()))
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("body", &crate::error::Length(self.body.len()))
            .finish_non_exhaustive()
    }
}

/// The headers that a hook adds to a request.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Additions {
    /// The headers. A name that an earlier hook set takes the new values.
    pub headers: HeaderMap,
    /// Headers that the signature is to cover, its own or others, where requests are signed.
    pub cover: Vec<HeaderName>,
}

impl From<HeaderMap> for Additions {
    fn from(headers: HeaderMap) -> Self {
        Self {
            headers,
            cover: Vec::new(),
        }
    }
}

/// Looks at a request before it is sent, and adds headers to it.
///
/// Hooks run in the order in which they were given, after the runtime's own headers and before the
/// digest. An error stops the call: nothing is sent. A header that the runtime manages cannot be
/// replaced, save `Authorization` where no credential is configured. A closure does:
///
/// ```
/// use ucp_runtime::{Additions, Agent, BoxError, Outgoing, http::{HeaderMap, HeaderValue}};
///
/// let agent = Agent::builder("https://agent.example/.well-known/ucp")?
///     .prepare_request(|request: Outgoing| async move {
///         let mut headers = HeaderMap::new();
///         headers.insert("x-body-length", HeaderValue::from(request.body.len()));
///         Ok::<_, BoxError>(Additions::from(headers))
///     });
/// # Ok::<(), ucp_runtime::Error>(())
/// ```
pub trait PrepareRequest: Send + Sync {
    /// What to add.
    ///
    /// # Errors
    ///
    /// Whatever the hook reports; the call is then not sent.
    fn prepare(&self, request: Outgoing) -> BoxFuture<'_, Result<Additions, BoxError>>;
}

impl<F, A> PrepareRequest for F
where
    F: Fn(Outgoing) -> A + Send + Sync,
    A: Future<Output = Result<Additions, BoxError>> + Send + 'static,
{
    fn prepare(&self, request: Outgoing) -> BoxFuture<'_, Result<Additions, BoxError>> {
        Box::pin(self(request))
    }
}

/// Who runs a hook, which decides what it may set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// An application's hook. `credential` says whether the merchant has one configured.
    Application { credential: bool },
    /// The runtime's own: digest and signature.
    Runtime,
}

/// Runs one hook and merges what it adds.
pub(crate) async fn run(
    hook: &dyn PrepareRequest,
    trust: Trust,
    request: &mut Outgoing,
) -> Result<(), RequestError> {
    let additions = hook
        .prepare(request.clone())
        .await
        .map_err(|source| RequestError::Hook { source })?;
    for name in additions.headers.keys() {
        if let Some(problem) = refusal(name, trust) {
            return Err(RequestError::Header {
                name: name.clone(),
                problem,
            });
        }
    }
    for name in additions.cover {
        if !request.covered.contains(&name) {
            request.covered.push(name);
        }
    }
    for name in additions.headers.keys() {
        request.headers.remove(name);
        for value in additions.headers.get_all(name) {
            request.headers.append(name, value.clone());
        }
    }
    Ok(())
}

fn refusal(name: &HeaderName, trust: Trust) -> Option<&'static str> {
    match trust {
        Trust::Runtime => None,
        Trust::Application { credential } => {
            if *name == header::AUTHORIZATION {
                credential.then_some("a hook cannot displace the merchant's credential")
            } else if *name == X_API_KEY {
                Some("a hook cannot set it: configure `credentials` on the agent")
            } else if headers::is_managed(name) {
                Some("the runtime manages it, and a hook cannot replace it")
            } else if headers::is_framing(name) {
                Some("it belongs to the transport, and a hook cannot set it")
            } else {
                None
            }
        }
    }
}

/// `Content-Digest` (RFC 9530) over the body as sent.
pub(crate) struct ContentDigest;

impl PrepareRequest for ContentDigest {
    fn prepare(&self, request: Outgoing) -> BoxFuture<'_, Result<Additions, BoxError>> {
        let mut headers = HeaderMap::new();
        // A request without a body has no digest and no type.
        if request.headers.contains_key(header::CONTENT_TYPE) {
            headers.insert(headers::CONTENT_DIGEST, content_digest(&request.body));
        }
        Box::pin(std::future::ready(Ok(headers.into())))
    }
}
