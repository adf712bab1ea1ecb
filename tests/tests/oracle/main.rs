//! The differential test: every fact of every table under `$UCP_SHARED/oracle` against what the
//! generator makes of the published contract, read back from the generated Rust.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops where its data is not what it must be"
)]

mod behaviour;
mod compare;
mod contracts;
mod tables;

use compare::Outcome;
use contracts::Tree;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tables::{Subject, Table};
use ucp_tests::shared;

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("oracle")
        .join(name)
}

/// All tables of one subject: generated once, compared one by one.
fn check(tree: &Tree, subject: &Subject, tables: &[&Table]) -> Outcome {
    let mut outcome = Outcome::default();
    let generated = tree.generate(subject, tables);
    for table in tables {
        let root = generated.as_ref().map_err(Clone::clone).and_then(|types| {
            let root = contracts::root(types, table);
            Ok((types, root.ok_or("no such operation was generated")?))
        });
        match root {
            Ok((types, root)) => outcome.add(compare::compare(types, &root, table)),
            Err(why) => {
                outcome.checked += table.facts.len();
                outcome.differing.extend(table.facts.iter().map(|fact| {
                    (
                        format!("{} {}", table.name, fact.pointer),
                        vec![why.clone()],
                    )
                }));
            }
        }
    }
    outcome
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn every_fact_is_as_generated() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let mut outcome = Outcome::default();
    for (release, tables) in tables::read(&folder) {
        let tree = Tree::copy(&folder, &release, &tables, &scratch("facts"));
        for (subject, tables) in contracts::by_subject(&tables) {
            outcome.add(check(&tree, subject, &tables));
        }
    }
    for (place, differences) in &outcome.differing {
        println!("{place}: {}", differences.join("; "));
    }
    for (word, count) in &outcome.words {
        println!("  {word}: {count} compared");
    }
    for (rule, count) in &outcome.excluded {
        println!("  excluded, {rule}: {count}");
    }
    let differing = outcome.differing.len();
    println!(
        "facts: {} checked, {} equal, {differing} differing",
        outcome.checked,
        outcome.checked - differing
    );
    assert!(outcome.checked > 0, "no table was found");
    assert_eq!(differing, 0);
}

/// The first property in a schema that a mark omits from the requests of an operation, with that
/// mark taken the other way.
fn flip(schema: &mut Value, operation: &str) -> Option<String> {
    let properties = schema.get_mut("properties")?.as_object_mut()?;
    properties.iter_mut().find_map(|(name, property)| {
        let mark = property.get_mut("ucp_request")?;
        let mark = match mark {
            Value::Object(forms) => forms.get_mut(operation)?,
            short => short,
        };
        (mark == "omit").then(|| {
            *mark = json!("required");
            name.clone()
        })
    })
}

/// The test above can fail: one mark, flipped in a copy of the contract, is a difference.
#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn a_flipped_mark_is_a_difference() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let mut flipped = 0;
    for (release, tables) in tables::read(&folder) {
        let tree = Tree::copy(&folder, &release, &tables, &scratch("flipped"));
        // A request's own file is enough: marks at any depth are read in the same way.
        let Some((file, table, name, text)) = tables.iter().find_map(|table| {
            let Subject::Schema { file, pointer } = &table.subject else {
                return None;
            };
            let path = tree.path(file);
            let mut schema = shared::json(&path);
            let name = flip(schema.pointer_mut(pointer)?, &table.operation)?;
            let omitted = table.facts.first()?.strings("omitted");
            omitted
                .contains(&name.as_str())
                .then(|| (path, table, name.clone(), schema.to_string()))
        }) else {
            continue;
        };
        let before = check(&tree, &table.subject, &[table]);
        std::fs::write(file, text).unwrap();
        let after = check(&tree, &table.subject, &[table]);
        let place = format!("{} ", table.name);
        let what = |outcome: &Outcome| outcome.differing.get(&place).cloned().unwrap_or_default();
        assert_eq!(what(&before), [""; 0], "{place}");
        let found = what(&after).join("; ");
        assert!(
            found.contains("omitted") && found.contains(&format!("{name:?}")),
            "{place}: {name} is not omitted, and the test says `{found}`"
        );
        flipped += 1;
    }
    assert!(flipped > 0, "no table omits anything by a mark of its own");
    println!("marks: {flipped} flipped, {flipped} seen");
}
