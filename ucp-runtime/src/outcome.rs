//! From a request to its outcome: attempts, reads where a repeat could do harm, and in the end what is
//! known.

use crate::call::Inputs;
use crate::endpoint;
use crate::error::{BodyError, BodyProblem, Error, RequestError, StatusError};
use crate::execute;
use crate::fetch::{SpecialUse, cause_of};
use crate::handoff::{Handoff, Host, NotUcp, View};
use crate::ids::Keys;
use crate::journal::{self, Standing};
use crate::operation::{Endpoint, Operation};
use crate::prepared::Request;
use crate::response::{Answer, RawResponse, Response};
use crate::transport::{BoxError, BoxFuture};
use crate::wait;
use crate::wire::{self, Read};
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// How long merchants keep an idempotency key.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// How many reads in a row must show a checkout that is not completed before the request that
/// completes it is sent once more: it may be on its way still.
const READS: u32 = 2;

/// Sends a request, and reads its answer as the operation's types.
pub(crate) async fn respond<T: Read, F: Read>(request: &Request) -> Result<Response<T, F>, Error> {
    let answer = settle(request).await?;
    answer.read().map_err(|error| misfit(request, error))
}

/// Sends a request until its outcome is known, as far as its budget goes, and keeps the journal.
pub(crate) async fn settle(request: &Request) -> Result<Answer, Error> {
    let journal = request.merchant.agent().inner().journal.as_ref();
    let standing = journal::begin(journal, request)
        .await
        .map_err(|problem| Error::not_sent(request.operation.id, problem))?;
    let began = match standing {
        Standing::Answered(answer) => return replay(request, answer),
        Standing::Open(began) => Some(began),
        Standing::New => None,
    };
    let result = Run::new(request).run(began).await;
    match &result {
        Ok(answer) => journal::settle(journal, request, &answer.raw).await,
        Err(Error::Status(error)) if is_judgement(error) => {
            journal::settle(journal, request, &error.response).await;
        }
        Err(_) => {}
    }
    result
}

fn replay(request: &Request, answer: journal::RecordedAnswer) -> Result<Answer, Error> {
    let message = &request.message;
    let raw = answer.replayed(message.method.clone(), message.url.clone());
    let raw = raw.map_err(|source| unrecorded(request.operation, source))?;
    Answer::new(raw, None, request.keys.clone(), &request.merchant)
}

fn unrecorded(operation: &Operation, source: BoxError) -> Error {
    Error::not_sent(operation.id, RequestError::Journal { source })
}

/// What is recorded under a call's id of the same request, whatever its body.
pub(crate) enum Before {
    /// Nothing.
    Nothing,
    /// This body may have been sent.
    Sent(Bytes),
    /// It was answered.
    Answered(Box<Answer>),
}

/// Finds what is recorded of a call whose body is not made yet. An answer that says no is an error.
pub(crate) async fn before(inputs: &Inputs) -> Result<Before, Error> {
    let (operation, merchant) = (inputs.operation, &inputs.merchant);
    let Some(call_id) = &inputs.call_id else {
        return Ok(Before::Nothing);
    };
    let journal = merchant.agent().inner().journal.as_ref();
    let found = journal.find(call_id.as_str()).await;
    let found = found.map_err(|source| unrecorded(operation, source))?;
    let not_sent = |problem| Error::not_sent(operation.id, problem);
    let (base, path) = (merchant.endpoint(), operation.path);
    let url = endpoint::join(base, path, &inputs.path, &inputs.query).map_err(not_sent)?;
    // Of another request under the same id, the call's own beginning says so.
    let found = found.filter(|it| it.operation == operation.id && it.url == url.as_str());
    let Some(record) = found else {
        return Ok(Before::Nothing);
    };
    let Some(answer) = record.answer else {
        return Ok(record.body.map_or(Before::Nothing, Before::Sent));
    };
    let raw = answer.replayed(operation.method.clone(), url);
    let raw = raw.map_err(|source| unrecorded(operation, source))?;
    let keys = inputs.keys().map_err(not_sent)?;
    Answer::new(raw, None, keys, merchant).map(|answer| Before::Answered(Box::new(answer)))
}

/// What one attempt came to.
enum Verdict {
    /// An answer that can be used.
    Answered(Box<Answer>),
    /// An answer that says no.
    Refused(Error),
    /// No usable answer, and another attempt may bring one.
    Again {
        error: Error,
        /// Whether the merchant may have acted.
        acted: bool,
        /// How long the merchant asks to wait.
        after: Duration,
    },
    /// No usable answer, and another attempt would bring the same.
    Lost(Error),
}

