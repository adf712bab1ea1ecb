//! What an agent publishes about itself, at the URL that its `UCP-Agent` header names.

use crate::authority::{self, Unbound};
use crate::endpoint;
use crate::negotiation::Release;
use crate::profile::{PRIVATE, Shape, date};
use crate::public_jwk::{JwkError, PublicJwk};
use crate::wire::{Map, Value};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::HeaderValue;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const ORDER: &str = "dev.ucp.shopping.order";
/// The protocol wants no less (overview, "Hosting").
const SHORTEST_MAX_AGE: Duration = Duration::from_secs(60);

/// The profile of an agent ("platform" in the protocol) at one release, ready to be served. It is
/// cheap to clone, and equal input makes equal bytes.
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::Release;
/// use ucp_runtime::platform_profile::PlatformProfile;
///
/// // Generated code has this one as its `RELEASE`.
/// let release = Release::new("2026-04-08", "dev.ucp.shopping")
///     .capability("dev.ucp.shopping.checkout", "2026-04-08")
///     .capability("dev.ucp.shopping.order", "2026-04-08");
/// let profile = PlatformProfile::builder(&release)
///     .order_webhook("https://agent.example/webhooks/orders")
///     .public_key(json!({
///         "kid": "2026-1", "kty": "OKP", "crv": "Ed25519",
///         "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
///     }))
///     .build()?;
/// assert_eq!(profile.document()["signing_keys"][0]["kid"], "2026-1");
///
/// let response = profile.respond(&http::Request::get("/.well-known/ucp").body(())?);
/// assert_eq!(response.headers()["cache-control"], "public, max-age=3600");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformProfile(Arc<Inner>);

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    document: Value,
    bytes: Bytes,
    etag: HeaderValue,
    cache_control: HeaderValue,
}

/// A profile that cannot be published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlatformProfileError {
    /// The release's version is not a date.
    #[error("`{version}` is not a version: give the date of a release, such as 2026-04-08")]
    Version {
        /// The version.
        version: String,
    },
    /// A key that must not or cannot be published.
    #[error(transparent)]
    Key(#[from] JwkError),
    /// The URL for order webhooks.
    #[error("the order webhook is refused: {problem}; give an https URL")]
    Webhook {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An order webhook without the capability that it belongs to.
    #[error(
        "an order webhook needs the capability dev.ucp.shopping.order: generate its operations"
    )]
    NoOrders,
    /// A name that is no reverse-domain name of the release.
    #[error("`{name}` is not a reverse-domain name such as com.example.loyalty")]
    Name {
        /// The name.
        name: String,
    },
    /// A capability of others than the protocol, about which only you know where it is described.
    #[error("`{name}` is not part of the protocol: say by `describe(…)` where its schema is")]
    Undescribed {
        /// The capability or the service.
        name: String,
    },
    /// A description or a setting of a capability that the release does not have.
    #[error("`{name}` is described or set up, and the release does not have it")]
    Unused {
        /// The capability or the service.
        name: String,
    },
    /// A `config` that is not a JSON object.
    #[error("the config of `{name}` is not a JSON object")]
    Config {
        /// The capability.
        name: String,
    },
    /// A payment handler that lacks what a platform's must state.
    #[error("the payment handler `{name}` {problem}")]
    Handler {
        /// The handler.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A `schema` that does not come from who owns the name: readers would ignore the entry.
    #[error("`{name}`: {unbound}")]
    Unbound {
        /// The capability, the service or the payment handler.
        name: String,
        /// Why.
        unbound: Unbound,
    },
    /// A `max-age` that the protocol does not allow.
    #[error("a profile is cached for 60 s or more")]
    MaxAge,
}

/// Makes a [`PlatformProfile`].
#[derive(Clone, Debug)]
#[must_use]
pub struct PlatformProfileBuilder {
    release: Release,
    described: BTreeMap<String, [String; 2]>,
    configured: BTreeMap<String, Value>,
    handlers: BTreeMap<String, Vec<Value>>,
    keys: Vec<PublicJwk>,
    order_webhook: Option<String>,
    max_age: Duration,
    development: bool,
    /// The first key that was wrong.
    problem: Option<JwkError>,
}

impl PlatformProfile {
    /// Where a profile lies below an origin, by convention: an agent's may lie anywhere.
    pub const PATH: &'static str = "/.well-known/ucp";

