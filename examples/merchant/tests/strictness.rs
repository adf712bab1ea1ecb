//! What the merchant refuses, and with which words.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod common;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use common::{Stage, agent_profile, mugs, mugs_ready, payment, serve};
use merchant::Operation::{
    self, CancelCart, CancelCheckout, CompleteCheckout, CreateCart, CreateCheckout, GetCart,
    GetCheckout, GetOrder, GetProduct, LookupCatalog, SearchCatalog, UpdateCart, UpdateCheckout,
};
use serde_json::{Value, json};

/// A valid body of each operation.
fn valid(operation: Operation, id: &str) -> Value {
    match operation {
        CreateCart | CreateCheckout => mugs_ready_without_id(),
        UpdateCart => with(mugs(), "/id", json!(id)),
        UpdateCheckout => mugs(),
        CompleteCheckout => payment("tok_ok"),
        SearchCatalog => json!({ "query": "mug" }),
        LookupCatalog => json!({ "ids": ["prod_mug"] }),
        GetProduct => json!({ "id": "prod_mug" }),
        GetCart | CancelCart | GetCheckout | CancelCheckout | GetOrder => Value::Null,
    }
}

fn mugs_ready_without_id() -> Value {
    let mut body = mugs_ready();
    body.as_object_mut().unwrap().remove("fulfillment");
    body
}

/// `body` with one member set.
fn with(mut body: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap()[name] = value;
    body
}

fn without(mut body: Value, pointer: &str) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    parent.remove(name).unwrap();
    body
}

#[tokio::test]
async fn each_body_is_held_against_the_view_of_its_operation() {
    let stage = Stage::set().await;
    let line = "/line_items/0";
    let instrument = "/payment/instruments/0";
    let address = json!([{ "id": "home", "street_address": 1 }]);
    let method = |method: Value| json!({ "methods": [method] });
    let cases: Vec<(Operation, Value, &str)> = vec![
        // Members that only responses have, at every depth.
        (CreateCart, with(mugs(), "/id", json!("cart_1")), "/id"),
        (CreateCart, with(mugs(), "/totals", json!([])), "/totals"),
        (
            CreateCart,
            with(mugs(), "/discounts", json!({ "applied": [] })),
            "/discounts/applied",
        ),
        (
            CreateCheckout,
            with(mugs(), "/status", json!("incomplete")),
            "/status",
        ),
        (
            CreateCheckout,
            with(mugs(), "/currency", json!("USD")),
            "/currency",
        ),
        (
            CreateCheckout,
            with(mugs(), "/line_items/0/id", json!("li_1")),
            "/line_items/0/id",
        ),
        (
            CreateCheckout,
            with(mugs(), "/line_items/0/item/price", json!(1)),
            "/line_items/0/item/price",
        ),
        (
            CreateCheckout,
            with(mugs(), "/discounts", json!({ "applied": [] })),
            "/discounts/applied",
        ),
        (
            CreateCheckout,
            with(
                mugs(),
                "/fulfillment",
                method(json!({ "type": "shipping", "id": "m" })),
            ),
            "/fulfillment/methods/0/id",
        ),
        (UpdateCheckout, with(mugs(), "/id", json!("chk_1")), "/id"),
        (
            UpdateCheckout,
            with(mugs(), "/cart_id", json!("cart_1")),
            "/cart_id",
        ),
        (
            UpdateCheckout,
            with(mugs(), "/messages", json!([])),
            "/messages",
        ),
        (
            UpdateCart,
            with(valid(UpdateCart, "x"), "/currency", json!("USD")),
            "/currency",
        ),
        (
            CompleteCheckout,
            with(payment("t"), "/line_items", json!([])),
            "/line_items",
        ),
        (
            CompleteCheckout,
            with(payment("t"), "/buyer", json!({})),
            "/buyer",
        ),
        (
            CompleteCheckout,
            with(payment("t"), "/discounts", json!({})),
            "/discounts",
        ),
        // Members that are missing.
        (CreateCart, json!({}), ""),
        (CreateCheckout, without(mugs(), "/line_items/0/item"), line),
        (UpdateCart, mugs(), ""),
        (UpdateCheckout, json!({ "buyer": {} }), ""),
        (
            UpdateCheckout,
            with(
                mugs(),
                "/fulfillment",
                method(json!({ "type": "shipping" })),
            ),
            "/fulfillment/methods/0",
        ),
        (CompleteCheckout, json!({}), ""),
        (
            CompleteCheckout,
            without(payment("t"), "/payment/instruments/0/handler_id"),
            instrument,
        ),
        (LookupCatalog, json!({}), ""),
        (GetProduct, json!({ "selected": [] }), ""),
        (
            GetProduct,
            json!({ "id": "x", "selected": [{ "name": "Size" }] }),
            "/selected/0",
        ),
        // Values of the wrong kind.
        (
            CreateCart,
            with(mugs(), "/line_items/0/quantity", json!(0)),
            "/line_items/0/quantity",
        ),
        (
            CreateCheckout,
            with(mugs(), "/line_items/0/quantity", json!(1.5)),
            "/line_items/0/quantity",
        ),
        (
            CreateCheckout,
            with(
                mugs(),
                "/buyer",
                json!({ "consent": { "marketing": "yes" } }),
            ),
            "/buyer/consent/marketing",
        ),
        (
            CreateCheckout,
            with(
                mugs(),
                "/fulfillment",
                method(json!({ "type": "shipping", "destinations": address })),
            ),
            "/fulfillment/methods/0/destinations/0",
        ),
        (
            CreateCheckout,
            with(mugs(), "/signals", json!({ "not a name": "x" })),
            "/signals",
        ),
        (
            UpdateCheckout,
            with(mugs(), "/discounts", json!({ "codes": "SUMMER10" })),
            "/discounts/codes",
        ),
        (
            CompleteCheckout,
            with(payment("t"), "/payment/instruments/0/type", json!(7)),
            "/payment/instruments/0/type",
        ),
        (
            CompleteCheckout,
            with(
                payment("t"),
                "/payment/instruments/0/selected",
                json!("yes"),
            ),
            "/payment/instruments/0/selected",
        ),
        (SearchCatalog, json!({ "query": 7 }), "/query"),
        (
            SearchCatalog,
            json!({ "filters": { "price": { "min": -1 } } }),
            "/filters/price/min",
        ),
        (
            SearchCatalog,
            json!({ "pagination": { "limit": 0 } }),
            "/pagination/limit",
        ),
        (
            SearchCatalog,
            json!({ "pagination": { "cursor": "x" } }),
            "/pagination/cursor",
        ),
        (LookupCatalog, json!({ "ids": [] }), "/ids"),
        (CreateCart, json!([]), ""),
        // What no schema says.
        (UpdateCart, with(mugs(), "/id", json!("another")), "/id"),
    ];
    for (operation, body, pointer) in cases {
        let reply = stage.call(operation, "nowhere", body.clone()).await;
        assert_eq!(
            reply.pointers(),
            [pointer],
            "{operation:?} {body}: {:#}",
            reply.body
        );
    }
    assert!(stage.merchant.orders().is_empty());
}

