//! Our own contract, changed in one place, stands in for a published one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::Path;

use serde_json::{Value, json};

use super::compare::compare;
use super::tree::{self, Tree};

const VERSION: &str = "2026-04-08";

fn tree_of(version: &str) -> Tree {
    tree::ours(ucp_specs::release(version).unwrap()).unwrap()
}

fn ours() -> Tree {
    tree_of(VERSION)
}

/// Our tree with the object at a pointer changed.
fn changed(file: &str, pointer: &str, change: impl FnOnce(&mut Value)) -> Tree {
    changed_in(VERSION, file, pointer, change)
}

/// Our tree of a version with the object at a pointer changed.
fn changed_in(version: &str, file: &str, pointer: &str, change: impl FnOnce(&mut Value)) -> Tree {
    let mut tree = tree_of(version);
    change(tree.get_mut(file).unwrap().pointer_mut(pointer).unwrap());
    tree
}

fn remove(key: &str) -> impl FnOnce(&mut Value) {
    move |value| drop(value.as_object_mut().unwrap().remove(key).unwrap())
}

fn set(key: &str, new: Value) -> impl FnOnce(&mut Value) {
    move |value| {
        let old = value
            .as_object_mut()
            .unwrap()
            .insert(key.to_owned(), new.clone());
        assert_ne!(old, Some(new), "nothing changed");
    }
}

/// Differences as `kind | ours | theirs | our value | their value`.
fn differences(theirs: &Tree) -> Vec<String> {
    differences_from(&ours(), theirs)
}

fn differences_from(ours: &Tree, theirs: &Tree) -> Vec<String> {
    let show = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
    let report = compare(ours, theirs);
    let lines = report.differences.iter().map(|d| {
        format!(
            "{} | {} | {} | {} | {}",
            d.kind,
            d.ours,
            d.theirs,
            show(&d.our_value),
            show(&d.their_value)
        )
    });
    lines.collect()
}

/// One difference, at the same place on both sides.
fn one(kind: &str, at: &str, ours: &str, theirs: &str) -> Vec<String> {
    vec![format!("{kind} | {at} | {at} | {ours} | {theirs}")]
}

#[test]
fn a_copy_has_every_fact() {
    let report = compare(&ours(), &ours());
    assert_eq!(report.differences.len(), 0);
    assert!(report.compared > 2000, "{} facts", report.compared);
}

#[test]
fn a_changed_schema_is_named() {
    let theirs = changed(
        "line_item.yaml",
        "/properties/quantity",
        set("type", json!("number")),
    );
    assert_eq!(
        differences(&theirs),
        one(
            "type",
            "line_item.yaml#/properties/quantity/type",
            r#""integer""#,
            r#""number""#
        )
    );

    let theirs = changed("checkout.yaml", "/required", |list| {
        drop(list.as_array_mut().unwrap().remove(3))
    });
    assert_eq!(
        differences(&theirs),
        one("required", "checkout.yaml#/required", r#""status""#, "-")
    );

    let theirs = changed(
        "service.yaml",
        "/$defs/base/allOf/1/properties/transport/enum",
        |list| {
            list.as_array_mut().unwrap().push(json!("grpc"));
        },
    );
    assert_eq!(
        differences(&theirs),
        one(
            "enum",
            "service.yaml#/$defs/base/allOf/1/properties/transport/enum",
            "-",
            r#""grpc""#
        )
    );

    let theirs = changed(
        "messages.yaml",
        "/$defs/message_error/properties/type",
        set("const", json!("fault")),
    );
    assert_eq!(
        differences(&theirs),
        one(
            "const",
            "messages.yaml#/$defs/message_error/properties/type/const",
            r#""error""#,
            r#""fault""#
        )
    );

    let theirs = changed("checkout.yaml", "/properties/expires_at", remove("format"));
    assert_eq!(
        differences(&theirs),
        one(
            "format",
            "checkout.yaml#/properties/expires_at/format",
            r#""date-time""#,
            "-"
        )
    );

    let theirs = changed("ucp.yaml", "/$defs/version", set("pattern", json!("^.*$")));
    assert_eq!(
        differences(&theirs),
        one(
            "pattern",
            "ucp.yaml#/$defs/version/pattern",
            r#""^\\d{4}-\\d{2}-\\d{2}$""#,
            r#""^.*$""#
        )
    );

    let theirs = changed(
        "pagination.yaml",
        "/$defs/request/properties/limit",
        set("default", json!(20)),
    );
    assert_eq!(
        differences(&theirs),
        one(
            "default",
            "pagination.yaml#/$defs/request/properties/limit/default",
            "10",
            "20"
        )
    );

    let theirs = changed("totals.yaml", "/$defs/amount", set("minimum", json!(-1)));
    assert_eq!(
        differences(&theirs),
        one("minimum", "totals.yaml#/$defs/amount/minimum", "0", "-1")
    );

    let theirs = changed(
        "checkout.yaml",
        "",
        set("additionalProperties", json!(false)),
    );
    assert_eq!(
        differences(&theirs),
        one(
            "additionalProperties",
            "checkout.yaml#/additionalProperties",
            "true",
            "false"
        )
    );

    let theirs = changed("order.yaml", "/properties", remove("label"));
    assert_eq!(
        differences(&theirs),
        one("property", "order.yaml#/properties/label", "true", "-")
    );

    let theirs = changed("totals.yaml", "/$defs/total/allOf", |list| {
        drop(list.as_array_mut().unwrap().pop())
    });
    let found = differences(&theirs);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("allOf | totals.yaml#/$defs/total/allOf/1 | "),
        "{found:?}"
    );

    let theirs = changed("link.yaml", "", set("x-new", json!(1)));
    assert_eq!(
        differences(&theirs),
        one("x-new", "link.yaml#/x-new", "-", "1")
    );
}

