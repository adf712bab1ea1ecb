//! The small part of an answer that decides what happens next.

use super::embedded::Binding;
use crate::wire::{self, Map, Object, Sink};
use http::StatusCode;
use serde_json::Value;
use std::fmt::Debug;

const SERVICE: &str = "dev.ucp.shopping";
const MEMBERS: [&str; 6] = [
    "ucp",
    "status",
    "messages",
    "continue_url",
    "order",
    "expires_at",
];

/// A body from which no decision follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the body is neither a checkout nor an error envelope: it has no `status`, and no `ucp.status` of `error`"
)]
pub struct NotUcp;

/// The part of an answer that decides what happens next, whatever the answer came as: bytes, JSON,
/// a typed value, a failed response, the result of an MCP tool.
///
/// ```
/// use ucp_runtime::{Handoff, Host, handoff::View};
///
/// let view = View::from_bytes(br#"{"ucp": {"version": "2026-04-08"}, "status": "canceled"}"#)?;
/// assert!(matches!(view.decide(&Host::default()), Handoff::Canceled { .. }));
/// # Ok::<(), ucp_runtime::handoff::NotUcp>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub(super) kind: Kind,
    pub(super) status: Option<String>,
    pub(super) version: Option<String>,
    pub(super) messages: Vec<Message>,
    pub(super) continue_url: Option<String>,
    pub(super) order: Option<Order>,
    pub(super) expires_at: Option<Value>,
    pub(super) embedded: Option<Binding>,
}

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Resource,
    /// `ucp.status` is `error`.
    Error,
    /// A flat `{code, content}` with a 4xx status.
    Refusal,
}

impl View {
    /// The view of a body.
    ///
    /// # Errors
    ///
    /// [`NotUcp`] when the body is neither a checkout nor an error envelope.
    pub fn from_value(body: &Value) -> Result<Self, NotUcp> {
        body.as_object().ok_or(NotUcp).and_then(Self::of)
    }

    /// The view of a body's bytes.
    ///
    /// # Errors
    ///
    /// [`NotUcp`] when the body is not JSON, or neither a checkout nor an error envelope.
    pub fn from_bytes(body: &[u8]) -> Result<Self, NotUcp> {
        let value: Value = serde_json::from_slice(body).map_err(|_| NotUcp)?;
        Self::from_value(&value)
    }

    /// The view of a typed value. Only the members that decide are written out.
    ///
    /// # Errors
    ///
    /// [`NotUcp`] when the type is neither a checkout nor an error envelope.
    pub fn from_object<T: Object>(body: &T) -> Result<Self, NotUcp> {
        let mut picker = Picker(Map::new());
        body.write_members(&mut picker).map_err(|_| NotUcp)?;
        Self::of(&picker.0)
    }

    /// The view of an answer whose status is not 2xx: an error envelope, a checkout, or a flat
    /// `{code, content}`.
    ///
    /// # Errors
    ///
    /// [`NotUcp`] for a body without a UCP shape, and for statuses which say nothing about the
    /// purchase whatever their body: challenges (401, 403), 408, 409, 425, 429, and all but 4xx.
    pub fn from_failure(status: StatusCode, body: &[u8]) -> Result<Self, NotUcp> {
        if !status.is_client_error() || [401, 403, 408, 409, 425, 429].contains(&status.as_u16()) {
            return Err(NotUcp);
        }
        let value: Value = serde_json::from_slice(body).map_err(|_| NotUcp)?;
        Self::from_value(&value).or_else(|NotUcp| Self::of_refusal(&value))
    }

    /// The view of an MCP tool's result: of `structuredContent`, or else of the first text that is
    /// JSON.
    ///
    /// # Errors
    ///
    /// [`NotUcp`] when there is no such body, or it is neither a checkout nor an error envelope.
    pub fn from_mcp_result(result: &Value) -> Result<Self, NotUcp> {
        if let Some(body) = result
            .get("structuredContent")
            .filter(|body| body.is_object())
        {
            return Self::from_value(body);
        }
        result
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(|item| wire::tag(item, "type") == Some("text"))
            .filter_map(|item| wire::tag(item, "text"))
            .find_map(|text| serde_json::from_str::<Value>(text).ok())
            .ok_or(NotUcp)
            .and_then(|body| Self::from_value(&body))
    }

    /// The messages, in order.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn of(body: &Map) -> Result<Self, NotUcp> {
        let ucp = body.get("ucp");
        let view = Self {
            kind: match ucp.and_then(|ucp| wire::tag(ucp, "status")) {
                Some("error") => Kind::Error,
                _ => Kind::Resource,
            },
            status: string(body, "status"),
            version: ucp
                .and_then(|ucp| wire::tag(ucp, "version"))
                .filter(|version| !version.is_empty())
                .map(str::to_owned),
            messages: body
                .get("messages")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(Message::of)
                .collect(),
            continue_url: string(body, "continue_url"),
            order: body.get("order").and_then(Order::of),
            expires_at: body
                .get("expires_at")
                .filter(|expiry| !expiry.is_null())
                .cloned(),
            embedded: ucp.and_then(binding),
        };
        if view.has_ucp_shape(ucp.is_some_and(Value::is_object), body) {
            Ok(view)
        } else {
            Err(NotUcp)
        }
    }

    /// Whether the members make a UCP body. A `status` alone does not: many APIs have one.
    fn has_ucp_shape(&self, envelope: bool, body: &Map) -> bool {
        match self.status.as_deref() {
            _ if self.kind == Kind::Error => true,
            Some(status) => {
                envelope || super::decide::is_known(status) || wire_array(body, "messages")
            }
            // Without a status it may be a catalog's answer; what asks for the buyer is not.
            None => {
                envelope
                    && (self.continue_url.is_some() || self.messages.iter().any(Message::is_error))
            }
        }
    }

    fn of_refusal(body: &Value) -> Result<Self, NotUcp> {
        let (Some(code), Some(content)) = (wire::tag(body, "code"), wire::tag(body, "content"))
        else {
            return Err(NotUcp);
        };
        Ok(Self {
            kind: Kind::Refusal,
            status: None,
            version: None,
            messages: vec![Message {
                kind: MessageKind::Error,
                code: Some(code.to_owned()),
                text: Some(content.to_owned()),
                ..Message::of(&Value::Null)
            }],
            continue_url: wire::tag(body, "continue_url").map(str::to_owned),
            order: None,
            expires_at: None,
            embedded: None,
        })
    }
}

