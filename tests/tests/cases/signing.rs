//! Signing and verifying, webhooks included.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use ucp_runtime::http::{HeaderMap, HeaderValue, Request, Response};
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::profile::PublishedKeys;
use ucp_runtime::serde_json;
use ucp_runtime::signatures::{
    Algorithm, Business, Code, Novelty, PublicKey, Reason, Rejected, SignError, Signed, Signer,
    Signing, SigningKey, Verified, Verifier, WebBotAuth, WebhookError, WebhookVerifier,
    content_digest, detached_jws, received_request_base, thumbprint,
};
use ucp_runtime::{BoxError, BoxFuture, ProfileUrl};

const AGENT: &str = r#"profile="https://agent.example/.well-known/ucp""#;
const ALL: &str =
    r#"("@method" "@authority" "@path" "ucp-agent" "content-digest" "content-type");keyid="k""#;

fn key(id: &str) -> SigningKey {
    let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32]).unwrap();
    key.with_id(id).unwrap()
}

fn published(keys: &[Value]) -> PublishedKeys {
    PublishedKeys::from_jwk_set(&json!({ "keys": keys }))
}

fn jwk(key: &SigningKey) -> Value {
    Value::from(key.public_key().to_jwk())
}

fn post(body: &str) -> Request<String> {
    Request::post("https://m.test/checkout-sessions")
        .header("ucp-agent", AGENT)
        .header("content-type", "application/json")
        .header("content-digest", content_digest(body.as_bytes()))
        .body(body.to_owned())
        .unwrap()
}

/// The same request with a signature of whatever input, rightly made.
async fn signed_as(mut request: Request<String>, key: &SigningKey, input: &str) -> Request<String> {
    let input = HeaderValue::from_str(&format!("sig1={input}")).unwrap();
    request.headers_mut().insert("signature-input", input);
    let base = received_request_base(&request, "sig1").unwrap_or_default();
    set_signature(&mut request, &key.sign(base.as_bytes()).await.unwrap());
    request
}

fn set_signature(request: &mut Request<String>, value: &[u8]) {
    let value = format!("sig1=:{}:", STANDARD.encode(value));
    let value = HeaderValue::from_str(&value).unwrap();
    request.headers_mut().insert("signature", value);
}

fn verify(request: &Request<String>, keys: &PublishedKeys) -> Result<Verified, Rejected> {
    let verifier = Verifier::at(Timestamp::from_second(1_000).unwrap());
    verifier.request(request, request.body().as_bytes(), keys)
}

async fn sign(request: &Request<String>) -> Signed {
    let key = key("k");
    let signing = Signing::with(&key);
    signing
        .request(request, request.body().as_bytes())
        .await
        .unwrap()
}

/// DER of `r` and `s`: what a service that was not asked for raw values answers.
fn der(raw: &[u8]) -> Vec<u8> {
    let integer = |part: &[u8]| {
        let mut part = part.to_vec();
        if part[0] >= 0x80 {
            part.insert(0, 0);
        }
        [&[2, u8::try_from(part.len()).unwrap()][..], &part].concat()
    };
    let (r, s) = raw.split_at(raw.len() / 2);
    let content = [integer(r), integer(s)].concat();
    [&[0x30, u8::try_from(content.len()).unwrap()][..], &content].concat()
}

#[tokio::test]
async fn c65_ecdsa_values_are_raw_and_of_one_length() {
    let p384 = SigningKey::from_scalar(Algorithm::Es384, &[7; 48]).unwrap();
    for (key, length, text) in [(key("k"), 64, 88), (p384.with_id("k").unwrap(), 96, 128)] {
        let request = signed_as(post("{}"), &key, ALL).await;
        let keys = published(&[jwk(&key)]);
        assert!(verify(&request, &keys).is_ok());
        let value = request.headers()["signature"].to_str().unwrap();
        let value = value
            .strip_prefix("sig1=:")
            .unwrap()
            .strip_suffix(':')
            .unwrap();
        assert_eq!(value.len(), text);
        let raw = STANDARD.decode(value).unwrap();
        for other in [
            der(&raw),
            raw[1..].to_vec(),
            [&raw[..], &[0]].concat(),
            vec![],
        ] {
            let mut request = request.clone();
            set_signature(&mut request, &other);
            let expected = Reason::Length {
                algorithm: key.public_key().algorithm(),
                expected: length,
                found: other.len(),
            };
            assert_eq!(verify(&request, &keys).unwrap_err().reason, expected);
        }
    }
    // A value that begins like DER is as good as another, and short `r` or `s` keep their zeros.
    let key = key("k");
    let (mut like_der, mut short) = (false, [false; 2]);
    for number in 0..2_000 {
        let message = format!("message {number}");
        let value = key.sign(message.as_bytes()).await.unwrap();
        if value[0] == 0x30 || value[0] == 0 || value[32] == 0 {
            assert_eq!(value.len(), 64);
            assert!(key.public_key().verifies(message.as_bytes(), &value));
            like_der |= value[0] == 0x30;
            short[0] |= value[0] == 0;
            short[1] |= value[32] == 0;
        }
        if like_der && short == [true; 2] {
            return;
        }
    }
    panic!("{like_der} {short:?}");
}

