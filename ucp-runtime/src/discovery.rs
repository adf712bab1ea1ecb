//! Finding a merchant from its origin: which profile counts, and what is agreed by it.

mod cache;

pub(crate) use cache::Cache;

use crate::agent::{Agent, Inner};
use crate::endpoint;
use crate::error::{DiscoveryError, DiscoveryProblem, Error};
use crate::fetch::{self, Fetched};
use crate::merchant::Merchant;
use crate::negotiation::{Choice, Negotiated, Release, choose, negotiate};
use crate::profile::{Envelope, Profile, PublishedKeys};
use crate::response::RawResponse;
use cache::{Known, Want};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The service that is looked for where the agent was given no release.
const SERVICE: &str = "dev.ucp.shopping";

/// How merchants are found.
///
/// ```
/// use std::time::Duration;
/// use ucp_runtime::{Agent, Discovery};
///
/// # #[cfg(feature = "reqwest")] {
/// let discovery = Discovery::default()
///     .timeout(Duration::from_secs(5))
///     .stale_while_revalidate(Duration::from_secs(600));
/// let agent = Agent::builder("https://agent.example/.well-known/ucp")?
///     .discovery(discovery)
///     .build()?;
/// # }
/// # Ok::<(), ucp_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Discovery {
    pub(crate) timeout: Duration,
    pub(crate) limit: usize,
    stale: Duration,
    capacity: u64,
}

impl Default for Discovery {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            limit: 256 * 1024,
            stale: Duration::ZERO,
            capacity: 32 * 1024 * 1024,
        }
    }
}

impl Discovery {
    /// How long fetching one document may take, from the first byte sent to the last one read.
    /// Default: 10 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How many bytes of a document are read, at most. Default: 256 KiB. Less than 128 KiB counts as
    /// 128 KiB, which the protocol wants to be readable.
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes.max(128 * 1024);
        self
    }

    /// For how long after it went stale a profile is still used while it is fetched anew in the
    /// background. Default: not at all.
    pub fn stale_while_revalidate(mut self, stale: Duration) -> Self {
        self.stale = stale;
        self
    }

    /// How many bytes of documents are remembered, at most. Default: 32 MiB. What is read from them
    /// takes a few times as much memory.
    pub fn capacity(mut self, bytes: u64) -> Self {
        self.capacity = bytes;
        self
    }
}

/// What is known of a merchant, apart from who asks.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) version: String,
    pub(crate) endpoint: String,
    pub(crate) profile: Profile,
    pub(crate) keys: Arc<PublishedKeys>,
    /// How long the profile was, in bytes.
    pub(crate) size: usize,
    /// `None` where the agent was given no release.
    pub(crate) negotiated: Option<Negotiated>,
}

pub(crate) async fn connect(agent: &Agent, origin: &str) -> Result<Merchant, Error> {
    let root = endpoint::origin(origin, agent.inner().development)?;
    let origin = root.origin().ascii_serialization();
    let found = cache::find(agent, &origin, root, Want::Fresh).await?;
    Ok(Merchant::found(agent, origin, found))
}

/// The keys of the merchant at an origin; `force` fetches its profile anew where that is allowed.
pub(crate) async fn keys(
    agent: &Agent,
    origin: &str,
    force: bool,
) -> Result<Arc<PublishedKeys>, Error> {
    let root = endpoint::origin(origin, agent.inner().development)?;
    let origin = root.origin().ascii_serialization();
    let want = if force { Want::Forced } else { Want::Fresh };
    let found = cache::find(agent, &origin, root, want).await?;
    Ok(found.keys.clone())
}

