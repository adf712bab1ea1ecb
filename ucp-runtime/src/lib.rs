//! ucp-runtime
pub mod operation;
pub mod wire;

#[doc(hidden)]
pub use serde;
