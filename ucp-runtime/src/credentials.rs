//! Credentials: asked for by merchant, sent to that merchant alone.

use crate::transport::{BoxError, BoxFuture};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;

pub(crate) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// What authenticates the agent to one merchant: a bearer token, an API key, or both.
///
/// ```
/// use ucp_runtime::Credential;
/// let both = Credential::bearer("eyJ…").and_api_key("k-1");
/// assert!(!format!("{both:?}").contains("k-1"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Credential {
    bearer: Option<SecretString>,
    api_key: Option<SecretString>,
}

impl Credential {
    /// A token sent as `Authorization: Bearer …` (RFC 6750 section 2.1).
    #[must_use]
    pub fn bearer(token: impl Into<SecretString>) -> Self {
        Self::default().and_bearer(token)
    }

    /// A key sent as `X-API-Key`.
    #[must_use]
    pub fn api_key(key: impl Into<SecretString>) -> Self {
        Self::default().and_api_key(key)
    }

    /// The same with a bearer token.
    #[must_use]
    pub fn and_bearer(self, token: impl Into<SecretString>) -> Self {
        Self {
            bearer: Some(token.into()),
            ..self
        }
    }

    /// The same with an API key.
    #[must_use]
    pub fn and_api_key(self, key: impl Into<SecretString>) -> Self {
        Self {
            api_key: Some(key.into()),
            ..self
        }
    }

    /// The headers that carry it, marked sensitive.
    pub(crate) fn headers(&self) -> Result<HeaderMap, BoxError> {
        let mut headers = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| -> Result<(), BoxError> {
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| format!("the credential for {name} does not fit a header"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
            Ok(())
        };
        if let Some(token) = &self.bearer {
            put(
                header::AUTHORIZATION,
                &format!("Bearer {}", token.expose_secret()),
            )?;
        }
        if let Some(key) = &self.api_key {
            put(X_API_KEY, key.expose_secret())?;
        }
        Ok(headers)
    }
}

/// Gives the credential for a merchant.
///
/// It is asked once for every call, with the ASCII origin that was given to
/// [`Agent::connect`](crate::Agent::connect), so a token can be refreshed behind it. A closure does:
///
/// ```
/// use ucp_runtime::{Agent, BoxError, Credential};
///
/// let agent = Agent::builder("https://agent.example/.well-known/ucp")?
///     .credentials(|origin: String| async move {
///         Ok::<_, BoxError>((origin == "https://shop.example").then(|| Credential::bearer("t")))
///     });
/// # Ok::<(), ucp_runtime::Error>(())
/// ```
///
/// So does a map from origins to credentials.
pub trait CredentialProvider: Send + Sync {
    /// The credential for the merchant at `origin`, or `None` to go without.
    ///
    /// # Errors
    ///
    /// Whatever the provider reports; the call is then not sent.
    fn credential(&self, origin: String) -> BoxFuture<'_, Result<Option<Credential>, BoxError>>;
}

impl<F, A> CredentialProvider for F
where
    F: Fn(String) -> A + Send + Sync,
    A: Future<Output = Result<Option<Credential>, BoxError>> + Send + 'static,
{
    fn credential(&self, origin: String) -> BoxFuture<'_, Result<Option<Credential>, BoxError>> {
        Box::pin(self(origin))
    }
}

impl CredentialProvider for BTreeMap<String, Credential> {
    fn credential(&self, origin: String) -> BoxFuture<'_, Result<Option<Credential>, BoxError>> {
        let found = self.get(&origin).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_sensitive() {
        let headers = Credential::bearer("t").and_api_key("k").headers().unwrap();
        assert_eq!(headers["authorization"], "Bearer t");
        assert_eq!(headers["x-api-key"], "k");
        assert!(headers.values().all(HeaderValue::is_sensitive));
        let error = Credential::bearer("secret\r\n").headers().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the credential for authorization does not fit a header"
        );
    }
}
