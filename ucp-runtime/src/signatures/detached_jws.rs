//! The webhooks of January 2026 (releases up to 2026-01-23): `Request-Signature` holds a detached JWS
//! (RFC 7515 appendix F) over the body alone, with `b64: false` as RFC 7797 has it.

use super::error::shown;
use super::fields::REQUEST_SIGNATURE;
use super::key::{usable, verifying};
use super::{Algorithm, PublicKey, Reason, Rejected, SignError, Signer};
use crate::profile::PublishedKeys;
use crate::wire::Map;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

/// How long a detached JWS may be, in bytes.
const LENGTH_LIMIT: usize = 8 * 1024;

/// What a detached JWS that holds says. It covers the body and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedBody {
    /// The id of the key.
    pub key_id: String,
    /// The key's algorithm.
    pub algorithm: Algorithm,
}

/// The value of `Request-Signature` for a body.
///
/// # Errors
///
/// [`SignError`] when the signer fails.
///
/// ```
/// use ucp_runtime::http::HeaderMap;
/// use ucp_runtime::profile::PublishedKeys;
/// use ucp_runtime::serde_json::json;
/// use ucp_runtime::signatures::{Algorithm, SigningKey, detached_jws};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32])?.with_id("merchant-1")?;
/// let published = PublishedKeys::from_jwk_set(&json!({ "keys": [key.public_key().to_jwk()] }));
///
/// let mut headers = HeaderMap::new();
/// headers.insert("request-signature", detached_jws::sign(&key, b"{}").await?);
/// assert_eq!(detached_jws::verify(&headers, b"{}", &published)?.key_id, "merchant-1");
/// assert!(detached_jws::verify(&headers, b"{ }", &published).is_err());
/// # Ok(())
/// # }
/// ```
pub async fn sign(signer: &dyn Signer, body: &[u8]) -> Result<HeaderValue, SignError> {
    let key = signer.public_key();
    let algorithm = key.algorithm();
    let header = json!({
        "alg": algorithm.jose_name(),
        "kid": key.id(),
        "b64": false,
        "crit": ["b64"],
    });
    let header = URL_SAFE_NO_PAD.encode(header.to_string());
    let signature = super::sign::checked(signer, &signing_input(&header, body)).await?;
    let value = format!("{header}..{}", URL_SAFE_NO_PAD.encode(signature));
    HeaderValue::try_from(value).map_err(|_| SignError::KeyId)
}

/// Verifies the `Request-Signature` of a webhook: exactly one, of ES256, ES384 or EdDSA, by a
/// published key. With `b64: false`, which `crit` must then list, the body is signed as it is, else in
/// base64url. Other extensions in `crit` are refused.
///
/// # Errors
///
/// [`Rejected`] when it does not hold.
pub fn verify(
    headers: &HeaderMap,
    body: &[u8],
    keys: &PublishedKeys,
) -> Result<VerifiedBody, Rejected> {
    let mut values = headers.get_all(REQUEST_SIGNATURE).iter();
    let Some(value) = values.next() else {
        return Err(Rejected::of(Reason::Unsigned));
    };
    if values.next().is_some() {
        return Err(Rejected::of(Reason::Repeated {
            header: REQUEST_SIGNATURE,
        }));
    }
    let jws = Jws::read(value).map_err(Rejected::of)?;
    jws.verify(body, keys).map_err(|reason| {
        let key_id = jws.key_id().map(ToOwned::to_owned);
        Rejected {
            unknown_key_id: key_id.clone().filter(|_| reason == Reason::UnknownKey),
            key_id,
            ..Rejected::of(reason)
        }
    })
}

/// Header, dot, payload (RFC 7515 section 5.1 as RFC 7797 section 3 changes it).
fn signing_input(header: &str, payload: &[u8]) -> Vec<u8> {
    [header.as_bytes(), b".", payload].concat()
}

struct Jws<'v> {
    encoded: &'v str,
    header: Map,
    signature: Vec<u8>,
}

impl<'v> Jws<'v> {
    fn read(value: &'v HeaderValue) -> Result<Self, Reason> {
        if value.len() > LENGTH_LIMIT {
            return Err(Reason::TooMuch {
                what: "the bytes of Request-Signature",
                limit: LENGTH_LIMIT,
            });
        }
        Self::parse(value).ok_or(Reason::Malformed {
            header: REQUEST_SIGNATURE,
        })
    }

    fn parse(value: &'v HeaderValue) -> Option<Self> {
        // The payload's place is empty: it is detached.
        let (encoded, signature) = value.to_str().ok()?.trim().split_once("..")?;
        let header = URL_SAFE_NO_PAD.decode(encoded).ok()?;
        Some(Self {
            encoded,
            header: serde_json::from_slice(&header).ok()?,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
        })
    }

