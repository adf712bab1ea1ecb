use super::*;
use crate::Profile;
use http::{Method, Request, Response, header};

const CHECKOUT: &str = "dev.ucp.shopping.checkout";

fn release(version: &str) -> Release {
    Release::new(version.to_owned(), "dev.ucp.shopping")
        .capability(CHECKOUT, version)
        .capability(ORDER, version)
}

fn key(kid: &str) -> Value {
    json!({
        "kid": kid, "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256",
        "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
        "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
    })
}

fn builder(version: &str) -> PlatformProfileBuilder {
    PlatformProfile::builder(&release(version))
        .order_webhook("https://agent.example/orders")
        .public_key(key("k1"))
}

fn refused(builder: PlatformProfileBuilder) -> String {
    builder.build().unwrap_err().to_string()
}

#[test]
fn says_who_we_are_at_2026_04_08() {
    let handler = json!({
        "id": "pay_1", "version": "2026-01-01",
        "spec": "https://docs.pay.example/", "schema": "https://pay.example/schema.json",
    });
    let profile = builder("2026-04-08")
        .payment_handler("example.pay.wallet", handler.clone())
        .build()
        .unwrap();
    let (spec, schemas) = (
        "https://ucp.dev/2026-04-08/specification/overview",
        "https://ucp.dev/2026-04-08/schemas/shopping",
    );
    assert_eq!(
        *profile.document(),
        json!({
            "ucp": {
                "version": "2026-04-08",
                "services": {"dev.ucp.shopping": [{
                    "version": "2026-04-08", "spec": spec, "transport": "rest",
                    "schema": "https://ucp.dev/2026-04-08/services/shopping/rest.openapi.json",
                }]},
                "capabilities": {
                    CHECKOUT: [{
                        "version": "2026-04-08", "spec": spec,
                        "schema": format!("{schemas}/checkout.json"),
                    }],
                    ORDER: [{
                        "version": "2026-04-08", "spec": spec,
                        "schema": format!("{schemas}/order.json"),
                        "config": {"webhook_url": "https://agent.example/orders"},
                    }],
                },
                "payment_handlers": {"example.pay.wallet": [handler]},
            },
            "signing_keys": [key("k1")],
        })
    );
}

#[test]
fn has_the_shape_of_its_release() {
    for (version, member) in [
        ("2026-01-11", "signing_keys"),
        ("2026-01-23", "signing_keys"),
        ("2026-04-08", "signing_keys"),
        ("2026-08-22", "keys"),
    ] {
        let profile = builder(version).build().unwrap();
        let read = Profile::read(profile.document().clone()).unwrap();
        assert!(read.notes.is_empty(), "{version}: {:?}", read.notes);
        assert_eq!(read.keys.member, Some(member), "{version}");
        assert_eq!(read.keys.with_id("k1").count(), 1);
        let [order] = read.capabilities.get(ORDER) else {
            panic!("{version}");
        };
        assert_eq!(
            order.other["config"]["webhook_url"],
            "https://agent.example/orders"
        );
        assert_eq!(order.unbound, None);
    }
    let first = builder("2026-01-11")
        .payment_handler(
            "com.google.pay",
            json!({
                "id": "g", "version": "2026-01-11", "spec": "https://x.example/",
                "config_schema": "https://x.example/c", "instrument_schemas": [], "config": {},
            }),
        )
        .build()
        .unwrap();
    assert_eq!(
        first.document()["payment"]["handlers"][0]["name"],
        "com.google.pay"
    );
    assert_eq!(
        first.document()["ucp"]["services"]["dev.ucp.shopping"]["version"],
        "2026-01-11"
    );
    assert_eq!(
        first.document()["ucp"]["capabilities"][0]["schema"],
        "https://ucp.dev/schemas/shopping/checkout.json"
    );
    let second = builder("2026-01-23").build().unwrap();
    assert_eq!(second.document()["ucp"]["services"], json!({}));
}

