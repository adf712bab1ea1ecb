use super::*;
use crate::signatures::{Algorithm, Reason, Signing, SigningKey};
use http::{HeaderName, Request};
use serde_json::json;
use std::sync::{Arc, Mutex};

const BODY: &[u8] = br#"{"id":"order_1","status":"shipped"}"#;
const PROFILE: &str = "https://shop.test/.well-known/ucp";

fn key(byte: u8, id: &str) -> SigningKey {
    let key = SigningKey::from_scalar(Algorithm::Es256, &[byte; 32]).unwrap();
    key.with_id(id).unwrap()
}

fn published(keys: &[&SigningKey]) -> PublishedKeys {
    let keys: Vec<_> = keys.iter().map(|key| key.public_key().to_jwk()).collect();
    PublishedKeys::from_jwk_set(&json!({ "keys": keys }))
}

struct At(i64);

impl Clock for At {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0).unwrap()
    }
}

/// The order `order_1` is with the shop of a version; its keys are `m-1`, and `m-2` once asked for.
fn verifier(version: &'static str, asked: Arc<Mutex<Vec<Option<String>>>>) -> WebhookVerifier {
    WebhookVerifier::new(
        move |order: String| async move {
            match order.as_str() {
                "order_1" => {
                    let profile = ProfileUrl::new(PROFILE).unwrap();
                    Ok(Some(Business::new(profile, version)))
                }
                "order_broken" => Err("the database is gone".into()),
                _ => Ok(None),
            }
        },
        move |business: ProfileUrl, unknown: Option<String>| {
            assert_eq!(business.as_str(), PROFILE);
            asked.lock().unwrap().push(unknown.clone());
            async move {
                match unknown {
                    None => Ok(published(&[&key(7, "m-1")])),
                    Some(_) => Ok(published(&[&key(7, "m-1"), &key(8, "m-2")])),
                }
            }
        },
    )
    .clock(At(1_000))
}

fn plain(version: &'static str) -> WebhookVerifier {
    verifier(version, Arc::default())
}

