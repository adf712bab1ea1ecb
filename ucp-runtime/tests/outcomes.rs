//! What a call comes to when answers are lost, late or wrong: what is repeated, what is read, and what
//! is said not to be known. Over real HTTP.
#![cfg(feature = "reqwest")]
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::script::{
    Answer, Complete, Create, Scripted, Search, Update, answer, broken, failure,
};
use support::{GetCheckout, RELEASE};
use ucp_runtime::error::{BodyProblem, Conflict, RequestError};
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{
    Attempt, Attempted, Call, Error, Guard, Handoff, Host, Merchant, OutcomeUnknown, Retry,
};

const CREATE: &str = "POST /checkout-sessions";
const READ: &str = "GET /checkout-sessions/co_1";
const UPDATE: &str = "PUT /checkout-sessions/co_1";
const COMPLETE: &str = "POST /checkout-sessions/co_1/complete";

fn checkout(status: &str) -> Value {
    json!({"ucp": {"version": RELEASE}, "id": "co_1", "status": status,
        "order": {"id": "ord_9", "permalink_url": "https://shop.example/o/1"}})
}

async fn shop(answers: impl IntoIterator<Item = Answer>) -> Scripted {
    Scripted::open_with(RELEASE, answers, |builder| builder.retry(Retry::default())).await
}

fn create(shop: &Scripted) -> Call<Create> {
    Call::new(&shop.merchant).body(&json!({"line_items": []}))
}

fn complete(shop: &Scripted) -> Call<Complete> {
    Call::new(&shop.merchant)
        .path("id", "co_1")
        .body(&json!({}))
        .from(&checkout("ready_for_complete"))
        .allow(Guard::Totals)
}

