//! A derive that is not a path.

ucp_macros::include_ucp! {
    release: "2026-04-08",
    derive: ["Hash, Ord"],
}

fn main() {}