#[tokio::test]
async fn c66_the_algorithm_follows_from_the_key() {
    let signed = sign(&post("{}")).await;
    let input = signed.headers["signature-input"].to_str().unwrap();
    assert!(!input.contains("alg="), "{input}");
    let keys = published(&[jwk(&key("k"))]);
    for (alg, holds) in [
        ("ecdsa-p256-sha256", true),
        ("ES256", false),
        ("ed25519", false),
        ("hmac-sha256", false),
        ("unheard-of", false),
    ] {
        let request = signed_as(post("{}"), &key("k"), &format!("{ALL};alg=\"{alg}\"")).await;
        assert!(
            received_request_base(&request, "sig1")
                .unwrap()
                .ends_with(&format!(";alg=\"{alg}\""))
        );
        assert_eq!(verify(&request, &keys).is_ok(), holds, "{alg}");
    }
}

#[tokio::test]
async fn c67_every_request_covers_what_it_sends() {
    for (request, covered) in [
        (
            Request::get("https://m.test/orders/1").header("ucp-agent", AGENT),
            r#"("@method" "@authority" "@path" "ucp-agent")"#,
        ),
        (
            Request::get("https://m.test/orders?a=1").header("ucp-agent", AGENT),
            r#"("@method" "@authority" "@path" "@query" "ucp-agent")"#,
        ),
        (
            Request::delete("https://m.test/carts/1")
                .header("ucp-agent", AGENT)
                .header("idempotency-key", "1"),
            r#"("@method" "@authority" "@path" "ucp-agent" "idempotency-key")"#,
        ),
    ] {
        let signed = sign(&request.body(String::new()).unwrap()).await;
        let input = signed.headers["signature-input"].to_str().unwrap();
        assert_eq!(input, format!("sig1={covered};keyid=\"k\""));
    }
    let mut request = post("{}");
    request
        .headers_mut()
        .insert("idempotency-key", HeaderValue::from_static("1"));
    let signed = sign(&request).await;
    assert_eq!(
        signed.headers["signature-input"],
        r#"sig1=("@method" "@authority" "@path" "ucp-agent" "idempotency-key" "content-digest" "content-type");keyid="k""#
    );
    signed.apply(request.headers_mut());
    assert!(verify(&request, &published(&[jwk(&key("k"))])).is_ok());
}

#[tokio::test]
async fn c68_an_agent_that_is_named_is_covered() {
    let input = r#"("@method" "@authority" "@path" "idempotency-key" "content-digest" "content-type");keyid="k""#;
    let mut request = post("{}");
    request
        .headers_mut()
        .insert("idempotency-key", HeaderValue::from_static("1"));
    let request = signed_as(request, &key("k"), input).await;
    let rejected = verify(&request, &published(&[jwk(&key("k"))])).unwrap_err();
    let name = "ucp-agent".to_owned();
    assert_eq!(rejected.reason, Reason::Uncovered { name });
}

#[tokio::test]
async fn c69_authorities_are_normal() {
    for (url, authority) in [
        ("https://m.test:443/x", "m.test"),
        ("https://M.Test/x", "m.test"),
        ("https://m.test:8443/x", "m.test:8443"),
        ("http://127.0.0.1:80/x", "127.0.0.1"),
        ("https://[2001:DB8::1]:443/", "[2001:db8::1]"),
        ("https://user:secret@m.test/", "m.test"),
    ] {
        let request = Request::get(url).body(String::new()).unwrap();
        let base = sign(&request).await.base;
        let line = base.lines().nth(1).unwrap();
        assert_eq!(line, format!("\"@authority\": {authority}"), "{url}");
    }
}

