//! The agent: who buys, and with what it does so.

use crate::clock::{Clock, Randomness, SystemClock, SystemRandomness};
use crate::credentials::CredentialProvider;
use crate::discovery::{self, Cache, Discovery};
use crate::error::{ConfigError, Error, RequestError};
use crate::headers;
use crate::hooks::{ContentDigest, PrepareRequest};
use crate::identity::ProfileUrl;
use crate::journal::{Journal, MemoryJournal};
use crate::merchant::Merchant;
use crate::negotiation::Release;
use crate::retry::{Observe, Retry};
use crate::signatures::{PublicKey, Signer, SigningKey};
use crate::signing::RequestSigning;
use crate::transport::{BoxError, Transport};
use crate::verification::Verification;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Who buys: an identity that every request names, and what requests are made with.
///
/// It is cheap to clone, and one serves any number of merchants.
///
/// ```
/// use ucp_runtime::Agent;
///
/// # #[cfg(feature = "reqwest")] {
/// let agent = Agent::builder("https://agent.example/.well-known/ucp")?
///     .id_secret([7; 32]) // stored with the application's other secrets
///     .user_agent("example-agent/1.0")
///     .build()?;
/// assert_eq!(
///     agent.ucp_agent(),
///     r#"profile="https://agent.example/.well-known/ucp""#
/// );
/// # }
/// # Ok::<(), ucp_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) profile: ProfileUrl,
    id_secret: Option<SecretSlice<u8>>,
    pub(crate) user_agent: HeaderValue,
    pub(crate) accept_language: Option<HeaderValue>,
    pub(crate) request_signature: Option<HeaderValue>,
    pub(crate) credentials: Option<Arc<dyn CredentialProvider>>,
    /// The application's hooks, in order.
    pub(crate) hooks: Vec<Arc<dyn PrepareRequest>>,
    /// The runtime's own last steps, which run after all hooks and may set managed headers: the
    /// digest, and the place of the signature.
    pub(crate) last: Vec<Arc<dyn PrepareRequest>>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) releases: Vec<Release>,
    pub(crate) discovery: Discovery,
    pub(crate) cache: Cache,
    pub(crate) development: bool,
    pub(crate) strict: bool,
    pub(crate) response_limit: usize,
    pub(crate) timeout: Duration,
    pub(crate) retry: Retry,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) observer: Option<Arc<dyn Observe>>,
    pub(crate) signing: Option<RequestSigning>,
    pub(crate) verification: Verification,
}

impl Inner {
    pub(crate) fn id_secret(&self) -> Option<&[u8]> {
        self.id_secret.as_ref().map(ExposeSecret::expose_secret)
    }
}

impl Agent {
    /// Begins an agent whose profile is at `profile_url`, which is sent exactly as given.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ProfileUrl`] unless it is an absolute `https` URL. One with `http` on a
    /// loopback host passes here, and [`AgentBuilder::build`] wants
    /// [`development`](AgentBuilder::development) for it.
    pub fn builder(profile_url: &str) -> Result<AgentBuilder, Error> {
        Ok(AgentBuilder {
            profile: ProfileUrl::new(profile_url)?,
            id_secret: None,
            user_agent: concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")).to_owned(),
            accept_language: None,
            request_signature: None,
            credentials: None,
            hooks: Vec::new(),
            content_digest: false,
            transport: None,
            clock: Arc::new(SystemClock),
            randomness: Arc::new(SystemRandomness),
            releases: Vec::new(),
            discovery: Discovery::default(),
            #[cfg(feature = "reqwest")]
            resolver: Arc::new(crate::fetch::SystemResolver),
            development: false,
            strict: false,
            response_limit: 8 * 1024 * 1024,
            timeout: Duration::from_secs(30),
            retry: Retry::default(),
            journal: None,
            observer: None,
            signer: None,
            signature_created: false,
            web_bot_auth: None,
            verification: Verification::default(),
        })
    }

