//! A contract that is not there.

ucp_macros::include_ucp! {
    contract: "nowhere/rest.openapi.json",
    version: "2026-04-08",
}

fn main() {}
