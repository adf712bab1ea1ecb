//! Data shared between builds: contracts, facts, captures. It lies outside the project, under
//! `$UCP_SHARED`; tests that read it do nothing where it is absent, and say so.

use std::path::PathBuf;

/// The folder of shared data, or `None`, with a note, where there is none.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is how a test run is told where the data lies"
    )]
    let folder = std::env::var_os("UCP_SHARED").map(PathBuf::from);
    if folder.is_none() {
        println!("UCP_SHARED is not set: nothing to compare with");
    }
    folder
}

/// A JSON file of shared data.
///
/// # Panics
///
/// When the file is not there or not JSON.
#[must_use]
pub fn json(path: &std::path::Path) -> serde_json::Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What lies in a folder, in order.
///
/// # Panics
///
/// When the folder cannot be read.
#[must_use]
pub fn entries(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut entries = crate::synthetic::entries(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.sort();
    entries
}

/// The names of the folders in a folder.
///
/// # Panics
///
/// When the folder cannot be read.
#[must_use]
pub fn folders(folder: &std::path::Path) -> Vec<String> {
    let folders = entries(folder).into_iter().filter(|entry| entry.is_dir());
    folders
        .filter_map(|entry| entry.file_name()?.to_str().map(ToOwned::to_owned))
        .collect()
}

/// The files in a folder with an ending.
///
/// # Panics
///
/// When the folder cannot be read.
#[must_use]
pub fn files(folder: &std::path::Path, ending: &str) -> Vec<PathBuf> {
    let mut files = entries(folder);
    files.retain(|entry| entry.is_file() && entry.extension().is_some_and(|of| of == ending));
    files
}
