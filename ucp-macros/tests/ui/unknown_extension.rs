//! An extension that the contract lacks.

ucp_macros::include_ucp! {
    release: "2026-04-08",
    extensions: [discount, loyalty],
}

fn main() {}
