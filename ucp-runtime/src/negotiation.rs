//! What an agent and a business agree on: a release, an endpoint, capabilities (overview,
//! "Negotiation Protocol" and "Versioning"). Nothing here does I/O.
//!
//! 1. [`choose`] picks the release from a profile's [`Envelope`](crate::profile::Envelope): the
//!    profile itself, or the leaf to fetch instead, which [`Leaf::check`] then judges.
//! 2. [`negotiate`] picks endpoint, capabilities and handlers from that one profile.
//! 3. [`Negotiated::require`] leaves out the extensions whose schemas ask for other versions, where
//!    the schemas are known.
//! 4. [`Negotiated::active`] says what one response makes use of.

mod explain;
mod release;
mod requires;

pub use explain::Explain;
pub use release::{Choice, Covered, Leaf, NoRelease, NotTheLeaf, Release, choose};
pub use requires::{Bound, Requires, Unmet};

use crate::anomaly::Anomaly;
use crate::authority::Unbound;
use crate::endpoint;
use crate::error::Offer;
use crate::profile::{Capability, PaymentHandler, Profile, Service, Shape, by_date};
use crate::wire::{self, Note, Value};
use explain::Plain;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// What an agent and a business agree on.
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::{Profile, Release, negotiation::negotiate};
///
/// let profile = Profile::read(json!({"ucp": {
///     "version": "2026-04-08",
///     "services": {"dev.ucp.shopping": [
///         {"version": "2026-04-08", "transport": "mcp", "endpoint": "https://shop.example/mcp"},
///         {"version": "2026-04-08", "transport": "rest", "endpoint": "https://shop.example/ucp"},
///     ]},
///     "capabilities": {
///         "dev.ucp.shopping.checkout": [{"version": "2026-04-08"}],
///         "dev.ucp.shopping.order": [{"version": "2026-04-08"}],
///     },
///     "payment_handlers": {},
/// }}))?;
/// let release = Release::new("2026-04-08", "dev.ucp.shopping")
///     .capability("dev.ucp.shopping.checkout", "2026-04-08");
/// let agreed = negotiate(&profile, &release)?;
/// assert_eq!(agreed.endpoint(), Some("https://shop.example/ucp"));
/// assert!(agreed.has("dev.ucp.shopping.checkout"));
/// assert_eq!(
///     agreed.explain().to_string(),
///     "UCP 2026-04-08\n\
///      endpoint: https://shop.example/ucp\n\
///      capabilities:\n  \
///        dev.ucp.shopping.checkout 2026-04-08\n\
///      payment handlers: none\n\
///      left out:\n  \
///        service dev.ucp.shopping mcp 2026-04-08: not the REST transport\n  \
///        capability dev.ucp.shopping.order: we do not offer it\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Negotiated {
    version: String,
    profile_version: String,
    service: String,
    endpoint: Option<String>,
    offers: Vec<Offer>,
    capabilities: BTreeMap<String, Agreed>,
    payment_handlers: Vec<(String, Vec<PaymentHandler>)>,
    left_out: Vec<LeftOut>,
    notes: Vec<Note>,
}

/// A capability that both sides have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreed {
    /// The version: the highest that both have. In January 2026, where names alone are matched and
    /// no version is common, the highest of the business.
    pub version: String,
    /// The URL of its schema, whose host owns the name (not yet safe to fetch).
    pub schema: Option<String>,
    /// The capabilities that it extends.
    pub extends: Vec<String>,
}

/// Something that is treated as absent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// What it is.
    pub kind: Kind,
    /// Its name, for example `dev.ucp.shopping.checkout`.
    pub name: String,
    /// Its version, where the reason concerns one entry of several.
    pub version: Option<String>,
    /// Why.
    pub why: Why,
}

/// What a name of a profile names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A service.
    Service,
    /// A capability or an extension.
    Capability,
    /// A payment handler.
    PaymentHandler,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Service => "service",
            Self::Capability => "capability",
            Self::PaymentHandler => "payment handler",
        })
    }
}

