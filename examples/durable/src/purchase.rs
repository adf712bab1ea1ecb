//! The purchase: a handler whose every step is done once, as far as that can be known, and never anew.
//!
//! Restate records what a step returns. A step whose worker died is run again by another worker, and
//! its calls are the same ones then: their ids are made of the invocation's id and the step's name, so
//! that the merchant recognises them by their keys. The one that moves money is preceded by a read, in
//! the same step.

use restate_sdk::prelude::{
    Context, ContextSideEffects as _, ContextTimers as _, HandlerError, Json, RunFuture as _,
    TerminalError,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use ucp_runtime::handoff::{Next, Resolve as _};
use ucp_runtime::{Agent, Call, Endpoint, Error, Handoff, Host, RequestError};

ucp_runtime::include_ucp! {
    release: "2026-04-08",
    operations: [checkout],
    extensions: [fulfillment],
}

/// How many decisions are followed: with [`LONGEST_PAUSE`], for longer than a session lives.
const TURNS: u32 = 100;
/// The longest time between two reads of a checkout that is being completed.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What is to be bought, and for whom. Restate stores it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wish {
    item: String,
    quantity: i64,
    email: String,
    street: String,
    country: String,
    /// What it may cost in all, in minor units of the currency.
    at_most: i64,
    currency: String,
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// There is one order.
    Ordered {
        checkout: String,
        order: Option<String>,
    },
    /// The buyer has to go on at a URL of the shop's. Nothing is ordered yet.
    BuyerNeeded { checkout: String, url: String },
    /// Nothing is ordered.
    NotOrdered { checkout: String, why: String },
}

/// The service: who buys, and where.
pub(crate) struct Purchases {
    agent: Agent,
    merchant: String,
    host: Host,
}

#[restate_sdk::service]
impl Purchases {
    /// Buys, once: the order is placed without further questions if it costs no more than was said.
    #[handler]
    async fn buy(
        &self,
        restate: Context<'_>,
        Json(wish): Json<Wish>,
    ) -> Result<Json<Outcome>, HandlerError> {
        let purchase = restate.invocation_id().to_owned();
        let call_id = |step: &str| (purchase.clone(), step.to_owned());

        let id = call_id("create");
        let create = wish.create();
        let create = async || settled(self.shop().await?.create_checkout(create).call_id(id)).await;
        let Json(mut checkout) = restate.run(create).name("create").await?;

        let (mut updated, mut completed) = (false, false);
        let mut pause = Duration::from_secs(1);
        for turn in 1..=TURNS {
            let decision = self.decide(&checkout)?;
            let (shown, step) = (checkout.clone(), format!("{turn}"));
            let id = call_id(&step);
            Json(checkout) = match decision {
                Handoff::Conversational {
                    next: Next::Update, ..
                } if !updated => {
                    updated = true;
                    let update = async || {
                        let update = choose_delivery(&shown)?;
                        let shop = self.shop().await?;
                        settled(shop.update_checkout(&shown.id, update).call_id(id)).await
                    };
                    restate.run(update).name("update").await?
                }
                Handoff::Conversational {
                    next: Next::Complete,
                    ..
                } if !completed && wish.agrees(&checkout) => {
                    completed = true;
                    let complete = async || self.complete(&shown.id, &wish, id).await;
                    restate.run(complete).name("complete").await?
                }
                Handoff::Conversational {
                    next: Next::Poll, ..
                } => {
                    // Restate keeps the time: no worker waits.
                    restate.sleep(pause).await?;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    let read = async || settled(self.shop().await?.get_checkout(&shown.id)).await;
                    restate.run(read).name("read").await?
                }
                end => return Ok(Json(Outcome::of(&wish, shown, end)?)),
            };
        }
        Err(unsettled(&checkout.id).into())
    }
}

impl Purchases {
    pub(crate) fn new(agent: Agent, merchant: String, development: bool) -> Self {
        // Nobody looks on, so nothing is embedded, and what has to be shown is the shop's to show.
        let host = Host::default();
        Self {
            agent,
            merchant,
            host: if development {
                host.development()
            } else {
                host
            },
        }
    }

    /// The shop, as it is now: the agent remembers its profile for as long as that is fresh.
    async fn shop(&self) -> Result<Client, HandlerError> {
        Ok(Client::new(&self.agent.connect(&self.merchant).await?))
    }

    fn decide(&self, checkout: &Checkout) -> Result<Handoff, HandlerError> {
        Ok(checkout.handoff(&self.host)?)
    }

    /// Places the order, if that is still to be done and still agreed to: a worker before this one may
    /// have got as far. The checkout otherwise, as it is now.
    async fn complete(
        &self,
        id: &str,
        wish: &Wish,
        call_id: (String, String),
    ) -> Result<Json<Checkout>, HandlerError> {
        let shop = self.shop().await?;
        let Json(now) = settled(shop.get_checkout(id)).await?;
        match self.decide(&now)? {
            Handoff::Conversational {
                next: Next::Complete,
                ..
            } if wish.agrees(&now) => {
                let complete = shop.complete_checkout(id, payment());
                settled(complete.from(&now).call_id(call_id)).await
            }
            _ => Ok(Json(now)),
        }
    }
}

