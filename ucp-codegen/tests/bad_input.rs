//! Contracts and options with one mistake each: every one is a diagnostic with its code, its file
//! and its pointer, and none is a panic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use ucp_codegen::{Argument, Builder, Code, Diagnostic, Error};

/// A small contract: one operation, one schema file with a definition.
const REST: &str = r##"
openapi: 3.1.0
info: { title: Shop }
paths:
  /carts:
    post:
      operationId: create_cart
      parameters:
        - { name: UCP-Agent, in: header, required: true, schema: { type: string } }
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "cart.yaml" } } }
      responses:
        "201": { description: Made, content: { application/json: { schema: { $ref: "cart.yaml" } } } }
"##;
const CART: &str = r##"
name: dev.ucp.shopping.cart
type: object
required: [id]
properties:
  id: { type: string, ucp_request: omit }
  line: { $ref: "#/$defs/line" }
$defs:
  line: { type: object, properties: { sku: { type: string } } }
"##;

/// The diagnostics of the small contract after an edit of its text.
fn diagnostics(
    edit: impl Fn(&str, &str) -> (String, String),
    configure: impl Fn(Builder) -> Builder,
) -> Vec<Diagnostic> {
    let folder = tempfile::tempdir().unwrap();
    let (rest, cart) = edit(REST, CART);
    fs::write(folder.path().join("rest.yaml"), rest).unwrap();
    fs::write(folder.path().join("cart.yaml"), cart).unwrap();
    let builder = configure(
        Builder::contract("rest.yaml")
            .base(folder.path())
            .version("2026-04-08"),
    );
    match builder.source() {
        Err(Error::Contract(diagnostics)) => diagnostics.iter().cloned().collect(),
        Err(other) => panic!("{other}"),
        Ok(_) => Vec::new(),
    }
}

fn rest(from: &str, to: &str) -> Vec<Diagnostic> {
    assert!(REST.contains(from));
    diagnostics(
        |rest, cart| (rest.replace(from, to), cart.to_owned()),
        |builder| builder,
    )
}

fn cart(from: &str, to: &str) -> Vec<Diagnostic> {
    assert!(CART.contains(from));
    diagnostics(
        |rest, cart| (rest.to_owned(), cart.replace(from, to)),
        |builder| builder,
    )
}

#[track_caller]
fn only(found: &[Diagnostic], code: Code, file: &str, pointer: &str) -> Diagnostic {
    let [one] = found else { panic!("{found:#?}") };
    assert_eq!(
        (one.code, one.file.as_str(), one.pointer.as_str()),
        (code, file, pointer),
        "{one}"
    );
    one.clone()
}

#[test]
fn the_small_contract_is_good() {
    assert_eq!(
        diagnostics(
            |rest, cart| (rest.to_owned(), cart.to_owned()),
            |builder| builder
        ),
        []
    );
}

#[test]
fn a_missing_contract() {
    let Err(Error::Contract(found)) = Builder::contract("nowhere/rest.yaml")
        .version("2026-04-08")
        .source()
    else {
        panic!()
    };
    only(
        &found.iter().cloned().collect::<Vec<_>>(),
        Code::FileUnreadable,
        "nowhere/rest.yaml",
        "",
    );
}

#[test]
fn a_reference_to_a_missing_file() {
    let found = rest(
        "schema: { $ref: \"cart.yaml\" } } }\n      responses",
        "schema: { $ref: \"card.yaml\" } } }\n      responses",
    );
    let place = "/paths/~1carts/post/requestBody/content/application~1json/schema";
    let one = only(&found, Code::RefNotFound, "rest.yaml", place);
    assert!(one.message.contains("card.yaml"), "{one}");
    assert_eq!(one.position, Some((12, 40)));
}

#[test]
fn a_reference_to_nowhere() {
    let one = only(
        &cart("#/$defs/line\"", "#/$defs/lane\""),
        Code::RefNotFound,
        "cart.yaml",
        "/properties/line",
    );
    assert_eq!(one.hint.as_deref(), Some("cart.yaml#/$defs has line"));
    assert_eq!(one.position, Some((7, 3)));
}

#[test]
fn a_reference_only_to_itself() {
    only(
        &cart(
            "line: { type: object",
            "line: { $ref: \"#/$defs/line\", type: object",
        ),
        Code::RefCycle,
        "cart.yaml",
        "/$defs/line",
    );
    only(
        &rest("    post:", "    $ref: \"#/paths/~1carts\"\n    post:"),
        Code::RefCycle,
        "rest.yaml",
        "/paths/~1carts",
    );
}

