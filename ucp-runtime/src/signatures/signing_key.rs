//! Private keys, and what else can sign: a key management service, a hardware module.

use super::key::Point;
use super::{Algorithm, KeyError, PublicKey, jwk, p256_backend};
use crate::clock::Randomness;
use crate::transport::{BoxError, BoxFuture};
use crate::wire::Map;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::pkcs8::der::SecretDocument;
use p256::pkcs8::{ObjectIdentifier, PrivateKeyInfoRef};
use p384::ecdsa::signature::Signer as _;
use serde_json::Value;
use std::fmt;
use std::path::Path;
use zeroize::Zeroizing;

/// Signs with a key that it need not show: [`SigningKey`] in this process, or a key management
/// service or hardware module far away.
///
/// ```
/// use ucp_runtime::signatures::{PublicKey, Signer};
/// use ucp_runtime::{BoxError, BoxFuture};
///
/// struct Kms {
///     public: PublicKey,
/// }
///
/// impl Signer for Kms {
///     fn public_key(&self) -> &PublicKey {
///         &self.public
///     }
///
///     fn sign<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, BoxError>> {
///         Box::pin(async move {
///             // Ask the service; many answer in DER, which is then turned into r and s.
///             # let _ = message;
///             Err("the service is closed".into())
///         })
///     }
/// }
/// ```
pub trait Signer: Send + Sync {
    /// The public half: its id is what `keyid` says, its algorithm what the signature is checked by.
    fn public_key(&self) -> &PublicKey;

    /// The signature of a message, which the signer hashes as its algorithm says. ECDSA values are
    /// raw `r` and `s`, each as long as the field; another length is refused.
    ///
    /// # Errors
    ///
    /// Whatever the signer reports; the message is then not sent.
    fn sign<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, BoxError>>;
}

/// A private key in this process. It is wiped when dropped and never shows its secret.
///
/// ```
/// use ucp_runtime::signatures::{Algorithm, SigningKey};
///
/// // From RFC 8037, appendix A.1: a key that everybody knows.
/// let key = SigningKey::from_jwk(
///     r#"{
///         "kty": "OKP", "crv": "Ed25519", "kid": "agent-1",
///         "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
///         "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
///     }"#,
/// )?;
/// assert_eq!(key.public_key().id(), "agent-1");
/// assert_eq!(key.public_key().algorithm(), Algorithm::Ed25519);
/// assert!(!format!("{key:?}").contains("nWGx"));
/// # Ok::<(), ucp_runtime::signatures::KeyError>(())
/// ```
///
/// ES256 signs deterministically (RFC 6979), so that the same message has the same signature. With
/// the feature `ring` or `aws-lc-rs` it is about four times faster and takes the system's randomness;
/// the copy of the key inside `ring` is then not wiped.
pub struct SigningKey {
    secret: Secret,
    public: PublicKey,
}

// dalek and RustCrypto wipe their keys when dropped.
enum Secret {
    Es256(Box<p256_backend::Signing>),
    Es384(Box<p384::ecdsa::SigningKey>),
    Ed25519(Box<ed25519_dalek::SigningKey>),
}

/// A private JWK. Its private member goes straight into memory that is wiped.
#[derive(serde::Deserialize)]
struct PrivateJwk {
    d: Option<Zeroizing<String>>,
    #[serde(flatten)]
    public: Map,
}

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

impl SigningKey {
    /// Reads a private JWK (RFC 7517): `kty`, `crv`, `d`, and the public part, which must be that of
    /// `d`. Its id is its `kid`, or its thumbprint where it has none.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when it is malformed, of an unknown kind, off its curve, not for signing, or when
    /// its two parts do not belong together.
    pub fn from_jwk(json: &str) -> Result<Self, KeyError> {
        // serde_json's own message may quote what stands there.
        let jwk: PrivateJwk = serde_json::from_str(json).map_err(|error| KeyError::NotJson {
            line: error.line(),
            column: error.column(),
        })?;
        let algorithm = jwk::algorithm(&jwk.public)?;
        let d = jwk.d.ok_or(KeyError::Public)?;
        jwk::allows(&jwk.public, "sign")?;
        let published = PublicKey::read(&jwk.public)?;
        let key = match algorithm {
            Algorithm::Es384 => Self::from_scalar(algorithm, &*jwk::octets::<48>(&d, "d")?)?,
            Algorithm::Es256 | Algorithm::Ed25519 => {
                Self::from_scalar(algorithm, &*jwk::octets::<32>(&d, "d")?)?
            }
        };
        let key = key.with_id(published.id())?;
        if key.public != published {
            return Err(KeyError::Mismatch);
        }
        Ok(key)
    }

