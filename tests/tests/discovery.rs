//! Finding a merchant and agreeing with it, over real HTTP on loopback: the cases of implementers
//! under their numbers, what is remembered, and the profiles of merchants that we did not write.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use ucp_runtime::error::{DiscoveryError, DiscoveryProblem};
use ucp_runtime::fetch::Resolver;
use ucp_runtime::jiff::{SignedDuration, Timestamp};
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::{
    Agent, AgentBuilder, BoxError, BoxFuture, Clock, Discovery, Error, KeySource, Merchant, Release,
};
use ucp_tests::golden::{shopping_2026_04_08 as april, shopping_draft as draft};
use ucp_tests::shared;

const WELL_KNOWN: &str = "/.well-known/ucp";

/// What is served at a path.
#[derive(Clone)]
struct Page {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
}

/// A merchant's server whose pages can be changed, and which keeps what it is asked.
#[derive(Clone)]
struct Shop {
    origin: String,
    port: u16,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    asked: Arc<Mutex<Vec<(String, HeaderMap)>>>,
}

impl Shop {
    async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shop = Self {
            origin: format!("http://127.0.0.1:{port}"),
            port,
            pages: Arc::default(),
            asked: Arc::default(),
        };
        let state = shop.clone();
        let app = Router::new().fallback(move |request: Request| {
            let shop = state.clone();
            async move { shop.answer(&request) }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        shop
    }

    fn answer(&self, request: &Request) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let headers = request.headers().clone();
        self.asked.lock().unwrap().push((path.clone(), headers));
        let Some(page) = self.pages.lock().unwrap().get(&path).cloned() else {
            let absent = Response::builder().status(404);
            return absent.body(Body::empty()).unwrap();
        };
        let etag = page.headers.iter().find(|(name, _)| *name == "etag");
        let condition = request.headers().get("if-none-match");
        let is_same = etag.is_some_and(|(_, etag)| condition.is_some_and(|of| of == etag));
        let mut response = Response::builder().status(if is_same { 304 } else { page.status });
        for (name, value) in &page.headers {
            response = response.header(*name, *value);
        }
        let body = if is_same {
            Body::empty()
        } else {
            page.body.into()
        };
        response.body(body).unwrap()
    }

    fn put(
        &self,
        path: &str,
        status: u16,
        headers: &[(&'static str, &'static str)],
        body: impl ToString,
    ) {
        let page = Page {
            status,
            headers: headers.to_vec(),
            body: body.to_string(),
        };
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    fn put_profile(&self, headers: &[(&'static str, &'static str)], profile: &Value) {
        let json = [&[("content-type", "application/json")], headers].concat();
        self.put(WELL_KNOWN, 200, &json, profile);
    }

    fn profile(&self, version: &str) -> Value {
        json!({"ucp": {
            "version": version,
            "services": {"dev.ucp.shopping": [
                {"version": version, "transport": "rest", "endpoint": format!("{}/ucp", self.origin)},
            ]},
            "capabilities": {"dev.ucp.shopping.checkout": [{"version": version}]},
            "payment_handlers": {},
        }})
    }

    /// How often a path was asked for.
    fn asked(&self, path: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(of, _)| of == path).count()
    }

    /// A header of the last request for a path.
    fn heard(&self, path: &str, header: &str) -> Option<String> {
        let asked = self.asked.lock().unwrap();
        let (_, headers) = asked.iter().rfind(|(of, _)| of == path)?;
        Some(headers.get(header)?.to_str().unwrap().to_owned())
    }
}

/// A clock that is set by hand.
#[derive(Clone)]
struct Hands(Arc<Mutex<Timestamp>>);

