//! The tables: facts about what a payload holds, made from the published schemas without us.

use serde_json::{Map, Value};
use std::path::Path;
use ucp_tests::shared;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Request,
    Response,
}

/// The schema that a table is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// A file of the contract, or a definition in one.
    Schema { file: String, pointer: String },
    /// A capability, by its name, with extensions.
    Composed {
        base: String,
        extensions: Vec<String>,
    },
}

/// One table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// `2026-04-08/checkout.create.request`
    pub(crate) name: String,
    pub(crate) subject: Subject,
    /// What the marks call the operation.
    pub(crate) operation: String,
    pub(crate) direction: Direction,
    pub(crate) facts: Vec<Fact>,
}

/// One fact: what stands at a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) pointer: String,
    pub(crate) said: Map<String, Value>,
}

impl Fact {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.said.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn strings(&self, name: &str) -> Vec<&str> {
        let list = self.get(name).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }
}

/// The pointer without its last step, and that step.
pub(crate) fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').unwrap_or(("", ""))
}

/// The tables of each release.
pub(crate) fn read(shared: &Path) -> Vec<(String, Vec<Table>)> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let oracle = shared.join("oracle");
    names(&oracle)
        .into_iter()
        .map(|release| {
            let folder = oracle.join(&release);
            let files = names(&folder);
            let tables = files.iter().map(|file| {
                let name = format!("{release}/{}", file.trim_end_matches(".json"));
                table(name, &shared::json(&folder.join(file)))
            });
            let tables = tables.collect();
            (release, tables)
        })
        .collect()
}

fn table(name: String, json: &Value) -> Table {
    let meta = |key: &str| json["meta"][key].as_str().unwrap_or_default();
    let facts = json["facts"].as_array().into_iter().flatten();
    Table {
        subject: subject(meta("schema"), meta("def")),
        operation: meta("operation").to_owned(),
        direction: match meta("direction") {
            "request" => Direction::Request,
            "response" => Direction::Response,
            other => panic!("{name}: {other} is no direction"),
        },
        facts: facts
            .map(|fact| Fact {
                pointer: fact["pointer"].as_str().unwrap_or_default().to_owned(),
                said: fact.as_object().cloned().unwrap_or_default(),
            })
            .collect(),
        name,
    }
}

/// `composed: dev.ucp.shopping.cart + discount,loyalty`, or a file with a definition's name or
/// pointer.
fn subject(schema: &str, definition: &str) -> Subject {
    if let Some(composed) = schema.strip_prefix("composed: ") {
        let (base, extensions) = composed.split_once(" + ").unwrap_or((composed, ""));
        return Subject::Composed {
            base: base.to_owned(),
            extensions: extensions.split(',').map(ToOwned::to_owned).collect(),
        };
    }
    Subject::Schema {
        file: schema.to_owned(),
        pointer: match definition.strip_prefix('#') {
            Some(pointer) => pointer.to_owned(),
            None if definition.is_empty() => String::new(),
            None => format!("/$defs/{definition}"),
        },
    }
}
