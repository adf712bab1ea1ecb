//! Brings the published contract to what generators for OpenAPI 3.0 can read: one document, every
//! reference local, the keywords of 2020-12 brought down or left out.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Keywords that OpenAPI 3.0 does not have, or that say nothing about types.
const DROPPED: [&str; 21] = [
    "$schema",
    "$id",
    "$defs",
    "$comment",
    "name",
    "title",
    "examples",
    "if",
    "then",
    "else",
    "not",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "dependentRequired",
    "ucp_request",
    "ucp_response",
    "ucp_shared_request",
    "exclusiveMaximum",
    "default",
];

/// The one document.
pub fn bundle(contract: &Path) -> Value {
    let mut bundler = Bundler {
        files: BTreeMap::new(),
        schemas: Map::new(),
        open: Vec::new(),
    };
    let mut document = bundler.file(contract);
    let components = document["components"].take();
    bundler.local(contract, &components["schemas"]);
    let mut paths = document["paths"].take();
    bundler.rewrite(contract, &mut paths);
    let mut parameters = components["parameters"].clone();
    bundler.rewrite(contract, &mut parameters);
    let headers = components["headers"].clone();
    while let Some((name, file, pointer)) = bundler.open.pop() {
        let mut schema = bundler
            .file(&file)
            .pointer(&pointer)
            .cloned()
            .unwrap_or_default();
        bundler.schema(&file, &mut schema);
        bundler.schemas.insert(name, schema);
    }
    json!({
        "openapi": "3.0.3",
        "info": { "title": "UCP Shopping Service", "version": "2026-04-08" },
        "paths": paths,
        "components": { "schemas": bundler.schemas, "parameters": parameters, "headers": headers },
    })
}

struct Bundler {
    files: BTreeMap<PathBuf, Value>,
    schemas: Map<String, Value>,
    open: Vec<(String, PathBuf, String)>,
}

impl Bundler {
    fn file(&mut self, path: &Path) -> Value {
        let read = || {
            serde_json::from_str(&fs::read_to_string(path).expect("a file of the contract"))
                .expect("JSON")
        };
        self.files
            .entry(path.to_path_buf())
            .or_insert_with(read)
            .clone()
    }

    /// The document's own components keep their names.
    fn local(&mut self, contract: &Path, schemas: &Value) {
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            let mut schema = schema.clone();
            self.schema(contract, &mut schema);
            self.schemas.insert(name.clone(), schema);
        }
    }

    /// Rewrites the schemas of an envelope.
    fn rewrite(&mut self, file: &Path, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter_mut() {
                    if key == "schema" {
                        self.schema(file, value)
                    } else {
                        self.rewrite(file, value)
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.rewrite(file, item)),
            _ => {}
        }
    }

    fn name(&mut self, from: &Path, reference: &str) -> String {
        let (path, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if let Some(name) = pointer.strip_prefix("/components/schemas/") {
            return name.to_owned();
        }
        let file = if path.is_empty() {
            from.to_path_buf()
        } else {
            normal(&from.parent().unwrap_or(from).join(path))
        };
        let stem = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let name = match pointer.rsplit('/').next().filter(|key| !key.is_empty()) {
            Some(key) => format!("{stem}_{}", key.replace('.', "_")),
            None => format!("{stem}_root"),
        };
        if !self.schemas.contains_key(&name) {
            self.schemas.insert(name.clone(), Value::Null);
            self.open.push((name.clone(), file, pointer.to_owned()));
        }
        name
    }

    fn schema(&mut self, file: &Path, value: &mut Value) {
        let Value::Object(map) = value else { return };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str).map(str::to_owned) {
            let name = self.name(file, &reference);
            *value = json!({ "$ref": format!("#/components/schemas/{name}") });
            return;
        }
        DROPPED.iter().for_each(|keyword| {
            map.remove(*keyword);
        });
        if let Some(constant) = map.remove("const") {
            map.insert("type".into(), "string".into());
            map.insert("enum".into(), json!([constant]));
        }
        if let Some(Value::Array(types)) = map.get("type").cloned() {
            let one = types
                .iter()
                .find(|name| *name != "null")
                .cloned()
                .unwrap_or_default();
            map.insert("type".into(), one);
            map.insert("nullable".into(), true.into());
        }
        // Alternatives that only add conditions to an object, and branches that only condition.
        map.remove("anyOf");
        if let Some(Value::Array(branches)) = map.get_mut("allOf") {
            branches.retain(|branch| {
                branch.get("if").is_none()
                    && branch.get("contains").is_none()
                    && branch.get("anyOf").is_none()
            });
            if branches.is_empty() {
                map.remove("allOf");
            }
        }
        for (keyword, inner) in map.iter_mut() {
            match (keyword.as_str(), inner) {
                ("properties", Value::Object(properties)) => properties
                    .values_mut()
                    .for_each(|property| self.schema(file, property)),
                ("items" | "additionalProperties", inner) => self.schema(file, inner),
                ("allOf" | "oneOf", Value::Array(branches)) => branches
                    .iter_mut()
                    .for_each(|branch| self.schema(file, branch)),
                _ => {}
            }
        }
    }
}

fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        if part.as_os_str() == ".." {
            out.pop();
        } else {
            out.push(part)
        }
    }
    out
}
