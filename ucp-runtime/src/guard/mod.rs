//! What is checked before a checkout is changed, and before money moves.
//!
//! `complete_checkout` is judged against the checkout that the buyer agreed to: the one given to
//! [`Call::from`](crate::Call::from), or a fresh one that the runtime reads itself. It is refused
//! before anything is sent when that checkout's totals do not add up, when it does not offer the
//! instrument, while its completion is in progress, once it has expired, and when it has a disclosure
//! that was not [acknowledged](crate::Call::acknowledge). Each [`Guard`] can be lifted by its name
//! with [`Call::allow`](crate::Call::allow).
//!
//! `update_checkout` is judged as well when it says with `from` what it starts from: it is refused while
//! a completion is in progress, and once that checkout has expired.

mod totals;

pub use totals::TotalsProblem;

use crate::call::Inputs;
use crate::error::{Error, RequestError};
use crate::execute;
use crate::handoff::Message;
use crate::operation::Operation;
use crate::response::Answer;
use crate::transport::BoxFuture;
use crate::wire;
use jiff::Timestamp;
use serde_json::Value;
use std::fmt;

/// One of the checks, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Guard {
    /// The totals add up: see [`TotalsProblem`].
    Totals,
    /// The instrument's handler is among those that the checkout offers, and its type among the
    /// handler's `available_instruments` (their absence restricts nothing).
    Instrument,
    /// No completion is in progress.
    InProgress,
    /// `expires_at` is still to come.
    Expired,
    /// All disclosures are acknowledged.
    Disclosures,
}

impl Guard {
    pub(crate) const ALL: [Self; 5] = [
        Self::Totals,
        Self::Instrument,
        Self::InProgress,
        Self::Expired,
        Self::Disclosures,
    ];
}

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The totals do not add up.
    #[error("its totals do not add up: {0}")]
    Totals(TotalsProblem),
    /// The checkout does not offer the instrument.
    #[error("it does not offer a `{kind}` of the payment handler `{handler}`")]
    Instrument {
        /// The instrument's `handler_id`.
        handler: String,
        /// The instrument's `type`.
        kind: String,
    },
    /// A completion is in progress: read the checkout until it is settled.
    #[error("a completion is in progress: read the checkout until it is settled")]
    InProgress,
    /// The checkout has expired: make another.
    #[error("it expired at {at}: make another")]
    Expired {
        /// When it expired.
        at: Timestamp,
    },
    /// Disclosures that were not acknowledged: show them to the buyer, then acknowledge them.
    #[error("{} of its disclosures are not acknowledged: show them, then acknowledge them", .messages.len())]
    Disclosures {
        /// The disclosures.
        messages: Vec<Message>,
    },
    /// The checkout that it is judged against is another one. No guard lifts this.
    #[error("the checkout that it is judged against is `{judged}`")]
    OtherCheckout {
        /// The id of that checkout.
        judged: String,
    },
}

impl Refusal {
    /// The guard that refused, to name to [`Call::allow`](crate::Call::allow).
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        match self {
            Self::Totals(_) => Some(Guard::Totals),
            Self::Instrument { .. } => Some(Guard::Instrument),
            Self::InProgress => Some(Guard::InProgress),
            Self::Expired { .. } => Some(Guard::Expired),
            Self::Disclosures { .. } => Some(Guard::Disclosures),
            Self::OtherCheckout { .. } => None,
        }
    }
}

/// Every reason for which a call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals(Vec<Refusal>);

