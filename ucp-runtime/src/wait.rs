//! Reading a checkout until it says what became of it.

use crate::call::Inputs;
use crate::clock::Randomness;
use crate::error::{BodyProblem, Error, RequestError, RetryAfter, Unsettled};
use crate::execute;
use crate::handoff::{Poll, View};
use crate::response::Answer;
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// How long a session lives whose merchant does not say (the protocol's default).
const LIFETIME: SignedDuration = SignedDuration::from_hours(6);

/// Reads until `done`, an instant, or the end of the session. An answer that decides nothing is done.
pub(crate) async fn wait(
    mut inputs: Inputs,
    until: Option<Timestamp>,
    done: fn(&View) -> bool,
) -> Result<Answer, Error> {
    let merchant = inputs.merchant.clone();
    let agent = merchant.agent().inner();
    let operation = inputs.operation;
    let poll = Poll::until(until);
    let mut delay = poll.first_delay;
    let mut now = agent.clock.now();
    let mut limit = until.unwrap_or_else(|| now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX));
    let mut turn = 0;
    loop {
        turn += 1;
        let result = execute::execute(inputs.turn("read", turn)).await;
        now = now.max(agent.clock.now());
        let mut pause = jittered(delay, agent.randomness.as_ref())
            .map_err(|problem| Error::not_sent(operation.id, problem))?;
        let last = match result {
            Ok(answer) => {
                let Ok(view) = View::from_value(&answer.value) else {
                    return Ok(answer);
                };
                if done(&view) || view.is_error() {
                    return Ok(answer);
                }
                if let Some(expiry) = view.expiry() {
                    limit = until.map_or(expiry, |until| until.min(expiry));
                }
                Error::Unsettled(Box::new(Unsettled {
                    until: limit,
                    response: answer.raw,
                }))
            }
            Err(error) => {
                let Some(asked) = passing(&error, now) else {
                    return Err(error);
                };
                pause = pause.max(asked);
                error
            }
        };
        let left = Duration::try_from(limit.duration_since(now)).unwrap_or_default();
        if left.is_zero() {
            return Err(last);
        }
        // The last read is at the limit.
        pause = pause.min(left);
        agent.clock.sleep(pause).await;
        // Time passes even for a clock that stands still, so that this ends.
        let woken = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX);
        now = now.saturating_add(woken).unwrap_or(Timestamp::MAX);
        delay = (delay * 2).min(poll.longest_delay);
    }
}

/// Whether another read may mend an error, and how long the merchant asks to wait before it.
pub(crate) fn passing(error: &Error, now: Timestamp) -> Option<Duration> {
    match error {
        Error::Transport(_) | Error::Unverified(_) => Some(Duration::ZERO),
        Error::Body(error) if matches!(error.problem, BodyProblem::Truncated { .. }) => {
            Some(Duration::ZERO)
        }
        Error::Status(error) => {
            let status = error.status;
            (status.is_server_error() || [408, 425, 429].contains(&status.as_u16())).then(|| {
                match error.retry_after {
                    Some(RetryAfter::Seconds(seconds)) => Duration::from_secs(seconds),
                    Some(RetryAfter::At(at)) => {
                        Duration::try_from(at.duration_since(now)).unwrap_or_default()
                    }
                    None => Duration::ZERO,
                }
            })
        }
        _ => None,
    }
}

/// Between half of a delay and all of it, so that agents do not read in step.
pub(crate) fn jittered(
    delay: Duration,
    randomness: &dyn Randomness,
) -> Result<Duration, RequestError> {
    let mut bytes = [0; 2];
    randomness
        .fill(&mut bytes)
        .map_err(|source| RequestError::Randomness { source })?;
    let share = f64::from(u16::from_be_bytes(bytes)) / f64::from(u16::MAX);
    Ok(delay.mul_f64(0.5 + share / 2.0))
}
