//! Signs what an agent sends with AWS Signature Version 4, for a merchant behind a gate that asks for
//! it: a `prepare_request` hook like any other. It sees the request as it will be sent and adds headers.
//!
//! ```
//! use aws_credential_types::Credentials;
//! use sigv4::SigV4;
//! use ucp_runtime::{Agent, jiff::Timestamp};
//!
//! # let now = || Timestamp::UNIX_EPOCH; // `Timestamp::now` in an application
//! let credentials = Credentials::from_keys("AKIDEXAMPLE", "the secret", None);
//! let agent = Agent::builder("https://agent.example/.well-known/ucp")?
//!     .prepare_request(SigV4::new(credentials, "us-east-1", "execute-api", now))
//!     .build()?;
//! # Ok::<(), ucp_runtime::Error>(())
//! ```
//!
//! `Authorization` is a hook's to set only where the agent has no credential for the merchant. The
//! agent's own signature comes after it, in other headers.

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use std::time::SystemTime;
use ucp_runtime::http::{HeaderMap, HeaderName, HeaderValue};
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::{Additions, BoxError, BoxFuture, Outgoing, PrepareRequest};

/// The hook.
pub struct SigV4 {
    credentials: Credentials,
    region: String,
    service: String,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
}

impl SigV4 {
    /// Signs for a service of a region, at the time that `now` gives.
    pub fn new(
        credentials: Credentials,
        region: impl Into<String>,
        service: impl Into<String>,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        Self {
            credentials,
            region: region.into(),
            service: service.into(),
            now: Box::new(now),
        }
    }

    /// The headers that the signature adds: `Authorization`, `X-Amz-Date`, and
    /// `X-Amz-Security-Token` for credentials that are lent.
    fn headers(&self, request: &Outgoing) -> Result<HeaderMap, BoxError> {
        // `Host` is signed too: it follows from the URL.
        let signed = (request.headers.iter())
            .filter(|(name, _)| *name == "content-type" || name.as_str().starts_with("x-amz-"))
            .map(|(name, value)| Ok((name.as_str(), value.to_str()?)))
            .collect::<Result<Vec<_>, BoxError>>()?;
        let signable = SignableRequest::new(
            request.method.as_str(),
            request.url.as_str(),
            signed.into_iter(),
            SignableBody::Bytes(&request.body),
        )?;
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(&self.service)
            .time(SystemTime::from((self.now)()))
            .settings(SigningSettings::default())
            .build()?
            .into();
        let (instructions, _) = sign(signable, &parameters)?.into_parts();
        let (headers, _) = instructions.into_parts();
        let mut added = HeaderMap::new();
        for header in headers {
            let mut value = HeaderValue::try_from(header.value())?;
            // Whoever has the signature can send the request again for a while.
            value.set_sensitive(header.sensitive() || header.name() == "authorization");
            added.insert(HeaderName::try_from(header.name())?, value);
        }
        Ok(added)
    }
}

impl PrepareRequest for SigV4 {
    fn prepare(&self, request: Outgoing) -> BoxFuture<'_, Result<Additions, BoxError>> {
        Box::pin(std::future::ready(
            self.headers(&request).map(Additions::from),
        ))
    }
}
