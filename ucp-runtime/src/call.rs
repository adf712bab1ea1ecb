//! A call: an operation with its inputs, not yet sent.

use crate::error::{Error, RequestError};
use crate::execute;
use crate::guard::{Guard, Judging};
use crate::handoff::{Message, View};
use crate::headers;
use crate::ids::{self, CallId, IdempotencyKey, Keys};
use crate::merchant::Merchant;
use crate::operation::{
    Answers, ChangesCheckout, CompletesCheckout, Endpoint, Operation, Paged, ReadsCheckout,
};
use crate::outcome;
use crate::pages::Pages;
use crate::prepared::Prepared;
use crate::response::Response;
use crate::retry::Retry;
use crate::transport::BoxFuture;
use crate::untyped::Untyped;
use crate::verification::Verification;
use crate::wait;
use crate::wire::{self, Check, Violations};
use bytes::Bytes;
use jiff::Timestamp;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;
use uuid::Uuid;

/// An operation with its inputs. Generated methods return one; it is sent when awaited.
///
/// What is wrong with its inputs (an id that makes no path, a body that does not serialise) shows
/// when it is awaited or prepared, before anything is sent.
///
/// ```no_run
/// # use ucp_runtime::{Call, Endpoint, Error};
/// # async fn example<E: Endpoint>(call: Call<E>) -> Result<(), Error> {
/// let response = call.call_id(("conv-1", "turn-7/call-3")).await?;
/// println!("{}", response.status());
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call<E> {
    inputs: Inputs,
    endpoint: PhantomData<fn() -> E>,
}

/// What a call is made of, for all operations alike.
pub(crate) struct Inputs {
    pub(crate) merchant: Merchant,
    pub(crate) operation: &'static Operation,
    pub(crate) path: Vec<(&'static str, String)>,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) exposed: Vec<(&'static str, String)>,
    pub(crate) body: Option<Bytes>,
    pub(crate) call_id: Option<CallId>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<Retry>,
    pub(crate) verification: Option<Verification>,
    /// The rules of the contract that the body breaks.
    pub(crate) violations: Option<Violations>,
    /// The first thing that was wrong with an input.
    pub(crate) problem: Option<RequestError>,
    /// How a call that changes a checkout is judged.
    pub(crate) judging: Option<Judging>,
    idempotency_key: Option<IdempotencyKey>,
    random: OnceLock<[Uuid; 2]>,
}

impl Inputs {
    pub(crate) fn new(merchant: &Merchant, operation: &'static Operation) -> Self {
        Self {
            merchant: merchant.clone(),
            operation,
            path: Vec::new(),
            query: Vec::new(),
            exposed: Vec::new(),
            body: None,
            call_id: None,
            timeout: None,
            retry: None,
            verification: None,
            violations: None,
            problem: None,
            judging: None,
            idempotency_key: None,
            random: OnceLock::new(),
        }
    }

    /// How the call is judged, if it is: a completion always, an update when it says by what.
    pub(crate) fn judged(&self) -> Option<&Judging> {
        self.judging
            .as_ref()
            .filter(|judging| self.operation.completes() || judging.from.is_some())
    }

    /// The inputs of the call that reads what this one is about.
    pub(crate) fn read(&self, operation: &'static Operation) -> Self {
        Self {
            path: self.path.clone(),
            exposed: self.exposed.clone(),
            call_id: self.call_id.clone(),
            timeout: self.timeout,
            retry: self.retry.clone(),
            verification: self.verification,
            ..Self::new(&self.merchant, operation)
        }
    }

    /// The inputs of one turn of a loop within this call, whose ids are its own: the call id takes
    /// the loop's name and the turn's number, from 1. What was wrong with the inputs, and a key that
    /// was set outright, go with the first.
    pub(crate) fn turn(&mut self, name: &str, number: u64) -> Self {
        let suffix = format!("{name}/{number}");
        Self {
            path: self.path.clone(),
            query: self.query.clone(),
            exposed: self.exposed.clone(),
            body: self.body.clone(),
            call_id: self
                .call_id
                .as_ref()
                .map(|id| CallId::from((id.as_str(), suffix))),
            timeout: self.timeout,
            retry: self.retry.clone(),
            verification: self.verification,
            violations: self.violations.take(),
            problem: self.problem.take(),
            idempotency_key: self.idempotency_key.take(),
            ..Self::new(&self.merchant, self.operation)
        }
    }

