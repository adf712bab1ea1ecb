//! Profiles of merchants that we did not write, recorded as they came.

use serde_json::Value;
use ucp_runtime::negotiation::{Choice, choose, negotiate};
use ucp_runtime::profile::Envelope;
use ucp_runtime::{Negotiated, Profile, Release};

const CORE: [&str; 7] = [
    "dev.ucp.shopping.checkout",
    "dev.ucp.shopping.order",
    "dev.ucp.shopping.discount",
    "dev.ucp.shopping.fulfillment",
    "dev.ucp.shopping.buyer_consent",
    "dev.ucp.shopping.cart",
    "dev.ucp.common.identity_linking",
];

fn release(version: &str) -> Release {
    CORE.iter().fold(
        Release::new(version, "dev.ucp.shopping"),
        |release, name| release.capability(*name, version),
    )
}

#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
fn captured(name: &str) -> Option<Value> {
    let path = ucp_tests::shared::folder()?.join(format!("captures/{name}.json"));
    let capture = ucp_tests::shared::json(&path);
    let exchanges = capture["exchanges"].as_array().unwrap();
    let discovery = (exchanges.iter()).find(|exchange| exchange["step"] == "discovery");
    let body = discovery.unwrap()["response"]["body"].as_str().unwrap();
    Some(serde_json::from_str(body).unwrap())
}

struct Expected {
    version: &'static str,
    endpoint: &'static str,
    capabilities: &'static [&'static str],
    handlers: &'static [&'static str],
    keys: Option<(&'static str, &'static str)>,
    notes: &'static [&'static str],
}

#[allow(clippy::unwrap_used, clippy::panic)]
fn agree(name: &str, expected: &Expected) -> Option<(Profile, Negotiated)> {
    let document = captured(name)?;
    let ours = [
        release("2026-01-11").development(),
        release("2026-04-08").development(),
    ];
    let envelope = Envelope::read(&document).unwrap();
    let Ok(Choice::Here(chosen)) = choose(&envelope, &ours) else {
        panic!("{name}: its own version is among ours");
    };
    assert_eq!(chosen.version(), expected.version);
    let profile = Profile::read(document.clone()).unwrap();
    assert_eq!(profile.document, document);
    let agreed = negotiate(&profile, chosen).unwrap();
    assert_eq!(agreed.endpoint(), Some(expected.endpoint), "{name}");
    let capabilities: Vec<&str> = agreed.capabilities().keys().map(String::as_str).collect();
    assert_eq!(capabilities, expected.capabilities, "{name}");
    let handlers: Vec<&str> = agreed.payment_handlers().map(|(name, _)| name).collect();
    assert_eq!(handlers, expected.handlers, "{name}");
    let keys: Vec<&str> = (profile.keys.keys.iter())
        .map(|key| key.kid.as_str())
        .collect();
    assert_eq!(profile.keys.member, expected.keys.map(|(member, _)| member));
    assert_eq!(keys, Vec::from_iter(expected.keys.map(|(_, kid)| kid)));
    let notes: Vec<String> = profile.notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes, expected.notes, "{name}");
    Some((profile, agreed))
}

/// Everything about it lives on loopback, so outside development nothing of it is bound.
#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn merchant_a() {
    let expected = Expected {
        version: "2026-01-11",
        endpoint: "http://localhost:8183/shopping-api",
        capabilities: &[
            "dev.ucp.common.identity_linking",
            "dev.ucp.shopping.buyer_consent",
            "dev.ucp.shopping.checkout",
            "dev.ucp.shopping.discount",
            "dev.ucp.shopping.fulfillment",
            "dev.ucp.shopping.order",
        ],
        handlers: &["google.pay", "mock_payment_handler", "com.shopify.shop_pay"],
        keys: None,
        notes: &[],
    };
    let Some((profile, _)) = agree("merchant-a.2026-01-11", &expected) else {
        return;
    };
    let strict = negotiate(&profile, &release("2026-01-11")).unwrap();
    assert_eq!(strict.endpoint(), None);
    assert!(strict.capabilities().is_empty());
    assert_eq!(
        strict.offers()[0].refused,
        "its schema is on a loopback host, which needs the development setting"
    );
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn merchant_b() {
    let expected = Expected {
        version: "2026-01-11",
        endpoint: "http://127.0.0.1:8182",
        capabilities: &[
            "dev.ucp.shopping.buyer_consent",
            "dev.ucp.shopping.checkout",
            "dev.ucp.shopping.discount",
            "dev.ucp.shopping.fulfillment",
            "dev.ucp.shopping.order",
        ],
        handlers: &["dev.shopify.shop_pay", "com.google.pay"],
        keys: None,
        notes: &[],
    };
    let Some((profile, agreed)) = agree("merchant-b.2026-01-11", &expected) else {
        return;
    };
    let discount = &agreed.capabilities()["dev.ucp.shopping.discount"];
    assert_eq!(discount.extends, ["dev.ucp.shopping.checkout"]);
    // The schemas are bound; the endpoint alone needs the development setting.
    let strict = negotiate(&profile, &release("2026-01-11")).unwrap();
    assert_eq!(strict.capabilities(), agreed.capabilities());
    assert_eq!(strict.endpoint(), None);
}

/// It has no wrapper, and its older profiles are named beside it.
#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn merchant_c() {
    let expected = Expected {
        version: "2026-04-08",
        endpoint: "http://127.0.0.1:8184",
        capabilities: &[
            "dev.ucp.common.identity_linking",
            "dev.ucp.shopping.cart",
            "dev.ucp.shopping.checkout",
            "dev.ucp.shopping.discount",
            "dev.ucp.shopping.order",
        ],
        handlers: &["dev.spck.giftpay", "dev.spck.tokenpay"],
        keys: Some(("signing_keys", "spck-merchant-sig-2026")),
        notes: &["$: the `ucp` wrapper is absent; its members are read from the root"],
    };
    let Some((_, agreed)) = agree("merchant-c.2026-04-08", &expected) else {
        return;
    };
    let text = agreed.explain().to_string();
    for line in [
        "  service dev.ucp.shopping mcp 2026-04-08: not the REST transport\n",
        "  capability dev.ucp.shopping.catalog.search: we do not offer it\n",
        "  capability dev.ucp.shopping.fulfillment: the business does not offer it\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    let document = captured("merchant-c.2026-04-08").unwrap();
    let ours = [release("2026-01-23").development()];
    let Ok(Choice::Leaf(leaf)) = choose(&Envelope::read(&document).unwrap(), &ours) else {
        panic!("2026-01-23 is among its versions");
    };
    assert_eq!(
        leaf.url.as_str(),
        "http://127.0.0.1:8184/.well-known/ucp/2026-01-23"
    );
}

/// It states no versions, and publishes its keys where a later release has them.
#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn merchant_d() {
    let expected = Expected {
        version: "2026-04-08",
        endpoint: "http://127.0.0.1:41493",
        capabilities: &[
            "dev.ucp.common.identity_linking",
            "dev.ucp.shopping.checkout",
        ],
        handlers: &[],
        keys: Some(("keys", "spck-sandbox-sig-2026")),
        notes: &[
            "$.ucp.payment_handlers: it is absent",
            "$.keys: read since signing_keys, which this release has, is absent",
        ],
    };
    agree("merchant-d.2026-04-08", &expected);
}
