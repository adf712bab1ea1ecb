//! A request that is ready to be sent: to look at, to print, to store, to send.

use crate::error::{Error, Length, shown};
use crate::execute::Message;
use crate::headers;
use crate::ids::{CallId, IdempotencyKey, Keys};
use crate::merchant::Merchant;
use crate::operation::{Answers, Operation};
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

impl<E: Answers> Prepared<E> {
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
    pub(crate) fn new(request: Request) -> Self {
        Self {
            request,
            endpoint: PhantomData,
        }
    }

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

    /// The request as it may be shown: credentials, what hooks added and payment data are hidden,
    /// save those that are asked for by name: a header, or a member of the body at any depth. What
    /// is hidden inside of such a member is asked for by its own name.
    #[must_use]
    pub fn shown(&self, reveal: &[impl AsRef<str>]) -> Shown {
        self.show(&|name| (reveal.iter()).any(|of| of.as_ref().eq_ignore_ascii_case(name)))
    }

    /// The request as a `curl` command for a POSIX shell, with credentials, what hooks added and
    /// payment data hidden.
    #[must_use]
    pub fn to_curl(&self) -> String {
        self.curl(self.show(&|_| false))
    }

    /// The request as a `curl` command that sends exactly this, with all its secrets.
    #[must_use]
    pub fn to_curl_with_secrets(&self) -> String {
        self.curl(self.show(&|_| true))
    }

    fn show(&self, reveals: &dyn Fn(&str) -> bool) -> Shown {
        let headers = self.headers().iter().map(|(name, value)| {
            let text = match value.to_str() {
                Ok(text) if headers::is_public(name) || reveals(name.as_str()) => text,
                Ok(_) => REDACTED,
                Err(_) => "[not ASCII]",
            };
            (name.clone(), text.to_owned())
        });
        Shown {
            headers: headers.collect(),
            body: self.body().map(|body| without_payment(body, reveals)),
        }
    }

    fn curl(&self, shown: Shown) -> String {
        let mut parts = vec![format!(
            "curl -X {} {}",
            self.method(),
            quoted(self.url().as_str())
        )];
        for (name, value) in shown.headers {
            parts.push(format!("-H {}", quoted(&format!("{name}: {value}"))));
        }
        if let Some(body) = shown.body {
            parts.push(format!("--data-raw {}", quoted(&body)));
        }
        parts.join(" \\\n  ")
    }
}

/// A request as it may be shown: see [`Prepared::shown`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shown {
    /// The headers, in the order in which they are sent.
    pub headers: Vec<(HeaderName, String)>,
    /// The body: exactly as it is sent, unless something in it is hidden.
    pub body: Option<String>,
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
fn without_payment(body: &[u8], reveals: &dyn Fn(&str) -> bool) -> String {
    /// Whether anything was hidden.
    fn hide(value: &mut Value, reveals: &dyn Fn(&str) -> bool) -> bool {
        let mut hidden = false;
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if matches!(
                        name.as_str(),
                        "payment" | "payment_data" | "credential" | "credentials" | "token" | "ap2"
                    ) && !reveals(name)
                    {
                        *member = REDACTED.into();
                        hidden = true;
                    } else {
                        hidden |= hide(member, reveals);
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    hidden |= hide(item, reveals);
                }
            }
            _ => {}
        }
        hidden
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(mut value) => {
            if hide(&mut value, reveals) {
                return value.to_string();
            }
        }
        Err(_) if reveals("body") => {}
        Err(_) => return format!("[{} bytes]", body.len()),
    }
    String::from_utf8_lossy(body).into_owned()
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
        let body = br#"{"line_items":[{"quantity":1}],"payment":{"instruments":[{"token":"SECRET"}]},"x":{"ap2":{"checkout_mandate":"SECRET"}}}"#;
        let all =
            r#"{"line_items":[{"quantity":1}],"payment":"[redacted]","x":{"ap2":"[redacted]"}}"#;
        assert_eq!(without_payment(body, &|_| false), all);
        let payment = r#"{"line_items":[{"quantity":1}],"payment":{"instruments":[{"token":"[redacted]"}]},"x":{"ap2":"[redacted]"}}"#;
        assert_eq!(without_payment(body, &|name| name == "payment"), payment);
        let exact = std::str::from_utf8(body).unwrap();
        assert_eq!(without_payment(body, &|_| true), exact);

        assert_eq!(without_payment(b"SECRET", &|_| false), "[6 bytes]");
        assert_eq!(without_payment(b"SECRET", &|_| true), "SECRET");
        let spaced = br#"{ "b": 1, "a": 2 }"#;
        assert_eq!(without_payment(spaced, &|_| false).as_bytes(), spaced);
    }

    #[test]
    fn quotes_for_a_shell() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