#[tokio::test]
async fn what_the_contract_leaves_open_passes() {
    let stage = Stage::set().await;
    let mut body = mugs_ready();
    body["com.example.extension"] = json!({ "anything": [1, 2] });
    body["line_items"][0]["com.example.engraving"] = json!("Ada");
    body["buyer"]["nickname"] = json!("ada");
    body["context"] = json!({ "address_country": "US", "eligibility": ["com.example.gold"] });
    body["signals"] = json!({ "dev.ucp.buyer_ip": "203.0.113.9" });
    body["attribution"] = json!({ "utm_source": "newsletter" });
    let created = stage.call(CreateCheckout, "", body).await;
    assert_eq!(created.body["status"], "ready_for_complete");
    assert_eq!(created.body["attribution"]["utm_source"], "newsletter");
}

#[tokio::test]
async fn each_operation_wants_its_headers() {
    let stage = Stage::set().await;
    for operation in Operation::ALL {
        let request = stage.prepare(operation, "nowhere", &valid(operation, "nowhere"));
        let refused = async |request, status, code| {
            let reply = stage.send(&request).await;
            assert_eq!((reply.status, &reply.body["code"]), (status, &json!(code)));
            assert_eq!(reply.headers["content-type"], "application/json");
            assert!(!reply.str("/content").is_empty());
        };
        assert!(stage.send(&request).await.status < 300);

        refused(
            request.clone().without("ucp-agent"),
            400,
            "missing_ucp_agent",
        )
        .await;
        for bad in [
            "https://agent.example/profile",
            "profile=token",
            "agent=\"https://agent.example\"",
            "profile=\"not a url\"",
            "profile=\"http://agent.example/profile\"",
            "profile=\"https://user@agent.example/profile\"",
        ] {
            let request = request.clone().with("ucp-agent", bad);
            refused(request, 400, "invalid_profile_url").await;
        }
        let no = "invalid_header";
        refused(request.clone().without("request-id"), 400, no).await;
        refused(request.clone().with("request-id", "1"), 400, no).await;
        let compact = "67e5504410b1426f9247bb680e5fe0c8";
        refused(request.clone().with("idempotency-key", compact), 400, no).await;
        refused(
            request.clone().with("accept", "text/html"),
            406,
            "not_acceptable",
        )
        .await;
        let wrong = "sha-256=:AAAA:";
        refused(
            request.clone().with("content-digest", wrong),
            400,
            "digest_mismatch",
        )
        .await;
        if operation.changes_state() {
            refused(request.clone().without("idempotency-key"), 400, no).await;
        } else {
            // A key where none is declared is no mistake.
            let key = "67e55044-10b1-426f-9247-bb680e5fe0c8";
            let reply = stage
                .send(&request.clone().with("idempotency-key", key))
                .await;
            assert_eq!(reply.status, 200);
        }
        if operation.request_mark().is_some() {
            refused(request.clone().without("content-type"), 400, no).await;
            refused(request.clone().with("content-type", "text/plain"), 400, no).await;
            let parameters = "Application/JSON; charset=utf-8";
            let fresh = stage.prepare(operation, "nowhere", &valid(operation, "nowhere"));
            let reply = stage.send(&fresh.with("content-type", parameters)).await;
            assert!(reply.status < 300);
        }
        let mut garbage = stage.prepare(operation, "nowhere", &json!(null));
        garbage.body = b"{".to_vec();
        assert_eq!(stage.send(&garbage).await.pointers(), [""]);
        garbage.body = vec![b' '; 300 * 1024];
        refused(garbage, 413, "request_too_large").await;
    }
}

