//! The stages one by one, for the benchmarks. Not part of the API.

use crate::diagnostics::Diagnostics;
use crate::generate::{self, stage};
use crate::options::Options;
use crate::{model, render};
use proc_macro2::TokenStream;
use std::path::Path;

pub struct Loaded(generate::Loaded);
pub struct Chosen(generate::Chosen);
pub struct Typed(generate::Typed);
pub struct Model(model::Model);

/// Stage `source`.
pub fn load(options: &Options, base: &Path) -> Result<Loaded, Diagnostics> {
    stage(|diagnostics| generate::load(options, base, diagnostics).map(Loaded))
}

/// Stage `contract`.
pub fn contract(loaded: &mut Loaded, options: &Options) -> Result<Chosen, Diagnostics> {
    stage(|diagnostics| {
        Some(Chosen(generate::choose(
            &mut loaded.0,
            options,
            diagnostics,
        )))
    })
}

/// Stage `schema`.
pub fn schema(
    loaded: &mut Loaded,
    chosen: Chosen,
    options: &Options,
) -> Result<Typed, Diagnostics> {
    stage(|diagnostics| {
        Some(Typed(generate::types(
            &mut loaded.0,
            options,
            chosen.0,
            diagnostics,
        )))
    })
}

/// Stage `model`.
pub fn model(loaded: &Loaded, typed: &Typed) -> Model {
    Model(generate::model(&loaded.0, &typed.0))
}

/// Stage `render`.
pub fn render(model: &Model) -> TokenStream {
    render::render(&model.0, &[], None)
}

/// Stage `format`.
pub fn format(tokens: TokenStream) -> Result<String, syn::Error> {
    Ok(prettyplease::unparse(&syn::parse2(tokens)?))
}
