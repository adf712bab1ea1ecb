//! What is refused before money moves, and what lets it pass. Over real HTTP.
#![cfg(feature = "reqwest")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use support::RELEASE;
use support::script::{Complete, OldComplete, Scripted, answer, failure};
use ucp_runtime::error::RequestError;
use ucp_runtime::guard::{Refusal, TotalsProblem};
use ucp_runtime::handoff::View;
use ucp_runtime::operation::CompletesCheckout;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{Call, Endpoint, Error, Guard, Host};

const READ: &str = "GET /checkout-sessions/co_1";
const SENT: &str = "POST /checkout-sessions/co_1/complete";

/// A checkout that can be completed, with changes.
fn checkout(changes: Value) -> Value {
    let mut checkout = json!({
        "ucp": {"version": RELEASE, "payment_handlers": {"com.example.pay": [
            {"id": "pay_1", "version": RELEASE, "available_instruments": [{"type": "card"}]},
            {"id": "pay_2", "version": RELEASE},
        ]}},
        "id": "co_1", "status": "ready_for_complete", "currency": "EUR", "line_items": [], "links": [],
        "totals": [{"type": "subtotal", "amount": 1000}, {"type": "total", "amount": 1000}],
        "expires_at": "2026-04-08T10:00:01Z",
    });
    for (name, value) in changes.as_object().unwrap() {
        checkout[name] = value.clone();
    }
    checkout
}

fn paying(handler: &str, kind: &str) -> Value {
    json!({"payment": {"instruments": [{"id": "i_1", "handler_id": handler, "type": kind}]}})
}

fn call<E: CompletesCheckout + Endpoint>(shop: &Scripted, body: &Value) -> Call<E> {
    Call::new(&shop.merchant).path("id", "co_1").body(body)
}

fn refusals(error: Error) -> Vec<Refusal> {
    let Error::NotSent(error) = error else {
        panic!("{error:?}")
    };
    let RequestError::Refused { refusals } = error.problem else {
        panic!("{error:?}")
    };
    refusals.as_slice().to_vec()
}

/// What is refused of a checkout: the same for one that is given and one that is read.
async fn refused(checkout: Value, body: Value) -> Vec<Refusal> {
    let shop = Scripted::open(RELEASE, [answer(checkout.clone())]).await;
    let given = call::<Complete>(&shop, &body).from(&checkout).await;
    assert_eq!(shop.heard(), [""; 0], "nothing is sent");
    let given = refusals(given.unwrap_err());
    let prepared = call::<Complete>(&shop, &body)
        .from(&checkout)
        .prepare()
        .await;
    assert_eq!(refusals(prepared.unwrap_err()), given);
    let read = call::<Complete>(&shop, &body).await;
    assert_eq!(shop.heard(), [READ], "only the checkout is read");
    assert_eq!(refusals(read.unwrap_err()), given);
    given
}

#[tokio::test]
async fn a_good_checkout_is_completed() {
    let good = checkout(json!({}));
    let shop = Scripted::open(RELEASE, [answer(good.clone())]).await;
    let body = paying("pay_1", "card");
    call::<Complete>(&shop, &body).from(&good).await.unwrap();
    assert_eq!(shop.heard(), [SENT], "what is given is not read");
    call::<Complete>(&shop, &body).call_id("c-1").await.unwrap();
    assert_eq!(shop.heard(), [SENT, READ, SENT]);
    let arrived = shop.arrived();
    assert!(arrived[1].header("idempotency-key").is_none());
    assert_ne!(
        arrived[1].header("request-id"),
        arrived[2].header("request-id")
    );
}

