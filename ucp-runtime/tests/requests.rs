//! What arrives at a merchant: headers, ids, credentials, paths, hooks. Over real HTTP.
#![cfg(feature = "reqwest")]

mod support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use support::{Client, PROFILE, RELEASE, Shop, builder};
use ucp_runtime::error::DiscoveryProblem;
use ucp_runtime::http::{HeaderMap, HeaderName, HeaderValue};
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::serde_json::json;
use ucp_runtime::{
    Additions, Agent, BoxError, Call, Clock, Credential, Endpoint, Error, Handoff, Host, Merchant,
    Outgoing, Prepared, Randomness, RequestError, Response, uuid,
};

fn problem(error: Error) -> RequestError {
    match error {
        Error::NotSent(not_sent) => not_sent.problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_move_between_threads() {
    fn send_sync<T: Send + Sync>() {}
    fn send<T: Send>(_: &T) {}
    fn all<E: Endpoint>(call: Call<E>) {
        send_sync::<Call<E>>();
        send_sync::<Prepared<E>>();
        send(&call.into_future());
    }
    send_sync::<Agent>();
    send_sync::<Merchant>();
    send_sync::<Client>();
    send_sync::<Error>();
    send_sync::<Handoff>();
    send_sync::<Host>();
    send_sync::<Response<ucp_runtime::serde_json::Value, ucp_runtime::serde_json::Value>>();
    let _ = all::<support::CreateCheckout>;
    let agent = Agent::builder(PROFILE).unwrap().build().unwrap();
    send(&agent.connect("https://shop.example"));
}

#[tokio::test]
async fn discovers_and_fills_the_headers() {
    let shop = Shop::open().await;
    let agent = builder()
        .accept_language("de-DE, en;q=0.5")
        .user_agent("example/1")
        .build()
        .unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    assert_eq!(merchant.origin(), shop.origin);
    assert_eq!(merchant.version(), RELEASE);
    assert_eq!(merchant.endpoint(), format!("{}/ucp/v2", shop.origin));
    assert_eq!(merchant.profile().unwrap().version, RELEASE);
    assert!(merchant.negotiated().is_none());
    let discovery = shop.last();
    assert_eq!(discovery.target, "/.well-known/ucp");
    assert_eq!(discovery.header("ucp-agent"), Some(agent.ucp_agent()));
    assert_eq!(discovery.header("idempotency-key"), None);

    let client = Client::new(&merchant);
    let response = client
        .create_checkout(json!({"b": 1, "a": "é"}))
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.success().unwrap()["id"], "co_1");
    assert!(matches!(
        response.handoff(&Host::default()).unwrap(),
        Handoff::Conversational { .. }
    ));
    let arrived = shop.last();
    assert_eq!(arrived.target, "/ucp/v2/checkout-sessions");
    assert_eq!(arrived.header("ucp-agent"), Some(agent.ucp_agent()));
    assert_eq!(arrived.header("content-type"), Some("application/json"));
    assert_eq!(arrived.header("accept"), Some("application/json"));
    assert_eq!(arrived.header("accept-encoding"), Some("identity"));
    assert_eq!(arrived.header("accept-language"), Some("de-DE, en;q=0.5"));
    assert_eq!(arrived.header("user-agent"), Some("example/1"));
    assert_eq!(arrived.header("authorization"), None);
    assert_eq!(arrived.header("content-digest"), None);
    assert_eq!(arrived.header("request-signature"), None);
    let keys = response.keys();
    assert_eq!(
        arrived.header("idempotency-key"),
        keys.idempotency_key.as_ref().map(|key| key.as_str())
    );
    assert_eq!(
        arrived.header("request-id"),
        Some(keys.request_id.to_string().as_str())
    );
    assert_eq!(keys.request_id.get_version_num(), 4);

    client.get_checkout("co_1").await.unwrap();
    let arrived = shop.last();
    assert_eq!(arrived.header("idempotency-key"), None);
    assert_eq!(arrived.header("content-type"), None);
    assert!(arrived.header("request-id").is_some());
    assert!(arrived.body.is_empty());

    // Declared or not, what changes state carries a key; a query is the operation's own.
    client.search_catalog().await.unwrap();
    assert_eq!(shop.last().target, "/ucp/v2/catalog/search?page=2&q=a%26b");
    client.cancel_checkout("co_1").await.unwrap();
    let arrived = shop.last();
    assert!(arrived.header("idempotency-key").is_some());
    assert_eq!(arrived.header("content-type"), None);
}

#[tokio::test]
async fn ids_are_one_segment_where_they_arrive() {
    let shop = Shop::open().await;
    let merchant = builder()
        .build()
        .unwrap()
        .connect(&shop.origin)
        .await
        .unwrap();
    let client = Client::new(&merchant);
    for (id, target) in [
        (
            "gid://shop/Checkout/1?key=2#f",
            "gid%3A%2F%2Fshop%2FCheckout%2F1%3Fkey%3D2%23f",
        ),
        ("%2e%2e", "%252e%252e"),
        ("a b", "a%20b"),
        ("é\\", "%C3%A9%5C"),
    ] {
        client.get_checkout(id).await.unwrap();
        assert_eq!(
            shop.last().target,
            format!("/ucp/v2/checkout-sessions/{target}")
        );
    }
    let sent = shop.arrived().len();
    for id in ["", ".", ".."] {
        let error = client.get_checkout(id).await.unwrap_err();
        assert!(matches!(problem(error), RequestError::Path { name, .. } if name == "id"));
    }
    assert_eq!(shop.arrived().len(), sent);
}

#[tokio::test]
async fn what_is_prepared_is_what_is_sent() {
    let shop = Shop::open().await;
    let agent = builder()
        .content_digest()
        .credentials(BTreeMap::from([(
            shop.origin.clone(),
            Credential::bearer("TOKEN").and_api_key("KEY"),
        )]))
        .build()
        .unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    let body =
        json!({"line_items": [], "payment": {"instruments": [{"credential": {"token": "PAN"}}]}});
    let call = Client::new(&merchant)
        .update_checkout("co/1", &body)
        .call_id(("conv", "turn-1"));
    let keys = call.keys().unwrap();
    let prepared = call.prepare().await.unwrap();
    let sent = shop.arrived().len();
    assert_eq!(prepared.idempotency_key(), keys.idempotency_key.as_ref());
    assert_eq!(prepared.request_id(), keys.request_id);
    assert_eq!(prepared.call_id().unwrap().as_str(), "4:conv,6:turn-1,");
    assert_eq!(prepared.body().unwrap(), &body.to_string());

    for _ in 0..2 {
        prepared.send().await.unwrap();
        let arrived = shop.last();
        assert_eq!(arrived.method, *prepared.method());
        assert_eq!(
            format!("{}{}", shop.origin, arrived.target),
            prepared.url().as_str()
        );
        assert_eq!(arrived.body, *prepared.body().unwrap());
        for (name, value) in prepared.headers() {
            assert_eq!(arrived.headers.get(name), Some(value), "{name}");
        }
        // The transport adds what frames the message, and nothing else.
        let added: Vec<&str> = arrived
            .headers
            .keys()
            .filter(|name| !prepared.headers().contains_key(*name))
            .map(HeaderName::as_str)
            .collect();
        assert!(
            added
                .iter()
                .all(|name| ["host", "content-length"].contains(name)),
            "{added:?}"
        );
        assert!(
            arrived
                .header("content-digest")
                .unwrap()
                .starts_with("sha-256=:")
        );
    }
    assert_eq!(shop.arrived().len(), sent + 2);

    let curl = prepared.to_curl();
    assert!(curl.starts_with(&format!("curl -X PUT '{}'", prepared.url())));
    assert!(curl.contains(r#""payment":"[redacted]""#), "{curl}");
    assert!(curl.contains("-H 'authorization: [redacted]'"), "{curl}");
    assert!(curl.contains(&format!("-H 'request-id: {}'", keys.request_id)));
    for secret in ["TOKEN", "KEY", "PAN"] {
        assert!(!curl.contains(secret));
        assert!(!format!("{prepared:?}").contains(secret));
        assert!(prepared.to_curl_with_secrets().contains(secret));
    }
}

#[tokio::test]
async fn digests_cover_bodies_only() {
    let shop = Shop::open().await;
    let agent = builder().content_digest().build().unwrap();
    let client = Client::new(&agent.connect(&shop.origin).await.unwrap());
    client.create_checkout(json!({"a": 1})).await.unwrap();
    assert_eq!(
        shop.last().header("content-digest"),
        Some("sha-256=:AVq9f1zFei3ZS3WQ8ErYCEJzkF7jPsXOvq5iJ2qX+GI=:")
    );
    client.cancel_checkout("co_1").await.unwrap();
    assert_eq!(shop.last().header("content-digest"), None);
}

#[tokio::test]
async fn call_ids_make_the_same_keys_anywhere() {
    let shop = Shop::open().await;
    let keys = |call_id: &'static str| {
        let shop = shop.clone();
        async move {
            let merchant = builder()
                .build()
                .unwrap()
                .connect(&shop.origin)
                .await
                .unwrap();
            let client = Client::new(&merchant);
            let call = client.create_checkout(json!({})).call_id(call_id);
            let other = client
                .cancel_checkout("co_1")
                .call_id(call_id)
                .keys()
                .unwrap();
            let keys = call.keys().unwrap();
            assert_ne!(keys, other);
            assert_ne!(
                keys.idempotency_key.clone().unwrap().to_string(),
                keys.request_id.to_string()
            );
            let response = call.await.unwrap();
            assert_eq!(*response.keys(), keys);
            keys
        }
    };
    assert_eq!(keys("conv-1/1").await, keys("conv-1/1").await);
    assert_ne!(keys("conv-1/1").await, keys("conv-1/2").await);
}

#[tokio::test]
async fn random_ids_are_fixed_for_a_call() {
    struct Counter(Mutex<u8>);
    impl Randomness for Counter {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), BoxError> {
            let mut next = self.0.lock().unwrap();
            *next += 1;
            bytes.fill(*next);
            Ok(())
        }
    }
    let agent = builder()
        .randomness(Counter(Mutex::new(0)))
        .build()
        .unwrap();
    let merchant = Merchant::at(&agent, "https://m.example", "https://m.example", RELEASE).unwrap();
    let call = Client::new(&merchant).create_checkout(json!({}));
    let keys = call.keys().unwrap();
    assert_eq!(
        keys.idempotency_key.clone().unwrap().as_str(),
        "01010101-0101-4101-8101-010101010101"
    );
    assert_eq!(
        keys.request_id.to_string(),
        "02020202-0202-4202-8202-020202020202"
    );
    assert_eq!(call.keys().unwrap(), keys);
    let prepared = call.prepare().await.unwrap();
    assert_eq!(prepared.request_id(), keys.request_id);
}

#[tokio::test]
async fn what_is_prepared_knows_when() {
    struct Stopped;
    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }
    let agent = builder().clock(Stopped).build().unwrap();
    let merchant = Merchant::at(&agent, "https://m.example", "https://m.example", RELEASE).unwrap();
    let prepared = Client::new(&merchant)
        .get_checkout("1")
        .prepare()
        .await
        .unwrap();
    assert_eq!(prepared.created(), Timestamp::UNIX_EPOCH);
}

