//! Calls on loopback, 64 at a time, with bodies of 2 KiB both ways: ours, typed, against bare `reqwest`
//! that sends the same bytes and headers and reads the answer as a `Value`; and what signing adds,
//! against the raw work of a signature. All take turns, and medians are compared. Client and server share
//! the runtime that `tokio` makes by default, and the CPU is that of both. Held to the bars when this runs
//! as a benchmark.

#![allow(missing_docs, clippy::unwrap_used)]

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use bytes::Bytes;
use p256::ecdsa::signature::Signer as _;
use sha2::{Digest as _, Sha256};
use std::hint::black_box;
use std::time::{Duration, Instant};
use ucp_runtime::serde_json::{Value, from_slice, from_value, json};
use ucp_runtime::signatures::{Algorithm, SigningKey};
use ucp_runtime::{Agent, Merchant, Prepared, ReqwestTransport, reqwest};

ucp_runtime::include_ucp! {
    release: "2026-04-08",
    operations: [create_checkout],
    extensions: [fulfillment],
}

const SCALAR: [u8; 32] = [7; 32];
const CONCURRENT: usize = 64;
/// Of the requests per second of bare `reqwest`, at least.
const SPEED_BAR: f64 = 0.90;
/// Of the CPU of a signature, at most.
const SIGNING_BAR: f64 = 1.25;

/// What a piece of work took, a call.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    cpu: Duration,
}

/// The CPU that this process has used.
fn cpu() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let spent = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(spent.sum())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn cost(calls: usize, work: impl FnOnce()) -> Cost {
    let (began, used) = (Instant::now(), cpu());
    work();
    let calls = u32::try_from(calls).unwrap();
    Cost {
        wall: began.elapsed() / calls,
        cpu: (cpu() - used) / calls,
    }
}

/// An answer of 2 KiB.
fn checkout() -> Value {
    let totals = json!([{"type": "subtotal", "display_text": "Subtotal", "amount": 5000},
        {"type": "total", "display_text": "Total", "amount": 5000}]);
    let line = |index: u32| {
        json!({"id": format!("li_{index}"), "quantity": 1, "totals": totals,
            "item": {"id": format!("sku_{index}"), "title": "Ceramic teapot", "price": 2500,
                "image_url": "https://shop.example/images/teapot.jpg"}})
    };
    let capability = |name: &str| {
        json!([{"version": RELEASE.version(),
            "schema": format!("https://ucp.dev/2026-04-08/schemas/shopping/{name}.json")}])
    };
    json!({
        "ucp": {"version": RELEASE.version(),
            "capabilities": {"dev.ucp.shopping.checkout": capability("checkout"),
                "dev.ucp.shopping.fulfillment": capability("fulfillment")},
            "payment_handlers": {"com.example.pay": [{"id": "pay_1", "version": RELEASE.version(),
                "available_instruments": [{"type": "card", "constraints": {"brands": ["visa"]}}],
                "config": {"merchant": "m_1", "gateway": "https://pay.example/v1"}}]}},
        "id": "chk_1b830cfbb5e6", "status": "incomplete", "currency": "USD",
        "line_items": [line(1), line(2), line(3)], "totals": totals,
        "buyer": {"email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace"},
        "messages": [{"type": "error", "code": "missing", "content": "A phone number is needed",
            "severity": "recoverable", "path": "$.buyer.phone_number"}],
        "links": [{"type": "terms_of_service", "url": "https://shop.example/terms"},
            {"type": "privacy_policy", "url": "https://shop.example/privacy"}],
        "expires_at": "2026-12-08T10:00:00Z",
        "continue_url": "https://shop.example/checkout/chk_1b830cfbb5e6?lang=en",
    })
}

