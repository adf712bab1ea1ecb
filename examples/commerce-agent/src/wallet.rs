//! How the buyer pays. The credential that moves money never reaches the model or the page's own
//! checkout: it is handed to the merchant, on the buyer's confirmation.

use serde_json::{Value, json};

/// Something that the buyer can pay with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instrument {
    /// The wallet's id of it.
    pub id: String,
    /// What the buyer calls it.
    pub label: String,
    /// The `id` of the payment handler, as the checkout lists it.
    pub handler: String,
    /// The handler's type of instrument.
    pub kind: String,
}

impl Instrument {
    /// As a merchant takes it, without a credential.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "id": self.id, "handler_id": self.handler, "type": self.kind })
    }
}

/// Holds what the buyer pays with. Write one for the payment handler of your merchants.
pub trait Wallet: Send + Sync {
    /// All instruments, the preferred one first.
    fn instruments(&self) -> Vec<Instrument>;

    /// The credential of an instrument, for one payment.
    fn credential(&self, instrument: &Instrument) -> Value;
}

/// The wallet of the sandbox merchant: one card that pays, and one that is declined.
#[derive(Debug, Clone, Copy, Default)]
pub struct SandboxWallet;

impl Wallet for SandboxWallet {
    fn instruments(&self) -> Vec<Instrument> {
        let card = |id: &str, label: &str| Instrument {
            id: id.to_owned(),
            label: label.to_owned(),
            handler: merchant::profile::HANDLER_ID.to_owned(),
            kind: "card".to_owned(),
        };
        vec![
            card("card-1", "Sandbox card •••• 4242"),
            card("card-2", "Card that is declined •••• 0002"),
        ]
    }

    fn credential(&self, instrument: &Instrument) -> Value {
        let token = match instrument.id.as_str() {
            "card-2" => "tok_decline",
            _ => "tok_sandbox",
        };
        json!({ "type": "token", "token": token })
    }
}

/// The instruments that a checkout takes: of a handler that it lists, and of a type that is available.
pub(crate) fn accepted(wallet: &dyn Wallet, checkout: &Value) -> Vec<Instrument> {
    let handlers = checkout.pointer("/ucp/payment_handlers");
    let handlers: Vec<&Value> = handlers
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|handlers| handlers.values())
        .filter_map(Value::as_array)
        .flatten()
        .collect();
    let takes = |handler: &Value, instrument: &Instrument| {
        let available = handler["available_instruments"].as_array();
        handler["id"] == instrument.handler
            && available.is_none_or(|all| all.iter().any(|one| one["type"] == instrument.kind))
    };
    let mut instruments = wallet.instruments();
    instruments.retain(|instrument| handlers.iter().any(|handler| takes(handler, instrument)));
    instruments
}
