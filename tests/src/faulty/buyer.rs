//! The loop that an application writes around the runtime: it goes by the handoff, recovers what is not
//! known, and makes no call anew.

use super::clock::Hurried;
use super::line::{Event, Line};
use crate::golden::shopping_2026_04_08::{
    BuyerWithConsent, Checkout, Client, CompleteCheckout, CompleteCheckoutAp2, CreateCheckout,
    CreateFulfillment, CreateFulfillmentGroup, CreateFulfillmentMethod, CreateLineItem,
    FulfillmentMethodType, Payment, PaymentCredential, SelectedPaymentInstrument,
    ShippingDestinationInput, UpdateCheckout,
};
use std::time::Duration;
use ucp_runtime::handoff::Next;
use ucp_runtime::{Call, Clock as _, Endpoint, Error, Handoff, Host, Response};

/// How often a call that was not done is made again, under the same id.
const TRIES: u32 = 3;
/// How often the buyer asks again what became of a call.
const RECOVERIES: u32 = 4;
/// How many decisions are followed before the purchase is called off.
const TURNS: u32 = 8;
/// How often the buyer tries to call it off.
const CALLS_OFF: u32 = 12;
/// How long the buyer waits for an order that is being placed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a purchase ended, as the agent knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this order.
    Placed(String),
    /// Without an order.
    NotPlaced,
    /// The agent could not find out.
    NotKnown,
}

/// Who buys, once.
pub struct Buyer {
    /// The merchant's client.
    pub shop: Client,
    /// The line to it.
    pub line: Line,
    /// The purchase's number, which its call ids begin with.
    pub number: u32,
    /// The clock, and how long a call may take by it; `None` where that is not measured.
    pub budget: Option<(Hurried, Duration)>,
    /// How many calls took longer.
    pub overdue: u32,
}

impl Buyer {
    /// Buys.
    pub async fn buy(&mut self) -> Ending {
        let create = || self.shop.create_checkout(wanted());
        let Some(created) = self.settle("create", create()).await else {
            // Without a checkout there is nothing to complete.
            return Ending::NotPlaced;
        };
        let Ok(id) = created.success().map(|checkout| checkout.id.clone()) else {
            return Ending::NotPlaced;
        };
        self.follow(&id, created).await
    }

    /// Follows one decision after the other.
    async fn follow(&mut self, id: &str, created: Response<Checkout, Refusal>) -> Ending {
        let mut now = created;
        for turn in 1..=TURNS {
            let next = match now.handoff(&host()) {
                Ok(Handoff::Conversational { next, .. }) => next,
                Ok(Handoff::Completed { order, .. }) => return placed(order),
                Ok(Handoff::Canceled { .. }) => return Ending::NotPlaced,
                _ => break,
            };
            let Ok(checkout) = now.success() else { break };
            let answer = match next {
                Next::Update => {
                    let Ok(update) = UpdateCheckout::update_from(checkout) else {
                        break;
                    };
                    let update = update.buyer(BuyerWithConsent::new().email("ada@example.com"));
                    let call = self.shop.update_checkout(id, update);
                    self.settle(&format!("update-{turn}"), call).await
                }
                Next::Complete => {
                    // A last look, which changes nothing. After a restart it may show what an open
                    // completion came to; that call says so itself.
                    let call = self.shop.get_checkout(id);
                    let looked = self.settle(&format!("get-{turn}"), call).await;
                    let agreed = match looked {
                        Some(looked) if is_unready(&looked) => {
                            now = looked;
                            continue;
                        }
                        looked => looked.and_then(|looked| looked.into_success().ok()),
                    };
                    let call = self.shop.complete_checkout(id, payment());
                    let call = call.from(agreed.as_ref().unwrap_or(checkout));
                    self.settle(&format!("complete-{turn}"), call).await
                }
                Next::Poll => self.wait(id, turn).await,
                _ => break,
            };
            match answer {
                Some(answer) => now = answer,
                None => break,
            }
        }
        self.call_off(id).await
    }

