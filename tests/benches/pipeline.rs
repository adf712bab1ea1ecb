//! The generator: release 2026-04-08 from our YAML, with its four official extensions, as a whole
//! and stage by stage.

#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::Path;
use ucp_codegen::{Contract, Options, expand, stages};

fn options() -> Options {
    let mut options = Options::new(Contract::Release("2026-04-08".to_owned()));
    options.extensions = ["discount", "fulfillment", "buyer_consent", "ap2_mandate"]
        .map(str::to_owned)
        .to_vec();
    options
}

fn pipeline(criterion: &mut Criterion) {
    let options = options();
    let base = Path::new("");
    let loaded = || stages::load(&options, base).unwrap();
    let chosen = || {
        let mut loaded = loaded();
        let chosen = stages::contract(&mut loaded, &options).unwrap();
        (loaded, chosen)
    };
    let typed = || {
        let (mut loaded, chosen) = chosen();
        let typed = stages::schema(&mut loaded, chosen, &options).unwrap();
        (loaded, typed)
    };
    let model = || {
        let (loaded, typed) = typed();
        stages::model(&loaded, &typed)
    };

    // What is measured is what the golden source was written from.
    let text = stages::format(expand(&options, base).unwrap().tokens).unwrap();
    assert!(text.contains("pub struct CreateCheckout {"));
    assert_eq!(text.matches("pub fn complete_checkout(").count(), 1);

    let mut group = criterion.benchmark_group("pipeline 2026-04-08");
    group.sample_size(20);
    group.bench_function("tokens", |bench| {
        bench.iter(|| expand(black_box(&options), base).unwrap())
    });
    group.bench_function("text", |bench| {
        bench.iter(|| stages::format(expand(black_box(&options), base).unwrap().tokens).unwrap());
    });
    group.bench_function("stage source", |bench| bench.iter(loaded));
    group.bench_function("stage contract", |bench| {
        bench.iter_batched_ref(
            loaded,
            |loaded| stages::contract(loaded, &options).unwrap(),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("stage schema", |bench| {
        bench.iter_batched(
            chosen,
            |(mut loaded, chosen)| {
                let typed = stages::schema(&mut loaded, chosen, &options).unwrap();
                (loaded, typed)
            },
            BatchSize::SmallInput,
        );
    });
    group.bench_function("stage model", |bench| {
        let (loaded, typed) = typed();
        bench.iter(|| stages::model(&loaded, &typed));
    });
    group.bench_function("stage render", |bench| {
        let model = model();
        bench.iter(|| stages::render(&model));
    });
    group.bench_function("stage format", |bench| {
        let tokens = stages::render(&model());
        bench.iter_batched(
            || tokens.clone(),
            |tokens| stages::format(tokens).unwrap(),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, pipeline);
criterion_main!(benches);
