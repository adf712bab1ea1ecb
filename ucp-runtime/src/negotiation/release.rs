//! Which release is spoken, and by which profile.

use super::explain::Plain;
use super::requires::{Bound, Requires};
use crate::authority::Unbound;
use crate::endpoint;
use crate::error::shown;
use crate::profile::{Envelope, Shape, by_date, date};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A release that an agent speaks, and what it can do there. Names and versions are those of the
/// generated contract, which differ between releases: generated code has one as its `RELEASE`.
///
/// ```
/// use ucp_runtime::Release;
///
/// let release = Release::new("2026-04-08", "dev.ucp.shopping")
///     .capability("dev.ucp.shopping.checkout", "2026-04-08")
///     .capability("com.acme.loyalty", "2026-01-01")
///     .capability("com.acme.loyalty", "2026-07-01");
/// assert_eq!(release.version(), "2026-04-08");
/// assert_eq!(release.capabilities().count(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub(super) version: Cow<'static, str>,
    pub(super) service: Cow<'static, str>,
    covered: &'static [Covered],
    added: Vec<(String, String)>,
    pub(super) development: bool,
}

/// A capability or an extension that generated types cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    name: &'static str,
    version: &'static str,
    extends: &'static [&'static str],
    requires: &'static [Bound],
}

impl Covered {
    /// A capability at a version. Written by generated code.
    #[must_use]
    pub const fn new(name: &'static str, version: &'static str) -> Self {
        Self {
            name,
            version,
            extends: &[],
            requires: &[],
        }
    }

    /// What it extends. Written by generated code.
    #[must_use]
    pub const fn extends(mut self, parents: &'static [&'static str]) -> Self {
        self.extends = parents;
        self
    }

    /// What its schema requires of other versions. Written by generated code.
    #[must_use]
    pub const fn requires(mut self, bounds: &'static [Bound]) -> Self {
        self.requires = bounds;
        self
    }

    /// Its full name, for example `dev.ucp.shopping.checkout`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its version.
    #[must_use]
    pub const fn version(&self) -> &'static str {
        self.version
    }

    /// The capabilities that it extends; none for one that stands by itself.
    #[must_use]
    pub const fn parents(&self) -> &'static [&'static str] {
        self.extends
    }
}

impl Release {
    /// A release by its version, and the service whose endpoint is looked for.
    #[must_use]
    pub fn new(version: impl Into<String>, service: impl Into<String>) -> Self {
        Self {
            version: Cow::Owned(version.into()),
            service: Cow::Owned(service.into()),
            covered: &[],
            added: Vec::new(),
            development: false,
        }
    }

    /// The release that a generated client speaks. Written by generated code.
    #[must_use]
    pub const fn generated(
        version: &'static str,
        service: &'static str,
        covered: &'static [Covered],
    ) -> Self {
        Self {
            version: Cow::Borrowed(version),
            service: Cow::Borrowed(service),
            covered,
            added: Vec::new(),
            development: false,
        }
    }

    /// Adds a capability or an extension at a version. One name may have several versions.
    #[must_use]
    pub fn capability(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.added.push((name.into(), version.into()));
        self
    }

    /// The capabilities and extensions, each with its version: those that the generated types cover,
    /// then those that were added.
    pub fn capabilities(&self) -> impl Iterator<Item = (&str, &str)> {
        let covered = self.covered.iter().map(|of| (of.name, of.version));
        covered.chain((self.added.iter()).map(|(name, version)| (name.as_str(), version.as_str())))
    }

    /// What the generated types cover.
    #[must_use]
    pub const fn covered(&self) -> &'static [Covered] {
        self.covered
    }

    /// What the schemas that the types were generated from require, by the capability's name.
    #[must_use]
    pub fn requirements(&self) -> BTreeMap<String, Requires> {
        let bound = self.covered.iter().filter(|of| !of.requires.is_empty());
        bound
            .map(|of| (of.name.to_owned(), Requires::of_bounds(of.requires)))
            .collect()
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
    pub const fn version(&self) -> &str {
        match &self.version {
            Cow::Borrowed(version) => version,
            Cow::Owned(version) => version.as_str(),
        }
    }

    /// The service whose endpoint is looked for, for example `dev.ucp.shopping`.
    #[must_use]
    pub const fn service(&self) -> &str {
        match &self.service {
            Cow::Borrowed(service) => service,
            Cow::Owned(service) => service.as_str(),
        }
    }

    /// Whether a profile of this version serves this release. In January 2026 a business takes
    /// every platform that is not newer than itself; later versions must be equal.
    pub(super) fn is_served_by(&self, profile: &str) -> bool {
        self.version() == profile
            || (Shape::of(profile).matches_by_name()
                && date(&self.version).is_some_and(|ours| Some(ours) <= date(profile)))
    }

    /// Whether an entry is to be treated as absent.
    pub(super) fn refuses(&self, unbound: Option<&Unbound>) -> Option<Unbound> {
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
        if fetched.version == self.release.version() {
            return Ok(());
        }
        Err(NotTheLeaf {
            url: self.url.as_str().to_owned(),
            expected: self.release.version().to_owned(),
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
    releases.sort_by(|a, b| by_date(b.version(), a.version()));
    let mut refused = Vec::new();
    for release in &releases {
        if release.version() == envelope.version {
            return Ok(Choice::Here(release));
        }
        if let Some(url) = envelope.supported_versions.get(release.version()) {
            match endpoint::document(url, release.development) {
                Ok(url) => return Ok(Choice::Leaf(Leaf { release, url })),
                Err(why) => refused.push((release.version().to_owned(), why)),
            }
        }
    }
    // Only where the version is not named: an older platform at a profile of January 2026.
    let older = (releases.iter()).find(|release| release.is_served_by(&envelope.version));
    if let Some(release) = older {
        return Ok(Choice::Here(release));
    }
    let others = envelope.supported_versions.keys();
    for version in others.filter(|version| {
        releases
            .iter()
            .all(|ours| ours.version() != version.as_str())
    }) {
        refused.push((version.clone(), "not among ours"));
    }
    Err(NoRelease {
        ours: (releases.iter())
            .map(|release| release.version().to_owned())
            .collect(),
        version: envelope.version.clone(),
        refused,
    })
}
