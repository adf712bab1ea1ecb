//! Search, lookup and product detail.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{Reply, Stage};
use merchant::Operation::{GetProduct, LookupCatalog, SearchCatalog};
use serde_json::{Value, json};

fn ids(reply: &Reply) -> Vec<&str> {
    let products = reply.body["products"].as_array().unwrap();
    products.iter().map(|p| p["id"].as_str().unwrap()).collect()
}

fn variants(product: &Value) -> Vec<&str> {
    let variants = product["variants"].as_array().unwrap();
    variants.iter().map(|v| v["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn search_filters_and_pages() {
    let stage = Stage::set().await;
    let first = stage.call(SearchCatalog, "", json!({})).await;
    assert_eq!(ids(&first).len(), 10);
    assert_eq!(first.body["pagination"]["total_count"], 12);
    let cursor = first.str("/pagination/cursor");
    let rest = json!({ "pagination": { "cursor": cursor, "limit": 5 } });
    let rest = stage.call(SearchCatalog, "", rest).await;
    assert_eq!(ids(&rest), ["prod_tent", "prod_gift_card"]);
    assert_eq!(
        rest.body["pagination"],
        json!({ "has_next_page": false, "total_count": 12 })
    );

    let coffee = stage
        .call(SearchCatalog, "", json!({ "query": "COFFEE water" }))
        .await;
    assert_eq!(ids(&coffee), ["prod_kettle"]);
    let filters = json!({ "filters": { "categories": ["home"], "price": { "max": 5000 } } });
    let home = stage.call(SearchCatalog, "", filters).await;
    assert_eq!(ids(&home), ["prod_mug", "prod_lamp"]);
    // The filter narrows the variants too; the range is the whole product's.
    let filters = json!({ "filters": { "price": { "min": 2600, "max": 2700 } } });
    let tee = stage.call(SearchCatalog, "", filters).await;
    assert_eq!(ids(&tee), ["prod_tee"]);
    assert_eq!(variants(&tee.body["products"][0]), ["var_tee_blue_l"]);
    assert_eq!(
        tee.body["products"][0]["price_range"]["min"]["amount"],
        2500
    );
    let none = stage
        .call(SearchCatalog, "", json!({ "query": "unicorn" }))
        .await;
    assert_eq!(ids(&none).len(), 0);
}

#[tokio::test]
async fn lookup_says_which_identifier_led_where() {
    let stage = Stage::set().await;
    let body = json!({ "ids": ["prod_tee", "var_tee_blue_s", "MUG", "prod_tee", "unicorn"] });
    let found = stage.call(LookupCatalog, "", body).await;
    assert_eq!(ids(&found), ["prod_tee", "prod_mug"]);
    assert_eq!(
        found.body["products"][0]["variants"][0]["inputs"],
        json!([
            { "id": "prod_tee", "match": "featured" },
            { "id": "var_tee_blue_s", "match": "exact" },
        ])
    );
    assert_eq!(
        found.body["products"][1]["variants"][0]["inputs"],
        json!([{ "id": "MUG", "match": "exact" }])
    );
    assert_eq!(
        found.body["messages"],
        json!([{ "type": "info", "code": "not_found", "content": "unicorn" }])
    );
    let many: Vec<String> = (0..51).map(|n| format!("id_{n}")).collect();
    let many = stage.call(LookupCatalog, "", json!({ "ids": many })).await;
    assert_eq!(
        (many.status, &many.body["code"]),
        (400, &json!("request_too_large"))
    );
}

#[tokio::test]
async fn product_detail_narrows_and_relaxes() {
    let stage = Stage::set().await;
    let red = json!({ "id": "prod_tee", "selected": [{ "name": "Color", "label": "Red" }] });
    let red = stage.call(GetProduct, "", red).await;
    assert_eq!(variants(&red.body["product"]), ["var_tee_red_s"]);
    assert_eq!(
        red.body["product"]["options"],
        json!([
            { "name": "Color", "values": [
                { "label": "Blue", "exists": true, "available": true },
                { "label": "Red", "exists": true, "available": false },
            ] },
            { "name": "Size", "values": [
                { "label": "S", "exists": true, "available": false },
                { "label": "L", "exists": false, "available": false },
            ] },
        ])
    );

    // Red in L does not exist: the less preferred axis gives way.
    let both = json!([{ "name": "Color", "label": "Red" }, { "name": "Size", "label": "L" }]);
    let body = json!({ "id": "prod_tee", "selected": both, "preferences": ["Size", "Color"] });
    let relaxed = stage.call(GetProduct, "", body).await;
    let size = json!([{ "name": "Size", "label": "L" }]);
    assert_eq!(relaxed.body["product"]["selected"], size);
    assert_eq!(variants(&relaxed.body["product"]), ["var_tee_blue_l"]);

    // A variant's id wins over a selection.
    let body = json!({ "id": "var_tee_blue_s", "selected": both });
    let exact = stage.call(GetProduct, "", body).await;
    assert_eq!(variants(&exact.body["product"]), ["var_tee_blue_s"]);

    let mug = stage
        .call(GetProduct, "", json!({ "id": "prod_mug" }))
        .await;
    assert_eq!(mug.body["product"]["selected"], Value::Null);
    let nothing = stage.call(GetProduct, "", json!({ "id": "unicorn" })).await;
    assert_eq!(nothing.codes(), ["not_found"]);
}