    /// Begins the profile of an agent that speaks a release: its service and its capabilities.
    pub fn builder(release: &Release) -> PlatformProfileBuilder {
        PlatformProfileBuilder {
            release: release.clone(),
            described: BTreeMap::new(),
            configured: BTreeMap::new(),
            handlers: BTreeMap::new(),
            keys: Vec::new(),
            order_webhook: None,
            max_age: Duration::from_secs(60 * 60),
            development: false,
            problem: None,
        }
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.0.document
    }

    /// The document as it is served, byte for byte.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// The strong entity tag of those bytes (RFC 9110 section 8.8.3), in its quotes.
    #[must_use]
    pub fn etag(&self) -> &HeaderValue {
        &self.0.etag
    }
}

impl PlatformProfileBuilder {
    /// Where businesses report orders: an `https` URL (capability `dev.ucp.shopping.order`).
    pub fn order_webhook(mut self, url: impl Into<String>) -> Self {
        self.order_webhook = Some(url.into());
        self
    }

    /// Publishes a public signature key: the [`PublicKey`](crate::signatures::PublicKey) of what the
    /// agent signs with, a [`PublicJwk`], or a JSON object that is one. Several may be published, so
    /// that one can be replaced by another.
    pub fn public_key<K>(mut self, key: K) -> Self
    where
        K: TryInto<PublicJwk, Error: Into<JwkError>>,
    {
        match key.try_into() {
            Ok(key) => self.keys.push(key),
            Err(problem) => {
                self.problem.get_or_insert(problem.into());
            }
        }
        self
    }

    /// Names a payment handler that the agent supports: a JSON object with `id`, `version`, `spec`
    /// and `schema` (in 2026-01-11 with `id`, `version`, `spec`, `config_schema`,
    /// `instrument_schemas` and `config`), as whoever defines the handler documents it.
    pub fn payment_handler(mut self, name: impl Into<String>, entry: Value) -> Self {
        self.handlers.entry(name.into()).or_default().push(entry);
        self
    }

    /// Says where a capability that is not the protocol's own is described: its documentation, and
    /// its schema on a host that owns the name. It describes a service of others alike.
    pub fn describe(
        mut self,
        name: impl Into<String>,
        spec: impl Into<String>,
        schema: impl Into<String>,
    ) -> Self {
        let urls = [spec.into(), schema.into()];
        self.described.insert(name.into(), urls);
        self
    }

    /// The `config` of a capability, as its schema defines it.
    pub fn config(mut self, capability: impl Into<String>, config: Value) -> Self {
        self.configured.insert(capability.into(), config);
        self
    }

    /// How long it may be cached: 60 s or more, whole seconds. Default: one hour. A key that is
    /// withdrawn may be trusted for so long.
    pub fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// Allows a webhook with `http` on a loopback host.
    pub fn development(mut self) -> Self {
        self.development = true;
        self
    }

