//! Updates that say only what changes.

use super::{april, nobody, ready, stage};
use merchant::{Operation, Stimulus, Target};
use ucp_runtime::Handoff;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::tools::{Kind, Tools};

/// As an application has them that asks the buyer itself.
fn careful(shop: &april::Client) -> Tools {
    let mut tools = shop.tools().partial_updates();
    for name in ["buyer", "fulfillment", "payment"] {
        tools = tools.withhold(name);
    }
    tools.build().unwrap()
}

/// A checkout that is complete but for payment, with one code: its id and that of its line.
async fn checkout(shop: &april::Client) -> (String, Value) {
    let mut arguments = ready();
    arguments["body"]["discounts"] = json!({ "codes": ["SUMMER10"] });
    let tools = shop.tools().build().unwrap();
    let created = tools
        .call_tool("create_checkout", arguments, ("c", "0"))
        .await;
    let body = created.body.unwrap();
    let id = body["id"].as_str().unwrap().to_owned();
    (id, body["line_items"][0]["id"].clone())
}

#[test]
fn a_model_is_asked_for_what_changes_alone() {
    let shop = april::Client::new(&nobody("2026-04-08"));
    let plain = shop.tools().build().unwrap();
    let careful = careful(&shop);
    let of = |tools: &Tools, name: &str| {
        let mut all = tools.definitions().iter();
        let found = all.find(|tool| tool.name == name).unwrap().clone();
        (
            found.description,
            Value::Object((*found.input_schema).clone()),
        )
    };
    for (name, members) in [
        ("update_checkout", 5),
        ("update_cart", 6),
        ("create_checkout", 6),
        ("search_catalog", 6),
    ] {
        let (description, schema) = of(&careful, name);
        let body = &schema["properties"]["body"];
        let found = body["properties"].as_object().unwrap();
        assert_eq!(found.len(), members, "{name}: {:?}", found.keys());
        assert!(found.keys().all(|it| it != "buyer"), "{name}");
        let partial = name.starts_with("update_");
        assert_eq!(
            body.get("required").is_none(),
            partial || name == "search_catalog"
        );
        assert_eq!(description == of(&plain, name).0, !partial);
        assert_eq!(description.contains("stays as it is"), partial);
        jsonschema::draft202012::new(&schema).unwrap();
    }
    let misspelt = shop.tools().withhold("pament").build().unwrap_err();
    assert!(misspelt.to_string().contains("no operation takes `pament`"));

    // What depends on what there is, is not judged without it.
    let check = |arguments| careful.check("update_checkout", arguments);
    let noted = check(json!({"id": "x", "body": {"buyer": {}, "discounts": {"codes": ["A"]}}}));
    assert_eq!(
        noted.unwrap(),
        ["`buyer` was discarded: it is not a model's to set"]
    );
    for (arguments, mistake) in [
        (json!({"body": {}}), "$.id: is required"),
        (json!({"id": "x"}), "$.body: is required"),
        (
            json!({"id": "x", "body": 1}),
            "$.body: must be an object, and is an integer",
        ),
        (
            json!({"id": "x", "body": {}, "codes": []}),
            "$.codes: is not an input of the tool; it takes id, body",
        ),
    ] {
        let mistakes = check(arguments).unwrap_err();
        assert_eq!(mistakes.as_slice()[0].to_string(), mistake);
    }
}

#[tokio::test]
async fn what_is_not_said_stays() {
    let stage = stage().await;
    let (id, line) = checkout(&stage.shop).await;
    let tools = careful(&stage.shop);
    let lines = json!([{"id": line, "item": {"id": "var_mug"}, "quantity": 3}]);
    let body = json!({"line_items": lines, "buyer": {"email": "eve@example.com"}, "payment": {}});
    let update = json!({"id": id, "body": body});
    let result = tools
        .call_tool("update_checkout", update.clone(), ("c", "1"))
        .await;
    assert_eq!(
        (result.kind, result.status),
        (Kind::Answered, Some(200)),
        "{}",
        result.text
    );
    assert_eq!(
        result.notes,
        [
            "`buyer` was discarded: it is not a model's to set",
            "`payment` was discarded: it is not a model's to set"
        ]
    );
    let now = result.body.clone().unwrap();
    assert_eq!(now["line_items"][0]["quantity"], 3);
    assert_eq!(now["buyer"]["email"], "ada@example.com");
    assert_eq!(now["discounts"]["codes"], json!(["SUMMER10"]));
    let method = &now["fulfillment"]["methods"][0];
    assert_eq!(method["selected_destination_id"], "home");
    assert_eq!(method["groups"][0]["selected_option_id"], "standard");
    assert_eq!(now["status"], "ready_for_complete", "{now:#}");
    // Nothing that only the shop says went back to it.
    let sent = stage.sandbox.exchanges();
    let sent = sent.iter().rfind(|it| it.method == "PUT").unwrap();
    let sent: Value = serde_json::from_slice(&sent.body).unwrap();
    for name in ["ucp", "totals", "status", "messages"] {
        assert!(sent.get(name).is_none(), "{name}");
    }

    // The same call again is answered from the record, whatever the checkout has become.
    let known = stage.sandbox.exchanges().len();
    let again = tools.call_tool("update_checkout", update, ("c", "1")).await;
    assert_eq!((&again.body, again.kind), (&result.body, Kind::Answered));
    assert_eq!(stage.sandbox.exchanges().len(), known);

    // `null` takes away.
    let update = json!({"id": id, "body": {"discounts": null}});
    let result = tools.call_tool("update_checkout", update, ("c", "2")).await;
    let now = result.body.unwrap();
    assert!(now.pointer("/discounts/codes/0").is_none(), "{now:#}");
    assert_eq!(now["line_items"][0]["quantity"], 3);

    // Mistakes are told as ever, and change nothing.
    for (body, mistake) in [
        (
            json!({"line_items": null}),
            "$.body.line_items: must be an array, and is null",
        ),
        (
            json!({"line_items": [{"item": {"id": "var_mug"}, "quantity": 0}]}),
            "$.body.line_items[0].quantity: must be at least 1",
        ),
    ] {
        let update = json!({"id": id, "body": body});
        let result = tools.call_tool("update_checkout", update, ("c", "3")).await;
        assert_eq!(result.kind, Kind::NotSent);
        assert!(result.text.contains(mistake), "{}", result.text);
    }
    let sent = stage.sandbox.exchanges();
    assert_eq!(sent.iter().filter(|it| it.method == "PUT").count(), 2);
}

