//! Operations as tools: what becomes of names, annotations, rules and recursion.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use serde_json::{Value, json};
use syn::{Expr, ExprLit, Item, Lit, Stmt};
use ucp_codegen::Builder;

/// The texts of each of `TOOLS`.
fn texts(source: &str) -> Vec<Vec<String>> {
    let items = syn::parse_file(source).unwrap().items;
    let tools = items.into_iter().find_map(|item| match item {
        Item::Const(item) if item.ident == "TOOLS" => Some(*item.expr),
        _ => None,
    });
    let Some(Expr::Block(block)) = tools else {
        panic!("no TOOLS");
    };
    let Some(Stmt::Expr(Expr::Reference(list), None)) = block.block.stmts.last() else {
        panic!("not a list");
    };
    let Expr::Array(list) = &*list.expr else {
        panic!("not a list");
    };
    let text = |argument: &Expr| match argument {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => text.value(),
        _ => panic!("not a text"),
    };
    let texts = list.elems.iter().map(|tool| match tool {
        Expr::Call(call) => call.args.iter().map(text).collect(),
        _ => panic!("not a call"),
    });
    texts.collect()
}

fn tools(paths: Value, schemas: Value) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let contract = json!({
        "openapi": "3.1.0",
        "info": {"title": "Shop"},
        "paths": paths,
        "components": {"schemas": schemas},
    });
    std::fs::write(folder.path().join("rest.json"), contract.to_string()).unwrap();
    let builder = Builder::contract("rest.json")
        .base(folder.path())
        .version("2026-04-08");
    assert!(!builder.source().unwrap().contains("Tool"));
    let source = builder.tools().source().unwrap();
    texts(&source)
}

fn post(id: &str, more: Value) -> Value {
    let schema = json!({"$ref": "#/components/schemas/body"});
    let content = json!({"application/json": {"schema": schema}});
    let mut operation = json!({
        "operationId": id,
        "requestBody": {"content": content},
        "responses": {"200": {"description": "Done", "content": content}},
    });
    let more = more.as_object().unwrap().clone();
    operation.as_object_mut().unwrap().extend(more);
    json!({ "post": operation })
}

/// The schema of the body, of a contract with one operation.
fn body(body: Value, others: Value) -> Value {
    let mut schemas = others;
    schemas["body"] = body;
    let found = tools(json!({"/a": post("create_a", json!({}))}), schemas);
    let schema: Value = serde_json::from_str(&found[0][4]).unwrap();
    assert_eq!(schema["required"], json!(["body"]));
    let mut body = schema["properties"]["body"].clone();
    if let Some(definitions) = schema.get("$defs") {
        body["$defs"] = definitions.clone();
    }
    body
}

#[test]
fn annotations_that_contradict_their_type_are_left_out() {
    let found = body(
        json!({"type": "object", "properties": {
            "limit": {"type": "integer", "minimum": 1, "default": "10", "examples": [20, "30", 0]},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "c", "examples": ["b"]},
            "note": {"type": ["string", "null"], "default": null, "examples": [1]},
            "list": {"type": "array", "items": {"type": "string"}, "default": [], "examples": [["x"], [1], "x"]},
            "of": {"$ref": "#/components/schemas/part", "examples": [{"id": "1"}, {"id": 1}, {}]},
        }}),
        json!({"part": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}}),
    );
    assert_eq!(
        found["properties"],
        json!({
            "limit": {"type": "integer", "minimum": 1, "examples": [20]},
            "kind": {"type": "string", "enum": ["a", "b"], "examples": ["b"]},
            "note": {"type": ["string", "null"], "default": null},
            "list": {"type": "array", "items": {"type": "string"}, "default": [], "examples": [["x"]]},
            "of": {"$ref": "#/$defs/Part", "examples": [{"id": "1"}]},
        })
    );
}

#[test]
fn rules_keep_their_meaning() {
    let found = body(
        json!({
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}]},
                "maybe": {"anyOf": [{"$ref": "#/components/schemas/part"}, {"type": "null"}]},
                "map": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
            },
            "additionalProperties": {"type": "string"},
            "if": {"properties": {"id": {"const": "ab"}}},
            "then": {"required": ["map"]},
            "dependentRequired": {"map": ["maybe"]},
        }),
        json!({"part": {"type": "object", "properties": {"part": {"$ref": "#/components/schemas/part"}}}}),
    );
    let expected = json!({
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string", "pattern": "^a", "allOf": [{"pattern": "b$"}]},
            "maybe": {"anyOf": [{"$ref": "#/$defs/Part"}, {"type": "null"}]},
            "map": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
        },
        "if": {"properties": {"id": {"const": "ab"}}},
        "then": {"required": ["map"]},
        "dependentRequired": {"map": ["maybe"]},
        "allOf": [{
            "properties": {"id": true, "maybe": true, "map": true},
            "additionalProperties": {"type": "string"},
        }],
        "$defs": {"Part": {"type": "object", "properties": {"part": {"$ref": "#/$defs/Part"}}}},
    });
    assert_eq!(found, expected);
}

#[test]
fn names_are_legal_short_and_unique() {
    let long = "x".repeat(70);
    let (one, other) = (format!("{long}1"), format!("{long}2"));
    let found = tools(
        json!({
            "/a": post("a.b c", json!({"summary": "Makes an a", "deprecated": true})),
            "/b": post(&one, json!({})),
            "/c": post(&other, json!({"description": "Two\nlines"})),
            "/d": post("create_checkout", json!({"summary": "Create Checkout"})),
        }),
        json!({"body": {"type": "object", "properties": {"a": {"type": "string"}}}}),
    );
    let names: Vec<&str> = found.iter().map(|tool| &*tool[0]).collect();
    assert_eq!(
        names,
        [
            "a_b_c",
            &*"x".repeat(64),
            &*"x".repeat(56),
            "create_checkout"
        ]
    );
    let operations: Vec<&str> = found.iter().map(|tool| &*tool[1]).collect();
    assert_eq!(operations, ["a.b c", &*one, &*other, "create_checkout"]);
    assert_eq!(found[0][3], "Makes an a. Deprecated.");
    assert_eq!(found[1][3], "`POST /b`.");
    assert_eq!(found[2][3], "Two lines.");
    assert!(found[3][3].starts_with("Create Checkout. Use it once the buyer has chosen"));
}
