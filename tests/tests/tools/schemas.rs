//! What the schemas say.

use super::{april, draft, exposed, nobody};
use std::collections::BTreeSet;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::tools::{Definition, Tool, Tools, ToolsError};
use ucp_tests::shared;

fn of(tools: &[Tool], name: &str) -> Value {
    let tool = tools.iter().find(|tool| tool.name == name).unwrap();
    serde_json::from_str(tool.schema).unwrap()
}

fn names(of: &Value) -> Vec<&str> {
    let list = of.as_array().into_iter().flatten();
    list.map(|name| name.as_str().unwrap()).collect()
}

/// Whether members have an order is for a feature of `serde_json` to say.
fn members(of: &Value) -> BTreeSet<&str> {
    let members = of.as_object().into_iter().flatten();
    members.map(|(name, _)| &**name).collect()
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .build(schema)
        .unwrap()
}

/// All tools, with that which moves money.
fn tools(version: &str) -> Tools {
    use ucp_runtime::tools::{Approval, Purchase};
    let approve = async |_: Purchase| Approval::Declined { reason: None };
    let merchant = nobody(version);
    let builder = match version {
        "2026-04-08" => april::Client::new(&merchant).tools(),
        _ => draft::Client::new(&merchant).tools(),
    };
    builder.approve(approve).build().unwrap()
}

/// Of each tool: its inputs, those that it requires, the body's members, and those that it requires.
type Expected = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const EXPECTED: [Expected; 13] = [
    (
        "create_checkout",
        "body",
        "body",
        "line_items buyer context signals attribution payment cart_id discounts fulfillment",
        "line_items",
    ),
    ("get_checkout", "id", "id", "", ""),
    (
        "update_checkout",
        "id body",
        "id body",
        "line_items buyer context signals attribution payment discounts fulfillment",
        "line_items",
    ),
    (
        "complete_checkout",
        "id body",
        "id body",
        "signals attribution payment cart_id",
        "payment",
    ),
    ("cancel_checkout", "id", "id", "", ""),
    (
        "create_cart",
        "body",
        "body",
        "line_items context signals attribution buyer discounts",
        "line_items",
    ),
    ("get_cart", "id", "id", "", ""),
    (
        "update_cart",
        "id body",
        "id body",
        "id line_items context signals attribution buyer discounts",
        "id line_items",
    ),
    ("cancel_cart", "id", "id", "", ""),
    (
        "search_catalog",
        "body",
        "body",
        "query context signals attribution filters pagination",
        "",
    ),
    (
        "lookup_catalog",
        "body",
        "body",
        "ids filters context signals attribution",
        "ids",
    ),
    ("get_order", "id", "id", "", ""),
    (
        "get_product",
        "body",
        "body",
        "id selected preferences filters context signals attribution",
        "id",
    ),
];

fn words<'t, T: FromIterator<&'t str>>(text: &'t str) -> T {
    text.split_whitespace().collect()
}

#[test]
fn a_tool_has_the_inputs_of_its_operation_and_no_other() {
    let listed: Vec<&str> = april::TOOLS.iter().map(|tool| tool.name).collect();
    let expected: Vec<&str> = EXPECTED.iter().map(|(name, ..)| *name).collect();
    assert_eq!(listed, expected);
    for (name, inputs, required, body, needed) in EXPECTED {
        let schema = of(april::TOOLS, name);
        let body_schema = &schema["properties"]["body"];
        assert_eq!(members(&schema["properties"]), words(inputs), "{name}");
        assert_eq!(
            names(&schema["required"]),
            words::<Vec<_>>(required),
            "{name}"
        );
        assert_eq!(schema["additionalProperties"], false, "{name}");
        assert_eq!(members(&body_schema["properties"]), words(body), "{name}");
        assert_eq!(
            names(&body_schema["required"]),
            words::<Vec<_>>(needed),
            "{name}"
        );
    }
}

#[test]
fn names_and_descriptions_are_what_providers_take() {
    for tools in [april::TOOLS, draft::TOOLS, exposed::TOOLS] {
        let mut seen = BTreeSet::new();
        for tool in tools {
            let legal = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            assert!((1..=64).contains(&tool.name.len()), "{}", tool.name);
            assert!(tool.name.chars().all(legal), "{}", tool.name);
            assert!(seen.insert(tool.name), "{} is there twice", tool.name);
            assert!(
                (40..1024).contains(&tool.description.len()),
                "{}",
                tool.name
            );
            assert!(tool.description.ends_with('.'), "{}", tool.description);
        }
    }
}

