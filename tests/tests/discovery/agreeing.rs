//! What is agreed by a profile, and what an answer makes of it; the profiles of merchants that we did
//! not write.

use super::*;

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

struct Captured {
    file: &'static str,
    version: &'static str,
    capabilities: &'static [&'static str],
    notes: &'static [&'static str],
}

/// Merchants that we did not write, served as they answered.
#[tokio::test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
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
