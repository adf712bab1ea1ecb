//! Whole purchases, with every amount.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{Stage, agent_profile, mugs, mugs_ready, payment, serve, totals};
use merchant::Operation::{
    CancelCheckout, CompleteCheckout, CreateCart, CreateCheckout, GetCart, GetCheckout, GetOrder,
    LookupCatalog, SearchCatalog, UpdateCart, UpdateCheckout,
};
use serde_json::json;

#[tokio::test]
async fn from_search_to_order() {
    let stage = Stage::set().await;

    let found = stage
        .call(SearchCatalog, "", json!({ "query": "stoneware" }))
        .await;
    assert_eq!(found.body["products"][0]["variants"][0]["id"], "var_mug");

    let cart = stage.call(CreateCart, "", mugs()).await;
    assert_eq!(cart.totals(), [("subtotal", 2998), ("total", 2998)]);
    let cart_id = cart.str("/id");

    let update = json!({
        "id": cart_id,
        "line_items": [
            { "id": "li_1", "item": { "id": "var_mug" }, "quantity": 1 },
            { "item": { "id": "var_tee_blue_l" }, "quantity": 2 },
        ],
        "discounts": { "codes": ["summer10", "FiveOff"] },
    });
    let cart = stage.call(UpdateCart, cart_id, update).await;
    // 1499 + 2 × 2700; 10 % of each line, halves up: 150 + 540; then 500 off.
    let priced = [
        ("subtotal", 6899),
        ("items_discount", -690),
        ("discount", -500),
        ("total", 5709),
    ];
    assert_eq!(cart.totals(), priced);
    assert_eq!(
        totals(&cart.body["line_items"][0]["totals"]),
        [
            ("subtotal", 1499),
            ("items_discount", -150),
            ("total", 1349)
        ]
    );
    assert_eq!(
        totals(&cart.body["line_items"][1]["totals"]),
        [
            ("subtotal", 5400),
            ("items_discount", -540),
            ("total", 4860)
        ]
    );
    assert_eq!(cart.body["line_items"][1]["id"], "li_2");
    let applied = &cart.body["discounts"]["applied"];
    assert_eq!(applied[0]["amount"], 690);
    assert_eq!(
        applied[0]["allocations"][1],
        json!({"path": "$.line_items[1]", "amount": 540})
    );

    let create = json!({ "cart_id": cart_id, "line_items": [] });
    let checkout = stage.call(CreateCheckout, "", create.clone()).await;
    assert_eq!(checkout.totals(), priced);
    assert_eq!(checkout.body["status"], "incomplete");
    assert_eq!(
        checkout.codes(),
        ["missing", "fulfillment_destination_required"]
    );
    assert_eq!(checkout.body["expires_at"], "2026-04-08T18:00:00Z");
    let id = checkout.str("/id");
    // The same cart leads to the same checkout.
    let again = stage.call(CreateCheckout, "", create).await;
    assert_eq!(again.str("/id"), id);

    let mut update = json!({
        "buyer": { "email": "ada@example.com", "consent": { "marketing": false } },
        "line_items": [
            { "id": "li_1", "item": { "id": "var_mug" }, "quantity": 1 },
            { "id": "li_2", "item": { "id": "var_tee_blue_l" }, "quantity": 2 },
        ],
        "discounts": { "codes": ["SUMMER10", "FIVEOFF"] },
        "fulfillment": { "methods": [{
            "id": "method_1",
            "type": "shipping",
            "line_item_ids": ["li_1", "li_2"],
            "destinations": [{ "street_address": "1 Main St", "address_country": "US" }],
            "selected_destination_id": "destination_1",
        }] },
    });
    let checkout = stage.call(UpdateCheckout, id, update.clone()).await;
    assert_eq!(checkout.codes(), ["fulfillment_option_required"]);
    assert_eq!(
        checkout.str("/messages/0/path"),
        "$.fulfillment.methods[0].groups[0].selected_option_id"
    );
    let group = &checkout.body["fulfillment"]["methods"][0]["groups"][0];
    assert_eq!(group["options"][1]["totals"][0]["amount"], 1500);

    // A group of another id is no group of this checkout.
    update["fulfillment"]["methods"][0]["groups"] =
        json!([{ "id": "group_1", "selected_option_id": "express" }]);
    let other = stage.call(UpdateCheckout, id, update.clone()).await;
    assert_eq!(other.codes(), ["fulfillment_option_required"]);

    update["fulfillment"]["methods"][0]["groups"] =
        json!([{ "id": group["id"], "selected_option_id": "express" }]);
    let checkout = stage.call(UpdateCheckout, id, update.clone()).await;
    // 5709 of goods, 10 % tax on them with halves up, 1500 for the parcel.
    let priced = [
        ("subtotal", 6899),
        ("items_discount", -690),
        ("discount", -500),
        ("fulfillment", 1500),
        ("tax", 571),
        ("total", 7780),
    ];
    assert_eq!(checkout.totals(), priced);
    assert_eq!(checkout.body["status"], "ready_for_complete");
    assert_eq!(checkout.body["messages"], json!(null));
    assert_eq!(checkout.body["buyer"]["consent"]["marketing"], false);

    let declined = stage
        .call(CompleteCheckout, id, payment("tok_decline"))
        .await;
    assert_eq!(declined.body["status"], "incomplete");
    assert_eq!(declined.codes(), ["payment_failed"]);
    assert_eq!(stage.merchant.orders().len(), 0);

    let completed = stage.complete(id).await;
    assert_eq!(completed.body["status"], "completed");
    assert_eq!(completed.totals(), priced);
    assert_eq!(completed.body["continue_url"], json!(null));
    let instrument = &completed.body["payment"]["instruments"][0];
    assert_eq!(instrument["id"], "instrument_1");
    assert_eq!(instrument["credential"], json!(null));
    let order_id = completed.str("/order/id");
    assert_eq!(
        completed.str("/order/permalink_url"),
        format!("{}/orders/{order_id}", stage.merchant.origin())
    );

    let ledger = stage.merchant.orders();
    assert_eq!(ledger.len(), 1);
    assert_eq!(ledger[0].checkout_id, id);
    assert_eq!(ledger[0].total(), 7780);

    let order = stage.call(GetOrder, order_id, json!(null)).await;
    assert_eq!(order.totals(), priced);
    assert_eq!(
        order.body["line_items"][1]["quantity"],
        json!({ "original": 2, "total": 2, "fulfilled": 0 })
    );
    assert_eq!(
        order.body["fulfillment"]["expectations"][0]["method_type"],
        "shipping"
    );

    // A completed checkout takes no change, and the cart is gone.
    for reply in [
        stage.call(UpdateCheckout, id, update).await,
        stage.complete(id).await,
        stage.call(CancelCheckout, id, json!(null)).await,
    ] {
        assert_eq!(reply.status, 200);
        assert_eq!(reply.body["ucp"]["status"], "error");
        assert_eq!(reply.codes(), ["invalid_state"]);
    }
    let cart = stage.call(GetCart, cart_id, json!(null)).await;
    assert_eq!(cart.codes(), ["not_found"]);
    assert_eq!(stage.merchant.orders().len(), 1);

    // The stock goes down by what is sold.
    stage.merchant.set_stock("var_mug", 3);
    let ready = stage.ready().await;
    stage.complete(&ready).await;
    let short = stage.call(CreateCheckout, "", mugs_ready()).await;
    assert_eq!(short.codes(), ["out_of_stock"]);
    assert_eq!(short.str("/messages/0/path"), "$.line_items[0].quantity");
    assert_eq!(short.str("/messages/0/content"), "1 of var_mug are left.");
    assert_eq!(short.body["status"], "incomplete");
    let lookup = json!({ "ids": ["var_mug"] });
    stage.merchant.set_stock("var_mug", 0);
    let mug = stage.call(LookupCatalog, "", lookup).await;
    let availability = &mug.body["products"][0]["variants"][0]["availability"];
    assert_eq!(availability["status"], "out_of_stock");
    stage.merchant.shutdown().await;
}

