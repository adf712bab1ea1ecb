//! Releases side by side in one application: each reads its own checkout and writes it back whole,
//! and one agent speaks them all, to each merchant the newest that both know.

#![allow(clippy::unwrap_used)]

use axum::extract::Path;
use axum::routing::get;
use axum::{Json, Router};
use ucp_runtime::error::{DiscoveryProblem, RequestError};
use ucp_runtime::handoff::Next;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::{Agent, Error, Handoff, Host, Merchant, Release};
use ucp_tests::golden::shopping_2026_04_08 as april;

ucp_runtime::include_ucp! {
    release: "draft",
    version: "2026-08-22",
    operations: [checkout],
    extensions: [fulfillment],
    module: draft,
}

#[allow(missing_docs, unreachable_pub)]
mod january {
    ucp_runtime::include_ucp! {
        contract: "../contracts/january/rest.yaml",
        version: "2026-01-23",
    }
}

/// What both releases have.
fn checkout(version: &str) -> Value {
    json!({
        "ucp": { "version": version, "payment_handlers": {} },
        "id": "co_1",
        "line_items": [{
            "id": "li_1",
            "item": { "id": "rose", "title": "Rose", "price": 350 },
            "quantity": 2,
            "totals": [{ "type": "total", "amount": 700 }],
        }],
        "status": "incomplete",
        "currency": "EUR",
        "totals": [
            { "type": "subtotal", "amount": 700 },
            { "type": "total", "amount": 700 },
        ],
        "links": [],
    })
}

#[test]
fn each_release_reads_and_writes_its_own() -> Result<(), serde_json::Error> {
    let sent = checkout(april::RELEASE.version());
    let read: april::Checkout = serde_json::from_value(sent.clone())?;
    assert_eq!(read.line_items.len(), 1);
    assert_eq!(serde_json::to_value(&read)?, sent);

    let mut sent = checkout(draft::RELEASE.version());
    sent["line_items"][0]["item"]["quantity_unit"] =
        json!({ "unit": "KGM", "scale": 2, "display_text": "kg", "increment": 25 });
    sent["actions"] = json!({ "com.example.age_check": [{ "id": "a_1" }] });
    sent["policies"] = json!([{
        "type": "dev.ucp.shopping.policy.return",
        "description": { "plain": "Within 14 days" },
        "applies_to": ["$.line_items[0]"],
    }]);
    sent["fulfillment"] = json!({
        "methods": [{
            "id": "m_1",
            "type": "pickup",
            "line_item_ids": ["li_1"],
            "destinations": [{ "type": "business_location", "id": "loc_1", "name": "Old Town" }],
        }],
    });
    let read: draft::Checkout = serde_json::from_value(sent.clone())?;
    let item = &read.line_items[0].item;
    let unit = item.quantity_unit.as_ref().map(|unit| unit.unit.as_str());
    assert_eq!(unit, Some("KGM"));
    assert_eq!(read.actions.as_ref().map(|actions| actions.len()), Some(1));
    assert_eq!(read.policies.as_ref().map(Vec::len), Some(1));
    assert!(read.extra.is_empty());
    assert_eq!(serde_json::to_value(&read)?, sent);
    Ok(())
}

#[test]
fn each_release_says_its_own_version() {
    assert_eq!(april::RELEASE.version(), "2026-04-08");
    assert_eq!(draft::RELEASE.version(), "2026-08-22");
}

#[test]
fn what_the_draft_adds_is_kept_by_the_release_before() -> Result<(), serde_json::Error> {
    let mut sent = checkout(draft::RELEASE.version());
    sent["actions"] = json!({ "com.example.age_check": [{ "id": "a_1" }] });
    let read: april::Checkout = serde_json::from_value(sent.clone())?;
    assert!(read.extra.contains_key("actions"));
    assert_eq!(serde_json::to_value(&read)?, sent);
    Ok(())
}