    /// Makes a call until its outcome is known. Nothing when that cannot be found out now, or when the
    /// call cannot be made.
    async fn settle<E>(
        &mut self,
        step: &str,
        call: Call<E>,
    ) -> Option<Response<E::Success, E::Failure>>
    where
        E: Endpoint<Success = Checkout>,
    {
        let call = call.call_id((format!("purchase-{}", self.number), step.to_owned()));
        // The same request, under the same keys, whenever it is sent.
        let mut prepared = None;
        let mut call = Some(call);
        for _ in 0..TRIES {
            if prepared.is_none() {
                prepared = call.take()?.prepare().await.ok();
            }
            let sending = prepared.as_ref()?.send();
            match self.timed(sending).await {
                Ok(answer) => {
                    self.line.note(Event::Answered);
                    return Some(answer);
                }
                Err(Error::OutcomeUnknown(unknown)) => {
                    self.line.note(Event::Unknown);
                    for _ in 0..RECOVERIES {
                        match self.timed(unknown.recover()).await {
                            Ok(recovered) => {
                                self.line.note(Event::Recovered);
                                return recovered.read::<E>().ok();
                            }
                            Err(_) => self.line.note(Event::StillUnknown),
                        }
                    }
                    return None;
                }
                Err(_) => self.line.note(Event::NotDone),
            }
        }
        None
    }

    /// Waits for an order that is being placed.
    async fn wait(&mut self, id: &str, turn: u32) -> Option<Response<Checkout, Refusal>> {
        let until = self
            .budget
            .as_ref()
            .map(|(clock, _)| clock.now() + PATIENCE);
        for again in 0..TRIES {
            let name = format!("wait-{turn}-{again}");
            let call = self.shop.get_checkout(id);
            let call = call.call_id((format!("purchase-{}", self.number), name));
            match call.wait_until_settled(until).await {
                Ok(answer) => {
                    self.line.note(Event::Answered);
                    return Some(answer);
                }
                Err(_) => self.line.note(Event::NotDone),
            }
        }
        None
    }

    /// Ends the purchase where it does not get on, and finds out whether it was completed after all.
    async fn call_off(&mut self, id: &str) -> Ending {
        for round in 1..=CALLS_OFF {
            let call = self.shop.cancel_checkout(id);
            let canceled = self.settle(&format!("cancel-{round}"), call).await;
            if let Some(Some(ending)) = canceled.map(|answer| ending(answer.handoff(&host()))) {
                return ending;
            }
            let call = self.shop.get_checkout(id);
            let looked = self.settle(&format!("look-{round}"), call).await;
            if let Some(Some(ending)) = looked.map(|answer| ending(answer.handoff(&host()))) {
                return ending;
            }
        }
        Ending::NotKnown
    }

    /// Sees to it that a call keeps its budget.
    async fn timed<T>(&mut self, call: impl Future<Output = T>) -> T {
        let Some((clock, budget)) = self.budget.clone() else {
            return call.await;
        };
        let before = clock.elapsed();
        let result = call.await;
        if clock.elapsed() - before > budget {
            self.overdue += 1;
        }
        result
    }
}

/// What stands in the place of a checkout that there is none of.
pub(super) type Refusal =
    <crate::golden::shopping_2026_04_08::operations::CreateCheckout as Endpoint>::Failure;

pub(super) fn host() -> Host {
    Host::default().renders_disclosures().development()
}

fn is_unready(looked: &Response<Checkout, Refusal>) -> bool {
    matches!(
        looked.handoff(&host()),
        Ok(Handoff::Conversational {
            next: Next::Update,
            ..
        })
    )
}

/// What a decision says of the purchase's end.
fn ending(decision: Result<Handoff, Error>) -> Option<Ending> {
    match decision {
        Ok(Handoff::Completed { order, .. }) => Some(placed(order)),
        Ok(Handoff::Canceled { .. }) => Some(Ending::NotPlaced),
        _ => None,
    }
}

pub(super) fn placed(order: Option<ucp_runtime::handoff::Order>) -> Ending {
    match order.and_then(|order| order.id) {
        Some(id) => Ending::Placed(id),
        None => Ending::NotKnown,
    }
}

/// What is bought; the buyer is told later.
pub(super) fn wanted() -> CreateCheckout {
    let home = ShippingDestinationInput::new()
        .id("home")
        .street_address("1 Main Street")
        .address_country("US");
    let method = CreateFulfillmentMethod::new(FulfillmentMethodType::Shipping)
        .destinations([home.into()])
        .selected_destination_id("home")
        .groups([CreateFulfillmentGroup::new().selected_option_id("standard")]);
    CreateCheckout::new([CreateLineItem::new("var_mug", 1)])
        .fulfillment(CreateFulfillment::new().methods([method]))
}

/// What it is paid with.
pub(super) fn payment() -> CompleteCheckout {
    let token = PaymentCredential::new("token").extra("token", "tok_ok");
    let card = SelectedPaymentInstrument::new("instrument_1", "sandbox_pay", "card")
        .selected(true)
        .credential(token);
    CompleteCheckout::new(
        Payment::new().instruments([card]),
        CompleteCheckoutAp2::new("eyJhbGciOiJFUzI1NiJ9.e30.c2ln"),
    )
}
