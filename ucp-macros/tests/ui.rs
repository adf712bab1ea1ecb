//! What a mistake in `include_ucp! { … }` looks like to the person who made it.

#[test]
fn mistakes_are_errors_at_their_place() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
