//! C35 to C49: payloads that are slightly off.

use super::*;
use golden::*;
use ucp_runtime::handoff::{Handoff, Host, Next, Resolve as _};

#[test]
fn c25_a_timestamp_that_is_no_string_is_said_at_its_place() {
    assert_eq!(
        refused::<Checkout>(checkout(json!({ "expires_at": 1_712_570_400 }))),
        "$.expires_at: expected a string, found an integer"
    );
}

#[test]
fn c35_an_empty_array_passes_for_a_map() {
    let envelope = json!({ "version": "2026-04-08", "payment_handlers": [], "capabilities": [] });
    let (read, notes) = noted::<Checkout>(checkout(
        json!({ "ucp": envelope, "payment": { "instruments": [{ "id": "i", "handler_id": "h", "type": "card", "display": [] }] } }),
    ));
    assert!(read.ucp.payment_handlers.is_empty());
    assert_eq!(read.ucp.capabilities, Some(BTreeMap::new()));
    let places: Vec<&str> = notes
        .iter()
        .filter_map(|note| note.split_once(": ").map(|(place, _)| place))
        .collect();
    assert_eq!(
        places,
        [
            "$.ucp.capabilities",
            "$.ucp.payment_handlers",
            "$.payment.instruments[0].display"
        ]
    );
    let handler: PaymentHandler =
        super::read(json!({ "version": "2026-04-08", "id": "h", "config": [] }));
    assert_eq!(handler.config, Some(serde_json::Map::new()));
    assert_eq!(
        refused::<Checkout>(checkout(
            json!({ "ucp": { "version": "2026-04-08", "payment_handlers": [{ "id": "h" }] } })
        )),
        "$.ucp.payment_handlers: expected an object used as a map, found an array"
    );
}

/// What follows for the purchase is the handoff's row of the status, and the guard's.
#[test]
fn c36_absent_payment_handlers_are_none() {
    let (read, notes) = noted::<Checkout>(checkout(
        json!({ "ucp": { "version": "2026-04-08", "capabilities": {} } }),
    ));
    assert!(read.ucp.payment_handlers.is_empty());
    assert_eq!(
        notes,
        ["$.ucp.payment_handlers: absent though required, read as empty"]
    );
    assert!(matches!(
        read.handoff(&Host::default()),
        Ok(Handoff::Conversational {
            next: Next::Update,
            ..
        })
    ));
}

#[test]
fn c37_an_error_without_severity_is_kept_and_handed_over() {
    let message = json!({ "type": "error", "content": "Card declined" });
    let body = checkout(
        json!({ "status": "ready_for_complete", "messages": [message], "continue_url": "https://shop.example/c/1" }),
    );
    let (read, notes) = noted::<Checkout>(body.clone());
    assert_eq!(serde_json::to_value(&read).unwrap(), body);
    assert_eq!(
        notes,
        [
            "$.messages[0]: kept as unknown: $.messages[0].code: expected a required member, found nothing"
        ]
    );
    let decision = read.handoff(&Host::default()).unwrap();
    assert!(
        matches!(
            decision,
            Handoff::ContinueUrl {
                reason: ucp_runtime::handoff::Takeover::UnknownSeverity,
                ..
            }
        ),
        "{decision:?}"
    );
    // Without a page to go to, it is surfaced.
    let alone: Checkout = super::read(checkout(
        json!({ "status": "ready_for_complete", "messages": [message] }),
    ));
    let decision = alone.handoff(&Host::default()).unwrap();
    assert_eq!(decision.blockers().len(), 1, "{decision:?}");
    assert!(!matches!(decision, Handoff::Completed { .. }));
}

#[test]
fn c39_totals_are_held_to_one_subtotal_and_one_total() {
    let total = json!({ "type": "total", "amount": 1000 });
    let subtotal = json!({ "type": "subtotal", "amount": 1000 });
    for (totals, expected) in [
        (json!([subtotal, total]), 0),
        (json!([]), 2),
        (json!([subtotal, total, total]), 1),
        (json!([total]), 1),
    ] {
        let read = round_trips::<Checkout>(&checkout(json!({ "totals": totals })));
        let rules = broken(read.validate());
        assert_eq!(rules.len(), expected, "{rules:?}");
        assert!(
            rules
                .iter()
                .all(|rule| rule.starts_with("$.totals: must contain exactly 1 item")),
            "{rules:?}"
        );
    }
}