/// Why something is treated as absent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Its `schema` does not come from who owns the name.
    Unbound(Unbound),
    /// The business offers it and we do not.
    NotOurs,
    /// We offer it and the business does not, or not in a usable way.
    NotTheirs,
    /// It states no version.
    NoVersion,
    /// It is part of the protocol and of another release than its profile.
    OtherRelease {
        /// The version of the profile.
        profile: String,
    },
    /// Both offer it, at no common version.
    NoCommonVersion {
        /// Our versions.
        ours: Vec<String>,
        /// The versions of the business.
        theirs: Vec<String>,
    },
    /// It extends capabilities of which none is left.
    NoParent {
        /// What it extends.
        extends: Vec<String>,
    },
    /// Its schema asks for something else.
    Requires(Unmet),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbound(unbound) => unbound.fmt(f),
            Self::NotOurs => f.write_str("we do not offer it"),
            Self::NotTheirs => f.write_str("the business does not offer it"),
            Self::NoVersion => f.write_str("it states no version"),
            Self::OtherRelease { profile } => {
                write!(f, "not of the profile's version {}", Plain(profile))
            }
            Self::NoCommonVersion { ours, theirs } => write!(
                f,
                "no common version: ours {}, theirs {}",
                Plain(&ours.join(", ")),
                Plain(&theirs.join(", "))
            ),
            Self::NoParent { extends } => {
                write!(
                    f,
                    "it extends {}, which is absent",
                    Plain(&extends.join(" or "))
                )
            }
            Self::Requires(unmet) => unmet.fmt(f),
        }
    }
}

/// Agrees with a business on an endpoint, capabilities and handlers, by one profile of it.
///
/// # Errors
///
/// [`NoRelease`] when the profile is of another release: see [`choose`].
pub fn negotiate(profile: &Profile, release: &Release) -> Result<Negotiated, NoRelease> {
    if !release.is_served_by(&profile.version) {
        return Err(NoRelease {
            ours: vec![release.version().to_owned()],
            version: profile.version.clone(),
            refused: Vec::new(),
        });
    }
    let mut agreed = Negotiated {
        version: release.version().to_owned(),
        profile_version: profile.version.clone(),
        service: release.service().to_owned(),
        endpoint: None,
        offers: Vec::new(),
        capabilities: BTreeMap::new(),
        payment_handlers: Vec::new(),
        left_out: Vec::new(),
        notes: profile.notes.clone(),
    };
    agreed.services(profile, release);
    agreed.intersect(profile, release);
    agreed.prune();
    agreed.handlers(profile, release);
    Ok(agreed)
}

impl Negotiated {
    fn leave_out(&mut self, kind: Kind, name: &str, version: Option<&String>, why: Why) {
        self.left_out.push(LeftOut {
            kind,
            name: name.to_owned(),
            version: version.cloned(),
            why,
        });
    }

    fn services(&mut self, profile: &Profile, release: &Release) {
        for (name, entries) in profile.services.iter() {
            if name != release.service() {
                self.leave_out(Kind::Service, name, None, Why::NotOurs);
                continue;
            }
            for entry in entries {
                match judge(entry, &profile.version, release) {
                    Ok(endpoint) => {
                        self.endpoint.get_or_insert(endpoint);
                    }
                    Err(refused) => self.offers.push(Offer {
                        transport: entry.transport.clone(),
                        version: (entry.version.clone()).unwrap_or_else(|| "of no version".into()),
                        refused,
                    }),
                }
            }
        }
    }

