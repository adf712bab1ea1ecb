//! The small part of an answer that decides what happens next.

use super::decide;
use super::embedded::Binding;
use super::message::{Message, MessageKind};
use super::pick::{self, Tree};
use crate::wire::{self, Object};
use http::StatusCode;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// The service whose binding says that a checkout can be embedded.
pub(super) const SERVICE: &str = "dev.ucp.shopping";

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
    pub(super) expires_at: Option<Timestamp>,
    pub(super) unreadable_expiry: bool,
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
        Self::of(pick::from_value(body))
    }

    /// The view of a body's bytes.
    ///
    /// # Errors
    ///
    /// [`NotUcp`] when the body is not JSON, or neither a checkout nor an error envelope.
    pub fn from_bytes(body: &[u8]) -> Result<Self, NotUcp> {
        pick::from_bytes(body)
            .map_err(|_| NotUcp)
            .and_then(Self::of)
    }

    /// The view of a typed value. Only the members that decide are written out.
    ///
    /// # Errors
    ///
    /// [`NotUcp`] when the type is neither a checkout nor an error envelope.
    pub fn from_object<T: Object>(body: &T) -> Result<Self, NotUcp> {
        pick::from_object(body)
            .map_err(|_| NotUcp)
            .and_then(Self::of)
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

    /// The view of a tool's result as a transcript keeps it, whoever made the tool: an object with
    /// the answer's `body` (as JSON or as text) and its HTTP `status`, an MCP result, the bare body,
    /// or any of these as a JSON text.
    ///
    /// ```
    /// use serde_json::json;
    /// use ucp_runtime::{Handoff, Host, handoff::View};
    ///
    /// let result = json!({"status": 422, "body": {"code": "version_unsupported", "content": "?"}});
    /// for kept in [result.clone(), json!(result.to_string())] {
    ///     let handoff = View::from_tool_result(&kept)?.decide(&Host::default());
    ///     assert!(matches!(handoff, Handoff::Failed { .. }));
    /// }
    /// # Ok::<(), ucp_runtime::handoff::NotUcp>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NotUcp`] when there is no body in it, or one that decides nothing: see
    /// [`from_failure`](Self::from_failure) for a `status` that is not 2xx.
    pub fn from_tool_result(result: &Value) -> Result<Self, NotUcp> {
        let parsed;
        let result = match result {
            Value::String(text) => {
                parsed = serde_json::from_str::<Value>(text).map_err(|_| NotUcp)?;
                &parsed
            }
            result => result,
        };
        let Some(body) = result.get("body") else {
            return if result.get("structuredContent").is_some()
                || result.get("content").is_some_and(Value::is_array)
            {
                Self::from_mcp_result(result)
            } else {
                Self::from_value(result)
            };
        };
        let text = body
            .as_str()
            .map_or_else(|| body.to_string(), str::to_owned);
        match result.get("status").and_then(Value::as_u64) {
            Some(200..=299) | None => Self::from_bytes(text.as_bytes()),
            Some(status) => u16::try_from(status)
                .ok()
                .and_then(|status| StatusCode::from_u16(status).ok())
                .ok_or(NotUcp)
                .and_then(|status| Self::from_failure(status, text.as_bytes())),
        }
    }

    /// Whether the merchant is placing the order.
    pub(crate) fn is_in_progress(&self) -> bool {
        self.status.as_deref() == Some(decide::IN_PROGRESS)
    }

    /// Whether the session is over.
    pub(crate) fn is_over(&self) -> bool {
        matches!(
            self.status.as_deref(),
            Some(decide::COMPLETED | decide::CANCELED)
        )
    }

    /// Whether there is an error instead of the resource.
    pub(crate) fn is_error(&self) -> bool {
        self.kind == Kind::Error
    }

    /// When the session ends, if that can be read.
    pub(crate) fn expiry(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// The messages, in order.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn of(mut body: Tree) -> Result<Self, NotUcp> {
        let mut ucp = body.take("ucp");
        let envelope = matches!(ucp, Some(Tree::Object(_)));
        let mut in_envelope = |name| ucp.as_mut().and_then(|ucp| ucp.take(name));
        let text = |tree: Option<Tree>| tree.and_then(Tree::into_text);
        let kind = match text(in_envelope("status")).as_deref() {
            Some("error") => Kind::Error,
            _ => Kind::Resource,
        };
        let version = text(in_envelope("version")).filter(|version| !version.is_empty());
        let embedded = in_envelope("services").and_then(binding);
        let messages = body.take("messages").and_then(Tree::into_list);
        let listed = messages.is_some();
        let expires_at = body
            .take("expires_at")
            .filter(|expiry| *expiry != Tree::Null);
        let expires = expires_at.is_some();
        let expires_at = text(expires_at).and_then(|text| text.parse().ok());
        let view = Self {
            kind,
            status: body.text("status"),
            version,
            messages: messages
                .unwrap_or_default()
                .into_iter()
                .map(Message::from_tree)
                .collect(),
            continue_url: body.text("continue_url"),
            order: body.take("order").and_then(Order::of),
            unreadable_expiry: expires && expires_at.is_none(),
            expires_at,
            embedded,
        };
        if view.has_ucp_shape(envelope, listed) {
            Ok(view)
        } else {
            Err(NotUcp)
        }
    }

    /// Whether the members make a UCP body. A `status` alone does not: many APIs have one.
    fn has_ucp_shape(&self, envelope: bool, messages: bool) -> bool {
        match self.status.as_deref() {
            _ if self.kind == Kind::Error => true,
            Some(status) => envelope || messages || decide::is_known(status),
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
                ..Message::from_tree(Tree::Null)
            }],
            continue_url: wire::tag(body, "continue_url").map(str::to_owned),
            order: None,
            expires_at: None,
            unreadable_expiry: false,
            embedded: None,
        })
    }
}

/// The embedded binding of this response. Without a list under `config.delegate` there is none: a
/// profile's binding says what is possible, not what this checkout allows.
fn binding(mut services: Tree) -> Option<Binding> {
    let texts = |tree: Tree| -> Option<Vec<String>> {
        Some(
            tree.into_list()?
                .into_iter()
                .filter_map(Tree::into_text)
                .collect(),
        )
    };
    services
        .take(SERVICE)?
        .into_list()?
        .into_iter()
        .find_map(|mut binding| {
            if binding.text("transport")? != "embedded" {
                return None;
            }
            let mut config = binding.take("config")?;
            Some(Binding {
                delegate: texts(config.take("delegate")?)?,
                color_scheme: config.take("color_scheme").and_then(texts),
            })
        })
}

/// The order that a completed checkout led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    fn of(mut order: Tree) -> Option<Self> {
        matches!(order, Tree::Object(_)).then(|| Self {
            id: order.text("id"),
            label: order.text("label"),
            permalink_url: order.text("permalink_url"),
        })
    }
}
