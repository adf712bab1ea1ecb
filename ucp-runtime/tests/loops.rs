//! Waiting for a checkout, and a list page by page. Over real HTTP.
#![cfg(feature = "reqwest")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use std::time::Duration;
use support::script::{Answer, Scripted, Search, answer, failure};
use support::{GetCheckout, RELEASE};
use ucp_runtime::error::PagingProblem;
use ucp_runtime::handoff::Next;
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::{Call, Error, Handoff, Host};

fn checkout(status: &str, expires_at: Option<&str>) -> Answer {
    answer(
        json!({"ucp": {"version": RELEASE}, "id": "co_1", "status": status,
        "expires_at": expires_at, "order": if status == "completed" { json!({"id": "o_1"}) } else { json!(null) }}),
    )
}

fn read(shop: &Scripted) -> Call<GetCheckout> {
    Call::new(&shop.merchant).path("id", "co_1")
}

fn seconds(seconds: &[f64]) -> Vec<Duration> {
    seconds
        .iter()
        .map(|seconds| Duration::from_secs_f64(*seconds))
        .collect()
}

const PROGRESS: &str = "complete_in_progress";

#[tokio::test]
async fn waits_until_it_is_settled() {
    let shop = Scripted::open(
        RELEASE,
        [
            checkout(PROGRESS, None),
            checkout(PROGRESS, None),
            failure(503, &[("retry-after", "7")], json!({})),
            failure(
                429,
                &[("retry-after", "Wed, 08 Apr 2026 10:00:20 GMT")],
                json!({}),
            ),
            checkout("completed", None),
        ],
    )
    .await;
    let settled = read(&shop)
        .call_id("c-1")
        .wait_until_settled(None)
        .await
        .unwrap();
    let handoff = settled.handoff(&Host::default()).unwrap();
    assert!(matches!(handoff, Handoff::Completed { .. }), "{handoff:?}");
    // Doubled delays, save where the merchant asks for more: 8.5 s have passed at the fourth answer.
    assert_eq!(shop.clock.waited(), seconds(&[0.5, 1.0, 7.0, 11.5]));
    let arrived = shop.arrived();
    let mut ids: Vec<_> = arrived
        .iter()
        .filter_map(|request| request.header("request-id"))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "each read has its own id");
}

#[tokio::test]
async fn a_settled_checkout_is_not_waited_for() {
    for status in [
        "completed",
        "canceled",
        "incomplete",
        "ready_for_complete",
        "on_hold",
    ] {
        let shop = Scripted::open(RELEASE, [checkout(status, None)]).await;
        read(&shop).wait_until_settled(None).await.unwrap();
        assert_eq!(shop.heard().len(), 1);
    }
    let envelope = json!({"ucp": {"version": RELEASE, "status": "error"}, "messages": []});
    let shop = Scripted::open(RELEASE, [answer(envelope)]).await;
    read(&shop).wait_until_over(None).await.unwrap();
    assert_eq!(shop.heard().len(), 1);
}

#[tokio::test]
async fn stops_when_the_session_ends() {
    let until: Timestamp = "2026-04-08T10:00:05Z".parse().unwrap();
    let later = "2026-04-08T11:00:00Z";
    for (given, stated) in [
        (None, Some("2026-04-08T10:00:05Z")),
        (Some(until), None),
        (Some(until), Some(later)),
        (Some(later.parse().unwrap()), Some("2026-04-08T10:00:05Z")),
    ] {
        let shop = Scripted::open(RELEASE, [checkout(PROGRESS, stated)]).await;
        let Err(Error::Unsettled(error)) = read(&shop).wait_until_settled(given).await else {
            panic!()
        };
        assert_eq!(error.until, until);
        // The last read is when it ends: 0.5 + 1 + 2, and what is left of 5.
        assert_eq!(shop.clock.waited(), seconds(&[0.5, 1.0, 2.0, 1.5]));
        assert_eq!(shop.heard().len(), 5);
        let error = Error::Unsettled(error);
        assert!(matches!(
            error.handoff(&Host::default()),
            Ok(Handoff::Conversational {
                next: Next::Poll,
                ..
            })
        ));
    }
}

#[tokio::test]
async fn delays_are_bounded_and_so_is_the_wait() {
    let shop = Scripted::open(RELEASE, [checkout(PROGRESS, None)]).await;
    let Err(Error::Unsettled(_)) = read(&shop).wait_until_settled(None).await else {
        panic!()
    };
    let waited = shop.clock.waited();
    assert_eq!(
        waited.iter().sum::<Duration>(),
        Duration::from_secs(6 * 3600)
    );
    assert_eq!(waited.iter().max(), Some(&Duration::from_secs(15)));
}

#[tokio::test]
async fn an_error_that_stays_is_the_result() {
    let shop = Scripted::open(RELEASE, [failure(404, &[], json!({"detail": "gone"}))]).await;
    let error = read(&shop).wait_until_settled(None).await.unwrap_err();
    assert!(matches!(error, Error::Status(_)));
    assert_eq!(shop.heard().len(), 1);
    let shop = Scripted::open(RELEASE, [failure(500, &[], json!({}))]).await;
    let until: Timestamp = "2026-04-08T10:00:01Z".parse().unwrap();
    let Err(Error::Status(error)) = read(&shop).wait_until_settled(until).await else {
        panic!()
    };
    assert_eq!(error.status, 500);
    assert_eq!(shop.heard().len(), 3);
}

