//! The cases that implementers of the protocol ran into, each under its number: a small input of our
//! own and the right answer. A case stands for its kind.
//!
//! Numbers that are missing here are cases of other parts (negotiation, the embedded
//! checkout, …) or were withdrawn.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod contract;
mod handoff;
mod payload;
mod signing;
mod wire;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::{Fields, File, Item};
use ucp_codegen::{Builder, Diagnostic, Error};
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::wire::{DecodeError, Note, Read, Violations, read_body};
use ucp_tests::golden::shopping_2026_04_08 as golden;

/// A small contract, compiled: what the cases say about generated types is held against these.
#[allow(missing_docs, unreachable_pub)]
mod shelf {
    ucp_runtime::include_ucp! {
        contract: "tests/cases/contract/rest.yaml",
        version: "2026-08-22",
    }
}

/// Reads a value as a type.
fn read<T: Read>(value: Value) -> T {
    noted(value).0
}

fn noted<T: Read>(value: Value) -> (T, Vec<String>) {
    let (read, notes) = read_body(value).unwrap_or_else(|error| panic!("{error}"));
    (read, notes.iter().map(Note::to_string).collect())
}

fn refused<T: Read + std::fmt::Debug>(value: Value) -> String {
    let error: DecodeError = read_body::<T>(value).unwrap_err();
    error.to_string()
}

/// Reading and writing changes nothing.
#[track_caller]
fn round_trips<T: Read + serde::Serialize>(value: &Value) -> T {
    let read: T = read(value.clone());
    assert_eq!(serde_json::to_value(&read).unwrap(), *value);
    read
}

/// The rules that a value breaks.
fn broken(result: Result<(), Violations>) -> Vec<String> {
    result.err().map_or_else(Vec::new, |violations| {
        violations
            .as_slice()
            .iter()
            .map(ToString::to_string)
            .collect()
    })
}

/// A checkout as a merchant answers, with the members of `changes` put in; `null` takes one out.
fn checkout(changes: Value) -> Value {
    let mut checkout = json!({
        "ucp": { "version": "2026-04-08", "capabilities": {}, "payment_handlers": {} },
        "id": "chk_1",
        "line_items": [{
            "id": "li_1",
            "item": { "id": "mug", "title": "Mug", "price": 1000 },
            "quantity": 1,
            "totals": [{ "type": "subtotal", "amount": 1000 }, { "type": "total", "amount": 1000 }],
        }],
        "status": "incomplete",
        "currency": "EUR",
        "totals": [{ "type": "subtotal", "amount": 1000 }, { "type": "total", "amount": 1000 }],
        "links": [],
    });
    let members = checkout.as_object_mut().unwrap();
    for (name, change) in changes.as_object().unwrap() {
        if change.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), change.clone());
        }
    }
    checkout
}

/// The fields of every struct and the variants of every enum of a source, by name; without the field
/// for undeclared members.
fn shapes(source: &str) -> BTreeMap<String, Vec<String>> {
    fn walk(items: &[Item], found: &mut BTreeMap<String, Vec<String>>) {
        for item in items {
            match item {
                Item::Mod(module) => walk(&module.content.as_ref().unwrap().1, found),
                Item::Struct(item) if matches!(item.fields, Fields::Named(_)) => {
                    let fields = item.fields.iter().map(|field| {
                        let ty = &field.ty;
                        format!("{}: {}", field.ident.as_ref().unwrap(), quote::quote!(#ty))
                            .replace(' ', "")
                    });
                    found.insert(
                        item.ident.to_string(),
                        fields
                            .filter(|field| !field.starts_with("extra:"))
                            .collect(),
                    );
                }
                Item::Enum(item) => {
                    let variants = item.variants.iter().map(|variant| {
                        let fields = &variant.fields;
                        format!("{}{}", variant.ident, quote::quote!(#fields)).replace(' ', "")
                    });
                    found.insert(item.ident.to_string(), variants.collect());
                }
                _ => {}
            }
        }
    }
    let file: File = syn::parse_file(source).unwrap();
    let mut found = BTreeMap::new();
    walk(&file.items, &mut found);
    found
}

/// What the generator makes of files, or what it says about them.
fn generate(
    files: &[(&str, &str)],
    configure: impl Fn(Builder) -> Builder,
) -> Result<String, Vec<Diagnostic>> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let builder = Builder::contract("rest.yaml")
        .base(folder.path())
        .version("2026-08-22");
    match configure(builder).source() {
        Ok(source) => Ok(source),
        Err(Error::Contract(found)) => Err(found.iter().cloned().collect()),
        Err(other) => panic!("{other}"),
    }
}

/// The types of a contract with one operation, whose request and response are one schema.
fn types(verb: &str, files: &[(&str, &str)]) -> BTreeMap<String, Vec<String>> {
    let rest = rest(verb, "cart.yaml");
    let files: Vec<(&str, &str)> = [("rest.yaml", rest.as_str())]
        .into_iter()
        .chain(files.iter().copied())
        .collect();
    shapes(&generate(&files, |builder| builder).unwrap_or_else(|found| panic!("{found:?}")))
}

fn rest(verb: &str, schema: &str) -> String {
    format!(
        r##"
openapi: 3.1.0
info: {{ title: Shop }}
paths:
  /carts:
    post:
      operationId: {verb}_cart
      requestBody: {{ content: {{ application/json: {{ schema: {{ $ref: "{schema}" }} }} }} }}
      responses: {{ "200": {{ description: Done, content: {{ application/json: {{ schema: {{ $ref: "{schema}" }} }} }} }} }}
"##
    )
}

/// The types of the shipped release with all its extensions.
fn release() -> String {
    Builder::release("2026-04-08")
        .extensions(["*"])
        .source()
        .unwrap()
}

/// Where the package lies.
fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
