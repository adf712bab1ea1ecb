//! A header that no operation declares.

ucp_macros::include_ucp! {
    release: "2026-04-08",
    expose: ["Accept-Language", "X-Trace"],
}

fn main() {}