    /// Finds the merchant at an origin and agrees with it (overview, "Discovery" and
    /// "Negotiation"): fetches `{origin}/.well-known/ucp`, picks the newest release that both
    /// speak, follows the profile to that of another version where need be, and picks the REST
    /// endpoint and the capabilities that both have. Redirects are not followed.
    ///
    /// ```no_run
    /// # async fn example(agent: ucp_runtime::Agent) -> Result<(), ucp_runtime::Error> {
    /// let merchant = agent.connect("https://shop.example").await?;
    /// println!("{} speaks {}", merchant.origin(), merchant.version());
    /// if let Some(agreed) = merchant.negotiated() {
    ///     println!("{}", agreed.explain());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ConfigError::Origin`] for what is no `https` origin; [`Error::Discovery`] when there is no
    /// answer or no profile, or when it offers nothing that the agent speaks: it says what was
    /// offered, and why each offer was refused.
    pub async fn connect(&self, origin: &str) -> Result<Merchant, Error> {
        discovery::connect(self, origin).await
    }

    /// The profile's URL.
    #[must_use]
    pub fn profile(&self) -> &ProfileUrl {
        &self.0.profile
    }

    /// The value of the `UCP-Agent` header (RFC 8941), for requests that no generated method makes.
    #[must_use]
    pub fn ucp_agent(&self) -> &str {
        self.0.profile.header()
    }

    /// The public half of the key that requests are signed with: what the agent's profile publishes.
    #[must_use]
    pub fn public_key(&self) -> Option<&PublicKey> {
        Some(self.0.signing.as_ref()?.signer.public_key())
    }

