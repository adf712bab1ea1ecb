//! What the buyer does with a checkout: looks at it, mends it, places the order, or does not.
//!
//! Every answer comes of a read of just now. A click says which checkout and which choice; what it
//! agrees to is bound by a digest of what was on the screen. The id of a purchase's call is stored
//! before anything is sent, so that a second click, a reload or a restart repeats that very call.

use crate::shop::{Fresh, Trouble};
use crate::store::{Draft, Placed, Purchase};
use crate::wallet::{self, Instrument};
use crate::{App, form, screen};
use serde_json::{Map, Value, json};
use std::time::Duration;
use ucp_runtime::BoxError;
use ucp_runtime::handoff::ColorScheme;
use ucp_runtime::jiff::Timestamp;

/// How long to wait before a checkout that is in other hands is read again: doubled from the first.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// How long a session lives whose merchant does not say (the protocol's default).
const LIFETIME: ucp_runtime::jiff::SignedDuration =
    ucp_runtime::jiff::SignedDuration::from_hours(6);

/// How the page wants to see a checkout.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    pub(crate) scheme: Option<ColorScheme>,
    /// Not to frame the shop's checkout, although that may be.
    pub(crate) no_frame: bool,
}

/// Why a click had no effect.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// What was on the screen is not so any more: the buyer has to look again.
    Changed,
    /// The choice is none that there is.
    Choice(String),
    /// The shop did not do it.
    Shop(Trouble),
    /// The conversation could not be read or written.
    Store(BoxError),
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        Self::Shop(trouble)
    }
}

impl From<BoxError> for Refusal {
    fn from(error: BoxError) -> Self {
        Self::Store(error)
    }
}

impl App {
    /// A checkout as it is now.
    pub(crate) async fn screen(
        &self,
        conversation: &str,
        checkout: &str,
        look: Look,
    ) -> Result<Value, Refusal> {
        let host = self.shop().host(look.scheme, !look.no_frame);
        let fresh = self.shop().read(checkout, &host).await?;
        if !look.no_frame {
            self.note_state(conversation, checkout, &fresh, false)
                .await?;
        }
        self.show(conversation, checkout, &fresh).await
    }

    async fn show(
        &self,
        conversation: &str,
        checkout: &str,
        fresh: &Fresh,
    ) -> Result<Value, Refusal> {
        let matter = self.store().matter(conversation, checkout).await?;
        let sending = self.store().sending(conversation, checkout).await?;
        let wallet = self.wallet();
        let (matter, sending) = (matter.as_ref(), sending.as_ref());
        Ok(screen::screen(self.shop(), wallet, fresh, matter, sending))
    }

    /// Notes what a checkout waits for, as a read found it: with the events of what is new in that, and
    /// somebody to watch it while it is in other hands. `show` has the page show it in any case.
    pub(crate) async fn note_state(
        &self,
        conversation: &str,
        checkout: &str,
        fresh: &Fresh,
        show: bool,
    ) -> Result<(), BoxError> {
        let state = fresh.state();
        let screen = || Draft::new("screen", json!({ "checkout": checkout }));
        let mut events = vec![screen()];
        if state == "completed" {
            let order = &fresh.body["order"];
            if let Some(id) = order["id"].as_str() {
                let (profile, version) = self.shop().business().await?;
                let placed = Placed {
                    conversation: conversation.to_owned(),
                    profile,
                    version,
                };
                // Before anything else: its webhooks may be on their way.
                self.store().record_order(id, placed).await?;
                events
                    .push(Draft::new("order", json!({ "order": id })).once(format!("order/{id}")));
            }
            let what = json!({
                "what": "placed", "checkout": checkout, "order": order["id"], "label": order["label"],
            });
            events.push(Draft::new("outcome", what).once(format!("placed/{checkout}")));
        }
        if state == "canceled" {
            let what = json!({ "what": "canceled", "checkout": checkout });
            events.push(Draft::new("outcome", what).once(format!("canceled/{checkout}")));
        }
        let news = self
            .store()
            .waits(conversation, checkout, &state, events)
            .await?;
        if show && !news {
            self.store().append(conversation, vec![screen()]).await?;
        }
        if news && ["completed", "canceled"].contains(&state.as_str()) {
            self.kick(conversation);
        }
        if news && ["poll", "continue_url", "embedded"].contains(&state.as_str()) {
            self.watch(conversation, checkout);
        }
        Ok(())
    }

