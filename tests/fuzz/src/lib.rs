//! What hostile bytes must not do to the verifier: make it panic, or accept what was not signed. The
//! fuzz targets run these, and so do the property tests of the workspace.
//!
//! ```sh
//! cd tests && cargo +nightly fuzz run message -- -max_total_time=60    # or: jws, keys
//! cd tests && cargo fuzz run --sanitizer none message                 # on a stable toolchain
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::LazyLock;
use ucp_runtime::ProfileUrl;
use ucp_runtime::http::{HeaderMap, HeaderValue, Method, Request, Uri};
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::profile::PublishedKeys;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::signatures::{
    Algorithm, PublicKey, Signing, SigningKey, Verifier, WebBotAuth, detached_jws,
    received_request_base, thumbprint,
};

const BODY: &[u8] = br#"{"line_items":[{"item":{"id":"sku_1"},"quantity":2}]}"#;

/// The headers that a signature reads, by the number that an edit names.
pub const HEADERS: [&str; 8] = [
    "signature-input",
    "signature",
    "content-digest",
    "content-type",
    "ucp-agent",
    "signature-agent",
    "idempotency-key",
    "host",
];

struct Fixture {
    request: Request<Vec<u8>>,
    keys: PublishedKeys,
    jws: HeaderValue,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let key = SigningKey::from_scalar(Algorithm::Ed25519, &[7; 32]).unwrap();
    let mut request = Request::post("https://shop.example/checkout-sessions?a=1")
        .header(
            "ucp-agent",
            r#"profile="https://agent.example/.well-known/ucp""#,
        )
        .header("content-type", "application/json")
        .header("idempotency-key", "0b0f1c5e-6d0c-4a57-8b1e-1f2a3b4c5d6e")
        .body(BODY.to_vec())
        .unwrap();
    let agent = ProfileUrl::new("https://agent.example/.well-known/ucp").unwrap();
    let shape = WebBotAuth::new(&agent, Timestamp::from_second(1_000).unwrap(), [1; 64]);
    let signing = Signing::with(&key).web_bot_auth(shape);
    let signed = now(signing.request(&request, BODY)).unwrap();
    signed.apply(request.headers_mut());
    let keys = json!({ "keys": [key.public_key().to_jwk()] });
    Fixture {
        request,
        keys: PublishedKeys::from_jwk_set(&keys),
        jws: now(detached_jws::sign(&key, BODY)).unwrap(),
    }
});

/// A key in this process signs at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("a key in this process does not wait"),
    }
}

/// Edits a text: each edit is a kind, a place, a length, and bytes.
fn edit(text: &mut Vec<u8>, kind: u8, place: u8, bytes: &[u8]) {
    let place = usize::from(place) * (text.len() + 1) / 256;
    let end = (place + bytes.len()).min(text.len());
    match kind % 4 {
        0 => *text = bytes.to_vec(),
        1 => drop(text.splice(place..place, bytes.iter().copied())),
        2 => drop(text.splice(place..end, bytes.iter().copied())),
        _ => drop(text.drain(place..end)),
    }
}

