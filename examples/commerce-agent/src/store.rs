//! What outlives the process: conversations with their events, what they wait for, purchases under way,
//! and whose order is whose.
//!
//! A conversation is a list of events, each stored as it arrives under an index of its own. All else
//! follows from it: what the page shows, what the model is told, and where a turn goes on after the
//! process was killed. The conversation's cursor is the last of the buyer's inputs that was answered.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Transaction, named_params, params};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use ucp_runtime::BoxError;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS conversation (
    id TEXT PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL, -- the digest of the buyer's session
    cursor INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS event (
    conversation TEXT NOT NULL REFERENCES conversation,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    once TEXT, -- what may be there only once
    PRIMARY KEY (conversation, seq),
    UNIQUE (conversation, once)
) STRICT;
CREATE TABLE IF NOT EXISTS matter (
    conversation TEXT NOT NULL REFERENCES conversation,
    id TEXT NOT NULL, -- of a checkout, or of a call that the shop wants a sign-in for
    state TEXT NOT NULL, -- what it waits for: a decision of the handoff, or sign_in
    outcome TEXT, -- how the buyer settled it
    PRIMARY KEY (conversation, id)
) STRICT;
CREATE TABLE IF NOT EXISTS purchase (
    conversation TEXT NOT NULL REFERENCES conversation,
    checkout TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    instrument TEXT NOT NULL,
    body TEXT NOT NULL, -- the checkout that the buyer agreed to
    state TEXT NOT NULL, -- sending, done, declined
    PRIMARY KEY (conversation, checkout, attempt)
) STRICT;
CREATE TABLE IF NOT EXISTS placed (
    id TEXT PRIMARY KEY NOT NULL,
    conversation TEXT NOT NULL REFERENCES conversation,
    profile TEXT NOT NULL, -- of the business
    version TEXT NOT NULL, -- agreed with it
    body TEXT -- as the last webhook had it
) STRICT;
CREATE TABLE IF NOT EXISTS inputs (
    conversation TEXT NOT NULL REFERENCES conversation,
    call TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (conversation, call)
) STRICT;
";

/// An event of a conversation, as the page reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Its index in the conversation, from 1.
    pub seq: i64,
    /// What kind it is: see [`crate::events`].
    pub kind: String,
    /// What belongs to that kind.
    pub body: Value,
}

/// An event to be stored.
pub(crate) struct Draft {
    pub(crate) kind: &'static str,
    pub(crate) body: Value,
    /// A name under which the conversation has only one event.
    pub(crate) once: Option<String>,
}

impl Draft {
    pub(crate) fn new(kind: &'static str, body: Value) -> Self {
        Self {
            kind,
            body,
            once: None,
        }
    }

    pub(crate) fn once(mut self, name: impl Into<String>) -> Self {
        self.once = Some(name.into());
        self
    }
}

/// An attempt to place an order, from the buyer's click on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Purchase {
    pub(crate) conversation: String,
    pub(crate) checkout: String,
    pub(crate) attempt: i64,
    pub(crate) instrument: String,
    pub(crate) body: Value,
    pub(crate) state: String,
}

/// An order that was placed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    pub(crate) conversation: String,
    pub(crate) profile: String,
    pub(crate) version: String,
}

/// What a checkout or a call waits for, and how that was settled.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Matter {
    pub(crate) state: String,
    pub(crate) outcome: Option<String>,
}

/// The database, and who waits for news of a conversation.
#[derive(Clone)]
pub(crate) struct Store {
    connection: Arc<Mutex<Connection>>,
    heads: Arc<Mutex<HashMap<String, watch::Sender<i64>>>>,
}

type Result<T> = std::result::Result<T, BoxError>;