#[test]
fn capabilities_of_others_are_described() {
    let release = release("2026-08-22").capability("com.acme.loyalty", "2026-07-01");
    let builder = || PlatformProfile::builder(&release);
    assert_eq!(
        refused(builder()),
        "`com.acme.loyalty` is not part of the protocol: say by `describe(…)` where its schema is"
    );
    let described =
        |schema: &str| builder().describe("com.acme.loyalty", "https://docs.example/", schema);
    assert_eq!(
        refused(described("https://evil.example/x")),
        "`com.acme.loyalty`: its schema is on evil.example, which does not own the name"
    );
    let profile = described("https://acme.com/x").config("com.acme.loyalty", json!({"tier": 1}));
    assert_eq!(
        profile.build().unwrap().document()["ucp"]["capabilities"]["com.acme.loyalty"],
        json!([{"version": "2026-07-01", "spec": "https://docs.example/", "schema": "https://acme.com/x", "config": {"tier": 1}}])
    );
}

#[test]
fn refuses_what_must_not_be_published() {
    let with_key = |member: &str| {
        let mut jwk = key("k2");
        jwk[member] = json!("SECRET");
        builder("2026-04-08").public_key(jwk)
    };
    for member in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        let error = with_key(member).build().unwrap_err();
        assert!(
            matches!(error, PlatformProfileError::Key(JwkError::Private { .. })),
            "{error}"
        );
        assert_eq!(
            error.to_string(),
            format!("a key has the private member `{member}`: give its public half alone")
        );
    }
    let at = || builder("2026-04-08");
    let hidden = at().config(CHECKOUT, json!({"keys": [{"kty": "EC", "d": "SECRET"}]}));
    assert_eq!(
        hidden.build(),
        Err(JwkError::Private { member: "d" }.into())
    );
    let handler = |entry| at().payment_handler("com.google.pay", entry);
    for (builder, text) in [
        (
            at().public_key(key("k1")),
            "two keys have the id `k1`: give each its own",
        ),
        (
            builder("soon"),
            "`soon` is not a version: give the date of a release, such as 2026-04-08",
        ),
        (
            at().max_age(Duration::from_secs(59)),
            "a profile is cached for 60 s or more",
        ),
        (
            at().order_webhook("http://agent.example/"),
            "the order webhook is refused: its scheme is not https; give an https URL",
        ),
        (
            at().order_webhook("/orders"),
            "the order webhook is refused: it is not an absolute URL; give an https URL",
        ),
        (
            at().order_webhook("https://u:SECRET@agent.example/"),
            "the order webhook is refused: it carries user information; give an https URL",
        ),
        (
            at().order_webhook("http://127.0.0.1/"),
            "the order webhook is refused: a loopback host needs `development()` on the agent; give an https URL",
        ),
        (
            at().config("dev.ucp.shopping.cart", json!({})),
            "`dev.ucp.shopping.cart` is described or set up, and the release does not have it",
        ),
        (
            at().config(ORDER, json!([])),
            "the config of `dev.ucp.shopping.order` is not a JSON object",
        ),
        (
            at().payment_handler("pay", json!({})),
            "`pay` is not a reverse-domain name such as com.example.loyalty",
        ),
        (
            at().payment_handler("com.my-shop.pay", json!({})),
            "`com.my-shop.pay` is not a reverse-domain name such as com.example.loyalty",
        ),
        (
            handler(json!("gpay")),
            "the payment handler `com.google.pay` is not a JSON object",
        ),
        (
            handler(json!({"id": "g", "version": "2026-01-11", "schema": "https://google.com/"})),
            "the payment handler `com.google.pay` has no `spec`",
        ),
        (
            handler(json!({"id": 1, "version": "2026-01-11", "spec": "", "schema": ""})),
            "the payment handler `com.google.pay` has a `id` that is not a string",
        ),
        (
            handler(json!({"id": "g", "version": "1", "spec": "", "schema": ""})),
            "the payment handler `com.google.pay` has a `version` that is not a date",
        ),
        (
            handler(
                json!({"id": "g", "version": "2026-01-11", "spec": "", "schema": "https://goggle.com/"}),
            ),
            "`com.google.pay`: its schema is on goggle.com, which does not own the name",
        ),
    ] {
        assert_eq!(refused(builder), text);
    }
    let orderless =
        Release::new("2026-04-08", "dev.ucp.shopping").capability(CHECKOUT, "2026-04-08");
    let orderless = PlatformProfile::builder(&orderless).order_webhook("https://agent.example/");
    assert_eq!(orderless.build(), Err(PlatformProfileError::NoOrders));
    let loopback = at()
        .order_webhook("http://127.0.0.1:1/orders")
        .development();
    assert!(loopback.build().is_ok());
}

