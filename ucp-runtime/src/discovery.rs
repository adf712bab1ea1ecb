//! Finding a merchant from its origin.

use crate::agent::Agent;
use crate::endpoint;
use crate::error::{DiscoveryError, DiscoveryProblem, Error, Offer, shown};
use crate::execute;
use crate::ids;
use crate::merchant::Merchant;
use crate::response::RawResponse;
use crate::wire;
use http::{Method, StatusCode};
use serde_json::Value;
use url::Url;

const SERVICE: &str = "dev.ucp.shopping";
/// The protocol wants no less than 128 KiB.
const LIMIT: usize = 256 * 1024;

pub(crate) async fn connect(agent: &Agent, origin: &str) -> Result<Merchant, Error> {
    let inner = agent.inner();
    let root = endpoint::origin(origin, inner.development)?;
    let origin = root.origin().ascii_serialization();
    let mut url = root;
    url.set_path("/.well-known/ucp");

    let request_id = ids::random(inner.randomness.as_ref())
        .map_err(|problem| Error::not_sent("discovery", problem))?;
    let headers = execute::base_headers(inner, request_id)
        .map_err(|problem| Error::not_sent("discovery", problem))?;
    let request = execute::Message {
        method: Method::GET,
        url: url.clone(),
        headers,
        body: None,
    };
    let (response, broken) = execute::exchange(inner, request, inner.timeout, LIMIT).await?;

    let found = match (response.status(), broken) {
        (status, _) if status.is_redirection() => Err(match response.location() {
            Some(to) => DiscoveryProblem::Redirect { to: shown(to) },
            None => DiscoveryProblem::Status(status),
        }),
        (StatusCode::OK, None) => response
            .json()
            .map_err(DiscoveryProblem::Body)
            .and_then(|profile| bind(profile, inner.development)),
        (StatusCode::OK, Some(problem)) => Err(DiscoveryProblem::Body(problem)),
        (status, _) => Err(DiscoveryProblem::Status(status)),
    };
    match found {
        Ok(Binding {
            version,
            endpoint,
            profile,
        }) => {
            tracing::debug!(origin, version, endpoint, "found a merchant");
            Ok(Merchant::found(agent, origin, endpoint, version, profile))
        }
        Err(problem) => Err(failed(url, problem, response)),
    }
}

fn failed(url: Url, problem: DiscoveryProblem, response: RawResponse) -> Error {
    Error::Discovery(Box::new(DiscoveryError {
        url,
        problem,
        response: Some(response),
    }))
}

#[derive(Debug)]
struct Binding {
    version: String,
    endpoint: String,
    profile: Value,
}

/// Picks the REST endpoint out of a profile. The version is read first: it says which shape the rest
/// has, and a shape still to come must not hide it.
fn bind(profile: Value, development: bool) -> Result<Binding, DiscoveryProblem> {
    let Some(version) = profile.get("ucp").and_then(|ucp| wire::tag(ucp, "version")) else {
        return Err(DiscoveryProblem::NoVersion {
            flat: wire::has(&profile, "version"),
        });
    };
    let version = version.to_owned();
    let service = profile
        .get("ucp")
        .and_then(|ucp| ucp.get("services"))
        .and_then(|services| services.get(SERVICE));
    let offered = match service {
        Some(Value::Array(bindings)) => bindings.iter().map(Offered::of_binding).collect(),
        Some(service @ Value::Object(_)) => Offered::of_transports(service),
        _ => Vec::new(),
    };
    let mut offers = Vec::new();
    for offer in offered {
        match offer.judge(&version, development) {
            Ok(endpoint) => {
                return Ok(Binding {
                    version,
                    endpoint,
                    profile,
                });
            }
            Err(refused) => offers.push(Offer {
                transport: offer.transport.to_owned(),
                version: offer.version.unwrap_or("of no version").to_owned(),
                refused,
            }),
        }
    }
    Err(DiscoveryProblem::NoEndpoint {
        version,
        service: SERVICE,
        offers,
    })
}

/// One way in which a profile offers the service.
struct Offered<'p> {
    transport: &'p str,
    version: Option<&'p str>,
    endpoint: Option<&'p str>,
}

impl<'p> Offered<'p> {
    /// An entry of the list that profiles have from 2026-01-23 on.
    fn of_binding(binding: &'p Value) -> Self {
        Self {
            transport: wire::tag(binding, "transport").unwrap_or("of no transport"),
            version: wire::tag(binding, "version"),
            endpoint: wire::tag(binding, "endpoint"),
        }
    }

    /// The transports of the single object that profiles have in 2026-01-11.
    fn of_transports(service: &'p Value) -> Vec<Self> {
        ["rest", "mcp", "a2a", "embedded"]
            .into_iter()
            .filter_map(|transport| {
                let entry = service.get(transport).filter(|entry| entry.is_object())?;
                Some(Self {
                    transport,
                    version: wire::tag(service, "version"),
                    endpoint: wire::tag(entry, "endpoint"),
                })
            })
            .collect()
    }

    /// The endpoint, or why the offer cannot be taken.
    fn judge(&self, version: &str, development: bool) -> Result<String, String> {
        if self.transport != "rest" {
            return Err("not the REST transport".to_owned());
        }
        if self.version.is_some_and(|own| own != version) {
            return Err(format!("not of the profile's version {version}"));
        }
        let endpoint = self.endpoint.ok_or("without an endpoint")?;
        endpoint::base(endpoint, development).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_the_shape_of_january_11() {
        let profile = json!({"ucp": {"version": "2026-01-11", "services": {"dev.ucp.shopping": {
            "version": "2026-01-11", "rest": {"endpoint": "https://m.example/api/"},
            "mcp": null, "a2a": null, "embedded": null,
        }}}});
        let binding = bind(profile.clone(), false).unwrap();
        assert_eq!(binding.version, "2026-01-11");
        assert_eq!(binding.endpoint, "https://m.example/api");
        assert_eq!(binding.profile, profile);
    }

    #[test]
    fn takes_the_first_usable_rest_binding() {
        let profile = json!({"version": "2026-01-23", "ucp": {"version": "2026-04-08", "services": {"dev.ucp.shopping": [
            {"transport": "mcp", "version": "2026-04-08", "endpoint": "https://m.example/mcp"},
            {"transport": "rest", "version": "2026-01-23", "endpoint": "https://m.example/old"},
            {"transport": "rest", "version": "2026-04-08", "endpoint": "https://m.example/v2"},
        ]}}});
        let binding = bind(profile, false).unwrap();
        assert_eq!(
            (binding.version.as_str(), binding.endpoint.as_str()),
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
        let problem = bind(profile, false).unwrap_err().to_string();
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
    fn only_ucp_version_counts() {
        for (profile, flat) in [
            (json!({"version": "2026-04-08", "services": {}}), true),
            (json!({"ucp": {}}), false),
            (json!([]), false),
            (json!({"ucp": {"version": 20260408}}), false),
        ] {
            match bind(profile, false) {
                Err(DiscoveryProblem::NoVersion { flat: found }) => assert_eq!(found, flat),
                other => panic!("{other:?}"),
            }
        }
        for services in [
            json!(null),
            json!([]),
            json!({}),
            json!({"dev.ucp.shopping": []}),
        ] {
            let profile = json!({"ucp": {"version": "2026-04-08", "services": services}});
            assert!(matches!(
                bind(profile, false),
                Err(DiscoveryProblem::NoEndpoint { offers, .. }) if offers.is_empty()
            ));
        }
    }
}