    pub(crate) fn keys(&self) -> Result<Keys, RequestError> {
        let [key, request_id] = match &self.call_id {
            Some(call_id) => self.derived(call_id)?,
            None => self.random()?,
        };
        Ok(Keys {
            idempotency_key: headers::carries_key(&self.operation.method)
                .then(|| self.idempotency_key.clone().unwrap_or_else(|| key.into())),
            request_id,
        })
    }

    fn derived(&self, call_id: &CallId) -> Result<[Uuid; 2], RequestError> {
        if call_id.as_str().is_empty() {
            return Err(RequestError::EmptyCallId);
        }
        let agent = self.merchant.agent().inner();
        let secret = agent.id_secret().ok_or(RequestError::NoIdSecret)?;
        let derive = |label| {
            ids::derive(
                secret,
                label,
                agent.profile.as_str(),
                self.merchant.origin(),
                self.operation.id,
                call_id.as_str(),
            )
            .ok_or(RequestError::NoIdSecret)
        };
        Ok([derive(ids::IDEMPOTENCY_KEY)?, derive(ids::REQUEST_ID)?])
    }

    /// Drawn once, so that what was read before sending is what is sent.
    fn random(&self) -> Result<[Uuid; 2], RequestError> {
        if let Some(drawn) = self.random.get() {
            return Ok(*drawn);
        }
        let randomness = self.merchant.agent().inner().randomness.as_ref();
        let drawn = [ids::random(randomness)?, ids::random(randomness)?];
        Ok(*self.random.get_or_init(|| drawn))
    }
}

impl<E: Endpoint> Call<E> {
    /// A call of an operation at a merchant. Generated methods make it.
    pub fn new(merchant: &Merchant) -> Self {
        Self::of(merchant, E::OPERATION)
    }

    /// Sets the body, which is serialised here, once. What the contract demands of it beyond its
    /// type is checked: a body that breaks a rule is not sent.
    pub fn body(self, body: &impl serde::Serialize) -> Self {
        self.checked_body(body, E::RULES)
    }
}

impl<E> Call<E> {
    pub(crate) fn of(merchant: &Merchant, operation: &'static Operation) -> Self {
        Self {
            inputs: Inputs {
                judging: (!operation.guards().is_empty()).then(Judging::default),
                ..Inputs::new(merchant, operation)
            },
            endpoint: PhantomData,
        }
    }

    /// Fills a parameter of the operation's path. It stays one segment, whatever it holds.
    pub fn path(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.inputs.path.push((name, value.into()));
        self
    }

