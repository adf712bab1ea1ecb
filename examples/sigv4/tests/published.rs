//! The values of AWS's "Signature Version 4 Test Suite", out of calls that pass through the hook.

#![allow(clippy::unwrap_used)]

use aws_credential_types::Credentials;
use sigv4::SigV4;
use ucp_runtime::http::Method;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{Agent, Call, Endpoint, Merchant, Operation};

macro_rules! operation {
    ($name:ident, $id:literal, $method:ident) => {
        struct $name;
        impl Endpoint for $name {
            const OPERATION: &'static Operation =
                &Operation::new("2026-04-08", "com.example", $id, Method::$method, "/", &[]);
            type Success = Value;
            type Failure = Value;
        }
    };
}

operation!(Get, "get", GET);
operation!(Post, "post", POST);

fn merchant() -> Merchant {
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    let credentials = Credentials::from_keys("AKIDEXAMPLE", secret, None);
    let now = || "2015-08-30T12:36:00Z".parse().unwrap();
    let agent = Agent::builder("https://agent.example/.well-known/ucp")
        .unwrap()
        .prepare_request(SigV4::new(credentials, "us-east-1", "service", now))
        .build()
        .unwrap();
    let origin = "https://example.amazonaws.com";
    Merchant::at(&agent, origin, origin, "2026-04-08").unwrap()
}

async fn authorization<E: Endpoint>(call: Call<E>) -> String {
    let prepared = call.prepare().await.unwrap();
    let headers = prepared.headers();
    assert_eq!(headers["x-amz-date"], "20150830T123600Z");
    let shown = format!("{headers:?} {}", prepared.to_curl());
    assert!(!shown.contains("AKIDEXAMPLE"), "{shown}");
    headers["authorization"].to_str().unwrap().to_owned()
}

fn expected(headers: &str, signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
         SignedHeaders={headers}, Signature={signature}"
    )
}

#[tokio::test]
async fn the_hook_signs_as_published() {
    let merchant = merchant();
    let get = || Call::<Get>::new(&merchant);
    // get-vanilla
    assert_eq!(
        authorization(get()).await,
        expected(
            "host;x-amz-date",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        )
    );
    // get-vanilla-query-order-key-case
    assert_eq!(
        authorization(get().query("Param2", "value2").query("Param1", "value1")).await,
        expected(
            "host;x-amz-date",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
        )
    );
    // post-vanilla
    assert_eq!(
        authorization(Call::<Post>::new(&merchant)).await,
        expected(
            "host;x-amz-date",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        )
    );
}

/// What is not in the suite: the body and its type are signed.
#[tokio::test]
async fn the_body_is_signed() {
    let merchant = merchant();
    let post = |body: Value| Call::<Post>::new(&merchant).body(&body);
    let one = authorization(post(json!({"a": 1}))).await;
    let other = authorization(post(json!({"a": 2}))).await;
    assert!(
        one.contains("SignedHeaders=content-type;host;x-amz-date"),
        "{one}"
    );
    assert_ne!(one, other);
}
