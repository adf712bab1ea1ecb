//! Layouts that a contract may have, each as a small one of our own: what comes out is what a careful
//! person would have written.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::{Fields, File, Item};
use ucp_codegen::{Builder, Code, Error};

/// Writes files into a folder.
fn lay(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The fields of every struct and the variants of every enum, with their types, by name.
fn shapes(file: &File) -> BTreeMap<String, Vec<String>> {
    fn walk(items: &[Item], found: &mut BTreeMap<String, Vec<String>>) {
        for item in items {
            match item {
                Item::Mod(module) => walk(&module.content.as_ref().unwrap().1, found),
                Item::Struct(item) if matches!(item.fields, Fields::Named(_)) => {
                    let field = |field: &syn::Field| {
                        let ty = &field.ty;
                        format!("{}: {}", field.ident.as_ref().unwrap(), quote::quote!(#ty))
                            .replace(' ', "")
                    };
                    let fields = item
                        .fields
                        .iter()
                        .map(field)
                        .filter(|field| !field.starts_with("extra:"));
                    found.insert(item.ident.to_string(), fields.collect());
                }
                Item::Enum(item) => {
                    let variants = item
                        .variants
                        .iter()
                        .map(|variant| quote::quote!(#variant).to_string());
                    let plain = variants
                        .map(|text| text.rsplit("] ").next().unwrap_or(&text).replace(' ', ""));
                    found.insert(item.ident.to_string(), plain.collect());
                }
                _ => {}
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&file.items, &mut found);
    found
}

fn generated(
    files: &[(&str, &str)],
    entry: &str,
    configure: impl Fn(Builder) -> Builder,
) -> String {
    let folder = tempfile::tempdir().unwrap();
    lay(folder.path(), files);
    let builder = configure(
        Builder::contract(entry)
            .base(folder.path())
            .version("2026-08-22"),
    );
    builder.source().unwrap_or_else(|error| panic!("{error}"))
}

fn types(
    files: &[(&str, &str)],
    configure: impl Fn(Builder) -> Builder,
) -> BTreeMap<String, Vec<String>> {
    shapes(&syn::parse_file(&generated(files, "rest.yaml", configure)).unwrap())
}

/// A document with one operation that creates something of a schema and answers with another.
fn rest(request: &str, response: &str) -> String {
    format!(
        r##"
openapi: 3.1.0
info: {{ title: Shop }}
paths:
  /carts:
    post:
      operationId: create_cart
      requestBody: {{ content: {{ application/json: {{ schema: {{ $ref: "{request}" }} }} }} }}
      responses: {{ "201": {{ description: Made, content: {{ application/json: {{ schema: {{ $ref: "{response}" }} }} }} }} }}
"##
    )
}

#[test]
fn bodies_may_be_definitions_of_one_file() {
    let cart = r##"
name: dev.ucp.shopping.cart
type: object
required: [id]
properties: { id: { type: string } }
$defs:
  create_request: { type: object, required: [lines], properties: { lines: { type: array, items: { $ref: "#/$defs/line" } } } }
  line: { type: object, required: [sku], properties: { sku: { type: string } } }
"##;
    let rest = rest("cart.yaml#/$defs/create_request", "cart.yaml");
    let found = types(&[("rest.yaml", &rest), ("cart.yaml", cart)], |builder| {
        builder
    });
    assert_eq!(found["CreateRequest"], ["lines:Vec<Line>"]);
    assert_eq!(found["Line"], ["sku:String"]);
    assert_eq!(found["Cart"], ["id:String"]);
}

#[test]
fn a_second_document_may_be_another_services() {
    let search = "name: dev.ucp.common.locations.search\n$defs: { search_request: { type: object, properties: { query: { type: string } } } }";
    let rest = rest(
        "schemas/search.yaml#/$defs/search_request",
        "schemas/search.yaml#/$defs/search_request",
    );
    let text = generated(
        &[
            (
                "services/common/rest.yaml",
                &rest.replace("schemas/", "../../schemas/"),
            ),
            ("schemas/search.yaml", search),
        ],
        "services/common/rest.yaml",
        |builder| builder,
    );
    assert!(text.contains(r#""dev.ucp.common""#), "{text}");
}

#[test]
fn definitions_of_one_name_in_two_files_are_two_types() {
    let files = |name: &str, member: &str| {
        format!(
            "title: {name}\n$defs: {{ lookup: {{ type: object, required: [{member}], properties: {{ {member}: {{ type: string }} }} }} }}"
        )
    };
    let rest = rest("places.yaml#/$defs/lookup", "products.yaml#/$defs/lookup");
    let found = types(
        &[
            ("rest.yaml", &rest),
            ("places.yaml", &files("Places", "place")),
            ("products.yaml", &files("Products", "product")),
        ],
        |builder| builder,
    );
    assert_eq!(found["Lookup"], ["place:String"]);
    assert_eq!(found["ProductsLookup"], ["product:String"]);
}

#[test]
fn a_property_refined_in_several_places_is_one_field() {
    let cart = r##"
allOf:
  - { $ref: "#/$defs/base" }
  - { required: [note], properties: { lines: { items: { required: [sku] } }, kind: { const: big } } }
$defs:
  base:
    type: object
    required: [kind, lines]
    properties:
      kind: { type: string }
      note: { type: [string, "null"] }
      lines: { type: array, items: { type: object, properties: { sku: { type: string }, count: { type: integer, maximum: 9007199254740991 } } } }
"##;
    let found = types(
        &[
            ("rest.yaml", &rest("cart.yaml", "cart.yaml")),
            ("cart.yaml", cart),
        ],
        |builder| builder,
    );
    // `kind` can only be one string: it needs no field.
    assert_eq!(
        found["Cart"],
        ["note:Option<String>", "lines:Vec<CartLine>"]
    );
    assert_eq!(found["CartLine"], ["sku:String", "count:Option<i64>"]);
}

#[test]
fn conditions_add_members_and_never_narrow() {
    let cart = r##"
type: object
properties: { type: { type: string }, amount: { type: integer } }
if: { properties: { type: { const: shipping } } }
then: { properties: { amount: { minimum: 0 }, address: { type: object, properties: { street: { type: string } } } }, required: [address] }
"##;
    let found = types(
        &[
            ("rest.yaml", &rest("cart.yaml", "cart.yaml")),
            ("cart.yaml", cart),
        ],
        |builder| builder,
    );
    assert_eq!(
        found["Cart"],
        [
            "r#type:Option<String>",
            "amount:Option<i64>",
            "address:Option<CartAddress>"
        ]
    );
}

#[test]
fn recursion_is_boxed_where_it_must_be() {
    let cart = r##"
type: object
required: [children]
properties:
  next: { $ref: "#" }
  children: { type: array, items: { $ref: "#" } }
  named: { type: object, additionalProperties: { $ref: "#" } }
  through: { $ref: "#/$defs/step" }
$defs:
  step: { type: object, properties: { back: { $ref: "#" } } }
"##;
    let found = types(
        &[
            ("rest.yaml", &rest("cart.yaml", "cart.yaml")),
            ("cart.yaml", cart),
        ],
        |builder| builder,
    );
    assert_eq!(
        found["Cart"],
        [
            "next:Option<Box<Cart>>",
            "children:Vec<Cart>",
            "named:Option<BTreeMap<String,Cart>>",
            "through:Option<Box<Step>>"
        ]
    );
    assert_eq!(found["Step"], ["back:Option<Box<Cart>>"]);
}

#[test]
fn unions_are_decided_by_what_tells_their_arms_apart() {
    let cart = r##"
type: object
properties:
  tagged: { oneOf: [ { $ref: "#/$defs/a" }, { $ref: "#/$defs/b" } ] }
  telling: { oneOf: [ { $ref: "#/$defs/place" }, { $ref: "#/$defs/shop" } ] }
  alike: { oneOf: [ { $ref: "#/$defs/place" }, { $ref: "#/$defs/spot" } ] }
  some: { oneOf: [ { type: string }, { type: array, items: { type: string } } ] }
$defs:
  a: { type: object, required: [type], properties: { type: { const: a } } }
  b: { type: object, required: [type], properties: { type: { const: b } } }
  place: { type: object, properties: { street: { type: string } } }
  spot: { type: object, properties: { street: { type: string } } }
  shop: { type: object, required: [name], properties: { name: { type: string } } }
"##;
    let found = types(
        &[
            ("rest.yaml", &rest("cart.yaml", "cart.yaml")),
            ("cart.yaml", cart),
        ],
        |builder| builder,
    );
    assert_eq!(
        found["Cart"],
        [
            "tagged:Option<CartTagged>",
            "telling:Option<CartTelling>",
            "alike:Option<wire::Value>",
            "some:Option<wire::OneOrMany<String>>"
        ]
    );
    assert_eq!(
        found["CartTagged"],
        ["A(A)", "B(B)", "Unknown(wire::UnknownObject)"]
    );
    assert_eq!(
        found["CartTelling"],
        ["Shop(Shop)", "Place(Place)", "Unknown(wire::UnknownObject)"]
    );
}

#[test]
fn an_alternative_of_null_is_an_option() {
    let cart = r##"
type: object
required: [gift, note, parcel]
properties:
  gift: { oneOf: [{ type: "null" }, { $ref: "#/$defs/gift" }] }
  note: { anyOf: [{ type: string, maxLength: 9 }, { type: "null" }] }
  wrap: { oneOf: [{ $ref: "#/$defs/gift" }, { type: "null" }] }
  parcel:
    oneOf:
      - { type: object, required: [kind], properties: { kind: { const: box } } }
      - { type: "null" }
      - { type: object, required: [kind], properties: { kind: { const: tube } } }
$defs:
  gift: { type: object, required: [to], properties: { to: { type: string } } }
"##;
    let rest = rest("cart.yaml", "cart.yaml");
    let found = types(&[("rest.yaml", &rest), ("cart.yaml", cart)], |builder| {
        builder
    });
    assert_eq!(
        found["Cart"],
        [
            "gift:Option<Gift>",
            "note:Option<String>",
            "wrap:Option<Option<Gift>>",
            "parcel:Option<CartParcel>",
        ]
    );
}

#[test]
fn a_type_beside_a_reference_keeps_the_definitions_name() {
    let cart = r##"
type: object
required: [gift]
properties: { gift: { type: object, $ref: "#/$defs/gift", description: For whom. } }
$defs: { gift: { type: object, required: [to], properties: { to: { type: string } } } }
"##;
    let rest = rest("cart.yaml", "cart.yaml");
    let found = types(&[("rest.yaml", &rest), ("cart.yaml", cart)], |builder| {
        builder
    });
    assert_eq!(found["Cart"], ["gift:Gift"]);
    assert_eq!(found["Gift"], ["to:String"]);
}

#[test]
fn inline_vocabularies_of_one_member_are_one_type() {
    let cart = r##"
type: object
required: [a, b, c]
properties:
  a: { type: object, required: [text_kind], properties: { text_kind: { type: string, enum: [plain, rich] } } }
  b: { type: object, required: [text_kind], properties: { text_kind: { type: string, enum: [plain, rich] } } }
  c: { type: object, required: [text_kind], properties: { text_kind: { type: string, enum: [plain] } } }
"##;
    let rest = rest("cart.yaml", "cart.yaml");
    let found = types(&[("rest.yaml", &rest), ("cart.yaml", cart)], |builder| {
        builder
    });
    assert_eq!(found["CartA"], ["text_kind:CartTextKind"]);
    assert_eq!(found["CartB"], ["text_kind:CartTextKind"]);
    assert_eq!(found["CartC"], ["text_kind:CartCTextKind"]);
}

#[test]
fn names_are_legal_and_told_apart() {
    let cart = r##"
type: object
properties:
  self: { type: string }
  3ds: { type: string }
  a-b: { type: string }
  a.b: { type: string }
  new: { type: string }
  extra: { type: string }
  fn: { $ref: "#/$defs/option" }
$defs: { option: { type: object, properties: { x: { enum: [unknown, "", "3d", Self] } } } }
"##;
    let found = types(
        &[
            ("rest.yaml", &rest("cart.yaml", "cart.yaml")),
            ("cart.yaml", cart),
        ],
        |builder| builder,
    );
    assert_eq!(
        found["Cart"],
        [
            "self_:Option<String>",
            "_3ds:Option<String>",
            "a_b:Option<String>",
            "a_b_2:Option<String>",
            "new_2:Option<String>",
            "extra_2:Option<String>",
            "r#fn:Option<OptionType>",
        ]
    );
    assert_eq!(
        found["OptionX"],
        [
            "UnknownValue",
            "Empty",
            "N3d",
            "SelfValue",
            "Unknown(wire::UnknownValue)"
        ]
    );
}

#[test]
fn views_that_agree_share_a_type_and_those_that_differ_do_not() {
    let cart = r##"
type: object
required: [id, lines]
properties:
  id: { type: string, ucp_request: omit }
  lines: { type: array, items: { $ref: "#/$defs/line" } }
  address: { $ref: "#/$defs/address" }
$defs:
  line: { type: object, required: [sku, price], properties: { sku: { type: string }, price: { type: integer, ucp_request: omit } } }
  address: { type: object, properties: { street: { type: string } } }
"##;
    let found = types(
        &[
            ("rest.yaml", &rest("cart.yaml", "cart.yaml")),
            ("cart.yaml", cart),
        ],
        |builder| builder,
    );
    assert_eq!(
        found["Cart"],
        ["id:String", "lines:Vec<Line>", "address:Option<Address>"]
    );
    assert_eq!(
        found["CreateCart"],
        ["lines:Vec<CreateLine>", "address:Option<Address>"]
    );
    assert_eq!(found["Line"], ["sku:String", "price:i64"]);
    assert_eq!(found["CreateLine"], ["sku:String"]);
    assert_eq!(found.len(), 5 + 1, "{found:?}"); // and the client
}

/// Case C18: the same key in several files is no collision, and two extensions of one member are one
/// field.
#[test]
fn a_vendors_extension_composes_onto_a_shipped_release() {
    let folder = tempfile::tempdir().unwrap();
    let loyalty = r##"{
      "name": "com.acme.loyalty",
      "$defs": {
        "points": { "type": "object", "required": ["balance"], "properties": { "balance": { "type": "integer" },
            "line": { "$ref": "https://ucp.dev/2026-04-08/schemas/shopping/types/line_item.json" } } },
        "dev.ucp.shopping.checkout": { "allOf": [
          { "$ref": "https://ucp.dev/2026-04-08/schemas/shopping/checkout.json" },
          { "type": "object", "properties": { "points": { "$ref": "#/$defs/points", "ucp_request": "omit" } } } ] }
      }
    }"##;
    lay(folder.path(), &[("acme/loyalty.json", loyalty)]);
    let builder = Builder::release("2026-04-08")
        .base(folder.path())
        .extensions(["acme/loyalty.json", "discount"]);
    let found = shapes(&syn::parse_file(&builder.source().unwrap()).unwrap());
    assert!(
        found["Checkout"].contains(&"points:Option<Points>".to_owned()),
        "{:?}",
        found["Checkout"]
    );
    assert!(found["Checkout"].contains(&"discounts:Option<DiscountsObject>".to_owned()));
    assert!(
        !found["CreateCheckout"]
            .iter()
            .any(|field| field.starts_with("points"))
    );
    assert_eq!(found["Points"], ["balance:i64", "line:Option<LineItem>"]);

    // A reference beside the file leads to nothing, and the way out is said.
    fs::write(
        folder.path().join("acme/loyalty.json"),
        loyalty.replace(
            "https://ucp.dev/2026-04-08/schemas/shopping/checkout.json",
            "checkout.json",
        ),
    )
    .unwrap();
    let Err(Error::Contract(found)) = builder.source() else {
        panic!("it was taken")
    };
    let first = found.iter().next().unwrap();
    assert_eq!(
        (first.code, first.file.as_str()),
        (Code::RefNotFound, "acme/loyalty.json")
    );
    assert!(
        first
            .hint
            .as_deref()
            .unwrap()
            .contains("https://ucp.dev/schemas/")
    );
}

#[test]
fn an_operation_that_only_redirects_is_a_link() {
    let rest = r##"
openapi: 3.1.0
info: { title: Permalink }
paths:
  /{items}:
    get:
      operationId: open
      parameters:
        - { name: items, in: path, required: true, schema: { type: string } }
        - { name: continue_to, in: query, schema: { type: string } }
      responses: { "303": { description: Onward }, "4XX": { description: No } }
"##;
    let text = generated(&[("rest.yaml", rest)], "rest.yaml", |builder| builder);
    assert!(
        text.contains("-> ::ucp_runtime::Link<operations::Open>"),
        "{text}"
    );
    assert!(
        text.contains("impl WithContinueTo for ::ucp_runtime::Link<operations::Open>"),
        "{text}"
    );
}