/// One call on its way to an outcome.
struct Run<'r> {
    request: &'r Request,
    attempts: u32,
    /// What is left of the time.
    left: Duration,
    delay: Duration,
    /// Whether the merchant may have acted on an attempt that got no usable answer.
    acted: bool,
}

impl<'r> Run<'r> {
    fn new(request: &'r Request) -> Self {
        Self {
            request,
            attempts: 0,
            left: request.retry.total,
            delay: request.retry.first_delay,
            acted: false,
        }
    }

    /// `began` is when the call was first recorded, when that was by an earlier try.
    async fn run(mut self, began: Option<Timestamp>) -> Result<Answer, Error> {
        if let Some(began) = began {
            self.acted = true;
            let now = self.request.merchant.agent().inner().clock.now();
            if now.duration_since(began) > KEPT && self.request.operation.read.is_some() {
                // The merchant has forgotten the key: repeating is no longer safe, and no longer says
                // what came of the first time.
                return match self.read().await {
                    Ok(answer) => Ok(answer),
                    Err(error) => Err(self.unknown(Some(error))),
                };
            }
            if self.request.operation.completes() {
                return self.reconcile(None).await;
            }
        }
        loop {
            match self.attempt().await {
                Verdict::Answered(answer) => return Ok(*answer),
                Verdict::Refused(error) => return self.refused(error).await,
                Verdict::Lost(error) => return self.lost(error).await,
                Verdict::Again {
                    error,
                    acted,
                    after,
                } => {
                    self.acted |= acted && self.changes();
                    if self.acted && self.request.operation.completes() {
                        return self.lost(error).await;
                    }
                    if self.attempts >= self.request.retry.attempts || !self.pause(after).await {
                        return Err(self.given_up(error));
                    }
                }
            }
        }
    }

    /// Whether the operation changes something at the merchant.
    fn changes(&self) -> bool {
        self.request.operation.changes
    }

    async fn attempt(&mut self) -> Verdict {
        self.attempts += 1;
        let started = Instant::now();
        let timeout = self.request.timeout.min(self.left);
        let result = execute::attempt(self.request, self.attempts, timeout).await;
        self.left = self.left.saturating_sub(started.elapsed());
        let now = self.request.merchant.agent().inner().clock.now();
        judge(self.request, result, now)
    }

    /// Waits before the next attempt; `false` when there is no time for one.
    async fn pause(&mut self, at_least: Duration) -> bool {
        let agent = self.request.merchant.agent().inner();
        // Without randomness agents only walk in step.
        let jittered = wait::jittered(self.delay, agent.randomness.as_ref()).unwrap_or(self.delay);
        let pause = jittered.max(at_least);
        if pause >= self.left {
            return false;
        }
        agent.clock.sleep(pause).await;
        self.left -= pause;
        self.delay = (self.delay * 2).min(self.request.retry.longest_delay);
        true
    }

    async fn refused(mut self, error: Error) -> Result<Answer, Error> {
        let status = match &error {
            Error::Status(error) => error.status.as_u16(),
            _ => return Err(error),
        };
        // A completion that conflicts may conflict with itself.
        if status == 409 && self.request.operation.completes() {
            return match self.read().await {
                Ok(answer) if is_settled(&answer) => Ok(answer),
                _ if self.acted => Err(self.unknown(Some(error))),
                _ => Err(error),
            };
        }
        match &error {
            Error::Status(refusal) if self.acted && !is_judgement(refusal) => {
                Err(self.unknown(Some(error)))
            }
            _ => Err(error),
        }
    }

    async fn lost(mut self, error: Error) -> Result<Answer, Error> {
        if !self.changes() {
            return Err(error);
        }
        self.acted = true;
        if self.request.operation.completes() && self.request.retry.attempts > 1 {
            return self.reconcile(Some(error)).await;
        }
        Err(self.unknown(Some(error)))
    }

    /// Reads the checkout until it says what came of its completion. Only where reads do not settle it
    /// is the identical request sent once more.
    async fn reconcile(mut self, mut cause: Option<Error>) -> Result<Answer, Error> {
        let mut unsettled = 0;
        let mut repeated = false;
        loop {
            match self.read().await {
                Ok(answer) if is_settled(&answer) => return Ok(answer),
                Ok(_) => unsettled += 1,
                Err(error) if wait::passing(&error, Timestamp::MIN).is_some() => {
                    cause.get_or_insert(error);
                }
                Err(error) => return Err(self.unknown(Some(error))),
            }
            if unsettled >= READS {
                if repeated {
                    return Err(self.unknown(cause));
                }
                repeated = true;
                unsettled = 0;
                match self.attempt().await {
                    Verdict::Answered(answer) => return Ok(*answer),
                    Verdict::Refused(Error::Status(error)) if is_judgement(&error) => {
                        return Err(Error::Status(error));
                    }
                    Verdict::Refused(error)
                    | Verdict::Lost(error)
                    | Verdict::Again { error, .. } => cause = Some(error),
                }
            }
            if !self.pause(Duration::ZERO).await {
                return Err(self.unknown(cause));
            }
        }
    }

