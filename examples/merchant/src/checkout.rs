//! Checkout sessions: create, get, update, complete, cancel, and the status that follows from
//! what is still missing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answer::{Answer, Severity, recoverable};
use crate::basket::{Basket, severities};
use crate::catalog::Catalog;
use crate::fulfillment::{self, Method};
use crate::operation::Operation;
use crate::order::Order;
use crate::pricing::Priced;
use crate::profile::{self, HANDLER_ID, INSTRUMENTS, RELEASE, SHOPPING};
use crate::script::Stimulus;
use crate::shop::{Call, Shop};
use crate::{cart, order};

/// A checkout session.
#[derive(Debug)]
pub(crate) struct Checkout {
    pub(crate) id: String,
    pub(crate) basket: Basket,
    pub(crate) methods: Vec<Method>,
    cart: Option<String>,
    /// The instruments without their credentials.
    payment: Option<Value>,
    /// Why the last attempt to complete failed.
    declined: Vec<Value>,
    stage: Stage,
}

/// How far a session is; the status within `Open` follows from the messages.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Open,
    /// Accepted, and done after this many more reads.
    Completing(u32),
    /// With the `order` member.
    Completed(Value),
    Canceled,
}

impl Checkout {
    /// The priced lines with every message of the session.
    pub(crate) fn price(&self, catalog: &Catalog) -> Priced {
        let mut priced = self
            .basket
            .price(catalog, fulfillment::delivery(&self.methods));
        let buyer = self.basket.kept("buyer");
        let email = buyer.and_then(|buyer| buyer["email"].as_str());
        if email.is_none_or(str::is_empty) {
            let content = "The buyer's e-mail address is missing.";
            priced
                .messages
                .push(recoverable("missing", "$.buyer.email", content));
        }
        let lines = &self.basket.lines;
        let blockers = fulfillment::blockers(&self.methods, lines, catalog);
        priced.messages.extend(blockers);
        priced.messages.extend(self.declined.iter().cloned());
        priced
    }

    /// The agent that made it.
    pub(crate) fn owner(&self) -> &crate::agent::Agent {
        &self.basket.owner
    }

    fn status(&self, messages: &[Value]) -> &'static str {
        match self.stage {
            Stage::Completing(_) => "complete_in_progress",
            Stage::Completed(_) => "completed",
            Stage::Canceled => "canceled",
            Stage::Open if severities(messages).any(|severity| severity.needs_buyer()) => {
                "requires_escalation"
            }
            Stage::Open if severities(messages).next().is_some() => "incomplete",
            Stage::Open => "ready_for_complete",
        }
    }

    /// The resource as a response shows it.
    pub(crate) fn view(&self, shop: &Shop, mut ucp: Value) -> Value {
        let priced = self.price(&shop.catalog);
        for stimulus in &self.basket.script {
            if let Stimulus::Embedded {
                delegate,
                color_scheme,
            } = stimulus
            {
                ucp["services"] = embedded(delegate, color_scheme);
            }
        }
        let origin = &shop.origin;
        let status = self.status(&priced.messages);
        let mut body = json!({
            "ucp": ucp,
            "id": self.id,
            "status": status,
            "links": [
                { "type": "privacy_policy", "url": format!("{origin}/privacy") },
                { "type": "terms_of_service", "url": format!("{origin}/terms") },
            ],
        });
        // Nothing is left to say about the input of a session that is past changing.
        let open = matches!(self.stage, Stage::Open);
        let errors = |message: &&Value| open || message["type"] != "error";
        let messages: Vec<Value> = priced.messages.iter().filter(errors).cloned().collect();
        self.basket.write(&mut body, &priced, &messages);
        if !self.methods.is_empty() {
            body["fulfillment"] = fulfillment::view(&self.methods);
        }
        if let Some(payment) = &self.payment {
            body["payment"] = payment.clone();
        }
        if let Some(cart) = &self.cart {
            body["cart_id"] = json!(cart);
        }
        match &self.stage {
            Stage::Completed(order) => body["order"] = order.clone(),
            Stage::Canceled => {}
            Stage::Open | Stage::Completing(_) => {
                body["continue_url"] = json!(format!("{origin}/checkout/{}", self.id));
            }
        }
        body
    }

    fn replace(&mut self, call: &Call<'_>, catalog: &Catalog) {
        let lines = &self.basket.lines;
        self.methods = fulfillment::read(&call.body["fulfillment"], &self.methods, lines, catalog);
        self.payment = call.body.get("payment").map(without_credentials);
        self.declined.clear();
    }

    /// The completion that the script asks to delay.
    fn delay(&self) -> u32 {
        let reads = |stimulus: &Stimulus| match stimulus {
            Stimulus::CompleteInProgress { reads } => Some(*reads),
            _ => None,
        };
        self.basket.script.iter().find_map(reads).unwrap_or(0)
    }
}