/// Alters a signed request, and asserts that it is accepted only if nothing that is signed changed.
///
/// An edit is five bytes (what, kind, place, how many lines, length) and then its bytes. Whether the
/// request was accepted.
pub fn message(mut data: &[u8]) -> bool {
    let fixture = &*FIXTURE;
    let mut request = fixture.request.clone();
    while let [what, kind, place, more, length, rest @ ..] = data {
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        data = rest;
        match what % 11 {
            0 => {
                let mut method = request.method().as_str().as_bytes().to_vec();
                edit(&mut method, *kind, *place, bytes);
                if let Ok(method) = Method::from_bytes(&method) {
                    *request.method_mut() = method;
                }
            }
            1 => {
                let mut uri = request.uri().to_string().into_bytes();
                edit(&mut uri, *kind, *place, bytes);
                if let Ok(uri) = Uri::try_from(uri) {
                    *request.uri_mut() = uri;
                }
            }
            2 => edit(request.body_mut(), *kind, *place, bytes),
            header => {
                let name = HEADERS[usize::from(header - 3)];
                let value = request.headers().get(name);
                let mut value = value.map_or_else(Vec::new, |value| value.as_bytes().to_vec());
                edit(&mut value, *kind, *place, bytes);
                let value = HeaderValue::from_bytes(&value);
                match (value, more % 4) {
                    (_, 3) => drop(request.headers_mut().remove(name)),
                    (Ok(value), 2) => drop(request.headers_mut().append(name, value)),
                    (Ok(value), _) => drop(request.headers_mut().insert(name, value)),
                    (Err(_), _) => {}
                }
            }
        }
    }
    let verifier = Verifier::at(Timestamp::from_second(1_100).unwrap());
    let verified = verifier.request(&request, request.body(), &fixture.keys);
    for label in ["sig1", "a"] {
        let _ = received_request_base(&request, label);
    }
    let Ok(verified) = verified else {
        return false;
    };
    assert_eq!(verified.label, "sig1");
    assert_eq!(request.body(), BODY);
    assert_eq!(request.method(), Method::POST);
    assert_eq!(request.uri().path(), "/checkout-sessions");
    assert_eq!(request.uri().query(), Some("a=1"));
    let authority = match request.uri().authority() {
        Some(authority) => authority.as_str().to_owned(),
        None => request.headers()["host"].to_str().unwrap().to_owned(),
    };
    let authority = authority.rsplit('@').next().unwrap().to_lowercase();
    let host = authority
        .trim()
        .trim_end_matches("443")
        .trim_end_matches(':');
    assert_eq!(
        host.trim_end_matches('0').trim_end_matches(':'),
        "shop.example"
    );
    for name in [
        "content-digest",
        "content-type",
        "ucp-agent",
        "idempotency-key",
    ] {
        let values = request.headers().get_all(name);
        let values: Vec<&str> = values
            .iter()
            .map(|value| value.to_str().unwrap().trim())
            .collect();
        assert_eq!(values.join(", "), fixture.request.headers()[name], "{name}");
    }
    true
}

/// A detached JWS, and asserts that it vouches for the body that was signed and no other. The first
/// two bytes say how many of the next are the header.
pub fn jws(data: &[u8]) {
    let [high, low, data @ ..] = data else { return };
    let split = usize::from(u16::from_be_bytes([*high, *low])).min(data.len());
    let (value, body) = data.split_at(split);
    let fixture = &*FIXTURE;
    let Ok(value) = HeaderValue::from_bytes(value) else {
        return;
    };
    for (value, body) in [(&value, body), (&value, BODY), (&fixture.jws, body)] {
        let mut headers = HeaderMap::new();
        headers.insert("request-signature", value.clone());
        if detached_jws::verify(&headers, body, &fixture.keys).is_ok() {
            assert_eq!(body, BODY);
        }
    }
}

/// Keys in every form, and asserts that one that is taken is written back as what it was.
pub fn keys(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(key) = SigningKey::from_jwk(text) {
        let again = SigningKey::from_jwk(&key.to_private_jwk()).unwrap();
        assert_eq!(again.public_key(), key.public_key());
        assert!(PublicKey::from_jwk(&key.public_key().to_jwk()).is_ok());
    }
    let _ = SigningKey::from_pem(text);
    for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::Ed25519] {
        let _ = SigningKey::from_scalar(algorithm, data);
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let set = PublishedKeys::from_jwk_set(&value);
    let verifier = Verifier::at(Timestamp::UNIX_EPOCH);
    let request = &FIXTURE.request;
    assert!(
        verifier.request(request, BODY, &set).is_err() || set == FIXTURE.keys || {
            // The same key, whatever else stands beside it.
            let print = FIXTURE.keys.keys.first().map(|key| thumbprint(&key.jwk));
            set.keys
                .iter()
                .any(|key| Some(thumbprint(&key.jwk)) == print)
        }
    );
    let Some(jwk) = value.as_object() else { return };
    if let Ok(key) = PublicKey::from_jwk(jwk) {
        let again = PublicKey::from_jwk(&key.to_jwk()).unwrap();
        assert_eq!(again, key);
        assert_eq!(thumbprint(jwk), Some(key.thumbprint()));
    }
}