    /// The profile.
    ///
    /// # Errors
    ///
    /// [`PlatformProfileError`] for what the release does not allow in a platform's profile, and for
    /// a key with a private member.
    pub fn build(self) -> Result<PlatformProfile, PlatformProfileError> {
        if let Some(problem) = self.problem {
            return Err(problem.into());
        }
        let version = self.release.version();
        if date(version).is_none() {
            let version = version.to_owned();
            return Err(PlatformProfileError::Version { version });
        }
        if self.max_age < SHORTEST_MAX_AGE {
            return Err(PlatformProfileError::MaxAge);
        }
        let shape = Shape::of(version);
        let capabilities = self.capabilities(shape)?;
        let handlers = self.handlers(shape)?;
        let mut ucp = Map::new();
        put(&mut ucp, "version", version.into());
        put(&mut ucp, "services", self.services(shape)?);
        put(&mut ucp, "capabilities", capabilities);
        let mut document = Map::new();
        if shape.lists() {
            put(&mut document, "payment", json!({ "handlers": handlers }));
        } else {
            put(&mut ucp, "payment_handlers", handlers);
        }
        put(&mut document, "ucp", ucp.into());
        let keys = self.keys()?;
        if !keys.is_empty() {
            let member = if shape.has_keys() {
                "keys"
            } else {
                "signing_keys"
            };
            put(&mut document, member, keys.into());
        }

        let document = sorted(Value::Object(document));
        if let Some(member) = private_member(&document) {
            return Err(JwkError::Private { member }.into());
        }
        let bytes = Bytes::from(document.to_string());
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&bytes));
        let cache_control = format!("public, max-age={}", self.max_age.as_secs());
        // Neither text can hold what a header cannot.
        let value = |text: String| {
            HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
        };
        Ok(PlatformProfile(Arc::new(Inner {
            document,
            bytes,
            etag: value(format!("\"{digest}\"")),
            cache_control: value(cache_control),
        })))
    }

    fn services(&self, shape: Shape) -> Result<Value, PlatformProfileError> {
        let (name, version) = (self.release.service(), self.release.version());
        let [spec, schema] = self.description(name, shape)?;
        let entry = if shape.lists() {
            json!({ "version": version, "spec": spec })
        } else if shape.matches_by_name() {
            // There a platform's entry needs an endpoint, which an agent that only calls has not.
            return Ok(json!({}));
        } else {
            json!([{ "version": version, "spec": spec, "schema": schema, "transport": "rest" }])
        };
        Ok(json!({ name: entry }))
    }

    fn capabilities(&self, shape: Shape) -> Result<Value, PlatformProfileError> {
        let mut configured = self.configured.clone();
        if let Some((name, _)) = configured.iter().find(|(_, config)| !config.is_object()) {
            let name = name.clone();
            return Err(PlatformProfileError::Config { name });
        }
        let has = |name: &str| self.release.capabilities().any(|(of, _)| of == name);
        if let Some(url) = &self.order_webhook {
            let refuse = |problem| PlatformProfileError::Webhook { problem };
            endpoint::document(url, self.development).map_err(refuse)?;
            if !has(ORDER) {
                return Err(PlatformProfileError::NoOrders);
            }
            let config = configured.entry(ORDER.to_owned());
            if let Value::Object(config) = config.or_insert_with(|| json!({})) {
                put(config, "webhook_url", url.as_str().into());
            }
        }
        let mut set = configured.keys().chain(self.described.keys());
        if let Some(name) = set.find(|name| !has(name) && *name != self.release.service()) {
            let name = name.clone();
            return Err(PlatformProfileError::Unused { name });
        }

        let mut list = Vec::new();
        let mut map: BTreeMap<&str, Vec<Map>> = BTreeMap::new();
        for (name, version) in self.release.capabilities() {
            let [spec, schema] = self.description(name, shape)?;
            let mut entry = Map::new();
            put(&mut entry, "version", version.into());
            put(&mut entry, "spec", spec.into());
            put(&mut entry, "schema", schema.into());
            let covered = self.release.covered().iter().find(|of| of.name() == name);
            match covered.map_or(&[][..], |of| of.parents()) {
                [] => {}
                // The releases of January 2026 know one parent.
                [first, ..] if shape.matches_by_name() => put(&mut entry, "extends", json!(first)),
                [one] => put(&mut entry, "extends", json!(one)),
                many => put(&mut entry, "extends", json!(many)),
            }
            if let Some(config) = configured.get(name) {
                put(&mut entry, "config", config.clone());
            }
            if shape.lists() {
                put(&mut entry, "name", name.into());
                list.push(entry);
            } else {
                map.entry(name).or_default().push(entry);
            }
        }
        Ok(match shape.lists() {
            true => json!(list),
            false => json!(map),
        })
    }

    /// Where a capability or a service is described: its documentation, and its schema.
    fn description(&self, name: &str, shape: Shape) -> Result<[String; 2], PlatformProfileError> {
        let urls = match self.described.get(name) {
            Some(urls) => urls.clone(),
            None => self.published(name, shape).ok_or_else(|| {
                let name = name.to_owned();
                PlatformProfileError::Undescribed { name }
            })?,
        };
        named(name, shape)?;
        bound(name, &urls[1])?;
        Ok(urls)
    }

    /// Where the protocol publishes what is its own.
    fn published(&self, name: &str, shape: Shape) -> Option<[String; 2]> {
        let path = name.strip_prefix("dev.ucp.")?;
        // The releases of January 2026 are published without their dates.
        let base = match shape.matches_by_name() {
            true => "https://ucp.dev".to_owned(),
            false => format!("https://ucp.dev/{}", self.release.version()),
        };
        let schema = match path.split_once('.') {
            Some((area, entity)) => {
                format!("{base}/schemas/{area}/{}.json", entity.replace('.', "_"))
            }
            None if shape.lists() => format!("{base}/services/{path}/openapi.json"),
            None => format!("{base}/services/{path}/rest.openapi.json"),
        };
        Some([format!("{base}/specification/overview"), schema])
    }

    fn handlers(&self, shape: Shape) -> Result<Value, PlatformProfileError> {
        let required: &[&str] = if shape.lists() {
            &[
                "id",
                "version",
                "spec",
                "config_schema",
                "instrument_schemas",
                "config",
            ]
        } else {
            &["id", "version", "spec", "schema"]
        };
        let mut list = Vec::new();
        for (name, entries) in &self.handlers {
            named(name, shape)?;
            for entry in entries {
                let refuse = |problem| PlatformProfileError::Handler {
                    name: name.clone(),
                    problem,
                };
                let members = entry
                    .as_object()
                    .ok_or_else(|| refuse("is not a JSON object".into()))?;
                if let Some(member) = required
                    .iter()
                    .find(|member| !members.contains_key(**member))
                {
                    return Err(refuse(format!("has no `{member}`")));
                }
                for member in ["id", "version", "spec", "schema"] {
                    if members.get(member).is_some_and(|value| !value.is_string()) {
                        return Err(refuse(format!("has a `{member}` that is not a string")));
                    }
                }
                if let Some(Value::String(version)) = members.get("version")
                    && date(version).is_none()
                {
                    return Err(refuse("has a `version` that is not a date".into()));
                }
                if let Some(Value::String(schema)) = members.get("schema") {
                    bound(name, schema)?;
                }
                let mut entry = members.clone();
                put(&mut entry, "name", name.as_str().into());
                list.push(entry);
            }
        }
        Ok(match shape.lists() {
            true => json!(list),
            false => json!(self.handlers),
        })
    }

    fn keys(&self) -> Result<Vec<Value>, JwkError> {
        let mut keys: Vec<Value> = Vec::with_capacity(self.keys.len());
        for (at, key) in self.keys.iter().enumerate() {
            if self
                .keys
                .iter()
                .take(at)
                .any(|other| other.kid() == key.kid())
            {
                let kid = key.kid().to_owned();
                return Err(JwkError::Duplicate { kid });
            }
            keys.push(Value::Object(key.members().clone()));
        }
        Ok(keys)
    }
}

