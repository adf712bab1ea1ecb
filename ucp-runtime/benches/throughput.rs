//! Calls on loopback, 64 at a time, with bodies of 2 KiB both ways: ours, typed, against bare `reqwest`
//! that sends the same bytes and headers and reads the answer as a `Value`; and what signing adds,
//! against the raw work of a signature. All take turns, and medians are compared. The client has one
//! thread, whose CPU is counted, and the server another. Held to the bars when this runs as a benchmark.

#![allow(missing_docs, clippy::unwrap_used)]

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use bytes::Bytes;
use p256::ecdsa::signature::Signer as _;
use sha2::{Digest as _, Sha256};
use std::hint::black_box;
use std::time::{Duration, Instant};
use ucp_runtime::serde_json::{Value, from_slice, json};
use ucp_runtime::signatures::{Algorithm, SigningKey};
use ucp_runtime::{Agent, Merchant, Prepared, ReqwestTransport, reqwest};

ucp_runtime::include_ucp! {
    release: "2026-04-08",
    operations: [create_checkout],
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

/// The CPU that this thread has used.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = text.split_whitespace().next().unwrap_or_default();
    Duration::from_nanos(spent.parse().unwrap_or_default())
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

/// A shop that answers everything with one checkout of 2 KiB, on a thread of its own.
fn serve() -> String {
    let line = |index: u32| {
        json!({
            "id": format!("li_{index}"), "quantity": 1,
            "item": {"id": format!("sku_{index}"), "title": "Ceramic teapot", "price": 2500,
                "image_url": "https://shop.example/images/teapot.jpg"},
            "totals": [{"type": "subtotal", "amount": 2500}, {"type": "total", "amount": 2500}],
        })
    };
    let checkout = json!({
        "ucp": {"version": RELEASE.version(), "payment_handlers": {}},
        "id": "chk_1", "status": "incomplete", "currency": "USD",
        "line_items": (0..8).map(line).collect::<Vec<_>>(),
        "totals": [{"type": "subtotal", "amount": 20000}, {"type": "total", "amount": 20000}],
        "links": [{"type": "terms_of_service", "url": "https://shop.example/terms"}],
    });
    let checkout = Bytes::from(checkout.to_string());
    assert!(
        (1_900..2_200).contains(&checkout.len()),
        "{}",
        checkout.len()
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let answer = move || std::future::ready(([(CONTENT_TYPE, "application/json")], checkout));
        let router = Router::new().route("/checkout-sessions", post(answer));
        runtime().block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    });
    origin
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap()
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

/// A request of 2 KiB.
fn wanted() -> CreateCheckout {
    let lines = (0..50).map(|index| CreateLineItem::new(format!("sku_{index:04}").as_str(), 1));
    CreateCheckout::new(lines)
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
            assert_eq!(black_box(checkout).line_items.len(), 8);
        }
    })
    .await;
}

/// Bare `reqwest`, with the bytes and headers of a call that was prepared.
async fn bare(calls: usize, client: &reqwest::Client, prepared: &Prepared<operations::CreateCheckout>) {
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
            assert_eq!(black_box(value)["id"], "chk_1");
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

    let origin = serve();
    let runtime = runtime();
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
    assert!((1_900..2_200).contains(&body.len()), "{}", body.len());
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
