//! Two contracts at once.

ucp_macros::include_ucp! {
    release: "2026-04-08",
    contract: "shop.yaml",
}

fn main() {}
