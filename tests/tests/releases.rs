//! Two releases side by side in one file: each reads its own checkout and writes it back whole.

use ucp_runtime::serde_json::{self, Value, json};
use ucp_tests::golden::shopping_2026_04_08 as april;

ucp_runtime::include_ucp! {
    release: "draft",
    version: "2026-08-22",
    operations: [checkout],
    extensions: [fulfillment],
    module: draft,
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
    let sent = checkout(april::RELEASE);
    let read: april::Checkout = serde_json::from_value(sent.clone())?;
    assert_eq!(read.line_items.len(), 1);
    assert_eq!(serde_json::to_value(&read)?, sent);

    let mut sent = checkout(draft::RELEASE);
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
    assert_eq!(april::RELEASE, "2026-04-08");
    assert_eq!(draft::RELEASE, "2026-08-22");
}

#[test]
fn what_the_draft_adds_is_kept_by_the_release_before() -> Result<(), serde_json::Error> {
    let mut sent = checkout(draft::RELEASE);
    sent["actions"] = json!({ "com.example.age_check": [{ "id": "a_1" }] });
    let read: april::Checkout = serde_json::from_value(sent.clone())?;
    assert!(read.extra.contains_key("actions"));
    assert_eq!(serde_json::to_value(&read)?, sent);
    Ok(())
}
