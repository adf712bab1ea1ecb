//! C01 to C34: what the generator makes of a contract.

use super::*;
use golden::*;

#[test]
fn c01_a_root_reference_means_the_file_it_stands_in() {
    let found = types(
        "create",
        &[
            (
                "cart.yaml",
                "title: Cart\ntype: object\nrequired: [cart_id]\nproperties: { cart_id: { type: string }, pay: { $ref: \"pay.yaml#/$defs/selected\" } }",
            ),
            (
                "pay.yaml",
                "type: object\nrequired: [id]\nproperties: { id: { type: string } }\n$defs: { selected: { allOf: [ { $ref: \"#\" }, { properties: { selected: { type: boolean } } } ] } }",
            ),
        ],
    );
    assert_eq!(found["Cart"], ["cart_id:String", "pay:Option<Selected>"]);
    assert_eq!(found["Selected"], ["id:String", "selected:Option<bool>"]);

    // The site itself.
    let instrument = &shapes(&release())["SelectedPaymentInstrument"];
    assert_eq!(
        *instrument,
        [
            "id:String",
            "handler_id:String",
            "r#type:String",
            "billing_address:Option<PostalAddress>",
            "credential:Option<PaymentCredential>",
            "display:Option<wire::Map>",
            "selected:Option<bool>",
        ]
    );
    let kept = round_trips::<shelf::Selected>(
        &json!({ "id": "i", "handler_id": "h", "type": "card", "selected": true, "brand": "visa" }),
    );
    assert_eq!(kept.selected, Some(true));
    assert_eq!(
        refused::<shelf::Selected>(json!({ "id": "i", "type": "card" })),
        "$.handler_id: expected a required member, found nothing"
    );
}

#[test]
fn c02_a_recursive_schema_reads_and_writes() {
    let rule = json!({
        "required": ["a"],
        "properties": { "a": { "const": 1 }, "b": { "required": ["c"] } },
        "anyOf": [{ "required": ["x"] }],
        "not": { "not": { "const": null } },
    });
    let read = round_trips::<shelf::Rule>(&rule);
    assert_eq!(
        read.properties.as_ref().unwrap()["b"].required,
        Some(vec!["c".to_owned()])
    );
    assert_eq!(broken(read.validate()), [""; 0]);
    let hollow: shelf::Rule = super::read(json!({ "anyOf": [{ "not": {} }, {}] }));
    assert_eq!(
        broken(hollow.validate()),
        [
            "$.anyOf[0].not: must have at least 1 members",
            "$.anyOf[1]: must have at least 1 members"
        ]
    );
}

#[test]
fn c02_a_definition_that_yields_no_type_is_said() {
    let rest = rest("create", "cart.yaml");
    let cart = "type: object\nproperties: { rule: { $ref: \"#/$defs/rule\" }, other: { $ref: \"#/$defs/other\" } }\n$defs: { rule: { allOf: [ { $ref: \"#/$defs/rule\" } ] }, other: { type: object, properties: { x: { type: string } } } }";
    let found = generate(&[("rest.yaml", &rest), ("cart.yaml", cart)], |builder| {
        builder
    })
    .unwrap_err();
    assert_eq!(
        (found.len(), found[0].code, found[0].pointer.as_str()),
        (1, ucp_codegen::Code::RefCycle, "/$defs/rule")
    );
}

