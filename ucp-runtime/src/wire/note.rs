//! What reading could not accept, and what it accepted though it was not quite right.

use super::JsonPath;
use std::borrow::Cow;
use std::fmt;

/// A JSON document that does not fit its type. It names the place and the types, never the value:
/// what a merchant sent may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct DecodeError {
    /// Where the document and the type part.
    pub path: JsonPath,
    /// What the type wants there, for example `an integer`.
    pub expected: Cow<'static, str>,
    /// What the document has there, for example `a string` or `nothing`.
    pub found: &'static str,
}

/// Something in a document that was accepted although the contract does not allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// Where it was.
    pub path: JsonPath,
    /// What was wrong and how it was read, for example `an empty array where a map is declared`.
    pub text: Cow<'static, str>,
}

/// How the note begins of a union's value that fits no arm.
pub(super) const KEPT: &str = "kept as unknown: ";

impl Note {
    /// Whether it is about a value that does not fit, and was kept as it is.
    pub(crate) fn is_misfit(&self) -> bool {
        self.text.starts_with(KEPT)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}
