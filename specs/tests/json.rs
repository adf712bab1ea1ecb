//! The official resolver of the marks reads the JSON tree and sees the contract in it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::Path;

use serde_json::{Value, json};
use ucp_schema::{Direction, ResolveOptions, bundle_refs, load_schema, resolve};
use ucp_specs::release;

/// The schema at a pointer of a file, with its references inlined and its marks resolved.
fn view(dir: &Path, file: &str, pointer: &str, direction: Direction, operation: &str) -> Value {
    let path = dir.join(file);
    let mut schema = load_schema(&path).unwrap();
    bundle_refs(&mut schema, path.parent().unwrap()).unwrap();
    let schema = schema.pointer(pointer).unwrap();
    resolve(schema, &ResolveOptions::new(direction, operation)).unwrap()
}

/// Names of the properties and of the required ones, both sorted.
fn members(schema: &Value) -> (Vec<&str>, Vec<&str>) {
    let mut all: Vec<&str> = schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let required = schema.get("required").and_then(Value::as_array);
    let mut required: Vec<&str> = required
        .into_iter()
        .flatten()
        .map(|name| name.as_str().unwrap())
        .collect();
    all.sort_unstable();
    required.sort_unstable();
    (all, required)
}

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    release("2026-04-08")
        .unwrap()
        .write_json_tree(dir.path())
        .unwrap();
    dir
}

#[test]
fn references_follow_the_files() {
    let tree = release("2026-04-08").unwrap().json_tree().unwrap();
    let get = |path: &str| &tree.iter().find(|(other, _)| other == path).unwrap().1;
    assert_eq!(
        get("checkout.json")["properties"]["ucp"]["$ref"],
        "ucp.json#/$defs/response_checkout_schema"
    );
    assert_eq!(
        get("extensions/discount.json")["$defs"]["dev.ucp.shopping.cart"]["allOf"][0]["$ref"],
        "../cart.json"
    );
    assert!(
        tree.iter()
            .all(|(path, value)| path.ends_with(".json") && !value.to_string().contains(".yaml"))
    );
    assert!(tree.is_sorted_by(|a, b| a.0 < b.0));
}

#[test]
fn checkout_requests_keep_what_each_operation_sends() {
    let dir = tree();
    let request = |operation| {
        view(
            dir.path(),
            "checkout.json",
            "",
            Direction::Request,
            operation,
        )
    };

    let create = request("create");
    assert_eq!(
        members(&create),
        (
            vec![
                "attribution",
                "buyer",
                "context",
                "line_items",
                "payment",
                "signals"
            ],
            vec!["line_items"]
        )
    );
    let line = &create["properties"]["line_items"]["items"];
    assert_eq!(
        members(line),
        (vec!["item", "quantity"], vec!["item", "quantity"])
    );
    assert_eq!(line["properties"]["quantity"]["minimum"], 1);
    assert_eq!(
        members(&line["properties"]["item"]),
        (vec!["id"], vec!["id"])
    );

    let update = request("update");
    assert_eq!(members(&update), members(&create));
    let line = &update["properties"]["line_items"]["items"];
    assert_eq!(
        members(line),
        (
            vec!["id", "item", "parent_id", "quantity"],
            vec!["item", "quantity"]
        )
    );

    let complete = request("complete");
    assert_eq!(
        members(&complete),
        (vec!["attribution", "payment", "signals"], vec!["payment"])
    );
    // The instrument is a definition of its own and not a root, so that the resolver, which
    // leaves `$ref: "#"` alone, still sees what a selected one consists of.
    let instrument =
        &complete["properties"]["payment"]["properties"]["instruments"]["items"]["allOf"];
    assert_eq!(members(&instrument[0]).1, ["handler_id", "id", "type"]);
    assert_eq!(members(&instrument[1]).0, ["selected"]);
}

#[test]
fn checkout_responses_have_everything() {
    let dir = tree();
    let response = view(
        dir.path(),
        "checkout.json",
        "",
        Direction::Response,
        "create",
    );
    let (all, required) = members(&response);
    assert_eq!(
        all,
        [
            "attribution",
            "buyer",
            "context",
            "continue_url",
            "currency",
            "expires_at",
            "id",
            "line_items",
            "links",
            "messages",
            "order",
            "payment",
            "signals",
            "status",
            "totals",
            "ucp"
        ]
    );
    assert_eq!(
        required,
        [
            "currency",
            "id",
            "line_items",
            "links",
            "status",
            "totals",
            "ucp"
        ]
    );
    let properties = &response["properties"];
    assert_eq!(
        properties["status"]["enum"],
        json!([
            "incomplete",
            "requires_escalation",
            "ready_for_complete",
            "complete_in_progress",
            "completed",
            "canceled"
        ])
    );
    assert_eq!(
        properties["ucp"]["allOf"][1]["required"],
        json!(["payment_handlers"])
    );
    assert_eq!(
        properties["totals"]["allOf"][1]["contains"]["properties"]["type"]["const"],
        "total"
    );
    assert_eq!(properties["expires_at"]["format"], "date-time");
}

#[test]
fn extensions_resolve_from_their_folder() {
    let dir = tree();
    let extended = |file, operation| {
        view(
            dir.path(),
            file,
            "/$defs/dev.ucp.shopping.checkout",
            Direction::Request,
            operation,
        )
    };

    let create = extended("extensions/fulfillment.json", "create");
    let method = &create["allOf"][1]["properties"]["fulfillment"]["properties"]["methods"]["items"];
    assert_eq!(
        members(method),
        (
            vec![
                "destinations",
                "groups",
                "line_item_ids",
                "selected_destination_id",
                "type"
            ],
            vec!["type"]
        )
    );
    let update = extended("extensions/fulfillment.json", "update");
    let method = &update["allOf"][1]["properties"]["fulfillment"]["properties"]["methods"]["items"];
    assert_eq!(members(method).1, ["line_item_ids"]);
    assert_eq!(members(&method["properties"]["groups"]["items"]).1, ["id"]);

    let complete = extended("extensions/ap2_mandate.json", "complete");
    assert_eq!(members(&complete["allOf"][1]), (vec!["ap2"], vec!["ap2"]));
    let complete = extended("extensions/discount.json", "complete");
    assert_eq!(members(&complete["allOf"][1]).0, Vec::<&str>::new());
}