#[test]
fn equal_input_makes_equal_bytes() {
    let one = builder("2026-04-08").config(CHECKOUT, json!({"a": 1, "b": {"c": 2, "d": 3}}));
    let other = builder("2026-04-08").config(CHECKOUT, json!({"b": {"d": 3, "c": 2}, "a": 1}));
    let (one, other) = (one.build().unwrap(), other.build().unwrap());
    assert_eq!(one.bytes(), other.bytes());
    assert_eq!(one, other);
    assert_eq!(
        serde_json::from_slice::<Value>(one.bytes()).unwrap(),
        *one.document()
    );
    assert_ne!(one.etag(), builder("2026-04-08").build().unwrap().etag());
}

fn ask(profile: &PlatformProfile, method: Method, known: &[&str]) -> Response<Bytes> {
    let mut request = Request::new(());
    *request.method_mut() = method;
    for tag in known {
        let value = HeaderValue::from_str(tag).unwrap();
        request.headers_mut().append(header::IF_NONE_MATCH, value);
    }
    profile.respond(&request)
}

#[test]
fn is_served_to_be_cached() {
    let profile = builder("2026-04-08").build().unwrap();
    let digest = Sha256::digest(profile.bytes());
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest));
    assert_eq!(profile.etag().to_str().unwrap(), tag);

    let length = profile.bytes().len().to_string();
    let expected = [
        ("etag", tag.as_str()),
        ("cache-control", "public, max-age=3600"),
        ("content-type", "application/json"),
        ("content-length", &length),
    ];
    for (method, body) in [
        (Method::GET, profile.bytes().clone()),
        (Method::HEAD, Bytes::new()),
    ] {
        let response = ask(&profile, method, &[]);
        assert_eq!(response.status(), 200);
        let headers = response.headers().iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(headers, expected);
        assert_eq!(*response.body(), body);
    }
    let refused = ask(&profile, Method::POST, &[]);
    assert_eq!(
        (
            refused.status().as_u16(),
            refused.headers()["allow"].to_str().unwrap()
        ),
        (405, "GET, HEAD")
    );
}

#[test]
fn is_not_sent_twice() {
    let profile = builder("2026-04-08")
        .max_age(Duration::from_secs(60))
        .build()
        .unwrap();
    let tag = profile.etag().to_str().unwrap();
    let weak = format!("W/{tag}");
    let listed = format!("\"a\",  {tag} , \"b\"");
    for known in [&[tag][..], &[&weak], &[&listed], &["\"a\"", tag], &["*"]] {
        for method in [Method::GET, Method::HEAD] {
            let response = ask(&profile, method, known);
            assert_eq!(response.status(), 304, "{known:?}");
            assert_eq!(response.headers()["etag"], tag);
            assert_eq!(response.headers()["cache-control"], "public, max-age=60");
            assert!(
                response.body().is_empty() && !response.headers().contains_key("content-length")
            );
        }
    }
    for other in ["", "\"a\"", tag.trim_matches('"')] {
        assert_eq!(
            ask(&profile, Method::GET, &[other]).status(),
            200,
            "{other}"
        );
    }
}