#[test]
fn c04_every_mark_moves_the_member_and_its_requirement() {
    let cart = |mark: &str| {
        format!(
            "title: Cart\ntype: object\nrequired: [id]\nproperties: {{ id: {{ type: string{mark} }}, note: {{ type: string{mark} }}, always: {{ type: boolean }} }}"
        )
    };
    for (mark, request, response) in [
        ("", None, ["id:String", "note:Option<String>"]),
        (
            ", ucp_request: omit",
            Some(&[][..]),
            ["id:String", "note:Option<String>"],
        ),
        (
            ", ucp_request: optional",
            Some(&["id:Option<String>", "note:Option<String>"]),
            ["id:String", "note:Option<String>"],
        ),
        (
            ", ucp_request: required",
            Some(&["id:String", "note:String"]),
            ["id:String", "note:Option<String>"],
        ),
    ] {
        let found = types("create", &[("cart.yaml", &cart(mark))]);
        fn always<'f>(fields: &[&'f str]) -> Vec<&'f str> {
            [fields, &["always:Option<bool>"]].concat()
        }
        assert_eq!(found["Cart"], always(&response), "{mark}");
        match request {
            // Views that agree are one type.
            None => assert!(!found.contains_key("CreateCart"), "{mark}"),
            Some(request) => assert_eq!(found["CreateCart"], always(request), "{mark}"),
        }
    }
    let created = round_trips::<shelf::CreateShelf>(
        &json!({ "lines": [], "credential": { "type": "t", "token": "s" } }),
    );
    assert_eq!(created.id, None);
    assert_eq!(
        refused::<shelf::Shelf>(json!({ "lines": [], "credential": { "type": "t" } })),
        "$.id: expected a required member, found nothing"
    );
}

#[test]
fn c05_nested_types_differ_by_operation() {
    let group = CreateFulfillmentGroup::new().selected_option_id("opt_1");
    let method = CreateFulfillmentMethod::new(FulfillmentMethodType::Shipping).groups([group]);
    let create = CreateFulfillment::new().methods([method]);
    assert_eq!(
        serde_json::to_value(&create).unwrap(),
        json!({ "methods": [{ "type": "shipping", "groups": [{ "selected_option_id": "opt_1" }] }] })
    );
    assert_eq!(
        refused::<UpdateFulfillmentGroup>(json!({ "selected_option_id": "opt_1" })),
        "$.id: expected a required member, found nothing"
    );
    assert_eq!(
        refused::<UpdateFulfillmentMethod>(json!({ "type": "shipping" })),
        "$.line_item_ids: expected a required member, found nothing"
    );
}

#[test]
fn c06_marks_inside_definitions_and_branches_count() {
    let found = shapes(&release());
    assert!(found["Checkout"].contains(&"discounts:Option<DiscountsObject>".to_owned()));
    for view in ["CreateCheckout", "UpdateCheckout"] {
        assert!(
            found[view].contains(&"discounts:Option<DiscountsObjectInput>".to_owned()),
            "{view}"
        );
    }
    assert_eq!(
        found["DiscountsObject"],
        [
            "codes:Option<Vec<String>>",
            "applied:Option<Vec<AppliedDiscount>>"
        ]
    );
    assert_eq!(found["DiscountsObjectInput"], ["codes:Option<Vec<String>>"]);
}

#[test]
fn c07_a_mark_that_does_not_list_the_operation_is_none() {
    let found = shapes(&generate_shelf());
    let id = |view: &str| {
        found[view]
            .iter()
            .find(|field| field.starts_with("id:"))
            .map(String::as_str)
    };
    assert_eq!(id("Line"), Some("id:String"));
    assert_eq!(id("CreateLine"), None);
    assert_eq!(id("UpdateLine"), Some("id:Option<String>"));
    assert_eq!(id("CompleteLine"), Some("id:String"));
}

fn generate_shelf() -> String {
    Builder::contract(package().join("tests/cases/contract/rest.yaml"))
        .version("2026-08-22")
        .source()
        .unwrap()
}

#[test]
fn c08_a_transition_holds_what_was_and_says_what_will_be() {
    let source = generate_shelf();
    let found = shapes(&source);
    // `from: required` in updates, no mark in other requests; the short form counts in all.
    assert!(
        found["UpdateLine"].contains(&"note:String".to_owned()),
        "{:?}",
        found["UpdateLine"]
    );
    assert!(found["CompleteLine"].contains(&"note:Option<String>".to_owned()));
    assert!(found["Line"].contains(&"mark:Option<String>".to_owned()));
    assert!(
        !found["UpdateLine"]
            .iter()
            .any(|field| field.starts_with("mark:"))
    );
    assert!(
        source.contains("Will become `omit`: it moves to the path"),
        "{source}"
    );
}

