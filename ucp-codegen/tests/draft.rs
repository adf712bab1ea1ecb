//! The draft has no version of its own, and one document more than the releases.

#![allow(clippy::unwrap_used, clippy::panic)]

use ucp_codegen::{Argument, Builder, Code, Contract, Diagnostic, Error, Options};

fn document(release: &str, document: &str) -> Builder {
    let mut options = Options::new(Contract::Release(release.to_owned()));
    options.document = document.to_owned();
    Builder::with_options(options)
}

#[track_caller]
fn only(builder: &Builder) -> Diagnostic {
    let Err(Error::Contract(found)) = builder.source() else {
        panic!("no diagnostics")
    };
    let found: Vec<&Diagnostic> = found.iter().collect();
    let [one] = found.as_slice() else {
        panic!("{found:#?}")
    };
    assert_eq!((one.code, one.argument), (Code::Option, Argument::Contract));
    (*one).clone()
}

#[test]
fn the_draft_needs_its_date() {
    let one = only(&Builder::release("draft"));
    assert_eq!(
        one.message,
        "release `draft` is not a version of the protocol"
    );
    let hint = one.hint.unwrap();
    assert!(hint.contains("version: \"2026-08-22\""), "{hint}");

    let undated = Builder::release("draft").version("draft");
    assert_eq!(only(&undated).hint.unwrap(), hint);

    let source = Builder::release("draft")
        .version("2026-08-22")
        .operations(["get_order"])
        .source()
        .unwrap();
    assert!(source.contains("Release::generated(\n        \"2026-08-22\","));
    assert!(!source.contains("\"draft\""));
}

#[test]
fn a_release_says_which_documents_it_has() {
    let one = only(&document("2026-04-08", "permalink"));
    assert_eq!(
        one.message,
        "`permalink` is not a document of release `2026-04-08`"
    );
    assert_eq!(one.hint.as_deref(), Some("it has `rest`, `tokenization`"));

    let one = only(&document("draft", "mcp").version("2026-08-22"));
    assert_eq!(
        one.hint.as_deref(),
        Some("it has `rest`, `tokenization`, `permalink`")
    );

    let source = document("draft", "permalink")
        .version("2026-08-22")
        .source()
        .unwrap();
    assert!(source.contains("fn resolve_permalink_with_items("));
}
