//! Why a key is refused, a message cannot be signed, or a signature does not hold.

use super::Algorithm;
use crate::transport::BoxError;
use http::HeaderName;
use std::fmt;

/// A key that cannot be used. It never shows key material.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file could not be read.
    #[error("the key file {path} cannot be read")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The text is no JSON object.
    #[error("it is not a JSON object (line {line}, column {column})")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A member of the JWK is missing or malformed.
    #[error("its member `{name}` {problem}")]
    Member {
        /// The member.
        name: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A type or curve that this crate does not know.
    #[error("its type is {found}: this crate takes EC on P-256 or P-384, and OKP on Ed25519")]
    Unsupported {
        /// The type and curve, or the identifier of the algorithm.
        found: String,
    },
    /// `alg` names another algorithm than the type and curve make.
    #[error("its `alg` is `{found}`, but its type and curve make it {expected}")]
    Algorithm {
        /// What `alg` says.
        found: String,
        /// The algorithm of its type and curve.
        expected: Algorithm,
    },
    /// `use` reserves it for something else than signing (RFC 7517 section 4.2).
    #[error("its `use` is `{found}`: a key that signs or verifies has `sig`, or no `use`")]
    Use {
        /// What `use` says.
        found: String,
    },
    /// `key_ops` does not list what it is wanted for (RFC 7517 section 4.3).
    #[error("its `key_ops` does not list `{wanted}`")]
    Operations {
        /// `sign` or `verify`.
        wanted: &'static str,
    },
    /// The public part is no point of the curve, or one that verifies anything.
    #[error("its public part is not a usable point of the curve of {0}")]
    Point(Algorithm),
    /// The private scalar is zero, or not below the order of the curve.
    #[error("its private part is out of range for {0}")]
    Scalar(Algorithm),
    /// A raw scalar of another length.
    #[error("its private part has {found} bytes where {algorithm} has {expected}")]
    Length {
        /// The algorithm.
        algorithm: Algorithm,
        /// How many bytes are due.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The public part belongs to another private part.
    #[error("its public part is not that of its private part")]
    Mismatch,
    /// A public key where a private one is due.
    #[error("it has no private part")]
    Public,
    /// The text is no PKCS#8 private key in PEM.
    #[error("it is not a PKCS#8 private key in PEM: {0}")]
    Pem(&'static str),
    /// The key id cannot be written into `Signature-Input`.
    #[error("its id is empty or not printable ASCII, which `keyid` must be")]
    Id,
    /// The source of randomness failed.
    #[error("no key could be made")]
    Randomness(#[source] BoxError),
}

/// A message that could not be signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// A component cannot be taken from the message.
    #[error("`{name}` cannot be covered: {problem}")]
    Component {
        /// The component's name.
        name: String,
        /// What stands in the way.
        problem: &'static str,
    },
    /// A body without `Content-Type`, which a signature must cover (UCP signatures, "Signed
    /// Components").
    #[error("the message has a body, but no Content-Type: set one before signing")]
    NoContentType,
    /// `Host` names another authority than the URL, so that the receiver would rebuild another base.
    #[error("the header `Host` and the URL name different authorities")]
    Host,
    /// The label is no key of a structured dictionary (RFC 8941 section 3.2).
    #[error(
        "the label is refused: it starts with a lower-case letter or `*`, and goes on with lower-case letters, digits, `_`, `-`, `.` and `*`"
    )]
    Label,
    /// The key id cannot be written into `Signature-Input`.
    #[error("the key's id is empty or not printable ASCII, which `keyid` must be")]
    KeyId,
    /// Web Bot Auth names a key by its thumbprint, and this one is published under another id.
    #[error(
        "for Web Bot Auth a key is published under its thumbprint `{thumbprint}`, not under `{id}`: name it so"
    )]
    NotThumbprint {
        /// The key's id.
        id: String,
        /// Its RFC 7638 thumbprint.
        thumbprint: String,
    },
    /// A life time of Web Bot Auth that is not positive or exceeds 24 hours.
    #[error("a signature for Web Bot Auth lives from 1 second to 24 hours")]
    Lifetime,
    /// Web Bot Auth is a shape of requests, and this is a response.
    #[error("a response has no Web Bot Auth shape: sign it without")]
    Response,
    /// The signer failed.
    #[error("the signer failed")]
    Signer(#[source] BoxError),
    /// The signer gave bytes of another length than its algorithm's.
    #[error(
        "the signer gave {found} bytes where {algorithm} has {expected}: ECDSA values are raw r and s, not DER"
    )]
    Length {
        /// The algorithm.
        algorithm: Algorithm,
        /// How many bytes are due.
        expected: usize,
        /// How many there are.
        found: usize,
    },
}

/// The protocol's codes for a signature that does not hold (UCP signatures, "Error Codes").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// There is no signature.
    SignatureMissing,
    /// There is one, and it does not hold.
    SignatureInvalid,
    /// The key that it names is not published, or not for verifying.
    KeyNotFound,
    /// The body is not the one whose digest is signed.
    DigestMismatch,
    /// The key is of a kind that this crate cannot verify with.
    AlgorithmUnsupported,
}

impl Code {
    /// The code as the protocol writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SignatureMissing => "signature_missing",
            Self::SignatureInvalid => "signature_invalid",
            Self::KeyNotFound => "key_not_found",
            Self::DigestMismatch => "digest_mismatch",
            Self::AlgorithmUnsupported => "algorithm_unsupported",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message that no signature vouches for.
///
/// Where there were several signatures, this is about the one that got furthest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The signature's label; `None` when there was none to try.
    pub label: Option<String>,
    /// The key id that it names, where it was reached.
    pub key_id: Option<String>,
    /// A key id, of whichever signature, that none of the keys has: keys that are fetched again may.
    pub unknown_key_id: Option<String>,
    /// Why.
    pub reason: Reason,
}