/// Fetches the profile and, where another version is to be spoken, the one that it names for that.
/// The two are never merged. What is known already is revalidated where it can be.
async fn discover(
    agent: &Inner,
    origin: &Url,
    previous: Option<&Known>,
) -> Result<Known, Box<DiscoveryError>> {
    let mut url = origin.clone();
    url.set_path("/.well-known/ucp");
    let known = previous.map(|known| (&known.top.validators, known));
    let (fetched, top) = fetch::get(agent, &url, known).await?;
    // The version is read first: it says which shape the rest has, and a shape still to come must
    // not hide it.
    let envelope = match &fetched {
        Fetched::Same(known) => known.envelope.clone(),
        Fetched::New(document, response) => envelope(&url, document, response)?,
    };
    let own = own_release(agent, &envelope);
    let choice = match &own {
        Some(own) => Ok(Choice::Here(own)),
        None => choose(&envelope, &agent.releases),
    };
    let choice = choice.map_err(|refused| {
        Box::new(DiscoveryError {
            url: url.clone(),
            problem: DiscoveryProblem::NoRelease(refused),
            response: None,
        })
    })?;
    match choice {
        Choice::Here(release) => {
            let found = agree(&url, fetched, release, own.is_none())?;
            Ok(Known::new(found, envelope, top, None))
        }
        Choice::Leaf(leaf) => {
            let known = previous.and_then(|known| {
                let (url, freshness) = known.leaf.as_ref()?;
                let is_it = *url == leaf.url && known.found.version == leaf.release.version();
                is_it.then_some((&freshness.validators, known))
            });
            let (fetched, freshness) = fetch::get(agent, &leaf.url, known).await?;
            if let Fetched::New(document, response) = &fetched {
                let envelope = self::envelope(&leaf.url, document, response)?;
                (leaf.check(&envelope)).map_err(|other| {
                    failed(&leaf.url, DiscoveryProblem::NotTheLeaf(other), response)
                })?;
            }
            let found = agree(&leaf.url, fetched, leaf.release, true)?;
            Ok(Known::new(
                found,
                envelope,
                top,
                Some((leaf.url, freshness)),
            ))
        }
    }
}

/// Without releases of the agent's, a merchant is spoken to at its own version.
fn own_release(agent: &Inner, envelope: &Envelope) -> Option<Release> {
    let own = Release::new(&envelope.version, SERVICE);
    match (agent.releases.is_empty(), agent.development) {
        (false, _) => None,
        (true, false) => Some(own),
        (true, true) => Some(own.development()),
    }
}

fn envelope(
    url: &Url,
    document: &serde_json::Value,
    response: &RawResponse,
) -> Result<Envelope, Box<DiscoveryError>> {
    Envelope::read(document)
        .map_err(|problem| failed(url, DiscoveryProblem::NotAProfile(problem), response))
}

fn agree(
    url: &Url,
    fetched: Fetched<&Known>,
    release: &Release,
    negotiated: bool,
) -> Result<Arc<Found>, Box<DiscoveryError>> {
    match fetched {
        Fetched::Same(known) => Ok(known.found.clone()),
        Fetched::New(document, response) => bind(document, release, negotiated)
            .map(|found| {
                let size = response.bytes().len();
                Arc::new(Found { size, ..found })
            })
            .map_err(|problem| failed(url, problem, &response)),
    }
}

/// Agrees with a merchant by one profile. Unless that is `negotiated`, only its endpoint is of
/// interest.
fn bind(
    document: serde_json::Value,
    release: &Release,
    negotiated: bool,
) -> Result<Found, DiscoveryProblem> {
    let profile = Profile::read(document).map_err(DiscoveryProblem::NotAProfile)?;
    let agreed = negotiate(&profile, release).map_err(DiscoveryProblem::NoRelease)?;
    let agreed = agreed.require(&release.requirements());
    let Some(endpoint) = agreed.endpoint() else {
        return Err(DiscoveryProblem::NoEndpoint {
            version: profile.version.clone(),
            service: release.service().to_owned(),
            offers: agreed.offers().to_vec(),
        });
    };
    Ok(Found {
        version: agreed.version().to_owned(),
        endpoint: endpoint.to_owned(),
        keys: Arc::new(profile.keys.clone()),
        profile,
        size: 0,
        negotiated: negotiated.then_some(agreed),
    })
}

