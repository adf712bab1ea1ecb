//! Ids that survive a replay: the same call, in any process, carries the same keys.
//!
//! A key is the first 16 bytes of `HMAC-SHA-256(secret, label ‖ agent profile ‖ merchant origin ‖
//! operationId ‖ call id)`, each part preceded by its length in bytes as a big-endian `u32`, with
//! the version bits of a UUIDv4 (pseudo-random in the sense of RFC 9562 section 5.4). The labels
//! are `ucp/idempotency-key/1` and `ucp/request-id/1`.
//!
//! With the secret `000102…1f` (32 bytes), the profile `https://agent.example/.well-known/ucp` and
//! the origin `https://shop.example`:
//!
//! | operation | call id | `Idempotency-Key` | `Request-Id` |
//! |---|---|---|---|
//! | `create_checkout` | `conv-1/turn-7/call-3` | `abcd3b5e-e6e2-49dc-aab9-83f7463bbd9d` | `df5c8e28-531e-4ad4-9f27-22179e3aad15` |
//! | `complete_checkout` | `conv-1/turn-7/call-3` | `58679211-101f-4b44-9f94-eeb96cf6149b` | `5b0034b5-c118-4f7e-9644-ca036da212e8` |
//! | `create_checkout` | `("conv-1", "turn-7/call-3")` | `67f7abd1-8280-4e84-b398-dee6204c8a38` | `26236875-44be-482f-85e1-79ab3bed1763` |

use crate::clock::Randomness;
use crate::error::RequestError;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::fmt::Write as _;
use uuid::Uuid;

pub(crate) const IDEMPOTENCY_KEY: &str = "ucp/idempotency-key/1";
pub(crate) const REQUEST_ID: &str = "ucp/request-id/1";

/// What the caller calls one call: unique within the agent, for ever.
///
/// Make it of a stored random conversation id and the place of the call in the conversation; a
/// counter alone restarts at 1. A loop inside one call takes a suffix each. A changed body needs a
/// new call id.
///
/// A tuple joins its parts as netstrings, so that no two tuples make one id:
///
/// ```
/// use ucp_runtime::CallId;
///
/// let id = CallId::from(("conv-1", "turn-7/call-3"));
/// assert_eq!(id.as_str(), "6:conv-1,13:turn-7/call-3,");
/// assert_ne!(id, CallId::from(("conv-1,", "turn-7/call-3")));
/// assert_eq!(CallId::from("conv-1/turn-7").as_str(), "conv-1/turn-7");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallId(Box<str>);

impl CallId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn join(parts: &[&str]) -> Self {
        let mut text = String::new();
        for part in parts {
            // Writing to a `String` does not fail.
            let _ = write!(text, "{}:{part},", part.len());
        }
        Self(text.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CallId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for CallId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&String> for CallId {
    fn from(text: &String) -> Self {
        Self(text.as_str().into())
    }
}

impl<A: AsRef<str>, B: AsRef<str>> From<(A, B)> for CallId {
    fn from((a, b): (A, B)) -> Self {
        Self::join(&[a.as_ref(), b.as_ref()])
    }
}

impl<A: AsRef<str>, B: AsRef<str>, C: AsRef<str>> From<(A, B, C)> for CallId {
    fn from((a, b, c): (A, B, C)) -> Self {
        Self::join(&[a.as_ref(), b.as_ref(), c.as_ref()])
    }
}

/// The value of an `Idempotency-Key` header. The contract types it as a UUID, which
/// [`From<Uuid>`](From) gives; text of a caller's own is checked by [`TryFrom<&str>`](TryFrom) for
/// what a header can carry, and should have 128 bits of entropy.
///
/// ```
/// use ucp_runtime::IdempotencyKey;
/// let key = IdempotencyKey::try_from("550e8400-e29b-41d4-a716-446655440000")?;
/// assert_eq!(key.as_str(), "550e8400-e29b-41d4-a716-446655440000");
/// assert!(IdempotencyKey::try_from("two words").is_err());
/// # Ok::<(), ucp_runtime::RequestError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(Box<str>);

impl IdempotencyKey {
    /// The key as sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Uuid> for IdempotencyKey {
    fn from(uuid: Uuid) -> Self {
        Self(uuid.to_string().into())
    }
}

impl TryFrom<&str> for IdempotencyKey {
    type Error = RequestError;

    fn try_from(text: &str) -> Result<Self, RequestError> {
        if (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.into()))
        } else {
            Err(RequestError::IdempotencyKey)
        }
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = RequestError;

    fn try_from(text: String) -> Result<Self, RequestError> {
        Self::try_from(text.as_str())
    }
}

// `TryFrom` of itself has no error; this lets a setter take all of these.
impl From<std::convert::Infallible> for RequestError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// The ids that one call carries, on every attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keys {
    /// The value of `Idempotency-Key`, for methods that carry it.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The value of `Request-Id`.
    pub request_id: Uuid,
}

