//! An operation that the contract lacks.

ucp_macros::include_ucp! {
    release: "2026-04-08",
    operations: [checkout, place_order],
}

fn main() {}