fn unsigned(id: &str, body: &'static [u8]) -> Request<&'static [u8]> {
    Request::post("https://agent.test/webhooks/orders")
        .header("ucp-agent", format!("profile=\"{PROFILE}\""))
        .header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", "990")
        .body(body)
        .unwrap()
}

async fn signed(mut request: Request<&'static [u8]>, key: &SigningKey) -> Request<&'static [u8]> {
    let signing = Signing::with(key);
    let signed = signing.request(&request, request.body()).await.unwrap();
    signed.apply(request.headers_mut());
    request
}

async fn signed_with_id(mut request: Request<&'static [u8]>) -> Request<&'static [u8]> {
    let key = key(7, "m-1");
    let signing = Signing::with(&key).cover(HeaderName::from_static("webhook-id"));
    let signed = signing.request(&request, request.body()).await.unwrap();
    signed.apply(request.headers_mut());
    request
}

async fn receive(
    verifier: &WebhookVerifier,
    request: &Request<&[u8]>,
) -> Result<Delivery, WebhookError> {
    verifier.receive(request, request.body()).await
}

async fn novelty(verifier: &WebhookVerifier, request: &Request<&[u8]>) -> Novelty {
    receive(verifier, request).await.unwrap().novelty
}

#[tokio::test]
async fn a_signed_webhook_is_delivered() {
    let asked = Arc::default();
    let verifier = verifier("2026-04-08", Arc::clone(&asked));
    let request = signed(unsigned("evt_1", BODY), &key(7, "m-1")).await;
    let delivery = receive(&verifier, &request).await.unwrap();
    assert_eq!(delivery.order, "order_1");
    assert_eq!(delivery.business.as_str(), PROFILE);
    assert_eq!(delivery.key_id, "m-1");
    assert_eq!(delivery.id.as_deref(), Some("evt_1"));
    assert_eq!(delivery.timestamp, Timestamp::from_second(990).ok());
    assert_eq!(delivery.novelty, Novelty::New);
    assert_eq!(delivery.body["status"], "shipped");
    assert_eq!(*asked.lock().unwrap(), [None]);
}

#[tokio::test]
async fn an_unknown_key_is_asked_for_once() {
    let asked = Arc::default();
    let verifier = verifier("2026-04-08", Arc::clone(&asked));
    let request = signed(unsigned("evt_1", BODY), &key(8, "m-2")).await;
    assert_eq!(receive(&verifier, &request).await.unwrap().key_id, "m-2");
    assert_eq!(*asked.lock().unwrap(), [None, Some("m-2".to_owned())]);

    let request = signed(unsigned("evt_1", BODY), &key(9, "m-3")).await;
    let error = receive(&verifier, &request).await.unwrap_err();
    assert_eq!(error.code(), Some(Code::KeyNotFound));
    assert_eq!(asked.lock().unwrap().len(), 4);

    // A signature that does not hold is no reason to ask again.
    let request = signed(unsigned("evt_1", BODY), &key(9, "m-1")).await;
    let error = receive(&verifier, &request).await.unwrap_err();
    assert_eq!(error.code(), Some(Code::SignatureInvalid));
    assert_eq!(asked.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn what_is_not_accepted() {
    let verifier = plain("2026-04-08");
    let status = async |request: &Request<&[u8]>| {
        let error = receive(&verifier, request).await.unwrap_err();
        (error.status().as_u16(), error.code().map(Code::as_str))
    };
    let key = key(7, "m-1");
    assert_eq!(
        status(&unsigned("evt_1", BODY)).await,
        (401, Some("signature_missing"))
    );
    for body in [&b""[..], b"[]", b"{}", br#"{"id":1}"#, b"\xff"] {
        assert_eq!(status(&unsigned("evt_1", body)).await, (400, None));
    }
    let mut altered = signed(unsigned("evt_1", BODY), &key).await;
    *altered.body_mut() = br#"{"id":"order_1","status":"canceled"}"#;
    assert_eq!(status(&altered).await, (401, Some("digest_mismatch")));

    let unknown = signed(unsigned("evt_1", br#"{"id":"order_2"}"#), &key).await;
    assert_eq!(status(&unknown).await, (403, None));
    let broken = signed(unsigned("evt_1", br#"{"id":"order_broken"}"#), &key).await;
    assert_eq!(status(&broken).await, (503, None));

    for (agent, expected) in [
        (None, 400),
        (Some("shop"), 400),
        (Some("profile=\"http://shop.test/.well-known/ucp\""), 400),
        (Some("profile=\"https://other.test/.well-known/ucp\""), 403),
        (Some("profile=\"https://shop.test/other\""), 403),
        (Some("profile=\"https://shop.test/.well-known/ucp/\""), 403),
        (Some("profile=\"https://shop.test/.well-known/ucp?x\""), 403),
    ] {
        let mut request = unsigned("evt_1", BODY);
        match agent {
            Some(agent) => drop(
                request
                    .headers_mut()
                    .insert("ucp-agent", agent.parse().unwrap()),
            ),
            None => drop(request.headers_mut().remove("ucp-agent")),
        }
        let request = signed(request, &key).await;
        assert_eq!(status(&request).await, (expected, None), "{agent:?}");
    }
    // The same URL in other letters.
    let mut request = unsigned("evt_1", BODY);
    let agent = "profile=\"https://SHOP.test:443/.well-known/ucp\"";
    request
        .headers_mut()
        .insert("ucp-agent", agent.parse().unwrap());
    let request = signed(request, &key).await;
    assert!(receive(&verifier, &request).await.is_ok());
}

#[tokio::test]
async fn time_refuses_only_by_expires() {
    let verifier = plain("2026-04-08");
    for (timestamp, read) in [
        ("1", Some(1)),
        ("-5", Some(-5)),
        ("soon", None),
        ("1e3", None),
        ("9".repeat(30).as_str(), None),
    ] {
        let mut request = unsigned("evt_1", BODY);
        request
            .headers_mut()
            .insert("webhook-timestamp", timestamp.parse().unwrap());
        let request = signed(request, &key(7, "m-1")).await;
        let delivery = receive(&verifier, &request).await.unwrap();
        assert_eq!(
            delivery.timestamp.map(Timestamp::as_second),
            read,
            "{timestamp}"
        );
    }
}

#[tokio::test]
async fn an_id_counts_alone_only_when_it_is_signed() {
    let verifier = plain("2026-04-08");
    let first = signed_with_id(unsigned("evt_1", BODY)).await;
    assert_eq!(novelty(&verifier, &first).await, Novelty::New);
    assert_eq!(novelty(&verifier, &first).await, Novelty::Repeated);
    // The same state again is another event, if the signature says so.
    let again = signed_with_id(unsigned("evt_2", BODY)).await;
    assert_eq!(novelty(&verifier, &again).await, Novelty::New);
    // The same event with another body is a retry all the same.
    let other = signed_with_id(unsigned("evt_1", br#"{"id":"order_1"}"#)).await;
    assert_eq!(novelty(&verifier, &other).await, Novelty::Repeated);
}

#[tokio::test]
async fn an_unsigned_id_counts_together_with_its_body() {
    let verifier = plain("2026-04-08");
    let key = key(7, "m-1");
    let first = signed(unsigned("evt_1", BODY), &key).await;
    assert_eq!(novelty(&verifier, &first).await, Novelty::New);
    assert_eq!(novelty(&verifier, &first).await, Novelty::Repeated);
    // An old webhook under a new id.
    let mut replayed = first.clone();
    replayed
        .headers_mut()
        .insert("webhook-id", "evt_9".parse().unwrap());
    replayed
        .headers_mut()
        .insert("webhook-timestamp", "999".parse().unwrap());
    assert_eq!(novelty(&verifier, &replayed).await, Novelty::Doubtful);
    assert_eq!(novelty(&verifier, &replayed).await, Novelty::Repeated);
    // A new one under an old id, or under one that an attacker used up, is not lost.
    let other = signed(unsigned("evt_9", br#"{"id":"order_1"}"#), &key).await;
    assert_eq!(novelty(&verifier, &other).await, Novelty::New);
    // None at all.
    let mut bare = signed(unsigned("", BODY), &key).await;
    bare.headers_mut().remove("webhook-id");
    let delivery = receive(&verifier, &bare).await.unwrap();
    assert_eq!((delivery.id, delivery.novelty), (None, Novelty::Repeated));
}

#[tokio::test]
async fn what_could_not_be_dealt_with_is_new_again() {
    let verifier = plain("2026-04-08");
    let request = signed(unsigned("evt_1", BODY), &key(7, "m-1")).await;
    let delivery = receive(&verifier, &request).await.unwrap();
    verifier.forget(&delivery).await.unwrap();
    assert_eq!(novelty(&verifier, &request).await, Novelty::New);
}

#[tokio::test]
async fn each_release_has_its_signature() {
    let key = key(7, "m-1");
    let jws = detached_jws::sign(&key, BODY).await.unwrap();
    let mut detached = Request::post("https://agent.test/webhooks/orders/shop")
        .body(BODY)
        .unwrap();
    detached.headers_mut().insert("request-signature", jws);
    let message = signed(unsigned("evt_1", BODY), &key).await;
    for (version, takes_detached) in [
        ("2026-01-11", true),
        ("2026-01-23", true),
        ("2026-04-08", false),
        ("2026-08-25", false),
    ] {
        let verifier = plain(version);
        assert_eq!(
            receive(&verifier, &detached).await.is_ok(),
            takes_detached,
            "{version}"
        );
        assert_eq!(
            receive(&verifier, &message).await.is_ok(),
            !takes_detached,
            "{version}"
        );
    }
    // Who names itself there must be the business too.
    let verifier = plain("2026-01-23");
    let agent = "profile=\"https://other.test/.well-known/ucp\"";
    detached
        .headers_mut()
        .insert("ucp-agent", agent.parse().unwrap());
    let error = receive(&verifier, &detached).await.unwrap_err();
    assert!(
        matches!(error, WebhookError::OtherBusiness { .. }),
        "{error}"
    );
    detached
        .headers_mut()
        .insert("request-signature", "test".parse().unwrap());
    detached.headers_mut().remove("ucp-agent");
    let error = receive(&verifier, &detached).await.unwrap_err();
    match &error {
        WebhookError::Rejected(rejected) => {
            assert!(matches!(rejected.reason, Reason::Malformed { .. }));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_verifier_is_shared() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    fn is_send(_: impl Send) {}
    let verifier = plain("2026-04-08");
    is_shared(&verifier);
    assert_eq!(format!("{verifier:?}"), "WebhookVerifier { .. }");
    let request = unsigned("evt_1", BODY);
    is_send(verifier.receive(&request, BODY));
}
