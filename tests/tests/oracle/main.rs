//! The differential test: every fact of every table under `$UCP_SHARED/oracle` against what the
//! generator makes of the published contract, read back from the generated Rust.

mod compare;
mod contracts;
mod tables;

use compare::Outcome;
use contracts::Tree;
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