/// A merchant on loopback that speaks the draft, and the releases that it names besides.
async fn merchant(others: &[&'static str]) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let at = move |version: &str| format!("/ucp/{version}");
    let profile = {
        let origin = origin.clone();
        move |version: &str, others: &[&str]| {
            let others = others.iter().map(|other| {
                (
                    (*other).to_owned(),
                    json!(format!("{origin}/profiles/{other}")),
                )
            });
            json!({"ucp": {
                "version": version,
                "supported_versions": others.collect::<serde_json::Map<_, _>>(),
                "services": {"dev.ucp.shopping": [
                    {"version": version, "transport": "rest", "endpoint": format!("{origin}{}", at(version))},
                ]},
                "capabilities": {
                    "dev.ucp.shopping.checkout": [{"version": version}],
                    "com.acme.points": [{"version": version, "extends": "dev.ucp.shopping.checkout"}],
                },
                "payment_handlers": {},
            }})
        }
    };
    let top = profile(draft::RELEASE.version(), others);
    let app =
        Router::new()
            .route("/.well-known/ucp", get(move || async move { Json(top) }))
            .route(
                "/profiles/{version}",
                // What a leaf says of other versions means nothing.
                get(move |Path(version): Path<String>| async move {
                    Json(profile(&version, &["1999-01-01"]))
                }),
            )
            .route(
                "/ucp/{version}/checkout-sessions/{id}",
                get(|Path((version, _)): Path<(String, String)>| async move {
                    Json(checkout(&version))
                }),
            );
    tokio::spawn(async move { axum::serve(listener, app).await });
    origin
}

fn agent(releases: &[Release]) -> Agent {
    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    let agent = agent.development().request_signature("as agreed");
    let agent = (releases.iter()).fold(agent, |agent, release| agent.release(release.clone()));
    agent.build().unwrap()
}

/// What an application with several clients writes: one function, whatever the release.
async fn next(merchant: &Merchant) -> Result<Handoff, Error> {
    let host = Host::default();
    let version = merchant.version();
    if version == draft::RELEASE.version() {
        draft::Client::new(merchant)
            .get_checkout("co_1")
            .await?
            .handoff(&host)
    } else if version == april::RELEASE.version() {
        april::Client::new(merchant)
            .get_checkout("co_1")
            .await?
            .handoff(&host)
    } else {
        january::Client::new(merchant)
            .get_checkout("co_1")
            .await?
            .handoff(&host)
    }
}

#[tokio::test]
async fn an_agent_of_several_releases_speaks_the_newest_that_the_merchant_knows() {
    let all = [january::RELEASE, april::RELEASE, draft::RELEASE];
    let origin = merchant(&["2026-04-08", "2026-01-23", "2031-01-01"]).await;
    for (ours, version) in [
        (&all[..], "2026-08-22"),
        (&all[..2], "2026-04-08"),
        (&all[..1], "2026-01-23"),
    ] {
        let merchant = agent(ours).connect(&origin).await.unwrap();
        assert_eq!(merchant.version(), version);
        assert_eq!(merchant.endpoint(), format!("{origin}/ucp/{version}"));
        assert_eq!(merchant.profile().unwrap().version, version);
        let handoff = next(&merchant).await.unwrap();
        assert!(
            matches!(
                handoff,
                Handoff::Conversational {
                    next: Next::Update,
                    ..
                }
            ),
            "{handoff:?}"
        );
    }
    // The client of another release refuses, before anything is sent.
    let merchant = agent(&all).connect(&origin).await.unwrap();
    match april::Client::new(&merchant).get_checkout("co_1").await {
        Err(Error::NotSent(error)) => assert!(matches!(
            &error.problem,
            RequestError::Release { release: "2026-04-08", version } if version == "2026-08-22"
        )),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_agreed_is_what_the_types_cover() {
    let origin = merchant(&["2026-04-08"]).await;
    let merchant = agent(&[april::RELEASE]).connect(&origin).await.unwrap();
    let agreed = merchant.negotiated().unwrap();
    assert!(agreed.has("dev.ucp.shopping.checkout"));
    assert_eq!(agreed.capabilities().len(), 1);
    let text = agreed.explain().to_string();
    for line in [
        "  capability com.acme.points: we do not offer it\n",
        "  capability dev.ucp.shopping.discount: the business does not offer it\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    // The answer lists no capabilities, so all that were agreed on are assumed.
    let response = april::Client::new(&merchant)
        .get_checkout("co_1")
        .await
        .unwrap();
    let context = response.context();
    let active = context.active().unwrap();
    assert!(!active.listed && active.has("dev.ucp.shopping.checkout"));
}

#[tokio::test]
async fn a_merchant_of_other_releases_is_refused_with_what_it_offers() {
    let origin = merchant(&["2031-01-01"]).await;
    let error = agent(&[april::RELEASE, january::RELEASE])
        .connect(&origin)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "no merchant at {origin}/.well-known/ucp: it speaks 2026-08-22 (not among ours), \
             2031-01-01 (not among ours); we speak 2026-04-08, 2026-01-23"
        )
    );
    match error {
        Error::Discovery(error) => assert!(matches!(error.problem, DiscoveryProblem::NoRelease(_))),
        other => panic!("{other:?}"),
    }
}
