//! See `ucp_fuzz::message`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    ucp_fuzz::message(data);
});
