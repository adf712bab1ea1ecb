//! What a cart and a checkout have in common: lines, buyer, discount codes, and who owns them.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::answer::{Severity, error, warning};
use crate::catalog::Catalog;
use crate::pricing::{self, Delivery, Line, Priced};
use crate::script::Stimulus;

/// The shared part of a session.
#[derive(Debug, Clone)]
pub(crate) struct Basket {
    pub(crate) owner: Arc<Agent>,
    pub(crate) expires_at: Timestamp,
    pub(crate) lines: Vec<Line>,
    pub(crate) codes: Vec<String>,
    /// Members that are kept and given back as they came.
    kept: Vec<(&'static str, Value)>,
    /// What the last request was told about lines that could not be had.
    remarks: Vec<Value>,
    /// The stimuli that last.
    pub(crate) script: Vec<Stimulus>,
}

impl Basket {
    pub(crate) fn new(owner: Arc<Agent>, expires_at: Timestamp) -> Self {
        Basket {
            owner,
            expires_at,
            lines: Vec::new(),
            codes: Vec::new(),
            kept: Vec::new(),
            remarks: Vec::new(),
            script: Vec::new(),
        }
    }

    /// Replaces everything that a request may say; what it leaves out is gone.
    ///
    /// The lines stay as they were when none of those asked for can be had.
    pub(crate) fn replace(&mut self, request: &Value, catalog: &Catalog) {
        let (lines, remarks) = pricing::read_lines(&request["line_items"], &self.lines, catalog);
        if !lines.is_empty() {
            self.lines = lines;
        }
        self.remarks = remarks;
        self.codes = request["discounts"]["codes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|code| code.as_str().map(str::to_owned))
            .collect();
        self.kept = ["buyer", "context", "attribution"]
            .into_iter()
            .filter_map(|name| Some((name, request.get(name)?.clone())))
            .collect();
        self.script.retain(|stimulus| {
            !matches!(stimulus, Stimulus::Error { severity, .. } if !severity.needs_buyer())
        });
    }

    /// Takes over what a cart holds. Not the buyer's consent: a cart knows nothing of it, so what
    /// stands there was never held against the contract.
    pub(crate) fn take_over(&mut self, cart: &Basket) {
        let consent = self.kept("buyer").and_then(|buyer| buyer.get("consent"));
        let consent = consent.cloned();
        self.lines.clone_from(&cart.lines);
        self.codes.clone_from(&cart.codes);
        self.kept.clone_from(&cart.kept);
        let buyer = self.kept.iter_mut().find(|(name, _)| *name == "buyer");
        if let Some((_, Value::Object(buyer))) = buyer {
            buyer.remove("consent");
            buyer.extend(consent.map(|consent| ("consent".to_owned(), consent)));
        }
    }

    pub(crate) fn kept(&self, name: &str) -> Option<&Value> {
        let found = self.kept.iter().find(|(kept, _)| *kept == name);
        found.map(|(_, value)| value)
    }

    /// Prices the lines; the messages are all that concern the basket.
    pub(crate) fn price(&self, catalog: &Catalog, delivery: Delivery) -> Priced {
        let sold_out: Vec<String> = self
            .script
            .iter()
            .filter_map(|stimulus| match stimulus {
                Stimulus::OutOfStock { item } => Some(item.clone()),
                _ => None,
            })
            .collect();
        let mut priced = pricing::price(catalog, &self.lines, &self.codes, delivery, &sold_out);
        priced.messages.extend(self.remarks.iter().cloned());
        priced
            .messages
            .extend(self.script.iter().filter_map(message));
        priced
    }

    /// Writes the members that carts and checkouts share.
    pub(crate) fn write(&self, body: &mut Value, priced: &Priced, messages: &[Value]) {
        body["currency"] = json!(crate::catalog::CURRENCY);
        body["line_items"] = json!(priced.line_items);
        body["totals"] = priced.totals.clone();
        body["expires_at"] = json!(self.expires_at.to_string());
        for (name, value) in &self.kept {
            body[*name] = value.clone();
        }
        if !self.codes.is_empty() {
            body["discounts"] = json!({ "codes": self.codes, "applied": priced.applied });
        }
        if !messages.is_empty() {
            body["messages"] = json!(messages);
        }
    }
}

fn message(stimulus: &Stimulus) -> Option<Value> {
    match stimulus {
        Stimulus::Error {
            severity,
            code,
            content,
            path,
        } => Some(error(code, *severity, path.as_deref(), content)),
        Stimulus::Disclosure {
            code,
            content,
            path,
        } => {
            let mut message = warning(code, path, content);
            message["presentation"] = json!("disclosure");
            message["url"] = json!("https://example.com/disclosures");
            Some(message)
        }
        _ => None,
    }
}

/// The severities of the errors among messages.
pub(crate) fn severities(messages: &[Value]) -> impl Iterator<Item = Severity> {
    messages
        .iter()
        .filter_map(|message| serde_json::from_value(message["severity"].clone()).ok())
}
