//! Generates a client from every published contract that lies under `$UCP_SHARED`, so that building
//! this crate compiles them all, with the warnings that the workspace denies.

#[path = "random_build.rs"]
mod random_build;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};
use ucp_codegen::Builder;

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo tells build scripts by the environment"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed=UCP_SHARED");
    let mut sources = String::new();
    if let Some(shared) = env::var_os("UCP_SHARED") {
        let contracts = Path::new(&shared).join("contract");
        println!("cargo::rerun-if-changed={}", contracts.display());
        let mut documents = Vec::new();
        find(&contracts, &mut documents)?;
        documents.sort();
        for document in documents {
            let inside = document.strip_prefix(&contracts)?;
            let name: String = inside
                .to_string_lossy()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                .collect();
            let release = inside
                .iter()
                .next()
                .map(|folder| folder.to_string_lossy().into_owned())
                .unwrap_or_default();
            let source = Builder::contract(&document)
                .version(release.trim_start_matches("draft-"))
                .extensions(["*"])
                .module(format!("c_{}", name.to_lowercase()))
                .source()
                .map_err(|error| format!("{}: {error}", document.display()))?;
            writeln!(sources, "{source}")?;
        }
    }
    let out = env::var_os("OUT_DIR").ok_or("Cargo sets OUT_DIR")?;
    fs::write(Path::new(&out).join("published.rs"), sources)?;
    random_build::generate(Path::new(&out))?;
    Ok(())
}

/// Every OpenAPI document below a folder: those that are called so.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
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