#[tokio::test]
async fn each_guard_refuses_and_is_lifted_by_its_name() {
    let card = || paying("pay_1", "card");
    let disclosure = json!({"type": "warning", "content": "nuts", "presentation": "disclosure", "code": "allergens"});
    let rows: Vec<(Guard, Value, Value, String)> = vec![
        (
            Guard::Totals,
            checkout(json!({"totals": [{"type": "subtotal", "amount": 1000}, {"type": "total", "amount": 999}]})),
            card(),
            "its totals do not add up: the entries add up to 1000, and the total says 999".into(),
        ),
        (
            Guard::Totals,
            checkout(json!({"totals": []})),
            card(),
            "its totals do not add up: there are 0 entries of type `subtotal`, where there must be one".into(),
        ),
        (
            Guard::Instrument,
            checkout(json!({})),
            paying("pay_1", "wallet"),
            "it does not offer a `wallet` of the payment handler `pay_1`".into(),
        ),
        (
            Guard::Instrument,
            checkout(json!({})),
            paying("pay_3", "card"),
            "it does not offer a `card` of the payment handler `pay_3`".into(),
        ),
        (
            Guard::Instrument,
            // C36: no handler, so nothing can be paid with.
            checkout(json!({"ucp": {"version": RELEASE, "capabilities": {}}})),
            card(),
            "it does not offer a `card` of the payment handler `pay_1`".into(),
        ),
        (
            Guard::InProgress,
            checkout(json!({"status": "complete_in_progress"})),
            card(),
            "a completion is in progress: read the checkout until it is settled".into(),
        ),
        (
            Guard::Expired,
            checkout(json!({"expires_at": "2026-04-08T12:00:00+02:00"})),
            card(),
            "it expired at 2026-04-08T10:00:00Z: make another".into(),
        ),
        (
            Guard::Disclosures,
            checkout(json!({"messages": [disclosure]})),
            card(),
            "1 of its disclosures are not acknowledged: show them, then acknowledge them".into(),
        ),
    ];
    for (guard, checkout, body, text) in rows {
        let reasons = refused(checkout.clone(), body.clone()).await;
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        assert_eq!(reasons[0].guard(), Some(guard));
        assert_eq!(reasons[0].to_string(), text);
        let shop = Scripted::open(RELEASE, [answer(checkout.clone())]).await;
        for other in [
            Guard::Totals,
            Guard::Instrument,
            Guard::InProgress,
            Guard::Expired,
            Guard::Disclosures,
        ] {
            let result = call::<Complete>(&shop, &body)
                .from(&checkout)
                .allow(other)
                .await;
            assert_eq!(result.is_ok(), other == guard, "{guard:?} {other:?}");
        }
        assert_eq!(shop.heard(), [SENT]);
    }
}

#[tokio::test]
async fn all_reasons_are_given_and_all_guards_can_be_lifted() {
    let bad = checkout(json!({"totals": null, "status": "complete_in_progress",
        "expires_at": "2026-04-08T09:00:00Z", "messages": [{"type": "warning", "presentation": "hologram"}]}));
    let body = paying("pay_9", "card");
    let reasons = refused(bad.clone(), body.clone()).await;
    let guards: Vec<_> = reasons.iter().filter_map(Refusal::guard).collect();
    let all = [
        Guard::Totals,
        Guard::Instrument,
        Guard::InProgress,
        Guard::Expired,
        Guard::Disclosures,
    ];
    assert_eq!(guards, all);
    assert_eq!(reasons[0], Refusal::Totals(TotalsProblem::Missing));
    let shop = Scripted::open(RELEASE, [answer(bad)]).await;
    let lifted = all
        .into_iter()
        .fold(call::<Complete>(&shop, &body), Call::allow);
    lifted.await.unwrap();
    assert_eq!(shop.heard(), [SENT], "there is nothing to read it for");
}

#[tokio::test]
async fn a_disclosure_is_acknowledged_as_it_was_shown() {
    let message =
        |text: &str| json!({"type": "warning", "content": text, "presentation": "disclosure"});
    let shown =
        checkout(json!({"messages": [message("nuts"), {"type": "warning", "content": "late"}]}));
    let handoff = View::from_value(&shown)
        .unwrap()
        .decide(&Host::default().renders_disclosures());
    let disclosures = &handoff.context().disclosures;
    assert_eq!(disclosures.len(), 1);
    let body = paying("pay_2", "anything");
    let shop = Scripted::open(RELEASE, [answer(shown.clone())]).await;
    call::<Complete>(&shop, &body)
        .acknowledge(disclosures)
        .await
        .unwrap();
    assert_eq!(shop.heard(), [READ, SENT]);
    // A disclosure that has changed since, or came since, was not shown.
    for now in [
        json!([message("milk")]),
        json!([message("nuts"), message("milk")]),
    ] {
        let changed = checkout(json!({"messages": now}));
        let error = call::<Complete>(&shop, &body)
            .from(&changed)
            .acknowledge(disclosures)
            .await
            .unwrap_err();
        let [Refusal::Disclosures { messages }] = &refusals(error)[..] else {
            panic!()
        };
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].text.as_deref(), Some("milk"));
    }
}