#[tokio::test]
async fn keys_can_be_set_and_must_make_sense() {
    let agent = Agent::builder(PROFILE).unwrap().build().unwrap();
    let merchant = Merchant::at(&agent, "https://m.example", "https://m.example", RELEASE).unwrap();
    let client = Client::new(&merchant);
    let create = || client.create_checkout(json!({}));
    let prepared = create()
        .idempotency_key(uuid::Uuid::nil())
        .prepare()
        .await
        .unwrap();
    assert_eq!(
        prepared.headers()["idempotency-key"],
        "00000000-0000-0000-0000-000000000000"
    );
    let prepared = create().idempotency_key("my-key").prepare().await.unwrap();
    assert_eq!(prepared.headers()["idempotency-key"], "my-key");
    let prepared = create()
        .exposed_header("Idempotency-Key", "x")
        .exposed_header("Accept-Language", "fr")
        .prepare()
        .await
        .unwrap();
    assert_eq!(prepared.headers()["idempotency-key"], "x");
    assert_eq!(prepared.headers()["accept-language"], "fr");

    let refused = create().idempotency_key("two words").await.unwrap_err();
    assert!(matches!(problem(refused), RequestError::IdempotencyKey));
    let refused = create().call_id("conv-1").await.unwrap_err();
    assert!(matches!(problem(refused), RequestError::NoIdSecret));
    let agent = builder().build().unwrap();
    let merchant = Merchant::at(&agent, "https://m.example", "https://m.example", RELEASE).unwrap();
    let refused = Client::new(&merchant)
        .create_checkout(json!({}))
        .call_id("")
        .await
        .unwrap_err();
    assert!(matches!(problem(refused), RequestError::EmptyCallId));
    let body = BTreeMap::from([((1, 2), 3)]);
    let refused = Call::<support::CreateCheckout>::new(&merchant)
        .body(&body)
        .await
        .unwrap_err();
    assert!(matches!(problem(refused), RequestError::Body { .. }));
}

