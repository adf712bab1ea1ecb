//! Orders: placed from a checkout, read, shipped.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::answer::Answer;
use crate::checkout::Checkout;
use crate::fulfillment;
use crate::pricing::{Priced, grand_total};
use crate::shop::{Call, Shop};

/// A placed order.
#[derive(Debug, Clone)]
pub struct Order {
    /// Its id.
    pub id: String,
    /// The checkout that it was placed from.
    pub checkout_id: String,
    /// The order as the contract has it.
    pub body: Value,
    pub(crate) owner: Arc<Agent>,
}

impl Order {
    /// The amount charged, in minor units.
    pub fn total(&self) -> i64 {
        grand_total(&self.body["totals"])
    }
}

/// The order that a checkout becomes.
pub(crate) fn place(
    checkout: &Checkout,
    priced: &Priced,
    id: &str,
    number: usize,
    origin: &str,
    ucp: Value,
) -> Value {
    let line = |line: &Value| {
        let mut line = line.clone();
        let quantity = line["quantity"].clone();
        line["quantity"] = json!({ "original": quantity, "total": quantity, "fulfilled": 0 });
        line["status"] = json!("processing");
        line
    };
    let basket = &checkout.basket;
    let mut body = json!({
        "ucp": ucp,
        "id": id,
        "label": format!("#{number}"),
        "checkout_id": checkout.id,
        "permalink_url": format!("{origin}/orders/{id}"),
        "line_items": priced.line_items.iter().map(line).collect::<Vec<_>>(),
        "fulfillment": {
            "expectations": fulfillment::expectations(&checkout.methods, &basket.lines),
            "events": [],
        },
        "currency": crate::catalog::CURRENCY,
        "totals": priced.totals,
    });
    if let Some(attribution) = basket.kept("attribution") {
        body["attribution"] = attribution.clone();
    }
    body
}

impl Shop {
    pub(crate) fn get_order(&mut self, call: &Call<'_>) -> Answer {
        let is_meant =
            |order: &&Order| order.id == call.id && order.owner.profile == call.agent.profile;
        match self.orders.iter().find(is_meant) {
            Some(order) => Answer::ok(order.body.clone()),
            None => call.not_found(),
        }
    }

    /// Ships everything that an order still lacks, and has the agent told. `None` without such an
    /// order.
    pub(crate) fn ship(&mut self, id: &str, now: Timestamp) -> Option<()> {
        let event = self.id("evt");
        let order = self.orders.iter_mut().find(|order| order.id == id)?;
        let mut shipped = Vec::new();
        for line in order.body["line_items"].as_array_mut()? {
            let total = line["quantity"]["total"].clone();
            if line["quantity"]["fulfilled"] != total {
                shipped.push(json!({ "id": line["id"], "quantity": total }));
                line["quantity"]["fulfilled"] = total;
                line["status"] = json!("fulfilled");
            }
        }
        let events = order.body["fulfillment"]["events"].as_array_mut()?;
        events.push(json!({
            "id": event,
            "occurred_at": now.to_string(),
            "type": "shipped",
            "line_items": shipped,
            "carrier": "Sandbox Post",
            "tracking_number": event,
        }));
        self.events.push(order.clone());
        Some(())
    }
}
