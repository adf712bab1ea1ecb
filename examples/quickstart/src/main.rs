//! examples/quickstart
fn main() {}
