//! What schemas of extensions require of the versions that were selected.

use super::explain::Plain;
use crate::profile::date;
use crate::wire::{self, Value};
use std::collections::BTreeMap;
use std::fmt;

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

/// One requirement of a schema that types were generated from; its bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    capability: Option<&'static str>,
    min: &'static str,
    max: Option<&'static str>,
}

impl Bound {
    /// Of the protocol's version. Written by generated code.
    #[must_use]
    pub const fn protocol(min: &'static str, max: Option<&'static str>) -> Self {
        Self {
            capability: None,
            min,
            max,
        }
    }

    /// Of a capability's version. Written by generated code.
    #[must_use]
    pub const fn capability(
        name: &'static str,
        min: &'static str,
        max: Option<&'static str>,
    ) -> Self {
        Self {
            capability: Some(name),
            min,
            max,
        }
    }
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

    pub(super) fn of_bounds(bounds: &[Bound]) -> Self {
        let mut requires = Self {
            protocol: None,
            capabilities: BTreeMap::new(),
        };
        for bound in bounds {
            let range = Range {
                min: Some(bound.min.to_owned()),
                max: bound.max.map(str::to_owned),
                readable: true,
            };
            match bound.capability {
                Some(name) => {
                    requires.capabilities.insert(name.to_owned(), range);
                }
                None => requires.protocol = Some(range),
            }
        }
        requires
    }

    /// The first requirement that is not met. A parent that is not selected constrains nothing:
    /// one of several is enough.
    pub(super) fn unmet(
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