#[test]
fn agents_refuse_what_cannot_work() {
    for profile in ["/ucp", "http://agent.example", "http://127.0.0.1/p"] {
        let error = Agent::builder(profile)
            .and_then(ucp_runtime::AgentBuilder::build)
            .unwrap_err();
        assert!(
            error.to_string().starts_with("the profile URL is refused"),
            "{error}"
        );
    }
    assert!(
        Agent::builder("http://127.0.0.1/p")
            .unwrap()
            .development()
            .build()
            .is_ok()
    );
    let error = Agent::builder(PROFILE)
        .unwrap()
        .id_secret([0; 31])
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("31 bytes"), "{error}");
    assert!(
        Agent::builder(PROFILE)
            .unwrap()
            .user_agent("a\nb")
            .build()
            .is_err()
    );
    let agent = builder().request_signature("SECRET").build().unwrap();
    assert!(!format!("{agent:?}").contains("SECRET"));
}

#[tokio::test]
async fn a_release_needs_a_merchant_of_its_version() {
    let agent = builder().build().unwrap();
    let merchant = Merchant::at(
        &agent,
        "https://m.example",
        "https://m.example",
        "2026-01-23",
    )
    .unwrap();
    let error = Client::new(&merchant).get_checkout("1").await.unwrap_err();
    assert!(
        matches!(problem(error), RequestError::Release { release: RELEASE, version } if version == "2026-01-23")
    );
}

