//! Tools for a model: listing them, and holding the arguments of a 2 KiB call against one.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{Agent, Merchant};

ucp_runtime::include_ucp! {
    release: "2026-04-08",
    extensions: [discount, fulfillment, buyer_consent],
    tools: true,
}

/// What a model would write for a checkout of many lines, about 2 KiB of JSON.
fn arguments() -> Value {
    let lines: Vec<Value> = (0..28)
        .map(|index| json!({"item": {"id": format!("sku_with_a_longer_name_{index:04}")}, "quantity": 2}))
        .collect();
    json!({ "body": {
        "line_items": lines,
        "buyer": {"first_name": "Ada", "email": "ada@example.com", "consent": {"marketing": false}},
        "context": {"address_country": "US", "currency": "USD", "eligibility": ["com.example.gold"]},
        "discounts": {"codes": ["SUMMER10"]},
        "fulfillment": {"methods": [{
            "type": "shipping",
            "destinations": [{"id": "home", "street_address": "1 Main Street", "address_country": "US"}],
            "selected_destination_id": "home",
        }]},
    } })
}

fn tools(criterion: &mut Criterion) {
    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    let agent = agent.build().unwrap();
    let endpoint = "https://shop.example/ucp/v1";
    let merchant = Merchant::at(&agent, "https://shop.example", endpoint, RELEASE.version());
    let shop = Client::new(&merchant.unwrap());
    let tools = shop.tools().build().unwrap();

    let arguments = arguments();
    let size = arguments.to_string().len();
    assert!((2000..2300).contains(&size), "{size} bytes");
    let once = || {
        let listed = tools.definitions().len();
        (listed, tools.check("create_checkout", arguments.clone()))
    };
    assert_eq!(once(), (12, Ok(Vec::new())));

    let mut group = criterion.benchmark_group("tools");
    group.bench_function("list, and validate a call of 2 KiB", |bench| {
        bench.iter_batched(
            || arguments.clone(),
            |arguments| {
                black_box(tools.definitions());
                tools.check("create_checkout", arguments)
            },
            BatchSize::SmallInput,
        );
    });
    group.bench_function("make them of a client", |bench| {
        bench.iter(|| shop.tools().build().unwrap());
    });
    group.finish();
}

criterion_group!(benches, tools);
criterion_main!(benches);
