//! Generating the type that a table is about.
//!
//! A table names a schema, not an operation of a published document. So for each schema a small
//! OpenAPI document is written, with one operation a view: `create_request` sends the schema,
//! `read_response` is answered with it. It lies in a copy of the contract, so that references lead
//! where they lead in the original and nothing is written beside shared data.

use crate::tables::{Direction, Subject, Table};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use ucp_codegen::Builder;
use ucp_tests::shared;
use ucp_tests::synthetic::{self, Operation};
use ucp_tests::types::{Ty, Types};

/// A copy of one tree of a release: the one that holds every schema that its tables are about. The
/// older releases were published as two trees.
pub(crate) struct Tree {
    root: PathBuf,
    release: String,
}

impl Tree {
    /// Copies the tree that the tables of a release need to a new folder.
    pub(crate) fn copy(shared: &Path, release: &str, tables: &[Table], to: &Path) -> Self {
        let files: Vec<&str> = tables
            .iter()
            .filter_map(|table| match &table.subject {
                Subject::Schema { file, .. } => Some(file.as_str()),
                Subject::Composed { .. } => None,
            })
            .collect();
        let tree = synthetic::tree(&shared.join("contract").join(release), &files)
            .unwrap()
            .unwrap_or_else(|| panic!("{release}: no tree has the schemas of all tables"));
        let root = to.join(release);
        synthetic::copy(&tree, &root).unwrap();
        Self {
            root,
            release: release.to_owned(),
        }
    }

    /// Where a file of the tree lies.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Every JSON file of the tree.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in synthetic::entries(&folder).unwrap() {
                if entry.is_dir() {
                    open.push(entry);
                } else if entry.extension().is_some_and(|ending| ending == "json") {
                    found.push(entry);
                }
            }
        }
        found.sort();
        found
    }

    /// The types of all views of one subject, in one client.
    pub(crate) fn generate(&self, subject: &Subject, tables: &[&Table]) -> Result<Types, String> {
        let operations: Vec<Operation> = tables
            .iter()
            .map(|table| {
                let reference = Some(self.reference(subject, table));
                let (request, response) = match table.direction {
                    Direction::Request => (reference, None),
                    Direction::Response => (None, reference),
                };
                let id = operation_id(table);
                Operation {
                    id,
                    request,
                    response,
                }
            })
            .collect();
        let document = synthetic::document(&operations);
        // Subjects may be generated side by side: each has a document of its own.
        let name: String = format!("{subject:?}")
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let file = self.root.join(format!("{name}.openapi.json"));
        fs::write(&file, document.to_string()).map_err(|error| error.to_string())?;
        let extensions: &[String] = match subject {
            Subject::Schema { .. } => &[],
            Subject::Composed { extensions, .. } => extensions,
        };
        let source = Builder::contract(&file)
            .version(self.release.trim_start_matches("draft-"))
            .extensions(extensions)
            .source()
            .map_err(|error| error.to_string())?;
        let file = syn::parse_file(&source).map_err(|error| error.to_string())?;
        Ok(Types::read(&file))
    }

    /// The `$ref` to a table's schema from the root of the tree.
    fn reference(&self, subject: &Subject, table: &Table) -> String {
        match subject {
            Subject::Schema { file, pointer } => format!("{file}#{pointer}"),
            Subject::Composed { base, .. } => {
                let named = self.files().into_iter().find(|file| {
                    shared::json(file).get("name").and_then(Value::as_str) == Some(base.as_str())
                });
                let file = named.unwrap_or_else(|| panic!("no file is called {base}"));
                let schema = shared::json(&file);
                let inside = file.strip_prefix(&self.root).unwrap();
                // A capability is one resource, or a request and a response for each operation.
                let pointer = if schema.get("properties").is_some() || schema.get("allOf").is_some()
                {
                    String::new()
                } else {
                    format!("/$defs/{}", operation_id(table))
                };
                format!("{}#{pointer}", inside.display())
            }
        }
    }
}

/// The first word of an `operationId` names the view for the marks.
fn operation_id(table: &Table) -> String {
    let direction = match table.direction {
        Direction::Request => "request",
        Direction::Response => "response",
    };
    format!("{}_{direction}", table.operation)
}

/// What a table's operation sends or is answered with.
pub(crate) fn root(types: &Types, table: &Table) -> Option<Ty> {
    let bodies = types.bodies.get(&operation_id(table))?;
    match table.direction {
        Direction::Request => bodies.request.clone(),
        Direction::Response => Some(bodies.success.clone()),
    }
}

/// The tables of each subject.
pub(crate) fn by_subject(tables: &[Table]) -> BTreeMap<&Subject, Vec<&Table>> {
    let mut found: BTreeMap<&Subject, Vec<&Table>> = BTreeMap::new();
    for table in tables {
        found.entry(&table.subject).or_default().push(table);
    }
    found
}