/// Every schema is one by its own standard, and refers to nothing outside itself; what it gives as
/// defaults and examples fits where it stands.
#[test]
fn schemas_are_whole_and_sound() {
    let mut annotations = 0;
    for tool in april::TOOLS.iter().chain(draft::TOOLS) {
        let schema: Value = serde_json::from_str(tool.schema).unwrap();
        assert!(
            jsonschema::draft202012::meta::is_valid(&schema),
            "{}",
            tool.name
        );
        validator(&schema);
        let mut open = vec![&schema];
        while let Some(at) = open.pop() {
            if let Some(to) = at.get("$ref").and_then(Value::as_str) {
                let pointer = to.strip_prefix('#').unwrap();
                assert!(
                    schema.pointer(pointer).is_some(),
                    "{} has no {to}",
                    tool.name
                );
            }
            // A property may be called so.
            let examples = at.get("examples").and_then(Value::as_array);
            let default = at.get("default").filter(|it| !it.is_object());
            for value in examples.into_iter().flatten().chain(default) {
                let mut alone = at.clone();
                alone["$defs"] = schema["$defs"].clone();
                assert!(
                    validator(&alone).is_valid(value),
                    "{}: {value} at {at}",
                    tool.name
                );
                annotations += 1;
            }
            match at {
                Value::Object(members) => open.extend(members.values()),
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
    }
    println!("annotations: {annotations} checked");
    assert!(annotations > 0);
}

/// What one tool is tried with.
struct Case {
    place: String,
    name: String,
    arguments: Value,
    /// The facts about its body.
    facts: Option<Value>,
}

/// The arguments that the specification's own examples of requests are, with the facts about them.
fn examples(release: &str, operations: &BTreeSet<&str>) -> Vec<Case> {
    let Some(folder) = shared::folder() else {
        return Vec::new();
    };
    let root = folder.join("examples").join(release);
    let index = shared::json(&root.join("index.json"));
    let mut cases = Vec::new();
    for entry in index.as_array().unwrap() {
        let text = |key: &str| entry[key].as_str().unwrap_or_default();
        if text("direction") != "request" || !operations.contains(text("operation")) {
            continue;
        }
        let name = text("operation").to_owned();
        let body = shared::json(&root.join(text("file")));
        let has_id = name.ends_with("_checkout") || name.ends_with("_cart");
        let arguments = if has_id && !name.starts_with("create") {
            json!({"id": "x_1", "body": body})
        } else {
            json!({ "body": body })
        };
        let file = text("schema").split('#').next().unwrap();
        let schema = file.rsplit('/').next().unwrap();
        let stem = schema.trim_end_matches(".json");
        let facts = folder.join(format!(
            "oracle/{release}/{stem}.{}.request.json",
            text("op")
        ));
        cases.push(Case {
            place: format!("{release}/{}", text("file")),
            name,
            arguments,
            facts: facts.exists().then(|| shared::json(&facts)),
        });
    }
    cases
}

/// The smallest arguments of the tools that no example is of.
fn small() -> Vec<Case> {
    let ids = [
        "get_checkout",
        "cancel_checkout",
        "get_cart",
        "cancel_cart",
        "get_order",
    ];
    let with_id = ids.map(|name| (name, json!({"id": "x_1"})));
    let cases = with_id.into_iter();
    let case = |(name, arguments): (&str, Value)| Case {
        place: name.to_owned(),
        name: name.to_owned(),
        arguments,
        facts: None,
    };
    cases.map(case).collect()
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn every_example_of_a_request_is_accepted() {
    let mut accepted = BTreeSet::new();
    let mut count = 0;
    for (release, list, version) in [
        ("2026-04-08", april::TOOLS, "2026-04-08"),
        ("draft-2026-08-22", draft::TOOLS, "2026-08-22"),
    ] {
        let operations = list.iter().map(|tool| tool.operation).collect();
        let tools = tools(version);
        for case in examples(release, &operations).into_iter().chain(small()) {
            let validator = validator(&of(list, &case.name));
            let errors: Vec<String> = (validator.iter_errors(&case.arguments))
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{}: {errors:?}", case.place);
            let checked = tools.check(&case.name, case.arguments);
            assert_eq!(
                checked.unwrap_or_else(|it| panic!("{}: {it}", case.place)),
                [""; 0]
            );
            accepted.insert(case.name);
            count += 1;
        }
    }
    println!("requests: {count} checked");
    assert_eq!(accepted.len(), 13, "{accepted:?}");
}

/// A place in a payload, as a fact's pointer names it.
fn instances(body: &Value, pointer: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for step in pointer.split('/').skip(1) {
        found = found
            .into_iter()
            .flat_map(|at| {
                let value = body.pointer(&at).unwrap();
                let steps: Vec<String> = match (step, value) {
                    ("[]", Value::Array(items)) => {
                        (0..items.len()).map(|it| it.to_string()).collect()
                    }
                    ("{}", Value::Object(members)) => members.keys().cloned().collect(),
                    (name, Value::Object(members)) if members.contains_key(name) => {
                        vec![name.to_owned()]
                    }
                    _ => Vec::new(),
                };
                steps.into_iter().map(move |step| format!("{at}/{step}"))
            })
            .collect();
    }
    found
}

/// An RFC 9535 path for a JSON pointer into the arguments.
fn path(pointer: &str) -> String {
    let mut path = "$".to_owned();
    for step in pointer.split('/').skip(1) {
        if step.bytes().all(|b| b.is_ascii_digit()) {
            path += &format!("[{step}]");
        } else {
            path += &format!(".{step}");
        }
    }
    path
}

/// A member that only answers have stands in for one that the request must have: the schema refuses
/// it at the object, the check at the member.
#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn what_only_answers_have_stands_in_for_nothing() {
    let mut refused = BTreeSet::new();
    let mut count = 0;
    let operations = april::TOOLS.iter().map(|tool| tool.operation).collect();
    let tools = tools("2026-04-08");
    for case in examples("2026-04-08", &operations)
        .into_iter()
        .chain(small())
    {
        let validator = validator(&of(april::TOOLS, &case.name));
        let mut try_without = |object: &str, name: &str, instead: &str| {
            let mut arguments = case.arguments.clone();
            let at = arguments
                .pointer_mut(object)
                .unwrap()
                .as_object_mut()
                .unwrap();
            at.remove(name).unwrap();
            at.insert(instead.to_owned(), json!("made up"));
            let errors: Vec<String> = (validator.iter_errors(&arguments))
                .map(|error| error.instance_path().to_string())
                .collect();
            let place = format!("{}: {instead} for {object}/{name}", case.place);
            assert!(errors.contains(&object.to_owned()), "{place}: {errors:?}");
            let mistakes = tools.check(&case.name, arguments).unwrap_err();
            let found: Vec<&str> = mistakes.as_slice().iter().map(|it| &*it.path).collect();
            // An unknown input is refused before a missing one is asked for.
            let expected = [
                path(&format!("{object}/{name}")),
                path(&format!("{object}/{instead}")),
            ];
            assert!(
                expected.iter().any(|it| found == [it]),
                "{place}: {mistakes}"
            );
            refused.insert(case.name.clone());
            count += 1;
        };
        let Some(facts) = &case.facts else {
            try_without("", "id", "status");
            continue;
        };
        let facts: Vec<&Value> = facts["facts"].as_array().unwrap().iter().collect();
        for fact in facts.iter().filter(|fact| fact["required"] == true) {
            let pointer = fact["pointer"].as_str().unwrap();
            let Some((object, name)) = pointer.rsplit_once('/') else {
                continue;
            };
            if name == "[]" || name == "{}" {
                continue;
            }
            let around = facts
                .iter()
                .find(|other| other["pointer"] == object)
                .unwrap();
            let omitted = names(&around["omitted"]);
            // Where answers have no more than requests, something of the answer as a whole.
            let instead = omitted.first().copied().unwrap_or("created_by_shop");
            for object in instances(&case.arguments["body"], object) {
                try_without(&format!("/body{object}"), name, instead);
            }
        }
    }
    println!("payloads: {count} checked");
    assert!(count >= 40, "{count}");
    let optional = ["search_catalog"];
    for (name, ..) in EXPECTED {
        assert!(refused.contains(name) || optional.contains(&name), "{name}");
    }
}

/// Every place in a payload.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(members) => {
            (members.iter()).for_each(|(name, value)| places(value, &format!("{at}/{name}"), found))
        }
        Value::Array(items) => (items.iter().enumerate())
            .for_each(|(index, value)| places(value, &format!("{at}/{index}"), found)),
        _ => {}
    }
}

