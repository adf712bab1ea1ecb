//! The runtime: whole calls over loopback with bodies of 2 KiB, 64 at a time, beside bare `reqwest` that
//! sends the same bytes and headers and parses the answer to `Value`; and what 10,000 calls in a row
//! leave in memory. Run by `cargo bench`; otherwise only once around.

#![allow(missing_docs, clippy::unwrap_used)]

use bytes::Bytes;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use ucp_runtime::http::{HeaderMap, header};
use ucp_runtime::reqwest;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{Agent, Merchant, ReqwestTransport};
use ucp_tests::golden::shopping_2026_04_08::{
    Client, CreateCheckout, CreateLineItem, ItemInput, RELEASE,
};

const CONCURRENT: usize = 64;

/// A checkout whose JSON is about 2 KiB.
fn wanted() -> CreateCheckout {
    CreateCheckout::new((0..35).map(|index| {
        CreateLineItem::new(
            ItemInput::new(format!("sku_with_a_longer_name_{index:04}")),
            2,
        )
    }))
}

/// An answer of about 2 KiB.
fn answer() -> Bytes {
    let totals = json!([{"type": "subtotal", "amount": 2998}, {"type": "total", "amount": 2998}]);
    let lines: Vec<Value> = (0..10)
        .map(|index| {
            json!({"id": format!("li_{index}"), "quantity": 2, "totals": totals,
                "item": {"id": format!("sku_with_a_longer_name_{index:04}"), "title": "Mug", "price": 1499}})
        })
        .collect();
    let body = json!({
        "ucp": {"version": RELEASE.version(), "status": "success", "payment_handlers": {}},
        "id": "chk_1", "status": "incomplete", "currency": "USD", "line_items": lines, "totals": totals,
        "links": [{"type": "privacy_policy", "url": "https://shop.example/privacy"}],
        "expires_at": "2026-04-08T16:00:00Z", "continue_url": "https://shop.example/checkout/chk_1",
    });
    body.to_string().into()
}

/// A merchant that always answers the same; its endpoint.
async fn merchant() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let body = answer();
    let router = axum::Router::new().fallback(move |_: Bytes| {
        let body = body.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], body) }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    endpoint
}

/// Makes calls, so many at a time, and says how many a second.
async fn rate<F: Future<Output = ()> + Send + 'static>(
    calls: usize,
    call: impl Fn(usize) -> F + Clone + Send + Sync + 'static,
) -> f64 {
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for task in 0..CONCURRENT {
        let call = call.clone();
        tasks.spawn(async move {
            for number in (task..calls).step_by(CONCURRENT) {
                call(number).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    calls as f64 / began.elapsed().as_secs_f64()
}

/// Resident memory in KiB.
fn resident() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[tokio::main]
async fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (rounds, calls) = if full { (15, 6_000) } else { (1, 128) };
    let endpoint = merchant().await;
    let agent = Agent::builder("https://agent.example/.well-known/ucp")
        .unwrap()
        .development()
        .id_secret([7; 32])
        .build()
        .unwrap();
    let merchant = Merchant::at(&agent, &endpoint, &endpoint, RELEASE.version()).unwrap();
    let shop = Client::new(&merchant);
    let wanted = wanted();
    let prepared = shop.create_checkout(&wanted).call_id("0").prepare();
    let prepared = prepared.await.unwrap();
    let body = prepared.body().unwrap().clone();
    let headers: HeaderMap = prepared.headers().clone();
    let url = prepared.url().to_string();
    println!("{} bytes out, {} bytes back", body.len(), answer().len());

    let tls = ReqwestTransport::tls(ReqwestTransport::roots()).unwrap();
    let bare = reqwest::Client::builder()
        .no_proxy()
        .connect_timeout(Duration::from_secs(10))
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_preconfigured(tls)
        .build()
        .unwrap();
    let bare = move |_: usize| {
        let request = bare.post(&url).headers(headers.clone()).body(body.clone());
        async move {
            let bytes = request.send().await.unwrap().bytes().await.unwrap();
            let value: Value = ucp_runtime::serde_json::from_slice(&bytes).unwrap();
            assert_eq!(value["id"], "chk_1");
        }
    };
    let mut ratios = Vec::new();
    for round in 0..=rounds {
        let (shop, wanted) = (shop.clone(), wanted.clone());
        let ours = move |number: usize| {
            let call = shop.create_checkout(&wanted);
            let call = call.call_id((round.to_string(), number.to_string()));
            async move { assert_eq!(call.await.unwrap().success().unwrap().id, "chk_1") }
        };
        let (ours, bare) = match round % 2 {
            0 => (rate(calls, ours).await, rate(calls, bare.clone()).await),
            _ => {
                let bare = rate(calls, bare.clone()).await;
                (rate(calls, ours).await, bare)
            }
        };
        // The first round opens the connections.
        if round > 0 {
            println!("ours {ours:.0}/s, bare {bare:.0}/s, ratio {:.3}", ours / bare);
            ratios.push(ours / bare);
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.3} (bar: 0.90)", ratios[ratios.len() / 2]);

    let in_a_row = if full { 10_000 } else { 100 };
    for phase in ["warm-up", "measured"] {
        let before = resident();
        for number in 0..in_a_row {
            let call = shop.create_checkout(&wanted);
            let call = call.call_id((phase, number.to_string()));
            call.await.unwrap();
        }
        if let (Some(before), Some(after)) = (before, resident()) {
            let grown = after - before;
            println!("{in_a_row} calls in a row, {phase}: {grown} KiB more (bar: 2048)");
        }
    }
}
