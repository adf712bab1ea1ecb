//! Stage `render`: the model as tokens. One function a construct; nothing is decided here.

mod client;
mod rules;
mod types;

use crate::model::{Bound, Capability, Item, Model, Presence, Ty};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use types::Derive;

/// The module of each type.
type Home<'m> = BTreeMap<&'m str, &'m str>;

/// The whole of the generated code.
pub(crate) fn render(model: &Model, derives: &[String], module: Option<&str>) -> TokenStream {
    let derives = derives.iter().filter_map(|path| Derive::parse(path));
    let context = Context {
        derives: derives.collect(),
        docs: RefCell::default(),
    };
    let home: Home<'_> = model
        .modules
        .iter()
        .flat_map(|(module, items)| items.iter().map(move |item| (item.name(), module.as_str())))
        .collect();
    // Naming a deprecated type in another is not using it.
    let deprecated = model
        .modules
        .values()
        .flatten()
        .any(|item| matches!(item, Item::Struct(item) if item.deprecated.is_some()));
    let allow = deprecated.then(|| quote! { #[allow(deprecated)] });
    let modules = model.modules.iter().map(|(name, items)| {
        let module = types_module(name, items, &home, &context);
        quote! { #allow #module }
    });
    let names = model.modules.keys().map(|name| ident(name));
    let client = client::render(model, &home, allow.as_ref());
    let docs = doc(&model.docs);
    let release = release(model);
    let body = quote! {
        #release

        #client
        #(pub use self::#names::*;)*
        #(#modules)*
    };
    match module {
        Some(name) => {
            let name = ident(name);
            quote! { #docs pub mod #name { #body } }
        }
        None => body,
    }
}

/// What the client speaks, as the runtime negotiates it.
fn release(model: &Model) -> TokenStream {
    let covered = model.capabilities.iter().map(|of| {
        let Capability {
            name,
            version,
            extends,
            requires,
        } = of;
        let extends = (!extends.is_empty()).then(|| quote! { .extends(&[#(#extends),*]) });
        let bounds = requires.iter().map(
            |Bound {
                 capability,
                 min,
                 max,
             }| {
                let max = match max {
                    Some(max) => quote! { Some(#max) },
                    None => quote! { None },
                };
                match capability {
                    Some(name) => {
                        quote! { Bound::capability(#name, #min, #max) }
                    }
                    None => quote! { Bound::protocol(#min, #max) },
                }
            },
        );
        let requires = (!requires.is_empty()).then(|| quote! { .requires(&[#(#bounds),*]) });
        quote! { Covered::new(#name, #version) #extends #requires }
    });
    let (version, service) = (&model.release, &model.service);
    let has_bounds = model.capabilities.iter().any(|of| !of.requires.is_empty());
    let imports = match (model.capabilities.is_empty(), has_bounds) {
        (true, _) => None,
        (false, false) => Some(quote! { use ::ucp_runtime::negotiation::Covered; }),
        (false, true) => Some(quote! { use ::ucp_runtime::negotiation::{Bound, Covered}; }),
    };
    quote! {
        /// What this code speaks, to give to the agent: the release of the contract, and the
        /// capabilities and extensions that the types cover.
        pub const RELEASE: ::ucp_runtime::Release = {
            #imports
            ::ucp_runtime::Release::generated(#version, #service, &[#(#covered),*])
        };
    }
}

fn types_module(name: &str, items: &[Item], home: &Home<'_>, context: &Context) -> TokenStream {
    let mut used: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut has_map = false;
    let received = items.iter().filter_map(|item| match item {
        Item::Struct(item) => item.update_of.as_deref(),
        _ => None,
    });
    for received in received {
        if let Some(module) = home.get(received).filter(|module| **module != name) {
            used.entry(module).or_default().insert(received);
        }
    }
    for ty in items.iter().flat_map(types_of) {
        walk(ty, &mut |ty| match ty {
            Ty::Named(named) => {
                if let Some(module) = home.get(named.as_str()).filter(|module| **module != name) {
                    used.entry(module).or_default().insert(named);
                }
            }
            Ty::Map(_) => has_map = true,
            _ => {}
        });
    }
    let imports = used.iter().map(|(module, names)| {
        let (module, names) = (ident(module), names.iter().map(|name| ident(name)));
        quote! { use super::#module::{#(#names),*}; }
    });
    let map = has_map.then(|| quote! { use std::collections::BTreeMap; });
    let check = items
        .iter()
        .any(has_rules)
        .then(|| quote! { use ::ucp_runtime::wire::Check; });
    let docs = doc(match name {
        "common" => "Types that several parts of the contract use.".to_owned(),
        _ => format!(
            "Types of the contract's `{}` part.",
            name.trim_start_matches("r#")
        ),
    });
    let unions: Vec<Ident> = items
        .iter()
        .filter(|item| matches!(item, Item::Union(_)))
        .map(|item| ident(item.name()))
        .collect();
    let unions = (!unions.is_empty()).then(|| quote! { ::ucp_runtime::impl_union!(#(#unions),*); });
    let bodies = items
        .iter()
        .map(|item| Lazy(move |tokens: &mut TokenStream| types::render(item, context, tokens)));
    let name = ident(name);
    quote! {
        #docs
        pub mod #name {
            #(#imports)*
            #map
            use ::ucp_runtime::wire;
            #check

            #(#bodies)*
            #unions
        }
    }
}

fn has_rules(item: &Item) -> bool {
    match item {
        Item::Struct(item) => !item.rules.is_empty(),
        Item::Union(item) => !item.rules.is_empty(),
        Item::Vocabulary(_) => false,
    }
}

/// The types that an item mentions.
fn types_of(item: &Item) -> Vec<&Ty> {
    match item {
        Item::Struct(item) => item
            .fields
            .iter()
            .filter(|field| !matches!(field.presence, Presence::Constant(_)))
            .map(|field| &field.ty)
            .collect(),
        Item::Vocabulary(_) => Vec::new(),
        Item::Union(item) => item.arms.iter().map(|arm| &arm.ty).collect(),
    }
}

fn walk<'t>(ty: &'t Ty, visit: &mut impl FnMut(&'t Ty)) {
    visit(ty);
    match ty {
        Ty::List(inner)
        | Ty::Map(inner)
        | Ty::Nullable(inner)
        | Ty::OneOrMany(inner)
        | Ty::Boxed(inner) => walk(inner, visit),
        _ => {}
    }
}

/// An identifier; the model made sure that it is one.
fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// What all types are written with.
struct Context {
    derives: Vec<Derive>,
    /// Doc comments by their text: the members of several views say the same.
    docs: RefCell<FxHashMap<String, TokenStream>>,
}

impl Context {
    /// [`doc`], made once a text.
    fn doc(&self, text: &str) -> TokenStream {
        if let Some(known) = self.docs.borrow().get(text) {
            return known.clone();
        }
        let made = doc(text).into_token_stream();
        self.docs.borrow_mut().insert(text.to_owned(), made.clone());
        made
    }
}

/// Tokens that are written where they are interpolated, rather than first into a stream of their own
/// that is then copied.
struct Lazy<F>(F);

impl<F: Fn(&mut TokenStream)> ToTokens for Lazy<F> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        (self.0)(tokens);
    }
}

/// A doc comment, a line an attribute, as `///` would write it.
fn doc(text: impl AsRef<str>) -> impl ToTokens {
    Lazy(move |tokens: &mut TokenStream| {
        let mut line = |line: &str| tokens.extend(quote! { #[doc = #line] });
        for paragraph in text.as_ref().lines() {
            let lines = crate::model::wrap(paragraph);
            if lines.is_empty() {
                line("");
            }
            lines.iter().for_each(|text| line(text));
        }
    })
}

/// A type as it is written in a field.
fn ty(of: &Ty) -> impl ToTokens {
    Lazy(move |tokens: &mut TokenStream| write_ty(of, tokens))
}

fn write_ty(of: &Ty, tokens: &mut TokenStream) {
    tokens.extend(match of {
        Ty::Any => quote! { wire::Value },
        Ty::Boolean => quote! { bool },
        Ty::Integer | Ty::SafeInteger => quote! { i64 },
        Ty::Number => quote! { f64 },
        Ty::Text => quote! { String },
        Ty::FreeForm => quote! { wire::Map },
        Ty::List(inner) => {
            let inner = ty(inner);
            quote! { Vec<#inner> }
        }
        Ty::Map(inner) => {
            let inner = ty(inner);
            quote! { BTreeMap<String, #inner> }
        }
        Ty::Nullable(inner) => {
            let inner = ty(inner);
            quote! { Option<#inner> }
        }
        Ty::OneOrMany(inner) => {
            let inner = ty(inner);
            quote! { wire::OneOrMany<#inner> }
        }
        Ty::Boxed(inner) => {
            let inner = ty(inner);
            quote! { Box<#inner> }
        }
        Ty::Named(name) => ident(name).into_token_stream(),
    });
}
