//! How an agent signs what it sends.

use crate::agent::Inner;
use crate::clock::{Clock, Randomness};
use crate::execute::Message;
use crate::headers;
use crate::hooks::{Additions, Outgoing, PrepareRequest};
use crate::identity::ProfileUrl;
use crate::profile::Shape;
use crate::signatures::{RequestHead, SignError, Signed, Signer, Signing, WebBotAuth};
use crate::transport::{BoxError, BoxFuture};
use http::{HeaderMap, HeaderName, Method};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use url::Url;

/// How an agent signs: with what, and with which parameters.
#[derive(Clone)]
pub(crate) struct RequestSigning {
    pub(crate) signer: Arc<dyn Signer>,
    /// Whether the time of signing is stated.
    pub(crate) created: bool,
    /// The lifetime of signatures in the shape of Web Bot Auth, which are so signed when it is set.
    pub(crate) web_bot_auth: Option<SignedDuration>,
    profile: ProfileUrl,
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
}

impl RequestSigning {
    pub(crate) fn new(
        signer: Arc<dyn Signer>,
        profile: ProfileUrl,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
    ) -> Self {
        Self {
            signer,
            created: false,
            web_bot_auth: None,
            profile,
            clock,
            randomness,
        }
    }

    /// Whether a signature that was made at `then` must be made anew for an attempt.
    fn is_stale(&self, number: u32, then: Timestamp) -> bool {
        let expired = self
            .web_bot_auth
            .is_some_and(|lifetime| self.clock.now().duration_since(then) >= lifetime);
        let has_time = self.created || self.web_bot_auth.is_some();
        expired || (has_time && number > 1)
    }

    async fn sign(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: &[u8],
        cover: &[HeaderName],
    ) -> Result<Signed, BoxError> {
        let uri = url.as_str().parse::<http::Uri>()?;
        let head = RequestHead {
            method,
            uri: &uri,
            headers,
        };
        self.sign_head(head, body, cover).await
    }

    /// Signs a request. `cover` names further headers.
    pub(crate) async fn sign_head(
        &self,
        head: RequestHead<'_>,
        body: &[u8],
        cover: &[HeaderName],
    ) -> Result<Signed, BoxError> {
        let mut signing = Signing::with(self.signer.as_ref());
        let now = self.clock.now();
        if let Some(lifetime) = self.web_bot_auth {
            let mut nonce = [0; 64];
            self.randomness.fill(&mut nonce)?;
            let shape = WebBotAuth::new(&self.profile, now, nonce).lifetime(lifetime)?;
            signing = signing.web_bot_auth(shape);
        } else if self.created {
            signing = signing.created(now);
        }
        for name in cover {
            signing = signing.cover(name.clone());
        }
        Ok(signing.request(head, body).await?)
    }

    /// A lifetime, checked when the agent is made.
    pub(crate) fn check(&self) -> Result<(), SignError> {
        let Some(lifetime) = self.web_bot_auth else {
            return Ok(());
        };
        WebBotAuth::new(&self.profile, Timestamp::UNIX_EPOCH, [0; 64])
            .lifetime(lifetime)
            .map(drop)
    }
}

/// The runtime's last step: the signature over what will be sent.
impl PrepareRequest for RequestSigning {
    fn prepare(&self, request: Outgoing) -> BoxFuture<'_, Result<Additions, BoxError>> {
        Box::pin(async move {
            // Until January 2026 requests carried a signature of another kind.
            if !signs(request.operation.release) {
                return Ok(Additions::default());
            }
            let signed = self
                .sign(
                    &request.method,
                    &request.url,
                    &request.headers,
                    &request.body,
                    &request.covered,
                )
                .await?;
            Ok(signed.headers.into())
        })
    }
}

/// Whether a release signs messages by RFC 9421.
pub(crate) fn signs(release: &str) -> bool {
    !Shape::of(release).detaches_webhook_signatures()
}

/// The message of an attempt: as it was prepared, or signed again where a parameter of its signature
/// must be fresh.
pub(crate) async fn refreshed(
    agent: &Inner,
    message: &Message,
    cover: &[HeaderName],
    number: u32,
    prepared: Timestamp,
) -> Result<Message, BoxError> {
    let mut message = message.clone();
    if let Some(signing) = &agent.signing
        && message.headers.contains_key(headers::SIGNATURE)
        && signing.is_stale(number, prepared)
    {
        let signed = signing
            .sign(
                &message.method,
                &message.url,
                &message.headers,
                message.body.as_deref().unwrap_or_default(),
                cover,
            )
            .await?;
        signed.apply(&mut message.headers);
    }
    Ok(message)
}
