//! `Content-Digest` (RFC 9530): SHA-256 over the bytes that are sent.

use super::Reason;
use super::fields::{CONTENT_DIGEST, Lines, joined};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue};
use sfv::{BareItem, Dictionary, ListEntry, Parser};
use sha2::{Digest as _, Sha256};

/// The value of `Content-Digest` for a body: its SHA-256, in padded base64.
///
/// ```
/// use ucp_runtime::signatures::content_digest;
///
/// assert_eq!(
///     content_digest(br#"{"hello": "world"}"#),
///     "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
/// );
/// ```
#[must_use]
pub fn content_digest(body: &[u8]) -> HeaderValue {
    let text = text(body);
    // It is ASCII.
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

pub(super) fn text(body: &[u8]) -> String {
    let mut text = String::with_capacity(56);
    text.push_str("sha-256=:");
    STANDARD.encode_string(Sha256::digest(body), &mut text);
    text.push(':');
    text
}

/// Holds a body against `Content-Digest`. It is read as a dictionary whose `sha-256` counts; other
/// algorithms are not looked at. Padding may be missing.
///
/// # Errors
///
/// [`Reason::NoDigest`] when there is no such member, [`Reason::Digest`] when the body has another.
///
/// ```
/// use ucp_runtime::http::HeaderMap;
/// use ucp_runtime::signatures::{Reason, check_content_digest, content_digest};
///
/// let mut headers = HeaderMap::new();
/// headers.insert("content-digest", content_digest(b"{}"));
/// assert_eq!(check_content_digest(&headers, b"{}"), Ok(()));
/// assert_eq!(check_content_digest(&headers, b"{ }"), Err(Reason::Digest));
/// ```
pub fn check_content_digest(headers: &HeaderMap, body: &[u8]) -> Result<(), Reason> {
    let refuse = |problem| Reason::NoDigest { problem };
    let text = match joined(headers, &CONTENT_DIGEST) {
        Lines::Absent => return Err(refuse("there is none")),
        Lines::NotAscii => return Err(refuse("it is not a dictionary")),
        Lines::Text(text) => text,
    };
    let members: Dictionary = Parser::new(text.as_ref())
        .parse()
        .map_err(|_| refuse("it is not a dictionary"))?;
    let digest = match members.get("sha-256") {
        Some(ListEntry::Item(item)) => match &item.bare_item {
            BareItem::ByteSequence(bytes) => bytes,
            _ => return Err(refuse("its `sha-256` is not a byte sequence")),
        },
        Some(ListEntry::InnerList(_)) => {
            return Err(refuse("its `sha-256` is not a byte sequence"));
        }
        None => return Err(refuse("it has no `sha-256`")),
    };
    // A digest of what was received is no secret, so the comparison need not take constant time.
    if digest.as_slice() == Sha256::digest(body).as_slice() {
        Ok(())
    } else {
        Err(Reason::Digest)
    }
}