#[test]
fn marks_are_compared_by_what_they_mean() {
    let pointer = "/properties/line_items";
    let theirs = changed(
        "checkout.yaml",
        &format!("{pointer}/ucp_request"),
        set("update", json!("optional")),
    );
    assert_eq!(
        differences(&theirs),
        one(
            "mark for update",
            "checkout.yaml#/properties/line_items/ucp_request",
            r#""required""#,
            r#""optional""#
        )
    );

    // Both forms of the same mark.
    let each = json!({ "create": "omit", "update": "omit", "complete": "omit", "read": "omit" });
    let theirs = changed("checkout.yaml", "/properties/id", set("ucp_request", each));
    assert_eq!(differences(&theirs), Vec::<String>::new());

    let theirs = changed(
        "credentials.yaml",
        "/$defs/token_credential/allOf/1/properties/token",
        remove("ucp_response"),
    );
    assert_eq!(differences(&theirs).len(), 4, "one for each operation");
}

#[test]
fn a_changed_operation_is_named() {
    let theirs = changed("rest.yaml", "/paths", |paths| {
        let paths = paths.as_object_mut().unwrap();
        let item = paths.remove("/orders/{id}").unwrap();
        paths.insert("/order/{id}".to_owned(), item);
    });
    let found = differences(&theirs);
    assert_eq!(
        found,
        [
            one("path", "rest.yaml#/paths/~1order~1{id}", "-", "true"),
            one("path", "rest.yaml#/paths/~1orders~1{id}", "true", "-"),
        ]
        .concat()
    );

    let theirs = changed("rest.yaml", "/paths/~1carts~1{id}", remove("put"));
    let found = differences(&theirs);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("method | rest.yaml#/paths/~1carts~1{id}/put | "),
        "{found:?}"
    );

    let post = "/paths/~1checkout-sessions/post";
    let theirs = changed("rest.yaml", &format!("{post}/responses"), |responses| {
        let responses = responses.as_object_mut().unwrap();
        let response = responses.remove("201").unwrap();
        responses.insert("200".to_owned(), response);
    });
    assert_eq!(
        differences(&theirs),
        [
            one(
                "status",
                &format!("rest.yaml#{post}/responses/200"),
                "-",
                "true"
            ),
            one(
                "status",
                &format!("rest.yaml#{post}/responses/201"),
                "true",
                "-"
            ),
        ]
        .concat()
    );

    let theirs = changed(
        "rest.yaml",
        &format!("{post}/responses/201/headers"),
        remove("Content-Digest"),
    );
    assert_eq!(
        differences(&theirs),
        one(
            "header",
            &format!("rest.yaml#{post}/responses/201/headers/Content-Digest"),
            "true",
            "-"
        )
    );

    let theirs = changed("rest.yaml", &format!("{post}/parameters"), |list| {
        drop(list.as_array_mut().unwrap().remove(5))
    });
    assert_eq!(
        differences(&theirs),
        one(
            "parameter",
            &format!("rest.yaml#{post}/parameters"),
            r#""header Idempotency-Key""#,
            "-"
        )
    );

    let theirs = changed(
        "rest.yaml",
        "/components/parameters/request_id",
        set("required", json!(false)),
    );
    assert_eq!(
        differences(&theirs),
        one(
            "required",
            "rest.yaml#/components/parameters/request_id/required",
            "true",
            "false"
        )
    );

    let theirs = changed(
        "tokenization.yaml",
        "/paths/~1tokenize/post",
        set("operationId", json!("make_token")),
    );
    assert_eq!(
        differences(&theirs),
        one(
            "operationId",
            "tokenization.yaml#/paths/~1tokenize/post/operationId",
            r#""tokenize""#,
            r#""make_token""#
        )
    );
}