#[test]
fn references_in_a_circle() {
    for circle in [
        "line: { $ref: \"#/$defs/b\" }\n  b: { $ref: \"#/$defs/line\" }",
        "line: { allOf: [{ $ref: \"#/$defs/b\" }] }\n  b: { $ref: \"#/$defs/c\" }\n  c: { allOf: [{ $ref: \"#/$defs/line\" }, { minLength: 1 }] }",
    ] {
        let found = cart(
            "line: { type: object, properties: { sku: { type: string } } }",
            circle,
        );
        only(&found, Code::RefCycle, "cart.yaml", "/$defs/b");
    }
}

#[test]
fn schemas_that_are_none() {
    for (schema, file_pointer) in [
        ("{ $ref: \"#/type\" }", "/type"),
        ("{ type: object, properties: [] }", "/$defs/line/properties"),
        ("{ type: [] }", "/$defs/line/type"),
        ("{ type: [1] }", "/$defs/line/type"),
        ("{ type: 1 }", "/$defs/line/type"),
        ("{ oneOf: [] }", "/$defs/line/oneOf"),
        ("{ properties: { a: false } }", "/$defs/line/properties/a"),
    ] {
        let found = cart(
            "{ type: object, properties: { sku: { type: string } } }",
            schema,
        );
        only(&found, Code::Schema, "cart.yaml", file_pointer);
    }
}

#[test]
fn a_recursive_type_is_fine() {
    assert_eq!(
        cart(
            "sku: { type: string }",
            "sku: { type: string }, next: { $ref: \"#/$defs/line\" }"
        ),
        []
    );
}

#[test]
fn broken_yaml_and_broken_json() {
    let one = only(
        &cart("required: [id]", "required: [id"),
        Code::Syntax,
        "cart.yaml",
        "",
    );
    assert!(one.position.is_some(), "{one}");
    let found = diagnostics(
        |rest, _| (rest.replace("cart.yaml", "cart.json"), String::new()),
        |builder| builder,
    );
    assert!(
        found.iter().any(|one| one.code == Code::RefNotFound),
        "{found:#?}"
    );
}

#[test]
fn a_name_that_stands_twice() {
    let one = only(
        &cart("required: [id]", "required: [id]\ntype: string"),
        Code::Syntax,
        "cart.yaml",
        "",
    );
    assert!(one.message.contains("`type` stands twice"), "{one}");
}

#[test]
fn a_reference_to_another_host() {
    let one = only(
        &cart("#/$defs/line\"", "https://elsewhere.example/line.json\""),
        Code::RefNotFound,
        "cart.yaml",
        "/properties/line",
    );
    assert_eq!(
        one.message,
        "`$ref: https://elsewhere.example/line.json` leads to another host"
    );
}

#[test]
fn an_operation_without_a_name() {
    only(
        &rest("      operationId: create_cart\n", ""),
        Code::OperationId,
        "rest.yaml",
        "/paths/~1carts/post",
    );
}

#[test]
fn two_operations_of_one_name() {
    let twice = rest(
        "paths:\n",
        "paths:\n  /other:\n    get: { operationId: create_cart, responses: {} }\n",
    );
    let one = only(
        &twice,
        Code::OperationId,
        "rest.yaml",
        "/paths/~1carts/post",
    );
    assert!(one.message.contains("/paths/~1other/get"), "{one}");
}

#[test]
fn a_body_that_is_no_schema() {
    let found = rest(
        "schema: { $ref: \"cart.yaml\" } } }\n      responses",
        "schema: [1] } }\n      responses",
    );
    only(
        &found,
        Code::Schema,
        "rest.yaml",
        "/paths/~1carts/post/requestBody/content/application~1json/schema",
    );
    only(
        &cart("type: object\nrequired", "type: thing\nrequired"),
        Code::Schema,
        "cart.yaml",
        "/type",
    );
    only(
        &cart("required: [id]", "required: id"),
        Code::Schema,
        "cart.yaml",
        "/required",
    );
    only(
        &cart("ucp_request: omit", "ucp_request: hidden"),
        Code::Schema,
        "cart.yaml",
        "/properties/id",
    );
}

#[test]
fn a_keyword_that_would_be_dropped() {
    let one = only(
        &cart("required: [id]", "requird: [id]"),
        Code::Keyword,
        "cart.yaml",
        "/requird",
    );
    assert_eq!(one.position, Some((4, 1)));
    only(
        &cart("required: [id]", "patternProperties: {}"),
        Code::Keyword,
        "cart.yaml",
        "/patternProperties",
    );
    only(
        &rest(
            "      operationId",
            "      callbacks: {}\n      operationId",
        ),
        Code::Keyword,
        "rest.yaml",
        "/paths/~1carts/post/callbacks",
    );
}