impl Store {
    /// Opens the database, which is made when there is none.
    pub(crate) fn open(path: impl AsRef<Path>) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A killed process loses nothing; what a power cut may lose, the journal of calls still has.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            heads: Arc::default(),
        })
    }

    /// Runs SQL in one transaction, on a thread that may block.
    async fn with<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let connection = Arc::clone(&self.connection);
        tokio::task::spawn_blocking(move || {
            let mut connection = lock(&connection);
            let transaction = connection.transaction()?;
            let result = run(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })
        .await?
    }

    /// As [`with`](Self::with), for what may add events: who waits for them is told.
    async fn with_events<T: Send + 'static>(
        &self,
        conversation: &str,
        run: impl FnOnce(&Transaction<'_>, &str) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let id = conversation.to_owned();
        let (result, head) = self
            .with(move |sql| {
                let result = run(sql, &id)?;
                Ok((result, head(sql, &id)?))
            })
            .await?;
        if let Some(sender) = lock(&self.heads).get(conversation) {
            sender.send_replace(head);
        }
        Ok(result)
    }

    /// Tells the index of the newest event, as often as it changes.
    pub(crate) async fn head(&self, conversation: &str) -> Result<watch::Receiver<i64>> {
        let id = conversation.to_owned();
        // Registered before the database is read, so that no event falls in between.
        let receiver = lock(&self.heads)
            .entry(id.clone())
            .or_insert_with(|| watch::Sender::new(0))
            .subscribe();
        let head = self.with(move |sql| head(sql, &id)).await?;
        if let Some(sender) = lock(&self.heads).get(conversation) {
            sender.send_if_modified(|known| {
                let newer = head > *known;
                *known = head.max(*known);
                newer
            });
        }
        Ok(receiver)
    }

    pub(crate) async fn create(&self, conversation: &str, owner: &str) -> Result<()> {
        let (id, owner) = (conversation.to_owned(), owner.to_owned());
        self.with(move |sql| {
            let insert = "INSERT INTO conversation (id, owner) VALUES (?1, ?2)";
            sql.execute(insert, [id, owner])?;
            Ok(())
        })
        .await
    }

    /// The newest conversation of a buyer.
    pub(crate) async fn latest(&self, owner: &str) -> Result<Option<String>> {
        let owner = owner.to_owned();
        self.with(move |sql| {
            let query = "SELECT id FROM conversation WHERE owner = ?1 ORDER BY rowid DESC LIMIT 1";
            Ok(sql.query_row(query, [owner], |row| row.get(0)).optional()?)
        })
        .await
    }

    pub(crate) async fn belongs(&self, conversation: &str, owner: &str) -> Result<bool> {
        let (id, owner) = (conversation.to_owned(), owner.to_owned());
        self.with(move |sql| {
            let query = "SELECT EXISTS (SELECT 1 FROM conversation WHERE id = ?1 AND owner = ?2)";
            Ok(sql.query_row(query, [id, owner], |row| row.get(0))?)
        })
        .await
    }

    pub(crate) async fn events(&self, conversation: &str, after: i64) -> Result<Vec<Event>> {
        let id = conversation.to_owned();
        self.with(move |sql| {
            let mut query = sql.prepare(
                "SELECT seq, kind, body FROM event WHERE conversation = ?1 AND seq > ?2 ORDER BY seq",
            )?;
            let mut rows = query.query(params![id, after])?;
            let mut events = Vec::new();
            while let Some(row) = rows.next()? {
                events.push(Event {
                    seq: row.get(0)?,
                    kind: row.get(1)?,
                    body: serde_json::from_str(&row.get::<_, String>(2)?)?,
                });
            }
            Ok(events)
        })
        .await
    }

    /// Adds events, all or none, and gives their indexes. One that may be there only once and is
    /// there already is left out.
    pub(crate) async fn append(&self, conversation: &str, events: Vec<Draft>) -> Result<Vec<i64>> {
        self.with_events(conversation, move |sql, id| append(sql, id, events))
            .await
    }

    pub(crate) async fn cursor(&self, conversation: &str) -> Result<i64> {
        let id = conversation.to_owned();
        self.with(move |sql| {
            let query = "SELECT cursor FROM conversation WHERE id = ?1";
            Ok(sql.query_row(query, [id], |row| row.get(0))?)
        })
        .await
    }

    /// Ends a turn: its last event, and the input up to which all is answered.
    pub(crate) async fn answered(
        &self,
        conversation: &str,
        cursor: i64,
        last: Draft,
    ) -> Result<()> {
        self.with_events(conversation, move |sql, id| {
            append(sql, id, vec![last])?;
            let update = "UPDATE conversation SET cursor = ?2 WHERE id = ?1";
            sql.execute(update, params![id, cursor])?;
            Ok(())
        })
        .await
    }

    /// The conversations whose last input was not answered.
    pub(crate) async fn unanswered(&self) -> Result<Vec<String>> {
        self.with(|sql| {
            let mut query = sql.prepare(
                "SELECT DISTINCT id FROM conversation JOIN event ON conversation = id
                 WHERE seq > cursor AND kind IN ('buyer', 'outcome')",
            )?;
            let found = query.query_map([], |row| row.get(0))?;
            Ok(found.collect::<std::result::Result<_, _>>()?)
        })
        .await
    }

    /// The inputs of a call, as they were the first time: what is attempted again must be the same.
    pub(crate) async fn inputs(
        &self,
        conversation: &str,
        call: &str,
        inputs: Option<Value>,
    ) -> Result<Option<Value>> {
        let (id, call) = (conversation.to_owned(), call.to_owned());
        self.with(move |sql| {
            if let Some(inputs) = inputs {
                let insert = "INSERT OR IGNORE INTO inputs VALUES (?1, ?2, ?3)";
                sql.execute(insert, [&id, &call, &inputs.to_string()])?;
            }
            let query = "SELECT body FROM inputs WHERE conversation = ?1 AND call = ?2";
            let found: Option<String> = sql
                .query_row(query, [id, call], |row| row.get(0))
                .optional()?;
            Ok(found.map(|text| serde_json::from_str(&text)).transpose()?)
        })
        .await
    }

    pub(crate) async fn matter(&self, conversation: &str, id: &str) -> Result<Option<Matter>> {
        let (conversation, id) = (conversation.to_owned(), id.to_owned());
        self.with(move |sql| matter(sql, &conversation, &id)).await
    }

    /// Notes what a matter now waits for. Its events are added if that is something else than before,
    /// and then `true` is given. What is over stays so: an answer that was under way for long may be
    /// about the time before.
    pub(crate) async fn waits(
        &self,
        conversation: &str,
        matter_id: &str,
        state: &str,
        events: Vec<Draft>,
    ) -> Result<bool> {
        let (matter_id, state) = (matter_id.to_owned(), state.to_owned());
        self.with_events(conversation, move |sql, id| {
            let before = matter(sql, id, &matter_id)?.map(|matter| matter.state);
            let over = |state: &str| ["completed", "canceled"].contains(&state);
            if before.as_deref() == Some(&state) || before.as_deref().is_some_and(over) {
                return Ok(false);
            }
            sql.execute(
                "INSERT INTO matter (conversation, id, state) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET state = excluded.state, outcome = NULL",
                [id, &matter_id, &state],
            )?;
            append(sql, id, events)?;
            Ok(true)
        })
        .await
    }

    /// Stores how the buyer settled a matter. False when it is settled already, or over.
    pub(crate) async fn settle(
        &self,
        conversation: &str,
        matter_id: &str,
        outcome: &str,
        events: Vec<Draft>,
    ) -> Result<bool> {
        let (matter_id, outcome) = (matter_id.to_owned(), outcome.to_owned());
        self.with_events(conversation, move |sql, id| {
            let update = "UPDATE matter SET outcome = ?3
                 WHERE conversation = ?1 AND id = ?2 AND outcome IS NULL
                     AND state NOT IN ('completed', 'canceled')";
            let settled = sql.execute(update, [id, &matter_id, &outcome])? > 0;
            if settled {
                append(sql, id, events)?;
            }
            Ok(settled)
        })
        .await
    }

    /// The checkouts that somebody else than the agent goes on with, by conversation.
    pub(crate) async fn handed_over(&self) -> Result<Vec<(String, String)>> {
        self.with(|sql| {
            let mut query = sql.prepare(
                "SELECT conversation, id FROM matter
                 WHERE state IN ('poll', 'continue_url', 'embedded')",
            )?;
            let found = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(found.collect::<std::result::Result<_, _>>()?)
        })
        .await
    }

    /// The purchase of a checkout that is under way, or else a new one.
    pub(crate) async fn begin_purchase(
        &self,
        conversation: &str,
        checkout: &str,
        instrument: &str,
        body: &Value,
    ) -> Result<Purchase> {
        let new = Purchase {
            conversation: conversation.to_owned(),
            checkout: checkout.to_owned(),
            attempt: 1,
            instrument: instrument.to_owned(),
            body: body.clone(),
            state: "sending".to_owned(),
        };
        self.with(move |sql| {
            let last = last_purchase(sql, &new.conversation, &new.checkout)?;
            let attempt = match last {
                Some(last) if last.state != "declined" => return Ok(last),
                Some(last) => last.attempt + 1,
                None => 1,
            };
            let purchase = Purchase { attempt, ..new };
            sql.execute(
                "INSERT INTO purchase (conversation, checkout, attempt, instrument, body, state)
                 VALUES (:conversation, :checkout, :attempt, :instrument, :body, :state)",
                named_params! {
                    ":conversation": purchase.conversation,
                    ":checkout": purchase.checkout,
                    ":attempt": purchase.attempt,
                    ":instrument": purchase.instrument,
                    ":body": purchase.body.to_string(),
                    ":state": purchase.state,
                },
            )?;
            Ok(purchase)
        })
        .await
    }

    pub(crate) async fn end_purchase(
        &self,
        purchase: &Purchase,
        state: &'static str,
    ) -> Result<()> {
        let purchase = purchase.clone();
        self.with(move |sql| {
            sql.execute(
                "UPDATE purchase SET state = ?4
                 WHERE conversation = ?1 AND checkout = ?2 AND attempt = ?3",
                params![
                    purchase.conversation,
                    purchase.checkout,
                    purchase.attempt,
                    state
                ],
            )?;
            Ok(())
        })
        .await
    }

    /// The purchase of a checkout that was sent and not answered.
    pub(crate) async fn sending(
        &self,
        conversation: &str,
        checkout: &str,
    ) -> Result<Option<Purchase>> {
        let (conversation, checkout) = (conversation.to_owned(), checkout.to_owned());
        let last = self
            .with(move |sql| last_purchase(sql, &conversation, &checkout))
            .await?;
        Ok(last.filter(|purchase| purchase.state == "sending"))
    }

    /// All such purchases.
    pub(crate) async fn all_sending(&self) -> Result<Vec<Purchase>> {
        self.with(|sql| {
            let mut query = sql.prepare("SELECT * FROM purchase WHERE state = 'sending'")?;
            let mut rows = query.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(purchase(row)?);
            }
            Ok(found)
        })
        .await
    }

    /// Records whose order it is. What is recorded already stays.
    pub(crate) async fn record_order(&self, id: &str, placed: Placed) -> Result<()> {
        let id = id.to_owned();
        self.with(move |sql| {
            sql.execute(
                "INSERT OR IGNORE INTO placed (id, conversation, profile, version)
                 VALUES (?1, ?2, ?3, ?4)",
                [id, placed.conversation, placed.profile, placed.version],
            )?;
            Ok(())
        })
        .await
    }

    pub(crate) async fn order(&self, id: &str) -> Result<Option<Placed>> {
        let id = id.to_owned();
        self.with(move |sql| {
            let query = "SELECT conversation, profile, version FROM placed WHERE id = ?1";
            let read = |row: &rusqlite::Row<'_>| {
                Ok(Placed {
                    conversation: row.get(0)?,
                    profile: row.get(1)?,
                    version: row.get(2)?,
                })
            };
            Ok(sql.query_row(query, [id], read).optional()?)
        })
        .await
    }

    /// Takes what a webhook says of an order. The event is added if that is news.
    pub(crate) async fn order_changed(
        &self,
        conversation: &str,
        order: &str,
        body: &Value,
        event: Draft,
    ) -> Result<()> {
        let (order, body) = (order.to_owned(), body.to_string());
        self.with_events(conversation, move |sql, id| {
            let update = "UPDATE placed SET body = ?2 WHERE id = ?1 AND body IS NOT ?2";
            if sql.execute(update, [order, body])? > 0 {
                append(sql, id, vec![event])?;
            }
            Ok(())
        })
        .await
    }
}