#[test]
fn a_type_on_one_side_only_is_named() {
    let theirs = changed("credentials.yaml", "/$defs", remove("account_info"));
    assert_eq!(
        differences(&theirs),
        [
            r#"definition | credentials.yaml#/$defs/account_info | (no counterpart) | "account_info" | -"#
        ]
    );

    let theirs = changed(
        "extensions/ap2_mandate.yaml",
        "/$defs",
        set("extra", json!({ "type": "string" })),
    );
    assert_eq!(
        differences(&theirs),
        [
            r#"definition | (no counterpart) | extensions/ap2_mandate.yaml#/$defs/extra | - | "extra""#
        ]
    );

    // Alike, but another type: Rust code would see another name.
    let config = "/$defs/dev.ucp.shopping.fulfillment/business_schema/allOf/1/properties/config";
    let theirs = changed(
        "extensions/fulfillment.yaml",
        config,
        set("$ref", json!("#/$defs/merchant_fulfillment_config")),
    );
    let found = differences(&theirs);
    assert_eq!(found.len(), 2, "the other one is the title: {found:?}");
    assert_eq!(
        found[..1],
        one(
            "name",
            &format!("extensions/fulfillment.yaml#{config}"),
            r#""business_fulfillment_config""#,
            r#""merchant_fulfillment_config""#
        )
    );
}

#[test]
fn what_only_the_draft_has_is_named() {
    let draft = tree_of("draft");
    // File, pointer, key and new value; then what the first difference is about.
    let changes = [
        (
            "totals.yaml",
            "/$defs/amount",
            "maximum",
            json!(9),
            "maximum",
        ),
        (
            "extensions/fulfillment.yaml",
            "/$defs/fulfillment_method",
            "dependentRequired",
            json!({}),
            "dependentRequired",
        ),
        (
            "extensions/fulfillment.yaml",
            "/$defs/fulfillment_method/allOf/0/then/properties/destinations",
            "ucp_request",
            json!("required"),
            "mark for complete",
        ),
        (
            "profile.yaml",
            "/$defs/jwk_public_key/not/anyOf/0",
            "required",
            json!(["e"]),
            "required",
        ),
        (
            "credentials.yaml",
            "/$defs/card_credential",
            "deprecated",
            json!(false),
            "deprecated",
        ),
        (
            "constraint_expression.yaml",
            "/properties/anyOf/items",
            "minProperties",
            json!(2),
            "minProperties",
        ),
        (
            "extensions/payment_terms.yaml",
            "",
            "requires",
            json!({}),
            "requires",
        ),
        (
            "permalink.yaml",
            "/components/responses/permalink_redirect/headers/Location",
            "required",
            json!(false),
            "required",
        ),
        (
            "permalink.yaml",
            "/x-ucp-query-semantics",
            "field_paths",
            json!("none"),
            "field_paths",
        ),
    ];
    for (file, pointer, key, new, kind) in changes {
        let theirs = changed_in("draft", file, pointer, set(key, new));
        let found = differences_from(&draft, &theirs);
        let start = format!("{kind} | {file}#{pointer}");
        assert!(
            found.first().is_some_and(|first| first.starts_with(&start)),
            "{start}: {found:?}"
        );
    }

    // A parameter is what its place and name say.
    let parameter = "/components/parameters/continue_to";
    let theirs = changed_in(
        "draft",
        "permalink.yaml",
        parameter,
        set("in", json!("header")),
    );
    let found = differences_from(&draft, &theirs);
    for shown in [
        "| \"query continue_to\" | -",
        "| - | \"header continue_to\"",
    ] {
        assert!(found.iter().any(|line| line.ends_with(shown)), "{found:?}");
    }

    // What takes the place of a capability's definitions is nested in one.
    let nested = "/$defs/dev.ucp.shopping.catalog.lookup/$defs";
    let file = "extensions/fulfillment.yaml";
    let theirs = changed_in("draft", file, nested, remove("lookup_request"));
    assert_eq!(
        differences_from(&draft, &theirs),
        [format!(
            "definition | {file}#{nested}/lookup_request | (no counterpart) | \"lookup_request\" | -"
        )]
    );
    let theirs = changed_in(
        "draft",
        file,
        &format!("{nested}/lookup_request"),
        set("$ref", json!("#/$defs/fulfillment_search_request")),
    );
    assert_eq!(
        differences_from(&draft, &theirs)[0],
        one(
            "name",
            &format!("{file}#{nested}/lookup_request"),
            "\"fulfillment_lookup_request\"",
            "\"fulfillment_search_request\""
        )[0]
    );

    // A response that several operations share.
    let responses = "/paths/~1/get/responses";
    let theirs = changed_in("draft", "permalink.yaml", responses, remove("4XX"));
    assert_eq!(
        differences_from(&draft, &theirs),
        one(
            "status",
            &format!("permalink.yaml#{responses}/4XX"),
            "true",
            "-"
        )
    );
}