#[test]
fn c40_a_quantity_below_one_breaks_a_rule() {
    for quantity in [0, -1] {
        let body = CreateCheckout::new([CreateLineItem::new(ItemInput::new("mug"), quantity)]);
        assert_eq!(
            broken(body.validate()),
            ["$.line_items[0].quantity: must be at least 1"]
        );
    }
    assert_eq!(
        refused::<CreateLineItem>(json!({ "item": { "id": "mug" }, "quantity": 1.5 })),
        "$.quantity: expected an integer of 64 bits, found a fraction or a number beyond 64 bits"
    );
    // A float that is an integer is read as one, and noted.
    let (line, notes) =
        noted::<CreateLineItem>(json!({ "item": { "id": "mug" }, "quantity": 2.0 }));
    assert_eq!((line.quantity, notes.len()), (2, 1));
}

#[test]
fn c41_requests_have_no_members_that_only_a_merchant_says() {
    let found = shapes(&release());
    let names = |of: &str| -> Vec<String> {
        found[of]
            .iter()
            .map(|field| field.split(':').next().unwrap().to_owned())
            .collect()
    };
    for view in [
        "CreateCheckout",
        "UpdateCheckout",
        "CompleteCheckout",
        "CreateCart",
        "UpdateCart",
    ] {
        for member in [
            "continue_url",
            "messages",
            "currency",
            "totals",
            "status",
            "links",
            "ucp",
        ] {
            assert!(!names(view).contains(&member.to_owned()), "{view}.{member}");
        }
    }
    assert_eq!(names("ItemInput"), ["id"]);
    assert!(!names("CreateLineItem").contains(&"id".to_owned()));
    let received: Checkout = super::read(checkout(
        json!({ "continue_url": "https://shop.example/c/1", "messages": [], "buyer": { "email": "a@example.com" } }),
    ));
    assert_eq!(
        serde_json::to_value(UpdateCheckout::update_from(&received).unwrap()).unwrap(),
        json!({ "line_items": [{ "id": "li_1", "item": { "id": "mug" }, "quantity": 1 }], "buyer": { "email": "a@example.com" } })
    );
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn c42_the_body_of_an_update_has_the_id_that_its_release_says() {
    let id = |found: &BTreeMap<String, Vec<String>>, of: &str| {
        found[of]
            .iter()
            .find(|field| field.starts_with("id:"))
            .cloned()
    };
    let found = shapes(&release());
    assert_eq!(id(&found, "UpdateCheckout"), None);
    assert_eq!(id(&found, "CompleteCheckout"), None);
    assert_eq!(id(&found, "UpdateCart").as_deref(), Some("id:String"));
    // The other releases, where their contracts are at hand.
    let Some(shared) = ucp_tests::shared::folder() else {
        return;
    };
    for (release, version, complete, update, cart) in [
        (
            "2026-01-23/source/services/shopping/openapi.json",
            "2026-01-23",
            "CompleteCheckoutRequest",
            Some("id:String"),
            None,
        ),
        (
            "draft-2026-08-22/source/services/shopping/rest.openapi.json",
            "2026-08-22",
            "CompleteCheckout",
            None,
            Some(None),
        ),
    ] {
        let path = find(&shared.join("contract"), release);
        let found = shapes(&Builder::contract(&path).version(version).source().unwrap());
        assert_eq!(id(&found, "UpdateCheckout").as_deref(), update, "{release}");
        assert_eq!(id(&found, complete), None, "{release}");
        if let Some(cart) = cart {
            assert_eq!(id(&found, "UpdateCart").as_deref(), cart, "{release}");
        }
    }
}

fn find(contracts: &Path, release: &str) -> std::path::PathBuf {
    let exact = contracts.join(release);
    if exact.exists() {
        exact
    } else {
        contracts.join(release.replace("/source/", "/"))
    }
}

#[test]
fn c43_what_an_update_starts_from_keeps_what_was_chosen() {
    let received: Checkout = super::read(checkout(json!({
        "buyer": { "email": "a@example.com", "consent": { "marketing": false } },
        "discounts": { "codes": ["X"], "applied": [{ "title": "X", "amount": 5 }] },
        "fulfillment": { "methods": [{ "id": "m", "type": "shipping", "line_item_ids": ["li_1"], "selected_destination_id": null }] },
    })));
    let update = serde_json::to_value(UpdateCheckout::update_from(&received).unwrap()).unwrap();
    assert_eq!(
        update["buyer"],
        json!({ "email": "a@example.com", "consent": { "marketing": false } })
    );
    assert_eq!(update["discounts"], json!({ "codes": ["X"] }));
    assert_eq!(
        update["fulfillment"]["methods"][0],
        json!({ "id": "m", "type": "shipping", "line_item_ids": ["li_1"], "selected_destination_id": null })
    );
}

/// Samples of the published documentation that break its own contract; nothing here is golden for
/// having been printed there.
#[test]
fn c47_samples_are_validated_before_they_are_believed() {
    let sample: Checkout = super::read(checkout(json!({ "status": "open" })));
    assert_eq!(
        broken(sample.validate()),
        ["$.status: must be a value that the contract lists"]
    );
    let good: Checkout = super::read(checkout(json!({})));
    assert_eq!(broken(good.validate()), [""; 0]);
}

fn order() -> Value {
    json!({
        "ucp": { "version": "2026-04-08", "capabilities": {} },
        "id": "ord_1",
        "checkout_id": "chk_1",
        "permalink_url": "https://shop.example/orders/1",
        "line_items": [],
        "fulfillment": {},
        "currency": "EUR",
        "totals": [{ "type": "subtotal", "amount": 0 }, { "type": "total", "amount": 0 }],
    })
}

#[test]
fn c48_the_body_of_an_order_event_is_the_order() {
    fn body<W: ucp_runtime::Webhook<Body = Order>>() -> &'static str {
        W::OPERATION.id
    }
    assert_eq!(
        body::<operations::OrderEventWebhook>(),
        "order_event_webhook"
    );
    let read = round_trips::<Order>(&order());
    assert_eq!(read.id, "ord_1");
    // A wrapped one does not pass for an order.
    assert_eq!(
        refused::<Order>(
            json!({ "event_type": "order_shipped", "checkout_id": "chk_1", "order": order() })
        ),
        "$.ucp: expected a required member, found nothing"
    );
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn c49_an_events_identity_stands_where_its_release_says() {
    use ucp_runtime::Webhook as _;
    let headers: Vec<(&str, bool)> = operations::OrderEventWebhook::OPERATION
        .headers
        .iter()
        .map(|header| (header.name, header.required))
        .collect();
    assert!(headers.contains(&("Webhook-Id", true)), "{headers:?}");
    assert!(
        headers.contains(&("Webhook-Timestamp", true)),
        "{headers:?}"
    );
    // A member from an older release is tolerated.
    let mut with_id = order();
    with_id["event_id"] = json!("evt_1");
    let read = round_trips::<Order>(&with_id);
    assert_eq!(read.extra["event_id"], "evt_1");
    let Some(shared) = ucp_tests::shared::folder() else {
        return;
    };
    let path = find(
        &shared.join("contract"),
        "2026-01-23/source/services/shopping/openapi.json",
    );
    let source = Builder::contract(&path)
        .version("2026-01-23")
        .source()
        .unwrap();
    let found = shapes(&source);
    let event = found
        .iter()
        .find(|(_, fields)| fields.contains(&"event_id:String".to_owned()))
        .unwrap_or_else(|| panic!("no event in {:?}", found.keys()));
    assert!(
        event.1.iter().any(|field| field == "created_time:String"),
        "{event:?}"
    );
}
