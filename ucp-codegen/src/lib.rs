//! Typed Rust clients from a Universal Commerce Protocol contract.
//!
//! A contract (OpenAPI 3.1 and JSON Schema 2020-12 with UCP's marks) goes in, Rust source comes out.
//! No network, no clock, no environment: the same input gives the same bytes on every machine.
//!
//! Data flows one way, one module a stage:
//!
//! ```text
//! files ─▶ source ─▶ contract ─▶ schema ─▶ model ─▶ render ─▶ format ─▶ Rust
//! ```
//!
//! Applications use it through `ucp_runtime::include_ucp!` or, from `build.rs`, through [`Builder`].

mod builder;
mod contract;
mod diagnostics;
mod generate;
mod ledger;
mod model;
mod options;
mod parse;
mod position;
mod render;
mod schema;
mod source;
#[doc(hidden)]
pub mod stages;
mod tree;

pub use builder::{Builder, Error, Output, expand};
pub use diagnostics::{Argument, Code, Diagnostic, Diagnostics};
pub use options::{Contract, MANAGED, Options, SpannedOptions};