/// Pointers of all that can be a fact: scalars, and entries of arrays, outside the exclusions.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                let excluded = match key.as_str() {
                    "description" | "summary" | "$id" | "$schema" | "$comment" => child.is_string(),
                    "examples" | "embedded" => child.is_object(),
                    _ => false,
                };
                if !excluded {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    leaves(child, &format!("{at}/{key}"), found);
                }
            }
        }
        Value::Array(items) => {
            for (i, child) in items.iter().enumerate() {
                leaves(child, &format!("{at}/{i}"), found);
            }
        }
        _ => found.push(at.to_owned()),
    }
}

/// Changes every so many leaves of a published contract in turn; returns how many were changed, and
/// those whose change makes no difference.
fn unnoticed(ours: &Tree, published: &Tree, every: usize) -> (usize, Vec<String>) {
    let mut theirs = published.clone();
    let mut unnoticed = Vec::new();
    let (mut seen, mut count) = (0, 0);
    for (file, root) in published {
        let mut pointers = Vec::new();
        leaves(root, "", &mut pointers);
        for pointer in pointers {
            seen += 1;
            if seen % every != 0 {
                continue;
            }
            count += 1;
            let leaf = |tree: &mut Tree, new: Value| {
                let old = tree.get_mut(file).unwrap().pointer_mut(&pointer).unwrap();
                std::mem::replace(old, new)
            };
            let new = match root.pointer(&pointer).unwrap() {
                Value::String(text) => json!(format!("{text}x")),
                Value::Bool(flag) => json!(!flag),
                _ => json!(77),
            };
            let old = leaf(&mut theirs, new);
            if compare(ours, &theirs).differences.is_empty() {
                unnoticed.push(format!("{file}#{pointer}"));
            }
            leaf(&mut theirs, old);
        }
    }
    (count, unnoticed)
}

#[test]
fn no_fact_goes_unnoticed() {
    let (count, found) = unnoticed(&ours(), &ours(), 1);
    assert!(count > 1500, "{count} leaves");
    assert_eq!(
        found,
        ["rest.yaml#/info/version", "tokenization.yaml#/info/version"]
    );
}

#[test]
fn a_tree_on_disk_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(VERSION);
    let source = folder.join("source");
    ucp_specs::release(VERSION)
        .unwrap()
        .write_json_tree(&source)
        .unwrap();
    let run =
        |folder: &Path| super::run(&["--official".to_owned(), folder.to_str().unwrap().to_owned()]);
    run(&folder).unwrap();

    let path = source.join("link.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"url\"", "\"uri\"", 1)).unwrap();
    assert!(run(&folder).unwrap_err().to_string().contains("differ"));

    assert!(
        run(dir.path())
            .unwrap_err()
            .to_string()
            .contains("no release")
    );
    assert!(super::run(&["--official".to_owned()]).is_err());
    assert!(super::run(&["--oficial".to_owned()]).is_err());
    assert!(super::run(&[]).is_err());
}

/// A sample, as each change takes a whole comparison; `PRIME` keeps it from falling into step with
/// what repeats in a contract.
const PRIME: usize = 23;

#[test]
fn no_fact_of_the_draft_goes_unnoticed() {
    let draft = tree_of("draft");
    let (count, found) = unnoticed(&draft, &draft, PRIME);
    assert!(count > 80, "{count} leaves");
    assert_eq!(found, Vec::<String>::new());
}

#[test]
#[ignore = "needs UCP_SHARED"]
fn the_published_contract_is_ours() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how a test run is told where shared data lies"
    )]
    let shared = std::env::var_os("UCP_SHARED").unwrap();
    let contract = Path::new(&shared).join("contract");
    let tokenization = "handlers/tokenization/openapi.json#/info/version";
    for (version, folder, every, facts) in [
        (VERSION, VERSION, 1, 2000),
        ("draft", "draft-2026-08-22", PRIME, 3000),
    ] {
        let ours = tree_of(version);
        let theirs = tree::published(&contract.join(folder)).unwrap();
        let report = compare(&ours, &theirs);
        assert!(report.compared > facts, "{} facts", report.compared);
        let found: Vec<String> = report.differences.iter().map(ToString::to_string).collect();
        assert_eq!(found, Vec::<String>::new());

        let (count, found) = unnoticed(&ours, &theirs, every);
        assert!(count > 1500 / every, "{count} leaves");
        assert!(
            found.iter().all(|at| at == tokenization),
            "{version}: {found:?}"
        );
    }
}
