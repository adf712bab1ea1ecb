//! The compiled types of every published contract, by name.

use crate::types::Types;
use serde_json::Value;
use ucp_runtime::serde::Serialize;
use ucp_runtime::wire::{self, DecodeError, Note, Read};

/// What a value becomes by being read as a type and written again, with what reading forgave.
pub type Again = Result<(Value, Vec<Note>), DecodeError>;

/// A compiled client.
#[derive(Debug)]
pub struct Client {
    /// Its document: `2026-04-08/source/services/shopping/rest.openapi.json`.
    pub document: &'static str,
    /// Whether the extensions that lie beside the document are composed. Each document is there
    /// without, and once more with them where they change anything.
    pub extended: bool,
    /// The source that was compiled.
    pub source: &'static str,
    /// Reads a value as the type of that name, and writes it again; `None` for an unknown name.
    pub again: fn(name: &str, value: Value) -> Option<Again>,
}

impl Client {
    /// The types, as the source has them.
    ///
    /// # Panics
    ///
    /// When the source is not what the generator writes.
    #[must_use]
    pub fn types(&self) -> Types {
        match syn::parse_file(self.source) {
            Ok(file) => Types::read(&file),
            Err(error) => panic!("{}: {error}", self.document),
        }
    }

    /// The folder of the release that the document lies in.
    #[must_use]
    pub fn release(&self) -> &'static str {
        self.document.split('/').next().unwrap_or_default()
    }
}

/// The clients; none without shared data.
#[allow(clippy::match_single_binding, reason = "a document may have no types")]
pub const CLIENTS: &[Client] = include!(concat!(env!("OUT_DIR"), "/registry.rs"));

#[allow(dead_code, reason = "not called where there is no shared data")]
fn again<T: Read + Serialize>(value: Value) -> Again {
    let (read, notes) = wire::read_body::<T>(value)?;
    match serde_json::to_value(&read) {
        Ok(value) => Ok((value, notes)),
        Err(error) => panic!("what was read cannot be written: {error}"),
    }
}