#[tokio::test]
async fn january_needs_a_request_signature() {
    let old = |agent: &Agent| {
        Merchant::at(
            agent,
            "https://m.example",
            "https://m.example",
            "2026-01-11",
        )
        .unwrap()
    };
    let agent = builder().build().unwrap();
    let error = Client::new(&old(&agent))
        .old_create(json!({}))
        .await
        .unwrap_err();
    assert!(matches!(problem(error), RequestError::NoRequestSignature));
    let agent = builder().request_signature("opaque").build().unwrap();
    let prepared = Client::new(&old(&agent))
        .old_create(json!({}))
        .prepare()
        .await
        .unwrap();
    assert_eq!(prepared.headers()["request-signature"], "opaque");
    assert!(!prepared.to_curl().contains("opaque"));
    // A later release does not declare it.
    let merchant = Merchant::at(&agent, "https://m.example", "https://m.example", RELEASE).unwrap();
    let prepared = Client::new(&merchant)
        .create_checkout(json!({}))
        .prepare()
        .await
        .unwrap();
    assert!(!prepared.headers().contains_key("request-signature"));
}

#[tokio::test]
async fn credentials_reach_their_own_merchant_only() {
    let (a, b, c) = (Shop::open().await, Shop::open().await, Shop::open().await);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (origin_a, origin_b, log) = (a.origin.clone(), b.origin.clone(), asked.clone());
    let agent = builder()
        .credentials(move |origin: String| {
            log.lock().unwrap().push(origin.clone());
            let credential = if origin == origin_a {
                Some(Credential::bearer("for-a"))
            } else if origin == origin_b {
                Some(Credential::api_key("for-b"))
            } else {
                None
            };
            async move { Ok::<_, BoxError>(credential) }
        })
        .build()
        .unwrap();
    for shop in [&a, &b, &c] {
        let merchant = agent.connect(&shop.origin).await.unwrap();
        assert_eq!(
            shop.last().header("authorization"),
            None,
            "discovery is anonymous"
        );
        Client::new(&merchant).get_checkout("1").await.unwrap();
    }
    assert_eq!(
        *asked.lock().unwrap(),
        [a.origin.clone(), b.origin.clone(), c.origin.clone()]
    );
    let seen = |shop: &Shop| {
        let arrived = shop.last();
        (
            arrived.header("authorization").map(str::to_owned),
            arrived.header("x-api-key").map(str::to_owned),
        )
    };
    assert_eq!(seen(&a), (Some("Bearer for-a".into()), None));
    assert_eq!(seen(&b), (None, Some("for-b".into())));
    assert_eq!(seen(&c), (None, None));

    let agent = builder()
        .credentials(|_| async { Err::<_, BoxError>("vault is sealed".into()) })
        .build()
        .unwrap();
    let merchant = Merchant::at(&agent, &a.origin, &a.origin, RELEASE).unwrap();
    let error = Client::new(&merchant).get_checkout("1").await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "vault is sealed");
    assert!(
        matches!(problem(error), RequestError::Credential { origin, .. } if origin == a.origin)
    );
}

