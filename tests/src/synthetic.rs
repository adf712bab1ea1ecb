//! Documents written for a test: the published ones only reach what their operations send and are
//! answered with, and schemas that nobody sends must become types as well. The build script uses
//! this file too.

use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// An operation whose body or answer is a schema of the contract.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its `operationId`; the first word names the view for the marks.
    pub id: String,
    /// The `$ref` of what it sends.
    pub request: Option<String>,
    /// The `$ref` of what it is answered with.
    pub response: Option<String>,
}

/// An OpenAPI document of operations.
#[must_use]
pub fn document(operations: &[Operation]) -> Value {
    let content =
        |reference: &String| json!({ "application/json": { "schema": { "$ref": reference } } });
    let mut paths = Map::new();
    for Operation {
        id,
        request,
        response,
    } in operations
    {
        let mut answer = json!({ "description": "Done." });
        if let (Value::Object(answer), Some(reference)) = (&mut answer, response) {
            answer.insert("content".to_owned(), content(reference));
        }
        let mut operation = json!({ "operationId": id, "responses": { "200": answer } });
        if let (Value::Object(operation), Some(reference)) = (&mut operation, request) {
            let body = json!({ "required": true, "content": content(reference) });
            operation.insert("requestBody".to_owned(), body);
        }
        paths.insert(format!("/{id}"), json!({ "post": operation }));
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Oracle", "version": "1" },
        "paths": paths,
    })
}

/// The tree of a published release that has all of these files. The older releases were published
/// as two trees, of which one is resolved for each operation.
///
/// # Errors
///
/// When the release's folder cannot be read.
pub fn tree(release: &Path, files: &[&str]) -> io::Result<Option<PathBuf>> {
    let mut trees = entries(release)?;
    trees.sort();
    Ok(trees
        .into_iter()
        .find(|tree| files.iter().all(|file| tree.join(file).is_file())))
}

/// What lies in a folder.
///
/// # Errors
///
/// When it cannot be read.
pub fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect()
}

/// Copies a folder with all that it holds, in the place of what was there.
///
/// # Errors
///
/// When it cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in entries(from)? {
        let target = to.join(entry.file_name().unwrap_or_default());
        if entry.is_dir() {
            copy(&entry, &target)?;
        } else {
            fs::copy(&entry, &target)?;
        }
    }
    Ok(())
}