/// A request of 2 KiB.
fn wanted() -> CreateCheckout {
    let lines: Vec<Value> = (0..18)
        .map(|index| json!({"item": {"id": format!("sku_{index}")}, "quantity": 1}))
        .collect();
    let body = json!({
        "line_items": lines,
        "buyer": {"email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace",
            "phone_number": "+14155550123"},
        "context": {"address_country": "US", "address_region": "CA", "postal_code": "94105",
            "intent": "A teapot of a litre or more, to be given away in December; not of glass. \
                It should come with a strainer, and fit a shelf that is 20 cm high."},
        "signals": {"dev.ucp.buyer_ip": "203.0.113.7",
            "dev.ucp.user_agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"},
        "attribution": {"source": "assistant", "campaign": "spring teapots"},
        "payment": {"instruments": [{"id": "instrument_1", "handler_id": "pay_1", "type": "card",
            "selected": true, "display": {"brand": "visa", "last_digits": "4242"},
            "billing_address": {"street_address": "1 Main Street",
                "address_locality": "San Francisco", "address_region": "CA",
                "postal_code": "94105", "address_country": "US", "first_name": "Ada",
                "last_name": "Lovelace"}}]},
        "fulfillment": {"methods": [{"type": "shipping",
            "destinations": [{"id": "home", "street_address": "1 Main Street",
                "address_locality": "San Francisco", "address_region": "CA",
                "postal_code": "94105", "address_country": "US", "first_name": "Ada",
                "last_name": "Lovelace", "phone_number": "+14155550123"}],
            "selected_destination_id": "home",
            "groups": [{"selected_option_id": "standard"}]}]},
    });
    from_value(body).unwrap()
}

fn assert_size(what: &[u8]) {
    assert!((1_900..2_200).contains(&what.len()), "{} bytes", what.len());
}

