//! Signing requests and responses (RFC 9421 section 3.1; UCP signatures, "REST Binding").

use super::base::{
    Component, Head, Message, RequestHead, ResponseHead, authority, write_components, write_normal,
};
use super::fields::{
    CONTENT_DIGEST, IDEMPOTENCY_KEY, SIGNATURE, SIGNATURE_AGENT, SIGNATURE_INPUT, UCP_AGENT, line,
};
use super::web_bot_auth::WebBotAuth;
use super::{SignError, Signer, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use jiff::Timestamp;
use sfv::{KeyRef, StringRef};
use std::fmt::{self, Write as _};

/// How messages are signed.
///
/// A request's signature covers, in this order: `@method`, `@authority`, `@path`, `@query` when there
/// is one, `ucp-agent`, `signature-agent;key="<label>"` and `idempotency-key` when they are sent,
/// `content-digest` and `content-type` when there is a body. A response's covers `@status`, and those
/// two when there is a body. The parameters are `keyid` and, when asked for, `created`; never `alg`,
/// which follows from the key.
///
/// ```
/// use ucp_runtime::http::Request;
/// use ucp_runtime::signatures::{Algorithm, Signing, SigningKey};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32])?.with_id("agent-1")?;
/// let mut request = Request::post("https://shop.example/checkout-sessions")
///     .header("ucp-agent", r#"profile="https://agent.example/.well-known/ucp""#)
///     .header("content-type", "application/json")
///     .body(r#"{"line_items":[]}"#)?;
///
/// let signed = Signing::with(&key).request(&request, request.body().as_bytes()).await?;
/// assert_eq!(
///     signed.headers["signature-input"],
///     r#"sig1=("@method" "@authority" "@path" "ucp-agent" "content-digest" "content-type");keyid="agent-1""#,
/// );
/// signed.apply(request.headers_mut());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Signing<'k> {
    signer: &'k dyn Signer,
    label: &'k str,
    created: Option<i64>,
    also: Vec<HeaderName>,
    web_bot_auth: Option<WebBotAuth>,
}

impl<'k> Signing<'k> {
    /// Signs with a key, under the label `sig1`.
    pub fn with(signer: &'k dyn Signer) -> Self {
        Self {
            signer,
            label: "sig1",
            created: None,
            also: Vec::new(),
            web_bot_auth: None,
        }
    }

    /// Says when the signature was made, in whole seconds.
    pub fn created(mut self, at: Timestamp) -> Self {
        self.created = Some(at.as_second());
        self
    }

    /// Covers a further header, after the others, on messages that have it: `webhook-id`, what a hook
    /// added.
    pub fn cover(mut self, name: HeaderName) -> Self {
        self.also.push(name);
        self
    }

    /// Sets the label.
    pub fn label(mut self, label: &'k str) -> Self {
        self.label = label;
        self
    }

    /// Signs requests in the shape of Web Bot Auth too (UCP signatures, "WBA Interop").
    pub fn web_bot_auth(mut self, shape: WebBotAuth) -> Self {
        self.web_bot_auth = Some(shape);
        self
    }

    /// Signs a request with the body that will be sent, byte for byte; an empty body is none.
    ///
    /// # Errors
    ///
    /// [`SignError`] when something that must be covered is not there, or the signer fails.
    pub async fn request<'m>(
        &self,
        head: impl Into<RequestHead<'m>>,
        body: &[u8],
    ) -> Result<Signed, SignError> {
        let head = head.into();
        self.unsigned_request(head, body)?.sign(self.signer).await
    }

    /// Signs a response with the body that will be sent, byte for byte; an empty body is none.
    ///
    /// # Errors
    ///
    /// [`SignError`] when something that must be covered is not there, or the signer fails.
    pub async fn response<'m>(
        &self,
        head: impl Into<ResponseHead<'m>>,
        body: &[u8],
    ) -> Result<Signed, SignError> {
        let head = head.into();
        self.unsigned_response(head, body)?.sign(self.signer).await
    }

    /// The base that [`request`](Self::request) would sign, to look at: nothing is signed.
    ///
    /// # Errors
    ///
    /// [`SignError`] when something that must be covered is not there.
    pub fn request_base<'m>(
        &self,
        head: impl Into<RequestHead<'m>>,
        body: &[u8],
    ) -> Result<String, SignError> {
        Ok(self.unsigned_request(head.into(), body)?.base)
    }

    fn unsigned_request(
        &self,
        head: RequestHead<'_>,
        body: &[u8],
    ) -> Result<Unsigned<'_>, SignError> {
        agree(head)?;
        let agent = self.web_bot_auth.as_ref();
        let agent = agent.map(|shape| shape.signature_agent(self.label));
        let sent = |name: &HeaderName| head.headers.contains_key(name);
        let mut covered = Vec::with_capacity(9 + self.also.len());
        covered.extend(["@method", "@authority", "@path"].map(Component::named));
        if head.uri.query().is_some() {
            covered.push(Component::named("@query"));
        }
        if sent(&UCP_AGENT) {
            covered.push(Component::named("ucp-agent"));
        }
        if agent.is_some() || sent(&SIGNATURE_AGENT) {
            covered.push(Component {
                name: "signature-agent",
                key: Some(self.label),
            });
        }
        if sent(&IDEMPOTENCY_KEY) {
            covered.push(Component::named("idempotency-key"));
        }
        self.unsigned(Head::Request(head), covered, body, agent)
    }

    fn unsigned_response(
        &self,
        head: ResponseHead<'_>,
        body: &[u8],
    ) -> Result<Unsigned<'_>, SignError> {
        if self.web_bot_auth.is_some() {
            return Err(SignError::Response);
        }
        let mut covered = Vec::with_capacity(3 + self.also.len());
        covered.push(Component::named("@status"));
        self.unsigned(Head::Response(head), covered, body, None)
    }

    fn unsigned<'s>(
        &'s self,
        head: Head<'_>,
        mut covered: Vec<Component<'s>>,
        body: &[u8],
        agent: Option<String>,
    ) -> Result<Unsigned<'s>, SignError> {
        if KeyRef::from_str(self.label).is_err() {
            return Err(SignError::Label);
        }
        self.check_key_id()?;
        let digest = (!body.is_empty()).then(|| digest::text(body));
        if digest.is_some() {
            if !head.headers().contains_key(header::CONTENT_TYPE) {
                return Err(SignError::NoContentType);
            }
            covered.extend(["content-digest", "content-type"].map(Component::named));
        }
        for name in &self.also {
            let component = Component::named(name.as_str());
            if head.headers().contains_key(name) && !covered.contains(&component) {
                covered.push(component);
            }
        }
        let message = Message {
            head,
            content_digest: digest.as_deref(),
            signature_agent: agent.as_deref(),
        };
        let (base, start) = message.base(&covered, |text| {
            write_components(&covered, text);
            self.write_parameters(text);
        })?;
        Ok(Unsigned {
            label: self.label,
            base,
            start,
            digest,
            agent,
        })
    }

    fn check_key_id(&self) -> Result<(), SignError> {
        let key = self.signer.public_key();
        if self.web_bot_auth.is_some() {
            let thumbprint = key.thumbprint();
            if thumbprint != key.id() {
                return Err(SignError::NotThumbprint {
                    id: key.id().to_owned(),
                    thumbprint,
                });
            }
        }
        match StringRef::from_str(key.id()) {
            Ok(_) if !key.id().is_empty() => Ok(()),
            _ => Err(SignError::KeyId),
        }
    }

    fn write_parameters(&self, text: &mut String) {
        text.push_str(";keyid=\"");
        for character in self.signer.public_key().id().chars() {
            if matches!(character, '"' | '\\') {
                text.push('\\');
            }
            text.push(character);
        }
        text.push('"');
        // Writing into a string does not fail.
        let _ = match (&self.web_bot_auth, self.created) {
            (Some(shape), _) => shape.write_parameters(text),
            (None, Some(created)) => write!(text, ";created={created}"),
            (None, None) => Ok(()),
        };
    }
}