fn adding(name: &'static str, value: &'static str) -> impl ucp_runtime::PrepareRequest {
    move |_: Outgoing| async move {
        let mut headers = HeaderMap::new();
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        Ok::<_, BoxError>(Additions::from(headers))
    }
}

#[tokio::test]
async fn hooks_see_what_will_be_sent_and_add_to_it() {
    let shop = Shop::open().await;
    let seen = Arc::new(Mutex::new(None));
    let log = seen.clone();
    let agent = builder()
        .content_digest()
        .prepare_request(adding("x-first", "1"))
        .prepare_request(adding("x-first", "2"))
        .prepare_request(move |request: Outgoing| {
            *log.lock().unwrap() = Some(request);
            async { Ok::<_, BoxError>(Additions::default()) }
        })
        .prepare_request(adding("authorization", "Custom x"))
        .build()
        .unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    Client::new(&merchant)
        .update_checkout("1", json!({"a": 1}))
        .call_id("id")
        .await
        .unwrap();
    let arrived = shop.last();
    let seen = seen.lock().unwrap().take().unwrap();
    assert_eq!(seen.operation.id, "update_checkout");
    assert_eq!(seen.method, arrived.method);
    assert_eq!(
        seen.url.as_str(),
        format!("{}{}", shop.origin, arrived.target)
    );
    assert_eq!(seen.body, arrived.body);
    assert_eq!(seen.origin, shop.origin);
    assert_eq!(seen.call_id.as_ref().map(|id| id.as_str()), Some("id"));
    assert_eq!(seen.headers["x-first"], "2");
    assert_eq!(seen.headers["ucp-agent"], agent.ucp_agent());
    assert!(
        !seen.headers.contains_key("content-digest"),
        "the digest comes last"
    );
    assert_eq!(arrived.header("x-first"), Some("2"));
    assert_eq!(arrived.header("authorization"), Some("Custom x"));
    assert!(!format!("{seen:?}").contains("\"a\""));
}