fn string(body: &Map, name: &str) -> Option<String> {
    body.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn wire_array(body: &Map, name: &str) -> bool {
    body.get(name).is_some_and(Value::is_array)
}

fn strings(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?;
    Some(
        items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
    )
}

/// The embedded binding of this response. Without a list under `config.delegate` there is none: a
/// profile's binding says what is possible, not what this checkout allows.
fn binding(ucp: &Value) -> Option<Binding> {
    ucp.get("services")?
        .get(SERVICE)?
        .as_array()?
        .iter()
        .filter(|binding| wire::tag(binding, "transport") == Some("embedded"))
        .find_map(|binding| {
            let config = binding.get("config")?;
            Some(Binding {
                delegate: strings(config.get("delegate")?)?,
                color_scheme: config.get("color_scheme").and_then(strings),
            })
        })
}

/// Picks the members that decide out of a typed value.
struct Picker(Map);

impl Sink for Picker {
    type Error = serde_json::Error;

    fn put<T: serde::Serialize + Debug + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), Self::Error> {
        if MEMBERS.contains(&name) {
            self.0.insert(name.to_owned(), serde_json::to_value(value)?);
        }
        Ok(())
    }
}

/// The order that a completed checkout led to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Order {
    /// Its id, for `get_order`.
    pub id: Option<String>,
    /// What the merchant calls it before a person.
    pub label: Option<String>,
    /// Where a person can see it, unchecked.
    pub permalink_url: Option<String>,
}

impl Order {
    fn of(value: &Value) -> Option<Self> {
        value.is_object().then(|| {
            let text = |name| wire::tag(value, name).map(str::to_owned);
            Self {
                id: text("id"),
                label: text("label"),
                permalink_url: text("permalink_url"),
            }
        })
    }
}

/// A message of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// What kind of message it is.
    pub kind: MessageKind,
    /// Its code, as written.
    pub code: Option<String>,
    /// What it is about, as an RFC 9535 path into the answer.
    pub path: Option<String>,
    /// Its text for a person.
    pub text: Option<String>,
    /// How `text` is written: `plain` (or absent) or `markdown`.
    pub content_type: Option<String>,
    /// Of an error: what it asks for.
    pub severity: Option<Severity>,
    /// Of a warning: how it must be shown.
    pub presentation: Option<Presentation>,
    /// Of a warning: where to read more, unchecked.
    pub url: Option<String>,
    /// Of a warning: an image that a disclosure must show, unchecked.
    pub image_url: Option<String>,
}

impl Message {
    fn of(value: &Value) -> Self {
        let text = |name| wire::tag(value, name).map(str::to_owned);
        let severity = text("severity").map(|severity| match severity.as_str() {
            "recoverable" => Severity::Recoverable,
            "requires_buyer_input" => Severity::RequiresBuyerInput,
            "requires_buyer_review" => Severity::RequiresBuyerReview,
            "unrecoverable" => Severity::Unrecoverable,
            _ => Severity::Unknown(severity),
        });
        let kind = match wire::tag(value, "type") {
            Some("error") => MessageKind::Error,
            Some("warning") => MessageKind::Warning,
            Some("info") => MessageKind::Info,
            // Only errors have a severity: one without its tag is still a blocker.
            None if severity.is_some() => MessageKind::Error,
            _ => MessageKind::Unknown,
        };
        let presentation = match value.get("presentation") {
            None | Some(Value::Null) => None,
            Some(Value::String(known)) if known == "notice" => Some(Presentation::Notice),
            Some(Value::String(known)) if known == "disclosure" => Some(Presentation::Disclosure),
            Some(_) => Some(Presentation::Unknown),
        };
        Self {
            kind,
            code: text("code"),
            path: text("path"),
            // 2026-01-11's own samples write `message`.
            text: text("content").or_else(|| text("message")),
            content_type: text("content_type"),
            severity,
            presentation,
            url: text("url"),
            image_url: text("image_url"),
        }
    }

    pub(super) fn is_error(&self) -> bool {
        self.kind == MessageKind::Error
    }

    /// A warning that must be shown as a disclosure. One to be shown in a way not yet known is held
    /// for one, as that loses nothing.
    pub(super) fn is_disclosure(&self) -> bool {
        self.kind == MessageKind::Warning
            && matches!(
                self.presentation,
                Some(Presentation::Disclosure | Presentation::Unknown)
            )
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// How a warning must be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presentation {
    /// Anywhere, and the buyer may dismiss it.
    Notice,
    /// Beside what it is about, with its image, not dismissible.
    Disclosure,
    /// In a way that this runtime does not know.
    Unknown,
}