/// A cart says its `id` in the body too.
#[tokio::test]
async fn a_cart_is_changed_the_same_way() {
    let stage = stage().await;
    let tools = careful(&stage.shop);
    let lines = json!([{"item": {"id": "var_mug"}, "quantity": 1}]);
    let body = json!({"line_items": lines, "context": {"address_country": "US"}});
    let created = tools
        .call_tool("create_cart", json!({ "body": body }), ("c", "1"))
        .await;
    let id = created.body.unwrap()["id"].clone();
    let lines = json!([{"item": {"id": "var_mug"}, "quantity": 2}]);
    let update = json!({"id": id, "body": {"line_items": lines}});
    let result = tools.call_tool("update_cart", update, ("c", "2")).await;
    assert_eq!(result.kind, Kind::Answered, "{}", result.text);
    let sent = stage.sandbox.exchanges();
    let sent: Value = serde_json::from_slice(&sent.last().unwrap().body).unwrap();
    assert_eq!(sent["id"], id);
    assert_eq!(sent["line_items"][0]["quantity"], 2);
}

#[tokio::test]
async fn what_may_have_been_sent_is_sent_again_as_it_was() {
    let stage = stage().await;
    let (id, _) = checkout(&stage.shop).await;
    let tools = careful(&stage.shop);
    let refuse = Stimulus::Refuse {
        status: 409,
        code: "busy".to_owned(),
        retry_after: None,
    };
    let next = Target::Next(Operation::UpdateCheckout);
    stage.sandbox.script(next, [refuse]);
    let fewer = json!({"id": id, "body": {"discounts": {"codes": []}}});
    let refused = tools
        .call_tool("update_checkout", fewer.clone(), ("c", "1"))
        .await;
    assert_eq!((refused.kind, refused.status), (Kind::Refused, Some(409)));
    let lines = json!([{"item": {"id": "var_mug"}, "quantity": 7}]);
    let more = json!({"id": id, "body": {"line_items": lines}});
    let other = tools
        .call_tool("update_checkout", more.clone(), ("c", "2"))
        .await;
    assert_eq!(other.body.unwrap()["line_items"][0]["quantity"], 7);
    let reads =
        |exchanges: &[merchant::Exchange]| exchanges.iter().filter(|it| it.method == "GET").count();
    let read = reads(&stage.sandbox.exchanges());
    let again = tools.call_tool("update_checkout", fewer, ("c", "1")).await;
    assert_eq!(again.body.unwrap()["line_items"][0]["quantity"], 2);
    let sent = stage.sandbox.exchanges();
    assert_eq!(reads(&sent), read, "there is nothing to be read");
    let sent: Vec<_> = sent.iter().filter(|it| it.method == "PUT").collect();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[2].body, sent[0].body);
    assert_eq!(
        sent[2].headers["idempotency-key"],
        sent[0].headers["idempotency-key"]
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_not_changed() {
    let stage = stage().await;
    let (id, _) = checkout(&stage.shop).await;
    let tools = careful(&stage.shop);
    let update = |id: &str| json!({"id": id, "body": {"discounts": {"codes": []}}});
    let result = tools
        .call_tool("update_checkout", update("none"), ("c", "1"))
        .await;
    assert_eq!((result.kind, result.is_error), (Kind::Refused, true));
    assert!(matches!(result.handoff, Some(Handoff::Failed { .. })));

    let refuse = Stimulus::Refuse {
        status: 401,
        code: "unauthorized".to_owned(),
        retry_after: None,
    };
    let next = Target::Next(Operation::GetCheckout);
    stage.sandbox.script(next.clone(), [refuse]);
    let result = tools
        .call_tool("update_checkout", update(&id), ("c", "2"))
        .await;
    assert_eq!((result.kind, result.status), (Kind::Refused, Some(401)));

    // It lacks what an update must say.
    let patch = Stimulus::Patch(json!({ "line_items": null }));
    stage.sandbox.script(next, [patch]);
    let result = tools
        .call_tool("update_checkout", update(&id), ("c", "3"))
        .await;
    assert_eq!(result.kind, Kind::NotSent);
    let text = "$: what the shop has cannot be the start of an update:";
    assert!(result.text.contains(text), "{}", result.text);
    let sent = stage.sandbox.exchanges();
    assert!(sent.iter().all(|it| it.method != "PUT"));
}
