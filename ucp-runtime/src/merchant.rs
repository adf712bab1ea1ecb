//! A merchant: where its requests go and what it speaks.

use crate::agent::Agent;
use crate::endpoint;
use crate::error::Error;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A merchant as an agent found it. Cheap to clone; every generated client is made of one.
#[derive(Clone)]
pub struct Merchant(Arc<Inner>);

struct Inner {
    agent: Agent,
    origin: String,
    version: String,
    endpoint: String,
    profile: Value,
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
            version: version.to_owned(),
            endpoint,
            profile: Value::Null,
        })))
    }

    /// A merchant whose origin and endpoint were checked already.
    pub(crate) fn found(
        agent: &Agent,
        origin: String,
        endpoint: String,
        version: String,
        profile: Value,
    ) -> Self {
        Self(Arc::new(Inner {
            agent: agent.clone(),
            origin,
            version,
            endpoint,
            profile,
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

    /// The merchant's `ucp.version`, for example `2026-04-08`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// The base URL of the merchant's REST contract, without a slash at its end.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }

    /// The profile as it arrived; `null` for [`Merchant::at`].
    #[must_use]
    pub fn profile(&self) -> &Value {
        &self.0.profile
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
