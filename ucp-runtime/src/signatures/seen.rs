//! Telling a webhook that came before from a new one.

use super::webhook::Novelty;
use crate::transport::{BoxError, BoxFuture};
use sha2::{Digest as _, Sha256};
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Remembers which webhooks came. What it is given are hashes: it learns no order and no body.
pub trait SeenDeliveries: Send + Sync {
    /// Remembers one, in one step, so that of two that come at the same time one is new. Whether it was
    /// not known before.
    ///
    /// # Errors
    ///
    /// Whatever the store reports; the webhook is then not accepted, and may come again.
    fn remember(&self, delivery: [u8; 32]) -> BoxFuture<'_, Result<bool, BoxError>>;

    /// Forgets one.
    ///
    /// # Errors
    ///
    /// Whatever the store reports.
    fn forget(&self, delivery: [u8; 32]) -> BoxFuture<'_, Result<(), BoxError>>;
}

/// The last deliveries, in memory.
///
/// ```
/// use ucp_runtime::signatures::{RecentDeliveries, SeenDeliveries};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ucp_runtime::BoxError> {
/// let seen = RecentDeliveries::new(1_000);
/// assert!(seen.remember([1; 32]).await?);
/// assert!(!seen.remember([1; 32]).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RecentDeliveries {
    capacity: usize,
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    known: HashSet<[u8; 32]>,
    order: VecDeque<[u8; 32]>,
}

impl RecentDeliveries {
    /// Remembers so many; the oldest makes room for the next. A delivery takes one or two places.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            recent: Mutex::default(),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        // Nothing in here panics half way.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for RecentDeliveries {
    fn default() -> Self {
        Self::new(20_000)
    }
}

impl SeenDeliveries for RecentDeliveries {
    fn remember(&self, delivery: [u8; 32]) -> BoxFuture<'_, Result<bool, BoxError>> {
        let mut recent = self.recent();
        let new = recent.known.insert(delivery);
        if new {
            recent.order.push_back(delivery);
            if recent.order.len() > self.capacity
                && let Some(oldest) = recent.order.pop_front()
            {
                recent.known.remove(&oldest);
            }
        }
        Box::pin(std::future::ready(Ok(new)))
    }

    fn forget(&self, delivery: [u8; 32]) -> BoxFuture<'_, Result<(), BoxError>> {
        let mut recent = self.recent();
        if recent.known.remove(&delivery) {
            recent.order.retain(|other| *other != delivery);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What a delivery is known by.
pub(super) struct Trace<'d> {
    pub(super) business: &'d str,
    pub(super) order: &'d str,
    pub(super) id: Option<&'d str>,
    pub(super) id_is_signed: bool,
    pub(super) body: &'d [u8],
}

impl Trace<'_> {
    /// Remembers the delivery, and says whether it is new and what was remembered.
    pub(super) async fn leave(
        &self,
        seen: &dyn SeenDeliveries,
    ) -> Result<(Novelty, Vec<[u8; 32]>), BoxError> {
        let digest = Sha256::digest(self.body);
        let body = hash(&[
            b"body",
            self.business.as_bytes(),
            self.order.as_bytes(),
            &digest,
        ]);
        let Some(id) = self.id else {
            let novelty = match seen.remember(body).await? {
                true => Novelty::New,
                false => Novelty::Repeated,
            };
            return Ok((novelty, vec![body]));
        };
        let id = id.as_bytes();
        if self.id_is_signed {
            let signed = hash(&[b"signed id", self.business.as_bytes(), id]);
            let novelty = match seen.remember(signed).await? {
                true => Novelty::New,
                false => Novelty::Repeated,
            };
            return Ok((novelty, vec![signed]));
        }
        // Whoever passes a webhook on can write another id on it, to have an old body taken for new or
        // a new one for old. So an id counts only together with its body, and the body by itself too.
        let both = hash(&[b"id and body", self.business.as_bytes(), id, &digest]);
        let novelty = if !seen.remember(both).await? {
            Novelty::Repeated
        } else if !seen.remember(body).await? {
            Novelty::Doubtful
        } else {
            Novelty::New
        };
        Ok((novelty, vec![both, body]))
    }
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn remember(seen: &RecentDeliveries, number: u8) -> bool {
        seen.remember([number; 32]).await.unwrap()
    }

    #[tokio::test]
    async fn the_oldest_makes_room() {
        let seen = RecentDeliveries::new(2);
        assert!(remember(&seen, 1).await);
        assert!(remember(&seen, 2).await);
        assert!(!remember(&seen, 1).await);
        assert!(remember(&seen, 3).await);
        assert!(!remember(&seen, 2).await);
        assert!(!remember(&seen, 3).await);
        assert!(remember(&seen, 1).await);
        assert_eq!(seen.recent().known.len(), 2);
    }

    #[tokio::test]
    async fn what_is_forgotten_is_new_again() {
        let seen = RecentDeliveries::new(2);
        assert!(remember(&seen, 1).await);
        seen.forget([1; 32]).await.unwrap();
        seen.forget([9; 32]).await.unwrap();
        assert!(remember(&seen, 1).await);
        assert!(remember(&seen, 2).await);
        assert!(!remember(&seen, 1).await);
    }
}
