//! Finding a merchant from its origin: which profile counts, and what is agreed by it.

use crate::agent::{Agent, Inner};
use crate::endpoint;
use crate::error::{DiscoveryError, DiscoveryProblem, Error};
use crate::fetch;
use crate::merchant::Merchant;
use crate::negotiation::{Choice, Negotiated, Release, choose, negotiate};
use crate::profile::{Envelope, Profile, PublishedKeys};
use crate::response::RawResponse;
use std::sync::Arc;
use url::Url;

/// The service that is looked for where the agent was given no release.
const SERVICE: &str = "dev.ucp.shopping";

/// What is known of a merchant, apart from who asks.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) version: String,
    pub(crate) endpoint: String,
    pub(crate) profile: Profile,
    pub(crate) keys: Arc<PublishedKeys>,
    /// `None` where the agent was given no release.
    pub(crate) negotiated: Option<Negotiated>,
}

pub(crate) async fn connect(agent: &Agent, origin: &str) -> Result<Merchant, Error> {
    let root = endpoint::origin(origin, agent.inner().development)?;
    let origin = root.origin().ascii_serialization();
    let found = find(agent.inner(), root).await?;
    Ok(Merchant::found(agent, origin, found))
}

/// The keys of the merchant at an origin.
pub(crate) async fn keys(agent: &Agent, origin: &str) -> Result<Arc<PublishedKeys>, Error> {
    let root = endpoint::origin(origin, agent.inner().development)?;
    let found = find(agent.inner(), root).await?;
    Ok(found.keys.clone())
}

async fn find(agent: &Inner, origin: Url) -> Result<Arc<Found>, Error> {
    let found = discover(agent, origin).await;
    let found = found.map_err(|error| Error::Discovery(Arc::new(error)))?;
    tracing::debug!(
        version = found.version,
        endpoint = found.endpoint,
        "found a merchant"
    );
    Ok(Arc::new(found))
}

/// Fetches the profile and, where another version is to be spoken, the one that it names for that.
/// The two are never merged.
async fn discover(agent: &Inner, origin: Url) -> Result<Found, DiscoveryError> {
    let mut url = origin;
    url.set_path("/.well-known/ucp");
    let (document, response) = fetch::json(agent, &url).await?;
    let fail = |problem| failed(&url, problem, &response);
    // The version is read first: it says which shape the rest has, and a shape still to come must
    // not hide it.
    let envelope = Envelope::read(&document)
        .map_err(DiscoveryProblem::NotAProfile)
        .map_err(fail)?;
    if agent.releases.is_empty() {
        let mut own = Release::new(&envelope.version, SERVICE);
        if agent.development {
            own = own.development();
        }
        return agree(document, &own, false).map_err(fail);
    }
    let choice = choose(&envelope, &agent.releases)
        .map_err(DiscoveryProblem::NoRelease)
        .map_err(fail)?;
    let leaf = match choice {
        Choice::Here(release) => return agree(document, release, true).map_err(fail),
        Choice::Leaf(leaf) => leaf,
    };
    let (document, response) = fetch::json(agent, &leaf.url).await?;
    let fail = |problem| failed(&leaf.url, problem, &response);
    let envelope = Envelope::read(&document)
        .map_err(DiscoveryProblem::NotAProfile)
        .map_err(fail)?;
    leaf.check(&envelope)
        .map_err(DiscoveryProblem::NotTheLeaf)
        .map_err(fail)?;
    agree(document, leaf.release, true).map_err(fail)
}

/// Agrees with a merchant by one profile. Without a release of the agent's, `release` is the
/// profile's own and only the endpoint is of interest.
fn agree(
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
        negotiated: negotiated.then_some(agreed),
    })
}

fn failed(url: &Url, problem: DiscoveryProblem, response: &RawResponse) -> DiscoveryError {
    let mut response = response.clone();
    response.shorten(fetch::KEPT);
    DiscoveryError {
        url: url.clone(),
        problem,
        response: Some(response),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn bind(document: Value) -> Result<Found, DiscoveryProblem> {
        let envelope = Envelope::read(&document).map_err(DiscoveryProblem::NotAProfile)?;
        agree(document, &Release::new(envelope.version, SERVICE), false)
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
