//! 200 random schemas of a fixed seed, compiled: what fits a schema is read, breaks no rule and is
//! written as it was, members that nothing declares included.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../random_schemas.rs"]
mod random_schemas;

use random_schemas::{Book, COMPILED, Choices, View};
use ucp_runtime::serde_json::Value;
use ucp_tests::random::round_trip;

const INSTANCES: u64 = 40;

/// Whether two values are the same, numbers by value.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

#[test]
fn what_fits_a_schema_is_read_and_written_as_it_was() {
    let (seed, count) = COMPILED;
    let book = Book::new(&mut Choices::seeded(seed), count);
    let mut problems = Vec::new();
    let mut read = 0;
    for index in 0..count {
        for view in [View::Response, View::Create] {
            for round in 0..INSTANCES {
                let mut choices = Choices::seeded((index as u64) << 8 | round);
                let value = book.instance(index, view, &mut choices);
                let problem = match round_trip(index, view == View::Create, &value) {
                    Err(error) => Some(error.to_string()),
                    Ok(outcome) if !same(&outcome.written, &value) => {
                        Some(format!("written as {}", outcome.written))
                    }
                    Ok(outcome) => outcome.rules.err().map(|rules| rules.to_string()),
                };
                read += 1;
                if let Some(problem) = problem {
                    problems.push(format!("s{index} as {view:?}: {value}: {problem}"));
                    break;
                }
            }
        }
    }
    println!("{read} values of {count} schemas");
    assert!(
        problems.is_empty(),
        "{} problems\n{}\n{}",
        problems.len(),
        problems.join("\n"),
        book.files.keys().cloned().collect::<Vec<_>>().join(", "),
    );
}
