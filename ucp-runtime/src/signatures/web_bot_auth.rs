//! The shape of a request's signature that verifiers of Web Bot Auth take too (UCP signatures, "WBA
//! Interop").

use super::SignError;
use crate::identity::ProfileUrl;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use std::fmt::{self, Write as _};

/// The `tag` of such signatures.
pub(super) const TAG: &str = "web-bot-auth";

/// What the URL in `Signature-Agent` leads to: its parameter `type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyDirectory {
    /// A JWK Set, such as a UCP profile with its member `keys`.
    #[default]
    JwksUri,
    /// A client id metadata document.
    Cimd,
    /// An origin with a directory at a well-known path.
    Directory,
}

/// What a signature in the shape of Web Bot Auth adds: the header `Signature-Agent`, `created`,
/// `expires`, `nonce` and `tag`. The key must be published under its thumbprint.
///
/// ```
/// use ucp_runtime::ProfileUrl;
/// use ucp_runtime::jiff::{SignedDuration, Timestamp};
/// use ucp_runtime::signatures::WebBotAuth;
///
/// let agent = ProfileUrl::new("https://agent.example/.well-known/ucp")?;
/// # let (now, nonce) = (Timestamp::UNIX_EPOCH, [0; 64]);
/// let shape = WebBotAuth::new(&agent, now, nonce) // 64 random bytes, fresh for each request
///     .lifetime(SignedDuration::from_mins(1))?;
/// # let _ = shape;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct WebBotAuth {
    url: Box<str>,
    directory: KeyDirectory,
    created: i64,
    lifetime: i64,
    nonce: [u8; 64],
}

impl WebBotAuth {
    /// Signatures made now that live for 5 minutes. `url` is where the agent's keys are: its profile,
    /// as a rule.
    pub fn new(url: &ProfileUrl, now: Timestamp, nonce: [u8; 64]) -> Self {
        Self {
            url: url.as_str().into(),
            directory: KeyDirectory::JwksUri,
            created: now.as_second(),
            lifetime: 5 * 60,
            nonce,
        }
    }

    /// Sets how long the signature lives, in whole seconds.
    ///
    /// # Errors
    ///
    /// [`SignError::Lifetime`] below one second and above 24 hours.
    pub fn lifetime(mut self, lifetime: SignedDuration) -> Result<Self, SignError> {
        self.lifetime = lifetime.as_secs();
        match self.lifetime {
            1..86_400 => Ok(self),
            86_400 if lifetime.subsec_nanos() == 0 => Ok(self),
            _ => Err(SignError::Lifetime),
        }
    }

    /// Sets what the URL leads to.
    pub fn directory(mut self, directory: KeyDirectory) -> Self {
        self.directory = directory;
        self
    }

    /// The header `Signature-Agent`. A profile's URL has nothing that a string must escape.
    pub(super) fn signature_agent(&self, label: &str) -> String {
        let kind = match self.directory {
            KeyDirectory::JwksUri => "jwks_uri",
            KeyDirectory::Cimd => "cimd",
            KeyDirectory::Directory => "directory",
        };
        format!("{label}=\"{}\";type={kind}", self.url)
    }

    pub(super) fn write_parameters(&self, text: &mut String) -> fmt::Result {
        write!(
            text,
            ";created={};expires={};nonce=\"{}\";tag=\"{TAG}\"",
            self.created,
            self.created.saturating_add(self.lifetime),
            URL_SAFE_NO_PAD.encode(self.nonce),
        )
    }
}

impl fmt::Debug for WebBotAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebBotAuth")
            .field("url", &self.url)
            .field("directory", &self.directory)
            .field("created", &self.created)
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}