fn failed(url: &Url, problem: DiscoveryProblem, response: &RawResponse) -> Box<DiscoveryError> {
    let mut response = response.clone();
    response.shorten(fetch::KEPT);
    Box::new(DiscoveryError {
        url: url.clone(),
        problem,
        response: Some(response),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn bind(document: Value) -> Result<Found, DiscoveryProblem> {
        let envelope = Envelope::read(&document).map_err(DiscoveryProblem::NotAProfile)?;
        super::bind(document, &Release::new(envelope.version, SERVICE), false)
    }

    #[test]
    fn reads_the_shape_of_january_11() {
        let profile = json!({"ucp": {"version": "2026-01-11", "services": {"dev.ucp.shopping": {
            "version": "2026-01-11", "rest": {"endpoint": "https://m.example/api/"},
            "mcp": null, "a2a": null, "embedded": null,
        }}}});
        let found = bind(profile.clone()).unwrap();
        assert_eq!(found.version, "2026-01-11");
        assert_eq!(found.endpoint, "https://m.example/api");
        assert_eq!(found.profile.document, profile);
    }

    #[test]
    fn takes_the_first_usable_rest_binding() {
        let profile = json!({"version": "2026-01-23", "ucp": {"version": "2026-04-08", "services": {"dev.ucp.shopping": [
            {"transport": "mcp", "version": "2026-04-08", "endpoint": "https://m.example/mcp"},
            {"transport": "rest", "version": "2026-01-23", "endpoint": "https://m.example/old"},
            {"transport": "rest", "version": "2026-04-08", "endpoint": "https://m.example/v2"},
        ]}}});
        let found = bind(profile).unwrap();
        assert_eq!(
            (found.version.as_str(), found.endpoint.as_str()),
            ("2026-04-08", "https://m.example/v2")
        );
    }

    #[test]
    fn says_what_was_offered_and_why_not() {
        let profile = json!({"ucp": {"version": "2026-08-25", "services": {"dev.ucp.shopping": [
            {"transport": "mcp", "version": "2026-08-25", "endpoint": "https://m.example/mcp"},
            {"transport": "embedded", "version": "2026-04-08"},
            {"transport": "rest", "version": "2026-04-08", "endpoint": "https://m.example"},
            {"transport": "rest", "version": "2026-08-25"},
            {"transport": "rest", "endpoint": "http://u:SECRET@m.example/x?t=SECRET"},
        ]}}});
        let problem = bind(profile).unwrap_err().to_string();
        assert_eq!(
            problem,
            "its profile of version 2026-08-25 offers no usable REST endpoint for dev.ucp.shopping: \
             mcp 2026-08-25 (not the REST transport), \
             embedded 2026-04-08 (not the REST transport), \
             rest 2026-04-08 (not of the profile's version 2026-08-25), \
             rest 2026-08-25 (without an endpoint), \
             rest of no version (the endpoint `http://m.example/x` is refused: its scheme is not https; an endpoint is an https URL without a query)"
        );
    }

    #[test]
    fn c102_the_wrapper_says_the_version() {
        for (profile, flat) in [
            (json!({"version": "2026-04-08"}), true),
            (
                json!({"ucp": {}, "version": "2026-04-08", "services": {}}),
                true,
            ),
            (json!({"ucp": {}}), false),
            (json!([]), false),
            (json!({"ucp": {"version": 20260408}}), false),
        ] {
            match bind(profile) {
                Err(DiscoveryProblem::NotAProfile(found)) => assert_eq!(found.flat, flat),
                other => panic!("{other:?}"),
            }
        }
        // Seen in the wild: all of a profile but its wrapper.
        let endpoint =
            json!({"dev.ucp.shopping": [{"transport": "rest", "endpoint": "https://m.example"}]});
        let found = bind(json!({"version": "2026-04-08", "services": endpoint})).unwrap();
        assert_eq!(found.endpoint, "https://m.example");
        assert_eq!(
            found.profile.notes[0].to_string(),
            "$: the `ucp` wrapper is absent; its members are read from the root"
        );
    }

    #[test]
    fn a_profile_without_the_service_offers_nothing() {
        for services in [
            json!(null),
            json!([]),
            json!({}),
            json!({"dev.ucp.shopping": []}),
        ] {
            let profile = json!({"ucp": {"version": "2026-04-08", "services": services}});
            assert!(matches!(
                bind(profile),
                Err(DiscoveryProblem::NoEndpoint { offers, .. }) if offers.is_empty()
            ));
        }
    }
}
