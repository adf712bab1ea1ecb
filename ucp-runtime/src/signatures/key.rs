//! Algorithms, and the public keys that verify.

use super::{KeyError, Reason, jwk, p256_backend};
use crate::profile::PublishedKeys;
use crate::wire::Map;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::VerifyingKey as Ed25519Key;
use p384::ecdsa::signature::Verifier as _;
use serde_json::Value;
use std::fmt;

/// A signature algorithm of the protocol (UCP signatures, "Signature Algorithms"). It follows from
/// a key's type and curve, never from what a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256 (RFC 9421 section 3.3.4): 64 bytes. Everybody verifies it.
    Es256,
    /// ECDSA on P-384 with SHA-384 (RFC 9421 section 3.3.5): 96 bytes.
    Es384,
    /// Ed25519 (RFC 9421 section 3.3.6): 64 bytes.
    Ed25519,
}

impl Algorithm {
    /// How long its signatures are, in bytes.
    #[must_use]
    pub fn signature_len(self) -> usize {
        match self {
            Self::Es256 | Self::Ed25519 => 64,
            Self::Es384 => 96,
        }
    }

    /// Its name in the registry of RFC 9421, for the parameter `alg`, which we never write.
    #[must_use]
    pub fn http_name(self) -> &'static str {
        match self {
            Self::Es256 => "ecdsa-p256-sha256",
            Self::Es384 => "ecdsa-p384-sha384",
            Self::Ed25519 => "ed25519",
        }
    }

    /// Its names as the `alg` of a JWK or JWS (RFC 7518, RFC 8037, RFC 9864), ours first.
    pub(super) fn jose_names(self) -> &'static [&'static str] {
        match self {
            Self::Es256 => &["ES256"],
            Self::Es384 => &["ES384"],
            Self::Ed25519 => &["EdDSA", "Ed25519"],
        }
    }

    /// Its name as the `alg` of what we write.
    pub(super) fn jose_name(self) -> &'static str {
        self.jose_names().first().copied().unwrap_or_default()
    }

    pub(super) fn from_jose(name: &str) -> Option<Self> {
        [Self::Es256, Self::Es384, Self::Ed25519]
            .into_iter()
            .find(|algorithm| algorithm.jose_names().contains(&name))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Ed25519 => "Ed25519",
        })
    }
}

/// The public half of a key: what a profile publishes and a verifier checks with.
///
/// ```
/// use ucp_runtime::serde_json::json;
/// use ucp_runtime::signatures::{Algorithm, PublicKey};
///
/// let jwk = json!({
///     "kid": "merchant-1", "kty": "OKP", "crv": "Ed25519", "use": "sig",
///     "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
/// });
/// let key = PublicKey::from_jwk(jwk.as_object().unwrap())?;
/// assert_eq!(key.id(), "merchant-1");
/// assert_eq!(key.algorithm(), Algorithm::Ed25519);
/// # Ok::<(), ucp_runtime::signatures::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    id: Box<str>,
    point: Point,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Point {
    Es256(p256_backend::Verifying),
    Es384(p384::ecdsa::VerifyingKey),
    Ed25519(Ed25519Key),
}

impl PublicKey {
    /// Reads a JWK of type `EC` (RFC 7518 section 6.2) or `OKP` (RFC 8037). Its id is its `kid`, or
    /// its thumbprint where it has none. Members that are not of a public key are not looked at.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when it is malformed, off its curve, of an unknown kind, or not for verifying.
    pub fn from_jwk(jwk: &Map) -> Result<Self, KeyError> {
        jwk::allows(jwk, "verify")?;
        Self::read(jwk)
    }

    /// Reads a JWK whatever it may be used for.
    pub(super) fn read(jwk: &Map) -> Result<Self, KeyError> {
        let point = Point::read(jwk)?;
        if jwk.contains_key("kid") {
            return Ok(Self {
                id: jwk::text(jwk, "kid")?.into(),
                point,
            });
        }
        Ok(Self::new(point))
    }

    /// A key whose id is its thumbprint.
    pub(super) fn new(point: Point) -> Self {
        let mut key = Self {
            id: Box::default(),
            point,
        };
        key.id = key.thumbprint().into();
        key
    }

    /// The same key under another id: the `kid` that it is published with.
    #[must_use]
    pub fn with_id(self, id: &str) -> Self {
        Self {
            id: id.into(),
            ..self
        }
    }