    fn key_id(&self) -> Option<&str> {
        self.header.get("kid")?.as_str()
    }

    /// Whether the payload is signed in base64url.
    fn encodes(&self) -> Result<bool, Reason> {
        let encodes = match self.header.get("b64") {
            None => true,
            Some(Value::Bool(encodes)) => *encodes,
            Some(_) => return Err(Reason::Parameter { name: "b64" }),
        };
        let critical = match self.header.get("crit") {
            None => false,
            // `b64` is the one extension that is understood here; the list is never empty.
            Some(Value::Array(names)) => {
                if names.is_empty() || names.iter().any(|name| name != "b64") {
                    return Err(Reason::Parameter { name: "crit" });
                }
                true
            }
            Some(_) => return Err(Reason::Parameter { name: "crit" }),
        };
        // RFC 7797 section 6: who does not know `b64` must be made to refuse. RFC 7515 section 4.1.11:
        // what is listed is there.
        if critical != self.header.contains_key("b64") && (critical || !encodes) {
            return Err(Reason::Parameter { name: "crit" });
        }
        Ok(encodes)
    }

    fn verify(&self, body: &[u8], keys: &PublishedKeys) -> Result<VerifiedBody, Reason> {
        let encodes = self.encodes()?;
        let algorithm = self.header.get("alg").and_then(Value::as_str);
        let algorithm = algorithm.ok_or(Reason::Parameter { name: "alg" })?;
        if Algorithm::from_jose(algorithm).is_none() {
            // `none` and the symmetric ones among them.
            return Err(Reason::UnsupportedKey {
                problem: format!("its `alg` is `{}`", shown(algorithm)),
            });
        }
        let id = match self.header.get("kid") {
            Some(Value::String(id)) => id,
            Some(_) => return Err(Reason::Parameter { name: "kid" }),
            None => return Err(Reason::NoKeyId),
        };
        let agrees = |key: &PublicKey| match Algorithm::from_jose(algorithm) {
            Some(algorithm) if algorithm == key.algorithm() => Ok(()),
            _ => Err(Reason::AlgorithmParameter),
        };
        let keys = usable(keys, id, agrees)?;
        let message = match encodes {
            true => signing_input(self.encoded, URL_SAFE_NO_PAD.encode(body).as_bytes()),
            false => signing_input(self.encoded, body),
        };
        let key = verifying(&keys, &message, &self.signature)?;
        Ok(VerifiedBody {
            key_id: id.clone(),
            algorithm: key.algorithm(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::PublishedKeys;
    use crate::signatures::{Code, SigningKey};

    const BODY: &[u8] = br#"{"id":"order_1"}"#;

    fn key(algorithm: Algorithm, id: &str) -> SigningKey {
        let scalar = [7; 48];
        let length = if algorithm == Algorithm::Es384 {
            48
        } else {
            32
        };
        let key = SigningKey::from_scalar(algorithm, &scalar[..length]).unwrap();
        key.with_id(id).unwrap()
    }

    fn published(keys: &[&SigningKey]) -> PublishedKeys {
        let keys: Vec<Map> = keys.iter().map(|key| key.public_key().to_jwk()).collect();
        PublishedKeys::from_jwk_set(&json!({ "keys": keys }))
    }

    fn jws(key: &SigningKey, header: &Value, payload: &[u8]) -> HeaderMap {
        let header = URL_SAFE_NO_PAD.encode(header.to_string());
        let signature = key.sign_now(&signing_input(&header, payload)).unwrap();
        let value = format!("{header}..{}", URL_SAFE_NO_PAD.encode(signature));
        HeaderMap::from_iter([(REQUEST_SIGNATURE, value.try_into().unwrap())])
    }

    #[tokio::test]
    async fn every_algorithm_signs_and_verifies() {
        for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::Ed25519] {
            let key = key(algorithm, "k");
            let value = sign(&key, BODY).await.unwrap();
            let headers = HeaderMap::from_iter([(REQUEST_SIGNATURE, value)]);
            let keys = published(&[&key]);
            assert_eq!(
                verify(&headers, BODY, &keys),
                Ok(VerifiedBody {
                    key_id: "k".to_owned(),
                    algorithm
                })
            );
            let rejected = verify(&headers, b"{}", &keys).unwrap_err();
            assert_eq!(rejected.reason, Reason::Value);
            assert_eq!(rejected.key_id.as_deref(), Some("k"));
        }
    }

    #[test]
    fn the_header_decides_how_the_body_is_signed() {
        let key = key(Algorithm::Es256, "k");
        let keys = published(&[&key]);
        let encoded = URL_SAFE_NO_PAD.encode(BODY);
        let detached = json!({ "alg": "ES256", "kid": "k", "b64": false, "crit": ["b64"] });
        let attached = json!({ "alg": "ES256", "kid": "k" });
        let explicit = json!({ "alg": "ES256", "kid": "k", "b64": true, "crit": ["b64"] });
        for (header, payload, holds) in [
            (&detached, BODY, true),
            (&detached, encoded.as_bytes(), false),
            (&attached, encoded.as_bytes(), true),
            (&attached, BODY, false),
            (&explicit, encoded.as_bytes(), true),
        ] {
            let verified = verify(&jws(&key, header, payload), BODY, &keys);
            assert_eq!(verified.is_ok(), holds, "{header}");
        }
    }

    #[test]
    fn what_is_refused() {
        let key = key(Algorithm::Es256, "k");
        let other = self::key(Algorithm::Es384, "other");
        let keys = published(&[&key, &other]);
        let refused = |header: Value| {
            let headers = jws(&key, &header, BODY);
            verify(&headers, BODY, &keys).unwrap_err()
        };
        let crit = Reason::Parameter { name: "crit" };
        for (header, reason) in [
            (
                json!({ "alg": "ES256", "kid": "k", "b64": false }),
                crit.clone(),
            ),
            (
                json!({ "alg": "ES256", "kid": "k", "crit": ["b64"] }),
                crit.clone(),
            ),
            (
                json!({ "alg": "ES256", "kid": "k", "crit": [] }),
                crit.clone(),
            ),
            (
                json!({ "alg": "ES256", "kid": "k", "b64": false, "crit": ["b64", "exp"] }),
                crit,
            ),
            (
                json!({ "alg": "ES256", "kid": "k", "b64": "no", "crit": ["b64"] }),
                Reason::Parameter { name: "b64" },
            ),
            (
                json!({ "alg": "ES256", "kid": 1 }),
                Reason::Parameter { name: "kid" },
            ),
            (json!({ "kid": "k" }), Reason::Parameter { name: "alg" }),
            (json!({ "alg": "ES256" }), Reason::NoKeyId),
            (json!({ "alg": "ES256", "kid": "gone" }), Reason::UnknownKey),
            (
                json!({ "alg": "ES384", "kid": "k" }),
                Reason::AlgorithmParameter,
            ),
        ] {
            let rejected = refused(header.clone());
            // Only of a key that is not published could a newer profile know more.
            let unknown = (reason == Reason::UnknownKey).then_some("gone");
            assert_eq!(rejected.unknown_key_id.as_deref(), unknown, "{header}");
            assert_eq!(rejected.reason, reason, "{header}");
        }
        for alg in ["none", "HS256", "RS256", ""] {
            let rejected = refused(json!({ "alg": alg, "kid": "k" }));
            assert_eq!(rejected.code(), Code::AlgorithmUnsupported, "{alg}");
        }
    }

    #[test]
    fn what_is_no_detached_jws() {
        let keys = published(&[]);
        let mut headers = HeaderMap::new();
        assert_eq!(
            verify(&headers, BODY, &keys).unwrap_err().reason,
            Reason::Unsigned
        );
        let long = format!("{}..AA", "A".repeat(LENGTH_LIMIT));
        for value in [
            "test",
            "",
            "e30.e30.AA",
            "e30..A+",
            "e30=..AA",
            "W10..AA",
            "AA..AA",
            &long,
        ] {
            headers.insert(REQUEST_SIGNATURE, value.parse().unwrap());
            let code = verify(&headers, BODY, &keys).unwrap_err().code();
            assert_eq!(code, Code::SignatureInvalid, "{value}");
        }
        // As long as it may be, and longer: 8 KiB.
        for (length, too_long) in [(8192, false), (8193, true)] {
            let value = format!("{}..AA", "A".repeat(length - 4));
            headers.insert(REQUEST_SIGNATURE, value.parse().unwrap());
            let reason = verify(&headers, BODY, &keys).unwrap_err().reason;
            let is_too_much = matches!(reason, Reason::TooMuch { .. });
            assert_eq!(is_too_much, too_long, "{reason:?}");
        }
        headers.append(REQUEST_SIGNATURE, HeaderValue::from_static("e30..AA"));
        let reason = verify(&headers, BODY, &keys).unwrap_err().reason;
        assert!(matches!(reason, Reason::Repeated { .. }), "{reason:?}");
    }
}
