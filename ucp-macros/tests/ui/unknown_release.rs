//! A release that is not shipped.

ucp_macros::include_ucp! {
    release: "2020-01-01",
}

fn main() {}
