//! A clock whose waiting takes no time, so that thousands of purchases can be patient.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::{BoxFuture, Clock};

/// Tells real time with all that was waited on top of it.
#[derive(Clone, Debug)]
pub struct Hurried {
    began: Timestamp,
    running: Instant,
    waited: Arc<Mutex<Duration>>,
}

impl Hurried {
    /// A clock that begins at this time.
    #[must_use]
    pub fn at(began: Timestamp) -> Self {
        Self {
            began,
            running: Instant::now(),
            waited: Arc::default(),
        }
    }

    /// How long it runs, with what was waited.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.running.elapsed() + *self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        self.began
            .saturating_add(self.elapsed())
            .unwrap_or(Timestamp::MAX)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += duration;
        Box::pin(tokio::task::yield_now())
    }
}