#[tokio::test]
async fn absence_restricts_nothing() {
    let shop = Scripted::open(RELEASE, [answer(checkout(json!({})))]).await;
    // A handler without a list, an instrument that is not selected, no instrument at all.
    for body in [
        paying("pay_2", "wallet"),
        json!({"payment": {"instruments": [
            {"id": "a", "handler_id": "pay_1", "type": "card", "selected": true},
            {"id": "b", "handler_id": "pay_9", "type": "coin", "selected": false},
        ]}}),
        json!({"payment": {"instruments": []}}),
        json!({}),
    ] {
        call::<Complete>(&shop, &body).await.unwrap();
    }
    // No expiry, and one that cannot be read.
    for expiry in [json!(null), json!("soon"), json!(5)] {
        call::<Complete>(&shop, &json!({}))
            .from(&checkout(json!({"expires_at": expiry})))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn another_checkout_is_no_basis() {
    let other = checkout(json!({"id": "co_2"}));
    let shop = Scripted::open(RELEASE, [answer(other.clone())]).await;
    let given = call::<Complete>(&shop, &json!({})).from(&other).await;
    let reasons = refusals(given.unwrap_err());
    assert_eq!(
        reasons,
        [Refusal::OtherCheckout {
            judged: "co_2".to_owned()
        }]
    );
    assert_eq!(reasons[0].guard(), None);
    assert_eq!(shop.heard(), [""; 0]);
    // One that is read instead of the one asked for is no answer at all.
    let read = call::<Complete>(&shop, &json!({})).await.unwrap_err();
    assert!(read.to_string().contains("could not be read"), "{read}");
    assert_eq!(shop.heard(), [READ]);
}

#[tokio::test]
async fn a_checkout_that_cannot_be_read_is_not_completed() {
    let envelope = json!({"ucp": {"version": RELEASE, "status": "error"},
        "messages": [{"type": "error", "code": "not_found", "content": "gone", "severity": "unrecoverable"}]});
    for (first, source) in [
        (failure(503, &[], json!({})), "answered 503"),
        (failure(404, &[], json!({"detail": "gone"})), "answered 404"),
        (answer(envelope), "was declined: not_found: gone"),
    ] {
        let shop = Scripted::open(RELEASE, [first]).await;
        let error = call::<Complete>(&shop, &json!({})).await.unwrap_err();
        assert_eq!(shop.heard(), [READ]);
        let Error::NotSent(inner) = &error else {
            panic!("{error:?}")
        };
        assert!(matches!(inner.problem, RequestError::Unread { .. }));
        let cause = std::error::Error::source(inner).unwrap().to_string();
        assert!(cause.contains(source), "{cause}");
    }
}

#[tokio::test]
async fn a_wrong_input_is_found_before_anything_is_read() {
    let shop = Scripted::open("2026-01-11", [answer(json!({}))]).await;
    let error = call::<Complete>(&shop, &json!({})).await.unwrap_err();
    assert!(error.to_string().contains("it is of release"), "{error}");
    assert_eq!(shop.heard(), [""; 0]);
}

#[tokio::test]
async fn january_adds_up_in_its_own_way() {
    let old = |handlers: Value, discount: i64| {
        json!({"ucp": {"version": "2026-01-11", "capabilities": []}, "id": "co_1",
            "status": "ready_for_complete", "payment": {"handlers": handlers},
            "totals": [{"type": "subtotal", "amount": 7000}, {"type": "discount", "amount": discount},
                {"type": "total", "amount": 6300}]})
    };
    let handlers = json!([{"id": "pay_1", "name": "com.example.pay"}]);
    let body = json!({"payment_data": {"id": "i", "handler_id": "pay_1", "type": "card"}, "risk_signals": {}});
    let shop = Scripted::open("2026-01-11", [answer(old(handlers.clone(), 700))]).await;
    call::<OldComplete>(&shop, &body).await.unwrap();
    assert_eq!(shop.heard(), [READ, SENT]);
    for (checkout, guard) in [
        (old(handlers, -700), Guard::Totals),
        (old(json!([]), 700), Guard::Instrument),
    ] {
        let error = call::<OldComplete>(&shop, &body)
            .from(&checkout)
            .await
            .unwrap_err();
        let reasons = refusals(error);
        assert_eq!(reasons.len(), 1);
        assert_eq!(reasons[0].guard(), Some(guard));
    }
}
