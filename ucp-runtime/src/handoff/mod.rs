//! One decision out of an answer: what happens next.
//!
//! An answer spreads it over `status`, `messages[].severity`, `continue_url` and an embedded
//! service binding. [`View`] is the part of an answer that matters, and [`View::decide`] the
//! decision. Nothing here does any I/O.

mod decide;
mod embedded;
mod host;
mod json;
mod message;
mod pick;
mod view;

pub use embedded::HandoffUrl;
pub use host::{ColorScheme, Host};
pub use json::SCHEMA;
pub use message::{Message, MessageKind, Presentation, Severity};
pub use view::{NotUcp, Order, View};

use crate::anomaly::Anomaly;
use crate::wire::Object;
use jiff::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// What happens next. The first rule that fits decides:
///
/// 1. `status: completed`: [`Completed`](Handoff::Completed).
/// 2. `status: canceled`: [`Canceled`](Handoff::Canceled).
/// 3. `ucp.status: error`, or a flat `{code, content}` with a 4xx: [`Failed`](Handoff::Failed).
/// 4. `status: requires_escalation`, or an error that requires the buyer, whatever the status; a
///    disclosure that the host does not render; an error without a known severity while the
///    `continue_url` is usable: the buyer takes over. [`Embedded`](Handoff::Embedded) if this
///    response carries an embedded binding and the host can embed,
///    [`ContinueUrl`](Handoff::ContinueUrl) if its URL is usable, [`Failed`](Handoff::Failed) if
///    there is none.
/// 5. `complete_in_progress`, `ready_for_complete`, `incomplete`:
///    [`Conversational`](Handoff::Conversational).
/// 6. Another status: [`ContinueUrl`](Handoff::ContinueUrl) if usable, else
///    [`Failed`](Handoff::Failed).
///
/// ```
/// use ucp_runtime::handoff::{Handoff, Host, Next, View};
///
/// fn next(handoff: Handoff) -> String {
///     match handoff {
///         Handoff::Conversational { next: Next::Complete, .. } => "pay".into(),
///         Handoff::Conversational { blockers, .. } => format!("{} things to mend", blockers.len()),
///         Handoff::ContinueUrl { url, .. } => format!("send the buyer to {}", url.as_str()),
///         Handoff::Embedded { url, origin, .. } => format!("embed {}, listen to {origin}", url.as_str()),
///         Handoff::Completed { .. } => "thank the buyer".into(),
///         _ => "say what went wrong".into(),
///     }
/// }
/// let body = br#"{"ucp": {"version": "2026-04-08"}, "status": "ready_for_complete"}"#;
/// assert_eq!(next(View::from_bytes(body)?.decide(&Host::default())), "pay");
/// # Ok::<(), ucp_runtime::handoff::NotUcp>(())
/// ```
///
/// It serialises to JSON for a web client, one object with the decision under `decision`; [`SCHEMA`]
/// describes it member by member. The URL of an embedded checkout is in it, and with it `ec_auth`.
///
/// ```
/// # use ucp_runtime::handoff::{Host, View};
/// let body = br#"{"status": "requires_escalation", "continue_url": "https://shop.example/c/1"}"#;
/// let handoff = serde_json::to_value(View::from_bytes(body)?.decide(&Host::default()))?;
/// assert_eq!(handoff["decision"], "continue_url");
/// assert_eq!(handoff["url"], "https://shop.example/c/1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Section "Error Handling" of the protocol's checkout page.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Handoff {
    /// The caller goes on by itself.
    #[non_exhaustive]
    Conversational {
        /// With which operation.
        next: Next,
        /// Where the buyer can go on instead, if the merchant offers a usable URL: for a caller that
        /// cannot do what the checkout asks.
        continue_url: Option<HandoffUrl>,
        /// When the session ends.
        #[serde(serialize_with = "json::instant")]
        until: Option<Timestamp>,
        /// The error messages.
        blockers: Vec<Message>,
        /// The rest of what the answer says.
        #[serde(flatten)]
        context: Context,
    },
    /// The buyer goes on at a URL, which is one way: learn the result by reading the checkout again.
    #[non_exhaustive]
    ContinueUrl {
        /// The URL to open.
        url: HandoffUrl,
        /// Why the buyer takes over.
        reason: Takeover,
        /// When the session ends.
        #[serde(serialize_with = "json::instant")]
        until: Option<Timestamp>,
        /// The error messages.
        blockers: Vec<Message>,
        /// The rest of what the answer says.
        #[serde(flatten)]
        context: Context,
    },
    /// The buyer goes on in the merchant's checkout, embedded in a frame or a web view.
    #[non_exhaustive]
    Embedded {
        /// The URL to load.
        url: HandoffUrl,
        /// The origin that messages from the frame must have.
        origin: String,
        /// What the host handles natively: what it can, and this checkout allows.
        delegates: Vec<String>,
        /// Why the buyer takes over.
        reason: Takeover,
        /// When the session ends.
        #[serde(serialize_with = "json::instant")]
        until: Option<Timestamp>,
        /// The error messages.
        blockers: Vec<Message>,
        /// The rest of what the answer says.
        #[serde(flatten)]
        context: Context,
    },
    /// The order is placed.
    #[non_exhaustive]
    Completed {
        /// The order. The protocol requires it; its absence is an anomaly.
        order: Option<Order>,
        /// The error messages.
        blockers: Vec<Message>,
        /// The rest of what the answer says.
        #[serde(flatten)]
        context: Context,
    },
    /// The session is over without an order.
    #[non_exhaustive]
    Canceled {
        /// The error messages.
        blockers: Vec<Message>,
        /// The rest of what the answer says.
        #[serde(flatten)]
        context: Context,
    },
    /// There is no way on from this answer.
    #[non_exhaustive]
    Failed {
        /// Why, and so whether anything may have been placed.
        reason: FailedReason,
        /// All messages, in order.
        messages: Vec<Message>,
        /// Where the buyer can go on, if the merchant offers a usable URL.
        continue_url: Option<HandoffUrl>,
        /// The error messages.
        blockers: Vec<Message>,
        /// The rest of what the answer says.
        #[serde(flatten)]
        context: Context,
    },
}

