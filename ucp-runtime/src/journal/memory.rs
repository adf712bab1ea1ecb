//! A journal that lasts as long as the process.

use super::{Journal, Record, RecordedAnswer};
use crate::transport::{BoxError, BoxFuture};
use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many bytes of answers are kept.
const KEPT: usize = 1024 * 1024;

/// A journal that lasts as long as the process: what an agent has when it is given none.
///
/// It keeps every open call, and the latest answers up to 1 MiB together; a call whose answer it
/// dropped is forgotten. It does not survive a restart: give the agent a journal on a disk for that.
#[derive(Debug, Default)]
pub struct MemoryJournal(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    records: BTreeMap<String, Record>,
    /// The answered calls, the oldest first.
    answered: VecDeque<String>,
    bytes: usize,
}

impl MemoryJournal {
    /// An empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn begin(&self, record: Record) -> BoxFuture<'_, Result<Option<Record>, BoxError>> {
        let mut calls = self.calls();
        let known = calls.records.get(&record.call_id).cloned();
        if known.is_none() {
            calls.records.insert(record.call_id.clone(), record);
        }
        Box::pin(ready(Ok(known)))
    }

    fn find(&self, call_id: &str) -> BoxFuture<'_, Result<Option<Record>, BoxError>> {
        let known = self.calls().records.get(call_id).cloned();
        Box::pin(ready(Ok(known)))
    }

    fn settle(&self, call_id: &str, answer: RecordedAnswer) -> BoxFuture<'_, Result<(), BoxError>> {
        let mut calls = self.calls();
        let size = answer.body.len();
        if let Some(record) = calls.records.get_mut(call_id)
            && record.answer.is_none()
        {
            record.body = None;
            record.answer = Some(answer);
            calls.bytes += size;
            calls.answered.push_back(call_id.to_owned());
        }
        while calls.bytes > KEPT
            && let Some(oldest) = calls.answered.pop_front()
        {
            let answer = calls
                .records
                .remove(&oldest)
                .and_then(|record| record.answer);
            calls.bytes -= answer.map_or(0, |answer| answer.body.len());
        }
        Box::pin(ready(Ok(())))
    }

    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        let calls = self.calls();
        let mut open: Vec<Record> = calls
            .records
            .values()
            .filter(|record| record.answer.is_none())
            .cloned()
            .collect();
        open.sort_by_key(|record| record.created);
        Box::pin(ready(Ok(open)))
    }
}
