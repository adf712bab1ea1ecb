//! Random contracts never panic the generator: what comes out is Rust, or diagnostics with a place.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../tests/random_schemas.rs"]
mod random_schemas;

use proptest::prelude::*;
use random_schemas::{Book, Choices};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use ucp_codegen::{Builder, Diagnostic, Error};

/// What the generator says of a contract. Rust, if it generates; else every diagnostic has a place.
fn generated(files: &BTreeMap<String, Value>) -> Result<String, Vec<Diagnostic>> {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in files {
        fs::write(folder.path().join(name), file.to_string()).unwrap();
    }
    let builder = Builder::contract("rest.json")
        .base(folder.path())
        .version("2026-08-22");
    match builder.source() {
        Ok(source) => Ok(source),
        Err(Error::Contract(found)) => Err(found.iter().cloned().collect()),
        Err(other) => panic!("{other}"),
    }
}

/// Changes a contract so that it may be wrong: a member dropped, renamed, given another's value or a
/// value of another type.
fn mutate(value: &mut Value, tape: &mut Choices) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let name = members
                .keys()
                .nth(tape.below(members.len()))
                .unwrap()
                .clone();
            match tape.below(10) {
                0 => {
                    members.remove(&name);
                }
                1 => {
                    let kinds = [
                        Value::Null,
                        Value::from(1),
                        Value::from("x"),
                        Value::from(true),
                        Value::from(Vec::<Value>::new()),
                        Value::Object(serde_json::Map::new()),
                    ];
                    let kind = kinds.get(tape.below(kinds.len())).unwrap().clone();
                    members.insert(name, kind);
                }
                2 => {
                    let moved = members
                        .values()
                        .nth(tape.below(members.len()))
                        .unwrap()
                        .clone();
                    members.insert(name, moved);
                }
                _ => mutate(members.get_mut(&name).unwrap(), tape),
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let index = tape.below(items.len());
            if tape.below(5) == 0 {
                items.remove(index);
            } else {
                mutate(items.get_mut(index).unwrap(), tape);
            }
        }
        Value::String(text) => text.push_str("/x"),
        other => *other = Value::from("x"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_contract_of_published_patterns_becomes_rust(tape in prop::collection::vec(any::<u8>(), 0..600), count in 1_usize..5) {
        let book = Book::new(&mut Choices::of(tape), count);
        let source = generated(&book.files);
        prop_assert!(source.is_ok(), "{:#?}\n{:#?}", source, book.files);
        prop_assert!(syn::parse_file(&source.unwrap()).is_ok());
    }

    #[test]
    fn a_contract_with_mistakes_never_panics(tape in prop::collection::vec(any::<u8>(), 0..400), mistakes in prop::collection::vec(any::<u8>(), 1..60)) {
        let mut book = Book::new(&mut Choices::of(tape), 2);
        let mut mistakes = Choices::of(mistakes);
        for _ in 0..=mistakes.below(3) {
            let index = mistakes.below(book.files.len());
            mutate(book.files.values_mut().nth(index).unwrap(), &mut mistakes);
        }
        match generated(&book.files) {
            Ok(source) => prop_assert!(syn::parse_file(&source).is_ok()),
            Err(found) => {
                prop_assert!(!found.is_empty());
                for one in found {
                    prop_assert!(!one.file.is_empty(), "{one}");
                }
            }
        }
    }
}
