//! Members of a JSON Web Key (RFC 7517), what it may be used for, and its thumbprint (RFC 7638).

use super::error::shown;
use super::{Algorithm, KeyError};
use crate::wire::Map;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The thumbprint of a public key (RFC 7638, for Ed25519 RFC 8037 appendix A.3): SHA-256 over the
/// members that make it, as base64url without padding. Other members do not matter.
///
/// `None` when a required member is missing or not a string, or the type is unknown.
///
/// ```
/// use ucp_runtime::serde_json::json;
/// use ucp_runtime::signatures::thumbprint;
///
/// let jwk = json!({
///     "kty": "OKP", "crv": "Ed25519", "kid": "any",
///     "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
/// });
/// assert_eq!(
///     thumbprint(jwk.as_object().unwrap()).unwrap(),
///     "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
/// );
/// ```
#[must_use]
pub fn thumbprint(jwk: &Map) -> Option<String> {
    let members: &[&str] = match jwk.get("kty")?.as_str()? {
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        "RSA" => &["e", "kty", "n"],
        _ => return None,
    };
    let mut hash = Sha256::new();
    for (index, name) in members.iter().enumerate() {
        let value = Value::from(jwk.get(*name)?.as_str()?);
        hash.update(if index == 0 { "{\"" } else { ",\"" });
        hash.update(name);
        hash.update("\":");
        hash.update(value.to_string());
    }
    hash.update("}");
    Some(URL_SAFE_NO_PAD.encode(hash.finalize()))
}

/// A member that must be a string.
pub(super) fn text<'j>(jwk: &'j Map, name: &'static str) -> Result<&'j str, KeyError> {
    let problem = match jwk.get(name) {
        Some(Value::String(text)) => return Ok(text),
        Some(_) => "is not a string",
        None => "is missing",
    };
    Err(KeyError::Member { name, problem })
}

/// The octets of a member: base64url without padding, of exactly this length (RFC 7518 section
/// 6.2.1.2 keeps leading zeros).
pub(super) fn octets<const N: usize>(
    text: &str,
    name: &'static str,
) -> Result<Zeroizing<[u8; N]>, KeyError> {
    let refuse = |problem| KeyError::Member { name, problem };
    if text.len() != (N * 8).div_ceil(6) {
        return Err(refuse("has the wrong length"));
    }
    // Decoding in place, so that no copy of a secret stays behind.
    let mut buffer = Zeroizing::new([0; 72]);
    let decoded = URL_SAFE_NO_PAD.decode_slice(text, buffer.as_mut_slice());
    match (decoded, buffer.first_chunk::<N>()) {
        // All of `N`, by the length of the text.
        (Ok(_), Some(octets)) => Ok(Zeroizing::new(*octets)),
        _ => Err(refuse("is not base64url without padding")),
    }
}

/// The algorithm that the type and curve make.
pub(super) fn algorithm(jwk: &Map) -> Result<Algorithm, KeyError> {
    let kty = text(jwk, "kty")?;
    let crv = jwk.get("crv").and_then(Value::as_str);
    match (kty, crv) {
        ("EC", Some("P-256")) => Ok(Algorithm::Es256),
        ("EC", Some("P-384")) => Ok(Algorithm::Es384),
        ("OKP", Some("Ed25519")) => Ok(Algorithm::Ed25519),
        ("EC" | "OKP", None) => {
            text(jwk, "crv").and(Err(KeyError::Unsupported { found: shown(kty) }))
        }
        (_, crv) => Err(KeyError::Unsupported {
            found: match crv {
                Some(crv) => format!("{} {}", shown(kty), shown(crv)),
                None => shown(kty),
            },
        }),
    }
}

/// Whether `use` and `key_ops` let the key do what it is wanted for, `sign` or `verify`.
pub(super) fn allows(jwk: &Map, wanted: &'static str) -> Result<(), KeyError> {
    if jwk.contains_key("use") {
        let found = text(jwk, "use")?;
        if found != "sig" {
            return Err(KeyError::Use {
                found: shown(found),
            });
        }
    }
    if let Some(operations) = jwk.get("key_ops") {
        let operations = operations.as_array().ok_or(KeyError::Member {
            name: "key_ops",
            problem: "is not a list",
        })?;
        if !operations.iter().any(|operation| operation == wanted) {
            return Err(KeyError::Operations { wanted });
        }
    }
    Ok(())
}

/// Whether `alg`, where there is one, names the algorithm of the type and curve.
pub(super) fn agrees(jwk: &Map, algorithm: Algorithm) -> Result<(), KeyError> {
    if jwk.contains_key("alg") {
        let found = text(jwk, "alg")?;
        if !algorithm.jose_names().contains(&found) {
            return Err(KeyError::Algorithm {
                found: shown(found),
                expected: algorithm,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn thumbprints_of_the_rfcs() {
        // RFC 7638 section 3.1 and RFC 8037 appendix A.3.
        let rsa = json!({
            "kty": "RSA",
            "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
            "e": "AQAB", "alg": "RS256", "kid": "2011-04-29",
        });
        let okp = json!({
            "kty": "OKP", "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        for (jwk, print) in [
            (rsa, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
            (okp, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
        ] {
            assert_eq!(thumbprint(jwk.as_object().unwrap()).unwrap(), print);
        }
    }

    #[test]
    fn octets_have_one_form() {
        assert_eq!(*octets::<3>("AAEC", "x").unwrap(), [0, 1, 2]);
        for (text, problem) in [
            ("AAE", "has the wrong length"),
            ("AAECAw", "has the wrong length"),
            ("AAE=", "is not base64url without padding"),
            ("AA+C", "is not base64url without padding"),
            ("AA C", "is not base64url without padding"),
        ] {
            match octets::<3>(text, "x") {
                Err(KeyError::Member {
                    name: "x",
                    problem: found,
                }) => assert_eq!(found, problem),
                other => panic!("{text}: {other:?}"),
            }
        }
        // Trailing bits that are not zero would give one key two texts.
        assert!(octets::<2>("AAF", "x").is_err());
    }
}
