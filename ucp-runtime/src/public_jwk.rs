//! A public key to publish, as a JWK (RFC 7517) that cannot hold a private member.

use crate::profile::PRIVATE;
use crate::signatures::PublicKey;
use crate::wire::{Map, Value};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::convert::Infallible;
use std::fmt;

/// A public signature key as a JWK: type EC on the curve P-256 or P-384 (RFC 7518 section 6.2), or
/// OKP on Ed25519 (RFC 8037). Every private member is refused, and so is every member that is not
/// known to be public.
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::public_jwk::{JwkError, PublicJwk};
///
/// let mut jwk = json!({
///     "kid": "2026-1", "kty": "OKP", "crv": "Ed25519", "use": "sig",
///     "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
/// });
/// assert_eq!(PublicJwk::new(jwk.clone())?.kid(), "2026-1");
/// jwk["d"] = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A".into();
/// assert_eq!(PublicJwk::new(jwk), Err(JwkError::Private { member: "d" }));
/// # Ok::<(), JwkError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PublicJwk {
    kid: String,
    members: Map,
}

/// Why a JWK cannot be published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JwkError {
    /// It is not a JSON object.
    #[error("a key is not a JSON object: give a JWK")]
    NotObject,
    /// It has a private member: whoever reads the profile could sign with it.
    #[error("a key has the private member `{member}`: give its public half alone")]
    Private {
        /// The member.
        member: &'static str,
    },
    /// It has a member that is not known to be public.
    #[error("a key has the member `{member}`, which is not known to be public: leave it out")]
    Unknown {
        /// The member.
        member: String,
    },
    /// A member is missing or wrong.
    #[error("the member `{member}` of a key {problem}")]
    Member {
        /// The member.
        member: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two keys have one id, so that a signature could not tell which it is from.
    #[error("two keys have the id `{kid}`: give each its own")]
    Duplicate {
        /// The id.
        kid: String,
    },
}

impl From<Infallible> for JwkError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Curve, key type, algorithm, and how many bytes a coordinate has.
const CURVES: [(&str, &str, &str, usize); 3] = [
    ("P-256", "EC", "ES256", 32),
    ("P-384", "EC", "ES384", 48),
    ("Ed25519", "OKP", "EdDSA", 32),
];

/// Members that say nothing secret: those of RFC 7517 section 4, of EC and OKP keys, and the times of
/// a key's validity.
const PUBLIC: [&str; 14] = [
    "kid", "kty", "crv", "x", "y", "use", "alg", "key_ops", "x5u", "x5c", "x5t", "x5t#S256", "nbf",
    "exp",
];

impl PublicJwk {
    /// Checks a JWK.
    ///
    /// # Errors
    ///
    /// [`JwkError`] for what must not or cannot be published.
    pub fn new(jwk: Value) -> Result<Self, JwkError> {
        let Value::Object(members) = jwk else {
            return Err(JwkError::NotObject);
        };
        if let Some(member) = PRIVATE.into_iter().find(|it| members.contains_key(*it)) {
            return Err(JwkError::Private { member });
        }
        if let Some(member) = members.keys().find(|it| !PUBLIC.contains(&it.as_str())) {
            let member = member.clone();
            return Err(JwkError::Unknown { member });
        }
        let wrong = |member, problem| JwkError::Member { member, problem };
        let text = |member| match members.get(member) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.as_str()),
            _ => Err(wrong(member, "is not a string, or missing")),
        };
        let (kid, kty, crv) = (text("kid")?, text("kty")?, text("crv")?);
        let Some((_, of, algorithm, length)) = CURVES.iter().find(|(name, ..)| *name == crv) else {
            return Err(wrong("crv", "is none of P-256, P-384, Ed25519"));
        };
        if kty != *of {
            return Err(wrong("kty", "does not go with its curve"));
        }
        let coordinates: &[_] = if kty == "EC" { &["x", "y"] } else { &["x"] };
        for member in coordinates {
            let decoded = URL_SAFE_NO_PAD.decode(text(member)?);
            if decoded.map(|bytes| bytes.len()) != Ok(*length) {
                return Err(wrong(member, "is not base64url of its curve's length"));
            }
        }
        if members.contains_key("alg") && text("alg")? != *algorithm {
            return Err(wrong("alg", "does not go with its curve"));
        }
        if members.contains_key("use") && text("use")? != "sig" {
            return Err(wrong("use", "is not `sig`"));
        }
        if let Some(operations) = members.get("key_ops")
            && *operations != serde_json::json!(["verify"])
        {
            return Err(wrong("key_ops", "is not [\"verify\"]"));
        }
        Ok(Self {
            kid: kid.to_owned(),
            members,
        })
    }

    /// The id by which signatures name it.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The whole JWK.
    #[must_use]
    pub fn members(&self) -> &Map {
        &self.members
    }
}