#[tokio::test]
async fn c70_paths_are_signed_as_sent() {
    for (url, path) in [
        ("https://m.test/a%2Fb", "/a%2Fb"),
        ("https://m.test/caf%C3%A9", "/caf%C3%A9"),
        ("https://m.test/a%7eb", "/a%7eb"),
        ("https://m.test", "/"),
        ("https://m.test/a//b/", "/a//b/"),
        // Whoever makes the URL with a URL parser has `..` resolved before it is signed.
        (
            ucp_runtime::url::Url::parse("https://m.test/a/../b")
                .unwrap()
                .as_str(),
            "/b",
        ),
    ] {
        let request = Request::get(url).body(String::new()).unwrap();
        let base = sign(&request).await.base;
        assert_eq!(
            base.lines().nth(2).unwrap(),
            format!("\"@path\": {path}"),
            "{url}"
        );
    }
}

#[tokio::test]
async fn c72_order_is_kept_as_received() {
    let key = key("m-1");
    let keys = published(&[jwk(&key)]);
    for parameters in [
        r#"("@status" "content-digest" "content-type");keyid="m-1";created=1738617601"#,
        r#"("@status" "content-digest" "content-type");created=1738617601;keyid="m-1""#,
        r#"("content-type" "@status" "content-digest");x;created=1738617601;y="z";keyid="m-1";a=1.5"#,
    ] {
        let mut response = Response::builder()
            .header("content-type", "application/json")
            .header("content-digest", content_digest(b"{}"))
            .header("signature-input", format!("sig1={parameters}"))
            .body(())
            .unwrap();
        let base = ucp_runtime::signatures::received_response_base(&response, "sig1").unwrap();
        assert!(
            base.ends_with(&format!("\n\"@signature-params\": {parameters}")),
            "{base}"
        );
        let value = STANDARD.encode(key.sign(base.as_bytes()).await.unwrap());
        let value = HeaderValue::from_str(&format!("sig1=:{value}:")).unwrap();
        response.headers_mut().insert("signature", value);
        let verifier = Verifier::at(Timestamp::UNIX_EPOCH);
        assert!(
            verifier.response(&response, b"{}", &keys).is_ok(),
            "{parameters}"
        );
    }
}

#[tokio::test]
async fn c73_the_base_has_one_form() {
    let request = Request::get("https://m.test/x")
        .body(String::new())
        .unwrap();
    assert_eq!(
        sign(&request).await.base,
        "\"@method\": GET\n\"@authority\": m.test\n\"@path\": /x\n\"@signature-params\": (\"@method\" \"@authority\" \"@path\");keyid=\"k\""
    );
}