impl Hands {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(
            "2026-12-01T00:00:00Z".parse().unwrap(),
        )))
    }

    fn forward(&self, seconds: i64) {
        *self.0.lock().unwrap() += SignedDuration::from_secs(seconds);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// Answers each question with the next list of addresses, and the last one over and over.
#[derive(Clone, Default)]
struct Answers {
    lists: Arc<Mutex<Vec<Vec<IpAddr>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    fn of(lists: &[&[&str]]) -> Self {
        let parse = |list: &&[&str]| {
            list.iter()
                .map(|address| address.parse().unwrap())
                .collect()
        };
        Self {
            lists: Arc::new(Mutex::new(lists.iter().rev().map(parse).collect())),
            asked: Arc::default(),
        }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Resolver for Answers {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, BoxError>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut lists = self.lists.lock().unwrap();
        let list = match lists.len() {
            0 | 1 => lists.last().cloned().unwrap_or_default(),
            _ => lists.pop().unwrap(),
        };
        Box::pin(std::future::ready(Ok(list)))
    }
}

fn builder() -> AgentBuilder {
    Agent::builder("https://agent.example/.well-known/ucp").unwrap()
}

fn agent() -> Agent {
    builder().development().build().unwrap()
}

fn of_april() -> AgentBuilder {
    builder().development().release(april::RELEASE)
}

async fn fails(agent: &Agent, origin: &str) -> Arc<DiscoveryError> {
    match agent.connect(origin).await {
        Err(Error::Discovery(error)) => error,
        other => panic!("{origin}: {other:?}"),
    }
}

fn key(kid: &str) -> Value {
    json!({"kid": kid, "kty": "EC", "crv": "P-256", "x": "x", "y": "y"})
}

async fn kids(agent: &Agent, origin: &str) -> Vec<String> {
    let keys = agent.keys(origin).await.unwrap();
    keys.keys.iter().map(|key| key.kid.clone()).collect()
}

#[tokio::test]
async fn c84_keys_are_those_of_the_profile_that_is_spoken() {
    let shop = Shop::open().await;
    let mut top = shop.profile("2026-08-22");
    top["keys"] = json!([key("new")]);
    top["signing_keys"] = json!([key("never")]);
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    shop.put_profile(&[], &top);
    let mut leaf = shop.profile("2026-04-08");
    leaf["keys"] = json!([key("never")]);
    leaf["signing_keys"] = json!([key("old")]);
    shop.put(
        "/april",
        200,
        &[("content-type", "application/json")],
        &leaf,
    );
    let april = of_april().build().unwrap();
    assert_eq!(kids(&april, &shop.origin).await, ["old"]);
    let draft = builder()
        .development()
        .release(draft::RELEASE)
        .build()
        .unwrap();
    assert_eq!(kids(&draft, &shop.origin).await, ["new"]);
}

#[tokio::test]
async fn c85_an_unknown_key_asks_once_a_minute() {
    let shop = Shop::open().await;
    let clock = Hands::new();
    let agent = of_april().clock(clock.clone()).build().unwrap();
    let publish = |kid: &str| {
        let mut profile = shop.profile("2026-04-08");
        profile["signing_keys"] = json!([key(kid)]);
        shop.put_profile(&[("cache-control", "public, max-age=3600")], &profile);
    };
    publish("a");
    let found = async |kid: &str| agent.find(&shop.origin, kid).await.unwrap().len();
    assert_eq!((found("a").await, shop.asked(WELL_KNOWN)), (1, 1));
    assert_eq!((found("a").await, shop.asked(WELL_KNOWN)), (1, 1));
    // The first unknown id asks anew, and others within the minute do not.
    assert_eq!((found("b").await, shop.asked(WELL_KNOWN)), (0, 2));
    publish("b");
    clock.forward(59);
    assert_eq!((found("b").await, shop.asked(WELL_KNOWN)), (0, 2));
    assert_eq!((found("a").await, shop.asked(WELL_KNOWN)), (1, 2));
    clock.forward(1);
    assert_eq!((found("b").await, shop.asked(WELL_KNOWN)), (1, 3));
    // What is no longer published counts no longer, at once.
    assert_eq!((found("a").await, shop.asked(WELL_KNOWN)), (0, 3));
    // A refresh that fails says so, and costs nothing that is known.
    clock.forward(60);
    shop.put(WELL_KNOWN, 500, &[], "");
    assert!(agent.find(&shop.origin, "c").await.is_err());
    assert_eq!((found("b").await, shop.asked(WELL_KNOWN)), (1, 4));
    // Of many who ask at once, one fetches.
    clock.forward(60);
    publish("d");
    let many = (0..100).map(|_| {
        let (agent, origin) = (agent.clone(), shop.origin.clone());
        tokio::spawn(async move { agent.find(&origin, "d").await.unwrap().len() })
    });
    for one in many.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), 1);
    }
    assert_eq!(shop.asked(WELL_KNOWN), 5);
}

#[tokio::test]
async fn c93_no_redirect_is_followed() {
    let shop = Shop::open().await;
    let target = Shop::open().await;
    target.put_profile(&[], &target.profile("2026-04-08"));
    let to: &'static str = format!("{}{WELL_KNOWN}?a=b", target.origin).leak();
    for status in [301, 302, 303, 307, 308] {
        shop.put(WELL_KNOWN, status, &[("location", to)], "");
        let error = fails(&agent(), &shop.origin).await;
        assert!(
            matches!(&error.problem, DiscoveryProblem::Redirect { to } if *to == format!("{}{WELL_KNOWN}", target.origin)),
            "{error}"
        );
    }
    // Nor for a profile that is named for another version.
    let mut top = shop.profile("2026-08-22");
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    shop.put_profile(&[], &top);
    shop.put("/april", 301, &[("location", to)], "");
    let error = fails(&of_april().build().unwrap(), &shop.origin).await;
    assert!(matches!(&error.problem, DiscoveryProblem::Redirect { .. }));
    assert_eq!(error.url.path(), "/april");
    assert_eq!(target.asked(WELL_KNOWN), 0);
}