/// Schema and types are made of the same rules: what the one takes, the other does, save what reading
/// forgives, which it says.
#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn the_schema_takes_what_the_check_takes() {
    let operations = april::TOOLS.iter().map(|tool| tool.operation).collect();
    let tools = tools("2026-04-08");
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(2.5),
        json!("x"),
        json!(""),
        json!([]),
        json!([1]),
        json!({}),
        json!({"id": "x"}),
        json!({"name": "x"}),
        json!({"type": "shipping"}),
    ];
    let (mut taken, mut refused) = (0, 0);
    let mut ready = super::ready();
    ready["body"]["fulfillment"]["methods"][0]["selected_destination_id"] = Value::Null;
    let more = Case {
        place: "ready".to_owned(),
        name: "create_checkout".to_owned(),
        arguments: ready,
        facts: None,
    };
    for case in examples("2026-04-08", &operations)
        .into_iter()
        .chain([more])
    {
        let validator = validator(&of(april::TOOLS, &case.name));
        let mut all = Vec::new();
        places(&case.arguments["body"], "/body", &mut all);
        for place in all {
            for value in &values {
                let mut arguments = case.arguments.clone();
                *arguments.pointer_mut(&place).unwrap() = value.clone();
                let valid = validator.is_valid(&arguments);
                let checked = tools.check(&case.name, arguments);
                let what = format!("{} with {value} at {place}: {checked:?}", case.place);
                match checked {
                    Ok(notes) if valid => assert_eq!(notes, [""; 0], "{what}"),
                    Ok(notes) => assert!(!notes.is_empty(), "{what}"),
                    Err(_) => assert!(!valid, "{what}"),
                }
                if valid { taken += 1 } else { refused += 1 }
            }
        }
    }
    println!(
        "payloads: {} checked, {refused} of them refused",
        taken + refused
    );
    assert!(taken > 300 && refused > 1000, "{taken} {refused}");
}