/// A shop that answers everything with one checkout. Gives its origin.
async fn serve() -> String {
    let checkout = Bytes::from(checkout().to_string());
    assert_size(&checkout);
    let answer = move || std::future::ready(([(CONTENT_TYPE, "application/json")], checkout));
    let router = Router::new().route("/checkout-sessions", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    origin
}

/// A client, signing or not.
fn client(origin: &str, key: Option<SigningKey>) -> Client {
    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    let mut agent = agent.development().id_secret([7; 32]);
    if let Some(key) = key {
        agent = agent.signing_key(key);
    }
    let agent = agent.build().unwrap();
    let merchant = Merchant::at(&agent, origin, origin, RELEASE.version());
    Client::new(&merchant.unwrap())
}

/// As many at a time as the bar says, each one call after the other.
async fn concurrently<F>(calls: usize, call: impl Fn(String) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let tasks: Vec<_> = (0..CONCURRENT)
        .map(|task| {
            let calls: Vec<F> = (0..calls / CONCURRENT)
                .map(|number| call(format!("{task}/{number}")))
                .collect();
            tokio::spawn(async move {
                for call in calls {
                    call.await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Ours, and whether each call has an id, and so a record in the journal.
async fn ours(
    calls: usize,
    shop: &Client,
    wanted: &'static CreateCheckout,
    recorded: Option<usize>,
) {
    concurrently(calls, |id| {
        let shop = shop.clone();
        async move {
            let mut call = shop.create_checkout(wanted);
            if let Some(round) = recorded {
                call = call.call_id((round.to_string(), id));
            }
            let checkout = call.await.unwrap().into_success().unwrap();
            assert_eq!(black_box(checkout).id, "chk_1b830cfbb5e6");
        }
    })
    .await;
}

/// Bare `reqwest`, with the bytes and headers of a call that was prepared.
async fn bare(
    calls: usize,
    client: &reqwest::Client,
    prepared: &Prepared<operations::CreateCheckout>,
) {
    let body = Bytes::copy_from_slice(prepared.body().unwrap());
    concurrently(calls, |_| {
        let client = client.clone();
        let request = client
            .request(prepared.method().clone(), prepared.url().clone())
            .headers(prepared.headers().clone())
            .body(body.clone());
        async move {
            let answer = request.send().await.unwrap().bytes().await.unwrap();
            let value: Value = from_slice(&answer).unwrap();
            assert_eq!(black_box(value).get("id").unwrap(), "chk_1b830cfbb5e6");
        }
    })
    .await;
}

fn median(costs: impl IntoIterator<Item = f64>) -> f64 {
    let mut costs: Vec<f64> = costs.into_iter().collect();
    costs.sort_by(f64::total_cmp);
    costs.get(costs.len() / 2).copied().unwrap()
}

fn main() {
    let measured = std::env::args().any(|argument| argument == "--bench");
    let (rounds, calls) = if measured {
        (31, 50 * CONCURRENT)
    } else {
        (1, CONCURRENT)
    };

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let origin = runtime.block_on(serve());
    let wanted: &'static CreateCheckout = Box::leak(Box::new(wanted()));
    let key = SigningKey::from_scalar(Algorithm::Es256, &SCALAR).unwrap();
    let signing = client(&origin, Some(key.with_id("agent-2026").unwrap()));
    let shop = client(&origin, None);
    let tls = ReqwestTransport::tls(ReqwestTransport::roots()).unwrap();
    let http = reqwest::Client::builder().no_proxy();
    let http = http.tls_backend_preconfigured(tls).build().unwrap();
    let prepared = runtime
        .block_on(shop.create_checkout(wanted).prepare())
        .unwrap();
    let signed = runtime
        .block_on(signing.create_checkout(wanted).prepare())
        .unwrap();
    let body = signed.body().unwrap();
    assert_size(body);
    let raw = p256::ecdsa::SigningKey::from_bytes(&SCALAR.into()).unwrap();
    let base = vec![b'x'; 700];

    let mut costs: [Vec<Cost>; 5] = Default::default();
    // The first round warms up.
    for round in 0..=rounds {
        let this = [
            cost(calls, || runtime.block_on(bare(calls, &http, &prepared))),
            cost(calls, || runtime.block_on(ours(calls, &shop, wanted, None))),
            cost(calls, || {
                runtime.block_on(ours(calls, &shop, wanted, Some(round)))
            }),
            cost(calls, || {
                runtime.block_on(ours(calls, &signing, wanted, None))
            }),
            cost(calls, || {
                for _ in 0..calls {
                    black_box(Sha256::digest(black_box(body)));
                    let signature: p256::ecdsa::Signature = raw.sign(black_box(&base));
                    black_box(signature);
                }
            }),
        ];
        if round > 0 {
            for (costs, this) in costs.iter_mut().zip(this) {
                costs.push(this);
            }
        }
    }
    let [bare, ours, recorded, signed, raw] = &costs;
    for (name, costs) in [
        ("bare reqwest", bare),
        ("ours", ours),
        ("ours, with a call id", recorded),
        ("ours, signed", signed),
        ("raw signature", raw),
    ] {
        let wall = median(costs.iter().map(|cost| cost.wall.as_secs_f64()));
        let cpu = median(costs.iter().map(|cost| cost.cpu.as_secs_f64()));
        println!(
            "{name:<22}{:>8.0} a second, CPU {:>6.1} µs a call",
            1.0 / wall,
            cpu * 1e6
        );
    }
    let speed = |ours: &[Cost]| {
        median(
            ours.iter()
                .zip(bare)
                .map(|(ours, bare)| bare.wall.as_secs_f64() / ours.wall.as_secs_f64()),
        )
    };
    let (plain, with_id) = (speed(ours), speed(recorded));
    let added = median(
        signed
            .iter()
            .zip(ours)
            .map(|(signed, ours)| signed.cpu.as_secs_f64() - ours.cpu.as_secs_f64()),
    );
    let signing = added / median(raw.iter().map(|raw| raw.cpu.as_secs_f64()));
    println!("speed: {plain:.3}, with a call id {with_id:.3} (bar {SPEED_BAR})");
    println!(
        "signing: {:.1} µs, {signing:.3} of raw (bar {SIGNING_BAR})",
        added * 1e6
    );
    assert!(
        !measured || plain.min(with_id) >= SPEED_BAR,
        "speed: {plain:.3}, {with_id:.3}"
    );
    assert!(!measured || signing <= SIGNING_BAR, "signing: {signing:.3}");
}
