//! What a signature base costs in allocations.

#![allow(clippy::unwrap_used)]

use ucp_runtime::http::Request;
use ucp_runtime::signatures::{Algorithm, Signing, SigningKey};

/// A request of 7 components.
fn request() -> Request<&'static str> {
    Request::post("https://shop.example/ucp/v1/checkout-sessions")
        .header(
            "ucp-agent",
            r#"profile="https://agent.example/.well-known/ucp""#,
        )
        .header("idempotency-key", "0b0f1c5e-6d0c-4a57-8b1e-1f2a3b4c5d6e")
        .header("content-type", "application/json")
        .body("{}")
        .unwrap()
}

#[test]
fn a_base_takes_four_allocations_at_most() {
    let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32]).unwrap();
    let signing = Signing::with(&key);
    let request = request();
    let build = || {
        let base = signing.request_base(&request, request.body().as_bytes());
        assert_eq!(base.unwrap().lines().count(), 8);
    };
    build();
    let counted = allocation_counter::measure(build);
    println!(
        "a base of 7 components: {} allocations",
        counted.count_total
    );
    assert!((1..=4).contains(&counted.count_total), "{counted:?}");
}
