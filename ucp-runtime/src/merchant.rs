//! A merchant: where its requests go and what it speaks.

use crate::agent::Agent;
use crate::discovery::Found;
use crate::endpoint;
use crate::error::{ConfigError, Error};
use crate::identity::ProfileUrl;
use crate::negotiation::Negotiated;
use crate::profile::Profile;
use crate::signatures::Business;
use std::fmt;
use std::sync::Arc;

/// A merchant as an agent found it. Cheap to clone; every generated client is made of one.
#[derive(Clone)]
pub struct Merchant(Arc<Inner>);

struct Inner {
    agent: Agent,
    origin: String,
    known: Known,
}

enum Known {
    /// Through its profile.
    Found(Arc<Found>),
    /// By other means.
    Told { version: String, endpoint: String },
}

impl Merchant {
    /// A merchant known by other means than its profile: a test's, or one found by your own
    /// discovery. `origin` is what ids and credentials go by, `endpoint` where requests go.
    ///
    /// ```
    /// use ucp_runtime::{Agent, Merchant};
    ///
    /// # #[cfg(feature = "reqwest")] {
    /// let agent = Agent::builder("https://agent.example/.well-known/ucp")?.build()?;
    /// let merchant = Merchant::at(
    ///     &agent,
    ///     "https://shop.example",
    ///     "https://api.shop.example/ucp/v1",
    ///     "2026-04-08",
    /// )?;
    /// assert_eq!(merchant.endpoint(), "https://api.shop.example/ucp/v1");
    /// # }
    /// # Ok::<(), ucp_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Config`] when the origin or the endpoint is not an `https` URL (or, in development,
    /// one with `http` on a loopback host), or has parts that it must not have.
    pub fn at(agent: &Agent, origin: &str, endpoint: &str, version: &str) -> Result<Self, Error> {
        let development = agent.inner().development;
        let origin = endpoint::origin(origin, development)?
            .origin()
            .ascii_serialization();
        let endpoint = endpoint::base(endpoint, development)?;
        Ok(Self(Arc::new(Inner {
            agent: agent.clone(),
            origin,
            known: Known::Told {
                version: version.to_owned(),
                endpoint,
            },
        })))
    }

    /// A merchant as discovery found it.
    pub(crate) fn found(agent: &Agent, origin: String, found: Arc<Found>) -> Self {
        Self(Arc::new(Inner {
            agent: agent.clone(),
            origin,
            known: Known::Found(found),
        }))
    }

    /// The agent that buys here.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    /// The ASCII serialisation of the origin given to [`Agent::connect`] (RFC 6454 section 6.2).
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.0.origin
    }

    /// The release that is spoken with the merchant, for example `2026-04-08`: what says which
    /// generated client to use.
    ///
    /// ```no_run
    /// # mod april { pub const RELEASE: ucp_runtime::Release = ucp_runtime::Release::generated("2026-04-08", "dev.ucp.shopping", &[]); }
    /// # mod january { pub const RELEASE: ucp_runtime::Release = ucp_runtime::Release::generated("2026-01-23", "dev.ucp.shopping", &[]); }
    /// # async fn example() -> Result<(), ucp_runtime::Error> {
    /// // `april` and `january` are generated, each from its release.
    /// let agent = ucp_runtime::Agent::builder("https://agent.example/.well-known/ucp")?
    ///     .release(april::RELEASE)
    ///     .release(january::RELEASE)
    ///     .build()?;
    /// let merchant = agent.connect("https://shop.example").await?;
    /// if merchant.version() == april::RELEASE.version() {
    ///     // april::Client::new(&merchant)
    /// } else {
    ///     // january::Client::new(&merchant)
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn version(&self) -> &str {
        match &self.0.known {
            Known::Found(found) => &found.version,
            Known::Told { version, .. } => version,
        }
    }

    /// The base URL of the merchant's REST contract, without a slash at its end.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        match &self.0.known {
            Known::Found(found) => &found.endpoint,
            Known::Told { endpoint, .. } => endpoint,
        }
    }

    /// What was agreed with the merchant and what was left out, and why. `None` when the agent was
    /// given no [`release`](crate::AgentBuilder::release), and for [`Merchant::at`].
    #[must_use]
    pub fn negotiated(&self) -> Option<&Negotiated> {
        self.discovered()?.negotiated.as_ref()
    }

    /// The profile by which that was agreed; `None` for [`Merchant::at`]. Its keys are those of that
    /// moment: a [`KeySource`](crate::KeySource), such as the agent, knows the present ones.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        Some(&self.discovered()?.profile)
    }

    /// The merchant as the business of the orders placed with it: to be kept with each, so that
    /// [`WebhookVerifier`](crate::signatures::WebhookVerifier) takes their webhooks from nobody else.
    ///
    /// # Errors
    ///
    /// None for an origin that [`Agent::connect`] or [`Merchant::at`] took.
    pub fn business(&self) -> Result<Business, ConfigError> {
        let profile = format!("{}/.well-known/ucp", self.origin());
        Ok(Business::new(ProfileUrl::new(&profile)?, self.version()))
    }

    fn discovered(&self) -> Option<&Found> {
        match &self.0.known {
            Known::Found(found) => Some(found),
            Known::Told { .. } => None,
        }
    }
}

impl fmt::Debug for Merchant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merchant")
            .field("origin", &self.origin())
            .field("version", &self.version())
            .field("endpoint", &self.endpoint())
            .finish_non_exhaustive()
    }
}
