//! Signing and verifying a request of 7 components with a body of 2 KiB, against the raw work of the
//! same arithmetic: one signature or its verification, and SHA-256 of base and body. Raw work and ours
//! alternate, so that what else the machine does weighs on both; the ratios are printed, and held to
//! their bars when this runs as a benchmark.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use criterion::{Criterion, criterion_group, criterion_main};
use sha2::{Digest as _, Sha256};
use std::hint::black_box;
use std::time::{Duration, Instant};
use ucp_runtime::http::Request;
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::profile::PublishedKeys;
use ucp_runtime::serde_json::json;
use ucp_runtime::signatures::{Algorithm, Signing, SigningKey, Verifier};

#[cfg(feature = "aws-lc-rs")]
use aws_lc_rs as fast;
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
use ring as fast;

const SCALAR: [u8; 32] = [7; 32];

/// How much more than the raw work ours may take.
const BAR: f64 = if cfg!(any(feature = "ring", feature = "aws-lc-rs")) {
    1.25
} else {
    1.10
};

/// How long building a base of 7 components may take.
const BASE_BAR: Duration = Duration::from_micros(3);

fn request() -> Request<Vec<u8>> {
    Request::post("https://shop.example/ucp/v1/checkout-sessions")
        .header(
            "ucp-agent",
            r#"profile="https://agent.example/.well-known/ucp""#,
        )
        .header("idempotency-key", "0b0f1c5e-6d0c-4a57-8b1e-1f2a3b4c5d6e")
        .header("content-type", "application/json")
        .body(vec![b'x'; 2048])
        .unwrap()
}

/// The arithmetic alone.
#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
mod raw {
    use super::SCALAR;
    use p256::ecdsa::signature::{Signer as _, Verifier as _};
    use p256::ecdsa::{Signature, SigningKey};

    pub(super) struct Key(SigningKey);

    impl Key {
        pub(super) fn new() -> Self {
            Self(SigningKey::from_bytes(&SCALAR.into()).unwrap())
        }

        pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
            let signature: Signature = self.0.sign(message);
            signature.to_bytes().to_vec()
        }

        pub(super) fn verify(&self, message: &[u8], signature: &[u8]) {
            let signature = Signature::from_slice(signature).unwrap();
            self.0.verifying_key().verify(message, &signature).unwrap();
        }
    }
}

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod raw {
    use super::{SCALAR, fast};
    use fast::rand::SystemRandom;
    use fast::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
        UnparsedPublicKey,
    };

    pub(super) struct Key(EcdsaKeyPair, SystemRandom);

    impl Key {
        pub(super) fn new() -> Self {
            let point = p256::ecdsa::SigningKey::from_bytes(&SCALAR.into()).unwrap();
            let point = point.verifying_key().to_sec1_point(false);
            let random = SystemRandom::new();
            let key = EcdsaKeyPair::from_private_key_and_public_key(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                &SCALAR,
                point.as_bytes(),
                #[cfg(not(feature = "aws-lc-rs"))]
                &random,
            );
            Self(key.unwrap(), random)
        }

        pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
            self.0.sign(&self.1, message).unwrap().as_ref().to_vec()
        }

        pub(super) fn verify(&self, message: &[u8], signature: &[u8]) {
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.0.public_key().as_ref())
                .verify(message, signature)
                .unwrap();
        }
    }
}

/// The ratio of two pieces of work that take turns: of the medians of their times.
#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn ratio(
    rounds: usize,
    mut raw: impl FnMut(),
    mut ours: impl FnMut(),
) -> (Duration, Duration, f64) {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        // Who goes first takes turns too.
        if round % 2 == 0 {
            times[0].push(time(&mut raw));
            times[1].push(time(&mut ours));
        } else {
            times[1].push(time(&mut ours));
            times[0].push(time(&mut raw));
        }
    }
    let [raw, ours] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    (raw, ours, ours.as_secs_f64() / raw.as_secs_f64())
}

fn signatures(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let key = SigningKey::from_scalar(Algorithm::Es256, &SCALAR).unwrap();
    let key = key.with_id("agent-2026").unwrap();
    let signing = Signing::with(&key);
    let raw = raw::Key::new();

    let request = request();
    let body = request.body().clone();
    let signed = runtime.block_on(signing.request(&request, &body)).unwrap();
    let base = signed.base.clone();
    assert_eq!(base.lines().count(), 8, "7 components and the parameters");
    let mut received = request.clone();
    signed.apply(received.headers_mut());
    let keys = PublishedKeys::from_jwk_set(&json!({ "keys": [key.public_key().to_jwk()] }));
    let verifier = Verifier::at(Timestamp::UNIX_EPOCH);
    assert!(verifier.request(&received, &body, &keys).is_ok());
    let value = raw.sign(base.as_bytes());

    let raw_sign = || {
        black_box(Sha256::digest(black_box(&body)));
        black_box(raw.sign(black_box(base.as_bytes())));
    };
    let sign = || {
        let signed = runtime.block_on(signing.request(black_box(&request), &body));
        black_box(signed.unwrap());
    };
    let raw_verify = || {
        black_box(Sha256::digest(black_box(&body)));
        raw.verify(black_box(base.as_bytes()), &value);
    };
    let verify = || {
        black_box(verifier.request(black_box(&received), &body, &keys)).unwrap();
    };
    // A body so short that what is measured is the text.
    let short = || {
        black_box(signing.request_base(black_box(&request), b"{}")).unwrap();
    };

    let mut group = criterion.benchmark_group("signatures");
    group.bench_function("sign, raw", |bench| bench.iter(raw_sign));
    group.bench_function("sign, ours", |bench| bench.iter(sign));
    group.bench_function("verify, raw", |bench| bench.iter(raw_verify));
    group.bench_function("verify, ours", |bench| bench.iter(verify));
    group.bench_function("base of 7 components", |bench| bench.iter(short));
    group.finish();

    let measured = std::env::args().any(|argument| argument == "--bench");
    let rounds = if measured { 4_000 } else { 10 };
    for (name, (raw, ours, ratio)) in [
        ("sign", ratio(rounds, raw_sign, sign)),
        ("verify", ratio(rounds, raw_verify, verify)),
    ] {
        println!("{name}: raw {raw:?}, ours {ours:?}, ratio {ratio:.3} (bar {BAR})");
        assert!(!measured || ratio <= BAR, "{name}: {ratio:.3}");
    }
    // What a base allocates is held to its bar by `tests/tests/allocations.rs`.
    let (base, _, _) = ratio(rounds, short, || {});
    println!("base of 7 components: {base:?} (bar {BASE_BAR:?})");
    assert!(!measured || base <= BASE_BAR, "base: {base:?}");
}

criterion_group!(benches, signatures);
criterion_main!(benches);