    /// Reads a checkout again and again while somebody else goes on with it.
    pub(crate) fn watch(&self, conversation: &str, checkout: &str) {
        let name = format!("{conversation}/{checkout}");
        if !self.lock_watched().insert(name.clone()) {
            return;
        }
        let app = self.clone();
        let (conversation, checkout) = (conversation.to_owned(), checkout.to_owned());
        tokio::spawn(async move {
            let mut wait = FIRST_WAIT;
            let mut until = None;
            loop {
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
                let now = crate::now();
                let until = *until.get_or_insert(now.saturating_add(LIFETIME).unwrap_or(now));
                let host = app.shop().host(None, true);
                match app.shop().read(&checkout, &host).await {
                    Ok(fresh) => {
                        let state = fresh.state();
                        let noted = app
                            .note_state(&conversation, &checkout, &fresh, false)
                            .await;
                        if let Err(error) = noted {
                            crate::log(&format!("a checkout could not be noted: {error}"));
                        }
                        let theirs = ["poll", "continue_url", "embedded"];
                        let expired = fresh.body["expires_at"]
                            .as_str()
                            .and_then(|at| at.parse::<Timestamp>().ok())
                            .is_some_and(|at| at < now);
                        if !theirs.contains(&state.as_str()) || expired {
                            break;
                        }
                    }
                    Err(trouble) if now > until => {
                        crate::log(&format!("a checkout is not watched any more: {trouble:?}"));
                        break;
                    }
                    Err(_) => {} // it may pass
                }
            }
            app.lock_watched().remove(&name);
        });
    }

    /// Mends a checkout with what the buyer filled in. `attempt` names this try, so that it happens
    /// once, however often it is sent.
    pub(crate) async fn fix(
        &self,
        conversation: &str,
        checkout: &str,
        attempt: &str,
        values: &Map<String, Value>,
        look: Look,
    ) -> Result<Value, Refusal> {
        let guard = self.checkout_lock(conversation, checkout);
        let _one_at_a_time = guard.lock().await;
        let call = format!("fix/{checkout}/{attempt}");
        let host = self.shop().host(look.scheme, true);
        let inputs = match self.store().inputs(conversation, &call, None).await? {
            Some(inputs) => inputs,
            None => {
                let fresh = self.shop().read(checkout, &host).await?;
                let mut update = self.shop().update_of(&fresh.body)?;
                form::apply(&mut update, values).map_err(Refusal::Choice)?;
                let inputs = Some(json!({ "id": checkout, "body": update }));
                let kept = self.store().inputs(conversation, &call, inputs).await?;
                kept.unwrap_or(Value::Null)
            }
        };
        let inputs = inputs.as_object().cloned().unwrap_or_default();
        let id = Some((conversation, call.as_str()));
        let fresh = self
            .shop()
            .call("update_checkout", inputs, id, &host)
            .await?;
        self.note_state(conversation, checkout, &fresh, false)
            .await?;
        self.show(conversation, checkout, &fresh).await
    }

    /// Places the order, if the checkout still is what the buyer saw.
    pub(crate) async fn confirm(
        &self,
        conversation: &str,
        checkout: &str,
        digest: &str,
        instrument: &str,
        look: Look,
    ) -> Result<Value, Refusal> {
        // Of two clicks the second finds what the first did.
        let guard = self.checkout_lock(conversation, checkout);
        let _one_at_a_time = guard.lock().await;
        let host = self.shop().host(look.scheme, true);
        let fresh = self.shop().read(checkout, &host).await?;
        let under_way = self.store().sending(conversation, checkout).await?;
        if fresh.state() == "complete" && under_way.is_none() {
            self.instrument(&fresh, instrument)?;
            if screen::digest(self.shop().origin(), &fresh) != digest {
                return Err(Refusal::Changed);
            }
        } else if under_way.is_none() {
            // Nothing is to be confirmed: it is over, or something is missing again.
            self.note_state(conversation, checkout, &fresh, false)
                .await?;
            return self.show(conversation, checkout, &fresh).await;
        }
        let purchase = self
            .store()
            .begin_purchase(conversation, checkout, instrument, &fresh.body)
            .await?;
        let placed = self.place(&purchase, fresh, &host).await;
        if let Err(Refusal::Shop(Trouble::Unreachable)) = &placed {
            match under_way {
                // What was sent before may have arrived.
                Some(_) => self.find_out(&purchase),
                None => self.store().end_purchase(&purchase, "declined").await?,
            }
        }
        self.show(conversation, checkout, &placed?).await
    }