fn head(sql: &Connection, conversation: &str) -> Result<i64> {
    let query = "SELECT coalesce(max(seq), 0) FROM event WHERE conversation = ?1";
    Ok(sql.query_row(query, [conversation], |row| row.get(0))?)
}

fn append(sql: &Connection, conversation: &str, events: Vec<Draft>) -> Result<Vec<i64>> {
    let mut insert = sql.prepare(
        "INSERT INTO event (conversation, seq, kind, body, once) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (conversation, once) DO NOTHING",
    )?;
    let mut seq = head(sql, conversation)?;
    let mut added = Vec::new();
    for Draft { kind, body, once } in events {
        let row = params![conversation, seq + 1, kind, body.to_string(), once];
        if insert.execute(row)? > 0 {
            seq += 1;
            added.push(seq);
        }
    }
    Ok(added)
}

fn matter(sql: &Connection, conversation: &str, id: &str) -> Result<Option<Matter>> {
    let query = "SELECT state, outcome FROM matter WHERE conversation = ?1 AND id = ?2";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Matter {
            state: row.get(0)?,
            outcome: row.get(1)?,
        })
    };
    Ok(sql.query_row(query, [conversation, id], read).optional()?)
}

fn last_purchase(sql: &Connection, conversation: &str, checkout: &str) -> Result<Option<Purchase>> {
    let mut query = sql.prepare(
        "SELECT * FROM purchase WHERE conversation = ?1 AND checkout = ?2
         ORDER BY attempt DESC LIMIT 1",
    )?;
    let mut rows = query.query([conversation, checkout])?;
    rows.next()?.map(purchase).transpose()
}

