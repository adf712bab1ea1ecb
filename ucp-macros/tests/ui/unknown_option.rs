//! An option that does not exist.

ucp_macros::include_ucp! {
    release: "2026-04-08",
    extension: [discount],
}

fn main() {}
