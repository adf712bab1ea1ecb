//! No contract at all.

ucp_macros::include_ucp! {
    extensions: [discount],
}

fn main() {}
