//! `cargo xtask expand`: what a macro call generates, for reading.

use std::path::Path;
use ucp_codegen::{Builder, SpannedOptions};

/// Prints the formatted source for options written as in `include_ucp! { … }`. Relative paths are
/// relative to the working directory.
pub(crate) fn run(args: &[String]) -> crate::Chore {
    let [text] = args else {
        return Err(
            "usage: cargo xtask expand 'release: \"2026-04-08\", extensions: [discount]'".into(),
        );
    };
    let tokens: proc_macro2::TokenStream = text
        .parse()
        .map_err(|error| format!("not Rust tokens: {error}"))?;
    let options = SpannedOptions::parse(tokens)?.options;
    print!(
        "{}",
        Builder::with_options(options)
            .base(Path::new(""))
            .source()?
    );
    Ok(())
}
