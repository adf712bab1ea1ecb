//! Requests that are signed, and answers that are verified, over real HTTP against a shop with keys of
//! its own.
#![cfg(feature = "reqwest")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use axum::response::IntoResponse as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use support::script::{Create, Moved};
use support::{GetCheckout, OldCreate, RELEASE, builder};
use ucp_runtime::http::header::HeaderName;
use ucp_runtime::http::{self, HeaderMap, HeaderValue};
use ucp_runtime::jiff::{SignedDuration, Timestamp};
use ucp_runtime::profile::PublishedKeys;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::signatures::{Algorithm, BusinessKeys, Code, Signing, SigningKey, Verifier};
use ucp_runtime::{
    Additions, AgentBuilder, BoxError, Call, Error, Host, Merchant, Outgoing, Retry, Verification,
};

const NOW: &str = "2026-04-08T10:00:00Z";

fn key(seed: u8, id: &str) -> SigningKey {
    let key = SigningKey::from_scalar(Algorithm::Es256, &[seed; 32]).unwrap();
    key.with_id(id).unwrap()
}

fn keys(of: &[&SigningKey]) -> PublishedKeys {
    let keys: Vec<Value> = of
        .iter()
        .map(|key| json!(key.public_key().to_jwk()))
        .collect();
    PublishedKeys::from_jwk_set(&json!({ "keys": keys }))
}

/// What the shop does to an answer.
#[derive(Clone, Copy, Default)]
struct Manner {
    /// The status; 200 by default.
    status: Option<u16>,
    signs: bool,
    /// Changes the body after it was signed.
    alters: bool,
}

#[derive(Clone)]
struct Shop {
    origin: String,
    manner: Arc<Mutex<Manner>>,
    /// The keys that the profile has at each fetch; the last for ever.
    published: Arc<Vec<Vec<u8>>>,
    /// Signs answers.
    seed: u8,
    profiles: Arc<AtomicUsize>,
    arrived: Arc<Mutex<Vec<http::Request<Vec<u8>>>>>,
}

impl Shop {
    async fn open(manner: Manner) -> Self {
        Self::with_keys(manner, vec![vec![1]], 1).await
    }

