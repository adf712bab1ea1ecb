//! A journal in a SQLite database.

use super::{Journal, Record, RecordedAnswer};
use crate::transport::{BoxError, BoxFuture};
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, named_params};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS calls (
    call_id TEXT PRIMARY KEY NOT NULL,
    operation TEXT NOT NULL,
    release TEXT NOT NULL,
    merchant TEXT NOT NULL,
    method TEXT NOT NULL,
    url TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_id TEXT NOT NULL,
    created INTEGER NOT NULL, -- microseconds since 1970
    digest BLOB NOT NULL, -- SHA-256 of the request's body
    body BLOB,
    status INTEGER, -- NULL: the outcome is not known
    content_type TEXT,
    answer BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS open_calls ON calls (created) WHERE status IS NULL;
";

/// How long a process waits for another one that writes.
const BUSY: Duration = Duration::from_secs(5);

/// A journal in a SQLite database, which several processes of one machine may share.
///
/// A record is on the disk, synced, before its request is sent. What an outcome makes unneeded is
/// overwritten, in the database and in its write-ahead log.
///
/// ```
/// use ucp_runtime::journal::SqliteJournal;
///
/// let folder = tempfile::tempdir()?;
/// let journal = SqliteJournal::open(folder.path().join("journal.db"))?;
/// # drop(journal);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct SqliteJournal(Arc<Mutex<Connection>>);

impl SqliteJournal {
    /// Opens a database, which is made when there is none.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or is no such database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, BoxError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Forgets answered calls that began before `time`, and says how many. An id that is forgotten can
    /// be used for another call: keep them for as long as anything may repeat one.
    ///
    /// # Errors
    ///
    /// When the database cannot be written.
    pub async fn forget_before(&self, time: jiff::Timestamp) -> Result<usize, BoxError> {
        self.with(move |connection| {
            let forgotten = connection.execute(
                "DELETE FROM calls WHERE status IS NOT NULL AND created < :time",
                named_params! { ":time": time.as_microsecond() },
            )?;
            Ok(forgotten)
        })
        .await
    }

    /// Runs SQL on a thread that may block.
    async fn with<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Connection) -> Result<T, BoxError> + Send + 'static,
    ) -> Result<T, BoxError> {
        let connection = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || {
            run(&mut connection.lock().unwrap_or_else(PoisonError::into_inner))
        })
        .await?
    }
}

impl fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteJournal").finish_non_exhaustive()
    }
}

impl Journal for SqliteJournal {
    fn begin(&self, record: Record) -> BoxFuture<'_, Result<Option<Record>, BoxError>> {
        Box::pin(self.with(move |connection| {
            // Takes the lock at once, so that no other process begins the same call in between.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let known = find(&transaction, &record.call_id)?;
            if known.is_none() {
                transaction.execute(
                    "INSERT INTO calls (call_id, operation, release, merchant, method, url,
                         idempotency_key, request_id, created, digest, body)
                     VALUES (:call_id, :operation, :release, :merchant, :method, :url,
                         :idempotency_key, :request_id, :created, :digest, :body)",
                    named_params! {
                        ":call_id": record.call_id,
                        ":operation": record.operation,
                        ":release": record.release,
                        ":merchant": record.merchant,
                        ":method": record.method,
                        ":url": record.url,
                        ":idempotency_key": record.idempotency_key,
                        ":request_id": record.request_id,
                        ":created": record.created.as_microsecond(),
                        ":digest": record.digest,
                        ":body": record.body.as_deref(),
                    },
                )?;
            }
            transaction.commit()?;
            Ok(known)
        }))
    }

    fn find(&self, call_id: &str) -> BoxFuture<'_, Result<Option<Record>, BoxError>> {
        let call_id = call_id.to_owned();
        Box::pin(self.with(move |connection| find(connection, &call_id)))
    }

    fn settle(&self, call_id: &str, answer: RecordedAnswer) -> BoxFuture<'_, Result<(), BoxError>> {
        let call_id = call_id.to_owned();
        Box::pin(self.with(move |connection| {
            connection.execute(
                "UPDATE calls SET body = NULL, status = :status, content_type = :content_type,
                     answer = :answer
                 WHERE call_id = :call_id AND status IS NULL",
                named_params! {
                    ":call_id": call_id,
                    ":status": answer.status,
                    ":content_type": answer.content_type,
                    ":answer": &answer.body[..],
                },
            )?;
            // The body that was dropped stands in the log until that is emptied. Another process that
            // reads at this moment keeps it so until the next time.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(())
        }))
    }

    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Box::pin(self.with(|connection| {
            let mut query =
                connection.prepare("SELECT * FROM calls WHERE status IS NULL ORDER BY created")?;
            let mut rows = query.query([])?;
            let mut open = Vec::new();
            while let Some(row) = rows.next()? {
                open.push(read(row)?);
            }
            Ok(open)
        }))
    }
}

fn find(connection: &Connection, call_id: &str) -> Result<Option<Record>, BoxError> {
    let query = "SELECT * FROM calls WHERE call_id = ?1";
    connection
        .query_row(query, [call_id], |row| Ok(read(row)))
        .optional()?
        .transpose()
}

fn read(row: &Row<'_>) -> Result<Record, BoxError> {
    let bytes =
        |name| Ok::<_, rusqlite::Error>(row.get::<_, Option<Vec<u8>>>(name)?.map(Bytes::from));
    let status: Option<u16> = row.get("status")?;
    let answer = match status {
        Some(status) => Some(RecordedAnswer {
            status,
            content_type: row.get("content_type")?,
            body: bytes("answer")?.unwrap_or_default(),
        }),
        None => None,
    };
    Ok(Record {
        call_id: row.get("call_id")?,
        operation: row.get("operation")?,
        release: row.get("release")?,
        merchant: row.get("merchant")?,
        method: row.get("method")?,
        url: row.get("url")?,
        idempotency_key: row.get("idempotency_key")?,
        request_id: row.get("request_id")?,
        created: jiff::Timestamp::from_microsecond(row.get("created")?)?,
        digest: row.get("digest")?,
        body: bytes("body")?,
        answer,
    })
}
