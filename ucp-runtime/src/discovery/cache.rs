//! What an agent remembers of merchants: bounded, one fetch at a time for an origin, and fresh by the
//! agent's own clock.

use super::{Found, discover};
use crate::agent::{Agent, Inner};
use crate::error::{DiscoveryError, DiscoveryProblem, Error};
use crate::fetch::{FLOOR, Freshness, KEPT, later};
use crate::profile::Envelope;
use crate::trace;
use crate::transport::TransportError;
use jiff::{SignedDuration, Timestamp};
use moka::future::Cache as Slots;
use moka::ops::compute::Op;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use url::Url;

/// For how long a merchant that was not found is not looked for again.
const FAILED: SignedDuration = SignedDuration::from_secs(10);

pub(crate) struct Cache {
    slots: Slots<String, Arc<Slot>>,
    stale: SignedDuration,
}

/// What is known of an origin, and what was last tried.
#[derive(Default)]
struct Slot {
    known: Option<Arc<Known>>,
    failed: Option<(Arc<DiscoveryError>, Timestamp)>,
    forced: Option<Timestamp>,
    /// Whether a task fetches it anew in the background.
    busy: AtomicBool,
}

/// A merchant that was found.
pub(super) struct Known {
    pub(super) found: Arc<Found>,
    /// Of the merchant's own profile, which may be of another version than is spoken.
    pub(super) envelope: Envelope,
    pub(super) top: Freshness,
    /// The profile that it names for the version that is spoken.
    pub(super) leaf: Option<(Url, Freshness)>,
}

impl Known {
    pub(super) fn new(
        found: Arc<Found>,
        envelope: Envelope,
        top: Freshness,
        leaf: Option<(Url, Freshness)>,
    ) -> Self {
        Self {
            found,
            envelope,
            top,
            leaf,
        }
    }

    /// Fresh as long as all documents are.
    fn until(&self) -> Timestamp {
        let leaf = self.leaf.as_ref().map(|(_, leaf)| leaf.until);
        leaf.map_or(self.top.until, |leaf| leaf.min(self.top.until))
    }

    /// Whether it may be used beyond its time.
    fn may_be_stale(&self) -> bool {
        let leaf = self.leaf.as_ref().is_none_or(|(_, leaf)| leaf.may_store);
        leaf && self.top.may_store
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// What is fresh, or as stale as is allowed.
    Fresh,
    /// What is fresh.
    Revalidated,
    /// What is there now, unless that was asked for within the floor.
    Forced,
}

/// What a slot has to offer.
enum Answer {
    Known(Arc<Found>),
    Stale(Arc<Found>),
    Failed(Arc<DiscoveryError>),
    Nothing,
}

impl Slot {
    fn answer(&self, want: Want, now: Timestamp, stale: SignedDuration) -> Answer {
        let is_forced = self.forced.is_some_and(|at| now < later(at, FLOOR));
        if want == Want::Forced && !is_forced {
            return Answer::Nothing;
        }
        let known = self.known.as_ref();
        let failed = self.failed.as_ref().filter(|(_, until)| now < *until);
        match (known, failed) {
            (Some(known), _) if now < known.until() => Answer::Known(known.found.clone()),
            (Some(known), failed)
                if want == Want::Fresh
                    && known.may_be_stale()
                    && now < later(known.until(), stale) =>
            {
                match failed {
                    // It was just tried.
                    Some(_) => Answer::Known(known.found.clone()),
                    None => Answer::Stale(known.found.clone()),
                }
            }
            (_, Some((error, _))) => Answer::Failed(error.clone()),
            _ => Answer::Nothing,
        }
    }

    fn size(&self) -> u32 {
        let known = self.known.as_ref().map_or(0, |known| known.found.size);
        let size = known + if self.failed.is_some() { KEPT } else { 0 };
        u32::try_from(size).unwrap_or(u32::MAX).saturating_add(1024)
    }
}

impl Cache {
    pub(crate) fn new(options: &super::Discovery) -> Self {
        Self {
            slots: Slots::builder()
                .max_capacity(options.capacity)
                .weigher(|_, slot: &Arc<Slot>| slot.size())
                .build(),
            stale: options.stale.try_into().unwrap_or(SignedDuration::MAX),
        }
    }
}

/// Finds a merchant, from memory where that will do.
pub(super) async fn find(
    agent: &Agent,
    key: &str,
    origin: Url,
    want: Want,
) -> Result<Arc<Found>, Error> {
    let inner = agent.inner();
    let cache = &inner.cache;
    if let Some(slot) = cache.slots.get(key).await {
        match slot.answer(want, inner.clock.now(), cache.stale) {
            Answer::Known(found) => return Ok(found),
            Answer::Failed(error) => return Err(Error::Discovery(error)),
            Answer::Stale(found) => {
                if !slot.busy.swap(true, Ordering::AcqRel) {
                    let (agent, key) = (agent.clone(), key.to_owned());
                    tokio::spawn(async move {
                        let done = fetch(agent.inner(), &key, &origin, Want::Revalidated).await;
                        if let Err(error) = done {
                            trace::not_revalidated(&key, &error);
                        }
                        slot.busy.store(false, Ordering::Release);
                    });
                }
                return Ok(found);
            }
            Answer::Nothing => {}
        }
    }
    fetch(inner, key, &origin, want)
        .await
        .map_err(Error::Discovery)
}

/// Fetches what is not known, one at a time for an origin: who waited finds what the first one
/// fetched.
async fn fetch(
    agent: &Inner,
    key: &str,
    origin: &Url,
    want: Want,
) -> Result<Arc<Found>, Arc<DiscoveryError>> {
    let mut outcome = None;
    let computing = agent
        .cache
        .slots
        .entry_by_ref(key)
        .and_compute_with(|entry| {
            let slot = entry.map(moka::Entry::into_value).unwrap_or_default();
            let outcome = &mut outcome;
            async move {
                match slot.answer(want, agent.clock.now(), agent.cache.stale) {
                    Answer::Known(found) | Answer::Stale(found) => {
                        *outcome = Some(Ok(found));
                        return Op::Nop;
                    }
                    Answer::Failed(error) => {
                        *outcome = Some(Err(error));
                        return Op::Nop;
                    }
                    Answer::Nothing => {}
                }
                let fetched = discover(agent, origin, slot.known.as_deref()).await;
                let now = agent.clock.now();
                let forced = if want == Want::Forced {
                    Some(now)
                } else {
                    slot.forced
                };
                let (known, failed) = match fetched {
                    Ok(known) => {
                        let Found {
                            version, endpoint, ..
                        } = &*known.found;
                        trace::merchant_found(key, version, endpoint);
                        *outcome = Some(Ok(known.found.clone()));
                        (Some(Arc::new(known)), None)
                    }
                    Err(error) => {
                        trace::merchant_not_found(key, &error);
                        let error: Arc<DiscoveryError> = error.into();
                        *outcome = Some(Err(error.clone()));
                        (slot.known.clone(), Some((error, later(now, FAILED))))
                    }
                };
                Op::Put(Arc::new(Slot {
                    known,
                    failed,
                    forced,
                    busy: AtomicBool::new(false),
                }))
            }
        });
    // The future is large, and whoever waits for a cached merchant need not carry it.
    Box::pin(computing).await;
    outcome.unwrap_or_else(|| {
        let error = TransportError::not_sent("the cache did not ask for it");
        Err(Arc::new(DiscoveryError {
            url: origin.clone(),
            problem: DiscoveryProblem::NoAnswer(error),
            response: None,
        }))
    })
}