fn embedded(delegate: &[String], color_scheme: &[String]) -> Value {
    let mut config = json!({ "delegate": delegate });
    if !color_scheme.is_empty() {
        config["color_scheme"] = json!(color_scheme);
    }
    json!({ SHOPPING: [{ "version": RELEASE, "transport": "embedded", "config": config }] })
}

fn without_credentials(payment: &Value) -> Value {
    let mut payment = payment.clone();
    let instruments = payment.get_mut("instruments").and_then(Value::as_array_mut);
    for instrument in instruments.into_iter().flatten() {
        if let Some(members) = instrument.as_object_mut() {
            members.remove("credential");
        }
    }
    payment
}

/// Charges the selected instrument (or the only one), or says why that fails.
fn charge(payment: &Value) -> Result<(), Value> {
    let instruments: &[Value] = payment["instruments"].as_array().map_or(&[], Vec::as_slice);
    let chosen = match instruments {
        [only] => Some((0, only)),
        many => many
            .iter()
            .enumerate()
            .find(|(_, instrument)| instrument["selected"] == true),
    };
    let Some((index, instrument)) = chosen else {
        let content = "Select one payment instrument.";
        return Err(recoverable(
            "payment_failed",
            "$.payment.instruments",
            content,
        ));
    };
    let reason = |member: &str, content: &str| {
        let path = format!("$.payment.instruments[{index}].{member}");
        Err(recoverable("payment_failed", &path, content))
    };
    if instrument["handler_id"] != HANDLER_ID {
        return reason("handler_id", "This merchant has no such payment handler.");
    }
    if !INSTRUMENTS.iter().any(|kind| instrument["type"] == *kind) {
        return reason("type", "The handler takes no such instrument.");
    }
    match instrument["credential"]["token"].as_str() {
        None => reason("credential", "The credential's token is missing."),
        // The sandbox's card that is always refused.
        Some("tok_decline") => reason("credential", "The issuer declined."),
        Some(_) => Ok(()),
    }
}

/// The caller's session; one past its time is canceled.
fn find<'a>(
    checkouts: &'a mut BTreeMap<String, Checkout>,
    call: &Call<'_>,
) -> Option<&'a mut Checkout> {
    let checkout = checkouts
        .get_mut(call.id)
        .filter(|checkout| checkout.basket.owner.profile == call.agent.profile)?;
    if call.now >= checkout.basket.expires_at && checkout.stage == Stage::Open {
        checkout.stage = Stage::Canceled;
    }
    Some(checkout)
}