fn purchase(row: &rusqlite::Row<'_>) -> Result<Purchase> {
    Ok(Purchase {
        conversation: row.get("conversation")?,
        checkout: row.get("checkout")?,
        attempt: row.get("attempt")?,
        instrument: row.get("instrument")?,
        body: serde_json::from_str(&row.get::<_, String>("body")?)?,
        state: row.get("state")?,
    })
}

/// A panic elsewhere leaves no transaction half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn conversation() -> Store {
        let store = Store::open(":memory:").unwrap();
        store.create("c", "owner").await.unwrap();
        store
    }

    fn event(once: Option<&str>) -> Draft {
        Draft {
            kind: "buyer",
            body: json!({}),
            once: once.map(str::to_owned),
        }
    }

    #[tokio::test]
    async fn every_event_has_an_index_of_its_own_and_some_are_there_only_once() {
        let store = conversation().await;
        let mut news = store.head("c").await.unwrap();
        assert_eq!(*news.borrow_and_update(), 0);
        let append = async |events| store.append("c", events).await.unwrap();
        assert_eq!(append(vec![event(None), event(Some("a"))]).await, [1, 2]);
        assert_eq!(append(vec![event(Some("a")), event(None)]).await, [3]);
        assert!(news.has_changed().unwrap());
        assert_eq!(*news.borrow_and_update(), 3);
        let seqs = store.events("c", 1).await.unwrap();
        assert_eq!(seqs.iter().map(|it| it.seq).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(store.unanswered().await.unwrap(), ["c"]);
        let done = Draft::new("done", json!({}));
        store.answered("c", 3, done).await.unwrap();
        assert!(store.unanswered().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_is_over_stays_over_and_is_settled_once() {
        let store = conversation().await;
        let waits = async |state| store.waits("c", "m", state, vec![]).await.unwrap();
        assert!(waits("complete").await);
        assert!(!waits("complete").await, "nothing new");
        let settle = async |outcome| store.settle("c", "m", outcome, vec![event(None)]).await;
        assert!(settle("declined").await.unwrap());
        assert!(!settle("placed").await.unwrap());
        assert_eq!(store.events("c", 0).await.unwrap().len(), 1);
        assert!(waits("completed").await);
        assert!(!waits("complete").await, "an old answer");
        assert!(!settle("declined").await.unwrap(), "it is over");
        let matter = store.matter("c", "m").await.unwrap().unwrap();
        assert_eq!((matter.state.as_str(), matter.outcome), ("completed", None));
    }

    #[tokio::test]
    async fn a_purchase_under_way_is_not_begun_again() {
        let store = conversation().await;
        let begin = async |body| store.begin_purchase("c", "k", "card", &body).await.unwrap();
        let first = begin(json!(1)).await;
        assert_eq!(begin(json!(2)).await, first);
        store.end_purchase(&first, "declined").await.unwrap();
        let second = begin(json!(3)).await;
        assert_eq!((second.attempt, &second.body), (2, &json!(3)));
        assert_eq!(store.all_sending().await.unwrap(), [second]);
    }

    #[tokio::test]
    async fn inputs_stay_as_they_were_first() {
        let store = conversation().await;
        for given in [1, 2] {
            let stored = store.inputs("c", "call", Some(json!(given))).await.unwrap();
            assert_eq!(stored, Some(json!(1)));
        }
        assert_eq!(store.inputs("c", "other", None).await.unwrap(), None);
    }
}