#[tokio::test]
async fn c94_special_use_addresses_get_no_request() {
    // As they stand in the URL, in whatever form: no resolver sees those.
    for origin in [
        "https://169.254.169.254",
        "https://10.0.0.5",
        "https://0x0a000005",
        "https://167772165",
        "https://[::ffff:10.0.0.5]",
        "https://[64:ff9b::a00:5]",
        "https://[fd00::1]",
        "https://[fe80::1]",
        "https://127.0.0.1",
        "https://[::1]",
        "https://localhost",
        "https://shop.localhost.",
        "http://shop.example",
    ] {
        let answers = Answers::of(&[&["8.8.8.8"]]);
        let agent = builder().resolver(answers.clone()).build().unwrap();
        let error = agent.connect(origin).await.unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{origin}: {error}");
        assert_eq!(answers.asked(), 0);
    }
    // As a name resolves to them.
    for address in [
        "10.0.0.5",
        "127.0.0.1",
        "169.254.169.254",
        "100.64.1.1",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:5",
        "2002:7f00:1::1",
        "fd00::5",
        "fe80::5",
    ] {
        let answers = Answers::of(&[&[address]]);
        let agent = builder().resolver(answers.clone()).build().unwrap();
        let error = fails(&agent, "https://shop.example").await;
        match &error.problem {
            DiscoveryProblem::SpecialUse(refused) => {
                assert_eq!(refused.host, "shop.example");
                assert_eq!(refused.addresses, [address.parse::<IpAddr>().unwrap()]);
            }
            other => panic!("{address}: {other:?}"),
        }
        assert_eq!(answers.asked(), 1);
    }
}

/// Development lets loopback through and nothing else, whatever is named by whom.
#[tokio::test]
async fn c94_what_a_profile_names_is_held_to_the_same() {
    let shop = Shop::open().await;
    let answers = Answers::of(&[&["10.0.0.5"]]);
    let agent = of_april().resolver(answers).build().unwrap();
    for (url, reason) in [
        ("https://leaf.example/p", None),
        ("http://leaf.example/p", Some("its scheme is not https")),
        (
            "https://10.0.0.5/p",
            Some("its host is an address for special use (RFC 6890)"),
        ),
        (
            "https://[::ffff:a00:5]/p",
            Some("its host is an address for special use (RFC 6890)"),
        ),
    ] {
        let mut top = shop.profile("2026-08-22");
        top["ucp"]["supported_versions"] = json!({"2026-04-08": url});
        // Under an origin of its own each, since failures are remembered.
        let shop = Shop::open().await;
        shop.put_profile(&[], &top);
        let error = fails(&agent, &shop.origin).await;
        match (&error.problem, reason) {
            (DiscoveryProblem::SpecialUse(_), None) => assert_eq!(error.url.as_str(), url),
            (DiscoveryProblem::NoRelease(refused), Some(reason)) => {
                assert_eq!(refused.refused, [("2026-04-08".to_owned(), reason)]);
            }
            other => panic!("{url}: {other:?}"),
        }
    }
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["services"]["dev.ucp.shopping"][0]["endpoint"] =
        json!("https://192.168.0.1/ucp");
    shop.put_profile(&[], &profile);
    let error = fails(&agent, &shop.origin).await.to_string();
    assert!(
        error.contains("the endpoint `https://192.168.0.1/ucp` is refused: its host is an address for special use"),
        "{error}"
    );
}

