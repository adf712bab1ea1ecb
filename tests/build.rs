//! Generates a client from every published contract that lies under `$UCP_SHARED`, so that building
//! this crate compiles them all, with the warnings that the workspace denies. Payloads that no
//! operation carries (profiles) get a document of their own.

#[path = "random_build.rs"]
mod random_build;

#[path = "src/synthetic.rs"]
#[allow(unreachable_pub, reason = "public in the crate that it is part of")]
mod synthetic;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};
use ucp_codegen::Builder;

type Error = Box<dyn std::error::Error>;

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo tells build scripts by the environment"
)]
fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-env-changed=UCP_SHARED");
    // Tests that need shared data are reported as not run where there is none.
    println!("cargo::rustc-check-cfg=cfg(shared)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/synthetic.rs");
    Builder::contract("contracts/hostile.yaml")
        .version("2026-04-08")
        .derive(["Hash", "Debug"])
        .emit_to_out_dir("hostile.rs")?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("Cargo sets OUT_DIR")?);
    let mut generated = Generated::default();
    if let Some(shared) = env::var_os("UCP_SHARED") {
        println!("cargo::rustc-cfg=shared");
        let contracts = Path::new(&shared).join("contract");
        let examples = Path::new(&shared).join("examples");
        println!("cargo::rerun-if-changed={}", contracts.display());
        println!("cargo::rerun-if-changed={}", examples.display());
        let mut documents = Vec::new();
        find(&contracts, &mut documents)?;
        documents.sort();
        for document in documents {
            generated.add(&out, &contracts, &document)?;
        }
        for release in synthetic::entries(&examples)? {
            if let Some((root, document)) = unreached(&generated, &contracts, &release, &out)? {
                generated.add(&out, &root, &document)?;
            }
        }
    }
    random_build::generate(&out)?;
    fs::write(out.join("published.rs"), generated.modules)?;
    fs::write(out.join("registry.rs"), format!("&[{}]", generated.clients))?;
    Ok(())
}

#[derive(Default)]
struct Generated {
    /// A module a document.
    modules: String,
    /// The elements of the list of clients.
    clients: String,
    /// The operations of each release.
    operations: BTreeMap<String, BTreeSet<String>>,
}

impl Generated {
    /// Generates a document, which lies in the folder of its release below `root`: with all
    /// extensions that lie beside it, and without where that makes a difference.
    fn add(&mut self, out: &Path, root: &Path, document: &Path) -> Result<(), Error> {
        let all = self.source(root, document, true)?;
        let none = self.source(root, document, false)?;
        if all == none {
            return self.client(out, root, document, &all, "", false);
        }
        self.client(out, root, document, &all, "", true)?;
        self.client(out, root, document, &none, "_plain", false)
    }

    fn source(&self, root: &Path, document: &Path, extended: bool) -> Result<String, Error> {
        let release = release(document.strip_prefix(root)?);
        let extensions = extended.then_some("*");
        let source = Builder::contract(document)
            .version(release.trim_start_matches("draft-"))
            .extensions(extensions)
            .source()
            .map_err(|error| format!("{}: {error}", document.display()))?;
        Ok(source)
    }

    fn client(
        &mut self,
        out: &Path,
        root: &Path,
        document: &Path,
        source: &str,
        suffix: &str,
        extended: bool,
    ) -> Result<(), Error> {
        let inside = document.strip_prefix(root)?.to_string_lossy().into_owned();
        let release = release(Path::new(&inside));
        let name: String = inside
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let name = format!("c_{}{suffix}", name.to_lowercase());
        let file = out.join(format!("{name}.rs"));
        fs::write(&file, source)?;
        writeln!(
            self.modules,
            "/// `{inside}`{}.\npub mod {name} {{ include!({file:?}); }}",
            if extended { " with its extensions" } else { "" }
        )?;
        // Types stand in modules; so do the markers of operations, which hold nothing.
        let types: BTreeSet<&str> = source
            .lines()
            .filter_map(|line| line.strip_prefix("    pub ")?.strip_suffix(" {"))
            .filter_map(|item| {
                let name = item.strip_prefix("struct ");
                name.or_else(|| item.strip_prefix("enum "))
            })
            .collect();
        let arms: String = types
            .iter()
            .map(|of| format!("{of:?} => Some(again::<crate::published::{name}::{of}>(value)),\n"))
            .collect();
        writeln!(
            self.clients,
            "Client {{ document: {inside:?}, extended: {extended}, source: include_str!({file:?}), again: |name, value| \
             match name {{ {arms} _ => {{ drop(value); None }} }} }},"
        )?;
        let contract: Value = serde_json::from_str(&fs::read_to_string(document)?)?;
        let paths = contract.get("paths").and_then(Value::as_object);
        let operations = paths
            .into_iter()
            .flatten()
            .flat_map(|(_, item)| item.as_object().into_iter().flatten())
            .filter_map(|(_, operation)| operation.get("operationId")?.as_str());
        self.operations
            .entry(release)
            .or_default()
            .extend(operations.map(ToOwned::to_owned));
        Ok(())
    }
}

/// The folder of a release, the first of a path.
fn release(inside: &Path) -> String {
    inside
        .iter()
        .next()
        .map(|folder| folder.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// A document for the examples of a release that belong to no operation, in a copy of the contract.
fn unreached(
    generated: &Generated,
    contracts: &Path,
    examples: &Path,
    out: &Path,
) -> Result<Option<(PathBuf, PathBuf)>, Error> {
    let release = examples.file_name().unwrap_or_default().to_string_lossy();
    let known = generated.operations.get(release.as_ref());
    let index: Value = serde_json::from_str(&fs::read_to_string(examples.join("index.json"))?)?;
    let mut operations: BTreeMap<&str, synthetic::Operation> = BTreeMap::new();
    let mut files = Vec::new();
    for entry in index.as_array().into_iter().flatten() {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = text("operation");
        if known.is_some_and(|known| known.contains(id)) {
            continue;
        }
        files.extend(text("schema").split('#').next());
        let operation = operations
            .entry(id)
            .or_insert_with(|| synthetic::Operation {
                id: id.to_owned(),
                request: None,
                response: None,
            });
        let schema = Some(text("schema").to_owned());
        match text("direction") {
            "request" => operation.request = schema,
            _ => operation.response = schema,
        }
    }
    if operations.is_empty() {
        return Ok(None);
    }
    let tree = synthetic::tree(&contracts.join(release.as_ref()), &files)?
        .ok_or_else(|| format!("{release}: no tree has {files:?}"))?;
    let root = out.join("examples");
    let copy = root.join(release.as_ref());
    synthetic::copy(&tree, &copy)?;
    let operations: Vec<synthetic::Operation> = operations.into_values().collect();
    let document = copy.join("examples.openapi.json");
    fs::write(&document, synthetic::document(&operations).to_string())?;
    Ok(Some((root, document)))
}

/// Every OpenAPI document below a folder: those that are called so.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for path in synthetic::entries(folder)? {
        if path.is_dir() {
            find(&path, found)?;
        } else if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with("openapi.json"))
        {
            found.push(path);
        }
    }
    Ok(())
}
