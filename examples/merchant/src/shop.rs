//! The merchant's state behind one lock, and the dispatch of operations to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agent::Agent;
use crate::answer::Answer;
use crate::cart::Cart;
use crate::catalog::Catalog;
use crate::checkout::Checkout;
use crate::idempotency::Answers;
use crate::operation::Operation;
use crate::order::Order;
use crate::profile;
use crate::script::{Script, Stimulus, merge};

/// A session's life, as the protocol's default.
const LIFE: SignedDuration = SignedDuration::from_hours(6);

/// Everything that changes.
pub(crate) struct Shop {
    pub(crate) origin: String,
    pub(crate) catalog: Catalog,
    pub(crate) carts: BTreeMap<String, Cart>,
    pub(crate) checkouts: BTreeMap<String, Checkout>,
    /// In the order of their placing.
    pub(crate) orders: Vec<Order>,
    pub(crate) script: Script,
    pub(crate) answers: Answers,
    /// Orders that their agents have yet to hear of.
    pub(crate) events: Vec<Order>,
    pub(crate) ids: Box<dyn FnMut() -> Uuid + Send>,
}

/// One call of an operation that has passed every check of form.
pub(crate) struct Call<'a> {
    pub(crate) operation: Operation,
    pub(crate) agent: &'a Arc<Agent>,
    pub(crate) now: Timestamp,
    /// The id in the path, or nothing.
    pub(crate) id: &'a str,
    /// The body, or null.
    pub(crate) body: &'a Value,
    /// The stimuli of this call that last.
    pub(crate) script: Vec<Stimulus>,
}

impl Call<'_> {
    /// The `ucp` member of the answer.
    pub(crate) fn ucp(&self) -> Value {
        profile::envelope(&self.agent.common, self.operation.capability())
    }

    pub(crate) fn expires_at(&self) -> Timestamp {
        self.now.saturating_add(LIFE).unwrap_or(Timestamp::MAX)
    }

    pub(crate) fn not_found(&self) -> Answer {
        Answer::not_found(self.ucp(), "There is nothing by this id.")
    }
}

/// How an answer leaves.
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    /// `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u32>,
    /// Whether the answer gets lost on its way.
    pub(crate) lose: bool,
}

impl Shop {
    pub(crate) fn id(&mut self, kind: &str) -> String {
        format!("{kind}_{}", (self.ids)().simple())
    }

    /// Performs a call, as the script bends it.
    pub(crate) fn perform(&mut self, mut call: Call<'_>) -> Outcome {
        let session = (!call.id.is_empty()).then_some(call.id);
        let (lasting, once): (Vec<_>, Vec<_>) = self
            .script
            .take(call.operation, session)
            .into_iter()
            .partition(Stimulus::lasts);
        call.script = lasting;
        let mut outcome = Outcome {
            answer: Answer::ok(Value::Null),
            retry_after: None,
            lose: false,
        };
        let mut instead = None;
        let mut patches = Vec::new();
        for stimulus in once {
            match stimulus {
                Stimulus::Refuse {
                    status,
                    code,
                    retry_after,
                } => {
                    instead = Some(Answer::refused(status, &code, "As the script has it."));
                    outcome.retry_after = retry_after;
                }
                Stimulus::Envelope {
                    code,
                    content,
                    continue_url,
                } => {
                    let mut answer = Answer::envelope(call.ucp(), &code, &content);
                    if continue_url {
                        answer.body["continue_url"] = json!(format!("{}/", self.origin));
                    }
                    instead = Some(answer);
                }
                Stimulus::LoseAnswer => outcome.lose = true,
                Stimulus::Patch(patch) => patches.push(patch),
                _ => {}
            }
        }
        outcome.answer = instead.unwrap_or_else(|| self.act(&call));
        for patch in &patches {
            merge(&mut outcome.answer.body, patch);
        }
        outcome
    }

    fn act(&mut self, call: &Call<'_>) -> Answer {
        match call.operation {
            Operation::CreateCart => self.create_cart(call),
            Operation::GetCart => self.get_cart(call),
            Operation::UpdateCart => self.update_cart(call),
            Operation::CancelCart => self.cancel_cart(call),
            Operation::CreateCheckout => self.create_checkout(call),
            Operation::GetCheckout => self.get_checkout(call),
            Operation::UpdateCheckout => self.update_checkout(call),
            Operation::CompleteCheckout => self.complete_checkout(call),
            Operation::CancelCheckout => self.cancel_checkout(call),
            Operation::SearchCatalog => self.catalog.search(call.body, call.ucp()),
            Operation::LookupCatalog => self.catalog.lookup(call.body, call.ucp()),
            Operation::GetProduct => self.catalog.product(call.body, call.ucp()),
            Operation::GetOrder => self.get_order(call),
        }
    }
}