impl Rejected {
    /// The protocol's code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.reason.code()
    }

    pub(super) fn of(reason: Reason) -> Self {
        Self {
            label: None,
            key_id: None,
            unknown_key_id: None,
            reason,
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code())?;
        if let Some(label) = &self.label {
            write!(f, "`{label}`")?;
            if let Some(id) = &self.key_id {
                write!(f, " by the key {id:?}")?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{}", self.reason)
    }
}

impl std::error::Error for Rejected {}

/// Why a signature does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The message is not signed.
    #[error("the message is not signed")]
    Unsigned,
    /// No label is in both headers.
    #[error("no label stands in both Signature-Input and Signature")]
    NoPair,
    /// A header is no structured dictionary (RFC 8941), or none of the members that are due.
    #[error("{header} is malformed")]
    Malformed {
        /// The header.
        header: HeaderName,
    },
    /// A label stands twice in a header, so that two verifiers could take different ones.
    #[error("a label stands twice in {header}")]
    Repeated {
        /// The header.
        header: HeaderName,
    },
    /// More than this crate reads.
    #[error("{what} exceed the limit of {limit}")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The `tag` is of another application (RFC 9421 section 2.3).
    #[error("its tag `{tag}` is of another application")]
    ForeignTag {
        /// The tag.
        tag: String,
    },
    /// The list of components has one that stands twice, or that is none.
    #[error("`{name}` cannot be listed: {problem}")]
    Identifier {
        /// The component's name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A covered component cannot be taken from the message.
    #[error("`{name}` cannot be covered: {problem}")]
    Component {
        /// The component's name.
        name: String,
        /// What stands in the way.
        problem: &'static str,
    },
    /// A parameter is missing or of the wrong type (RFC 9421 section 2.3).
    #[error("its parameter `{name}` is malformed")]
    Parameter {
        /// The parameter.
        name: &'static str,
    },
    /// It covers too little (coverage_insufficient in the protocol's pseudo code).
    #[error("it does not cover `{name}`, which a signature of such a message must")]
    Uncovered {
        /// The first component that is not covered.
        name: String,
    },
    /// The member of `Signature-Agent` under its label is no URL of a key source.
    #[error("the member of Signature-Agent under its label is not an https URL")]
    SignatureAgent,
    /// It names no key.
    #[error("it names no key")]
    NoKeyId,
    /// No key with its id is published.
    #[error("no such key is published")]
    UnknownKey,
    /// The key is not for verifying, or malformed.
    #[error("the key cannot be used: {problem}")]
    UnusableKey {
        /// What is wrong with it.
        problem: String,
    },
    /// The key is of a kind that this crate cannot verify with.
    #[error("the key is of an unsupported kind: {problem}")]
    UnsupportedKey {
        /// Its kind.
        problem: String,
    },
    /// Its `alg` is not the algorithm of the key (RFC 9421 section 3.2).
    #[error("its `alg` is not the algorithm of the key")]
    AlgorithmParameter,
    /// It is for Web Bot Auth, and its `keyid` is not the thumbprint of the key (RFC 7638).
    #[error("its `keyid` is not the thumbprint of the key, which its tag demands")]
    NotThumbprint,
    /// Its time is over.
    #[error("it expired at {expires} (Unix seconds), and it is {now}")]
    Expired {
        /// Its `expires`, in Unix seconds.
        expires: i64,
        /// The verifier's time, in Unix seconds.
        now: i64,
    },
    /// `Content-Digest` is absent, malformed, or without `sha-256` (RFC 9530).
    #[error("Content-Digest has no usable sha-256: {problem}")]
    NoDigest {
        /// What is wrong.
        problem: &'static str,
    },
    /// The body has another digest.
    #[error("the body is not the one that Content-Digest is of")]
    Digest,
    /// The value has another length than the algorithm's; DER is not looked for.
    #[error("its value has {found} bytes where {algorithm} has {expected}")]
    Length {
        /// The algorithm.
        algorithm: Algorithm,
        /// How many bytes are due.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The value is not the key's signature of this message.
    #[error("its value is not the key's signature of this message")]
    Value,
}

impl Reason {
    /// The protocol's code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Unsigned | Self::NoPair => Code::SignatureMissing,
            Self::NoKeyId | Self::UnknownKey | Self::UnusableKey { .. } => Code::KeyNotFound,
            Self::UnsupportedKey { .. } => Code::AlgorithmUnsupported,
            Self::NoDigest { .. } | Self::Digest => Code::DigestMismatch,
            _ => Code::SignatureInvalid,
        }
    }

    /// How far a signature got, in the order in which it is checked.
    pub(super) fn stage(&self) -> u8 {
        match self {
            Self::Unsigned | Self::NoPair => 0,
            Self::ForeignTag { .. } => 1,
            Self::Malformed { .. } | Self::Repeated { .. } | Self::TooMuch { .. } => 2,
            Self::Identifier { .. } | Self::Parameter { .. } => 3,
            Self::Uncovered { .. } | Self::SignatureAgent => 4,
            Self::NoKeyId | Self::UnknownKey => 5,
            Self::UnusableKey { .. } => 6,
            Self::UnsupportedKey { .. } => 7,
            Self::AlgorithmParameter | Self::NotThumbprint => 8,
            Self::Expired { .. } => 9,
            Self::NoDigest { .. } | Self::Digest => 10,
            Self::Component { .. } => 11,
            Self::Length { .. } => 12,
            Self::Value => 13,
        }
    }
}

/// A name that somebody else chose, cut to what an error can print.
pub(super) fn shown(name: &str) -> String {
    name.chars()
        .take(64)
        .flat_map(char::escape_default)
        .collect()
}