#[tokio::test]
async fn a_digest_of_the_very_bytes_is_accepted() {
    let stage = Stage::set().await;
    // {"query": "mug"}, digested with a tool of its own.
    let mut request = stage.prepare(SearchCatalog, "", &json!(null));
    request.body = br#"{"query": "mug"}"#.to_vec();
    let digest = "sha-256=:zEqyTK8xn+lJ0Hn2rQqEFmtwBrWAYWCCIVXwCnAT3/0=:";
    let wrong = stage
        .send(&request.clone().with("content-digest", digest))
        .await;
    assert_eq!(wrong.body["code"], "digest_mismatch");
    let digest = "sha-256=:Mi/XCgO7NRM72k4Wm6EeLM1zmSU3IOUy/bA21AXaLn0=:";
    let right = stage.send(&request.with("content-digest", digest)).await;
    assert_eq!(right.status, 200);
}

#[tokio::test]
async fn the_agents_profile_must_be_there_and_speak_the_release() {
    let mut stage = Stage::set().await;
    let origin = serve(|origin| {
        let answer = |body: String| get(move || async move { body });
        let mut old = agent_profile(origin);
        old["ucp"]["version"] = json!("2026-01-23");
        let large = agent_profile(origin).to_string();
        let mut mute = agent_profile(origin);
        let ours = json!([{ "version": "2026-04-08" }]);
        // An extension whose parent is missing does not count.
        mute["ucp"]["capabilities"] =
            json!({ "dev.ucp.shopping.cart": ours, "dev.ucp.shopping.fulfillment": ours });
        let redirect = get(|| async { (StatusCode::FOUND, [("location", "/mute")]) });
        Router::new()
            .route("/old", answer(old.to_string()))
            .route("/text", answer("not json".to_owned()))
            .route("/empty", answer("{}".to_owned()))
            .route("/large", answer(large + &" ".repeat(200 * 1024)))
            .route("/mute", answer(mute.to_string()))
            .route("/redirect", redirect)
    })
    .await;
    for (path, status, code) in [
        ("/old", 422, "version_unsupported"),
        ("/text", 422, "profile_malformed"),
        ("/empty", 422, "profile_malformed"),
        ("/large", 422, "profile_malformed"),
        ("/redirect", 424, "profile_unreachable"),
        ("/nothing", 424, "profile_unreachable"),
    ] {
        stage.profile = format!("{origin}{path}");
        let reply = stage.call(CreateCart, "", mugs()).await;
        assert_eq!(
            (reply.status, &reply.body["code"]),
            (status, &json!(code)),
            "{path}"
        );
    }
    // Nothing in common: a business outcome.
    stage.profile = format!("{origin}/mute");
    let reply = stage.call(CreateCheckout, "", mugs()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.codes(), ["capabilities_incompatible"]);
    let reply = stage.call(CreateCart, "", mugs()).await;
    assert_eq!(
        reply.body["ucp"]["capabilities"],
        json!({ "dev.ucp.shopping.cart": [{ "version": "2026-04-08" }] })
    );
}