    /// Adds a parameter to the query.
    pub fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.inputs.query.push((name, value.into()));
        self
    }

    fn checked_body(self, body: &impl serde::Serialize, rules: &'static [Check]) -> Self {
        let violations = wire::validate_value(body, rules).err();
        self.judged_body(body, violations)
    }

    /// Sets the body, with the rules that it breaks.
    pub(crate) fn judged_body(
        mut self,
        body: &impl serde::Serialize,
        violations: Option<Violations>,
    ) -> Self {
        self.inputs.violations = violations;
        match serde_json::to_vec(body) {
            Ok(bytes) => self.inputs.body = Some(bytes.into()),
            Err(source) => self.fail(RequestError::Body { source }),
        }
        self
    }

    /// Sets a managed header that the client was generated with as an argument (`expose`).
    #[doc(hidden)]
    pub fn exposed_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        if name.eq_ignore_ascii_case(headers::IDEMPOTENCY_KEY.as_str()) {
            return self.idempotency_key(value);
        }
        self.inputs.exposed.push((name, value));
        self
    }

    /// Sends the body although it breaks rules of the contract: for a merchant that wants it so.
    pub fn unvalidated(mut self) -> Self {
        self.inputs.violations = None;
        self
    }

    /// Names the call, so that the same call in any process carries the same keys: see [`CallId`].
    /// Needs [`id_secret`](crate::AgentBuilder::id_secret) on the agent.
    pub fn call_id(mut self, id: impl Into<CallId>) -> Self {
        self.inputs.call_id = Some(id.into());
        self
    }

    /// Sets the idempotency key outright: a [`Uuid`], or text that fits a header.
    pub fn idempotency_key<K>(mut self, key: K) -> Self
    where
        K: TryInto<IdempotencyKey, Error: Into<RequestError>>,
    {
        match key.try_into() {
            Ok(key) => self.inputs.idempotency_key = Some(key),
            Err(problem) => self.fail(problem.into()),
        }
        self
    }

    /// How often, and for how long, the call is attempted, instead of the agent's [`Retry`].
    pub fn retry(mut self, retry: Retry) -> Self {
        self.inputs.retry = Some(retry);
        self
    }

    /// Which answers of this call must be signed, instead of the agent's [`Verification`].
    pub fn verification(mut self, verification: Verification) -> Self {
        self.inputs.verification = Some(verification);
        self
    }

    /// How long one attempt may take, instead of the agent's timeout.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.inputs.timeout = Some(timeout);
        self
    }

    /// The ids that the call will carry, on every attempt.
    ///
    /// # Errors
    ///
    /// [`Error::NotSent`] when a call id has no secret to derive from, or there is no randomness.
    pub fn keys(&self) -> Result<Keys, Error> {
        self.inputs
            .keys()
            .map_err(|problem| Error::not_sent(self.inputs.operation.id, problem))
    }

    /// Does everything short of sending: serialises, resolves headers and credentials, runs the
    /// hooks. What it gives can be looked at, stored, printed as `curl`, and sent later.
    ///
    /// # Errors
    ///
    /// [`Error::NotSent`] for whatever keeps the call from being sent.
    pub async fn prepare(self) -> Result<Prepared<E>, Error> {
        Ok(Prepared::new(execute::prepare(self.inputs).await?))
    }

    /// The rules of the contract that the body breaks.
    pub(crate) fn violations(&self) -> Option<&Violations> {
        self.inputs.violations.as_ref()
    }

    /// Whether it moves money.
    pub(crate) fn completes(&self) -> bool {
        self.inputs.operation.completes()
    }

    /// Whether a call that moves money was judged and recorded before, under the same call id.
    pub(crate) async fn is_recorded(&self) -> Result<bool, Error> {
        let agent = self.inputs.merchant.agent().inner();
        execute::recorded(&self.inputs, agent)
            .await
            .map_err(|problem| Error::not_sent(self.inputs.operation.id, problem))
    }

    /// What is recorded under its call id, whatever the body.
    pub(crate) async fn before(&self) -> Result<outcome::Before, Error> {
        outcome::before(&self.inputs).await
    }

    /// The call that reads what this one is about, as a turn of its own.
    pub(crate) fn reading(&self, turn: u64) -> Result<Call<Untyped>, Error> {
        let of = self.inputs.operation;
        let operation = of.read.ok_or(RequestError::NoBasis);
        let operation = operation.map_err(|problem| Error::not_sent(of.id, problem))?;
        Ok(Call {
            inputs: self.inputs.read(operation).turn("read", turn),
            endpoint: PhantomData,
        })
    }

    fn fail(&mut self, problem: RequestError) {
        self.inputs.problem.get_or_insert(problem);
    }
}

/// Before a checkout is changed, and money moves: see [`guard`](crate::guard) for what is checked.
///
/// ```no_run
/// # use ucp_runtime::{Call, Error, Guard, Handoff, Host, operation::CompletesCheckout};
/// # use ucp_runtime::serde_json::Value;
/// # async fn example<E: CompletesCheckout>(call: Call<E>, checkout: Value, handoff: Handoff) -> Result<(), Error> {
/// let response = call
///     .from(&checkout) // what the buyer agreed to
///     .acknowledge(&handoff.context().disclosures) // which the buyer was shown
///     .allow(Guard::Totals) // the buyer saw that they do not add up, and agreed
///     .await?;
/// # Ok(())
/// # }
/// ```
impl<E: ChangesCheckout> Call<E> {
    /// Judges the call against this checkout: a typed one, or its JSON. Without it the runtime reads
    /// the checkout before a completion, and judges no update.
    pub fn from(mut self, checkout: &impl serde::Serialize) -> Self {
        match (serde_json::to_value(checkout), &mut self.inputs.judging) {
            (Ok(checkout), Some(judging)) => judging.from = Some(checkout),
            (Err(source), _) => self.fail(RequestError::Basis { source }),
            (Ok(_), None) => {}
        }
        self
    }