impl Wish {
    fn create(&self) -> CreateCheckout {
        let home = ShippingDestinationInput::new()
            .id("home")
            .street_address(&self.street)
            .address_country(&self.country);
        let method = CreateFulfillmentMethod::new(FulfillmentMethodType::Shipping)
            .destinations([home.into()])
            .selected_destination_id("home");
        CreateCheckout::new([CreateLineItem::new(self.item.as_str(), self.quantity)])
            .buyer(Buyer::new().email(&self.email))
            .fulfillment(CreateFulfillment::new().methods([method]))
    }

    /// Whether a checkout costs no more than was said.
    fn agrees(&self, checkout: &Checkout) -> bool {
        checkout.currency == self.currency
            && checkout
                .totals
                .iter()
                .any(|entry| entry.r#type == "total" && entry.amount <= self.at_most)
    }
}

impl Outcome {
    fn of(wish: &Wish, shown: Checkout, end: Handoff) -> Result<Self, TerminalError> {
        let checkout = shown.id.clone();
        Ok(match end {
            Handoff::Completed { order, .. } => Self::Ordered {
                checkout,
                order: order.and_then(|order| order.id),
            },
            Handoff::ContinueUrl { url, .. } => Self::BuyerNeeded {
                checkout,
                url: url.as_str().to_owned(),
            },
            Handoff::Conversational {
                next: Next::Complete,
                ..
            } if !wish.agrees(&shown) => Self::NotOrdered {
                checkout,
                why: "it costs more than was agreed to".to_owned(),
            },
            Handoff::Failed { reason, .. } if !reason.nothing_placed() => {
                return Err(unsettled(&checkout));
            }
            end => {
                let blockers = end.blockers().iter().map(ToString::to_string);
                Self::NotOrdered {
                    checkout,
                    why: blockers.collect::<Vec<_>>().join("; "),
                }
            }
        })
    }
}

/// An order may be placed still, so neither is said.
fn unsettled(checkout: &str) -> TerminalError {
    TerminalError::new(format!(
        "the checkout {checkout} does not settle: look at it at the shop"
    ))
}

/// What one pays with. Yours asks a wallet: here, within the step, so that Restate does not store it.
fn payment() -> CompleteCheckout {
    let token = PaymentCredential::new("token").extra("token", "tok_sandbox");
    let card = SelectedPaymentInstrument::new("instrument-1", "sandbox_pay", "card")
        .selected(true)
        .credential(token);
    CompleteCheckout::new(Payment::new().instruments([card]))
}

/// The checkout with the first way to ship that the shop offers for each group of goods.
fn choose_delivery(checkout: &Checkout) -> Result<UpdateCheckout, HandlerError> {
    let mut update = UpdateCheckout::update_from(checkout)?;
    let offered = checkout.fulfillment.iter().flat_map(|it| &it.methods);
    let offered = offered.flatten().flat_map(|method| &method.groups);
    let offered: Vec<_> = offered.flatten().collect();
    let methods = update
        .fulfillment
        .iter_mut()
        .flat_map(|it| &mut it.methods)
        .flatten();
    for group in methods.flat_map(|method| &mut method.groups).flatten() {
        let same = offered.iter().find(|offered| offered.id == group.id);
        let first = same.and_then(|offered| offered.options.as_ref()?.first());
        if let (None | Some(None), Some(first)) = (&group.selected_option_id, first) {
            group.selected_option_id = Some(Some(first.id.clone()));
        }
    }
    Ok(update)
}

/// The checkout that a call answers with. Whatever is not known stays so: Restate runs the step again,
/// and the call is the same one then.
async fn settled<E>(call: Call<E>) -> Result<Json<Checkout>, HandlerError>
where
    E: Endpoint<Success = Checkout>,
{
    let answer = match call.await {
        Err(Error::OutcomeUnknown(unknown)) => {
            let recovered = unknown.recover().await;
            recovered.and_then(|now| now.read::<E>())
        }
        answer => answer,
    };
    match answer.and_then(|answer| answer.into_success()) {
        Ok(checkout) => Ok(Json(checkout)),
        Err(error) if is_final(&error) => Err(TerminalError::new(error.to_string()).into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the call was not done and never will be, however often it is made.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Config(_) | Error::Declined(_) => true,
        Error::NotSent(error) => !matches!(
            error.problem,
            RequestError::Unread { .. }
                | RequestError::Journal { .. }
                | RequestError::Credential { .. }
        ),
        Error::Status(error) => {
            error.status.is_client_error()
                && ![401, 403, 408, 409, 425, 429].contains(&error.status.as_u16())
        }
        _ => false,
    }
}
