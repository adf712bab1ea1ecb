//! An option given twice.

ucp_macros::include_ucp! {
    release: "2026-04-08",
    expose: [],
    expose: ["Accept-Language"],
}

fn main() {}
