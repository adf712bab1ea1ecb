//! Finding a merchant: negotiating with a large profile, and connecting to one that is known.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use ucp_runtime::negotiation::negotiate;
use ucp_runtime::serde_json::{Map, Value, json};
use ucp_runtime::{Agent, Profile, Release};

const VERSION: &str = "2026-04-08";

fn name(chain: usize, link: usize) -> String {
    format!("com.acme.family_{chain}.capability_{link}")
}

/// 200 capabilities in ten chains, each link of which extends the one before.
fn document() -> Value {
    let capabilities = (0..10).flat_map(|chain| {
        (0..20).map(move |link| {
            let mut entry = json!({
                "version": VERSION,
                "schema": format!("https://acme.com/{chain}/{link}.json"),
            });
            if link > 0 {
                entry["extends"] = json!([name(chain, link - 1)]);
            }
            (name(chain, link), json!([entry]))
        })
    });
    json!({"ucp": {
        "version": VERSION,
        "services": {"dev.ucp.shopping": [
            {"version": VERSION, "transport": "rest", "endpoint": "https://shop.example/ucp"},
        ]},
        "capabilities": capabilities.collect::<Map<_, _>>(),
        "payment_handlers": {},
    }})
}

/// Speaks all of it, or all but the roots of the chains, so that each falls link by link.
fn release(roots: bool) -> Release {
    let release = Release::new(VERSION, "dev.ucp.shopping");
    (0..200)
        .map(|index| (index / 20, index % 20))
        .filter(|(_, link)| roots || *link > 0)
        .fold(release, |release, (chain, link)| {
            release.capability(name(chain, link), VERSION)
        })
}

fn negotiation(criterion: &mut Criterion) {
    let profile = Profile::read(document()).unwrap();
    let (kept, pruned) = (release(true), release(false));
    assert_eq!(
        negotiate(&profile, &kept).unwrap().capabilities().len(),
        200
    );
    assert_eq!(
        negotiate(&profile, &pruned).unwrap().capabilities().len(),
        0
    );
    let mut group = criterion.benchmark_group("200 capabilities, 20 deep");
    group.bench_function("all are kept", |bench| {
        bench.iter(|| negotiate(black_box(&profile), &kept).unwrap())
    });
    group.bench_function("all are pruned", |bench| {
        bench.iter(|| negotiate(black_box(&profile), &pruned).unwrap())
    });
    // What reading the profile costs, to hold the rest against.
    group.bench_function("reading the profile", |bench| {
        let document = document();
        bench.iter_batched(
            || document.clone(),
            |document| Profile::read(document).unwrap(),
            criterion::BatchSize::SmallInput,
        )
    });
    group.finish();
}

fn connecting(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let origin = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let profile = document();
        let app = axum::Router::new().fallback(move || {
            let profile = profile.clone();
            async move { axum::Json(profile) }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        origin
    });
    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    let agent = agent.development().release(release(true)).build().unwrap();
    runtime.block_on(agent.connect(&origin)).unwrap();
    let mut group = criterion.benchmark_group("connect");
    group.bench_function("to a known merchant", |bench| {
        bench.iter(|| runtime.block_on(agent.connect(black_box(&origin))).unwrap())
    });
    // What entering the runtime alone costs.
    group.bench_function("nowhere", |bench| {
        bench.iter(|| runtime.block_on(async { black_box(&origin).len() }))
    });
    group.finish();
}

criterion_group!(benches, negotiation, connecting);
criterion_main!(benches);
