//! Who approves that money moves.

use super::Tools;
use super::result::{self, ToolResult};
use crate::call::Call;
use crate::handoff::{Handoff, Message, Next};
use crate::money::Money;
use crate::untyped::Untyped;
use crate::wire::{self, Value};

/// A purchase that a model asks to complete, as it stands at the merchant now.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Purchase {
    /// The merchant's origin.
    pub merchant: String,
    /// The checkout, freshly read: its line items and totals are what the buyer agrees to.
    pub checkout: Value,
    /// The warnings that must be shown as disclosures: approving says that they were.
    pub disclosures: Vec<Message>,
    /// The warnings that must be shown.
    pub notices: Vec<Message>,
}

impl Purchase {
    /// The checkout's total, where it states one.
    #[must_use]
    pub fn total(&self) -> Option<Money<'_>> {
        let totals = self.checkout.get("totals").and_then(Value::as_array)?;
        let mut totals = totals.iter();
        let total = totals.find(|entry| wire::tag(entry, "type") == Some("total"))?;
        let amount = total.get("amount").and_then(Value::as_i64)?;
        Some(Money::new(amount, wire::tag(&self.checkout, "currency")?))
    }
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// The buyer saw the purchase, its totals and its disclosures, and wants it.
    Approved,
    /// The buyer does not want it, or could not be asked.
    Declined {
        /// Why, for the model.
        reason: Option<String>,
    },
}

/// Has a completion approved; other calls pass. What is not approved is answered.
pub(super) async fn ask(
    tools: &Tools,
    call: Call<Untyped>,
) -> Result<Call<Untyped>, Box<ToolResult>> {
    let Some(approve) = &tools.0.approve else {
        return Ok(call);
    };
    if !call.completes() {
        return Ok(call);
    }
    let failed = |error| Box::new(ToolResult::error(tools, error));
    // Recorded once approved, and perhaps sent: asking again would not stop it.
    if call.is_recorded().await.map_err(failed)? {
        return Ok(call);
    }
    let checkout = read(tools, &call, 1).await?;
    let context = match result::decision(tools, &checkout) {
        Some(Handoff::Conversational {
            next: Next::Complete,
            context,
            ..
        }) => context,
        decision => {
            let reason = "The checkout cannot be completed as it stands.";
            return Err(Box::new(ToolResult::stopped(
                tools, reason, decision, checkout,
            )));
        }
    };
    let disclosures = context.disclosures;
    let approval = approve(Purchase {
        merchant: tools.0.merchant.origin().to_owned(),
        checkout: checkout.clone(),
        disclosures: disclosures.clone(),
        notices: context.notices,
    });
    if let Approval::Declined { reason } = approval.await {
        let reason = match reason {
            Some(reason) => format!("The purchase was not approved: {reason}"),
            None => "The purchase was not approved.".to_owned(),
        };
        let decision = result::decision(tools, &checkout);
        return Err(Box::new(ToolResult::stopped(
            tools, &reason, decision, checkout,
        )));
    }
    // Deciding takes a person minutes.
    let now = read(tools, &call, 2).await?;
    if agreed(&now) != agreed(&checkout) {
        let reason = "The checkout changed while the buyer decided: show it again.";
        let decision = result::decision(tools, &now);
        return Err(Box::new(ToolResult::stopped(tools, reason, decision, now)));
    }
    Ok(call.from(&now).acknowledge(&disclosures))
}

/// Reads what a call is about.
pub(super) async fn read(
    tools: &Tools,
    call: &Call<Untyped>,
    turn: u64,
) -> Result<Value, Box<ToolResult>> {
    let failed = |error| Box::new(ToolResult::error(tools, error));
    let read = call.reading(turn).map_err(failed)?;
    read.await
        .and_then(|response| response.into_success())
        .map_err(failed)
}

/// What a buyer agrees to: when it differs, they agreed to something else.
fn agreed(checkout: &Value) -> Vec<Option<&Value>> {
    fn list(of: Option<&Value>) -> impl Iterator<Item = &Value> {
        of.and_then(Value::as_array).into_iter().flatten()
    }
    let whole = ["buyer", "currency", "line_items", "totals"];
    let mut agreed = Vec::from(whole.map(|name| checkout.get(name)));
    // Which ways to deliver there are may change at any time; what was chosen of them may not.
    for method in list(checkout.pointer("/fulfillment/methods")) {
        let chosen = ["type", "destinations", "selected_destination_id"];
        agreed.extend(chosen.map(|name| method.get(name)));
        let groups = list(method.get("groups"));
        agreed.extend(groups.map(|group| group.get("selected_option_id")));
    }
    agreed
}
