//! A request that is ready to be sent: to look at, to print, to store, to send.

use crate::error::{Error, Length, shown};
use crate::execute::Message;
use crate::headers;
use crate::ids::{CallId, IdempotencyKey, Keys};
use crate::merchant::Merchant;
use crate::operation::{Endpoint, Operation};
use crate::outcome;
use crate::response::Response;
use crate::retry::Retry;
use crate::verification::Verification;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;
use url::Url;
use uuid::Uuid;

/// What will be sent, for all operations alike.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) merchant: Merchant,
    pub(crate) operation: &'static Operation,
    pub(crate) message: Message,
    pub(crate) keys: Keys,
    /// The headers that the signature covers because a hook asked for it.
    pub(crate) covered: Vec<HeaderName>,
    pub(crate) verification: Verification,
    pub(crate) call_id: Option<CallId>,
    pub(crate) timeout: Duration,
    pub(crate) retry: Retry,
    /// The parameters of the path: what the request is about.
    pub(crate) path: Vec<(&'static str, String)>,
    pub(crate) created: jiff::Timestamp,
}

/// A request that is ready to be sent. Sending it twice sends the same bytes under the same keys.
///
/// [`Debug`] and [`to_curl`](Prepared::to_curl) hide credentials, what hooks added, and payment
/// data.
///
/// ```no_run
/// # use ucp_runtime::{Call, Endpoint, Error};
/// # async fn example<E: Endpoint>(call: Call<E>) -> Result<(), Error> {
/// let prepared = call.prepare().await?;
/// println!("{}", prepared.to_curl());
/// let response = prepared.send().await?;
/// # Ok(())
/// # }
/// ```
pub struct Prepared<E> {
    request: Request,
    endpoint: PhantomData<fn() -> E>,
}

impl<E> Clone for Prepared<E> {
    fn clone(&self) -> Self {
        Self {
            request: self.request.clone(),
            endpoint: PhantomData,
        }
    }
}

impl<E: Endpoint> Prepared<E> {
    pub(crate) fn new(request: Request) -> Self {
        Self {
            request,
            endpoint: PhantomData,
        }
    }

    /// Sends it.
    ///
    /// # Errors
    ///
    /// Those of awaiting a [`Call`](crate::Call), save [`Error::NotSent`].
    pub async fn send(&self) -> Result<Response<E::Success, E::Failure>, Error> {
        outcome::respond(&self.request).await
    }
}

impl<E> Prepared<E> {
    /// The operation.
    #[must_use]
    pub fn operation(&self) -> &'static Operation {
        self.request.operation
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.request.message.method
    }

    /// The absolute URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.request.message.url
    }

    /// The headers, credentials among them.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.request.message.headers
    }

    /// The body, byte for byte.
    #[must_use]
    pub fn body(&self) -> Option<&Bytes> {
        self.request.message.body.as_ref()
    }

    /// The `Idempotency-Key`, for methods that carry it.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.request.keys.idempotency_key.as_ref()
    }

    /// The `Request-Id`.
    #[must_use]
    pub fn request_id(&self) -> Uuid {
        self.request.keys.request_id
    }

    /// The caller's id of the call.
    #[must_use]
    pub fn call_id(&self) -> Option<&CallId> {
        self.request.call_id.as_ref()
    }

    /// When it was prepared, by the agent's clock. Merchants keep idempotency keys for 24 hours.
    #[must_use]
    pub fn created(&self) -> jiff::Timestamp {
        self.request.created
    }

    /// The request as a `curl` command for a POSIX shell, with credentials, what hooks added and
    /// payment data hidden.
    #[must_use]
    pub fn to_curl(&self) -> String {
        self.curl(false)
    }

    /// The request as a `curl` command that sends exactly this, with all its secrets.
    #[must_use]
    pub fn to_curl_with_secrets(&self) -> String {
        self.curl(true)
    }

    fn curl(&self, secrets: bool) -> String {
        let mut parts = vec![format!(
            "curl -X {} {}",
            self.method(),
            quoted(self.url().as_str())
        )];
        for (name, value) in self.headers() {
            let value = match value.to_str() {
                Ok(value) if secrets || headers::is_public(name) => value,
                Ok(_) => REDACTED,
                Err(_) => "[not ASCII]",
            };
            parts.push(format!("-H {}", quoted(&format!("{name}: {value}"))));
        }
        if let Some(body) = self.body() {
            let text = if secrets {
                String::from_utf8_lossy(body).into_owned()
            } else {
                without_payment(body)
            };
            parts.push(format!("--data-raw {}", quoted(&text)));
        }
        parts.join(" \\\n  ")
    }
}

impl<E> fmt::Debug for Prepared<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HIDDEN: HeaderValue = HeaderValue::from_static(REDACTED);
        let mut headers = self.headers().clone();
        for (name, value) in self.headers() {
            if value.is_sensitive() || !headers::is_public(name) {
                headers.insert(name, HIDDEN);
            }
        }
        f.debug_struct("Prepared")
            .field("operation", &self.request.operation.id)
            .field("method", self.method())
            .field("url", &shown(self.url().as_str()))
            .field("headers", &headers)
            .field("body", &self.body().map(|body| Length(body.len())))
            .field("call_id", &self.call_id())
            .finish_non_exhaustive()
    }
}

const REDACTED: &str = "[redacted]";

/// A JSON body with what pays, and what proves a buyer's consent to pay, hidden.
fn without_payment(body: &[u8]) -> String {
    fn hide(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if matches!(
                        name.as_str(),
                        "payment" | "payment_data" | "credential" | "credentials" | "token" | "ap2"
                    ) {
                        *member = REDACTED.into();
                    } else {
                        hide(member);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(hide),
            _ => {}
        }
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(mut value) => {
            hide(&mut value);
            value.to_string()
        }
        Err(_) => format!("[{} bytes]", body.len()),
    }
}

/// One word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_what_pays() {
        let body = br#"{"line_items":[{"quantity":1,"credential":"SECRET"}],"payment":{"instruments":[{"token":"SECRET"}]},"x":{"ap2":{"checkout_mandate":"SECRET"}}}"#;
        assert_eq!(
            without_payment(body),
            r#"{"line_items":[{"credential":"[redacted]","quantity":1}],"payment":"[redacted]","x":{"ap2":"[redacted]"}}"#
                .replace(r#"{"credential":"[redacted]","quantity":1}"#, &ordered())
        );
        assert_eq!(without_payment(b"SECRET"), "[6 bytes]");
    }

    /// Whether maps keep their order is a feature of `serde_json` that others may switch on.
    fn ordered() -> String {
        serde_json::from_str::<Value>(r#"{"quantity":1,"credential":"[redacted]"}"#)
            .unwrap()
            .to_string()
    }

    #[test]
    fn quotes_for_a_shell() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