    /// Lifts one guard. The protocol forbids to complete on one's own what this lets pass: somebody
    /// must have agreed to it.
    pub fn allow(mut self, guard: Guard) -> Self {
        if let Some(judging) = &mut self.inputs.judging {
            judging.allowed.push(guard);
        }
        self
    }
}

impl<E: CompletesCheckout> Call<E> {
    /// Says that the buyer was shown these disclosures, exactly as they are.
    pub fn acknowledge<'m>(mut self, disclosures: impl IntoIterator<Item = &'m Message>) -> Self {
        if let Some(judging) = &mut self.inputs.judging {
            judging
                .acknowledged
                .extend(disclosures.into_iter().cloned());
        }
        self
    }
}

impl<E: ReadsCheckout> Call<E> {
    /// Reads the checkout until its completion is settled, one way or the other: with growing,
    /// jittered delays (see [`Poll`](crate::handoff::Poll)), until an instant or until the session
    /// ends, whichever is first. Where neither is known it waits 6 hours, the protocol's default
    /// lifetime of a session. Reads that fail in passing are made again, a merchant's `Retry-After` is
    /// kept.
    ///
    /// Each read has its own `Request-Id`, and the timeout is that of one read.
    ///
    /// ```no_run
    /// # use ucp_runtime::{Call, Error, Handoff, Host, operation::ReadsCheckout};
    /// # use ucp_runtime::jiff::Timestamp;
    /// # async fn example<E: ReadsCheckout>(get_checkout: Call<E>, until: Option<Timestamp>) -> Result<(), Error> {
    /// let settled = get_checkout.wait_until_settled(until).await?;
    /// if let Handoff::Completed { order, .. } = settled.handoff(&Host::default())? {
    ///     println!("{order:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unsettled`] when the time is over and completion is still in progress, or the error
    /// of the last read. Those of one read, when another read would not mend it.
    pub async fn wait_until_settled(
        self,
        until: impl Into<Option<Timestamp>>,
    ) -> Result<Response<E::Success, E::Failure>, Error> {
        wait::wait(self.inputs, until.into(), |view| !view.is_in_progress())
            .await?
            .read()
    }

    /// Reads the checkout until it is completed or canceled, as
    /// [`wait_until_settled`](Self::wait_until_settled) does: after the buyer took over.
    ///
    /// # Errors
    ///
    /// Those of [`wait_until_settled`](Self::wait_until_settled).
    pub async fn wait_until_over(
        self,
        until: impl Into<Option<Timestamp>>,
    ) -> Result<Response<E::Success, E::Failure>, Error> {
        wait::wait(self.inputs, until.into(), View::is_over)
            .await?
            .read()
    }
}

impl<E: Paged> Call<E> {
    /// Asks for one page after the other, as they are wanted: see [`Pages`].
    pub fn pages(self) -> Pages<E> {
        Pages::new(self.inputs)
    }
}

impl<E: Answers> IntoFuture for Call<E> {
    type Output = Result<Response<E::Success, E::Failure>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let request = execute::prepare(self.inputs).await?;
            outcome::respond(&request).await
        })
    }
}

impl<E> fmt::Debug for Call<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("operation", &self.inputs.operation.id)
            .field("merchant", &self.inputs.merchant.origin())
            .field("path", &self.inputs.path)
            .field("call_id", &self.inputs.call_id)
            .field(
                "body",
                &self
                    .inputs
                    .body
                    .as_ref()
                    .map(|body| crate::error::Length(body.len())),
            )
            .finish_non_exhaustive()
    }
}
