//! A value of the wrong kind.

ucp_macros::include_ucp! {
    release: 20260408,
}

fn main() {}
