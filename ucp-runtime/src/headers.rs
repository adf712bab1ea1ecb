//! The headers that the runtime fills.

use crate::credentials::X_API_KEY;
use http::{HeaderName, Method, header};

pub(crate) const UCP_AGENT: HeaderName = HeaderName::from_static("ucp-agent");
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
pub(crate) const REQUEST_SIGNATURE: HeaderName = HeaderName::from_static("request-signature");
pub(crate) const SIGNATURE: HeaderName = HeaderName::from_static("signature");
pub(crate) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");

/// Whether only the runtime sets it. An operation may expose one as an argument.
pub(crate) fn is_managed(name: &HeaderName) -> bool {
    const OURS: [HeaderName; 11] = [
        UCP_AGENT,
        IDEMPOTENCY_KEY,
        REQUEST_ID,
        REQUEST_SIGNATURE,
        CONTENT_DIGEST,
        X_API_KEY,
        SIGNATURE,
        HeaderName::from_static("signature-input"),
        HeaderName::from_static("signature-agent"),
        header::USER_AGENT,
        header::AUTHORIZATION,
    ];
    OURS.contains(name) || *name == header::CONTENT_TYPE || name.as_str().starts_with("accept")
}

/// Whether it says who asks or which request it is, rather than how the answer should be: no model
/// sets it, whatever a client has as arguments.
pub(crate) fn is_identity(name: &HeaderName) -> bool {
    is_managed(name)
        && *name != header::CONTENT_TYPE
        && *name != header::USER_AGENT
        && !name.as_str().starts_with("accept")
}

/// Whether it frames the message: what another than the transport sets can split a request in two.
pub(crate) fn is_framing(name: &HeaderName) -> bool {
    [
        header::HOST,
        header::CONTENT_LENGTH,
        header::CONTENT_ENCODING,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
        header::EXPECT,
        header::TE,
        header::TRAILER,
        header::UPGRADE,
    ]
    .contains(name)
}

/// Whether a method changes state, and so carries an `Idempotency-Key`, declared or not.
pub(crate) fn carries_key(method: &Method) -> bool {
    [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(method)
}

/// Whether it carries a credential.
pub(crate) fn is_credential(name: &HeaderName) -> bool {
    *name == header::AUTHORIZATION || *name == X_API_KEY
}

/// Whether its value may be printed: the runtime's own, less those that authenticate. What a hook
/// added may be a secret of its own.
pub(crate) fn is_public(name: &HeaderName) -> bool {
    is_managed(name)
        && !is_credential(name)
        && *name != REQUEST_SIGNATURE
        && name.as_str() != "signature"
}
