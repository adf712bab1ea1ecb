//! ucp-runtime
