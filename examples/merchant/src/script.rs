//! What a test can make the merchant do: stimuli, and whom they strike.
//!
//! In process it is [`Merchant::script`](crate::Merchant::script) and its neighbours. A merchant
//! that runs as a program of its own is scripted over HTTP:
//!
//! | request | effect |
//! |---|---|
//! | `POST /sandbox/script` | queues a [`Cue`] |
//! | `PUT /sandbox/stock/{variant}` | sets the stock to the integer in the body |
//! | `POST /sandbox/orders/{id}/ship` | ships the order and tells its agent |
//! | `POST /sandbox/checkouts/{id}/approve` | does what the buyer's button at `continue_url` does |
//! | `GET /sandbox/orders` | the orders placed, oldest first |
//!
//! ```json
//! {
//!   "target": { "next": "create_checkout" },
//!   "stimuli": [
//!     { "error": { "severity": "requires_buyer_review", "code": "high_value_order" } },
//!     { "embedded": { "delegate": ["payment.credential"], "color_scheme": ["light"] } }
//!   ]
//! }
//! ```
//!
//! The other target is `{ "session": "<id of a cart or checkout>" }`, and the stimulus without
//! members is `"lose_answer"`.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Severity;
use crate::operation::Operation;

/// Something that the merchant does beside its ordinary business.
///
/// The first group changes a session and lasts: an `Error` that the platform can act on goes with
/// the next update, one that needs the buyer goes when the buyer approves at `continue_url`, the
/// others stay. The second group changes one answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stimulus {
    /// An error message. `requires_buyer_input` and `requires_buyer_review` make a checkout
    /// `requires_escalation`, the other two keep it `incomplete`.
    Error {
        /// What it asks of the platform.
        severity: Severity,
        /// Its code.
        code: String,
        /// Its text.
        #[serde(default)]
        content: String,
        /// A JSONPath to what it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// A warning with `presentation: disclosure`.
    Disclosure {
        /// Its code, such as `prop65`.
        code: String,
        /// Its text.
        content: String,
        /// A JSONPath to what it is about.
        path: String,
    },
    /// An embedded binding in `ucp.services`.
    Embedded {
        /// What the merchant lets the host take over.
        delegate: Vec<String>,
        /// `light`, `dark`; nothing is said when empty.
        #[serde(default)]
        color_scheme: Vec<String>,
    },
    /// A variant that has no stock in this session.
    OutOfStock {
        /// The variant's id.
        item: String,
    },
    /// Completion is accepted first and done after this many reads.
    CompleteInProgress {
        /// Reads that still answer `complete_in_progress`.
        reads: u32,
    },

    /// An error envelope (status 200) in place of acting.
    Envelope {
        /// The message's code.
        code: String,
        /// The message's text.
        #[serde(default)]
        content: String,
        /// Whether the storefront is offered as `continue_url`.
        #[serde(default)]
        continue_url: bool,
    },
    /// A protocol error in place of acting; nothing is kept under the idempotency key.
    Refuse {
        /// The HTTP status.
        status: u16,
        /// The body's code.
        code: String,
        /// `Retry-After`, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u32>,
    },
    /// The merchant acts and keeps its answer, but a 502 is what arrives.
    LoseAnswer,
    /// A JSON merge patch (RFC 7396) over the answer's body: for what no other stimulus says,
    /// deviations from the contract included.
    Patch(Value),
}

impl Stimulus {
    /// Whether it belongs to a session, rather than to one answer.
    pub(crate) fn lasts(&self) -> bool {
        matches!(
            self,
            Stimulus::Error { .. }
                | Stimulus::Disclosure { .. }
                | Stimulus::Embedded { .. }
                | Stimulus::OutOfStock { .. }
                | Stimulus::CompleteInProgress { .. }
        )
    }
}

/// Whom a stimulus strikes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The next call of an operation. Cues for one operation queue up, one cue a call.
    Next(Operation),
    /// A cart or checkout: at once, or with the next answer about it.
    Session(String),
}

/// Stimuli that strike together: the body of `POST /sandbox/script`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cue {
    /// Whom.
    pub target: Target,
    /// What.
    pub stimuli: Vec<Stimulus>,
}

/// The stimuli that wait.
#[derive(Debug, Default)]
pub(crate) struct Script {
    next: BTreeMap<Operation, VecDeque<Vec<Stimulus>>>,
    sessions: BTreeMap<String, Vec<Stimulus>>,
}

impl Script {
    pub(crate) fn push(&mut self, cue: Cue) {
        match cue.target {
            Target::Next(operation) => {
                self.next
                    .entry(operation)
                    .or_default()
                    .push_back(cue.stimuli);
            }
            Target::Session(id) => self.sessions.entry(id).or_default().extend(cue.stimuli),
        }
    }

    /// What strikes this call: one cue of the operation's queue, and all that waits for the session.
    pub(crate) fn take(&mut self, operation: Operation, session: Option<&str>) -> Vec<Stimulus> {
        let mut due = session
            .and_then(|id| self.sessions.remove(id))
            .unwrap_or_default();
        let cue = self.next.get_mut(&operation).and_then(VecDeque::pop_front);
        due.extend(cue.unwrap_or_default());
        due
    }
}

/// Applies a JSON merge patch.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(members) = target {
        for (name, change) in changes {
            if change.is_null() {
                members.remove(name);
            } else {
                merge(members.entry(name.clone()).or_insert(Value::Null), change);
            }
        }
    }
}