#[tokio::test]
async fn a_gift_card_needs_no_parcel() {
    let stage = Stage::set().await;
    let body = json!({
        "line_items": [{ "item": { "id": "var_gift_card_25" }, "quantity": 1 }],
        "buyer": { "email": "ada@example.com" },
    });
    let created = stage.call(CreateCheckout, "", body).await;
    assert_eq!(created.body["status"], "ready_for_complete");
    assert_eq!(created.totals(), [("subtotal", 2500), ("total", 2500)]);
    let completed = stage.complete(created.str("/id")).await;
    assert_eq!(completed.body["status"], "completed");
}

#[tokio::test]
async fn pickup_is_free_and_free_shipping_takes_off_what_the_parcel_costs() {
    let stage = Stage::set().await;
    let mut body = mugs_ready();
    body["discounts"] = json!({ "codes": ["FREESHIP", "WINTER20", "NONSENSE", "freeship"] });
    let created = stage.call(CreateCheckout, "", body.clone()).await;
    assert_eq!(
        created.codes(),
        [
            "discount_code_expired",
            "discount_code_invalid",
            "discount_code_already_applied"
        ]
    );
    // Warnings do not hinder.
    assert_eq!(created.body["status"], "ready_for_complete");
    assert_eq!(
        created.totals(),
        [
            ("subtotal", 2998),
            ("discount", -500),
            ("fulfillment", 500),
            ("tax", 300),
            ("total", 3298)
        ]
    );

    body["discounts"] = json!({});
    body["fulfillment"] = json!({ "methods": [{
        "type": "pickup",
        "selected_destination_id": "store_1",
        "groups": [{ "selected_option_id": "in_store" }],
    }] });
    let created = stage.call(CreateCheckout, "", body).await;
    assert_eq!(
        created.totals(),
        [
            ("subtotal", 2998),
            ("fulfillment", 0),
            ("tax", 300),
            ("total", 3298)
        ]
    );
    let completed = stage.complete(created.str("/id")).await;
    let order = &stage.merchant.orders()[0];
    assert_eq!(completed.body["order"]["id"], *order.id);
    let expectation = &order.body["fulfillment"]["expectations"][0];
    assert_eq!(expectation["method_type"], "pickup");
}

