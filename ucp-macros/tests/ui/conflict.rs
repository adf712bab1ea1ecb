//! Two extensions that give one member two types.

ucp_macros::include_ucp! {
    contract: "shop.yaml",
    version: "2026-04-08",
    extensions: ["points.yaml", "miles.yaml"],
}

fn main() {}
