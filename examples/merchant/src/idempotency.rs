//! What was answered under each idempotency key, so that a repetition does not act again.

use std::collections::BTreeMap;

use axum::body::Bytes;
use sha2::{Digest, Sha256};

/// The digest of what a key was first used for.
type Fingerprint = [u8; 32];

/// What a key means now.
#[derive(Debug)]
pub(crate) enum Seen {
    /// Nothing yet.
    New,
    /// The same request, answered so.
    Replay(u16, Bytes),
    /// Another request.
    Conflict,
}

/// Kept answers by agent and key. They live as long as the process, which no test outlasts.
#[derive(Debug, Default)]
pub(crate) struct Answers(BTreeMap<(String, String), (Fingerprint, u16, Bytes)>);

impl Answers {
    pub(crate) fn look_up(&self, agent: &str, key: &str, request: &Fingerprint) -> Seen {
        match self.0.get(&(agent.to_owned(), key.to_lowercase())) {
            None => Seen::New,
            Some((known, status, body)) if known == request => Seen::Replay(*status, body.clone()),
            Some(_) => Seen::Conflict,
        }
    }

    pub(crate) fn keep(
        &mut self,
        agent: &str,
        key: &str,
        request: Fingerprint,
        status: u16,
        body: Bytes,
    ) {
        let slot = (agent.to_owned(), key.to_lowercase());
        self.0.insert(slot, (request, status, body));
    }
}

/// Method, path and body, each with its length so that none runs into the next.
pub(crate) fn fingerprint(method: &str, path: &str, body: &[u8]) -> Fingerprint {
    let mut hash = Sha256::new();
    for part in [method.as_bytes(), path.as_bytes(), body] {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