#[tokio::test]
async fn waits_for_the_buyer() {
    let shop = Scripted::open(
        RELEASE,
        [
            checkout("requires_escalation", None),
            checkout(PROGRESS, None),
            checkout("completed", None),
        ],
    )
    .await;
    read(&shop).wait_until_over(None).await.unwrap();
    assert_eq!(shop.heard().len(), 3);
}

fn page(products: &[&str], next: Option<&str>) -> Answer {
    let products: Vec<Value> = products.iter().map(|id| json!({"id": id})).collect();
    answer(json!({"ucp": {"version": RELEASE}, "products": products,
        "pagination": {"has_next_page": next.is_some(), "cursor": next}}))
}

fn search(shop: &Scripted) -> Call<Search> {
    Call::new(&shop.merchant).body(&json!({"query": "mug", "pagination": {"limit": 2}}))
}

#[tokio::test]
async fn pages_follow_cursors_whatever_their_size() {
    let shop = Scripted::open(
        RELEASE,
        [
            page(&["a", "b", "c"], Some("two")),
            page(&[], Some("three")),
            page(&["d"], None),
        ],
    )
    .await;
    let mut keys = Vec::new();
    for _ in 0..2 {
        let mut found = Vec::new();
        // As a stream.
        let mut pages = search(&shop).call_id("c-1").pages();
        while let Some(page) = std::future::poll_fn(|context| {
            futures_core::Stream::poll_next(std::pin::Pin::new(&mut pages), context)
        })
        .await
        {
            let page = page.unwrap();
            keys.push(page.keys().clone());
            let products = page.success().unwrap()["products"].clone();
            found.extend(
                products
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|of| of["id"].clone()),
            );
            if keys.len() > 3 {
                break; // the second time there is only the last page left to give
            }
        }
        if keys.len() == 3 {
            assert_eq!(found, ["a", "b", "c", "d"]);
            assert!(pages.next().await.is_none(), "it stays over");
        }
    }
    let bodies: Vec<Value> = shop
        .arrived()
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect();
    assert_eq!(
        bodies[..3],
        [
            json!({"query": "mug", "pagination": {"limit": 2}}),
            json!({"query": "mug", "pagination": {"limit": 2, "cursor": "two"}}),
            json!({"query": "mug", "pagination": {"limit": 2, "cursor": "three"}}),
        ]
    );
    // The keys come from the call id and the page's number: in another run the same.
    assert_eq!(keys[0], keys[3]);
    let first = search(&shop).call_id(("c-1", "page/1")).keys().unwrap();
    assert_eq!(keys[0], first);
    assert_ne!(keys[0].idempotency_key, keys[1].idempotency_key);
    assert_ne!(keys[1].idempotency_key, keys[2].idempotency_key);
}

#[tokio::test]
async fn a_key_that_is_set_outright_is_the_first_pages() {
    let shop = Scripted::open(RELEASE, [page(&[], Some("two")), page(&[], None)]).await;
    let mut pages = search(&shop).idempotency_key("mine").pages();
    while let Some(page) = pages.next().await {
        page.unwrap();
    }
    let arrived = shop.arrived();
    assert_eq!(arrived[0].header("idempotency-key"), Some("mine"));
    assert_ne!(arrived[1].header("idempotency-key"), Some("mine"));
}

/// What the pages after the good ones come to.
async fn end(answers: Vec<Answer>, good: usize) -> Option<Error> {
    let shop = Scripted::open(RELEASE, answers).await;
    let mut pages = search(&shop).pages();
    for _ in 0..good {
        pages.next().await.unwrap().unwrap();
    }
    let end = pages.next().await.map(Result::unwrap_err);
    assert!(pages.next().await.is_none());
    end
}

#[tokio::test]
async fn pages_end() {
    let paging = |error: Option<Error>| match error {
        Some(Error::Paging(error)) => (error.page, error.problem.to_string()),
        other => panic!("{other:?}"),
    };
    let repeated = PagingProblem::Repeated.to_string();
    let same = vec![page(&["a"], Some("one"))];
    assert_eq!(paging(end(same, 2).await), (2, repeated.clone()));
    let round = vec![
        page(&["a"], Some("one")),
        page(&["b"], Some("two")),
        page(&["a"], Some("one")),
    ];
    assert_eq!(paging(end(round, 3).await), (3, repeated.clone()));
    let no_cursor = json!({"products": [], "pagination": {"has_next_page": true}});
    assert_eq!(
        paging(end(vec![answer(no_cursor)], 1).await),
        (1, PagingProblem::NoCursor.to_string())
    );
    // No pagination is no next page, and so is anything but `true`.
    for pagination in [
        json!(null),
        json!({}),
        json!({"has_next_page": "true", "cursor": "c"}),
    ] {
        let body = json!({"products": [], "pagination": pagination});
        assert!(end(vec![answer(body)], 1).await.is_none());
    }
    let failed = end(
        vec![page(&[], Some("two")), failure(500, &[], json!({}))],
        1,
    )
    .await;
    assert!(matches!(failed, Some(Error::Status(_))));
    let envelope = json!({"ucp": {"version": RELEASE, "status": "error"}, "messages": []});
    assert!(
        end(vec![page(&[], Some("two")), answer(envelope)], 2)
            .await
            .is_none()
    );
    // A cursor that the caller began with was followed too.
    let shop = Scripted::open(RELEASE, [page(&[], Some("mine"))]).await;
    let mut pages = Call::<Search>::new(&shop.merchant)
        .body(&json!({"pagination": {"cursor": "mine"}}))
        .pages();
    pages.next().await.unwrap().unwrap();
    let Some(Err(Error::Paging(error))) = pages.next().await else {
        panic!()
    };
    assert_eq!(error.problem.to_string(), repeated);
}
