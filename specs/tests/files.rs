//! The embedded files are whole: they parse, their references resolve, and none is left out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use ucp_specs::{RELEASES, Release, release};

fn values(release: &Release) -> BTreeMap<&'static str, Value> {
    release
        .files
        .iter()
        .map(|file| {
            // Not into `serde_json::Value` at once: that would let a repeated key pass.
            let value: serde_yaml::Value = serde_yaml::from_str(file.text)
                .unwrap_or_else(|error| panic!("{}: {error}", file.path));
            (file.path, serde_json::to_value(value).unwrap())
        })
        .collect()
}

/// Calls `visit` with the pointer and the target of every reference.
fn refs(value: &Value, at: &str, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                match child {
                    Value::String(target) if key == "$ref" => visit(at, target),
                    _ => refs(child, &format!("{at}/{key}"), visit),
                }
            }
        }
        Value::Array(items) => {
            for (i, child) in items.iter().enumerate() {
                refs(child, &format!("{at}/{i}"), visit);
            }
        }
        _ => {}
    }
}

fn join(file: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            ".." => drop(parts.pop().unwrap()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn the_release_is_found_by_version() {
    let found = release("2026-04-08").unwrap();
    assert_eq!(found.version, "2026-04-08");
    assert!(
        found
            .file(found.rest)
            .unwrap()
            .text
            .contains("create_checkout")
    );
    assert!(
        found
            .file(found.tokenization)
            .unwrap()
            .text
            .contains("detokenize")
    );
    assert!(found.file("extensions/fulfillment.yaml").is_some());
    assert!(found.file("checkout.json").is_none());
    assert!(release("2020-01-01").is_none());
}

#[test]
fn both_parsers_read_each_file_alike() {
    for release in RELEASES {
        for (path, value) in values(release) {
            let text = release.file(path).unwrap().text;
            let other: Value =
                serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(other, value, "{path}");
        }
    }
}

#[test]
fn every_reference_resolves() {
    for release in RELEASES {
        let files = values(release);
        let mut count = 0;
        for (path, value) in &files {
            refs(value, "", &mut |at, target| {
                let (file, pointer) = target.split_once('#').unwrap_or((target, ""));
                let file = if file.is_empty() {
                    (*path).to_owned()
                } else {
                    join(path, file)
                };
                let found = files
                    .get(file.as_str())
                    .and_then(|value| value.pointer(pointer));
                assert!(found.is_some(), "{path}#{at} refers to {target}");
                count += 1;
            });
        }
        assert!(count > 300, "{}: {count} references", release.version);
    }
}

#[test]
fn every_file_on_disk_is_embedded_in_order() {
    fn walk(folder: &Path, prefix: &str, paths: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), &format!("{path}/"), paths),
                false => paths.push(path),
            }
        }
    }
    for release in RELEASES {
        let mut paths = Vec::new();
        walk(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(release.version),
            "",
            &mut paths,
        );
        paths.sort();
        let embedded: Vec<&str> = release.files.iter().map(|file| file.path).collect();
        assert_eq!(embedded, paths);
        for path in paths {
            let on_disk = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(release.version)
                .join(&path);
            assert_eq!(
                release.file(&path).unwrap().text,
                fs::read_to_string(on_disk).unwrap()
            );
        }
    }
}
