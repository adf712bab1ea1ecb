//! The decision as JSON for a web client.

use super::HandoffUrl;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use std::time::Duration;

/// The JSON Schema (2020-12) of a serialised [`Handoff`](super::Handoff). Members may be added in
/// later versions of this crate; none is taken away or changes its meaning.
///
#[doc = concat!("```json\n", include_str!("handoff.schema.json"), "\n```")]
pub const SCHEMA: &str = include_str!("handoff.schema.json");

/// An RFC 3339 timestamp, or `null`.
pub(super) fn instant<S: Serializer>(
    instant: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match instant {
        Some(instant) => serializer.collect_str(instant),
        None => serializer.serialize_none(),
    }
}

pub(super) fn milliseconds<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

impl Serialize for HandoffUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
