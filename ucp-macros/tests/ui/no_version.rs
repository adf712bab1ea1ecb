//! A contract whose release nothing tells.

ucp_macros::include_ucp! {
    contract: "shop.yaml",
}

fn main() {}