/// The name is resolved once for a connection, and the connection goes to what was checked; a later
/// answer is checked anew.
#[tokio::test]
async fn c94_a_name_that_is_bound_anew_leads_nowhere() {
    let shop = Shop::open().await;
    let host = format!("http://shop.localhost:{}", shop.port);
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["services"]["dev.ucp.shopping"][0]["endpoint"] = json!(format!("{host}/ucp"));
    shop.put_profile(&[("connection", "close")], &profile);
    let answers = Answers::of(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let agent = of_april().resolver(answers.clone()).build().unwrap();
    let merchant = agent.connect(&host).await.unwrap();
    assert_eq!(answers.asked(), 1);
    let error = april::Client::new(&merchant)
        .get_checkout("1")
        .await
        .unwrap_err();
    let Error::Transport(error) = error else {
        panic!("{error:?}")
    };
    assert!(!error.error.may_have_arrived());
    let mut cause: &dyn std::error::Error = &*error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    assert_eq!(
        cause.to_string(),
        "shop.localhost is at 169.254.169.254, which is for special use (RFC 6890): nothing is sent there"
    );
    assert_eq!(
        (answers.asked(), shop.asked("/ucp/checkout-sessions/1")),
        (2, 0)
    );
}

#[tokio::test]
async fn c96_the_leaf_counts_alone_and_must_be_what_it_was_named_for() {
    let shop = Shop::open().await;
    let mut top = shop.profile("2026-08-25");
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    top["ucp"]["capabilities"]["dev.ucp.shopping.cart"] = json!([{"version": "2026-04-08"}]);
    top["ucp"]["services"] = json!("a shape still to come");
    shop.put_profile(&[], &top);
    let json = [("content-type", "application/json")];
    shop.put("/april", 200, &json, &shop.profile("2026-04-08"));
    let agent = of_april().build().unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    assert_eq!(merchant.version(), "2026-04-08");
    let agreed = merchant.negotiated().unwrap().capabilities();
    assert_eq!(
        agreed.keys().collect::<Vec<_>>(),
        ["dev.ucp.shopping.checkout"]
    );

    let other = Shop::open().await;
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", other.origin)});
    other.put_profile(&[], &top);
    let mut wrong = other.profile("2026-01-23");
    wrong["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    other.put("/april", 200, &json, &wrong);
    let error = fails(&agent, &other.origin).await;
    assert_eq!(
        error.to_string(),
        format!(
            "no merchant at {0}/april: the profile at {0}/april is of version 2026-01-23, and was named for 2026-04-08",
            other.origin
        )
    );
    assert_eq!(shop.asked("/april"), 1);
}

#[tokio::test]
async fn c98_a_refusal_lists_what_was_offered() {
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["services"]["dev.ucp.shopping"] = json!([
        {"transport": "mcp", "version": "2026-08-25", "endpoint": "https://m.example/mcp"},
        {"transport": "embedded", "version": "2026-04-08"},
    ]);
    shop.put_profile(&[], &profile);
    let error = fails(&of_april().build().unwrap(), &shop.origin).await;
    assert_eq!(
        error.problem.to_string(),
        "its profile of version 2026-04-08 offers no usable REST endpoint for dev.ucp.shopping: \
         mcp 2026-08-25 (not the REST transport), embedded 2026-04-08 (not the REST transport)"
    );
    let DiscoveryProblem::NoEndpoint { offers, .. } = &error.problem else {
        panic!("{error:?}")
    };
    assert_eq!(offers[1].transport, "embedded");
}

#[tokio::test]
async fn c99_and_c102_what_is_missing_is_noted() {
    let shop = Shop::open().await;
    let services = shop.profile("2026-04-08")["ucp"]["services"].clone();
    shop.put_profile(
        &[],
        &json!({"version": "2026-01-23", "ucp": {"version": "2026-04-08", "services": services}}),
    );
    let merchant = of_april()
        .build()
        .unwrap()
        .connect(&shop.origin)
        .await
        .unwrap();
    assert_eq!(merchant.version(), "2026-04-08");
    let agreed = merchant.negotiated().unwrap();
    assert!(agreed.capabilities().is_empty());
    let notes: Vec<String> = agreed.notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes, ["$.ucp.payment_handlers: it is absent"]);
}

#[tokio::test]
async fn c100_no_schema_is_ever_asked_for() {
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["capabilities"]["dev.ucp.shopping.cart"] = json!([{"version": "2026-04-08", "schema": format!("https://ucp.dev@127.0.0.1:{}/x", shop.port)}]);
    shop.put_profile(&[], &profile);
    let merchant = of_april()
        .build()
        .unwrap()
        .connect(&shop.origin)
        .await
        .unwrap();
    let agreed = merchant.negotiated().unwrap();
    assert!(agreed.has("dev.ucp.shopping.checkout") && !agreed.has("dev.ucp.shopping.cart"));
    let text = agreed.explain().to_string();
    let line =
        "capability dev.ucp.shopping.cart 2026-04-08: its schema's URL carries user information";
    assert!(text.contains(line), "{text}");
    assert_eq!(shop.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn c103_an_endpoint_that_is_not_there_is_said_and_nothing_else_is_tried() {
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    let services = profile["ucp"]["services"]["dev.ucp.shopping"]
        .as_array_mut()
        .unwrap();
    services.push(json!({"version": "2026-04-08", "transport": "mcp", "endpoint": format!("{}/mcp", shop.origin)}));
    shop.put_profile(&[], &profile);
    let agent = of_april().build().unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    let client = april::Client::new(&merchant);
    for (status, body, is_unavailable) in [
        (404, "<html>Not here</html>", true),
        (501, "", true),
        (
            404,
            r#"{"code": "not_found", "content": "No such session"}"#,
            false,
        ),
        (500, "", false),
    ] {
        shop.put("/ucp/checkout-sessions/1", status, &[], body);
        match client.get_checkout("1").await {
            Err(Error::Status(error)) => {
                assert_eq!(error.is_endpoint_unavailable(), is_unavailable, "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(shop.asked("/mcp"), 0);
}

#[tokio::test]
async fn c104_a_wall_is_not_run_against() {
    let shop = Shop::open().await;
    let clock = Hands::new();
    let agent = of_april().clock(clock.clone()).build().unwrap();
    let html = [("content-type", "text/html")];
    shop.put(WELL_KNOWN, 403, &html, "<html>Are you a robot?</html>");
    for _ in 0..10 {
        let error = fails(&agent, &shop.origin).await;
        assert!(matches!(
            error.problem,
            DiscoveryProblem::Blocked(StatusCode::FORBIDDEN)
        ));
        let kept = error.response.as_ref().unwrap();
        assert_eq!(kept.bytes().as_ref(), b"<html>Are you a robot?</html>");
    }
    assert_eq!(shop.asked(WELL_KNOWN), 1);
    clock.forward(10);
    shop.put(WELL_KNOWN, 200, &html, "<html>Not found</html>");
    let error = fails(&agent, &shop.origin).await;
    assert!(
        error
            .to_string()
            .ends_with("its body is an HTML page, so there is no profile to read")
    );
    assert_eq!(shop.asked(WELL_KNOWN), 2);
    clock.forward(10);
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    assert!(agent.connect(&shop.origin).await.is_ok());
}

#[tokio::test]
async fn c105_and_c107_agreement_is_by_version() {
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["capabilities"]["com.acme.loyalty"] =
        json!([{"version": "2026-06-01"}, {"version": "2026-07-01"}]);
    shop.put_profile(&[], &profile);
    let ours = april::RELEASE
        .capability("com.acme.loyalty", "2026-06-01")
        .capability("com.acme.loyalty", "2026-08-01");
    let agent = builder().development().release(ours).build().unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    let agreed = merchant.negotiated().unwrap();
    assert_eq!(
        agreed.capabilities()["com.acme.loyalty"].version,
        "2026-06-01"
    );
    // What the generated contract requires is held against what was selected: split payments want
    // a checkout, which this business does not have.
    let shop = Shop::open().await;
    let version = draft::RELEASE;
    let version = version.version();
    let mut profile = shop.profile(version);
    profile["ucp"]["capabilities"] = json!({
        "dev.ucp.shopping.split_payments": [{"version": version}],
        "dev.ucp.shopping.cart": [{"version": version}],
    });
    shop.put_profile(&[], &profile);
    let agent = builder()
        .development()
        .release(draft::RELEASE)
        .build()
        .unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    let agreed = merchant.negotiated().unwrap();
    assert_eq!(
        agreed.capabilities().keys().collect::<Vec<_>>(),
        ["dev.ucp.shopping.cart"]
    );
    let text = agreed.explain().to_string();
    let line = format!(
        "capability dev.ucp.shopping.split_payments {version}: it requires dev.ucp.shopping.checkout 2026-01-23 or later, which was not selected"
    );
    assert!(text.contains(&line), "{text}");
}

#[tokio::test]
async fn c108_an_answer_uses_what_it_lists_of_what_was_agreed() {
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["capabilities"]["dev.ucp.shopping.cart"] = json!([{"version": "2026-04-08"}]);
    shop.put_profile(&[], &profile);
    let merchant = of_april()
        .build()
        .unwrap()
        .connect(&shop.origin)
        .await
        .unwrap();
    let checkout = json!({
        "ucp": {
            "version": "2026-08-25",
            "capabilities": {
                "dev.ucp.shopping.checkout": [{"version": "2026-04-08"}],
                "dev.ucp.shopping.discount": [{"version": "2026-04-08"}],
            },
            "payment_handlers": {"com.b.pay": [], "com.a.pay": [], "com.c.pay": []},
            "map_order": {"payment_handlers": ["com.c.pay"]},
        },
        "id": "1", "line_items": [], "status": "incomplete", "currency": "EUR", "totals": [], "links": [],
    });
    shop.put(
        "/ucp/checkout-sessions/1",
        200,
        &[("content-type", "application/json")],
        &checkout,
    );
    let response = april::Client::new(&merchant)
        .get_checkout("1")
        .await
        .unwrap();
    let context = response.context();
    let active = context.active().unwrap();
    assert_eq!(
        active.capabilities.keys().collect::<Vec<_>>(),
        [&"dev.ucp.shopping.checkout"]
    );
    assert_eq!(active.unexpected, ["dev.ucp.shopping.discount"]);
    let anomalies: Vec<String> = response
        .anomalies()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        anomalies,
        ["ucp.version is 2026-08-25, where the merchant speaks 2026-04-08"]
    );
    let handlers: Vec<&str> = context
        .in_order("payment_handlers")
        .map(|(name, _)| name)
        .collect();
    assert_eq!(handlers, ["com.c.pay", "com.a.pay", "com.b.pay"]);
    assert_eq!(merchant.version(), "2026-04-08");
}

#[test]
fn c109_what_extends_another_resource_is_kept_untyped() -> Result<(), serde_json::Error> {
    let sent = json!({
        "ucp": {"version": "2026-04-08", "capabilities": {"dev.ucp.shopping.fulfillment": [{"version": "2026-04-08"}]}},
        "id": "cart_1", "line_items": [], "currency": "EUR", "totals": [],
        "fulfillment": {"methods": [{"id": "m_1", "type": "shipping"}]},
    });
    let cart: april::Cart = serde_json::from_value(sent.clone())?;
    assert_eq!(cart.extra["fulfillment"], sent["fulfillment"]);
    assert_eq!(serde_json::to_value(&cart)?, sent);
    Ok(())
}

/// Names move between releases, so each generated client brings its own.
#[tokio::test]
async fn c111_names_are_those_of_the_generated_contract() {
    for (release, version) in [
        (april::RELEASE, "2026-04-08"),
        (draft::RELEASE, "2026-08-22"),
    ] {
        assert!(release.capabilities().all(|(_, of)| of == version));
        assert_eq!(release.service(), "dev.ucp.shopping");
    }
    let has = |release: &Release, name: &str| release.capabilities().any(|(of, _)| of == name);
    assert!(has(&draft::RELEASE, "dev.ucp.common.loyalty"));
    assert!(!has(&april::RELEASE, "dev.ucp.common.loyalty"));
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    let moved = "dev.ucp.common.payment.ap2_mandate";
    profile["ucp"]["capabilities"][moved] =
        json!([{"version": "2026-04-08", "extends": "dev.ucp.shopping.checkout"}]);
    shop.put_profile(&[], &profile);
    let merchant = of_april()
        .build()
        .unwrap()
        .connect(&shop.origin)
        .await
        .unwrap();
    let text = merchant.negotiated().unwrap().explain().to_string();
    for line in [
        format!("capability {moved}: we do not offer it\n"),
        "capability dev.ucp.shopping.ap2_mandate: the business does not offer it\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line}{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_who_ask_at_once_make_one_fetch() {
    let shop = Shop::open().await;
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    let agent = of_april().build().unwrap();
    let many = (0..1000).map(|_| {
        let (agent, origin) = (agent.clone(), shop.origin.clone());
        tokio::spawn(async move { agent.connect(&origin).await.unwrap().version().to_owned() })
    });
    for one in many.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), "2026-04-08");
    }
    assert_eq!(shop.asked(WELL_KNOWN), 1);
    // A failure is shared as well.
    let closed = Shop::open().await;
    let many = (0..1000).map(|_| {
        let (agent, origin) = (agent.clone(), closed.origin.clone());
        tokio::spawn(async move { fails(&agent, &origin).await })
    });
    for one in many.collect::<Vec<_>>() {
        let error = one.await.unwrap();
        assert!(matches!(
            error.problem,
            DiscoveryProblem::Status(StatusCode::NOT_FOUND)
        ));
    }
    assert_eq!(closed.asked(WELL_KNOWN), 1);
}

/// Whoever began the fetch may lose interest; those who wait do not lose by it.
#[tokio::test]
async fn one_who_hangs_up_does_not_hold_up_the_others() {
    let shop = Shop::open().await;
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    let agent = of_april().build().unwrap();
    let mut impatient = Box::pin(agent.connect(&shop.origin));
    let once = std::future::poll_fn(|context| {
        std::task::Poll::Ready(impatient.as_mut().poll(context).is_pending())
    });
    assert!(once.await);
    drop(impatient);
    assert!(agent.connect(&shop.origin).await.is_ok());
}

#[tokio::test]
async fn a_profile_is_fresh_for_a_minute_at_least_and_then_as_its_server_says() {
    for (headers, seconds) in [
        (&[("cache-control", "no-store")][..], 60),
        (&[("cache-control", "private, no-cache, max-age=600")], 60),
        (&[("cache-control", "public, max-age=10")], 60),
        (&[], 60),
        (&[("cache-control", "public, max-age=600")], 600),
        (
            &[("cache-control", "public, max-age=600"), ("age", "60")],
            540,
        ),
    ] {
        let shop = Shop::open().await;
        shop.put_profile(headers, &shop.profile("2026-04-08"));
        let clock = Hands::new();
        let agent = of_april().clock(clock.clone()).build().unwrap();
        let asked = async || {
            agent.connect(&shop.origin).await.unwrap();
            shop.asked(WELL_KNOWN)
        };
        assert_eq!(asked().await, 1);
        clock.forward(seconds - 1);
        assert_eq!(asked().await, 1, "{headers:?}");
        clock.forward(1);
        assert_eq!(asked().await, 2, "{headers:?}");
    }
}

#[tokio::test]
async fn a_stale_profile_is_revalidated_with_its_leaf() {
    let shop = Shop::open().await;
    let mut top = shop.profile("2026-08-25");
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    let fresh = ("cache-control", "public, max-age=60");
    shop.put_profile(&[fresh, ("etag", "\"top-1\"")], &top);
    let json = ("content-type", "application/json");
    shop.put(
        "/april",
        200,
        &[json, fresh, ("etag", "\"leaf-1\"")],
        &shop.profile("2026-04-08"),
    );
    let clock = Hands::new();
    let agent = of_april().clock(clock.clone()).build().unwrap();
    let profile = async || {
        let merchant = agent.connect(&shop.origin).await.unwrap();
        merchant.profile().unwrap().document.clone()
    };
    let first = profile().await;
    assert_eq!(shop.heard("/april", "if-none-match"), None);
    clock.forward(60);
    assert_eq!(profile().await, first);
    assert_eq!(
        shop.heard(WELL_KNOWN, "if-none-match").unwrap(),
        "\"top-1\""
    );
    assert_eq!(shop.heard("/april", "if-none-match").unwrap(), "\"leaf-1\"");
    assert_eq!((shop.asked(WELL_KNOWN), shop.asked("/april")), (2, 2));
    // A leaf that changed is read.
    let mut changed = shop.profile("2026-04-08");
    changed["x"] = json!(1);
    shop.put(
        "/april",
        200,
        &[json, fresh, ("etag", "\"leaf-2\"")],
        &changed,
    );
    clock.forward(60);
    assert_eq!(profile().await, changed);
    // So is another leaf, for which the old one's tag means nothing.
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/other", shop.origin)});
    shop.put_profile(&[fresh, ("etag", "\"top-2\"")], &top);
    shop.put("/other", 200, &[json, ("etag", "\"leaf-2\"")], &first);
    clock.forward(60);
    assert_eq!(profile().await, first);
    assert_eq!(shop.heard("/other", "if-none-match"), None);
    // And the profile itself, once it is of the version that is spoken.
    shop.put_profile(
        &[fresh, ("last-modified", "Tue, 01 Dec 2026 00:00:00 GMT")],
        &changed,
    );
    clock.forward(60);
    assert_eq!(profile().await, changed);
    clock.forward(60);
    assert_eq!(profile().await, changed);
    assert_eq!(
        shop.heard(WELL_KNOWN, "if-modified-since").unwrap(),
        "Tue, 01 Dec 2026 00:00:00 GMT"
    );
    assert_eq!(shop.asked("/other"), 1);
}

/// Waits until a page was asked for so often.
async fn until_asked(shop: &Shop, times: usize) {
    let waiting = async {
        while shop.asked(WELL_KNOWN) < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_is_stale_serves_while_it_is_fetched_anew_if_that_is_chosen() {
    let shop = Shop::open().await;
    let clock = Hands::new();
    let stale = Discovery::default().stale_while_revalidate(Duration::from_secs(300));
    let agent = of_april()
        .clock(clock.clone())
        .discovery(stale)
        .build()
        .unwrap();
    let publish = |mark: i64| {
        let mut profile = shop.profile("2026-04-08");
        profile["mark"] = json!(mark);
        shop.put_profile(&[], &profile);
    };
    let mark = async || {
        let merchant = agent.connect(&shop.origin).await.unwrap();
        merchant.profile().unwrap().document["mark"]
            .as_i64()
            .unwrap()
    };
    publish(1);
    assert_eq!(mark().await, 1);
    publish(2);
    clock.forward(61);
    // All get the old one at once, and one fetch is made for them.
    for _ in 0..10 {
        assert_eq!(mark().await, 1);
    }
    until_asked(&shop, 2).await;
    let renewed = async {
        while mark().await != 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), renewed)
        .await
        .unwrap();
    assert_eq!(shop.asked(WELL_KNOWN), 2);
    // A server that is down costs nothing for as long.
    shop.put(WELL_KNOWN, 503, &[], "");
    clock.forward(61);
    assert_eq!(mark().await, 2);
    until_asked(&shop, 3).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(mark().await, 2);
    assert_eq!(shop.asked(WELL_KNOWN), 3);
    clock.forward(300);
    let error = fails(&agent, &shop.origin).await;
    assert!(matches!(
        error.problem,
        DiscoveryProblem::Blocked(StatusCode::SERVICE_UNAVAILABLE)
    ));
}

#[tokio::test]
async fn memory_is_bounded() {
    let shop = Shop::open().await;
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    let small = Discovery::default().capacity(16 * 1024);
    let answers = Answers::of(&[&["127.0.0.1"]]);
    let agent = of_april()
        .resolver(answers)
        .discovery(small)
        .build()
        .unwrap();
    for _ in 0..2 {
        for index in 0..200 {
            let origin = format!("http://shop-{index}.localhost:{}", shop.port);
            agent.connect(&origin).await.unwrap();
        }
    }
    // A dozen are remembered at most, so all others were asked for twice.
    let asked = shop.asked(WELL_KNOWN);
    assert!((380..=400).contains(&asked), "{asked}");
}

struct Captured {
    file: &'static str,
    version: &'static str,
    capabilities: &'static [&'static str],
    notes: &'static [&'static str],
}

/// Merchants that we did not write, served as they answered.
#[tokio::test]
async fn captured_profiles_are_agreed_with() {
    let Some(folder) = shared::folder() else {
        return;
    };
    for expected in [
        Captured {
            file: "merchant-a.2026-01-11.json",
            version: "2026-01-11",
            capabilities: &[
                "buyer_consent",
                "checkout",
                "discount",
                "fulfillment",
                "order",
            ],
            notes: &[],
        },
        Captured {
            file: "merchant-b.2026-01-11.json",
            version: "2026-01-11",
            capabilities: &[
                "buyer_consent",
                "checkout",
                "discount",
                "fulfillment",
                "order",
            ],
            notes: &[],
        },
        Captured {
            file: "merchant-c.2026-04-08.json",
            version: "2026-04-08",
            capabilities: &[
                "cart",
                "catalog.lookup",
                "catalog.search",
                "checkout",
                "discount",
                "order",
            ],
            notes: &["$: the `ucp` wrapper is absent; its members are read from the root"],
        },
        Captured {
            file: "merchant-d.2026-04-08.json",
            version: "2026-04-08",
            capabilities: &["checkout"],
            notes: &[
                "$.ucp.payment_handlers: it is absent",
                "$.keys: read since signing_keys, which this release has, is absent",
            ],
        },
    ] {
        let capture = shared::json(&folder.join("captures").join(expected.file));
        let exchanges = capture["exchanges"].as_array().unwrap();
        let discovery = exchanges
            .iter()
            .find(|exchange| exchange["step"] == "discovery");
        let response = &discovery.unwrap()["response"];
        let body = response["body"].as_str().unwrap();
        let shop = Shop::open().await;
        shop.put(
            WELL_KNOWN,
            200,
            &[("content-type", "application/json")],
            body,
        );
        let names = [
            "buyer_consent",
            "cart",
            "checkout",
            "discount",
            "fulfillment",
            "order",
        ];
        let january = names.iter().fold(
            Release::new("2026-01-11", "dev.ucp.shopping"),
            |release, name| release.capability(format!("dev.ucp.shopping.{name}"), "2026-01-11"),
        );
        let agent = of_april().release(january).build().unwrap();
        let merchant: Merchant = agent.connect(&shop.origin).await.unwrap();
        assert_eq!(merchant.version(), expected.version, "{}", expected.file);
        let agreed = merchant.negotiated().unwrap();
        let capabilities: Vec<&str> = (agreed.capabilities().keys())
            .map(|name| name.strip_prefix("dev.ucp.shopping.").unwrap())
            .collect();
        assert_eq!(capabilities, expected.capabilities, "{}", expected.file);
        let notes: Vec<String> = agreed.notes().iter().map(ToString::to_string).collect();
        assert_eq!(notes, expected.notes, "{}", expected.file);
        // Outside development, none of them is spoken to: they all live on loopback.
        let strict = builder().release(april::RELEASE).build().unwrap();
        assert!(matches!(
            strict.connect(&shop.origin).await,
            Err(Error::Config(_))
        ));
    }
}
