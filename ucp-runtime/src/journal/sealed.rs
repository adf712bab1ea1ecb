//! Bodies encrypted before they reach the journal's store.

use super::{Journal, Record, RecordedAnswer};
use crate::transport::{BoxError, BoxFuture};

/// Encrypts what a journal stores: an AEAD, with the call's id as associated data, so that no stored
/// body can stand in for another's.
pub trait Seal: Send + Sync {
    /// Encrypts.
    ///
    /// # Errors
    ///
    /// Whatever the cipher or the keeper of its key reports.
    fn seal(&self, plain: &[u8], call_id: &str) -> Result<Vec<u8>, BoxError>;

    /// Decrypts what [`seal`](Seal::seal) made.
    ///
    /// # Errors
    ///
    /// When it was not made by this key for this call, or was altered.
    fn open(&self, sealed: &[u8], call_id: &str) -> Result<Vec<u8>, BoxError>;
}

/// A journal whose bodies, of requests and of answers, are encrypted on their way into another one.
/// Method, URL, ids and the digest of the body stay readable.
#[derive(Debug)]
pub struct SealedJournal<J, S> {
    journal: J,
    seal: S,
}

impl<J: Journal, S: Seal> SealedJournal<J, S> {
    /// Encrypts with `seal` what goes into `journal`.
    pub fn new(journal: J, seal: S) -> Self {
        Self { journal, seal }
    }

    fn sealed(&self, mut answer: RecordedAnswer, id: &str) -> Result<RecordedAnswer, BoxError> {
        answer.body = self.seal.seal(&answer.body, id)?.into();
        Ok(answer)
    }

    fn opened(&self, mut record: Record) -> Result<Record, BoxError> {
        let id = &record.call_id;
        if let Some(body) = &record.body {
            record.body = Some(self.seal.open(body, id)?.into());
        }
        if let Some(answer) = &mut record.answer {
            answer.body = self.seal.open(&answer.body, id)?.into();
        }
        Ok(record)
    }
}

impl<J: Journal, S: Seal> Journal for SealedJournal<J, S> {
    fn begin(&self, mut record: Record) -> BoxFuture<'_, Result<Option<Record>, BoxError>> {
        Box::pin(async move {
            if let Some(body) = &record.body {
                record.body = Some(self.seal.seal(body, &record.call_id)?.into());
            }
            let known = self.journal.begin(record).await?;
            known.map(|record| self.opened(record)).transpose()
        })
    }

    fn find(&self, call_id: &str) -> BoxFuture<'_, Result<Option<Record>, BoxError>> {
        let call_id = call_id.to_owned();
        Box::pin(async move {
            let known = self.journal.find(&call_id).await?;
            known.map(|record| self.opened(record)).transpose()
        })
    }

    fn settle(&self, call_id: &str, answer: RecordedAnswer) -> BoxFuture<'_, Result<(), BoxError>> {
        let sealed = self.sealed(answer, call_id);
        let call_id = call_id.to_owned();
        Box::pin(async move { self.journal.settle(&call_id, sealed?).await })
    }

    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Box::pin(async move {
            let open = self.journal.open_calls().await?;
            open.into_iter().map(|record| self.opened(record)).collect()
        })
    }
}