    /// Reads what the request is about, once.
    async fn read(&mut self) -> Result<Answer, Error> {
        let started = Instant::now();
        let result = read(self.request, self.request.timeout.min(self.left)).await;
        self.left = self.left.saturating_sub(started.elapsed());
        result
    }

    fn given_up(self, error: Error) -> Error {
        if self.acted {
            self.unknown(Some(error))
        } else {
            error
        }
    }

    fn unknown(&self, cause: Option<Error>) -> Error {
        unknown(self.request, cause)
    }
}

/// Reads what a request is about; fails with the request's own problem where the contract has no
/// operation for that.
async fn read(request: &Request, timeout: Duration) -> Result<Answer, Error> {
    // A future of its own type would contain itself: reading is a call too.
    fn boxed(inputs: Inputs) -> BoxFuture<'static, Result<Answer, Error>> {
        Box::pin(async move {
            let request = execute::prepare(inputs).await?;
            let result = execute::attempt(&request, 1, request.timeout).await;
            match judge(&request, result, Timestamp::MIN) {
                Verdict::Answered(answer) => Ok(*answer),
                Verdict::Refused(error) | Verdict::Lost(error) | Verdict::Again { error, .. } => {
                    Err(error)
                }
            }
        })
    }
    let Some(operation) = request.operation.read else {
        return Err(unknown(request, None));
    };
    let mut inputs = Inputs::new(&request.merchant, operation);
    inputs.path = request.path.clone();
    inputs.timeout = Some(timeout);
    inputs.verification = Some(request.verification);
    boxed(inputs).await
}

fn unknown(request: &Request, cause: Option<Error>) -> Error {
    Error::OutcomeUnknown(Box::new(OutcomeUnknown {
        cause,
        request: request.clone(),
    }))
}

/// The outcome of a call that was answered by something that its type does not fit: the operation may
/// have been done.
fn misfit(request: &Request, error: Error) -> Error {
    match &error {
        Error::Body(body)
            if request.operation.changes && matches!(body.problem, BodyProblem::Shape(_)) =>
        {
            unknown(request, Some(error))
        }
        _ => error,
    }
}

/// Whether a read says what came of a completion: done, called off, or being done.
fn is_settled(answer: &Answer) -> bool {
    View::from_value(&answer.value).is_ok_and(|view| view.is_over() || view.is_in_progress())
}

/// Whether a refusal is about this very request, by somebody who has read it. What a gate before the
/// merchant says, or the merchant in passing, says nothing about an earlier attempt.
fn is_judgement(error: &StatusError) -> bool {
    error.status.is_client_error()
        && ![401, 403, 407, 408, 409, 425, 429].contains(&error.status.as_u16())
}

fn judge(request: &Request, result: Result<Answer, Error>, now: Timestamp) -> Verdict {
    let error = match result {
        Ok(answer) => return other_id(request, answer),
        Err(error) => error,
    };
    let after = wait::passing(&error, now).unwrap_or_default();
    match &error {
        // Where nothing is ever sent, another attempt would not be either.
        Error::Transport(lost) if cause_of::<SpecialUse>(&lost.error).is_some() => {
            Verdict::Refused(error)
        }
        Error::Transport(lost) => Verdict::Again {
            acted: lost.error.may_have_arrived(),
            after,
            error,
        },
        Error::Status(status) => match status.status.as_u16() {
            // Who says so has most likely not acted; a completion takes no chances.
            408 | 425 | 429 => Verdict::Again {
                acted: request.operation.completes(),
                after,
                error,
            },
            502..=504 => Verdict::Again {
                acted: true,
                after,
                error,
            },
            500.. => Verdict::Lost(error),
            _ => Verdict::Refused(error),
        },
        Error::Unverified(_) => Verdict::Again {
            acted: true,
            after,
            error,
        },
        Error::Body(body) => match body.problem {
            BodyProblem::Truncated { .. }
            | BodyProblem::Empty
            | BodyProblem::Html
            | BodyProblem::NotJson { .. } => Verdict::Again {
                acted: true,
                after,
                error,
            },
            _ => Verdict::Lost(error),
        },
        _ => Verdict::Refused(error),
    }
}

