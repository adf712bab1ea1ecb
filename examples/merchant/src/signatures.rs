//! Signatures of requests, which are verified, and of answers and webhooks, which are made.

use axum::body::Bytes;
use axum::http::response::Parts;
use axum::http::{HeaderMap, HeaderName};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use ucp_runtime::http::{Method, Uri};
use ucp_runtime::profile::PublishedKeys;
use ucp_runtime::signatures::{
    Algorithm, Code, KeyError, RequestHead, Signing, SigningKey, Verifier, is_signed,
};

use crate::answer::Answer;

/// Which requests must be signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Signatures {
    /// None: signatures are not looked at.
    Off,
    /// Those that say they are: either header counts.
    #[default]
    WhenPresent,
    /// All.
    Required,
}

impl Signatures {
    /// Refuses a request that no key of its agent vouches for.
    pub(crate) fn judge(
        self,
        head: RequestHead<'_>,
        body: &[u8],
        keys: &PublishedKeys,
        now: Timestamp,
    ) -> Result<(), Answer> {
        match self {
            Self::Off => return Ok(()),
            Self::WhenPresent if !is_signed(head.headers) => return Ok(()),
            Self::WhenPresent | Self::Required => {}
        }
        let verified = Verifier::at(now).request(head, body, keys);
        verified.map(drop).map_err(|rejected| {
            let code = rejected.code();
            Answer::refused(status(code), code.as_str(), &rejected.to_string())
        })
    }
}

/// The status of a code (UCP signatures, "Error Handling").
fn status(code: Code) -> u16 {
    match code {
        Code::SignatureMissing | Code::SignatureInvalid | Code::KeyNotFound => 401,
        Code::DigestMismatch | Code::AlgorithmUnsupported => 400,
    }
}

/// The key of a sandbox, the same in every run. Everybody knows it.
pub(crate) fn sandbox_key() -> Result<SigningKey, KeyError> {
    let scalar = Sha256::digest("the key of the sandbox merchant");
    SigningKey::from_scalar(Algorithm::Es256, &scalar)?.with_id("merchant-1")
}

/// Signs an answer.
pub(crate) async fn sign_answer(key: &SigningKey, head: &mut Parts, body: &Bytes) {
    match Signing::with(key).response(&*head, body).await {
        Ok(signed) => signed.apply(&mut head.headers),
        Err(error) => tracing::error!(%error, "an answer that cannot be signed"),
    }
}

/// Signs a webhook, its id and its time included.
pub(crate) async fn sign_webhook(
    key: &SigningKey,
    url: &Uri,
    headers: &mut HeaderMap,
    body: &Bytes,
) -> Result<(), crate::Error> {
    let head = RequestHead {
        method: &Method::POST,
        uri: url,
        headers,
    };
    let signed = Signing::with(key)
        .cover(HeaderName::from_static("webhook-id"))
        .cover(HeaderName::from_static("webhook-timestamp"))
        .request(head, body)
        .await?;
    signed.apply(headers);
    Ok(())
}