#[tokio::test]
async fn sessions_end_and_belong_to_their_agent() {
    let mut stage = Stage::set().await;
    let id = stage.ready().await;
    let cart = stage.call(CreateCart, "", mugs()).await;
    let cart = cart.str("/id").to_owned();
    let sold = stage.ready().await;
    let order = stage.complete(&sold).await.str("/order/id").to_owned();
    let nothing = stage.call(GetCheckout, "chk_nowhere", json!(null)).await;
    assert_eq!(nothing.codes(), ["not_found"]);
    assert_eq!(nothing.status, 200);

    let other = serve(|origin| {
        let profile = agent_profile(origin);
        axum::Router::new().route(
            "/profile",
            axum::routing::get(move || async move { axum::Json(profile) }),
        )
    })
    .await;
    let ours = std::mem::replace(&mut stage.profile, format!("{other}/profile"));
    for (operation, id) in [(GetCheckout, &id), (GetCart, &cart), (GetOrder, &order)] {
        let foreign = stage.call(operation, id, json!(null)).await;
        assert_eq!(foreign.codes(), ["not_found"]);
    }
    stage.profile = ours;

    let canceled = stage.ready().await;
    let reply = stage.call(CancelCheckout, &canceled, json!(null)).await;
    assert_eq!(reply.body["status"], "canceled");

    stage.pass(6 * 3600);
    let expired = stage.call(GetCheckout, &id, json!(null)).await;
    assert_eq!(expired.body["status"], "canceled");
    let completed = stage.complete(&id).await;
    assert_eq!(completed.codes(), ["invalid_state"]);
    assert_eq!(stage.merchant.orders().len(), 1);
    let cart = stage.call(GetCart, &cart, json!(null)).await;
    assert_eq!(cart.codes(), ["not_found"]);
}

#[tokio::test]
async fn consent_is_the_checkouts_own() {
    let stage = Stage::set().await;
    let mut body = mugs();
    // To a cart, `consent` is a member like any other.
    body["buyer"] = json!({ "email": "ada@example.com", "consent": "all of it" });
    let cart = stage.call(CreateCart, "", body).await;
    let mut body = json!({ "cart_id": cart.body["id"], "line_items": [] });
    body["buyer"] = json!({ "email": "ignored@example.com", "consent": { "analytics": true } });
    let checkout = stage.call(CreateCheckout, "", body).await;
    let expected = json!({ "email": "ada@example.com", "consent": { "analytics": true } });
    assert_eq!(checkout.body["buyer"], expected);
    stage
        .call(CancelCheckout, checkout.str("/id"), json!(null))
        .await;
    let body = json!({ "cart_id": cart.body["id"], "line_items": [] });
    let checkout = stage.call(CreateCheckout, "", body).await;
    assert_eq!(
        checkout.body["buyer"],
        json!({ "email": "ada@example.com" })
    );
}

#[tokio::test]
async fn items_that_do_not_exist_are_named() {
    let stage = Stage::set().await;
    let mut body = mugs();
    let unicorn = json!({ "item": { "id": "var_unicorn" }, "quantity": 1 });
    body["line_items"].as_array_mut().unwrap().push(unicorn);
    let some = stage.call(CreateCheckout, "", body.clone()).await;
    assert_eq!(some.body["line_items"].as_array().unwrap().len(), 1);
    assert_eq!(some.codes()[0], "item_unavailable");
    assert_eq!(some.str("/messages/0/path"), "$.line_items[1]");
    body["line_items"].as_array_mut().unwrap().remove(0);
    let none = stage.call(CreateCheckout, "", body).await;
    assert_eq!(none.body["ucp"]["status"], "error");
    assert_eq!(none.codes(), ["item_unavailable"]);
}

#[tokio::test]
async fn the_profile_conforms_and_can_be_revalidated() {
    let stage = Stage::set().await;
    let url = format!("{}/.well-known/ucp", stage.merchant.origin());
    let response = stage.http.get(&url).send().await.unwrap();
    assert_eq!(response.headers()["cache-control"], "public, max-age=60");
    let tag = response.headers()["etag"].clone();
    let profile: serde_json::Value =
        serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    assert_eq!(stage.merchant.contract().profile_violations(&profile), []);
    let services = &profile["ucp"]["services"]["dev.ucp.shopping"];
    assert_eq!(
        services[0]["endpoint"],
        format!("{}/ucp/v1", stage.merchant.origin())
    );
    assert_eq!(services[1]["transport"], "embedded");
    assert_eq!(profile["ucp"]["capabilities"].as_object().unwrap().len(), 8);

    let request = stage.http.get(&url).header("if-none-match", tag);
    assert_eq!(request.send().await.unwrap().status(), 304);

    // The check can fail.
    let broken = json!({ "ucp": { "version": "yesterday" } });
    assert!(
        !stage
            .merchant
            .contract()
            .profile_violations(&broken)
            .is_empty()
    );
}