fn put(members: &mut Map, name: &str, value: Value) {
    members.insert(name.to_owned(), value);
}

/// The private member of a key anywhere in a document, such as in the `config` of a handler.
fn private_member(value: &Value) -> Option<&'static str> {
    match value {
        Value::Object(members) => {
            let is_key = members.contains_key("kty");
            let mut private = PRIVATE.into_iter().filter(|_| is_key);
            let own = private.find(|member| members.contains_key(*member));
            own.or_else(|| members.values().find_map(private_member))
        }
        Value::Array(items) => items.iter().find_map(private_member),
        _ => None,
    }
}

fn bound(name: &str, schema: &str) -> Result<(), PlatformProfileError> {
    authority::bind(name, schema).map_err(|unbound| PlatformProfileError::Unbound {
        name: name.to_owned(),
        unbound,
    })
}

/// Checks a reverse-domain name. After 2026-04-08 its labels may hold hyphens, and begin with a
/// digit from the second on.
fn named(name: &str, shape: Shape) -> Result<(), PlatformProfileError> {
    let wide = shape.has_keys();
    let is_label = |(at, label): (usize, &str)| {
        let starts = |c: char| c.is_ascii_lowercase() || (wide && at > 0 && c.is_ascii_digit());
        let holds = |c: char| {
            c.is_ascii_lowercase()
                || c.is_ascii_digit()
                || (c == '_' && at > 0)
                || (c == '-' && wide)
        };
        label.starts_with(starts) && label.chars().all(holds) && !label.ends_with('-')
    };
    if name.contains('.') && name.split('.').enumerate().all(is_label) {
        return Ok(());
    }
    Err(PlatformProfileError::Name {
        name: name.to_owned(),
    })
}

/// The same value with its members in order. Whether maps keep the order in which they were filled
/// is a feature of `serde_json` that others may switch on; the bytes must not depend on it.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<String, Value> = members.into_iter().collect();
            let members = members.into_iter();
            Value::Object(members.map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

mod serve;
#[cfg(test)]
mod tests;