impl fmt::Debug for Signing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signing")
            .field("key", self.signer.public_key())
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// Refuses a `Host` that differs from the URL: the receiver would rebuild another base.
fn agree(head: RequestHead<'_>) -> Result<(), SignError> {
    let Some(host) = head.headers.get(header::HOST) else {
        return Ok(());
    };
    let (Some(host), Some(authority)) = (line(host), authority(head)) else {
        return Err(SignError::Host);
    };
    let normal = |authority| {
        let mut text = String::new();
        write_normal(authority, head.uri.scheme_str(), &mut text);
        text
    };
    match normal(host) == normal(authority) {
        true => Ok(()),
        false => Err(SignError::Host),
    }
}

/// The signature of a message, of the length that the algorithm has.
pub(super) async fn checked(signer: &dyn Signer, message: &[u8]) -> Result<Vec<u8>, SignError> {
    let algorithm = signer.public_key().algorithm();
    let signature = signer.sign(message).await.map_err(SignError::Signer)?;
    if signature.len() != algorithm.signature_len() {
        return Err(SignError::Length {
            algorithm,
            expected: algorithm.signature_len(),
            found: signature.len(),
        });
    }
    Ok(signature)
}

/// A base that is still to be signed.
struct Unsigned<'s> {
    label: &'s str,
    base: String,
    start: usize,
    digest: Option<String>,
    agent: Option<String>,
}

impl Unsigned<'_> {
    async fn sign(self, signer: &dyn Signer) -> Result<Signed, SignError> {
        let signature = checked(signer, self.base.as_bytes()).await?;
        let mut headers = HeaderMap::with_capacity(4);
        let mut set = |name, value: String| -> Result<(), SignError> {
            // All of it is printable ASCII by construction.
            let value = HeaderValue::try_from(value).map_err(|_| SignError::KeyId)?;
            headers.insert(name, value);
            Ok(())
        };
        if let Some(digest) = self.digest {
            set(CONTENT_DIGEST, digest)?;
        }
        if let Some(agent) = self.agent {
            set(SIGNATURE_AGENT, agent)?;
        }
        let input = self.base.get(self.start..).unwrap_or_default();
        set(SIGNATURE_INPUT, [self.label, "=", input].concat())?;
        let mut value = String::with_capacity(self.label.len() + 132);
        value.push_str(self.label);
        value.push_str("=:");
        STANDARD.encode_string(&signature, &mut value);
        value.push(':');
        set(SIGNATURE, value)?;
        Ok(Signed {
            headers,
            base: self.base,
        })
    }
}

/// What a signature adds to a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Signed {
    /// `Signature-Input` and `Signature`; `Content-Digest` when there is a body, `Signature-Agent` in
    /// the shape of Web Bot Auth. Each takes the place of what the message has under its name.
    pub headers: HeaderMap,
    /// The signature base (RFC 9421 section 2.5), to compare with what a verifier rebuilt.
    pub base: String,
}

impl Signed {
    /// Puts the headers into a message.
    pub fn apply(self, headers: &mut HeaderMap) {
        // A name stands once in what a signature adds.
        for (name, value) in self.headers {
            if let Some(name) = name {
                headers.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
