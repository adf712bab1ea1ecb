//! The part of the build script that generates a client of a random contract.

#[path = "random_schemas.rs"]
mod random_schemas;

use random_schemas::{Book, COMPILED, Choices};
use std::fs;
use std::path::Path;
use ucp_codegen::Builder;

/// Generates `random.rs` from the fixed seed.
pub(crate) fn generate(out: &Path) -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=random_build.rs");
    println!("cargo::rerun-if-changed=random_schemas.rs");
    println!("cargo::rerun-if-changed=build.rs");
    let (seed, count) = COMPILED;
    let folder = out.join("random");
    fs::create_dir_all(&folder)?;
    for (name, file) in Book::new(&mut Choices::seeded(seed), count).files {
        fs::write(folder.join(name), serde_json::to_string_pretty(&file)?)?;
    }
    Builder::contract(folder.join("rest.json"))
        .version("2026-08-22")
        .module("generated")
        .write_to(out.join("random.rs"))?;
    Ok(())
}