#[test]
fn c09_a_response_has_no_member_that_only_requests_carry() {
    let (received, _) = noted::<shelf::Credential>(json!({ "type": "token" }));
    assert_eq!(received.r#type, "token");
    assert_eq!(
        refused::<shelf::CredentialInput>(json!({ "type": "token" })),
        "$.token: expected a required member, found nothing"
    );
    // One that a merchant sends all the same is kept and never shown.
    let leaked = round_trips::<shelf::Credential>(&json!({ "type": "token", "token": "SECRET" }));
    let shown = format!("{leaked:?}");
    assert!(
        !shown.contains("SECRET") && shown.contains("token"),
        "{shown}"
    );
    let sent = shelf::CredentialInput::new("token", "SECRET");
    assert!(!format!("{sent:?}").contains("SECRET"));
    // `ucp_response` may also be `optional` or `required`.
    let found = shapes(&generate_shelf());
    assert_eq!(
        found["Purpose"],
        ["name:Option<String>", "description:String"]
    );
    assert_eq!(
        found["PurposeInput"],
        ["name:String", "description:Option<String>"]
    );
}

/// Business profiles, in which `rest`, `mcp` and `a2a` need an endpoint, are read by discovery, not by
/// generated types; the kind is held here on a schema of the same form.
#[test]
fn c11_branches_that_only_add_conditions_are_one_struct() {
    let cart = r##"
title: Cart
type: object
required: [transport]
properties: { transport: { enum: [rest, mcp, embedded] }, endpoint: { type: string }, config: { type: object } }
anyOf:
  - { properties: { transport: { const: rest } }, required: [endpoint] }
  - { properties: { transport: { const: mcp } }, required: [endpoint] }
  - { properties: { transport: { const: embedded } } }
"##;
    let rest = rest("create", "cart.yaml");
    let source = generate(&[("rest.yaml", &rest), ("cart.yaml", cart)], |builder| {
        builder
    })
    .unwrap();
    let found = shapes(&source);
    assert_eq!(
        found["Cart"],
        [
            "transport:CartTransport",
            "endpoint:Option<String>",
            "config:Option<wire::Map>"
        ]
    );
    assert!(source.contains("Check::AnyOf("), "{source}");

    let binding = round_trips::<ServiceResponse>(
        &json!({ "version": "2026-04-08", "transport": "embedded", "config": { "delegate": ["window.open"] } }),
    );
    assert_eq!(
        (binding.transport, binding.endpoint),
        (ServiceTransport::Embedded, None)
    );
}

#[test]
fn c12_a_const_tagged_union_round_trips() {
    let message: Message = super::read(json!({ "type": "info", "content": "hi" }));
    let Message::Info(info) = &message else {
        panic!("{message:?}")
    };
    assert_eq!((info.content.as_str(), &info.code), ("hi", &None));
    let text = serde_json::to_string(&message).unwrap();
    assert_eq!(text, r#"{"type":"info","content":"hi"}"#);

    let unknown = round_trips::<Message>(&json!({ "type": "tip", "content": "x", "more": [1] }));
    let Message::Unknown(object) = &unknown else {
        panic!("{unknown:?}")
    };
    assert_eq!(object.members()["type"], "tip");
    assert!(matches!(
        super::read(json!({ "content": "x" })),
        Message::Unknown(_)
    ));
}

#[test]
fn c13_rules_of_one_arm_stay_with_it() {
    let bad = json!({ "type": "warning", "code": "prop65", "content": "x", "url": "not-a-url" });
    let message = round_trips::<Message>(&bad);
    let Message::Warning(warning) = &message else {
        panic!("{message:?}")
    };
    assert_eq!(warning.url.as_deref(), Some("not-a-url"));
    assert_eq!(broken(message.validate()), ["$.url: must be a uri"]);
    // Nor is the checkout lost, and the place is named from its root.
    let whole = round_trips::<Checkout>(&checkout(json!({ "messages": [bad] })));
    assert_eq!(
        broken(whole.validate()),
        ["$.messages[0].url: must be a uri"]
    );
    // On an info it is nothing that the contract rules.
    let info: Message = super::read(json!({ "type": "info", "content": "x", "url": "not-a-url" }));
    assert_eq!(broken(info.validate()), [""; 0]);
}

#[test]
fn c15_a_closed_error_body_takes_what_is_added_to_it() {
    let body = json!({
        "ucp": { "version": "2026-04-08", "status": "error" },
        "messages": [{ "type": "error", "code": "x", "content": "c", "severity": "unrecoverable" }],
        "continue_url": "https://shop.example/on",
        "request_id": "r-1",
    });
    let error = round_trips::<ErrorResponse>(&body);
    assert_eq!(
        error.continue_url.as_deref(),
        Some("https://shop.example/on")
    );
    assert_eq!(error.extra["request_id"], "r-1");
}

#[test]
fn c16_rules_that_no_type_holds_are_validated() {
    let empty = round_trips::<Description>(&json!({}));
    assert_eq!(
        broken(empty.validate()),
        ["$: must have at least 1 members"]
    );
    let discount: TotalsItem = super::read(json!({ "type": "discount", "amount": 5 }));
    assert_eq!(
        broken(discount.validate()),
        ["$.amount: must be less than 0"]
    );
}

#[test]
fn c17_dotted_members_have_fields_and_others_are_kept() {
    let signals = round_trips::<Signals>(
        &json!({ "dev.ucp.buyer_ip": "203.0.113.9", "com.acme.device": "d1" }),
    );
    assert_eq!(signals.dev_ucp_buyer_ip.as_deref(), Some("203.0.113.9"));
    assert_eq!(signals.extra["com.acme.device"], "d1");
    assert_eq!(broken(signals.validate()), [""; 0]);
    let bogus = round_trips::<Signals>(&json!({ "bogus KEY!": "x" }));
    assert_eq!(broken(bogus.validate()).len(), 1);
}

#[test]
fn c18_one_key_in_several_files_is_no_collision() {
    let overlay = |member: &str| {
        format!(
            "$defs: {{ dev.ucp.shopping.cart: {{ allOf: [ {{ $ref: \"cart.yaml\" }}, {{ type: object, properties: {{ {member}: {{ type: string }} }} }} ] }}, lookup_request: {{ type: object, required: [{member}], properties: {{ {member}: {{ type: string }} }} }} }}\nname: com.acme.{member}"
        )
    };
    let rest = rest("create", "cart.yaml");
    let cart = "name: dev.ucp.shopping.cart\ntitle: Cart\ntype: object\nproperties: { id: { type: string }, a: { $ref: \"one.yaml#/$defs/lookup_request\" }, b: { $ref: \"two.yaml#/$defs/lookup_request\" }, whole: { $ref: \"one.yaml#/$defs/dev.ucp.shopping.cart/allOf/1\" } }";
    let (one, two) = (overlay("one"), overlay("two"));
    let files = [
        ("rest.yaml", rest.as_str()),
        ("cart.yaml", cart),
        ("one.yaml", &one),
        ("two.yaml", &two),
    ];
    let source = generate(&files, |builder| {
        builder.extensions(["one.yaml", "two.yaml"])
    })
    .unwrap();
    let found = shapes(&source);
    let cart = &found["Cart"];
    for member in ["one:Option<String>", "two:Option<String>"] {
        assert!(cart.contains(&member.to_owned()), "{cart:?}");
    }
    // Neither definition vanished behind the other.
    let lookups: Vec<&Vec<String>> = found
        .iter()
        .filter(|(name, _)| name.contains("LookupRequest"))
        .map(|(_, fields)| fields)
        .collect();
    assert!(
        lookups.contains(&&vec!["one:String".to_owned()]),
        "{found:?}"
    );
    assert!(
        lookups.contains(&&vec!["two:String".to_owned()]),
        "{found:?}"
    );
}

#[test]
fn c19_files_are_known_by_where_they_lie() {
    let cart = |member: &str| {
        format!(
            "$id: https://ucp.dev/schemas/shopping/cart.json\ntitle: Cart\ntype: object\nrequired: [{member}]\nproperties: {{ {member}: {{ type: string }}, line: {{ $ref: \"line.yaml\" }} }}"
        )
    };
    let line = |member: &str| {
        format!(
            "$id: https://ucp.dev/schemas/shopping/line.json\ntitle: Line\ntype: object\nrequired: [{member}]\nproperties: {{ {member}: {{ type: string }} }}"
        )
    };
    let rest = rest("create", "new/cart.yaml").replacen("new/cart.yaml", "old/cart.yaml", 1);
    let found = shapes(
        &generate(
            &[
                ("rest.yaml", &rest),
                ("old/cart.yaml", &cart("before")),
                ("old/line.yaml", &line("sku")),
                ("new/cart.yaml", &cart("after")),
                ("new/line.yaml", &line("item")),
            ],
            |builder| builder,
        )
        .unwrap(),
    );
    let fields: Vec<&String> = found.values().flatten().collect();
    for field in ["before:String", "after:String", "sku:String", "item:String"] {
        assert!(
            fields.iter().any(|found| *found == field),
            "{field}: {found:?}"
        );
    }
}

#[test]
fn c21_a_branch_that_only_requires_makes_no_type() {
    let found = types(
        "create",
        &[
            (
                "cart.yaml",
                "title: Cart\ntype: object\nproperties: { platform: { $ref: \"base.yaml#/$defs/platform\" } }",
            ),
            (
                "base.yaml",
                "title: Base\ntype: object\nrequired: [version]\nproperties: { version: { type: string }, spec: { type: string }, schema: { type: string } }\n$defs: { platform: { allOf: [ { $ref: \"#\" }, { required: [spec, schema] } ] } }",
            ),
        ],
    );
    // Its own name says nothing without its file's.
    assert_eq!(
        found["BasePlatform"],
        ["version:String", "spec:String", "schema:String"]
    );
    let names: Vec<&String> = found.keys().collect();
    assert_eq!(names, ["BasePlatform", "Cart", "Client"]);
}

#[test]
fn c22_what_stands_beside_a_reference_counts() {
    let found = shapes(&generate_shelf());
    assert!(found["Line"].contains(&"price:i64".to_owned()));
    for view in ["CreateLine", "UpdateLine", "CompleteLine"] {
        assert!(
            !found[view].iter().any(|field| field.starts_with("price:")),
            "{view}"
        );
    }
    // A rule of the reference's target and one beside the reference both hold.
    let line: shelf::Line = super::read(json!({ "id": "1", "sku": "s", "price": -1 }));
    assert_eq!(broken(line.validate()), ["$.price: must be at least 0"]);
    let four = json!({ "required": [], "not": { "const": 1 }, "const": 1, "anyOf": [] });
    let rule: shelf::Rule = super::read(json!({ "anyOf": [{}, four] }));
    assert_eq!(
        broken(rule.validate()),
        [
            "$.anyOf[0]: must have at least 1 members",
            "$.anyOf[1]: must have at most 3 members"
        ]
    );
}

#[test]
fn c25_timestamps_keep_their_text() {
    for (sent, fits) in [
        ("2026-04-08T10:00:00.000+02:00", true),
        ("2026-04-08", false),
        ("2026-04-08T10:00:00", false),
    ] {
        let whole = round_trips::<Checkout>(&checkout(json!({ "expires_at": sent })));
        assert_eq!(whole.expires_at.as_deref(), Some(sent));
        let rules = broken(whole.validate());
        assert_eq!(rules.is_empty(), fits, "{sent}: {rules:?}");
        assert!(
            rules
                .iter()
                .all(|rule| rule == "$.expires_at: must be a date-time")
        );
    }
}

#[test]
fn c27_vocabularies_take_values_to_come() {
    let total = round_trips::<TotalsItem>(
        &json!({ "type": "gift_wrap", "display_text": "Gift wrap", "amount": 500 }),
    );
    assert_eq!(total.r#type, "gift_wrap");
    let unnamed: TotalsItem = super::read(json!({ "type": "gift_wrap", "amount": 500 }));
    assert_eq!(broken(unnamed.validate()), ["$: must have `display_text`"]);
    let whole = round_trips::<Checkout>(&checkout(json!({
        "status": "open",
        "links": [{ "type": "imprint", "url": "https://shop.example/imprint" }],
        "messages": [
            { "type": "error", "code": "c", "content": "x", "severity": "requires_notary" },
            { "type": "warning", "code": "c", "content": "x", "presentation": "siren" },
        ],
        "fulfillment": { "methods": [{ "id": "m", "type": "drone", "line_item_ids": [] }] },
    })));
    let CheckoutStatus::Unknown(status) = &whole.status else {
        panic!("{:?}", whole.status)
    };
    assert_eq!((status.as_str(), whole.status.as_str()), ("open", "open"));
    let messages = whole.messages.as_ref().unwrap();
    assert!(
        matches!(&messages[0], Message::Error(error) if error.severity.as_str() == "requires_notary")
    );
    assert!(
        matches!(&messages[1], Message::Warning(warning) if warning.presentation.as_deref() == Some("siren"))
    );
    assert!(
        broken(whole.validate())
            .contains(&"$.status: must be a value that the contract lists".to_owned())
    );
    let binding = round_trips::<ServiceResponse>(
        &json!({ "version": "2026-04-08", "transport": "carrier_pigeon" }),
    );
    assert_eq!(binding.transport.as_str(), "carrier_pigeon");
    // Every vocabulary of the release has the arm.
    for (name, variants) in shapes(&release()) {
        if variants.iter().any(|variant| variant.contains("Unknown("))
            || !variants.iter().all(|variant| !variant.contains(':'))
        {
            continue;
        }
        assert!(variants.is_empty(), "{name}: {variants:?}");
    }
}

#[test]
fn c28_maps_and_strings_are_what_they_are() {
    let found = shapes(&release());
    for field in [
        "services:Option<BTreeMap<String,Vec<ServiceResponse>>>",
        "capabilities:Option<BTreeMap<String,Vec<Capability>>>",
        "payment_handlers:BTreeMap<String,Vec<PaymentHandler>>",
    ] {
        assert!(
            found["UcpResponseCheckout"].contains(&field.to_owned()),
            "{field}"
        );
    }
    // The names are held to their grammar by a rule rather than by a type of their own.
    let envelope: UcpResponseCheckout =
        super::read(json!({ "version": "2026-04-08", "payment_handlers": { "Not A Name": [] } }));
    assert_eq!(broken(envelope.validate()).len(), 1);
}

#[test]
fn c30_only_what_an_operation_itself_needs_is_an_input() {
    let rest = r##"
openapi: 3.1.0
info: { title: Shop }
components: { parameters: { key: { name: idempotency-key, in: header, required: true, schema: { type: string, format: uuid } } } }
paths:
  /carts/{id}:
    put:
      operationId: update_cart
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
        - { $ref: "#/components/parameters/key" }
        - { name: ucp-agent, in: header, required: true, schema: { type: string } }
        - { name: SIGNATURE-INPUT, in: header, schema: { type: string } }
        - { name: Accept-Language, in: header, schema: { type: string } }
      requestBody: { content: { application/json: { schema: { type: object, properties: { note: { type: string } } } } } }
      responses: { "200": { description: Done, content: { application/json: { schema: { type: object, properties: { id: { type: string } } } } } } }
"##;
    let source = generate(&[("rest.yaml", rest)], |builder| builder).unwrap();
    let found = ucp_tests::source::operations(&syn::parse_file(&source).unwrap());
    assert_eq!(found["update_cart"].parameters, ["id", "body"]);
    assert!(found["update_cart"].setters.is_empty());
    let found = ucp_tests::source::operations(&syn::parse_file(&release()).unwrap());
    for (id, operation) in &found {
        assert!(
            operation
                .parameters
                .iter()
                .all(|name| name == "id" || name == "body"),
            "{id}: {:?}",
            operation.parameters
        );
        assert!(
            operation.setters.is_empty(),
            "{id}: {:?}",
            operation.setters
        );
    }
    assert_eq!(found["create_checkout"].parameters, ["body"]);
}

#[test]
fn c31_every_operation_has_the_error_path() {
    fn fails_as_others<E: ucp_runtime::Endpoint<Failure = ErrorResponse>>() -> &'static str {
        E::OPERATION.id
    }
    assert_eq!(
        [
            fails_as_others::<operations::CreateCheckout>(),
            fails_as_others::<operations::SearchCatalog>(),
            fails_as_others::<operations::LookupCatalog>(),
            fails_as_others::<operations::GetProduct>(),
            fails_as_others::<operations::GetOrder>(),
            fails_as_others::<operations::CancelCart>(),
        ],
        [
            "create_checkout",
            "search_catalog",
            "lookup_catalog",
            "get_product",
            "get_order",
            "cancel_cart"
        ]
    );
    // The webhook is read too, and is no method.
    let found = ucp_tests::source::operations(&syn::parse_file(&release()).unwrap());
    assert_eq!(found["order_event_webhook"].path, "orderEvent");
}

#[test]
fn c34_a_nested_envelope_is_ignored_and_a_key_of_that_name_is_data() {
    let whole = json!({ "ucp": { "map_order": { "payment_handlers": ["b", "a"] }, "x_future": 1, "ucp": { "ucp": {} } }, "attribution": { "ucp": "newsletter" } });
    let mut envelope = whole["ucp"].clone();
    envelope["version"] = json!("2026-04-08");
    envelope["payment_handlers"] = json!({ "com.b": [], "com.a": [] });
    let checkout = round_trips::<Checkout>(&checkout(
        json!({ "ucp": envelope, "attribution": whole["attribution"] }),
    ));
    assert_eq!(checkout.attribution.unwrap()["ucp"], "newsletter");
    assert_eq!(
        checkout.ucp.extra["map_order"]["payment_handlers"],
        json!(["b", "a"])
    );
    assert_eq!(checkout.ucp.status, None);
}

#[test]
fn c110_extensions_that_give_one_member_two_types_are_refused() {
    let rest = rest("create", "cart.yaml");
    let extension = |name: &str, ty: &str| {
        format!(
            r#"
name: com.example.shop.{name}
$defs:
  com.example.shop.cart:
    allOf:
      - {{ $ref: cart.yaml }}
      - {{ type: object, properties: {{ reward: {{ type: {ty} }} }} }}
"#
        )
    };
    let cart =
        "{ name: com.example.shop.cart, type: object, properties: { id: { type: string } } }";
    let both = |points: &str, miles: &str| {
        let (points, miles) = (extension("points", points), extension("miles", miles));
        let files = [
            ("rest.yaml", rest.as_str()),
            ("cart.yaml", cart),
            ("points.yaml", points.as_str()),
            ("miles.yaml", miles.as_str()),
        ];
        generate(&files, |builder| {
            builder.extensions(["points.yaml", "miles.yaml"])
        })
    };
    let found = both("integer", "string").unwrap_err();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code.as_str(), "conflict");
    // What both say alike is no conflict.
    assert!(
        both("integer", "integer")
            .unwrap()
            .contains("pub reward: Option<i64>")
    );
}
