//! The shop: the generated client, how checkouts are read, and what its errors mean to a buyer.

use crate::wallet::Instrument;
use serde_json::{Map, Value, json};
use ucp_runtime::handoff::{ColorScheme, Handoff, Host, Message, View};
use ucp_runtime::{Agent, BoxError, Call, Error, Merchant, RequestError, Untyped};

// The client of one release, generated here: what the page has screens for, also as tools.
ucp_runtime::include_ucp! {
    release: "2026-04-08",
    operations: [
        search_catalog, get_product,
        create_checkout, get_checkout, update_checkout, cancel_checkout, complete_checkout,
        get_order,
    ],
    extensions: [discount, fulfillment, buyer_consent],
    tools: true,
}

/// What of an embedded checkout this application does itself.
const DELEGATES: [&str; 2] = ["payment.credential", "window.open"];

/// The shop that the agent buys from.
#[derive(Clone)]
pub(crate) struct Shop {
    agent: Agent,
    origin: String,
    pub(crate) development: bool,
}

/// A checkout as it was read just now.
pub(crate) struct Fresh {
    /// The answer; an error envelope where there is no checkout.
    pub(crate) body: Value,
    pub(crate) handoff: Handoff,
}

impl Fresh {
    /// A checkout as it was read before.
    pub(crate) fn of(body: Value, host: &Host) -> Result<Self, Trouble> {
        let view = View::from_bytes(body.to_string().as_bytes());
        let view = view.map_err(|_| Trouble::Other("This is no checkout.".to_owned()))?;
        let handoff = view.decide(host);
        Ok(Self { body, handoff })
    }

    /// The handoff as the page reads it.
    pub(crate) fn decision(&self) -> Value {
        json!(self.handoff)
    }

    /// What the checkout waits for: the decision, and of the conversational one, with what it goes on.
    pub(crate) fn state(&self) -> String {
        let handoff = self.decision();
        let state = match handoff["decision"].as_str() {
            Some("conversational") => handoff["next"].as_str(),
            decision => decision,
        };
        state.unwrap_or("failed").to_owned()
    }

    pub(crate) fn disclosures(&self) -> &[Message] {
        &self.handoff.context().disclosures
    }
}

/// Why the shop could not be asked, or did not do it.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It wants the buyer, or this agent, to be signed in.
    SignIn,
    /// What it did is not known.
    Unknown,
    /// It was not reached. What was to be sent now was not; what was sent before may have arrived.
    Unreachable,
    /// It was not asked: the inputs do not fit the operation.
    Input(String),
    /// It refused, or there is no reaching it.
    Other(String),
}

impl Trouble {
    /// In words for a person.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::SignIn => "The shop wants you to sign in first.",
            Self::Unknown => "The shop did not say what became of it.",
            Self::Unreachable => "The shop cannot be reached at the moment.",
            Self::Input(text) | Self::Other(text) => text,
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match &error {
            Error::Status(refused) if refused.status.as_u16() == 401 => Self::SignIn,
            Error::OutcomeUnknown(_) => Self::Unknown,
            Error::Status(refused) => {
                let said = refused.text.as_deref().unwrap_or("It does not say why.");
                Self::Other(format!("The shop refused: {said}"))
            }
            Error::NotSent(not_sent) => match &not_sent.problem {
                RequestError::Refused { refusals } => {
                    Self::Other(format!("Not placed: {refusals}."))
                }
                RequestError::Rules { violations } => {
                    Self::Other(format!("Not sent: {violations}."))
                }
                _ => Self::Other(format!("Not sent: {error}.")),
            },
            Error::Transport(_) | Error::Discovery(_) => Self::Unreachable,
            _ => Self::Other("The shop's answer cannot be used.".to_owned()),
        }
    }
}

impl Shop {
    pub(crate) fn new(agent: Agent, origin: String, development: bool) -> Self {
        Self {
            agent,
            origin,
            development,
        }
    }

