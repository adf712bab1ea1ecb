//! Embeds every release folder beside this file, so that a new one needs no code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=.");
    #[expect(
        clippy::disallowed_methods,
        reason = "Cargo tells build scripts by the environment"
    )]
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let mut releases: Vec<String> = fs::read_dir(&root)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_release(name))
        .collect();
    releases.sort();

    let mut out = String::from("&[\n");
    for version in &releases {
        let folder = root.join(version);
        let mut files = Vec::new();
        collect(&folder, "", &mut files)?;
        files.sort();
        writeln!(
            out,
            "Release {{ version: {version:?}, rest: \"rest.yaml\", tokenization: \"tokenization.yaml\", files: &["
        )?;
        for path in &files {
            let full = folder.join(path);
            writeln!(
                out,
                "File {{ path: {path:?}, text: include_str!({full:?}) }},"
            )?;
        }
        out.push_str("] },\n");
    }
    out.push_str("]\n");
    #[expect(
        clippy::disallowed_methods,
        reason = "Cargo tells build scripts by the environment"
    )]
    fs::write(Path::new(&env::var("OUT_DIR")?).join("releases.rs"), out)?;
    Ok(())
}

/// `YYYY-MM-DD`, or `draft`, which sorts after every date.
fn is_release(name: &str) -> bool {
    let is_date = name.len() == 10
        && name.bytes().enumerate().all(|(i, b)| match i {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        });
    is_date || name == "draft"
}

/// Paths of the YAML files under `folder`, relative to the release and with `/` on every system.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let path = format!("{prefix}{}", name.to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if path.ends_with(".yaml") {
            files.push(path);
        }
    }
    Ok(())
}