impl Shop {
    pub(crate) fn create_checkout(&mut self, call: &Call<'_>) -> Answer {
        let mut basket = Basket::new(call.agent.clone(), call.expires_at());
        basket.replace(call.body, &self.catalog);
        let cart = call.body["cart_id"].as_str();
        if let Some(id) = cart {
            let open = |checkout: &&Checkout| {
                checkout.cart.as_deref() == Some(id)
                    && checkout.stage == Stage::Open
                    && call.now < checkout.basket.expires_at
                    && checkout.basket.owner.profile == call.agent.profile
            };
            if let Some(existing) = self.checkouts.values().find(open) {
                return Answer::created(existing.view(self, call.ucp()));
            }
            let Some(cart) = cart::find(&mut self.carts, call, id) else {
                return Answer::not_found(call.ucp(), "There is no cart by this id.");
            };
            basket.take_over(&cart.basket);
        }
        if basket.lines.is_empty() {
            return Answer::envelope(call.ucp(), "item_unavailable", "None of this can be had.");
        }
        basket.script.extend(call.script.iter().cloned());
        let mut checkout = Checkout {
            id: self.id("chk"),
            basket,
            methods: Vec::new(),
            cart: cart.map(str::to_owned),
            payment: None,
            declined: Vec::new(),
            stage: Stage::Open,
        };
        checkout.replace(call, &self.catalog);
        let answer = Answer::created(checkout.view(self, call.ucp()));
        self.checkouts.insert(checkout.id.clone(), checkout);
        answer
    }

    pub(crate) fn get_checkout(&mut self, call: &Call<'_>) -> Answer {
        let Some(checkout) = find(&mut self.checkouts, call) else {
            return call.not_found();
        };
        match checkout.stage {
            Stage::Completing(0) => self.place_order(call.id),
            Stage::Completing(reads) => checkout.stage = Stage::Completing(reads - 1),
            _ => {}
        }
        self.show_checkout(call)
    }

    pub(crate) fn update_checkout(&mut self, call: &Call<'_>) -> Answer {
        if find(&mut self.checkouts, call).is_none() {
            return call.not_found();
        }
        if let Some(refusal) = self.refuse_change(call) {
            return refusal;
        }
        if let Some(checkout) = self.checkouts.get_mut(call.id) {
            checkout.basket.replace(call.body, &self.catalog);
            checkout.replace(call, &self.catalog);
        }
        self.show_checkout(call)
    }

    pub(crate) fn complete_checkout(&mut self, call: &Call<'_>) -> Answer {
        let Some(checkout) = find(&mut self.checkouts, call) else {
            return call.not_found();
        };
        checkout.basket.script.extend(call.script.iter().cloned());
        checkout.declined.clear();
        if let Some(refusal) = self.refuse_change(call) {
            return refusal;
        }
        if let Some(checkout) = self.checkouts.get_mut(call.id)
            && checkout.status(&checkout.price(&self.catalog).messages) == "ready_for_complete"
        {
            let payment = &call.body["payment"];
            checkout.payment = Some(without_credentials(payment));
            match (charge(payment), checkout.delay()) {
                (Err(reason), _) => checkout.declined.push(reason),
                (Ok(()), 0) => self.place_order(call.id),
                (Ok(()), reads) => checkout.stage = Stage::Completing(reads),
            }
        }
        self.show_checkout(&Call {
            script: Vec::new(),
            ..*call
        })
    }

    pub(crate) fn cancel_checkout(&mut self, call: &Call<'_>) -> Answer {
        let Some(checkout) = find(&mut self.checkouts, call) else {
            return call.not_found();
        };
        match checkout.stage {
            Stage::Open | Stage::Completing(_) => checkout.stage = Stage::Canceled,
            Stage::Completed(_) | Stage::Canceled => {
                return Answer::envelope(call.ucp(), "invalid_state", "It cannot be canceled.");
            }
        }
        self.show_checkout(call)
    }

    /// The buyer agrees on the merchant's page: what needed the buyer is settled. Who only gave an
    /// answer leaves the rest to the agent; who came to review, or came unasked, pays there when
    /// nothing else is missing. `None` for a session that is not open.
    pub(crate) fn approve(&mut self, id: &str) -> Option<()> {
        let asked = self.settle(id)?;
        let answered =
            !asked.is_empty() && asked.iter().all(|it| *it == Severity::RequiresBuyerInput);
        if self.is_ready(id) && !answered {
            self.place_order(id);
        }
        Some(())
    }

