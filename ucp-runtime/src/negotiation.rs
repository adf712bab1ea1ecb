//! What an agent and a business agree on: a release, an endpoint, capabilities (overview,
//! "Negotiation Protocol" and "Versioning"). Nothing here does I/O.
//!
//! 1. [`choose`] picks the release from a profile's [`Envelope`]: the profile itself, or the leaf to
//!    fetch instead, which [`Leaf::check`] then judges.
//! 2. [`negotiate`] picks endpoint, capabilities and handlers from that one profile.
//! 3. [`Negotiated::require`] leaves out the extensions whose schemas ask for other versions, where
//!    the schemas are known.
//! 4. [`Negotiated::active`] says what one response makes use of.

use crate::anomaly::Anomaly;
use crate::authority::Unbound;
use crate::endpoint;
use crate::error::{Offer, shown};
use crate::profile::{
    Capability, Envelope, PaymentHandler, Profile, Service, Shape, by_date, date,
};
use crate::wire::{self, Note, Value};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// A release that an agent speaks, and what it can do there. Names and versions are those of the
/// generated contract: they differ between releases.
///
/// ```
/// use ucp_runtime::Release;
///
/// let release = Release::new("2026-04-08", "dev.ucp.shopping")
///     .capability("dev.ucp.shopping.checkout", "2026-04-08")
///     .capability("com.acme.loyalty", "2026-01-01")
///     .capability("com.acme.loyalty", "2026-07-01");
/// assert_eq!(release.version(), "2026-04-08");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    version: String,
    service: String,
    capabilities: BTreeMap<String, Vec<String>>,
    development: bool,
}

impl Release {
    /// A release by its version, and the service whose endpoint is looked for.
    #[must_use]
    pub fn new(version: impl Into<String>, service: impl Into<String>) -> Self {
        Self {
            version: version.into(),
            service: service.into(),
            capabilities: BTreeMap::new(),
            development: false,
        }
    }

    /// Adds a capability or an extension at a version. One name may have several versions.
    #[must_use]
    pub fn capability(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        let versions = self.capabilities.entry(name.into()).or_default();
        versions.push(version.into());
        self
    }

    /// Takes endpoints, leaves and schemas on loopback hosts, with `http` too. For development: on
    /// loopback nobody owns a name.
    #[must_use]
    pub fn development(mut self) -> Self {
        self.development = true;
        self
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether a profile of this version serves this release. In January 2026 a business takes
    /// every platform that is not newer than itself; later versions must be equal.
    fn is_served_by(&self, profile: &str) -> bool {
        self.version == profile
            || (Shape::of(profile).matches_by_name()
                && date(&self.version).is_some_and(|ours| Some(ours) <= date(profile)))
    }

    /// Whether an entry is to be treated as absent.
    fn refuses(&self, unbound: Option<&Unbound>) -> Option<Unbound> {
        match unbound {
            Some(Unbound::Loopback) if self.development => None,
            unbound => unbound.cloned(),
        }
    }
}

/// Where the profile is from which to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice<'r> {
    /// The profile that the envelope belongs to.
    Here(&'r Release),
    /// Another document, to be fetched by the rules of the first.
    Leaf(Leaf<'r>),
}

/// A profile that `supported_versions` names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leaf<'r> {
    /// The release that it must be of.
    pub release: &'r Release,
    /// Where it is: an `https` URL, or in development one with `http` on a loopback host.
    pub url: url::Url,
}

impl Leaf<'_> {
    /// Checks that the fetched document is the profile that was named. Its own
    /// `supported_versions` mean nothing.
    ///
    /// # Errors
    ///
    /// [`NotTheLeaf`] when it is of another version: it must not be used.
    pub fn check(&self, fetched: &Envelope) -> Result<(), NotTheLeaf> {
        if fetched.version == self.release.version {
            return Ok(());
        }
        Err(NotTheLeaf {
            url: self.url.as_str().to_owned(),
            expected: self.release.version.clone(),
            found: fetched.version.clone(),
        })
    }
}

/// A profile that is of another version than the one it was named for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the profile at {} is of version {}, and was named for {expected}", shown(.url), Plain(.found))]
#[non_exhaustive]
pub struct NotTheLeaf {
    /// Where it is.
    pub url: String,
    /// The version that it was named for.
    pub expected: String,
    /// Its `ucp.version`.
    pub found: String,
}

/// A business that speaks none of our releases, or names no usable profile for one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoRelease {
    /// The versions of our releases, the newest first.
    pub ours: Vec<String>,
    /// The version of its profile.
    pub version: String,
    /// Its other versions, each with why it was not taken.
    pub refused: Vec<(String, &'static str)>,
}

impl fmt::Display for NoRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it speaks {} (not among ours)", Plain(&self.version))?;
        for (version, why) in &self.refused {
            write!(f, ", {} ({why})", Plain(version))?;
        }
        write!(f, "; we speak {}", self.ours.join(", "))
    }
}