/// A key derived from a call id.
pub(crate) fn derive(
    secret: &[u8],
    label: &str,
    profile: &str,
    origin: &str,
    operation: &str,
    call_id: &str,
) -> Option<Uuid> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    for part in [label, profile, origin, operation, call_id] {
        mac.update(&u32::try_from(part.len()).ok()?.to_be_bytes());
        mac.update(part.as_bytes());
    }
    let digest: [u8; 32] = mac.finalize().into_bytes().into();
    let (head, _) = digest.split_first_chunk::<16>()?;
    Some(version_4(*head))
}

/// A random key.
pub(crate) fn random(randomness: &dyn Randomness) -> Result<Uuid, RequestError> {
    let mut bytes = [0; 16];
    randomness
        .fill(&mut bytes)
        .map_err(|source| RequestError::Randomness { source })?;
    Ok(version_4(bytes))
}

fn version_4(bytes: [u8; 16]) -> Uuid {
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::BoxError;

    const PROFILE: &str = "https://agent.example/.well-known/ucp";
    const ORIGIN: &str = "https://shop.example";

    fn secret() -> Vec<u8> {
        (0..32).collect()
    }

    /// The values were computed with another implementation of HMAC.
    #[test]
    fn derives_the_documented_vectors() {
        for (operation, call_id, key, request_id) in [
            (
                "create_checkout",
                CallId::from("conv-1/turn-7/call-3"),
                "abcd3b5e-e6e2-49dc-aab9-83f7463bbd9d",
                "df5c8e28-531e-4ad4-9f27-22179e3aad15",
            ),
            (
                "complete_checkout",
                CallId::from("conv-1/turn-7/call-3"),
                "58679211-101f-4b44-9f94-eeb96cf6149b",
                "5b0034b5-c118-4f7e-9644-ca036da212e8",
            ),
            (
                "create_checkout",
                CallId::from(("conv-1", "turn-7/call-3")),
                "67f7abd1-8280-4e84-b398-dee6204c8a38",
                "26236875-44be-482f-85e1-79ab3bed1763",
            ),
            // The length prefix counts bytes, not characters.
            (
                "create_checkout",
                CallId::from("ключ"),
                "7a378822-d1b1-437e-bbb8-db97fcaccaf8",
                "7fdd27e3-1e70-42a0-9835-d32f0b5725c7",
            ),
        ] {
            let derive = |label| {
                derive(
                    &secret(),
                    label,
                    PROFILE,
                    ORIGIN,
                    operation,
                    call_id.as_str(),
                )
                .unwrap()
                .to_string()
            };
            assert_eq!(derive(IDEMPOTENCY_KEY), key);
            assert_eq!(derive(REQUEST_ID), request_id);
        }
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let derive =
            |origin, operation| derive(&secret(), REQUEST_ID, PROFILE, origin, operation, "1");
        assert_ne!(
            derive("https://shop.example", "x"),
            derive("https://shop.exampl", "ex")
        );
    }

    struct Ones;
    impl Randomness for Ones {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), BoxError> {
            bytes.fill(0xff);
            Ok(())
        }
    }

    #[test]
    fn random_ids_are_version_4() {
        assert_eq!(
            random(&Ones).unwrap().to_string(),
            "ffffffff-ffff-4fff-bfff-ffffffffffff"
        );
    }

    #[test]
    fn keys_fit_a_header() {
        for bad in ["", "a b", "a\r\nb", "é", &"x".repeat(256)] {
            assert!(IdempotencyKey::try_from(bad).is_err(), "{bad:?}");
        }
    }
}
