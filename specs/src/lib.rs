//! The contracts of the Universal Commerce Protocol, embedded as data.
//!
//! A release is a folder of YAML files: OpenAPI 3.1 documents and the JSON Schemas (2020-12, with
//! the marks `ucp_request` and `ucp_response`) that they refer to. References between the files
//! are relative paths.
//!
//! The feature `json` adds the release as a JSON tree, for tools that do not read YAML.

#[cfg(feature = "json")]
mod json;

#[cfg(feature = "json")]
pub use json::JsonTreeError;

/// One file of a contract.
#[derive(Debug)]
pub struct File {
    /// Path relative to the release's folder, separated by `/`.
    pub path: &'static str,
    /// The YAML text.
    pub text: &'static str,
}

/// A release of the contract.
#[derive(Debug)]
pub struct Release {
    /// The protocol version, for example `2026-04-08`; or `draft`, whose date changes, so that who
    /// uses it has to say which one is meant.
    pub version: &'static str,
    /// Path of the REST document.
    pub rest: &'static str,
    /// Path of the document of tokenizers.
    pub tokenization: &'static str,
    /// All files, sorted by path.
    pub files: &'static [File],
}

impl Release {
    /// The file at a path relative to the release's folder.
    pub fn file(&self, path: &str) -> Option<&'static File> {
        let at = self.files.binary_search_by(|file| file.path.cmp(path));
        self.files.get(at.ok()?)
    }
}

/// Every embedded release, oldest first; the draft comes last.
pub static RELEASES: &[Release] = include!(concat!(env!("OUT_DIR"), "/releases.rs"));

/// The release of a protocol version, or the `draft`.
pub fn release(version: &str) -> Option<&'static Release> {
    RELEASES.iter().find(|release| release.version == version)
}