#[tokio::test]
async fn hooks_cannot_displace_what_the_runtime_manages() {
    let shop = Shop::open().await;
    let sent_by = |hooked: ucp_runtime::AgentBuilder| {
        let shop = shop.clone();
        async move {
            let agent = hooked.build().unwrap();
            let merchant = Merchant::at(&agent, &shop.origin, &shop.origin, RELEASE).unwrap();
            Client::new(&merchant).create_checkout(json!({})).await
        }
    };
    for name in [
        "ucp-agent",
        "idempotency-key",
        "request-id",
        "content-type",
        "accept",
        "accept-encoding",
        "accept-language",
        "user-agent",
        "content-digest",
        "signature",
        "signature-input",
        "request-signature",
        "x-api-key",
        "host",
        "content-length",
        "transfer-encoding",
    ] {
        let error = sent_by(builder().prepare_request(adding(name, "1")))
            .await
            .unwrap_err();
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        assert!(
            matches!(problem(error), RequestError::Header { name: found, .. } if found == name)
        );
    }
    let with_credential = builder()
        .credentials(BTreeMap::from([(
            shop.origin.clone(),
            Credential::api_key("k"),
        )]))
        .prepare_request(adding("authorization", "Bearer stolen"));
    let error = sent_by(with_credential).await.unwrap_err();
    assert!(matches!(problem(error), RequestError::Header { name, .. } if name == "authorization"));

    let failing = builder()
        .prepare_request(|_: Outgoing| async { Err::<Additions, BoxError>("no quota".into()) });
    let error = sent_by(failing).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`create_checkout` was not sent: a `prepare_request` hook stopped it"
    );
    assert_eq!(
        std::error::Error::source(&error).unwrap().to_string(),
        "no quota"
    );
    assert!(shop.arrived().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn an_argument_cannot_displace_a_credential() {
    let agent = builder()
        .credentials(BTreeMap::from([(
            "https://m.example".to_owned(),
            Credential::bearer("mine"),
        )]))
        .build()
        .unwrap();
    let merchant = Merchant::at(&agent, "https://m.example", "https://m.example", RELEASE).unwrap();
    for name in ["Authorization", "X-API-Key", "Host"] {
        let call = Client::new(&merchant)
            .create_checkout(json!({}))
            .exposed_header(name, "other");
        assert!(
            matches!(
                problem(call.await.unwrap_err()),
                RequestError::Header { .. }
            ),
            "{name}"
        );
    }
}

#[tokio::test]
async fn discovery_errors_say_what_was_found() {
    let agent = builder().build().unwrap();
    let problem_at = |bytes: Vec<u8>| {
        let agent = agent.clone();
        async move {
            let origin = support::answering(bytes).await;
            let error = agent.connect(&origin).await.unwrap_err();
            let kept = error
                .response()
                .map(|response| (response.status().as_u16(), response.bytes().clone()));
            match error {
                Error::Discovery(error) => (error.to_string(), error, kept.unwrap()),
                other => panic!("{other:?}"),
            }
        }
    };
    let moved = support::http(
        "301 Moved",
        "Location: https://www.m.example/.well-known/ucp\r\n",
        "",
    );
    let (text, found, _) = problem_at(moved).await;
    assert!(
        matches!(&found.problem, DiscoveryProblem::Redirect { to } if to == "https://www.m.example/.well-known/ucp")
    );
    assert!(
        text.contains("it redirects to https://www.m.example/.well-known/ucp"),
        "{text}"
    );

    let wall = support::http(
        "403 Forbidden",
        "Content-Type: text/html\r\n",
        "<html>bot?</html>",
    );
    let (_, found, kept) = problem_at(wall).await;
    assert!(matches!(found.problem, DiscoveryProblem::Blocked(status) if status == 403));
    assert_eq!(kept, (403, "<html>bot?</html>".into()));

    let soft_404 = support::http("200 OK", "Content-Type: text/html\r\n", "<html>404</html>");
    let (text, found, kept) = problem_at(soft_404).await;
    assert!(matches!(found.problem, DiscoveryProblem::Body(_)));
    assert_eq!(kept.1, "<html>404</html>");
    assert!(
        text.ends_with("its body is an HTML page, so there is no profile to read"),
        "{text}"
    );

    let flat = support::http(
        "200 OK",
        "Content-Type: application/json\r\n",
        r#"{"version":"2026-04-08"}"#,
    );
    let (text, ..) = problem_at(flat).await;
    assert!(
        text.ends_with("(a `version` at the root does not count)"),
        "{text}"
    );

    let long = support::http(
        "200 OK",
        "Content-Type: application/json\r\n",
        &" ".repeat(300 * 1024),
    );
    let (_, found, kept) = problem_at(long).await;
    assert!(matches!(
        found.problem,
        DiscoveryProblem::TooLong { limit: 262_144 }
    ));
    assert_eq!(kept.1.len(), 4 * 1024);

    for origin in [
        "http://m.example",
        "https://m.example/x",
        "m.example",
        "https://u:SECRET@m.example",
    ] {
        let error = agent.connect(origin).await.unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{origin}");
        assert!(!error.to_string().contains("SECRET"));
    }
    let strict = Agent::builder(PROFILE).unwrap().build().unwrap();
    let error = strict.connect("http://127.0.0.1:1").await.unwrap_err();
    assert!(error.to_string().contains("development()"), "{error}");
    // Nobody listens there, so nothing was sent.
    match agent.connect("http://127.0.0.1:1").await.unwrap_err() {
        Error::Discovery(error) => assert!(
            matches!(&error.problem, DiscoveryProblem::NoAnswer(error) if !error.may_have_arrived())
        ),
        other => panic!("{other:?}"),
    }
}
