//! See `ucp_fuzz::jws`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ucp_fuzz::jws(data));