#[test]
fn types_that_exclude_each_other() {
    let conflict = "allOf: [{ type: object, properties: { sku: { type: string } } }, { type: object, properties: { sku: { type: integer } } }] }";
    let one = only(
        &cart(
            "type: object, properties: { sku: { type: string } } }",
            conflict,
        ),
        Code::Conflict,
        "cart.yaml",
        "/$defs/line/allOf/1/properties/sku",
    );
    assert!(
        one.message
            .contains("cart.yaml#/$defs/line/allOf/0/properties/sku"),
        "{one}"
    );
}

#[test]
fn options_that_the_contract_does_not_know() {
    let same = |rest: &str, cart: &str| (rest.to_owned(), cart.to_owned());
    let with = |configure: &dyn Fn(Builder) -> Builder| diagnostics(same, configure);
    let one = only(
        &with(&|builder| builder.extensions(["loyalty"])),
        Code::Unknown,
        "",
        "",
    );
    assert_eq!(one.argument, Argument::Extension(0));
    let one = only(
        &with(&|builder| builder.expose(["UCP-Agent", "X-Trace"])),
        Code::Unknown,
        "",
        "",
    );
    assert_eq!(one.argument, Argument::Expose(1));
    let one = only(
        &with(&|builder| builder.operations(["cancel_cart"])),
        Code::Unknown,
        "",
        "",
    );
    assert_eq!(one.hint.as_deref(), Some("it has create_cart"));
    let one = only(
        &with(&|builder| builder.derive(["not a path"])),
        Code::Option,
        "",
        "",
    );
    assert_eq!(one.argument, Argument::Derive(0));
    let one = only(
        &with(&|builder| builder.extensions(["acme/loyalty.json"])),
        Code::FileUnreadable,
        "acme/loyalty.json",
        "",
    );
    assert_eq!(one.argument, Argument::Extension(0));
    let Err(Error::Contract(found)) = Builder::release("2020-01-01").source() else {
        panic!()
    };
    assert_eq!(found.iter().next().unwrap().code, Code::Unknown);
}

#[test]
fn a_path_and_its_parameters_differ() {
    for (from, to, message) in [
        (
            "/carts:",
            "/carts/{id}:",
            "`{id}` of the path has no parameter",
        ),
        (
            "/carts:",
            "/carts/{id:",
            "`{id` of the path has no parameter",
        ),
        (
            "name: UCP-Agent, in: header",
            "name: id, in: path",
            "the path has no `{id}`",
        ),
    ] {
        let found = rest(from, to);
        let [one] = found.as_slice() else {
            panic!("{found:#?}")
        };
        assert_eq!(one.code, Code::Schema);
        assert!(
            one.message.starts_with(&message.replace("`{id`", "`{id}`")),
            "{one}"
        );
    }
}

/// A stack is finite, and so is what may lie in each other; the refusal comes long before.
#[test]
fn schemas_that_lie_too_deep() {
    let chain = |link: &str| {
        let links: String = (0..1000)
            .map(|n| {
                format!(
                    "  c{n}: {}\n",
                    link.replace("NEXT", &format!("\"#/$defs/c{}\"", n + 1))
                )
            })
            .collect();
        cart(
            "  line: { type: object, properties: { sku: { type: string } } }",
            &format!("{links}  c1000: {{ type: string }}\n  line: {{ $ref: \"#/$defs/c0\" }}"),
        )
    };
    for link in [
        "{ allOf: [{ $ref: NEXT }, { minLength: 1 }] }",
        "{ type: object, properties: { next: { $ref: NEXT } } }",
        "{ type: array, items: { $ref: NEXT } }",
    ] {
        let found = chain(link);
        assert!(
            found.iter().any(|one| one.code == Code::Schema
                && one.file == "cart.yaml"
                && one.message.contains("more than 50 schemas deep")),
            "{found:#?}"
        );
    }
}

#[test]
fn enums_of_nothing() {
    only(
        &cart("sku: { type: string }", "sku: { enum: [] }"),
        Code::Schema,
        "cart.yaml",
        "/$defs/line/properties/sku/enum",
    );
    only(
        &cart(
            "sku: { type: string }",
            "sku: { allOf: [{ type: string, enum: [a] }, { enum: [b] }] }",
        ),
        Code::Conflict,
        "cart.yaml",
        "/$defs/line/properties/sku/allOf/1/enum",
    );
}

#[test]
fn every_problem_of_one_run_is_said() {
    let found = diagnostics(
        |rest, cart| {
            (
                rest.replace("operationId: create_cart", "callbacks: {}"),
                cart.to_owned(),
            )
        },
        |builder| builder.extensions(["loyalty"]),
    );
    let codes: Vec<Code> = found.iter().map(|one| one.code).collect();
    assert_eq!(codes, [Code::Unknown, Code::Keyword, Code::OperationId]);
}