    fn intersect(&mut self, profile: &Profile, release: &Release) {
        let shape = Shape::of(&profile.version);
        let by_name = shape.matches_by_name();
        let mut offered: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, version) in release.capabilities() {
            offered.entry(name).or_default().push(version);
        }
        for (name, entries) in profile.capabilities.iter() {
            let is_core = name.starts_with("dev.ucp.");
            let mut usable: Vec<(&str, &Capability)> = Vec::with_capacity(entries.len());
            for entry in entries {
                let version = entry.version.as_ref();
                if let Some(unbound) = release.refuses(entry.unbound.as_ref()) {
                    self.leave_out(Kind::Capability, name, version, Why::Unbound(unbound));
                    continue;
                }
                match version {
                    Some(version)
                        if is_core && shape.is_snapshot() && *version != profile.version =>
                    {
                        let profile = profile.version.clone();
                        let why = Why::OtherRelease { profile };
                        self.leave_out(Kind::Capability, name, Some(version), why);
                    }
                    Some(version) => usable.push((version, entry)),
                    // What belongs to a release is of that release, said or not.
                    None if is_core || by_name => usable.push((&profile.version, entry)),
                    None => self.leave_out(Kind::Capability, name, None, Why::NoVersion),
                }
            }
            let Some(ours) = offered.get(name) else {
                if !usable.is_empty() {
                    self.leave_out(Kind::Capability, name, None, Why::NotOurs);
                }
                continue;
            };
            // The first of equals, hence the reverse.
            let highest = |candidates: &mut dyn Iterator<Item = &(&str, &Capability)>| {
                (candidates.max_by(|a, b| by_date(a.0, b.0))).map(|(version, entry)| Agreed {
                    version: (*version).to_owned(),
                    schema: entry.schema.clone(),
                    extends: entry.extends.clone(),
                })
            };
            let is_common =
                |(version, _): &&(&str, &Capability)| ours.iter().any(|ours| ours == version);
            let mut found = highest(&mut usable.iter().rev().filter(is_common));
            if by_name && found.is_none() {
                found = highest(&mut usable.iter().rev());
            }
            match found {
                Some(found) => {
                    self.capabilities.insert(name.to_owned(), found);
                }
                None if usable.is_empty() => {}
                None => {
                    let why = Why::NoCommonVersion {
                        ours: ours.iter().map(|version| (*version).to_owned()).collect(),
                        theirs: usable
                            .iter()
                            .map(|(version, _)| (*version).to_owned())
                            .collect(),
                    };
                    self.leave_out(Kind::Capability, name, None, why);
                }
            }
        }
        let theirs: HashSet<&str> = profile.capabilities.iter().map(|(name, _)| name).collect();
        for name in offered.keys() {
            if !theirs.contains(name) {
                self.leave_out(Kind::Capability, name, None, Why::NotTheirs);
            }
        }
    }

    /// Leaves out extensions of which no parent is left, until none remains. The order in which they
    /// go does not matter: what has lost its parents never regains them.
    fn prune(&mut self) {
        let names: Vec<&str> = self.capabilities.keys().map(String::as_str).collect();
        let places: HashMap<&str, usize> = (names.iter().enumerate())
            .map(|(at, name)| (*name, at))
            .collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
        let mut parents_left: Vec<usize> = vec![0; names.len()];
        let mut orphans = Vec::new();
        for (child, capability) in self.capabilities.values().enumerate() {
            let mut left = 0;
            for parent in &capability.extends {
                if let Some(children) = places
                    .get(parent.as_str())
                    .and_then(|at| children.get_mut(*at))
                {
                    children.push(child);
                    left += 1;
                }
            }
            if let Some(count) = parents_left.get_mut(child) {
                *count = left;
            }
            if left == 0 && !capability.extends.is_empty() {
                orphans.push(child);
            }
        }
        let mut at = 0;
        while let Some(orphan) = orphans.get(at).copied() {
            at += 1;
            for child in children.get(orphan).into_iter().flatten() {
                if let Some(count) = parents_left.get_mut(*child) {
                    *count -= 1;
                    if *count == 0 {
                        orphans.push(*child);
                    }
                }
            }
        }
        let orphans: Vec<String> = (orphans.iter())
            .filter_map(|at| names.get(*at))
            .map(|name| (*name).to_owned())
            .collect();
        for name in orphans {
            if let Some(orphan) = self.capabilities.remove(&name) {
                let extends = orphan.extends;
                self.leave_out(Kind::Capability, &name, None, Why::NoParent { extends });
            }
        }
    }

    fn handlers(&mut self, profile: &Profile, release: &Release) {
        for (name, entries) in profile.payment_handlers.iter() {
            let mut usable = Vec::new();
            for entry in entries {
                match release.refuses(entry.unbound.as_ref()) {
                    None => usable.push(entry.clone()),
                    Some(unbound) => {
                        let why = Why::Unbound(unbound);
                        self.leave_out(Kind::PaymentHandler, name, entry.version.as_ref(), why);
                    }
                }
            }
            if !usable.is_empty() {
                self.payment_handlers.push((name.to_owned(), usable));
            }
        }
    }

    /// Leaves out the extensions whose schemas require other versions than those selected, and then
    /// those that lose their parents by it. `requirements` holds what is known, by name; what is not
    /// in it requires nothing. Requirements never select a version.
    #[must_use]
    pub fn require(mut self, requirements: &BTreeMap<String, Requires>) -> Self {
        let mut refused = Vec::new();
        for (name, capability) in &self.capabilities {
            let unmet = requirements.get(name).and_then(|requires| {
                requires.unmet(&self.version, &capability.extends, |name| {
                    (self.capabilities.get(name)).map(|selected| selected.version.clone())
                })
            });
            refused.extend(unmet.map(|unmet| (name.clone(), unmet)));
        }
        for (name, unmet) in refused {
            let gone = self.capabilities.remove(&name);
            let version = gone.map(|capability| capability.version);
            self.leave_out(
                Kind::Capability,
                &name,
                version.as_ref(),
                Why::Requires(unmet),
            );
        }
        self.prune();
        self
    }

    /// The release that is spoken.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The version of the profile. It differs from [`version`](Self::version) only where a business
    /// of January 2026 serves an older platform.
    #[must_use]
    pub fn profile_version(&self) -> &str {
        &self.profile_version
    }

    /// The base URL of the service's REST contract, without a slash at its end; `None` when the
    /// business offers no usable one, for the reasons in [`offers`](Self::offers).
    #[must_use]
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }

    /// The entries of the service that were refused, and why.
    #[must_use]
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// What both sides have, by name.
    #[must_use]
    pub fn capabilities(&self) -> &BTreeMap<String, Agreed> {
        &self.capabilities
    }

    /// Whether both sides have a capability.
    #[must_use]
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.contains_key(capability)
    }

    /// The payment handlers of the business, in the order that it prefers. Whether one is supported
    /// is for the wallet to say.
    pub fn payment_handlers(&self) -> impl ExactSizeIterator<Item = (&str, &[PaymentHandler])> {
        (self.payment_handlers.iter()).map(|(name, entries)| (name.as_str(), entries.as_slice()))
    }

    /// What is treated as absent, and why.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// What was wrong with the profile and lived with.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// All of it, for a person to read.
    #[must_use]
    pub fn explain(&self) -> Explain<'_> {
        Explain(self)
    }

    /// What a response makes use of: the capabilities that it lists and that were negotiated, or all
    /// that were negotiated where it lists none (overview, "Capability Declaration in Responses").
    ///
    /// ```
    /// # use serde_json::json;
    /// # use ucp_runtime::{Profile, Release, negotiation::negotiate};
    /// # let profile = Profile::read(json!({"ucp": {"version": "2026-04-08", "capabilities": {
    /// #     "dev.ucp.shopping.cart": [{"version": "2026-04-08"}],
    /// #     "dev.ucp.shopping.checkout": [{"version": "2026-04-08"}],
    /// # }}})).unwrap();
    /// # let release = Release::new("2026-04-08", "dev.ucp.shopping")
    /// #     .capability("dev.ucp.shopping.cart", "2026-04-08")
    /// #     .capability("dev.ucp.shopping.checkout", "2026-04-08");
    /// # let agreed = negotiate(&profile, &release).unwrap();
    /// let cart = json!({"ucp": {"version": "2026-04-08", "capabilities": {
    ///     "dev.ucp.shopping.cart": [{"version": "2026-04-08"}],
    ///     "com.acme.loyalty": [{"version": "2026-04-08"}],
    /// }}});
    /// let active = agreed.active(&cart);
    /// assert!(active.has("dev.ucp.shopping.cart") && !active.has("dev.ucp.shopping.checkout"));
    /// assert_eq!(active.unexpected, ["com.acme.loyalty"]);
    /// ```
    #[must_use]
    pub fn active<'n>(&'n self, response: &Value) -> Active<'n> {
        let ucp = response.get("ucp");
        let version = ucp.and_then(|ucp| wire::tag(ucp, "version"));
        let other = version.filter(|version| *version != self.version);
        let mut active = Active {
            capabilities: BTreeMap::new(),
            listed: true,
            unexpected: Vec::new(),
            anomaly: other.map(|found| Anomaly::OtherVersion {
                expected: self.version.clone(),
                found: found.to_owned(),
            }),
        };
        match ucp.and_then(|ucp| ucp.get("capabilities")) {
            Some(Value::Object(map)) => {
                for (name, entries) in map {
                    let entries = match entries {
                        Value::Array(entries) => entries.as_slice(),
                        one => std::slice::from_ref(one),
                    };
                    self.activate(&mut active, name, entries.iter());
                }
            }
            Some(Value::Array(list)) => {
                for entry in list {
                    if let Some(name) = wire::tag(entry, "name") {
                        self.activate(&mut active, name, std::iter::once(entry));
                    }
                }
            }
            _ => {
                active.listed = false;
                let all = self.capabilities.iter();
                active.capabilities = all.map(|(name, agreed)| (name.as_str(), agreed)).collect();
            }
        }
        active
    }

    /// Activates a listed capability if it was negotiated, at the version at which it was.
    fn activate<'n, 'v>(
        &'n self,
        active: &mut Active<'n>,
        name: &str,
        mut entries: impl Iterator<Item = &'v Value>,
    ) {
        let by_name = Shape::of(&self.profile_version).matches_by_name();
        let agreed = self.capabilities.get_key_value(name).filter(|(_, agreed)| {
            by_name
                || entries.any(|entry| {
                    wire::tag(entry, "version").is_none_or(|version| version == agreed.version)
                })
        });
        match agreed {
            Some((name, agreed)) => {
                active.capabilities.insert(name, agreed);
            }
            None => active.unexpected.push(name.to_owned()),
        }
    }
}

/// What one response makes use of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Active<'n> {
    /// The capabilities, by name.
    pub capabilities: BTreeMap<&'n str, &'n Agreed>,
    /// Whether the response lists its capabilities. If not, all that were negotiated are assumed.
    pub listed: bool,
    /// The names that it lists and that were not negotiated, or not at that version.
    pub unexpected: Vec<String>,
    /// Another `ucp.version` than was negotiated. Nothing is negotiated anew by it.
    pub anomaly: Option<Anomaly>,
}

impl Active<'_> {
    /// Whether a capability is active.
    #[must_use]
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.contains_key(capability)
    }
}

/// The endpoint of a service's entry, or why it cannot be taken.
fn judge(entry: &Service, version: &str, release: &Release) -> Result<String, String> {
    if entry.transport != "rest" {
        return Err("not the REST transport".to_owned());
    }
    if entry.version.as_deref().is_some_and(|own| own != version) {
        return Err(format!("not of the profile's version {version}"));
    }
    if let Some(unbound) = release.refuses(entry.unbound.as_ref()) {
        return Err(unbound.to_string());
    }
    let endpoint = entry.endpoint.as_deref().ok_or("without an endpoint")?;
    endpoint::base(endpoint, release.development).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