    /// `https://shop.example`.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    async fn merchant(&self) -> Result<Merchant, Error> {
        self.agent.connect(&self.origin).await // the profile is remembered as long as it may be
    }

    pub(crate) async fn client(&self) -> Result<Client, Error> {
        Ok(Client::new(&self.merchant().await?))
    }

    /// From whom webhooks about orders come.
    pub(crate) async fn business(&self) -> Result<(String, String), BoxError> {
        let merchant = self.merchant().await?;
        let profile = merchant.business()?.profile().as_str().to_owned();
        Ok((profile, merchant.version().to_owned()))
    }

    /// What the page can do. `scheme` is what its reader prefers; `embed` says whether to frame the
    /// shop's checkout where that may be.
    pub(crate) fn host(&self, scheme: Option<ColorScheme>, embed: bool) -> Host {
        let mut host = Host::default().renders_disclosures();
        if embed {
            host = host.delegates(DELEGATES);
        }
        if let Some(scheme) = scheme {
            host = host.color_scheme(scheme);
        }
        if self.development {
            host = host.development();
        }
        host
    }

    /// Reads a checkout.
    pub(crate) async fn read(&self, checkout: &str, host: &Host) -> Result<Fresh, Trouble> {
        let inputs = Map::from_iter([("id".to_owned(), json!(checkout))]);
        self.call("get_checkout", inputs, None, host).await
    }

    /// Reads an order.
    pub(crate) async fn read_order(&self, inputs: Map<String, Value>) -> Result<Value, Trouble> {
        let response = self.prepare("get_order", inputs, None).await?.await?;
        Ok(response.into_success()?)
    }

    /// Calls an operation about a checkout by its name.
    pub(crate) async fn call(
        &self,
        operation: &str,
        inputs: Map<String, Value>,
        call_id: Option<(&str, &str)>,
        host: &Host,
    ) -> Result<Fresh, Trouble> {
        let call = self.prepare(operation, inputs, call_id).await?;
        let answered = match call.await {
            Ok(response) => {
                let bytes = response.raw().bytes().clone();
                response.handoff(host).map(|handoff| (bytes, handoff))
            }
            Err(error) => Err(error),
        };
        let (bytes, handoff) = match answered {
            Ok(answered) => answered,
            Err(error @ Error::OutcomeUnknown(_)) => return Err(error.into()),
            // A refusal that says what happens next is an answer too.
            Err(error) => match error.response().map(|raw| raw.bytes().clone()) {
                Some(bytes) => (bytes, error.handoff(host)?),
                None => return Err(error.into()),
            },
        };
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Fresh { body, handoff })
    }

    /// Makes a call of any operation by its name. Nothing is sent yet.
    pub(crate) async fn prepare(
        &self,
        operation: &str,
        inputs: Map<String, Value>,
        call_id: Option<(&str, &str)>,
    ) -> Result<Call<Untyped>, Trouble> {
        let call = self.client().await?.call(operation, inputs);
        let call = call.map_err(|error| Trouble::Input(error.to_string()))?;
        Ok(match call_id {
            Some(id) => call.call_id(id),
            None => call,
        })
    }

    /// The update that leaves a checkout as it is.
    pub(crate) fn update_of(&self, checkout: &Value) -> Result<Value, Trouble> {
        let unread = |_| Trouble::Other("The shop's checkout cannot be changed here.".to_owned());
        let received: Checkout = serde_json::from_value(checkout.clone()).map_err(unread)?;
        let update = UpdateCheckout::update_from(&received).map_err(|_| {
            Trouble::Other("The shop's checkout cannot be changed here.".to_owned())
        })?;
        serde_json::to_value(update).map_err(unread)
    }

    /// Places the order that the buyer agreed to.
    pub(crate) async fn complete(
        &self,
        checkout: &Value,
        instrument: &Instrument,
        credential: Value,
        call_id: (&str, &str),
        host: &Host,
    ) -> Result<Fresh, Trouble> {
        let id = checkout["id"].as_str().unwrap_or_default();
        let mut chosen = instrument.to_json();
        if let Some(members) = chosen.as_object_mut() {
            members.insert("selected".to_owned(), json!(true));
            members.insert("credential".to_owned(), credential);
        }
        let body = json!({ "payment": { "instruments": [chosen] } });
        let unfit = |_| Trouble::Other("This way to pay does not fit the shop.".to_owned());
        let complete: CompleteCheckout = serde_json::from_value(body).map_err(unfit)?;
        let seen = Fresh::of(checkout.clone(), host)?;
        let response = self
            .client()
            .await?
            .complete_checkout(id, complete)
            .from(checkout) // checked before anything is sent
            .acknowledge(seen.disclosures()) // the page shows them beside what they concern
            .call_id(call_id)
            .await?;
        Ok(Fresh {
            handoff: response.handoff(host)?,
            body: serde_json::from_slice(response.raw().bytes()).unwrap_or(Value::Null),
        })
    }
}