impl TryFrom<Value> for PublicJwk {
    type Error = JwkError;

    fn try_from(jwk: Value) -> Result<Self, JwkError> {
        Self::new(jwk)
    }
}

impl TryFrom<&PublicKey> for PublicJwk {
    type Error = JwkError;

    fn try_from(key: &PublicKey) -> Result<Self, JwkError> {
        Self::new(Value::Object(key.to_jwk()))
    }
}

impl fmt::Debug for PublicJwk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let crv = self.members.get("crv").and_then(Value::as_str);
        f.debug_struct("PublicJwk")
            .field("kid", &self.kid)
            .field("crv", &crv.unwrap_or_default())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(changes: Value) -> Value {
        let mut jwk = json!({
            "kid": "k", "kty": "EC", "crv": "P-256",
            "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
        });
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => jwk.as_object_mut().unwrap().remove(name),
                value => jwk
                    .as_object_mut()
                    .unwrap()
                    .insert(name.clone(), value.clone()),
            };
        }
        jwk
    }

    #[test]
    fn takes_the_public_half_of_each_kind_of_key() {
        use crate::signatures::{Algorithm, SigningKey};
        for (algorithm, bytes) in [
            (Algorithm::Es256, &[7; 32][..]),
            (Algorithm::Es384, &[7; 48]),
            (Algorithm::Ed25519, &[7; 32]),
        ] {
            let key = SigningKey::from_scalar(algorithm, bytes).unwrap();
            let public = key.public_key();
            let jwk = PublicJwk::try_from(public).unwrap();
            assert_eq!(jwk.kid(), public.thumbprint());
            assert_eq!(*jwk.members(), public.to_jwk());
        }
    }

    #[test]
    fn takes_what_verifiers_take() {
        let p384 = "A".repeat(64);
        for jwk in [
            key(json!({})),
            key(json!({"use": "sig", "alg": "ES256", "key_ops": ["verify"], "nbf": 1})),
            key(json!({"crv": "P-384", "x": p384, "y": p384, "alg": "ES384"})),
            key(json!({"kty": "OKP", "crv": "Ed25519", "y": null, "alg": "EdDSA"})),
        ] {
            let taken = PublicJwk::new(jwk.clone()).unwrap();
            assert_eq!(Value::Object(taken.members().clone()), jwk);
            assert_eq!(taken.kid(), "k");
        }
    }

    #[test]
    fn refuses_every_private_member() {
        for member in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
            for value in [json!("SECRET"), json!(""), json!([]), json!(false)] {
                let refused = PublicJwk::new(key(json!({ member: value }))).unwrap_err();
                assert_eq!(refused, JwkError::Private { member });
                assert!(!format!("{refused} {refused:?}").contains("SECRET"));
            }
        }
        let unknown = PublicJwk::new(key(json!({"priv": "SECRET"}))).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "a key has the member `priv`, which is not known to be public: leave it out"
        );
    }

    #[test]
    fn says_what_is_wrong() {
        for (jwk, text) in [
            (json!("k"), "a key is not a JSON object: give a JWK"),
            (
                key(json!({"kid": null})),
                "the member `kid` of a key is not a string, or missing",
            ),
            (
                key(json!({"kid": ""})),
                "the member `kid` of a key is not a string, or missing",
            ),
            (
                key(json!({"crv": "P-521"})),
                "the member `crv` of a key is none of P-256, P-384, Ed25519",
            ),
            (
                key(json!({"kty": "OKP"})),
                "the member `kty` of a key does not go with its curve",
            ),
            (
                key(json!({"y": null})),
                "the member `y` of a key is not a string, or missing",
            ),
            (
                key(json!({"x": "AQAB"})),
                "the member `x` of a key is not base64url of its curve's length",
            ),
            (
                key(json!({"x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4="})),
                "the member `x` of a key is not base64url of its curve's length",
            ),
            (
                key(json!({"alg": "ES384"})),
                "the member `alg` of a key does not go with its curve",
            ),
            (
                key(json!({"use": "enc"})),
                "the member `use` of a key is not `sig`",
            ),
            (
                key(json!({"key_ops": ["sign"]})),
                "the member `key_ops` of a key is not [\"verify\"]",
            ),
        ] {
            assert_eq!(PublicJwk::new(jwk).unwrap_err().to_string(), text);
        }
    }
}