    /// Sends a purchase, or finds out what became of one that was sent.
    async fn place(
        &self,
        purchase: &Purchase,
        fresh: Fresh,
        host: &ucp_runtime::Host,
    ) -> Result<Fresh, Refusal> {
        let Purchase {
            conversation,
            checkout,
            attempt,
            ..
        } = purchase;
        let fresh = match fresh.state().as_str() {
            // What an attempt that was lost on the way has done.
            "completed" | "canceled" | "poll" => fresh,
            _ => {
                let call = format!("purchase/{checkout}/{attempt}");
                let wallet = self.wallet();
                let mut all = wallet.instruments().into_iter();
                let instrument = all.find(|one| one.id == purchase.instrument);
                let instrument = instrument
                    .ok_or_else(|| Refusal::Choice("There is no such way to pay.".to_owned()))?;
                let credential = wallet.credential(&instrument);
                let id = (conversation.as_str(), call.as_str());
                let agreed = &purchase.body;
                let sent = self
                    .shop()
                    .complete(agreed, &instrument, credential, id, host)
                    .await;
                match sent {
                    Ok(fresh) => fresh,
                    Err(Trouble::Unknown) => {
                        self.find_out(purchase);
                        return Err(Refusal::Shop(Trouble::Unknown));
                    }
                    Err(Trouble::Unreachable) => return Err(Trouble::Unreachable.into()),
                    Err(trouble) => {
                        self.store().end_purchase(purchase, "declined").await?;
                        return Err(trouble.into());
                    }
                }
            }
        };
        let state = match fresh.state().as_str() {
            "completed" | "poll" => "done",
            _ => "declined",
        };
        self.store().end_purchase(purchase, state).await?;
        self.note_state(conversation, checkout, &fresh, false)
            .await?;
        Ok(fresh)
    }

