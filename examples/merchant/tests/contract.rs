//! The judge itself: that the checks of responses, which every other test relies on, can fail.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{Stage, mugs, mugs_ready};
use merchant::Operation::{
    CancelCart, CreateCart, CreateCheckout, GetCart, GetCheckout, LookupCatalog,
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_bent_response_is_noticed() {
    let stage = Stage::set().await;
    let body = stage.call(CreateCheckout, "", mugs_ready()).await.body;
    let contract = stage.merchant.contract();
    assert_eq!(contract.response_violations(GetCheckout, &body), []);
    let bends: Vec<(&str, Value)> = vec![
        ("/expires_at", json!("tomorrow")),
        ("/continue_url", json!("not a url")),
        ("/status", json!("open")),
        ("/totals", json!([{ "type": "total", "amount": 1 }])),
        ("/totals/0/amount", json!(-1)),
        ("/line_items/0/quantity", json!(0)),
        ("/ucp/payment_handlers", Value::Null),
        ("/ucp/version", json!("v1")),
        ("/fulfillment/methods/0/groups/0/options/0/id", Value::Null),
        (
            "/discounts",
            json!({ "applied": [{ "title": "x", "amount": -5 }] }),
        ),
        (
            "/messages",
            json!([{ "type": "error", "code": "x", "content": "no severity" }]),
        ),
        (
            "/payment",
            json!({ "instruments": [{ "id": "i", "type": "card" }] }),
        ),
        ("/order", json!({ "id": "ord_1" })),
    ];
    for (pointer, value) in bends {
        let mut bent = body.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match (bent.pointer_mut(parent).unwrap(), name.parse::<usize>()) {
            (Value::Array(items), Ok(index)) => items[index] = value,
            (parent, _) => parent[name] = value,
        }
        let found = contract.response_violations(GetCheckout, &bent);
        assert!(!found.is_empty(), "{pointer}");
    }
    // An error envelope is held against the error, whatever else it carries.
    let mut error = body.clone();
    error["ucp"]["status"] = json!("error");
    assert!(!contract.response_violations(GetCheckout, &error).is_empty());
    let lookup = json!({ "ucp": { "version": "2026-04-08" }, "products": [{ "id": "p" }] });
    assert!(
        !contract
            .response_violations(LookupCatalog, &lookup)
            .is_empty()
    );
}

#[tokio::test]
async fn a_canceled_cart_is_gone() {
    let stage = Stage::set().await;
    let created = stage.call(CreateCart, "", mugs()).await;
    let id = created.str("/id");
    let canceled = stage.call(CancelCart, id, Value::Null).await;
    assert_eq!(canceled.totals(), [("subtotal", 2998), ("total", 2998)]);
    for operation in [GetCart, CancelCart] {
        let gone = stage.call(operation, id, Value::Null).await;
        assert_eq!(gone.codes(), ["not_found"]);
    }
}
