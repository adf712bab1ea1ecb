//! How often, and for how long, a call is attempted.

use crate::ids::Keys;
use std::time::Duration;

/// How often, and for how long, a call is attempted. Every attempt carries the same bytes and keys.
///
/// An attempt is repeated when no connection was made, when no whole answer came back, and when the
/// merchant asks for it: 408, 425, 429, 502, 503 and 504, whose `Retry-After` is kept. A request that
/// completes a checkout is never repeated before the checkout was read.
///
/// ```
/// use std::time::Duration;
/// use ucp_runtime::Retry;
///
/// let patient = Retry::default().attempts(6).total(Duration::from_secs(300));
/// # let _ = patient;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Retry {
    pub(crate) attempts: u32,
    pub(crate) total: Duration,
    pub(crate) first_delay: Duration,
    pub(crate) longest_delay: Duration,
}

impl Default for Retry {
    /// Four attempts within 60 s, with delays that double from 250 ms to at most 8 s.
    fn default() -> Self {
        Self {
            attempts: 4,
            total: Duration::from_secs(60),
            first_delay: Duration::from_millis(250),
            longest_delay: Duration::from_secs(8),
        }
    }
}

impl Retry {
    /// One attempt, and no reads in its place: whatever is not known after it is for the caller to
    /// find out.
    pub fn never() -> Self {
        Self::default().attempts(1)
    }

    /// How many attempts there are, at most. At least one is made.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// How long a call may take with all its attempts and the delays between them. A single attempt
    /// has the [timeout](crate::AgentBuilder::timeout) of its own besides.
    pub fn total(mut self, total: Duration) -> Self {
        self.total = total;
        self
    }

    /// The delay before the second attempt; each further one is twice as long, up to the longest, and
    /// each is shortened at random by up to half.
    pub fn delays(mut self, first: Duration, longest: Duration) -> Self {
        self.first_delay = first;
        self.longest_delay = longest;
        self
    }
}

/// One attempt of a call, as it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// The `operationId`.
    pub operation: &'static str,
    /// The merchant's origin.
    pub merchant: String,
    /// The attempt's number, from 1.
    pub number: u32,
    /// The ids, which all attempts of a call share.
    pub keys: Keys,
    /// What came of it.
    pub came: Attempted,
}

/// What came of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attempted {
    /// An answer of this status.
    Answered(u16),
    /// An answer of this status whose body cannot be used.
    Unusable(u16),
    /// No answer. The merchant may have received the request.
    Lost,
    /// No connection. The request did not leave.
    NotSent,
}

/// Is told of every attempt of every call, for a log or a meter: a closure does.
///
/// ```
/// use ucp_runtime::{Agent, Attempt};
///
/// let agent = Agent::builder("https://agent.example/.well-known/ucp")?
///     .observe(|attempt: &Attempt| println!("{} {:?}", attempt.operation, attempt.came));
/// # Ok::<(), ucp_runtime::Error>(())
/// ```
pub trait Observe: Send + Sync {
    /// Called when an attempt has ended, before the next one begins. It must not block.
    fn attempt(&self, attempt: &Attempt);
}

impl<F: Fn(&Attempt) + Send + Sync> Observe for F {
    fn attempt(&self, attempt: &Attempt) {
        self(attempt);
    }
}