impl std::error::Error for NoRelease {}

/// Picks the newest release that both sides speak: the profile's own version, or one that its
/// `supported_versions` name (overview, "Protocol Version").
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::Release;
/// use ucp_runtime::negotiation::{Choice, choose};
/// use ucp_runtime::profile::Envelope;
///
/// let ours = [Release::new("2026-04-08", "dev.ucp.shopping")];
/// let envelope = Envelope::read(&json!({"ucp": {
///     "version": "2026-08-25",
///     "supported_versions": {"2026-04-08": "https://shop.example/.well-known/ucp/2026-04-08"},
/// }}))?;
/// let Choice::Leaf(leaf) = choose(&envelope, &ours)? else { panic!() };
/// assert_eq!(leaf.url.path(), "/.well-known/ucp/2026-04-08");
/// let fetched = Envelope::read(&json!({"ucp": {"version": "2026-04-08"}}))?;
/// leaf.check(&fetched)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`NoRelease`] when there is none.
pub fn choose<'r>(envelope: &Envelope, ours: &'r [Release]) -> Result<Choice<'r>, NoRelease> {
    let mut releases: Vec<&Release> = ours.iter().collect();
    releases.sort_by(|a, b| by_date(&b.version, &a.version));
    let mut refused = Vec::new();
    for release in &releases {
        if release.version == envelope.version {
            return Ok(Choice::Here(release));
        }
        if let Some(url) = envelope.supported_versions.get(&release.version) {
            match endpoint::document(url, release.development) {
                Ok(url) => return Ok(Choice::Leaf(Leaf { release, url })),
                Err(why) => refused.push((release.version.clone(), why)),
            }
        }
    }
    // Only where the version is not named: an older platform at a profile of January 2026.
    let older = (releases.iter()).find(|release| release.is_served_by(&envelope.version));
    if let Some(release) = older {
        return Ok(Choice::Here(release));
    }
    let others = envelope.supported_versions.keys();
    for version in others.filter(|version| releases.iter().all(|ours| ours.version != **version)) {
        refused.push((version.clone(), "not among ours"));
    }
    Err(NoRelease {
        ours: (releases.iter())
            .map(|release| release.version.clone())
            .collect(),
        version: envelope.version.clone(),
        refused,
    })
}

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

/// A requirement of an extension's schema that is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmet {
    /// The capability whose version is at odds; `None` for the protocol's.
    pub capability: Option<String>,
    /// The selected version; `None` where the capability was not selected.
    pub found: Option<String>,
    /// What is required, for example `2026-06-01 or later`.
    pub wanted: String,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.capability.as_deref().unwrap_or("the protocol");
        write!(f, "it requires {} {}, ", Plain(what), Plain(&self.wanted))?;
        match &self.found {
            Some(found) => write!(f, "and {} was selected", Plain(found)),
            None => f.write_str("which was not selected"),
        }
    }
}

/// What an extension's schema requires of the selected versions (overview, "Version Requirements").
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::negotiation::Requires;
///
/// let schema = json!({"name": "com.acme.loyalty", "requires": {
///     "protocol": {"min": "2026-01-23"},
///     "capabilities": {"dev.ucp.shopping.checkout": {"min": "2026-06-01", "max": "2026-07-01"}},
/// }});
/// assert!(Requires::of_schema(&schema).is_some());
/// assert!(Requires::of_schema(&json!({"name": "com.acme.loyalty"})).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requires {
    protocol: Option<Range>,
    capabilities: BTreeMap<String, Range>,
}

/// Inclusive bounds. What cannot be read admits nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    min: Option<String>,
    max: Option<String>,
    readable: bool,
}

impl Requires {
    /// The `requires` of a schema; `None` when it has none. A bound that cannot be read is one that
    /// cannot be met.
    #[must_use]
    pub fn of_schema(schema: &Value) -> Option<Self> {
        let requires = schema
            .get("requires")
            .filter(|requires| !requires.is_null())?;
        let Some(requires) = requires.as_object() else {
            return Some(Self {
                protocol: Some(Range::read(requires)),
                capabilities: BTreeMap::new(),
            });
        };
        let mut protocol = requires.get("protocol").map(Range::read);
        let mut capabilities = BTreeMap::new();
        match requires.get("capabilities") {
            None => {}
            Some(Value::Object(map)) => {
                capabilities.extend(
                    map.iter()
                        .map(|(name, range)| (name.clone(), Range::read(range))),
                );
            }
            Some(other) => protocol = Some(Range::read(other)),
        }
        Some(Self {
            protocol,
            capabilities,
        })
    }