    /// The id that a signature's `keyid` names.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self.point {
            Point::Es256(_) => Algorithm::Es256,
            Point::Es384(_) => Algorithm::Es384,
            Point::Ed25519(_) => Algorithm::Ed25519,
        }
    }

    /// Its thumbprint (RFC 7638), base64url without padding.
    #[must_use]
    pub fn thumbprint(&self) -> String {
        // A key's own JWK has every member that a thumbprint needs.
        jwk::thumbprint(&self.to_jwk()).unwrap_or_default()
    }

    /// The JWK to publish: `kid`, `kty`, `crv`, `x`, `y`, `use`, `alg`.
    #[must_use]
    pub fn to_jwk(&self) -> Map {
        let mut jwk = Map::new();
        let mut set = |name: &str, value: &str| jwk.insert(name.to_owned(), Value::from(value));
        set("kid", &self.id);
        let (kty, crv, x, y) = match &self.point {
            Point::Es256(key) => {
                let (x, y) = key.coordinates();
                (
                    "EC",
                    "P-256",
                    URL_SAFE_NO_PAD.encode(x),
                    Some(URL_SAFE_NO_PAD.encode(y)),
                )
            }
            Point::Es384(key) => {
                let point = key.to_sec1_point(false);
                let text = |part: Option<&p384::FieldBytes>| {
                    URL_SAFE_NO_PAD.encode(part.map(|part| part.as_slice()).unwrap_or_default())
                };
                ("EC", "P-384", text(point.x()), Some(text(point.y())))
            }
            Point::Ed25519(key) => (
                "OKP",
                "Ed25519",
                URL_SAFE_NO_PAD.encode(key.as_bytes()),
                None,
            ),
        };
        set("kty", kty);
        set("crv", crv);
        set("x", &x);
        if let Some(y) = y {
            set("y", &y);
        }
        set("use", "sig");
        set("alg", self.algorithm().jose_name());
        jwk
    }

    /// Whether this is the key's signature of a message. ECDSA values are `r` and `s` side by side;
    /// no other form is looked for. Ed25519 is checked strictly (RFC 8032 section 5.1.7, without
    /// points of small order).
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.point {
            Point::Es256(key) => key.verifies(message, signature),
            Point::Es384(key) => p384::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            Point::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(message, &signature).is_ok()),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublicKey")
            .field("id", &self.id)
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

impl Point {
    fn read(jwk: &Map) -> Result<Self, KeyError> {
        let algorithm = jwk::algorithm(jwk)?;
        jwk::agrees(jwk, algorithm)?;
        let off_curve = || KeyError::Point(algorithm);
        match algorithm {
            Algorithm::Es256 => {
                let x = jwk::octets::<32>(jwk::text(jwk, "x")?, "x")?;
                let y = jwk::octets::<32>(jwk::text(jwk, "y")?, "y")?;
                p256_backend::Verifying::new(&x, &y)
                    .map(Self::Es256)
                    .ok_or_else(off_curve)
            }
            Algorithm::Es384 => {
                let x = jwk::octets::<48>(jwk::text(jwk, "x")?, "x")?;
                let y = jwk::octets::<48>(jwk::text(jwk, "y")?, "y")?;
                let point =
                    p384::Sec1Point::from_affine_coordinates(&(*x).into(), &(*y).into(), false);
                p384::ecdsa::VerifyingKey::from_sec1_point(&point)
                    .map(Self::Es384)
                    .map_err(|_| off_curve())
            }
            Algorithm::Ed25519 => {
                let x = jwk::octets::<32>(jwk::text(jwk, "x")?, "x")?;
                match Ed25519Key::from_bytes(&x) {
                    // A point of small order verifies signatures that nobody made.
                    Ok(key) if !key.is_weak() => Ok(Self::Ed25519(key)),
                    _ => Err(off_curve()),
                }
            }
        }
    }
}

/// How many keys with one id are tried.
const KEYS_OF_AN_ID: usize = 4;

/// The keys with an id that can verify and pass a further check; at least one.
pub(super) fn usable(
    keys: &PublishedKeys,
    id: &str,
    check: impl Fn(&PublicKey) -> Result<(), Reason>,
) -> Result<Vec<PublicKey>, Reason> {
    let mut usable = Vec::with_capacity(1);
    let mut refused = Reason::UnknownKey;
    for published in keys.with_id(id) {
        let key = PublicKey::from_jwk(&published.jwk).map_err(|error| {
            let problem = error.to_string();
            match error {
                KeyError::Unsupported { .. } | KeyError::Algorithm { .. } => {
                    Reason::UnsupportedKey { problem }
                }
                _ => Reason::UnusableKey { problem },
            }
        });
        match key.and_then(|key| check(&key).map(|()| key)) {
            Ok(key) => usable.push(key),
            Err(reason) if reason.stage() > refused.stage() => refused = reason,
            Err(_) => {}
        }
        if usable.len() == KEYS_OF_AN_ID {
            break;
        }
    }
    match usable.is_empty() {
        true => Err(refused),
        false => Ok(usable),
    }
}

/// The key whose signature of a message a value is.
pub(super) fn verifying<'k>(
    keys: &'k [PublicKey],
    message: &[u8],
    value: &[u8],
) -> Result<&'k PublicKey, Reason> {
    let mut refused = Reason::Value;
    for key in keys {
        let algorithm = key.algorithm();
        let expected = algorithm.signature_len();
        if value.len() != expected {
            refused = Reason::Length {
                algorithm,
                expected,
                found: value.len(),
            };
        } else if key.verifies(message, value) {
            return Ok(key);
        } else {
            refused = Reason::Value;
        }
    }
    Err(refused)
}
