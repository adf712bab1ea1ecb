//! A contract with two mistakes: both are said.

ucp_macros::include_ucp! {
    contract: "broken_shop.yaml",
    version: "2026-04-08",
}

fn main() {}
