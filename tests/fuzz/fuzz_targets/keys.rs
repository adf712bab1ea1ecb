//! See `ucp_fuzz::keys`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ucp_fuzz::keys(data));