    async fn with_keys(manner: Manner, published: Vec<Vec<u8>>, seed: u8) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shop = Self {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            manner: Arc::new(Mutex::new(manner)),
            published: Arc::new(published),
            seed,
            profiles: Arc::default(),
            arrived: Arc::default(),
        };
        let state = shop.clone();
        let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let shop = state.clone();
            async move { shop.answer(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        shop
    }

    fn profile(&self) -> Value {
        let fetch = self.profiles.fetch_add(1, Ordering::Relaxed);
        let seeds = self.published.get(fetch).or(self.published.last()).unwrap();
        let keys: Vec<Value> = seeds
            .iter()
            .map(|seed| json!(key(*seed, &format!("k{seed}")).public_key().to_jwk()))
            .collect();
        json!({
            "ucp": {"version": RELEASE, "payment_handlers": {}, "services": {"dev.ucp.shopping": [
                {"version": RELEASE, "transport": "rest", "endpoint": self.origin,
                 "schema": "https://ucp.dev/services/shopping/rest.openapi.json"},
            ]}},
            "signing_keys": keys,
        })
    }

    async fn answer(&self, request: axum::extract::Request) -> axum::response::Response {
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        if head.uri.path() == "/.well-known/ucp" {
            return axum::Json(self.profile()).into_response();
        }
        let kept = http::Request::from_parts(head, body.to_vec());
        self.arrived.lock().unwrap().push(kept);
        let manner = *self.manner.lock().unwrap();
        let mut checkout =
            json!({"ucp": {"version": RELEASE}, "id": "co_1", "status": "incomplete"});
        let body = checkout.to_string();
        let mut answer = http::Response::builder()
            .status(manner.status.unwrap_or(200))
            .header("content-type", "application/json")
            .body(())
            .unwrap();
        if manner.signs {
            let key = key(self.seed, &format!("k{}", self.seed));
            let signed = Signing::with(&key)
                .response(&answer, body.as_bytes())
                .await
                .unwrap();
            signed.apply(answer.headers_mut());
        }
        if manner.alters {
            checkout["status"] = "completed".into();
        }
        answer
            .map(|()| axum::body::Body::from(checkout.to_string()))
            .into_response()
    }

    fn arrived(&self) -> Vec<http::Request<Vec<u8>>> {
        self.arrived.lock().unwrap().clone()
    }

    async fn connect(&self, set_up: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Merchant {
        let builder = builder()
            .clock(Moved::at(NOW))
            .signing_key(key(7, "agent-1"));
        let agent = set_up(builder).build().unwrap();
        agent.connect(&self.origin).await.unwrap()
    }
}

fn create(merchant: &Merchant) -> Call<Create> {
    Call::new(merchant).body(&json!({"line_items": []}))
}

fn get(merchant: &Merchant) -> Call<GetCheckout> {
    Call::new(merchant).path("id", "co_1")
}

#[tokio::test]
async fn every_request_is_signed_over_what_is_sent() {
    let shop = Shop::open(Manner::default()).await;
    let merchant = shop
        .connect(|builder| {
            builder.prepare_request(|_: Outgoing| async {
                let mut headers = HeaderMap::new();
                headers.insert("x-trace", HeaderValue::from_static("t-1"));
                let mut additions = Additions::from(headers);
                additions.cover.push(HeaderName::from_static("x-trace"));
                Ok::<_, BoxError>(additions)
            })
        })
        .await;
    create(&merchant).call_id("c-1").await.unwrap();
    get(&merchant).await.unwrap();
    let keys = keys(&[&key(7, "agent-1")]);
    let verifier = Verifier::at(NOW.parse().unwrap());
    let [post, get] = shop.arrived().try_into().unwrap();
    for (request, covered) in [
        (
            &post,
            r#"("@method" "@authority" "@path" "ucp-agent" "idempotency-key" "content-digest" "content-type" "x-trace")"#,
        ),
        (
            &get,
            r#"("@method" "@authority" "@path" "ucp-agent" "x-trace")"#,
        ),
    ] {
        assert_eq!(
            request.headers()["signature-input"],
            format!(r#"sig1={covered};keyid="agent-1""#)
        );
        // What arrives has a path only; the authority is in `Host`.
        let verified = verifier.request(request, request.body(), &keys).unwrap();
        assert!(verified.covers("ucp-agent"));
    }
    let mut altered = post.body().clone();
    altered[1] = b' ';
    let rejected = verifier.request(&post, &altered, &keys).unwrap_err();
    assert_eq!(rejected.code(), Code::DigestMismatch);
}

#[tokio::test]
async fn c79_january_is_never_signed_so() {
    let shop = Shop::open(Manner::default()).await;
    let agent = builder()
        .signing_key(key(7, "agent-1"))
        .request_signature("agreed")
        // Nor are its answers, so none is asked for a signature.
        .verification(Verification::Required)
        .build()
        .unwrap();
    let merchant = Merchant::at(&agent, &shop.origin, &shop.origin, "2026-01-11").unwrap();
    let call: Call<OldCreate> = Call::new(&merchant).body(&json!({}));
    call.await.unwrap();
    let arrived = shop.arrived();
    assert!(!arrived[0].headers().contains_key("signature"));
    assert!(!arrived[0].headers().contains_key("signature-input"));
    assert_eq!(arrived[0].headers()["request-signature"], "agreed");
}

#[tokio::test]
async fn a_signature_without_a_time_is_the_same_on_every_attempt_and_one_with_a_time_is_not() {
    let manner = Manner {
        status: Some(503),
        ..Manner::default()
    };
    for (fresh, set_up) in [
        (
            false,
            (|builder| builder) as fn(AgentBuilder) -> AgentBuilder,
        ),
        (true, |builder| builder.signature_created()),
        (true, |builder| {
            let thumbprint = key(7, "x").public_key().thumbprint().to_owned();
            builder
                .signing_key(key(7, &thumbprint))
                .web_bot_auth(SignedDuration::from_mins(5))
        }),
    ] {
        let shop = Shop::open(manner).await;
        let second = std::time::Duration::from_secs(2);
        let retry = Retry::default().attempts(2).delays(second, second);
        let merchant = shop.connect(|builder| set_up(builder).retry(retry)).await;
        create(&merchant).await.unwrap_err();
        let [first, second] = shop.arrived().try_into().unwrap();
        assert_eq!(first.body(), second.body());
        assert_eq!(
            first.headers()["idempotency-key"],
            second.headers()["idempotency-key"]
        );
        assert_eq!(
            first.headers()["signature-input"] != second.headers()["signature-input"],
            fresh
        );
        let thumbprint = key(7, "x").public_key().thumbprint().to_owned();
        let keys = keys(&[&key(7, "agent-1"), &key(7, &thumbprint)]);
        let verifier = Verifier::at(NOW.parse::<Timestamp>().unwrap());
        for request in [&first, &second] {
            verifier.request(request, request.body(), &keys).unwrap();
        }
    }
}

#[tokio::test]
async fn answers_are_verified_where_they_are_signed() {
    let shop = Shop::open(Manner::default()).await;
    let merchant = shop.connect(|builder| builder).await;
    assert!(get(&merchant).await.unwrap().verified().is_none());
    shop.manner.lock().unwrap().signs = true;
    let response = get(&merchant).await.unwrap();
    let verified = response.verified().unwrap();
    assert_eq!(verified.key_id, "k1");
    assert!(verified.covers("@status"));
    assert_eq!(shop.profiles.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_altered_answer_is_no_answer() {
    let shop = Shop::open(Manner {
        signs: true,
        alters: true,
        ..Manner::default()
    })
    .await;
    let merchant = shop.connect(|builder| builder).await;
    let error = get(&merchant).await.unwrap_err();
    let Error::Unverified(unverified) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(unverified.rejected().unwrap().code(), Code::DigestMismatch);
    assert!(unverified.unverified_bytes().ends_with(b"}"));
    let source = std::error::Error::source(unverified.as_ref()).unwrap();
    assert!(source.to_string().contains("digest_mismatch"), "{source}");
    assert!(
        format!("{unverified:?}").contains("Digest"),
        "{unverified:?}"
    );
    // The key is known: its profile is not fetched again.
    assert_eq!(shop.profiles.load(Ordering::Relaxed), 1);
    assert!(error.to_string().contains("digest_mismatch"), "{error}");
    assert!(error.response().is_none());
    assert!(error.handoff(&Host::default()).is_err());

    shop.manner.lock().unwrap().status = Some(404);
    match get(&merchant).await.unwrap_err() {
        Error::Unverified(unverified) => assert_eq!(unverified.unverified_status(), 404),
        other => panic!("{other:?}"),
    }
    shop.manner.lock().unwrap().status = None;

    // The merchant may have acted on what changes something.
    let error = create(&merchant).await.unwrap_err();
    let Error::OutcomeUnknown(unknown) = &error else {
        panic!("{error:?}")
    };
    assert!(matches!(unknown.cause(), Some(Error::Unverified(_))));
    assert!(error.response().is_none());
    assert!(error.handoff(&Host::default()).is_err());

    // Switched off, nobody looks.
    let response = get(&merchant)
        .verification(Verification::Off)
        .await
        .unwrap();
    assert_eq!(response.success().unwrap()["status"], "completed");
}

#[tokio::test]
async fn where_a_signature_is_required_its_absence_is_an_error() {
    let shop = Shop::open(Manner::default()).await;
    let merchant = shop
        .connect(|builder| builder.verification(Verification::Required))
        .await;
    let error = get(&merchant).await.unwrap_err();
    let Error::Unverified(unverified) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(
        unverified.rejected().unwrap().code(),
        Code::SignatureMissing
    );
    for (status, passes) in [(422, false), (404, false), (503, true), (401, true)] {
        shop.manner.lock().unwrap().status = Some(status);
        let error = get(&merchant).await.unwrap_err();
        assert_eq!(
            matches!(error, Error::Status(_)),
            passes,
            "{status}: {error}"
        );
    }
}

#[tokio::test]
async fn c85_an_unknown_key_is_asked_for_once() {
    let signs = Manner {
        signs: true,
        ..Manner::default()
    };
    // The merchant signs with a key that its profile has from the second fetch on.
    let shop = Shop::with_keys(signs, vec![vec![1], vec![1, 2]], 2).await;
    let merchant = shop.connect(|builder| builder).await;
    assert_eq!(
        get(&merchant).await.unwrap().verified().unwrap().key_id,
        "k2"
    );
    assert_eq!(shop.profiles.load(Ordering::Relaxed), 2);

    // With a key that it never has: one forced refresh, and none again within the minute.
    let shop = Shop::with_keys(signs, vec![vec![1]], 3).await;
    let merchant = shop.connect(|builder| builder).await;
    for _ in 0..3 {
        let error = get(&merchant).await.unwrap_err();
        let Error::Unverified(unverified) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(unverified.rejected().unwrap().code(), Code::KeyNotFound);
    }
    assert_eq!(shop.profiles.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_agent_has_the_keys_that_webhooks_are_verified_by() {
    let shop = Shop::with_keys(Manner::default(), vec![vec![1], vec![1, 2]], 1).await;
    let merchant = shop.connect(|builder| builder).await;
    let business = merchant.business().unwrap();
    let profile = business.profile();
    assert_eq!(
        profile.as_str(),
        format!("{}/.well-known/ucp", merchant.origin())
    );
    // An unknown key is asked for once; after that nobody asks within the minute.
    for (unknown, ids, fetched) in [
        (None, &["k1"][..], 1),
        (Some("k2"), &["k1", "k2"], 2),
        (Some("k3"), &["k1", "k2"], 2),
        (None, &["k1", "k2"], 2),
    ] {
        let keys = BusinessKeys::keys(merchant.agent(), profile, unknown).await;
        let keys = keys.unwrap();
        let found: Vec<&str> = keys.keys.iter().map(|key| key.kid.as_str()).collect();
        assert_eq!(found, ids);
        assert_eq!(shop.profiles.load(Ordering::Relaxed), fetched);
    }
}

/// A URL that HTTP clients would rewrite is signed as they send it.
#[tokio::test]
async fn a_request_of_ones_own_is_signed_as_clients_send_it() {
    let agent = builder().signing_key(key(7, "agent-1")).build().unwrap();
    for (given, sent) in [
        ("https://shop.example/a//../b/%7E'?it's", "/a/b/%7E'?it%27s"),
        ("https://shop.example:443?q=1", "/?q=1"),
        ("/a/../b", "/a/../b"),
    ] {
        let request = http::Request::get(given).header("host", "shop.example");
        let request = request.body(bytes::Bytes::new()).unwrap();
        let signed = agent.sign(request).await.unwrap();
        assert_eq!(signed.uri().path_and_query().unwrap(), sent);
        let keys = keys(&[&key(7, "agent-1")]);
        let verifier = Verifier::at(NOW.parse().unwrap());
        assert!(verifier.request(&signed, b"", &keys).is_ok(), "{given}");
    }
}
