//! What a process that keeps calling comes to: nothing is kept of a call that is over.

#![allow(clippy::unwrap_used)]

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, post};
use peak_alloc::PeakAlloc;
use tokio::net::TcpListener;
use ucp_runtime::serde_json::json;
use ucp_runtime::signatures::{Algorithm, SigningKey};
use ucp_runtime::{Agent, Merchant};
use ucp_tests::golden::shopping_2026_04_08 as april;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const CALLS: usize = 10_000;
const MOST: usize = 2 * 1024 * 1024;

/// A shop that keeps nothing, so that what grows is the client.
async fn shop() -> april::Client {
    let checkout = json!({
        "ucp": {"version": "2026-04-08", "capabilities": {}, "payment_handlers": {}},
        "id": "chk_1", "status": "incomplete", "currency": "USD", "line_items": [],
        "totals": [{"type": "subtotal", "amount": 2500}, {"type": "total", "amount": 2500}],
        "links": [{"type": "terms_of_service", "url": "https://shop.example/terms"}],
        "undeclared": "x".repeat(1_600),
    })
    .to_string();
    let answer = move || std::future::ready(([(CONTENT_TYPE, "application/json")], checkout));
    let router = Router::new()
        .route("/checkout-sessions", post(answer.clone()))
        .route("/checkout-sessions/{id}", get(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });

    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32]).unwrap();
    let agent = agent.id_secret([7; 32]).development().signing_key(key);
    let agent = agent.build().unwrap();
    let merchant = Merchant::at(&agent, &origin, &origin, april::RELEASE.version());
    april::Client::new(&merchant.unwrap())
}

/// Reads and writes in turn, each write under a call id of its own.
async fn call(shop: &april::Client, number: usize) {
    let answer = if number.is_multiple_of(2) {
        shop.get_checkout("chk_1").await.unwrap()
    } else {
        let create = april::CreateCheckout::new([]);
        shop.create_checkout(create)
            .call_id(("conversation", number.to_string()))
            .await
            .unwrap()
    };
    assert_eq!(answer.into_success().unwrap().id, "chk_1");
}

#[tokio::test]
async fn ten_thousand_calls_grow_the_process_by_less_than_two_mebibytes() {
    let shop = shop().await;
    for number in 0..1_000 {
        call(&shop, number).await;
    }
    let before = MEMORY.current_usage();
    for number in 0..CALLS {
        call(&shop, 1_000 + number).await;
    }
    let grown = MEMORY.current_usage().saturating_sub(before);
    println!("{CALLS} calls: grown by {grown} bytes");
    assert!(grown < MOST, "grown by {grown} bytes");
}
