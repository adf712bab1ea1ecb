//! What a merchant says to an agent and its buyer.

use super::pick::{self, Tree};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A message of an answer.
///
/// It serialises with the protocol's own names (`type`, `content`, …), and reads back as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Message {
    /// What kind of message it is.
    #[serde(rename = "type")]
    pub kind: MessageKind,
    /// Its code, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What it is about, as an RFC 9535 path into the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its text for a person.
    #[serde(rename = "content", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How `text` is written: `plain` (or absent) or `markdown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Of an error: what it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// Of a warning: how it must be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation: Option<Presentation>,
    /// Of a warning: where to read more, unchecked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Of a warning: an image that a disclosure must show, unchecked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_url: Option<String>,
}

impl Message {
    pub(crate) fn of(value: &Value) -> Self {
        Self::from_tree(pick::message(value))
    }

    pub(super) fn from_tree(mut message: Tree) -> Self {
        let mut text = |name| message.text(name);
        let severity = text("severity").map(Severity::of);
        let kind = match text("type").as_deref() {
            Some("error") => MessageKind::Error,
            Some("warning") => MessageKind::Warning,
            Some("info") => MessageKind::Info,
            // Only errors have a severity: one without its tag is still a blocker.
            None if severity.is_some() => MessageKind::Error,
            _ => MessageKind::Unknown,
        };
        let code = text("code");
        let path = text("path");
        // 2026-01-11's own samples write `message`.
        let content = text("content").or_else(|| text("message"));
        let content_type = text("content_type");
        let url = text("url");
        let image_url = text("image_url");
        let presentation = match message.take("presentation") {
            None | Some(Tree::Null) => None,
            Some(Tree::Text(known)) if known == "notice" => Some(Presentation::Notice),
            Some(Tree::Text(known)) if known == "disclosure" => Some(Presentation::Disclosure),
            Some(_) => Some(Presentation::Unknown),
        };
        Self {
            kind,
            code,
            path,
            text: content,
            content_type,
            severity,
            presentation,
            url,
            image_url,
        }
    }

    pub(super) fn is_error(&self) -> bool {
        self.kind == MessageKind::Error
    }

    /// A warning that must be shown as a disclosure. One to be shown in a way not yet known is held
    /// for one, as that loses nothing.
    pub(crate) fn is_disclosure(&self) -> bool {
        self.kind == MessageKind::Warning
            && matches!(
                self.presentation,
                Some(Presentation::Disclosure | Presentation::Unknown)
            )
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::of(&value))
    }
}

/// `code (path): text`, with what there is.
impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code.as_deref().unwrap_or("message"))?;
        if let Some(path) = &self.path {
            write!(f, " ({path})")?;
        }
        match &self.text {
            Some(text) => write!(f, ": {text}"),
            None => Ok(()),
        }
    }
}

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageKind {
    /// Something stands in the way.
    Error,
    /// Something that the buyer must see.
    Warning,
    /// Something that the buyer may see.
    Info,
    /// A type that this runtime does not know, or none.
    Unknown,
}

/// What an error asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// The caller can resolve it and update the checkout.
    Recoverable,
    /// The merchant needs input that its API cannot take.
    RequiresBuyerInput,
    /// The buyer must review and authorise.
    RequiresBuyerReview,
    /// There is nothing to act on: another checkout, or the merchant's own pages.
    Unrecoverable,
    /// A severity that this runtime does not know.
    Unknown(String),
}

impl Severity {
    fn of(text: String) -> Self {
        match text.as_str() {
            "recoverable" => Self::Recoverable,
            "requires_buyer_input" => Self::RequiresBuyerInput,
            "requires_buyer_review" => Self::RequiresBuyerReview,
            "unrecoverable" => Self::Unrecoverable,
            _ => Self::Unknown(text),
        }
    }

    /// The severity as the protocol writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Recoverable => "recoverable",
            Self::RequiresBuyerInput => "requires_buyer_input",
            Self::RequiresBuyerReview => "requires_buyer_review",
            Self::Unrecoverable => "unrecoverable",
            Self::Unknown(text) => text,
        }
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How a warning must be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Presentation {
    /// Anywhere, and the buyer may dismiss it.
    Notice,
    /// Beside what it is about, with its image, not dismissible.
    Disclosure,
    /// In a way that this runtime does not know.
    Unknown,
}