    /// The first requirement that is not met. A parent that is not selected constrains nothing:
    /// one of several is enough.
    fn unmet(
        &self,
        version: &str,
        extends: &[String],
        selected: impl Fn(&str) -> Option<String>,
    ) -> Option<Unmet> {
        let protocol = self.protocol.as_ref();
        if let Some(range) = protocol.filter(|range| !range.admits(version)) {
            return Some(Unmet {
                capability: None,
                found: Some(version.to_owned()),
                wanted: range.to_string(),
            });
        }
        for (name, range) in &self.capabilities {
            let found = selected(name);
            let is_met = match &found {
                Some(found) => range.admits(found),
                None => extends.contains(name),
            };
            if !is_met {
                return Some(Unmet {
                    capability: Some(name.clone()),
                    found,
                    wanted: range.to_string(),
                });
            }
        }
        None
    }
}

impl Range {
    fn read(range: &Value) -> Self {
        let bound = |name| wire::tag(range, name).filter(|bound| date(bound).is_some());
        let (min, max) = (bound("min"), bound("max"));
        Self {
            readable: min.is_some() && (max.is_some() || !wire::has(range, "max")),
            min: min.map(str::to_owned),
            max: max.map(str::to_owned),
        }
    }

    fn admits(&self, version: &str) -> bool {
        let Some(version) = date(version).filter(|_| self.readable) else {
            return false;
        };
        let bound = |bound: &Option<String>| bound.as_deref().and_then(date);
        bound(&self.min).is_none_or(|min| min <= version)
            && bound(&self.max).is_none_or(|max| version <= max)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.min, &self.max) {
            _ if !self.readable => f.write_str("at a version that cannot be read"),
            (Some(min), Some(max)) => write!(f, "from {min} to {max}"),
            (Some(min), None) => write!(f, "{min} or later"),
            (None, _) => f.write_str("at a version that cannot be read"),
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
            ours: vec![release.version.clone()],
            version: profile.version.clone(),
            refused: Vec::new(),
        });
    }
    let mut agreed = Negotiated {
        version: release.version.clone(),
        profile_version: profile.version.clone(),
        service: release.service.clone(),
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
            if name != release.service {
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
            let Some(ours) = release.capabilities.get(name) else {
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
                        ours: ours.clone(),
                        theirs: usable
                            .iter()
                            .map(|(version, _)| (*version).to_owned())
                            .collect(),
                    };
                    self.leave_out(Kind::Capability, name, None, why);
                }
            }
        }
        for name in release.capabilities.keys() {
            if profile.capabilities.get(name).is_empty() {
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

/// A negotiation for a person to read: what was chosen, what was left out and why, what was noted.
#[derive(Clone, Copy, Debug)]
pub struct Explain<'n>(&'n Negotiated);

impl fmt::Display for Explain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Negotiated {
            version,
            profile_version,
            service,
            endpoint,
            offers,
            capabilities,
            payment_handlers,
            left_out,
            notes,
        } = self.0;
        write!(f, "UCP {version}")?;
        if version != profile_version {
            write!(f, ", served by a profile of {}", Plain(profile_version))?;
        }
        writeln!(f, "\nendpoint: {}", endpoint.as_deref().unwrap_or("none"))?;
        let none = |is_empty| if is_empty { " none" } else { "" };
        writeln!(f, "capabilities:{}", none(capabilities.is_empty()))?;
        for (name, agreed) in capabilities {
            write!(f, "  {} {}", Plain(name), Plain(&agreed.version))?;
            if !agreed.extends.is_empty() {
                write!(f, ", extends {}", Plain(&agreed.extends.join(" and ")))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "payment handlers:{}", none(payment_handlers.is_empty()))?;
        for (name, handlers) in payment_handlers {
            for handler in handlers {
                write!(f, "  {}", Plain(name))?;
                if let Some(version) = &handler.version {
                    write!(f, " {}", Plain(version))?;
                }
                writeln!(f, " ({})", Plain(&handler.id))?;
            }
        }
        writeln!(
            f,
            "left out:{}",
            none(left_out.is_empty() && offers.is_empty())
        )?;
        for Offer {
            transport,
            version,
            refused,
        } in offers
        {
            let (transport, version) = (Plain(transport), Plain(version));
            writeln!(
                f,
                "  service {service} {transport} {version}: {}",
                Plain(refused)
            )?;
        }
        for LeftOut {
            kind,
            name,
            version,
            why,
        } in left_out
        {
            write!(f, "  {kind} {}", Plain(name))?;
            if let Some(version) = version {
                write!(f, " {}", Plain(version))?;
            }
            writeln!(f, ": {why}")?;
        }
        if !notes.is_empty() {
            writeln!(f, "noted:")?;
        }
        for note in notes {
            writeln!(f, "  {}", Plain(&note.to_string()))?;
        }
        Ok(())
    }
}

/// A text of others without the controls that a terminal would obey.
struct Plain<'t>(&'t str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.chars().any(char::is_control) {
            return f.write_str(self.0);
        }
        self.0.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => write!(f, "{c}"),
        })
    }
}

#[cfg(test)]
mod tests;
