//! What looked wrong in an answer and was lived with.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::fmt;

/// Something in an answer that the protocol does not allow, or that deserves a look, and that did
/// not keep it from being used.
///
/// It serialises as a `code` for a program and a `text` for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Anomaly {
    /// The answer states another `ucp.version` than the merchant was found to speak.
    OtherVersion {
        /// The merchant's version.
        expected: String,
        /// The answer's version.
        found: String,
    },
    /// The answer states no `ucp.version`, so its checkout cannot be embedded.
    NoVersion,
    /// The answer has no `Content-Type`.
    NoContentType,
    /// The status is `completed`, and there is no `order`.
    NoOrder,
    /// An `order` while the status is not `completed`.
    EarlyOrder,
    /// A status that this runtime does not know.
    UnknownStatus,
    /// A `continue_url` that must not be used.
    UnusableContinueUrl(&'static str),
    /// An error message with no severity, or one that this runtime does not know. The index is its
    /// place in `messages`.
    UnknownSeverity(usize),
    /// A warning with a `presentation` that this runtime does not know, held for a disclosure.
    UnknownPresentation(usize),
    /// A message of no known type.
    UnknownMessage(usize),
    /// An `expires_at` that is not an RFC 3339 timestamp.
    UnreadableExpiry,
    /// The merchant does not offer the color scheme that the host asked for.
    ColorSchemeNotOffered,
}

impl Anomaly {
    /// A stable word for what it is, for example `unknown_severity`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::OtherVersion { .. } => "other_version",
            Self::NoVersion => "no_version",
            Self::NoContentType => "no_content_type",
            Self::NoOrder => "no_order",
            Self::EarlyOrder => "early_order",
            Self::UnknownStatus => "unknown_status",
            Self::UnusableContinueUrl(_) => "unusable_continue_url",
            Self::UnknownSeverity(_) => "unknown_severity",
            Self::UnknownPresentation(_) => "unknown_presentation",
            Self::UnknownMessage(_) => "unknown_message",
            Self::UnreadableExpiry => "unreadable_expiry",
            Self::ColorSchemeNotOffered => "color_scheme_not_offered",
        }
    }
}

impl Serialize for Anomaly {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut anomaly = serializer.serialize_struct("Anomaly", 2)?;
        anomaly.serialize_field("code", self.code())?;
        anomaly.serialize_field("text", &self.to_string())?;
        anomaly.end()
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherVersion { expected, found } => {
                write!(
                    f,
                    "ucp.version is {found}, where the merchant speaks {expected}"
                )
            }
            Self::NoVersion => f.write_str("ucp.version is absent, so nothing can be embedded"),
            Self::NoContentType => f.write_str("the header Content-Type is absent"),
            Self::NoOrder => f.write_str("status is completed, and order is absent"),
            Self::EarlyOrder => f.write_str("order is present, and status is not completed"),
            Self::UnknownStatus => f.write_str("status is absent or unknown"),
            Self::UnusableContinueUrl(why) => write!(f, "continue_url is unusable: {why}"),
            Self::UnknownSeverity(index) => {
                write!(f, "messages[{index}] is an error without a known severity")
            }
            Self::UnknownPresentation(index) => {
                write!(
                    f,
                    "messages[{index}] has an unknown presentation, held for a disclosure"
                )
            }
            Self::UnknownMessage(index) => write!(f, "messages[{index}] has no known type"),
            Self::UnreadableExpiry => f.write_str("expires_at is not an RFC 3339 timestamp"),
            Self::ColorSchemeNotOffered => {
                f.write_str("the merchant does not offer the host's color scheme")
            }
        }
    }
}