    /// Reads a file with a private JWK.
    ///
    /// # Errors
    ///
    /// [`KeyError::File`] when it cannot be read; else as [`from_jwk`](Self::from_jwk).
    pub fn from_jwk_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map(Zeroizing::new);
        let text = text.map_err(|source| KeyError::File {
            path: path.display().to_string(),
            source,
        })?;
        Self::from_jwk(&text)
    }

    /// Reads a private key in PEM as `openssl genpkey` writes it (PKCS#8, RFC 5958, label
    /// `PRIVATE KEY`). Its id is its thumbprint, until [`with_id`](Self::with_id) says otherwise.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when it is malformed, encrypted, of an unknown kind, or when its two parts do not
    /// belong together.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let (label, document) = SecretDocument::from_pem(pem.trim())
            .map_err(|_| KeyError::Pem("its armour or its base64 is malformed"))?;
        match label {
            "PRIVATE KEY" => {}
            "ENCRYPTED PRIVATE KEY" => {
                return Err(KeyError::Pem("it is encrypted: decrypt it first"));
            }
            "EC PRIVATE KEY" => {
                return Err(KeyError::Pem(
                    "it is SEC 1: turn it into PKCS#8 with `openssl pkcs8 -topk8 -nocrypt`",
                ));
            }
            "PUBLIC KEY" | "CERTIFICATE" => return Err(KeyError::Public),
            _ => return Err(KeyError::Pem("its label is not `PRIVATE KEY`")),
        }
        let info = PrivateKeyInfoRef::try_from(document.as_bytes())
            .map_err(|_| KeyError::Pem("its content is malformed"))?;
        let curve = info.algorithm.parameters_oid().ok();
        // The libraries compare the embedded public part, where there is one.
        let unfit = |_| KeyError::Pem("its content is malformed or its two parts do not match");
        let secret = match (info.algorithm.oid, curve) {
            (EC, Some(P256)) => {
                let key = p256::ecdsa::SigningKey::try_from(info).map_err(unfit)?;
                p256_backend::Signing::from_key(key).map(|key| Secret::Es256(Box::new(key)))
            }
            (EC, Some(P384)) => {
                let key = p384::ecdsa::SigningKey::try_from(info).map_err(unfit)?;
                Some(Secret::Es384(Box::new(key)))
            }
            (ED25519, None) => {
                let key = ed25519_dalek::SigningKey::try_from(info).map_err(unfit)?;
                Some(Secret::Ed25519(Box::new(key)))
            }
            (oid, curve) => {
                return Err(KeyError::Unsupported {
                    found: match curve {
                        Some(curve) => format!("{oid} on {curve}"),
                        None => oid.to_string(),
                    },
                });
            }
        };
        secret
            .map(Self::new)
            .ok_or(KeyError::Pem("its content is malformed"))
    }

    /// Takes a raw private part: the big-endian scalar of ES256 (32 bytes) or ES384 (48 bytes), or
    /// the seed of Ed25519 (32 bytes). Its id is its thumbprint, until [`with_id`](Self::with_id) says
    /// otherwise.
    ///
    /// # Errors
    ///
    /// [`KeyError::Length`] when it is longer or shorter, [`KeyError::Scalar`] when it is zero or not
    /// below the order of the curve.
    pub fn from_scalar(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, KeyError> {
        let length = |expected| KeyError::Length {
            algorithm,
            expected,
            found: bytes.len(),
        };
        let secret = match algorithm {
            Algorithm::Es256 => {
                let bytes = bytes.try_into().map_err(|_| length(32))?;
                p256_backend::Signing::new(bytes).map(|key| Secret::Es256(Box::new(key)))
            }
            Algorithm::Es384 => {
                let bytes: &[u8; 48] = bytes.try_into().map_err(|_| length(48))?;
                let scalar = Zeroizing::new((*bytes).into());
                let key = p384::ecdsa::SigningKey::from_bytes(&scalar).ok();
                key.map(|key| Secret::Es384(Box::new(key)))
            }
            Algorithm::Ed25519 => {
                let bytes = bytes.try_into().map_err(|_| length(32))?;
                let key = ed25519_dalek::SigningKey::from_bytes(bytes);
                Some(Secret::Ed25519(Box::new(key)))
            }
        };
        secret.map(Self::new).ok_or(KeyError::Scalar(algorithm))
    }

    /// Makes a key. Its id is its thumbprint, which is what Web Bot Auth wants.
    ///
    /// # Errors
    ///
    /// [`KeyError::Randomness`] when the source fails or keeps giving what is no key.
    pub fn generate(algorithm: Algorithm, random: &dyn Randomness) -> Result<Self, KeyError> {
        let length = match algorithm {
            Algorithm::Es256 | Algorithm::Ed25519 => 32,
            Algorithm::Es384 => 48,
        };
        let mut bytes = Zeroizing::new(vec![0; length]);
        // One try in 2^32 is out of range; a source that fails eight of them is none.
        for _ in 0..8 {
            random.fill(&mut bytes).map_err(KeyError::Randomness)?;
            if let Ok(key) = Self::from_scalar(algorithm, &bytes) {
                return Ok(key);
            }
        }
        Err(KeyError::Randomness(
            "the source of randomness repeats itself".into(),
        ))
    }

    fn new(secret: Secret) -> Self {
        let public = PublicKey::new(match &secret {
            Secret::Es256(key) => Point::Es256(key.public()),
            Secret::Es384(key) => Point::Es384(*key.verifying_key()),
            Secret::Ed25519(key) => Point::Ed25519(key.verifying_key()),
        });
        Self { secret, public }
    }

    /// The same key under another id: the `kid` that the profile publishes it with.
    ///
    /// # Errors
    ///
    /// [`KeyError::Id`] when it is empty or not printable ASCII.
    pub fn with_id(self, id: &str) -> Result<Self, KeyError> {
        if id.is_empty() || sfv::StringRef::from_str(id).is_err() {
            return Err(KeyError::Id);
        }
        Ok(Self {
            public: self.public.with_id(id),
            ..self
        })
    }

    /// The public half.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The private JWK, to be kept where only its owner reads it. The text is wiped when dropped.
    #[must_use]
    pub fn to_private_jwk(&self) -> Zeroizing<String> {
        let d = match &self.secret {
            Secret::Es256(key) => encode(&*key.scalar()),
            Secret::Es384(key) => encode(&Zeroizing::new(key.to_bytes())),
            Secret::Ed25519(key) => encode(&*Zeroizing::new(key.to_bytes())),
        };
        let public = Value::from(self.public.to_jwk()).to_string();
        // A text that grows leaves copies of itself behind.
        let mut text = Zeroizing::new(String::with_capacity(public.len() + d.len() + 7));
        text.push_str(public.trim_end_matches('}'));
        text.push_str(",\"d\":\"");
        text.push_str(&d);
        text.push_str("\"}");
        text
    }

    /// The signature of a message, which is hashed as the algorithm says.
    pub(super) fn sign_now(&self, message: &[u8]) -> Result<Vec<u8>, BoxError> {
        let signature = match &self.secret {
            Secret::Es256(key) => key.sign(message),
            Secret::Es384(key) => {
                let signature: Result<p384::ecdsa::Signature, _> = key.try_sign(message);
                signature
                    .ok()
                    .map(|signature| signature.to_bytes().to_vec())
            }
            Secret::Ed25519(key) => {
                let signature = key.try_sign(message).ok();
                signature.map(|signature| signature.to_bytes().to_vec())
            }
        };
        signature.ok_or_else(|| "the key could not sign".into())
    }
}

fn encode(secret: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(URL_SAFE_NO_PAD.encode(secret))
}

impl Signer for SigningKey {
    fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, BoxError>> {
        Box::pin(std::future::ready(self.sign_now(message)))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
