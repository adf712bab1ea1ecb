//! Who calls: the `UCP-Agent` header and the profile that it points to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sfv::{BareItem, Dictionary, ListEntry, Parser};
use ucp_runtime::profile::PublishedKeys;
use url::{Host, Url};

use crate::answer::Answer;
use crate::profile::{self, ORDER, RELEASE};
use crate::{lock, outbound};

/// How long a fetched profile is good for.
const FRESH: SignedDuration = SignedDuration::from_secs(60);
/// The largest profile that is read.
const LARGEST_PROFILE: usize = 128 * 1024;
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// A calling agent, as its profile describes it.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The URL of the profile: the agent's identity.
    pub(crate) profile: String,
    /// Where it wants to hear of its orders.
    pub(crate) webhook: Option<Url>,
    /// The capabilities in common.
    pub(crate) common: BTreeSet<&'static str>,
    /// The keys that it signs with.
    pub(crate) keys: PublishedKeys,
}

/// Fetches profiles and keeps them for a while.
pub(crate) struct Agents {
    client: reqwest::Client,
    known: Mutex<BTreeMap<String, (Timestamp, Arc<Agent>)>>,
}

impl Agents {
    pub(crate) fn new() -> Result<Self, crate::Error> {
        Ok(Agents {
            client: outbound::client(TIMEOUT)?,
            known: Mutex::default(),
        })
    }

    /// The agent that publishes the profile.
    pub(crate) async fn identify(&self, url: Url, now: Timestamp) -> Result<Arc<Agent>, Answer> {
        if let Some((fetched, agent)) = lock(&self.known).get(url.as_str())
            && now.duration_since(*fetched) < FRESH
        {
            return Ok(agent.clone());
        }
        let agent = Arc::new(read(&url, &self.fetch(&url).await?)?);
        lock(&self.known).insert(url.into(), (now, agent.clone()));
        Ok(agent)
    }

    async fn fetch(&self, url: &Url) -> Result<Vec<u8>, Answer> {
        let unreachable = |why: &dyn std::fmt::Display| {
            Answer::refused(424, "profile_unreachable", &format!("{url}: {why}"))
        };
        let request = self.client.get(url.clone());
        let request = request.header("accept", "application/json");
        let mut response = request.send().await.map_err(|error| unreachable(&error))?;
        if !response.status().is_success() {
            return Err(unreachable(&response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| unreachable(&error))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_PROFILE {
                return Err(malformed("the profile is too large"));
            }
        }
        Ok(body)
    }
}

fn malformed(why: &str) -> Answer {
    Answer::refused(422, "profile_malformed", why)
}

/// The URL in `UCP-Agent: profile="…"`.
pub(crate) fn profile_url(headers: &HeaderMap) -> Result<Url, Answer> {
    let lines: Vec<&[u8]> = headers
        .get_all("ucp-agent")
        .iter()
        .map(|value| value.as_bytes())
        .collect();
    if lines.is_empty() {
        let content = "Every request names its agent: UCP-Agent: profile=\"https://…\".";
        return Err(Answer::refused(400, "missing_ucp_agent", content));
    }
    let invalid = |why: &str| Answer::refused(400, "invalid_profile_url", why);
    let dictionary = Parser::new(&lines.join(&b", "[..]))
        .parse::<Dictionary>()
        .map_err(|error| invalid(&format!("UCP-Agent is not a dictionary: {error}")))?;
    let Some(ListEntry::Item(item)) = dictionary.get("profile") else {
        return Err(invalid("UCP-Agent has no member \"profile\""));
    };
    let BareItem::String(text) = &item.bare_item else {
        return Err(invalid("the profile is not a string"));
    };
    let url = Url::parse(text.as_str())
        .map_err(|error| invalid(&format!("the profile is not a URL: {error}")))?;
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    // A sandbox lives beside its agents, so plain HTTP is good enough on loopback.
    if url.scheme() != "https" && !(url.scheme() == "http" && loopback) {
        return Err(invalid("the profile is not an https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("the profile's URL carries credentials"));
    }
    Ok(url)
}

fn read(url: &Url, body: &[u8]) -> Result<Agent, Answer> {
    let document: Value = serde_json::from_slice(body)
        .map_err(|error| malformed(&format!("the profile is not JSON: {error}")))?;
    let Some(version) = document.pointer("/ucp/version").and_then(Value::as_str) else {
        return Err(malformed("the profile has no ucp.version"));
    };
    if version != RELEASE {
        let content = format!("{version} is not spoken here, only {RELEASE} is.");
        return Err(Answer::refused(422, "version_unsupported", &content));
    }
    let webhook = document["ucp"]["capabilities"][ORDER]
        .as_array()
        .into_iter()
        .flatten()
        .find_map(|entry| entry["config"]["webhook_url"].as_str());
    let webhook = webhook
        .map(Url::parse)
        .transpose()
        .map_err(|error| malformed(&format!("the webhook_url is not a URL: {error}")))?;
    Ok(Agent {
        profile: url.to_string(),
        webhook,
        common: profile::negotiate(&document),
        // This release calls them so; a later one's `keys` are not looked at.
        keys: PublishedKeys::from_jwk_set(&json!({ "keys": document["signing_keys"] })),
    })
}