#[tokio::test]
async fn c75_a_component_stands_once_and_is_there() {
    let keys = published(&[jwk(&key("k"))]);
    let with = |more: &str| ALL.replace(");", &format!(" {more});"));
    for (more, holds) in [
        (r#""content-digest";key="sha-256""#, true),
        (r#""@path""#, false),
        (r#""@signature-params""#, false),
        (r#""x-absent""#, false),
        // Not supported, and so refused rather than taken for the field as a whole.
        (r#""content-digest";sf"#, false),
    ] {
        let request = signed_as(post("{}"), &key("k"), &with(more)).await;
        let rejected = verify(&request, &keys).err();
        assert_eq!(rejected.is_none(), holds, "{more}");
        if let Some(rejected) = rejected {
            assert!(
                matches!(
                    rejected.reason,
                    Reason::Component { .. } | Reason::Identifier { .. }
                ),
                "{rejected}"
            );
            assert_eq!(rejected.code(), Code::SignatureInvalid);
        }
    }
    let key = key("k");
    let request = post("{}");
    let twice = Signing::with(&key).cover("ucp-agent".parse().unwrap());
    let signed = twice.request(&request, b"{}").await.unwrap();
    assert_eq!(signed.base.matches("\"ucp-agent\": ").count(), 1);
}

#[test]
fn c76_digests_have_one_form() {
    for (body, digest) in [
        (
            r#"{"hello": "world"}"#,
            "X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=",
        ),
        (
            "{\"hello\": \"world\"}\n",
            "RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=",
        ),
        (r#"{"a":1}"#, "AVq9f1zFei3ZS3WQ8ErYCEJzkF7jPsXOvq5iJ2qX+GI="),
    ] {
        assert_eq!(
            content_digest(body.as_bytes()),
            format!("sha-256=:{digest}:")
        );
    }
    let mut headers = HeaderMap::new();
    headers.insert(
        "content-digest",
        HeaderValue::from_static("SHA-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE="),
    );
    let check = ucp_runtime::signatures::check_content_digest(&headers, br#"{"hello": "world"}"#);
    assert!(matches!(check, Err(Reason::NoDigest { .. })), "{check:?}");
}

#[tokio::test]
async fn c77_no_body_has_no_digest() {
    let cancel = Request::post("https://m.test/cancel")
        .body(String::new())
        .unwrap();
    let signed = sign(&cancel).await;
    assert!(!signed.headers.contains_key("content-digest"));
    assert!(!signed.base.contains("content-"));
    let mut typed = post("");
    typed.headers_mut().remove("content-digest");
    let signed = sign(&typed).await;
    assert!(!signed.headers.contains_key("content-digest"));
    assert!(!signed.base.contains("content-"));
    let signed = sign(&post("{}")).await;
    assert_eq!(signed.headers["content-digest"], content_digest(b"{}"));
    assert!(signed.base.contains("\"content-digest\": sha-256=:"));
}

#[tokio::test]
async fn c78_web_bot_auth_is_a_dictionary_and_a_thumbprint() {
    for (jwk, print) in [
        (
            json!({ "kty": "OKP", "crv": "Ed25519", "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs" }),
            "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
        ),
        (
            json!({
                "kty": "EC", "crv": "P-256",
                "x": "WKn-ZIGevcwGIyyrzFoZNBdaq9_TsqzGl96oc0CWuis",
                "y": "y77t-RvAHRKTsSGdIYUfweuOvwrvDD-Q3Hv5J0fSKbE",
            }),
            "qT5yKRo0isoECLGe0-hJJux4iMROawVfs8LFcQ2Aveo",
        ),
    ] {
        assert_eq!(thumbprint(jwk.as_object().unwrap()).unwrap(), print);
    }
    let key = SigningKey::from_scalar(Algorithm::Ed25519, &[7; 32]).unwrap();
    let now = Timestamp::from_second(900).unwrap();
    let profile = ProfileUrl::new("https://agent.example/.well-known/ucp").unwrap();
    let mut request = post("{}");
    let shape = WebBotAuth::new(&profile, now, [1; 64]);
    let signing = Signing::with(&key).web_bot_auth(shape);
    let signed = signing.request(&request, b"{}").await.unwrap();
    assert_eq!(
        signed.headers["signature-agent"],
        r#"sig1="https://agent.example/.well-known/ucp";type=jwks_uri"#
    );
    signed.apply(request.headers_mut());
    let keys = published(&[jwk(&key)]);
    let verified = verify(&request, &keys).unwrap();
    assert_eq!(verified.key_id, key.public_key().thumbprint());
    // A bare string, as an old draft had it.
    let bare = HeaderValue::from_static(r#""https://agent.example/.well-known/ucp""#);
    request.headers_mut().insert("signature-agent", bare);
    assert_eq!(
        verify(&request, &keys).unwrap_err().code(),
        Code::SignatureInvalid
    );
}

#[tokio::test]
async fn c80_a_signature_that_covers_nothing_is_none() {
    let keys = published(&[jwk(&key("m-1"))]);
    let verifier = Verifier::at(Timestamp::UNIX_EPOCH);
    for input in [r#"();keyid="m-1""#, r#"("@status");keyid="m-1""#] {
        let mut response = Response::builder()
            .header("content-type", "application/json")
            .header("signature-input", format!("sig1={input}"))
            .body(())
            .unwrap();
        let base = ucp_runtime::signatures::received_response_base(&response, "sig1").unwrap();
        let value = STANDARD.encode(key("m-1").sign(base.as_bytes()).await.unwrap());
        let value = HeaderValue::from_str(&format!("sig1=:{value}:")).unwrap();
        response.headers_mut().insert("signature", value);
        let rejected = verifier.response(&response, b"{}", &keys).unwrap_err();
        assert_eq!(rejected.code(), Code::SignatureInvalid);
        assert!(
            matches!(rejected.reason, Reason::Uncovered { .. }),
            "{rejected}"
        );
    }
    let request = signed_as(post("{}"), &key("m-1"), r#"();keyid="m-1""#).await;
    let rejected = verify(&request, &keys).unwrap_err();
    let name = "@method".to_owned();
    assert_eq!(rejected.reason, Reason::Uncovered { name });
}

#[tokio::test]
async fn c81_a_digest_is_a_dictionary() {
    let keys = published(&[jwk(&key("k"))]);
    let right = content_digest(b"{}");
    let right = right.to_str().unwrap();
    let zero = STANDARD.encode([0; 32]);
    let url_safe = right.replace('+', "-").replace('/', "_");
    assert_ne!(url_safe, right);
    for (digest, holds) in [
        (format!("sha-512=:AAAA:, {right}"), true),
        (format!("{right};q=1"), true),
        (format!("   sha-512=:AAAA:  ,   {right}  "), true),
        (format!("sha-256=:{zero}:, {right}"), true),
        (right.trim_end_matches("=:").to_owned() + ":", true),
        ("sha-512=:AAAA:".to_owned(), false),
        ("sha-256=:AAAA:".to_owned(), false),
        (format!("{right}, sha-256=:{zero}:"), false),
        (url_safe, false),
    ] {
        let mut request = post("{}");
        request
            .headers_mut()
            .insert("content-digest", HeaderValue::from_str(&digest).unwrap());
        let request = signed_as(request, &key("k"), ALL).await;
        let code = verify(&request, &keys)
            .err()
            .map(|rejected| rejected.code());
        assert_eq!(code, (!holds).then_some(Code::DigestMismatch), "{digest}");
    }
}

#[tokio::test]
async fn c82_a_key_of_another_kind_costs_only_its_own_signatures() {
    let keys = published(&[
        json!({ "kid": "r", "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
        json!({ "kid": "off", "kty": "EC", "crv": "P-256", "x": "A".repeat(43), "y": "A".repeat(43) }),
        jwk(&key("m-1")),
        json!({ "kid": "pq", "kty": "AKP", "alg": "ML-DSA-44" }),
    ]);
    assert_eq!(keys.keys.len(), 4);
    for (id, code) in [
        ("m-1", None),
        ("r", Some(Code::AlgorithmUnsupported)),
        ("pq", Some(Code::AlgorithmUnsupported)),
        ("off", Some(Code::KeyNotFound)),
        ("gone", Some(Code::KeyNotFound)),
    ] {
        let input = ALL.replace("\"k\"", &format!("\"{id}\""));
        let request = signed_as(post("{}"), &key("m-1"), &input).await;
        let found = verify(&request, &keys)
            .err()
            .map(|rejected| rejected.code());
        assert_eq!(found, code, "{id}");
    }
}

#[tokio::test]
async fn c87_time_counts_where_it_is_stated() {
    let keys = published(&[jwk(&key("k"))]);
    for (parameters, holds) in [
        ("", true),
        (";created=1600", true),
        (";created=1;expires=1001", true),
        (";created=1;expires=1000", true),
        (";created=1;expires=999", false),
    ] {
        let request = signed_as(post("{}"), &key("k"), &format!("{ALL}{parameters}")).await;
        let rejected = verify(&request, &keys).err();
        assert_eq!(rejected.is_none(), holds, "{parameters}");
        if let Some(rejected) = rejected {
            assert_eq!(rejected.code(), Code::SignatureInvalid);
            assert_eq!(
                rejected.reason,
                Reason::Expired {
                    expires: 999,
                    now: 1_000
                }
            );
        }
    }
}

const SHOP: &str = "https://shop.example/.well-known/ucp";

fn webhook(agent: &str, id: &str, body: &str) -> Request<String> {
    Request::post("https://agent.example/webhooks/orders")
        .header("ucp-agent", format!("profile=\"{agent}\""))
        .header("content-type", "application/json")
        .header("content-digest", content_digest(body.as_bytes()))
        .header("webhook-id", id)
        .header("webhook-timestamp", "1738617600")
        .body(body.to_owned())
        .unwrap()
}

/// Every order is with the shop; every business publishes the same key, rightly or not.
fn webhooks(version: &'static str) -> WebhookVerifier {
    WebhookVerifier::new(
        async move |_: String| {
            let profile = ProfileUrl::new(SHOP)?;
            Ok::<_, BoxError>(Some(Business::new(profile, version)))
        },
        async |_: ProfileUrl, _: Option<String>| Ok::<_, BoxError>(published(&[jwk(&key("k"))])),
    )
}

#[tokio::test]
async fn c88_a_webhook_covers_who_sends_it() {
    let body = r#"{"id":"order_1"}"#;
    let input = r#"("@method" "@authority" "@path" "content-digest" "content-type");keyid="k""#;
    let request = signed_as(webhook(SHOP, "evt_1", body), &key("k"), input).await;
    let verifier = webhooks("2026-04-08");
    match verifier.receive(&request, body.as_bytes()).await {
        Err(WebhookError::Rejected(rejected)) => {
            let name = "ucp-agent".to_owned();
            assert_eq!(rejected.reason, Reason::Uncovered { name });
        }
        other => panic!("{other:?}"),
    }
    // It has no idempotency key, so none is missed.
    let request = signed_as(webhook(SHOP, "evt_1", body), &key("k"), ALL).await;
    assert!(verifier.receive(&request, body.as_bytes()).await.is_ok());
}

#[tokio::test]
async fn c89_only_the_business_of_an_order_speaks_of_it() {
    let body = r#"{"id":"order_1"}"#;
    let other = "https://other.example/.well-known/ucp";
    let request = signed_as(webhook(other, "evt_1", body), &key("k"), ALL).await;
    let verifier = webhooks("2026-04-08");
    match verifier.receive(&request, body.as_bytes()).await {
        Err(WebhookError::OtherBusiness { claimed, owner }) => {
            assert_eq!((claimed.as_str(), owner.as_str()), (other, SHOP));
        }
        found => panic!("{found:?}"),
    }
}

#[tokio::test]
async fn c90_a_delivery_is_told_from_its_repetition() {
    let body = r#"{"id":"order_1"}"#;
    let verifier = webhooks("2026-04-08");
    let first = signed_as(webhook(SHOP, "evt_1", body), &key("k"), ALL).await;
    let novelty = async |request: &Request<String>| {
        let delivery = verifier.receive(request, request.body().as_bytes()).await;
        delivery.unwrap().novelty
    };
    assert_eq!(novelty(&first).await, Novelty::New);
    assert_eq!(novelty(&first).await, Novelty::Repeated);
    let mut replay = first.clone();
    replay
        .headers_mut()
        .insert("webhook-id", HeaderValue::from_static("evt_2"));
    assert_eq!(novelty(&replay).await, Novelty::Doubtful);
    let next = r#"{"id":"order_1","status":"shipped"}"#;
    let next = signed_as(webhook(SHOP, "evt_2", next), &key("k"), ALL).await;
    assert_eq!(novelty(&next).await, Novelty::New);
    let covered = ALL.replace(");", " \"webhook-id\" \"webhook-timestamp\");");
    let signed = signed_as(webhook(SHOP, "evt_3", body), &key("k"), &covered).await;
    assert_eq!(novelty(&signed).await, Novelty::New);
    assert_eq!(novelty(&signed).await, Novelty::Repeated);
}

#[tokio::test]
async fn c92_january_signs_webhooks_by_a_detached_jws() {
    let body = r#"{"id":"order_1"}"#;
    let key = key("k");
    let header = |header: Value| URL_SAFE_NO_PAD.encode(header.to_string());
    let jws = async |header: String, payload: &str| {
        let input = format!("{header}.{payload}");
        let value = URL_SAFE_NO_PAD.encode(key.sign(input.as_bytes()).await.unwrap());
        format!("{header}..{value}")
    };
    let raw = header(json!({ "alg": "ES256", "kid": "k", "b64": false, "crit": ["b64"] }));
    let encoded = header(json!({ "alg": "ES256", "kid": "k" }));
    let payload = URL_SAFE_NO_PAD.encode(body);
    let keys = published(&[jwk(&key)]);
    for (value, holds) in [
        (jws(raw.clone(), body).await, true),
        (jws(encoded.clone(), &payload).await, true),
        (jws(raw, &payload).await, false),
        (jws(encoded, body).await, false),
        (
            jws(header(json!({ "alg": "none", "kid": "k" })), &payload).await,
            false,
        ),
        (
            jws(header(json!({ "alg": "HS256", "kid": "k" })), &payload).await,
            false,
        ),
        (
            jws(
                header(json!({ "alg": "ES256", "kid": "k", "crit": ["exp"], "exp": 1 })),
                &payload,
            )
            .await,
            false,
        ),
        ("test".to_owned(), false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("request-signature", HeaderValue::from_str(&value).unwrap());
        let verified = detached_jws::verify(&headers, body.as_bytes(), &keys);
        assert_eq!(verified.is_ok(), holds, "{value}");
    }
}

/// A service far away that answers in DER.
struct Service(SigningKey);

impl Signer for Service {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, BoxError>> {
        Box::pin(async move { Ok(der(&self.0.sign(message).await?)) })
    }
}

#[tokio::test]
async fn c65_der_is_refused_where_it_is_made() {
    let service = Service(key("k"));
    let request = post("{}");
    let error = Signing::with(&service)
        .request(&request, b"{}")
        .await
        .unwrap_err();
    assert!(
        matches!(error, SignError::Length { expected: 64, .. }),
        "{error}"
    );
}
