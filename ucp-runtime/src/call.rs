//! A call: an operation with its inputs, not yet sent.

use crate::error::{Error, RequestError};
use crate::execute;
use crate::headers;
use crate::ids::{self, CallId, IdempotencyKey, Keys};
use crate::merchant::Merchant;
use crate::operation::{Endpoint, Operation};
use crate::prepared::Prepared;
use crate::response::Response;
use crate::transport::BoxFuture;
use crate::wire::{self, Violations};
use bytes::Bytes;
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
    /// The rules of the contract that the body breaks.
    pub(crate) violations: Option<Violations>,
    /// The first thing that was wrong with an input.
    pub(crate) problem: Option<RequestError>,
    idempotency_key: Option<IdempotencyKey>,
    random: OnceLock<[Uuid; 2]>,
}

impl Inputs {
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
        Self {
            inputs: Inputs {
                merchant: merchant.clone(),
                operation: E::OPERATION,
                path: Vec::new(),
                query: Vec::new(),
                exposed: Vec::new(),
                body: None,
                call_id: None,
                timeout: None,
                violations: None,
                problem: None,
                idempotency_key: None,
                random: OnceLock::new(),
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

    /// Sets the body, which is serialised here, once. What the contract demands of it beyond its
    /// type is checked: a body that breaks a rule is not sent.
    pub fn body(mut self, body: &impl serde::Serialize) -> Self {
        self.inputs.violations = wire::validate_value(body, E::RULES).err();
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

    /// How long this call may take, instead of the agent's timeout.
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
            .map_err(|problem| Error::not_sent(E::OPERATION.id, problem))
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

    fn fail(&mut self, problem: RequestError) {
        self.inputs.problem.get_or_insert(problem);
    }
}

impl<E: Endpoint> IntoFuture for Call<E> {
    type Output = Result<Response<E::Success, E::Failure>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { execute::execute(self.inputs).await?.read() })
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
