//! The clock and the source of randomness, which an agent is given rather than takes.

use crate::transport::{BoxError, BoxFuture};
use std::time::Duration;

/// Tells the time, and waits.
///
/// ```
/// use ucp_runtime::{Clock, jiff::Timestamp};
///
/// struct Stopped(Timestamp);
/// impl Clock for Stopped {
///     fn now(&self) -> Timestamp {
///         self.0
///     }
/// }
/// ```
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> jiff::Timestamp;

    /// Waits between two reads of a checkout. Default: `tokio`'s timer.
    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// Supplies bytes that nobody can guess.
pub trait Randomness: Send + Sync {
    /// Fills the buffer.
    ///
    /// # Errors
    ///
    /// Whatever the source reports; the call that wanted the bytes is then not sent.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), BoxError>;
}

/// The operating system's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the default of what is passed in"
    )]
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }
}

/// The operating system's randomness.
pub(crate) struct SystemRandomness;

impl Randomness for SystemRandomness {
    #[expect(
        clippy::disallowed_methods,
        reason = "the default of what is passed in"
    )]
    fn fill(&self, bytes: &mut [u8]) -> Result<(), BoxError> {
        getrandom::fill(bytes).map_err(Into::into)
    }
}
