//! ucp-codegen