    /// Signs a request that no generated method makes, with the agent's key: adds `UCP-Agent` where it
    /// is missing, `Content-Digest` where there is a body, and the signature over what it then is.
    ///
    /// An absolute URL becomes what URL parsers make of it (`/a/../b'` is `/b'`, and `?b'` is `?b%27`):
    /// many HTTP clients send that whatever they are given, and the signature covers what is sent.
    ///
    /// ```
    /// use ucp_runtime::Agent;
    /// use ucp_runtime::signatures::{Algorithm, SigningKey};
    ///
    /// # #[cfg(feature = "reqwest")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32])?.with_id("agent-1")?;
    /// let agent = Agent::builder("https://agent.example/.well-known/ucp")?
    ///     .signing_key(key)
    ///     .build()?;
    /// let request = ucp_runtime::http::Request::get("https://shop.example/feed?page=2");
    /// let signed = agent.sign(request.body(bytes::Bytes::new())?).await?;
    /// assert_eq!(
    ///     signed.headers()["signature-input"],
    ///     r#"sig1=("@method" "@authority" "@path" "@query" "ucp-agent");keyid="agent-1""#,
    /// );
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "reqwest"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Config`] when the agent has no key, [`Error::NotSent`] when the request cannot be
    /// signed.
    pub async fn sign(&self, request: http::Request<Bytes>) -> Result<http::Request<Bytes>, Error> {
        let signing = self.0.signing.as_ref().ok_or(ConfigError::NoSigner)?;
        let refuse = |source: BoxError| Error::not_sent("sign", RequestError::Hook { source });
        let (mut head, body) = request.into_parts();
        if !head.headers.contains_key(headers::UCP_AGENT) {
            let value = value_of(headers::UCP_AGENT, self.ucp_agent())?;
            head.headers.insert(headers::UCP_AGENT, value);
        }
        if let Ok(url) = Url::parse(&head.uri.to_string()) {
            head.uri = url
                .as_str()
                .parse()
                .map_err(|error: http::uri::InvalidUri| refuse(error.into()))?;
        }
        let signed = signing
            .sign_head((&head).into(), &body, &[])
            .await
            .map_err(refuse)?;
        signed.apply(&mut head.headers);
        Ok(http::Request::from_parts(head, body))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("profile", &self.0.profile)
            .finish_non_exhaustive()
    }
}

/// Makes an [`Agent`].
#[must_use]
pub struct AgentBuilder {
    profile: ProfileUrl,
    id_secret: Option<SecretSlice<u8>>,
    user_agent: String,
    accept_language: Option<String>,
    request_signature: Option<SecretString>,
    credentials: Option<Arc<dyn CredentialProvider>>,
    hooks: Vec<Arc<dyn PrepareRequest>>,
    content_digest: bool,
    transport: Option<Arc<dyn Transport>>,
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
    releases: Vec<Release>,
    discovery: Discovery,
    #[cfg(feature = "reqwest")]
    resolver: Arc<dyn crate::fetch::Resolver>,
    development: bool,
    strict: bool,
    response_limit: usize,
    timeout: Duration,
    retry: Retry,
    journal: Option<Arc<dyn Journal>>,
    observer: Option<Arc<dyn Observe>>,
    signer: Option<Arc<dyn Signer>>,
    signature_created: bool,
    web_bot_auth: Option<SignedDuration>,
    verification: Verification,
}

impl AgentBuilder {
    /// A release that the agent speaks: the `RELEASE` of a generated client. Several may be given;
    /// the newest that a merchant speaks too is chosen, and
    /// [`Merchant::version`](crate::Merchant::version) says which. Without any, a merchant is spoken
    /// to at its own version, and nothing is negotiated.
    pub fn release(mut self, release: Release) -> Self {
        self.releases.push(release);
        self
    }

    /// The secret from which [call ids](crate::CallId) become keys: 32 random bytes or more, the
    /// same in every process of the agent, for ever.
    pub fn id_secret(mut self, secret: impl AsRef<[u8]>) -> Self {
        self.id_secret = Some(secret.as_ref().to_vec().into());
        self
    }

    /// The `User-Agent` header. Default: this crate's name and version.
    pub fn user_agent(mut self, value: impl Into<String>) -> Self {
        self.user_agent = value.into();
        self
    }

    /// The `Accept-Language` header, for example `de-DE, en;q=0.5`. Default: none.
    pub fn accept_language(mut self, value: impl Into<String>) -> Self {
        self.accept_language = Some(value.into());
        self
    }

    /// The `Request-Signature` header, which the releases of January 2026 require without defining
    /// what it holds: the value that the merchant and you agreed on.
    pub fn request_signature(mut self, value: impl Into<SecretString>) -> Self {
        self.request_signature = Some(value.into());
        self
    }

    /// The key that requests are signed with (RFC 9421), from the release of April 2026 on; its public
    /// half stands in the agent's profile.
    pub fn signing_key(self, key: SigningKey) -> Self {
        self.signer(key)
    }

    /// What requests are signed with, where the key is kept elsewhere: a key management service or a
    /// hardware module.
    pub fn signer(mut self, signer: impl Signer + 'static) -> Self {
        self.signer = Some(Arc::new(signer));
        self
    }

    /// States in each signature when it was made.
    pub fn signature_created(mut self) -> Self {
        self.signature_created = true;
        self
    }

    /// Signs in the shape of Web Bot Auth too, with signatures that live so long: whole seconds, at
    /// most 24 hours. 5 minutes are usual. The key's id must be its thumbprint (RFC 7638).
    pub fn web_bot_auth(mut self, lifetime: SignedDuration) -> Self {
        self.web_bot_auth = Some(lifetime);
        self
    }

    /// Which answers must be signed. Default: [`Verification::WhenPresent`].
    pub fn verification(mut self, verification: Verification) -> Self {
        self.verification = verification;
        self
    }

    /// Where credentials come from.
    pub fn credentials(mut self, provider: impl CredentialProvider + 'static) -> Self {
        self.credentials = Some(Arc::new(provider));
        self
    }

    /// A hook that sees every request before it is sent and adds headers to it. Several run in the
    /// order in which they are given.
    pub fn prepare_request(mut self, hook: impl PrepareRequest + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Sends `Content-Digest` (RFC 9530) with every body.
    pub fn content_digest(mut self) -> Self {
        self.content_digest = true;
        self
    }

    /// How merchants are found: limits, and how long what was found is remembered.
    pub fn discovery(mut self, discovery: Discovery) -> Self {
        self.discovery = discovery;
        self
    }

    /// What resolves the names of hosts for the default transport, which connects to no address that
    /// it did not return and to none for special use. Default: the operating system.
    #[cfg(feature = "reqwest")]
    pub fn resolver(mut self, resolver: impl crate::fetch::Resolver + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// What carries requests. Default: `ReqwestTransport` (feature `reqwest`), which keeps away from
    /// special-use addresses; one of your own has to do so itself, see [`fetch`](crate::fetch).
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// What tells the time. Default: the operating system.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// What random ids are made of. Default: the operating system.
    pub fn randomness(mut self, randomness: impl Randomness + 'static) -> Self {
        self.randomness = Arc::new(randomness);
        self
    }

    /// Allows loopback hosts, with `http` too: for the profile, for merchants and for endpoints.
    pub fn development(mut self) -> Self {
        self.development = true;
        self
    }

    /// Takes only answers that are exactly as the contract has them: see
    /// [`Response::strict`](crate::Response::strict). For tests of a merchant rather than for buying
    /// from one.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// How many bytes of an answer are read, at most. Default: 8 MiB.
    pub fn response_limit(mut self, bytes: usize) -> Self {
        self.response_limit = bytes;
        self
    }

    /// How often, and for how long, a call is attempted. Default: [`Retry::default`].
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Where calls are recorded before they are sent, so that a restart changes nothing. Default: a
    /// [`MemoryJournal`], which does not survive one.
    pub fn journal(mut self, journal: impl Journal + 'static) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// What is told of every attempt of a call.
    pub fn observe(mut self, observer: impl Observe + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// How long one attempt of a call may take, from the first byte sent to the last one read.
    /// Default: 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The agent.
    ///
    /// # Errors
    ///
    /// [`Error::Config`]: a loopback profile outside development, an id secret of less than 32
    /// bytes, a value that fits no header, no transport.
    pub fn build(self) -> Result<Agent, Error> {
        if self.profile.is_loopback_http() && !self.development {
            return Err(Error::Config(ConfigError::ProfileUrl {
                problem: "http on a loopback host needs `development()`",
            }));
        }
        if let Some(secret) = &self.id_secret
            && secret.expose_secret().len() < 32
        {
            return Err(Error::Config(ConfigError::IdSecret {
                length: secret.expose_secret().len(),
            }));
        }
        let request_signature = self
            .request_signature
            .map(|value| value_of(crate::headers::REQUEST_SIGNATURE, value.expose_secret()))
            .transpose()?
            .map(|mut value| {
                value.set_sensitive(true);
                value
            });
        let mut last: Vec<Arc<dyn PrepareRequest>> = Vec::new();
        if self.content_digest {
            last.push(Arc::new(ContentDigest));
        }
        let transport = match self.transport {
            Some(transport) => transport,
            #[cfg(feature = "reqwest")]
            None => Arc::new(crate::ReqwestTransport::guarded(
                self.resolver,
                self.development,
            )?),
            #[cfg(not(feature = "reqwest"))]
            None => {
                return Err(Error::Config(ConfigError::Transport {
                    source: "this build has no default transport (feature `reqwest`)".into(),
                }));
            }
        };
        let signing = self.signer.map(|signer| {
            let mut signing = RequestSigning::new(
                signer,
                self.profile.clone(),
                Arc::clone(&self.clock),
                Arc::clone(&self.randomness),
            );
            signing.created = self.signature_created;
            signing.web_bot_auth = self.web_bot_auth;
            signing
        });
        if let Some(signing) = &signing {
            signing
                .check()
                .map_err(|source| ConfigError::Signing { source })?;
            last.push(Arc::new(signing.clone()));
        }
        Ok(Agent(Arc::new(Inner {
            user_agent: value_of(header::USER_AGENT, &self.user_agent)?,
            accept_language: self
                .accept_language
                .map(|value| value_of(header::ACCEPT_LANGUAGE, &value))
                .transpose()?,
            request_signature,
            transport,
            profile: self.profile,
            id_secret: self.id_secret,
            credentials: self.credentials,
            hooks: self.hooks,
            last,
            clock: self.clock,
            randomness: self.randomness,
            releases: (self.releases.into_iter())
                .map(|release| match self.development {
                    true => release.development(),
                    false => release,
                })
                .collect(),
            cache: Cache::new(&self.discovery),
            discovery: self.discovery,
            development: self.development,
            strict: self.strict,
            response_limit: self.response_limit,
            timeout: self.timeout,
            retry: self.retry,
            journal: self
                .journal
                .unwrap_or_else(|| Arc::new(MemoryJournal::new())),
            observer: self.observer,
            signing,
            verification: self.verification,
        })))
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

fn value_of(name: HeaderName, value: &str) -> Result<HeaderValue, ConfigError> {
    HeaderValue::from_str(value).map_err(|_| ConfigError::Header { name })
}