impl Handoff {
    /// The error messages.
    #[must_use]
    pub fn blockers(&self) -> &[Message] {
        match self {
            Self::Conversational { blockers, .. }
            | Self::ContinueUrl { blockers, .. }
            | Self::Embedded { blockers, .. }
            | Self::Completed { blockers, .. }
            | Self::Canceled { blockers, .. }
            | Self::Failed { blockers, .. } => blockers,
        }
    }

    /// The rest of what the answer says.
    #[must_use]
    pub fn context(&self) -> &Context {
        match self {
            Self::Conversational { context, .. }
            | Self::ContinueUrl { context, .. }
            | Self::Embedded { context, .. }
            | Self::Completed { context, .. }
            | Self::Canceled { context, .. }
            | Self::Failed { context, .. } => context,
        }
    }
}

/// What every decision carries besides the error messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Context {
    /// The errors that the caller can resolve. When there are any, update the checkout before you
    /// hand it over. None once completion was accepted, as no update is allowed then.
    pub fix_first: Vec<Message>,
    /// The warnings that must be shown as disclosures.
    pub disclosures: Vec<Message>,
    /// The warnings that must be shown.
    pub notices: Vec<Message>,
    /// What looked wrong.
    pub anomalies: Vec<Anomaly>,
    /// How to read the checkout again, where that is how to learn what became of it: while the
    /// merchant places the order, after the buyer took over, and when there is no way on from an
    /// answer that does not say that nothing was placed.
    pub poll: Option<Poll>,
}

/// How to read a checkout again: after `first_delay`, then with doubled delays up to
/// `longest_delay`, until the session ends.
///
/// [`Call::wait_until_settled`](crate::Call::wait_until_settled) does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Poll {
    /// How long to wait before the first read.
    #[serde(rename = "first_delay_ms", serialize_with = "json::milliseconds")]
    pub first_delay: Duration,
    /// How long to wait between two reads, at most.
    #[serde(rename = "longest_delay_ms", serialize_with = "json::milliseconds")]
    pub longest_delay: Duration,
    /// When to stop: the session ends. Without it the merchant states no end; the protocol's default
    /// is 6 hours after the session began.
    #[serde(serialize_with = "json::instant")]
    pub until: Option<Timestamp>,
}

impl Poll {
    pub(crate) const fn until(until: Option<Timestamp>) -> Self {
        Self {
            first_delay: Duration::from_millis(500),
            longest_delay: Duration::from_secs(15),
            until,
        }
    }
}

/// The operation that goes on with a checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Next {
    /// Update it.
    Update,
    /// Complete it.
    Complete,
    /// Read it again, with backoff: the merchant is placing the order.
    Poll,
}

/// Why the buyer takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Takeover {
    /// The merchant needs input that its API cannot take. The checkout is incomplete.
    BuyerInput,
    /// The checkout is complete, and the buyer must review it.
    BuyerReview,
    /// The merchant says so, and not why.
    Escalation,
    /// There is a disclosure that the host does not render.
    Disclosure,
    /// There is an error, and what it asks for is not known.
    UnknownSeverity,
    /// The status is not known.
    UnknownStatus,
}

/// Why there is no way on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailedReason {
    /// The merchant answered with an error instead of the resource. Nothing was placed.
    NoResource,
    /// The merchant refused the request. Nothing was placed.
    RequestRefused,
    /// The buyer must take over, and there is no usable URL. Read the checkout again.
    MissingContinueUrl,
    /// The status is not known, and there is no usable URL. Read the checkout again.
    UnknownStatus,
}

impl FailedReason {
    /// Whether it says that nothing was placed. If not, read the checkout again.
    #[must_use]
    pub fn nothing_placed(self) -> bool {
        matches!(self, Self::NoResource | Self::RequestRefused)
    }
}

/// The decision on a typed checkout.
pub trait Resolve {
    /// What happens next.
    ///
    /// # Errors
    ///
    /// [`NotUcp`] when the type is neither a checkout nor an error envelope.
    fn handoff(&self, host: &Host) -> Result<Handoff, NotUcp>;
}

impl<T: Object> Resolve for T {
    fn handoff(&self, host: &Host) -> Result<Handoff, NotUcp> {
        View::from_object(self).map(|view| view.into_decision(host))
    }
}

#[cfg(test)]
mod tests;
