//! A release as a tree of JSON files.

use std::path::{Path, PathBuf};
use std::{error, fmt, fs, io};

use serde_json::Value;

use crate::Release;

/// Why a JSON tree could not be made or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum JsonTreeError {
    /// A file of the release is not YAML.
    Yaml {
        /// Path of the file in the release.
        path: &'static str,
        /// What the parser says.
        source: serde_yaml::Error,
    },
    /// A file could not be written.
    Io {
        /// Path of the file on disk.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl fmt::Display for JsonTreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yaml { path, .. } => write!(f, "{path} is not YAML"),
            Self::Io { path, .. } => write!(f, "cannot write {}", path.display()),
        }
    }
}

impl error::Error for JsonTreeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Yaml { source, .. } => Some(source),
            Self::Io { source, .. } => Some(source),
        }
    }
}

impl Release {
    /// The release's files as JSON, in order of path: each `.yaml` becomes `.json`, and the
    /// references between them follow.
    ///
    /// # Errors
    ///
    /// [`JsonTreeError::Yaml`] when a file is not YAML, which the tests of this crate rule out.
    pub fn json_tree(&self) -> Result<Vec<(String, Value)>, JsonTreeError> {
        self.files
            .iter()
            .map(|file| {
                let mut value =
                    serde_yaml::from_str(file.text).map_err(|source| JsonTreeError::Yaml {
                        path: file.path,
                        source,
                    })?;
                rename_refs(&mut value);
                Ok((json_path(file.path), value))
            })
            .collect()
    }

    /// Writes [`json_tree`](Self::json_tree) below `dir`, which is made when it is missing.
    ///
    /// # Errors
    ///
    /// [`JsonTreeError`] when a file cannot be read as YAML or cannot be written.
    pub fn write_json_tree(&self, dir: &Path) -> Result<(), JsonTreeError> {
        for (path, value) in self.json_tree()? {
            let path = dir.join(path);
            let written = path
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&path, format!("{value:#}\n")));
            written.map_err(|source| JsonTreeError::Io { path, source })?;
        }
        Ok(())
    }
}

fn json_path(path: &str) -> String {
    match path.strip_suffix(".yaml") {
        Some(stem) => format!("{stem}.json"),
        None => path.to_owned(),
    }
}

fn rename_refs(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                match child {
                    Value::String(target) if key == "$ref" => {
                        let (file, fragment) =
                            target.split_at(target.find('#').unwrap_or(target.len()));
                        *target = json_path(file) + fragment;
                    }
                    _ => rename_refs(child),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rename_refs),
        _ => {}
    }
}
