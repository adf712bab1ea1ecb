//! The decision: from a typed checkout, and from raw bytes beside reading them as a `Value`. Bars: 2 µs,
//! and 1.15 times.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use ucp_runtime::handoff::{Handoff, Resolve, View};
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::{Host, wire};

ucp_runtime::include_ucp! {
    release: "2026-04-08",
    operations: [checkout],
}

/// A checkout of the usual size: three lines, two handlers, an address, messages, an embedded binding.
fn checkout() -> Value {
    let totals = json!([{"type": "subtotal", "display_text": "Subtotal", "amount": 2500},
        {"type": "total", "display_text": "Total", "amount": 2500}]);
    let lines: Vec<Value> = (0..3)
        .map(|index| {
            json!({"id": format!("li_{index}"), "quantity": 1, "totals": totals,
                "item": {"id": format!("sku_{index}"), "title": "Ceramic teapot", "price": 2500,
                    "image_url": "https://shop.example/images/teapot.jpg"}})
        })
        .collect();
    let capability = |name: &str| {
        json!([{"version": "2026-04-08",
            "schema": format!("https://ucp.dev/2026-04-08/schemas/shopping/{name}.json")}])
    };
    let handler = |id: &str| {
        json!([{"id": id, "version": "2026-04-08",
            "available_instruments": [{"type": "card", "constraints": {"brands": ["visa"]}}],
            "config": {"merchant": "m_1", "gateway": "https://pay.example/v1"}}])
    };
    json!({
        "ucp": {"version": "2026-04-08",
            "capabilities": {"dev.ucp.shopping.checkout": capability("checkout"),
                "dev.ucp.shopping.fulfillment": capability("fulfillment"),
                "dev.ucp.shopping.discount": capability("discount")},
            "payment_handlers": {"com.example.pay": handler("pay_1"), "com.example.gift": handler("gift_1")},
            "services": {"dev.ucp.shopping": [{"version": "2026-04-08", "transport": "embedded",
                "config": {"delegate": ["payment.credential"]}}]}},
        "id": "chk_1b830cfbb5e6", "status": "requires_escalation", "currency": "USD",
        "line_items": lines, "totals": totals,
        "buyer": {"email": "buyer@example.com", "first_name": "Ada", "last_name": "L"},
        "messages": [
            {"type": "error", "code": "missing", "content": "A phone number is needed",
                "severity": "recoverable", "path": "$.buyer.phone_number"},
            {"type": "error", "code": "identity", "content": "The buyer must sign in",
                "severity": "requires_buyer_input"},
            {"type": "warning", "code": "delay", "content": "It takes a week"}],
        "links": [{"type": "terms_of_service", "url": "https://shop.example/terms"}],
        "expires_at": "2026-12-08T10:00:00Z",
        "continue_url": "https://shop.example/checkout/chk_1b830cfbb5e6?lang=en",
    })
}

fn handoff(criterion: &mut Criterion) {
    let value = checkout();
    let bytes = value.to_string().into_bytes();
    let (typed, notes) = wire::read_body::<Checkout>(value).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    let redirects = Host::default();
    let embeds = Host::default().delegates(["payment.credential"]);
    assert!(matches!(
        typed.handoff(&redirects),
        Ok(Handoff::ContinueUrl { .. })
    ));
    assert!(matches!(
        typed.handoff(&embeds),
        Ok(Handoff::Embedded { .. })
    ));
    let raw = |host: &Host| View::from_bytes(&bytes).map(|view| view.decide(host));
    assert_eq!(raw(&embeds), typed.handoff(&embeds));

    let mut group = criterion.benchmark_group(format!("handoff of {} bytes", bytes.len()));
    group.bench_function("typed, redirect", |bench| {
        bench.iter(|| black_box(&typed).handoff(black_box(&redirects)));
    });
    group.bench_function("typed, embedded", |bench| {
        bench.iter(|| black_box(&typed).handoff(black_box(&embeds)));
    });
    group.bench_function("raw, redirect", |bench| {
        bench.iter(|| black_box(raw(black_box(&redirects))));
    });
    group.bench_function("raw, embedded", |bench| {
        bench.iter(|| black_box(raw(black_box(&embeds))));
    });
    group.bench_function("Value of the same bytes", |bench| {
        bench.iter(|| serde_json::from_slice::<Value>(black_box(&bytes)).unwrap());
    });
    group.finish();
}

criterion_group!(benches, handoff);
criterion_main!(benches);