/// An answer about another resource than the one that was asked for is none.
fn other_id(request: &Request, answer: Answer) -> Verdict {
    let asked = match request.path.as_slice() {
        [(_, id)] => Some(id.as_str()),
        _ => None,
    };
    match (asked, wire::tag(&answer.value, "id")) {
        (Some(asked), Some(found)) if asked != found => {
            let found = found.to_owned();
            Verdict::Lost(Error::Body(Box::new(BodyError {
                problem: BodyProblem::OtherId { found },
                response: answer.raw,
            })))
        }
        _ => Verdict::Answered(Box::new(answer)),
    }
}

/// A call that may have changed something at the merchant, and whose outcome is not known.
///
/// It is neither done nor failed. Never make it anew under another call id or key: [`recover`] finds
/// out what is true, and so does the same call with the same call id, in this process or another.
///
/// [`recover`]: OutcomeUnknown::recover
///
/// ```no_run
/// # use ucp_runtime::{Call, Endpoint, Error, Host};
/// # async fn example<E: Endpoint>(call: Call<E>) -> Result<(), Error> {
/// match call.await {
///     Err(Error::OutcomeUnknown(unknown)) => {
///         let now = unknown.recover().await?;
///         println!("{:?}", now.handoff(&Host::default())?);
///     }
///     other => drop(other?),
/// }
/// # Ok(())
/// # }
/// ```
pub struct OutcomeUnknown {
    /// Why the last attempt got no usable answer.
    cause: Option<Error>,
    request: Request,
}

impl OutcomeUnknown {
    /// The `operationId`.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.request.operation.id
    }

    /// The ids that the call carries on every attempt.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.request.keys
    }

    /// The id of the session that the call is about; `None` when it was to make one.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.request.path.first().map(|(_, id)| id.as_str())
    }

    /// When the call was prepared, by the agent's clock.
    #[must_use]
    pub fn created(&self) -> Timestamp {
        self.request.created
    }

    /// Why the last attempt got no usable answer.
    #[must_use]
    pub fn cause(&self) -> Option<&Error> {
        self.cause.as_ref()
    }

    /// Finds out what is true now: reads the session; or, where the call was to make one, repeats the
    /// very same request. A completion that reads do not settle is sent once more, as it was.
    ///
    /// # Errors
    ///
    /// [`Error::OutcomeUnknown`] when it is not known still.
    pub async fn recover(&self) -> Result<Recovered, Error> {
        let request = &self.request;
        let mut run = Run::new(request);
        run.acted = true;
        let result = if request.operation.completes() {
            run.reconcile(None).await
        } else if request.operation.read.is_some() {
            loop {
                match run.read().await {
                    Err(error) if wait::passing(&error, Timestamp::MIN).is_some() => {
                        if !run.pause(Duration::ZERO).await {
                            break Err(run.unknown(Some(error)));
                        }
                    }
                    result => break result,
                }
            }
        } else {
            run.run(None).await
        };
        let answer = result?;
        let journal = request.merchant.agent().inner().journal.as_ref();
        journal::settle(journal, request, &answer.raw).await;
        Ok(Recovered(answer))
    }
}

impl fmt::Debug for OutcomeUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutcomeUnknown")
            .field("operation", &self.operation())
            .field("keys", self.keys())
            .field("session", &self.session())
            .field("cause", &self.cause)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for OutcomeUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the outcome of `{}` at {} is not known: the merchant may have acted on it; recover it, and never make the call anew",
            self.operation(),
            self.request.merchant.origin()
        )
    }
}

impl std::error::Error for OutcomeUnknown {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// What is true now of a call whose outcome was not known: the session as it was read, or the answer
/// to the very same request.
pub struct Recovered(Answer);

impl Recovered {
    /// The answer as it arrived.
    #[must_use]
    pub fn raw(&self) -> &RawResponse {
        &self.0.raw
    }

    /// What happens next.
    ///
    /// # Errors
    ///
    /// [`Error::NoHandoff`] when it is neither a checkout nor an error.
    pub fn handoff(&self, host: &Host) -> Result<Handoff, Error> {
        match View::from_value(&self.0.value) {
            Ok(view) => Ok(view.decide(host)),
            Err(NotUcp) => Err(Error::no_handoff(&self.0.raw)),
        }
    }

    /// It as the types of an operation that answers so: of the call itself, or of the one that reads
    /// the session.
    ///
    /// # Errors
    ///
    /// [`Error::Body`] when it does not fit.
    pub fn read<E: Endpoint>(self) -> Result<Response<E::Success, E::Failure>, Error> {
        self.0.read()
    }
}

impl fmt::Debug for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recovered").field(&self.0.raw).finish()
    }
}