    /// The buyer agrees on the merchant's page and pays with what the host of the embedded page
    /// handed over. `None` for a session that is not open.
    pub(crate) fn pay(&mut self, id: &str, payment: &Value) -> Option<()> {
        self.settle(id)?;
        let charged = charge(payment);
        let checkout = self.checkouts.get_mut(id)?;
        checkout.payment = Some(without_credentials(payment));
        checkout.declined.clear();
        match charged {
            Err(reason) => checkout.declined.push(reason),
            Ok(()) if self.is_ready(id) => self.place_order(id),
            Ok(()) => {}
        }
        Some(())
    }

    /// Settles what needed the buyer, and says what that was.
    fn settle(&mut self, id: &str) -> Option<Vec<Severity>> {
        let open = |checkout: &&mut Checkout| checkout.stage == Stage::Open;
        let checkout = self.checkouts.get_mut(id).filter(open)?;
        let mut asked = Vec::new();
        checkout.basket.script.retain(|stimulus| match stimulus {
            Stimulus::Error { severity, .. } if severity.needs_buyer() => {
                asked.push(*severity);
                false
            }
            _ => true,
        });
        Some(asked)
    }

    fn is_ready(&self, id: &str) -> bool {
        let ready = |checkout: &Checkout| {
            let messages = checkout.price(&self.catalog).messages;
            checkout.status(&messages) == "ready_for_complete"
        };
        self.checkouts.get(id).is_some_and(ready)
    }

    fn show_checkout(&mut self, call: &Call<'_>) -> Answer {
        let Some(checkout) = self.checkouts.get_mut(call.id) else {
            return call.not_found();
        };
        checkout.basket.script.extend(call.script.iter().cloned());
        let Some(checkout) = self.checkouts.get(call.id) else {
            return call.not_found();
        };
        Answer::ok(checkout.view(self, call.ucp()))
    }

    /// The answer to a change of a session that takes none.
    fn refuse_change(&self, call: &Call<'_>) -> Option<Answer> {
        let checkout = self.checkouts.get(call.id)?;
        match checkout.stage {
            Stage::Open => None,
            Stage::Completing(_) => {
                let mut body = checkout.view(self, call.ucp());
                let content = "The order is being placed; read the checkout to learn how it went.";
                let message = recoverable("invalid_state", "$.status", content);
                match body["messages"].as_array_mut() {
                    Some(messages) => messages.push(message),
                    None => body["messages"] = json!([message]),
                }
                Some(Answer::ok(body))
            }
            Stage::Completed(_) | Stage::Canceled => {
                let content = "The checkout takes no more changes.";
                Some(Answer::envelope(call.ucp(), "invalid_state", content))
            }
        }
    }

    /// Places the order, takes the goods from stock, clears the cart, and has the agent told.
    fn place_order(&mut self, id: &str) {
        let order_id = self.id("ord");
        let number = 1001 + self.orders.len();
        let Some(checkout) = self.checkouts.get(id) else {
            return;
        };
        let priced = checkout.price(&self.catalog);
        let owner = checkout.basket.owner.clone();
        let ucp = profile::envelope(&owner.common, Operation::GetOrder.capability());
        let placed = Order {
            id: order_id.clone(),
            checkout_id: id.to_owned(),
            body: order::place(checkout, &priced, &order_id, number, &self.origin, ucp),
            owner,
        };
        for line in checkout.basket.lines.clone() {
            let left = self.catalog.stock(&line.item) - line.quantity;
            self.catalog.set_stock(&line.item, left);
        }
        if let Some(checkout) = self.checkouts.get_mut(id) {
            checkout.stage = Stage::Completed(json!({
                "id": placed.id,
                "label": placed.body["label"],
                "permalink_url": placed.body["permalink_url"],
            }));
            if let Some(cart) = &checkout.cart {
                self.carts.remove(cart);
            }
        }
        self.events.push(placed.clone());
        self.orders.push(placed);
    }
}
