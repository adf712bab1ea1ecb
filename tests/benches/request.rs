//! The runtime: building one unsigned request with a body of 2 KiB, from typed value to the bytes
//! and headers that would be sent.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use ucp_runtime::{Agent, Merchant};
use ucp_tests::golden::shopping_2026_04_08::{
    Client, CreateCheckout, CreateLineItem, ItemInput, RELEASE,
};

/// A checkout whose JSON is about 2 KiB.
fn checkout() -> CreateCheckout {
    CreateCheckout::new((0..35).map(|index| {
        CreateLineItem::new(
            ItemInput::new(format!("sku_with_a_longer_name_{index:04}")),
            2,
        )
    }))
}

fn request(criterion: &mut Criterion) {
    let agent = Agent::builder("https://agent.example/.well-known/ucp")
        .unwrap()
        .id_secret([7; 32])
        .build()
        .unwrap();
    let merchant = Merchant::at(
        &agent,
        "https://shop.example",
        "https://shop.example/ucp/v1",
        RELEASE.version(),
    )
    .unwrap();
    let shop = Client::new(&merchant);
    let body = checkout();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let build = |id: u64| {
        let call = shop
            .create_checkout(&body)
            .call_id(("conversation-1", id.to_string()));
        runtime.block_on(call.prepare()).unwrap()
    };

    let prepared = build(1);
    let bytes = prepared.body().unwrap();
    assert!((2000..2200).contains(&bytes.len()), "{} bytes", bytes.len());
    assert_eq!(
        prepared.url().as_str(),
        "https://shop.example/ucp/v1/checkout-sessions"
    );
    assert_eq!(prepared.headers().len(), 7);
    assert_eq!(build(1).idempotency_key(), prepared.idempotency_key());

    let mut group = criterion.benchmark_group("request of 2 KiB");
    let mut id = 0;
    group.bench_function("serialise, ids and headers", |bench| {
        bench.iter(|| {
            id += 1;
            black_box(build(id))
        });
    });
    // What the body alone costs, to hold the rest against.
    group.bench_function("serialise only", |bench| {
        bench.iter(|| serde_json::to_vec(black_box(&body)).unwrap())
    });
    group.finish();
}

criterion_group!(benches, request);
criterion_main!(benches);