impl Refusals {
    /// The reasons; there is at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Refusal] {
        &self.0
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.0.iter().enumerate() {
            write!(f, "{}{refusal}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// How a call is judged.
#[derive(Default)]
pub(crate) struct Judging {
    pub(crate) from: Option<Value>,
    pub(crate) allowed: Vec<Guard>,
    pub(crate) acknowledged: Vec<Message>,
}

/// Judges a call that changes a checkout; others pass.
pub(crate) async fn check(inputs: &Inputs) -> Result<(), RequestError> {
    let Some(judging) = inputs.judged() else {
        return Ok(());
    };
    if judging.from.is_none()
        && inputs
            .operation
            .guards()
            .iter()
            .all(|guard| judging.allowed.contains(guard))
    {
        return Ok(());
    }
    let read;
    let checkout = match &judging.from {
        Some(checkout) => checkout,
        None => {
            let operation = inputs.operation.read.ok_or(RequestError::NoBasis)?;
            read = fresh(inputs, operation)
                .await
                .map_err(|source| RequestError::Unread {
                    source: Box::new(source),
                })?;
            &read
        }
    };
    let refusals = judge(inputs, judging, checkout);
    if refusals.is_empty() {
        Ok(())
    } else {
        Err(RequestError::Refused {
            refusals: Refusals(refusals),
        })
    }
}

/// Reads the checkout that a call is about.
async fn fresh(inputs: &Inputs, operation: &'static Operation) -> Result<Value, Error> {
    // A future of its own type would contain itself: reading is a call too.
    fn boxed(inputs: Inputs) -> BoxFuture<'static, Result<Answer, Error>> {
        Box::pin(execute::execute(inputs))
    }
    let answer = boxed(inputs.read(operation)).await?;
    answer.read::<Value, Value>()?.into_success()
}

fn judge(inputs: &Inputs, judging: &Judging, checkout: &Value) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if let (Some((_, asked)), Some(judged)) = (inputs.path.first(), wire::tag(checkout, "id"))
        && asked != judged
    {
        refusals.push(Refusal::OtherCheckout {
            judged: judged.to_owned(),
        });
    }
    let guards = inputs
        .operation
        .guards()
        .iter()
        .filter(|guard| !judging.allowed.contains(guard));
    refusals.extend(guards.filter_map(|guard| {
        match *guard {
            Guard::Totals => totals::check(checkout.get("totals"), inputs.operation.release)
                .err()
                .map(Refusal::Totals),
            Guard::Instrument => not_offered(inputs.body.as_deref(), checkout),
            Guard::InProgress => (wire::tag(checkout, "status") == Some("complete_in_progress"))
                .then_some(Refusal::InProgress),
            Guard::Expired => {
                let at: Timestamp = wire::tag(checkout, "expires_at")?.parse().ok()?;
                let now = inputs.merchant.agent().inner().clock.now();
                (at <= now).then_some(Refusal::Expired { at })
            }
            Guard::Disclosures => not_acknowledged(&judging.acknowledged, checkout),
        }
    }));
    refusals
}

fn not_acknowledged(acknowledged: &[Message], checkout: &Value) -> Option<Refusal> {
    let messages: Vec<Message> = checkout
        .get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(Message::of)
        .filter(|message| message.is_disclosure() && !acknowledged.contains(message))
        .collect();
    (!messages.is_empty()).then_some(Refusal::Disclosures { messages })
}

/// The first instrument of the request that the checkout does not offer.
fn not_offered(body: Option<&[u8]>, checkout: &Value) -> Option<Refusal> {
    let body: Value = serde_json::from_slice(body?).ok()?;
    let handlers = handlers(checkout);
    paying(&body)
        .into_iter()
        .find(|instrument| !handlers.iter().any(|handler| offers(handler, instrument)))
        .map(|instrument| {
            let text = |name| wire::tag(instrument, name).unwrap_or_default().to_owned();
            Refusal::Instrument {
                handler: text("handler_id"),
                kind: text("type"),
            }
        })
}

/// The instruments that a request pays with: those that are selected, or all where none is. The
/// release 2026-01-11 has one, as `payment_data`.
fn paying(body: &Value) -> Vec<&Value> {
    let instruments = body
        .pointer("/payment/instruments")
        .and_then(Value::as_array);
    let instruments = instruments.into_iter().flatten();
    let all: Vec<&Value> = instruments.chain(body.get("payment_data")).collect();
    let selected: Vec<&Value> = all
        .iter()
        .copied()
        .filter(|instrument| instrument.get("selected") == Some(&Value::Bool(true)))
        .collect();
    if selected.is_empty() { all } else { selected }
}

/// The payment handlers that a checkout offers: by name in the envelope, or as a list under `payment`
/// in 2026-01-11.
fn handlers(checkout: &Value) -> Vec<&Value> {
    let named = checkout
        .pointer("/ucp/payment_handlers")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|handlers| handlers.values())
        .filter_map(Value::as_array)
        .flatten();
    let listed = checkout
        .pointer("/payment/handlers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    named.chain(listed).collect()
}

fn offers(handler: &Value, instrument: &Value) -> bool {
    let (Some(id), Some(kind)) = (
        wire::tag(instrument, "handler_id"),
        wire::tag(instrument, "type"),
    ) else {
        return false;
    };
    wire::tag(handler, "id") == Some(id)
        && handler
            .get("available_instruments")
            .and_then(Value::as_array)
            .is_none_or(|available| {
                available
                    .iter()
                    .any(|available| wire::tag(available, "type") == Some(kind))
            })
}
