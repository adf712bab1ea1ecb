//! Every operation of every published OpenAPI document against `facts/operations.json`: method,
//! path, inputs of its own, managed headers. And: no managed header is an input.

use serde_json::Value;
use std::path::{Path, PathBuf};
use ucp_codegen::{Builder, MANAGED};
use ucp_tests::{shared, source};

/// A fact's document: `v2026-04-08/source/…` lies in the folder of its release.
fn document(folder: &Path, release: &str, file: &str) -> PathBuf {
    let inside = file.split_once('/').map_or(file, |(_, inside)| inside);
    folder.join("contract").join(release).join(inside)
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn every_published_operation_is_as_the_facts_say() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let facts = shared::json(&folder.join("facts/operations.json"));
    let mut compared = 0;
    for (release, documents) in facts["versions"].as_object().unwrap() {
        for (name, document_facts) in documents.as_object().unwrap() {
            let path = document(&folder, release, &text(document_facts, "file"));
            let dated = release.trim_start_matches("draft-");
            let generated = Builder::contract(&path)
                .version(dated)
                .source()
                .unwrap_or_else(|error| panic!("{release} {name}: {error}"));
            let found = source::operations(&syn::parse_file(&generated).unwrap());
            let operations = document_facts["operations"]
                .as_array()
                .into_iter()
                .flatten();
            let webhooks = document_facts["webhooks"].as_array().into_iter().flatten();
            let all: Vec<&Value> = operations.chain(webhooks).collect();
            assert_eq!(found.len(), all.len(), "{release} {name}");
            for fact in all {
                let id = text(fact, "operationId");
                let operation = found
                    .get(&id)
                    .unwrap_or_else(|| panic!("{release} {name}: no {id}"));
                assert_eq!(operation.method, text(fact, "method"), "{release} {id}");
                assert_eq!(operation.path, text(fact, "path"), "{release} {id}");
                let managed: Vec<(String, bool)> = fact["managed_headers"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|header| (text(header, "name"), header["required"] == true))
                    .collect();
                assert_eq!(operation.managed, managed, "{release} {id}");
                // A webhook's body is what the merchant sends: no call has it as an input.
                if fact["kind"] == "operation" {
                    let own = |required: bool| -> Vec<String> {
                        let inputs = fact["own_inputs"].as_array().unwrap().iter();
                        inputs
                            .filter(|input| (input["required"] == true) == required)
                            .map(|input| text(input, "name"))
                            .collect()
                    };
                    assert_eq!(operation.parameters, own(true), "{release} {id}");
                    assert_eq!(operation.setters, own(false), "{release} {id}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
    println!("operations: {compared} compared");
}

#[test]
fn no_managed_header_is_an_input() {
    let generated = Builder::release("2026-04-08").source().unwrap();
    let found = source::operations(&syn::parse_file(&generated).unwrap());
    let calls: Vec<_> = found
        .iter()
        .filter(|(id, _)| *id != "order_event_webhook")
        .collect();
    assert_eq!(calls.len(), 13);
    for (id, operation) in calls {
        for input in operation.parameters.iter().chain(&operation.setters) {
            let managed = MANAGED
                .iter()
                .any(|header| header.eq_ignore_ascii_case(&input.replace('_', "-")));
            assert!(!managed, "{id} takes {input}");
        }
        // Identity, credential and tracing are declared by all 13 and asked of nobody.
        for header in ["UCP-Agent", "Authorization", "Request-Id", "Signature"] {
            assert!(
                operation.managed.iter().any(|(name, _)| name == header),
                "{id} does not manage {header}"
            );
        }
    }
}

#[test]
fn exposing_a_header_makes_it_an_input_of_the_operations_that_declare_it() {
    let generated = Builder::release("2026-04-08")
        .expose(["accept-language"])
        .source()
        .unwrap();
    let found = source::operations(&syn::parse_file(&generated).unwrap());
    for (id, operation) in found.iter().filter(|(id, _)| *id != "order_event_webhook") {
        assert_eq!(operation.setters, ["accept_language"], "{id}");
        assert!(
            !operation
                .managed
                .iter()
                .any(|(name, _)| name == "Accept-Language"),
            "{id}"
        );
    }
    // A required one is an argument.
    let generated = Builder::release("2026-04-08")
        .operations(["create_cart"])
        .expose(["UCP-Agent"])
        .source()
        .unwrap();
    let found = source::operations(&syn::parse_file(&generated).unwrap());
    assert_eq!(found["create_cart"].parameters, ["body", "ucp_agent"]);
    assert_eq!(found.len(), 1);
}