#[test]
fn an_exposed_header_is_an_input_unless_it_says_who_asks() {
    let client = exposed::Client::new(&nobody("2026-04-08"));
    let tools = client.tools().build().unwrap();
    let inputs: Vec<(&str, BTreeSet<&str>)> = (tools.definitions().iter())
        .map(|tool| (tool.name, members(&tool.input_schema["properties"])))
        .collect();
    assert_eq!(
        inputs,
        [
            ("create_cart", words("Accept-Language body")),
            ("get_order", words("id Accept-Language")),
        ]
    );
    let arguments = json!({"id": "1", "accept-language": "de", "idempotency-key": "mine"});
    let notes = tools.check("get_order", arguments).unwrap();
    assert_eq!(
        notes,
        ["`idempotency-key` was discarded: the protocol's headers are not a model's to set"]
    );
}

fn definition<'t>(tools: &'t Tools, name: &str) -> &'t Definition {
    let mut all = tools.definitions().iter();
    all.find(|tool| tool.name == name).unwrap()
}

#[test]
fn what_the_application_provides_is_not_a_models_to_see() {
    let shop = april::Client::new(&nobody("2026-04-08"));
    let tools = shop
        .tools()
        .provide("context", json!({"address_country": "US"}))
        .provide("signals", json!({}))
        .provide("attribution", json!({}))
        .provide("payment", super::payment())
        .provide("cart_id", "cart_1")
        .approve(async |_| ucp_runtime::tools::Approval::Approved)
        .build()
        .unwrap();
    let create = Value::Object((*definition(&tools, "create_checkout").input_schema).clone());
    let body = &create["properties"]["body"];
    let left = words("line_items buyer discounts fulfillment");
    assert_eq!(members(&body["properties"]), left);
    // No definition is left that only those needed.
    let definitions = members(&create["$defs"]);
    assert!(!definitions.contains("Context"), "{definitions:?}");
    assert!(
        !definitions.contains("SelectedPaymentInstrument"),
        "{definitions:?}"
    );
    validator(&create);
    // Nothing is left of this body, so none is asked for.
    let complete = definition(&tools, "complete_checkout");
    assert_eq!(members(&complete.input_schema["properties"]), words("id"));
    assert_eq!(complete.input_schema["required"], json!(["id"]));
    assert_eq!(
        tools
            .check("complete_checkout", json!({"id": "1"}))
            .unwrap(),
        [""; 0]
    );
    let mut arguments = super::ready();
    arguments["body"]["context"] = json!({"address_country": "DE"});
    assert_eq!(
        tools.check("create_checkout", arguments).unwrap(),
        ["`context` was discarded: the application sets it"]
    );
    assert_eq!(
        shop.tools()
            .provide("contxt", json!({}))
            .build()
            .unwrap_err(),
        ToolsError::Unknown {
            name: "contxt".to_owned()
        }
    );
}

#[test]
fn a_definition_is_what_a_models_api_takes() {
    let shop = april::Client::new(&nobody("2026-04-08"));
    let tools = shop.tools().build().unwrap();
    let listed: Vec<&str> = tools.definitions().iter().map(|tool| tool.name).collect();
    assert_eq!(listed.len(), 12);
    assert!(!listed.contains(&"complete_checkout"));
    let get_order = definition(&tools, "get_order");
    assert!(get_order.read_only && !definition(&tools, "create_cart").read_only);
    assert_eq!(
        serde_json::to_value(get_order).unwrap(),
        json!({
            "name": "get_order",
            "description": get_order.description,
            "input_schema": {
                "type": "object",
                "properties": {"id": {
                    "type": "string",
                    "description": "Which order, by the `id` that the completed checkout returned.",
                }},
                "required": ["id"],
                "additionalProperties": false,
            },
        })
    );
    fn shared<T: Clone + Send + Sync>(_: &T) {}
    shared(&tools);
}
