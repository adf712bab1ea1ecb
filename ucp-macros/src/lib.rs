//! `include_ucp!`: a typed UCP client, generated where it is written.
//!
//! Applications take it from `ucp_runtime::include_ucp`, so that they need one dependency.

use proc_macro::TokenStream;
use quote::quote;
use std::path::{Path, PathBuf};
use ucp_codegen::{Contract, Options, Output, SpannedOptions, expand};

/// Generates the client of a contract, and its types, where it stands.
///
/// ```ignore
/// ucp_runtime::include_ucp! {
///     release: "2026-04-08",                  // or contract: "path/to/rest.openapi.json"
///     extensions: [fulfillment, discount],    // or files: "acme/loyalty.json"
///     expose: ["Accept-Language"],            // becomes an input of the calls that declare it
/// }
/// ```
///
/// | option | what it takes |
/// |---|---|
/// | `release` | a release that is shipped with the crates, by its date; or `draft` |
/// | `contract` | an OpenAPI document, JSON or YAML, relative to the package's folder or else to this file |
/// | `version` | the release that a `contract` belongs to, where no folder above it is named so; and the date of the `draft` |
/// | `document` | `rest` (the default), `tokenization` or `permalink`, of a shipped release |
/// | `extensions` | names (`discount`, `"dev.ucp.shopping.discount"`) or files |
/// | `operations` | what to generate, by `operationId` or by the first step of the path; all without it |
/// | `managed` | headers that are the runtime's work, besides those it knows |
/// | `expose` | managed headers that become inputs |
/// | `derive` | derives that every type gets besides its own |
/// | `tools` | `true` for the operations as tools for a model: `TOOLS`, and `Client::tools` |
/// | `module` | a module to put everything into; without it, a type of your own beside the call hides the generated one of its name, which stays reachable in its part (`order::Order`) |
///
/// A mistake in an option or in the contract is a compile error at that option. The files that were
/// read are tracked: an edit of the contract builds the crate again.
#[proc_macro]
pub fn include_ucp(input: TokenStream) -> TokenStream {
    let options = match SpannedOptions::parse(input.into()) {
        Ok(options) => options,
        Err(error) => return error.into_compile_error().into(),
    };
    match expand(&options.options, &base(&options.options)) {
        Ok(Output { tokens, files, .. }) => {
            let files = files.iter().map(|path| absolute(path));
            quote! {
                #tokens
                #(const _: &[u8] = include_bytes!(#files);)*
            }
            .into()
        }
        Err(diagnostics) => {
            let errors = diagnostics
                .iter()
                .map(|diagnostic| options.error(diagnostic).into_compile_error());
            quote! { #(#errors)* }.into()
        }
    }
}

/// What relative paths are relative to: the folder of the package, as in a build script, or, where
/// the contract is not there, the folder of the file that the call stands in, as for `include!`.
fn base(options: &Options) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "Cargo tells macros by the environment"
    )]
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    let beside = || {
        proc_macro::Span::call_site()
            .local_file()?
            .parent()
            .map(Path::to_path_buf)
    };
    let extension = || {
        options
            .extensions
            .iter()
            .find(|name| name.contains('/') || name.contains(".json") || name.contains(".yaml"))
    };
    let named = match &options.contract {
        Contract::File(path) => Some(path.as_path()),
        _ => extension().map(Path::new),
    };
    match named {
        Some(path) if !package.join(path).exists() => beside().unwrap_or(package),
        _ => package,
    }
}

/// `include_bytes!` is relative to the file it stands in, which may be anywhere.
fn absolute(path: &Path) -> String {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .to_string_lossy()
        .into_owned()
}
