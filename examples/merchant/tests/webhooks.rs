//! Order events: when they come, what they carry, and how they are repeated.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{Stage, totals};
use merchant::Operation::GetOrder;
use merchant::webhooks::ATTEMPTS;
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn placing_and_shipping_an_order_are_told() {
    let stage = Stage::set().await;
    let id = stage.ready().await;
    let completed = stage.complete(&id).await;
    let order_id = completed.str("/order/id");

    let placed = stage.webhook().await;
    let order = stage.call(GetOrder, order_id, json!(null)).await;
    assert_eq!(placed.body, order.bytes);
    assert_eq!(placed.json()["checkout_id"], *id);
    let expected = [
        ("subtotal", 2998),
        ("fulfillment", 500),
        ("tax", 300),
        ("total", 3798),
    ];
    assert_eq!(totals(&placed.json()["totals"]), expected);
    assert_eq!(placed.header("content-type"), "application/json");
    assert_eq!(placed.header("webhook-timestamp"), "1775649600");
    assert!(Uuid::try_parse(placed.header("webhook-id")).is_ok());
    let agent = format!("profile=\"{}/.well-known/ucp\"", stage.merchant.origin());
    assert_eq!(placed.header("ucp-agent"), agent);

    stage.pass(3600);
    assert!(stage.merchant.ship(order_id));
    let shipped = stage.webhook().await;
    assert_ne!(shipped.header("webhook-id"), placed.header("webhook-id"));
    assert_eq!(shipped.header("webhook-timestamp"), "1775653200");
    let order = shipped.json();
    assert_eq!(order["line_items"][0]["status"], "fulfilled");
    assert_eq!(order["line_items"][0]["quantity"]["fulfilled"], 2);
    let event = &order["fulfillment"]["events"][0];
    assert_eq!(event["type"], "shipped");
    assert_eq!(event["occurred_at"], "2026-04-08T13:00:00Z");
    assert_eq!(
        event["line_items"],
        json!([{ "id": "li_1", "quantity": 2 }])
    );
    assert!(!stage.merchant.ship("ord_nowhere"));
}

#[tokio::test]
async fn a_repeated_event_is_the_same_event() {
    let stage = Stage::set().await;
    stage.answer_webhooks(&[500, 503]);
    let id = stage.ready().await;
    stage.complete(&id).await;
    let first = stage.webhook().await;
    for _ in 0..2 {
        let repeated = stage.webhook().await;
        assert_eq!(repeated.body, first.body);
        for name in ["webhook-id", "webhook-timestamp", "ucp-agent"] {
            assert_eq!(repeated.header(name), first.header(name));
        }
    }
}

#[tokio::test]
async fn repetition_has_an_end() {
    let stage = Stage::set().await;
    stage.answer_webhooks(&[500; ATTEMPTS]);
    let id = stage.ready().await;
    let completed = stage.complete(&id).await;
    let lost = stage.webhook().await;
    for _ in 1..ATTEMPTS {
        let repeated = stage.webhook().await;
        assert_eq!(repeated.header("webhook-id"), lost.header("webhook-id"));
    }
    // Events follow each other, so the next to arrive is the next event.
    stage.merchant.ship(completed.str("/order/id"));
    let shipped = stage.webhook().await;
    assert_ne!(shipped.header("webhook-id"), lost.header("webhook-id"));
    let deliveries = stage.merchant.deliveries();
    assert_eq!(deliveries[0].attempts, [500; ATTEMPTS]);
    assert_eq!(deliveries[0].id.to_string(), lost.header("webhook-id"));
    assert_eq!(deliveries[0].body, lost.body);
}