    /// Finds out what became of a purchase, until it is known: after an answer that was lost, and after
    /// a restart.
    pub(crate) fn find_out(&self, purchase: &Purchase) {
        let name = format!("purchase/{}/{}", purchase.conversation, purchase.checkout);
        if !self.lock_watched().insert(name.clone()) {
            return;
        }
        let (app, purchase) = (self.clone(), purchase.clone());
        tokio::spawn(async move {
            let mut wait = FIRST_WAIT;
            loop {
                match app.resume(&purchase).await {
                    Ok(()) => break,
                    Err(error) => {
                        crate::log(&format!("a purchase's outcome is not known yet: {error:?}"));
                    }
                }
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            app.lock_watched().remove(&name);
        });
    }

    async fn resume(&self, purchase: &Purchase) -> Result<(), Refusal> {
        let (conversation, checkout) = (&purchase.conversation, &purchase.checkout);
        let guard = self.checkout_lock(conversation, checkout);
        let _one_at_a_time = guard.lock().await;
        let under_way = self.store().sending(conversation, checkout).await?;
        if under_way.as_ref() != Some(purchase) {
            return Ok(()); // a click found out before
        }
        let host = self.shop().host(None, true);
        let fresh = self.shop().read(checkout, &host).await?;
        let agreed = Fresh::of(purchase.body.clone(), &host)?;
        let origin = self.shop().origin();
        let differs = screen::digest(origin, &fresh) != screen::digest(origin, &agreed);
        let placed = match fresh.state().as_str() {
            // It was not placed, and is not what the buyer agreed to any more.
            "complete" if differs => {
                self.store().end_purchase(purchase, "declined").await?;
                Ok(fresh)
            }
            _ => self.place(purchase, fresh, &host).await,
        };
        match placed {
            Ok(_) => {}
            Err(refusal @ Refusal::Shop(Trouble::Unknown | Trouble::Unreachable)) => {
                return Err(refusal);
            }
            Err(refusal) => crate::log(&format!("a purchase was refused: {refusal:?}")),
        }
        let screen = Draft::new("screen", json!({ "checkout": checkout }));
        self.store().append(conversation, vec![screen]).await?;
        Ok(())
    }

    /// Hands the frame that the shop's checkout is in what the buyer agreed to pay with.
    pub(crate) async fn credential(
        &self,
        conversation: &str,
        checkout: &str,
        digest: &str,
        instrument: &str,
    ) -> Result<Value, Refusal> {
        let host = self.shop().host(None, true);
        let fresh = self.shop().read(checkout, &host).await?;
        self.note_state(conversation, checkout, &fresh, false)
            .await?;
        if fresh.state() != "embedded" || screen::digest(self.shop().origin(), &fresh) != digest {
            return Err(Refusal::Changed);
        }
        let instrument = self.instrument(&fresh, instrument)?;
        let mut chosen = instrument.to_json();
        if let Some(members) = chosen.as_object_mut() {
            members.insert("selected".to_owned(), json!(true));
            let credential = self.wallet().credential(&instrument);
            members.insert("credential".to_owned(), credential);
        }
        Ok(json!({ "payment": { "instruments": [chosen] } }))
    }

    fn instrument(&self, fresh: &Fresh, id: &str) -> Result<Instrument, Refusal> {
        let accepted = wallet::accepted(self.wallet(), &fresh.body);
        let found = accepted.into_iter().find(|instrument| instrument.id == id);
        found.ok_or_else(|| Refusal::Choice("The shop does not take this way to pay.".to_owned()))
    }

    /// The buyer does not want to place the order.
    pub(crate) async fn decline(&self, conversation: &str, checkout: &str) -> Result<(), Refusal> {
        let what = json!({ "what": "declined", "checkout": checkout });
        let events = vec![
            Draft::new("screen", json!({ "checkout": checkout })),
            Draft::new("outcome", what),
        ];
        let settled = self
            .store()
            .settle(conversation, checkout, "declined", events)
            .await?;
        if settled {
            self.kick(conversation);
        }
        Ok(())
    }

    /// The buyer gives the checkout up.
    pub(crate) async fn cancel(
        &self,
        conversation: &str,
        checkout: &str,
        look: Look,
    ) -> Result<Value, Refusal> {
        let guard = self.checkout_lock(conversation, checkout);
        let _one_at_a_time = guard.lock().await;
        let call = format!("cancel/{checkout}");
        let inputs = Map::from_iter([("id".to_owned(), json!(checkout))]);
        let host = self.shop().host(look.scheme, true);
        let id = Some((conversation, call.as_str()));
        let answered = self
            .shop()
            .call("cancel_checkout", inputs, id, &host)
            .await?;
        // An envelope without a checkout says why it cannot be canceled: what is true, a read tells.
        let fresh = match answered.body["id"].is_string() {
            true => answered,
            false => self.shop().read(checkout, &host).await?,
        };
        self.note_state(conversation, checkout, &fresh, false)
            .await?;
        self.show(conversation, checkout, &fresh).await
    }

    /// Stores that the shop wants the buyer to sign in before a call.
    pub(crate) async fn wants_sign_in(
        &self,
        conversation: &str,
        call: &str,
    ) -> Result<(), BoxError> {
        let event = Draft::new("sign_in", json!({ "id": call })).once(format!("sign_in/{call}"));
        let waits = self
            .store()
            .waits(conversation, call, "sign_in", vec![event]);
        waits.await.map(drop)
    }

    /// The buyer signed in, or goes on without.
    pub(crate) async fn sign_in(
        &self,
        conversation: &str,
        call: &str,
        skip: bool,
    ) -> Result<(), Refusal> {
        let what = if skip { "skipped" } else { "signed_in" };
        let outcome = Draft::new("outcome", json!({ "what": what, "id": call }));
        let settled = self
            .store()
            .settle(conversation, call, what, vec![outcome])
            .await?;
        if settled {
            self.kick(conversation);
        }
        Ok(())
    }
}