#[track_caller]
fn unknown(error: Error) -> OutcomeUnknown {
    match error {
        Error::OutcomeUnknown(unknown) => *unknown,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_with_the_same_bytes_and_keys() {
    let shop = shop([
        broken(),
        failure(503, &[], Value::Null),
        answer(checkout("incomplete")),
    ])
    .await;
    let response = create(&shop).await.unwrap();
    assert_eq!(response.success().unwrap()["id"], "co_1");
    let arrived = shop.arrived();
    assert_eq!(shop.heard(), [CREATE; 3]);
    for other in &arrived[1..] {
        assert_eq!(other.body, arrived[0].body);
        for name in ["idempotency-key", "request-id"] {
            assert_eq!(other.header(name), arrived[0].header(name));
        }
    }
    let waited = [250, 500].map(Duration::from_millis);
    assert_eq!(shop.clock.waited(), waited, "no jitter, doubled");
}

#[tokio::test]
async fn what_never_left_is_no_unknown_outcome() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let attempts: Arc<Mutex<Vec<Attempted>>> = Arc::default();
    let seen = Arc::clone(&attempts);
    let agent = support::builder()
        .clock(support::script::Moved::at("2026-04-08T10:00:00Z"))
        .retry(Retry::default())
        .observe(move |attempt: &Attempt| {
            let mut seen = seen.lock().unwrap();
            assert_eq!(attempt.number as usize, seen.len() + 1);
            seen.push(attempt.came);
        })
        .build()
        .unwrap();
    let merchant = Merchant::at(&agent, &origin, &origin, RELEASE).unwrap();
    let call: Call<Create> = Call::new(&merchant).body(&json!({}));
    assert!(matches!(call.await.unwrap_err(), Error::Transport(_)));
    assert_eq!(*attempts.lock().unwrap(), [Attempted::NotSent; 4]);
}

#[tokio::test]
async fn a_budget_ends_attempts_and_a_retry_after_is_kept() {
    let late = || failure(429, &[("Retry-After", "7")], Value::Null);
    let shop = shop([late(), answer(checkout("incomplete"))]).await;
    create(&shop).await.unwrap();
    assert_eq!(shop.clock.waited(), [Duration::from_secs(7)]);

    // Longer than the call may take: not waited for.
    let shop = Scripted::open(RELEASE, [late()]).await;
    let retry = Retry::default().total(Duration::from_secs(6));
    let error = create(&shop).retry(retry).await.unwrap_err();
    assert!(
        matches!(&error, Error::Status(error) if error.status == 429),
        "{error:?}"
    );
    assert_eq!(shop.heard(), [CREATE]);
    assert_eq!(shop.clock.waited(), [Duration::ZERO; 0]);
}

#[tokio::test]
async fn c43_a_completion_whose_answer_was_lost_is_read_and_not_repeated() {
    let shop = shop([broken(), answer(checkout("completed"))]).await;
    let response = complete(&shop).await.unwrap();
    assert_eq!(shop.heard(), [COMPLETE, READ]);
    assert!(matches!(
        response.handoff(&Host::default()).unwrap(),
        Handoff::Completed { .. }
    ));
}

#[tokio::test]
async fn a_completion_in_progress_is_one_that_arrived() {
    let shop = shop([broken(), answer(checkout("complete_in_progress"))]).await;
    let response = complete(&shop).await.unwrap();
    assert_eq!(shop.heard(), [COMPLETE, READ]);
    assert_eq!(
        response.success().unwrap()["status"],
        "complete_in_progress"
    );
}

#[tokio::test]
async fn c50_only_where_reads_do_not_settle_it_the_identical_completion_goes_out_once_more() {
    let open = || answer(checkout("ready_for_complete"));
    let shop = shop([broken(), open(), open(), answer(checkout("completed"))]).await;
    complete(&shop).await.unwrap();
    assert_eq!(shop.heard(), [COMPLETE, READ, READ, COMPLETE]);
    let arrived = shop.arrived();
    assert_eq!(arrived[3].body, arrived[0].body);
    assert_eq!(
        arrived[3].header("idempotency-key"),
        arrived[0].header("idempotency-key")
    );

    // Once, and no more often.
    let answers = [broken(), open(), open(), broken(), open()];
    let shop = self::shop(answers).await;
    unknown(complete(&shop).await.unwrap_err());
    let heard = shop.heard();
    assert_eq!(heard, [COMPLETE, READ, READ, COMPLETE, READ, READ]);
}

#[tokio::test]
async fn what_is_not_known_is_recovered_later() {
    let down = || failure(503, &[], Value::Null);
    let retry = Retry::default().total(Duration::from_millis(1500));
    let answers = [
        broken(),
        down(),
        down(),
        down(),
        answer(checkout("completed")),
    ];
    let shop = Scripted::open(RELEASE, answers).await;
    let unknown = unknown(
        complete(&shop)
            .retry(retry)
            .call_id("c-1")
            .await
            .unwrap_err(),
    );
    assert_eq!(shop.heard(), [COMPLETE, READ, READ, READ]);
    assert_eq!(unknown.operation(), "complete_checkout");
    assert_eq!(unknown.session(), Some("co_1"));
    assert!(unknown.keys().idempotency_key.is_some());
    assert!(unknown.cause().is_some());
    let text = format!("{unknown} {unknown:?}");
    assert!(text.contains("never make the call anew"), "{text}");

    let recovered = unknown.recover().await.unwrap();
    assert!(matches!(
        recovered.handoff(&Host::default()).unwrap(),
        Handoff::Completed { .. }
    ));
    let typed = recovered.read::<Complete>().unwrap();
    assert_eq!(typed.success().unwrap()["status"], "completed");
    assert_eq!(shop.heard(), [COMPLETE, READ, READ, READ, READ]);

    // What was recovered is the call's outcome from now on.
    let again = complete(&shop).call_id("c-1").await.unwrap();
    assert_eq!(again.success().unwrap()["status"], "completed");
    assert_eq!(shop.heard().len(), 5);
}

#[tokio::test]
async fn a_creation_recovers_by_repeating_itself_and_an_update_by_reading() {
    let answers = [broken(), answer(checkout("incomplete"))];
    let shop = Scripted::open(RELEASE, answers).await;
    let error = create(&shop).await.unwrap_err();
    unknown(error).recover().await.unwrap();
    assert_eq!(shop.heard(), [CREATE, CREATE]);

    let answers = [
        failure(500, &[], Value::Null),
        answer(checkout("incomplete")),
    ];
    let shop = Scripted::open(RELEASE, answers).await;
    let update: Call<Update> = Call::new(&shop.merchant)
        .path("id", "co_1")
        .body(&json!({}));
    unknown(update.await.unwrap_err()).recover().await.unwrap();
    assert_eq!(shop.heard(), [UPDATE, READ]);
}

#[tokio::test]
async fn c55_a_conflict_of_a_completion_leads_to_a_read() {
    let conflict = |body| failure(409, &[], body);
    let shop = shop([
        conflict(json!({"detail": "busy"})),
        answer(checkout("completed")),
    ])
    .await;
    complete(&shop).await.unwrap();
    assert_eq!(shop.heard(), [COMPLETE, READ]);

    for (body, kind) in [
        (json!({"code": "idempotency_conflict"}), Conflict::KeyReused),
        (
            json!({"detail": "Idempotency key reused with another body"}),
            Conflict::KeyReused,
        ),
        (
            json!({"detail": "cannot complete an order that is shipped"}),
            Conflict::State,
        ),
    ] {
        let shop = self::shop([conflict(body.clone()), answer(checkout("incomplete"))]).await;
        let error = complete(&shop).await.unwrap_err();
        let Error::Status(status) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(status.conflict(), Some(kind), "{body}");
        assert_eq!(shop.heard(), [COMPLETE, READ]);
    }
}

#[tokio::test]
async fn an_answer_about_something_else_is_none() {
    let mut other = checkout("completed");
    other["id"] = "co_2".into();
    let shop = shop([answer(other)]).await;
    let call: Call<Update> = Call::new(&shop.merchant)
        .path("id", "co_1")
        .body(&json!({}));
    let error = call.await.unwrap_err();
    assert!(matches!(&error, Error::OutcomeUnknown(_)), "{error:?}");
    assert_eq!(shop.heard(), [UPDATE], "the answer would be the same");
    assert!(
        error.handoff(&Host::default()).is_err(),
        "and decides nothing"
    );
    let call: Call<GetCheckout> = Call::new(&shop.merchant).path("id", "co_1");
    let error = call.await.unwrap_err();
    let Error::Body(body) = &error else {
        panic!("{error:?}")
    };
    assert!(matches!(&body.problem, BodyProblem::OtherId { found } if found == "co_2"));
    assert!(error.handoff(&Host::default()).is_err());
}

#[tokio::test]
async fn a_search_changes_nothing_so_its_loss_is_a_loss() {
    let shop = shop([failure(500, &[], Value::Null)]).await;
    let call: Call<Search> = Call::new(&shop.merchant).body(&json!({}));
    let error = call.await.unwrap_err();
    assert!(matches!(error, Error::Status(_)), "{error:?}");
}

#[tokio::test]
async fn a_call_id_gives_its_answer_back_and_no_other_call() {
    let shop = shop([
        answer(checkout("incomplete")),
        answer(checkout("completed")),
    ])
    .await;
    let first = create(&shop).call_id("c-1").await.unwrap();
    let again = create(&shop).call_id("c-1").await.unwrap();
    assert_eq!(again.bytes(), first.bytes());
    assert_eq!(shop.heard(), [CREATE], "the second is not sent");

    let other: Call<Create> = Call::new(&shop.merchant).body(&json!({"line_items": [1]}));
    let error = other.call_id("c-1").await.unwrap_err();
    let Error::NotSent(error) = error else {
        panic!("{error:?}")
    };
    assert!(
        matches!(&error.problem, RequestError::CallIdReused { operation, differs: "body" } if operation == "create_checkout"),
        "{error:?}"
    );
    let other: Call<Update> = Call::new(&shop.merchant)
        .path("id", "co_1")
        .body(&json!({}));
    let error = other.call_id("c-1").await.unwrap_err();
    assert!(error.to_string().contains("another method"), "{error}");
    assert_eq!(shop.heard(), [CREATE]);
}

#[tokio::test]
async fn a_dropped_call_leaves_a_record_that_its_id_recovers() {
    let answers = [answer(checkout("incomplete"))];
    let shop = shop(answers).await;
    let call = create(&shop).call_id("c-1");
    {
        let future = call.into_future();
        tokio::pin!(future);
        // Until the request has arrived, and no further.
        while shop.heard().is_empty() {
            let step = Duration::from_millis(1);
            let done = tokio::time::timeout(step, &mut future).await.is_ok();
            if done {
                return; // the answer was faster; nothing was dropped
            }
        }
    }
    create(&shop).call_id("c-1").await.unwrap();
    let arrived = shop.arrived();
    assert_eq!(arrived[1].body, arrived[0].body);
    assert_eq!(
        arrived[1].header("idempotency-key"),
        arrived[0].header("idempotency-key")
    );
}

#[tokio::test]
async fn a_completion_that_was_left_open_is_read_first() {
    use ucp_runtime::journal::MemoryJournal;
    let journal = Arc::new(MemoryJournal::new());
    let kept = Arc::clone(&journal);
    let down = failure(503, &[], Value::Null);
    let answers = [down, answer(checkout("completed"))];
    let shop = Scripted::open_with(RELEASE, answers, |builder| builder.journal(kept)).await;
    // One attempt, and no read: as if the process had died.
    unknown(complete(&shop).call_id("c-1").await.unwrap_err());
    let open = ucp_runtime::journal::Journal::open_calls(&*journal)
        .await
        .unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(
        (open[0].call_id.as_str(), open[0].operation.as_str()),
        ("c-1", "complete_checkout")
    );
    assert_eq!(open[0].body.as_deref(), Some(&b"{}"[..]));
    let response = complete(&shop).call_id("c-1").await.unwrap();
    assert_eq!(response.success().unwrap()["status"], "completed");
    assert_eq!(shop.heard(), [COMPLETE, READ]);
    assert_eq!(
        ucp_runtime::journal::Journal::open_calls(&*journal)
            .await
            .unwrap(),
        []
    );
}

#[tokio::test]
async fn an_old_record_is_read_and_not_repeated() {
    let answers = [broken(), answer(checkout("incomplete"))];
    let shop = Scripted::open(RELEASE, answers).await;
    let update = || -> Call<Update> {
        Call::new(&shop.merchant)
            .path("id", "co_1")
            .body(&json!({}))
            .call_id("c-1")
    };
    unknown(update().await.unwrap_err());
    ucp_runtime::Clock::sleep(&shop.clock, Duration::from_secs(24 * 3600 + 1)).await;
    update().await.unwrap();
    assert_eq!(shop.heard(), [UPDATE, READ]);
}

#[cfg(feature = "sqlite")]
mod on_a_disk {
    use super::support::PROFILE;
    use super::*;
    use std::path::Path;
    use ucp_runtime::journal::{Seal, SealedJournal, SqliteJournal};
    use ucp_runtime::{Agent, BoxError};

    fn paying() -> Value {
        json!({"payment": {"instruments": [{"credential": {"token": "tok_SECRET"}}]}})
    }

    /// A new process: an agent and a journal of its own, at the same file.
    fn process(shop: &Scripted, path: &Path) -> Merchant {
        let agent = Agent::builder(PROFILE)
            .unwrap()
            .development()
            .id_secret([7; 32])
            .retry(Retry::never())
            .clock(shop.clock.clone())
            .journal(SqliteJournal::open(path).unwrap())
            .build()
            .unwrap();
        Merchant::at(
            &agent,
            shop.merchant.origin(),
            shop.merchant.endpoint(),
            RELEASE,
        )
        .unwrap()
    }

    fn pay(merchant: &Merchant) -> Call<Complete> {
        Call::new(merchant)
            .path("id", "co_1")
            .body(&paying())
            .from(&checkout("ready_for_complete"))
            .allow(Guard::Totals)
            .allow(Guard::Instrument)
            .call_id("c-1")
    }

    fn on_disk(folder: &Path, text: &str) -> bool {
        std::fs::read_dir(folder).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        })
    }

    #[tokio::test]
    async fn a_restart_changes_nothing_and_no_credential_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let shop = Scripted::open(RELEASE, [broken(), answer(checkout("completed"))]).await;
        unknown(pay(&process(&shop, &path)).await.unwrap_err());
        assert!(
            on_disk(folder.path(), "tok_SECRET"),
            "the bytes are there to be sent again"
        );

        let merchant = process(&shop, &path);
        pay(&merchant).await.unwrap();
        assert_eq!(shop.heard(), [COMPLETE, READ]);
        assert!(
            !on_disk(folder.path(), "tok_SECRET"),
            "and are gone with their need"
        );

        let response = pay(&process(&shop, &path)).await.unwrap();
        assert_eq!(response.success().unwrap()["status"], "completed");
        assert_eq!(shop.heard(), [COMPLETE, READ]);
    }

    /// Not a cipher: what this proves is that bodies pass through one.
    struct Turned;

    impl Seal for Turned {
        fn seal(&self, plain: &[u8], call_id: &str) -> Result<Vec<u8>, BoxError> {
            assert_eq!(call_id, "c-1");
            Ok(plain.iter().map(|byte| !byte).collect())
        }

        fn open(&self, sealed: &[u8], call_id: &str) -> Result<Vec<u8>, BoxError> {
            self.seal(sealed, call_id)
        }
    }

    #[tokio::test]
    async fn bodies_can_be_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let answers = [broken(), answer(checkout("completed"))];
        let journal = SqliteJournal::open(&path).unwrap();
        let shop = Scripted::open_with(RELEASE, answers, |builder| {
            builder.journal(SealedJournal::new(journal, Turned))
        })
        .await;
        unknown(pay(&shop.merchant).await.unwrap_err());
        assert!(!on_disk(folder.path(), "tok_SECRET"));
        pay(&shop.merchant).await.unwrap();
        let replayed = pay(&shop.merchant).await.unwrap();
        assert_eq!(replayed.success().unwrap()["order"]["id"], "ord_9");
        assert!(!on_disk(folder.path(), "ord_9"));
        assert_eq!(shop.heard(), [COMPLETE, READ]);
    }

    #[tokio::test]
    async fn answered_calls_can_be_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(folder.path().join("journal.db")).unwrap();
        let kept = journal.clone();
        let answers = [answer(checkout("incomplete")), broken()];
        let shop = Scripted::open_with(RELEASE, answers, |builder| builder.journal(kept)).await;
        create(&shop).call_id("c-1").await.unwrap();
        unknown(create(&shop).call_id("c-2").await.unwrap_err());
        let now: ucp_runtime::jiff::Timestamp = "2026-04-08T10:00:00Z".parse().unwrap();
        assert_eq!(journal.forget_before(now).await.unwrap(), 0);
        let later = "2026-04-08T10:00:01Z".parse().unwrap();
        assert_eq!(
            journal.forget_before(later).await.unwrap(),
            1,
            "the open one stays"
        );
    }
}
