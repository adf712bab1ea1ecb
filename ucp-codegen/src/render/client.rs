//! The client, the types that stand for its operations, and the setters of exposed inputs.

use super::{Home, doc, ident, ty};
use crate::model::{Argument, Method, Model, Tool, Ty};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::collections::BTreeMap;

pub(super) fn render(model: &Model, home: &Home<'_>, allow: Option<&TokenStream>) -> TokenStream {
    let methods = model.methods.iter().map(|item| method(item, home));
    let endpoints = model.methods.iter().map(|item| endpoint(item, model, home));
    let setters = setters(model);
    let webhooks = model.webhooks.iter().map(|item| webhook(item, model, home));
    let (by_name, callables) = by_name(model, home);
    let (tools, list) = tools(model);
    let all = || model.methods.iter().chain(&model.webhooks);
    let used = [
        (!model.methods.is_empty(), "Endpoint"),
        (!model.webhooks.is_empty(), "Webhook"),
        (all().any(|item| !item.managed.is_empty()), "Header"),
        (true, "Operation"),
    ];
    let ruled = model.methods.iter().any(|item| item.ruled_body);
    let wire = ruled.then(|| quote! { use ::ucp_runtime::wire::{Check, Object}; });
    let has_inputs = model.methods.iter().any(|item| inputs(item).is_some());
    let inputs = has_inputs.then(|| quote! { use ::ucp_runtime::operation::{Input, Place}; });
    let imports = used
        .iter()
        .filter(|(used, _)| *used)
        .map(|(_, name)| ident(name));
    quote! {
        /// Calls a merchant's operations. Cheap to clone.
        ///
        /// Each method takes what its operation itself needs and returns a [`Call`](::ucp_runtime::Call):
        /// await it, or first give it a call id, a deadline or an idempotency key. The protocol's
        /// headers are the runtime's work.
        #[derive(Clone, Debug)]
        pub struct Client {
            merchant: ::ucp_runtime::Merchant,
        }

        #allow
        impl Client {
            /// A client of a merchant that an agent is connected to.
            #[must_use]
            pub fn new(merchant: &::ucp_runtime::Merchant) -> Self {
                Self { merchant: merchant.clone() }
            }

            /// The merchant.
            #[must_use]
            pub fn merchant(&self) -> &::ucp_runtime::Merchant {
                &self.merchant
            }

            #(#methods)*

            #by_name

            #tools
        }

        #callables

        #list

        #setters

        /// The operations as types, to name a [`Call`](::ucp_runtime::Call) by.
        #allow
        pub mod operations {
            #wire
            use ::ucp_runtime::{#(#imports,)* http::Method};
            #inputs

            #(#endpoints)*
            #(#webhooks)*
        }
    }
}

fn method(item: &Method, home: &Home<'_>) -> TokenStream {
    let name = ident(&item.ident);
    let marker = ident(&item.marker);
    let docs = doc(format!("{}\n\n`{} {}`", item.docs, item.verb, item.path));
    let deprecated = item.deprecated.then(|| quote! { #[deprecated] });
    let path_names: Vec<Ident> = item
        .path_parameters
        .iter()
        .map(|(name, _)| ident(name))
        .collect();
    let path_wires = item.path_parameters.iter().map(|(_, wire)| wire);
    let body = item
        .body
        .as_ref()
        .map(|body| outside(body, home, &TokenStream::new()));
    let body_parameter = body
        .as_ref()
        .map(|body| quote! { body: impl ::std::borrow::Borrow<#body>, });
    let body_call = body.as_ref().map(|_| quote! { .body(body.borrow()) });
    let required: Vec<&Argument> = item
        .arguments
        .iter()
        .filter(|argument| argument.required)
        .collect();
    let argument_names = required.iter().map(|argument| ident(&argument.ident));
    let argument_calls = required
        .iter()
        .map(|argument| set(argument, &ident(&argument.ident)));
    let (kind, hint) = if item.link {
        (
            quote! { ::ucp_runtime::Link },
            "a link is of use by its URL",
        )
    } else {
        (
            quote! { ::ucp_runtime::Call },
            "a call does nothing until it is awaited",
        )
    };
    // Clippy's limit, and the receiver counts.
    let count = 1 + path_names.len() + usize::from(body.is_some()) + required.len();
    let many = (count > 7).then(|| quote! { #[allow(clippy::too_many_arguments)] });
    quote! {
        #docs
        #deprecated
        #many
        #[must_use = #hint]
        pub fn #name(
            &self,
            #(#path_names: impl Into<String>,)*
            #body_parameter
            #(#argument_names: impl Into<String>,)*
        ) -> #kind<operations::#marker> {
            #kind::new(&self.merchant) #(.path(#path_wires, #path_names))* #body_call #(#argument_calls)*
        }
    }
}

/// The method that calls an operation by its name, and what it looks the operation up in.
fn by_name(model: &Model, home: &Home<'_>) -> (Option<TokenStream>, Option<TokenStream>) {
    let called: Vec<&Method> = model.methods.iter().filter(|item| !item.link).collect();
    if called.is_empty() {
        return (None, None);
    }
    let callables = called.iter().map(|item| callable(item, home));
    let method = quote! {
        /// Calls an operation by the contract's `operationId`, with its own inputs as JSON:
        /// parameters by their names, the body as `body`. The answer stays JSON. It is for tools and
        /// command lines; where the operation is known, its method is better.
        ///
        /// # Errors
        ///
        /// [`InputError`](::ucp_runtime::untyped::InputError) for an unknown operation, and for inputs
        /// that it does not take, with the place in the body.
        pub fn call(
            &self,
            operation: &str,
            inputs: ::ucp_runtime::wire::Map,
        ) -> Result<
            ::ucp_runtime::Call<::ucp_runtime::Untyped>,
            ::ucp_runtime::untyped::InputError,
        > {
            ::ucp_runtime::untyped::call(&self.merchant, OPERATIONS, operation, inputs)
        }
    };
    let callables = quote! {
        /// The operations as data, with the inputs that each takes: what [`Client::call`] calls.
        pub const OPERATIONS: &[::ucp_runtime::untyped::Callable] = {
            use ::ucp_runtime::untyped::Callable;
            use self::operations::*;
            &[#(#callables),*]
        };
    };
    (Some(method), Some(callables))
}

/// The method that offers the operations to a model, and what it offers.
fn tools(model: &Model) -> (Option<TokenStream>, Option<TokenStream>) {
    let tools = model.methods.iter().filter_map(|item| {
        let Tool {
            name,
            capability,
            description,
            schema,
        } = item.tool.as_ref()?;
        let id = &item.id;
        Some(quote! { Tool::new(#name, #id, #capability, #description, #schema) })
    });
    let tools: Vec<TokenStream> = tools.collect();
    if tools.is_empty() {
        return (None, None);
    }
    let method = quote! {
        /// The operations as tools for a model, once it is said what the application provides and
        /// who approves.
        #[must_use]
        pub fn tools(&self) -> ::ucp_runtime::tools::ToolsBuilder {
            ::ucp_runtime::tools::ToolsBuilder::new(&self.merchant, OPERATIONS, TOOLS)
        }
    };
    let list = quote! {
        /// The operations as a model is told of them: what [`Client::tools`] offers.
        pub const TOOLS: &[::ucp_runtime::tools::Tool] = {
            use ::ucp_runtime::tools::Tool;
            &[#(#tools),*]
        };
    };
    (Some(method), Some(list))
}

fn callable(item: &Method, home: &Home<'_>) -> TokenStream {
    let marker = ident(&item.marker);
    let body = item.body.iter().map(|body| {
        let body = outside(body, home, &quote! { self:: });
        quote! { .body::<#body>() }
    });
    quote! { Callable::of::<#marker>() #(#body)* }
}

/// The inputs of an operation's own, as data.
fn inputs(item: &Method) -> Option<TokenStream> {
    let input = |place: &str, name: &str, required| {
        let (place, kind) = (ident(place), if required { "required" } else { "optional" });
        let kind = ident(kind);
        quote! { Input::#kind(Place::#place, #name) }
    };
    let path = item.path_parameters.iter();
    let path = path.map(|(_, name)| input("Path", name, true));
    let arguments = item.arguments.iter().map(|argument| {
        let place = if argument.header { "Header" } else { "Query" };
        input(place, &argument.wire, argument.required)
    });
    let body = item.body.iter().map(|_| input("Body", "body", true));
    let inputs: Vec<TokenStream> = path.chain(arguments).chain(body).collect();
    (!inputs.is_empty()).then(|| quote! { const INPUTS: &'static [Input] = &[#(#inputs),*]; })
}

fn set(argument: &Argument, value: &Ident) -> TokenStream {
    let wire = &argument.wire;
    if argument.header {
        quote! { .exposed_header(#wire, #value) }
    } else {
        quote! { .query(#wire, #value) }
    }
}

fn endpoint(item: &Method, model: &Model, home: &Home<'_>) -> TokenStream {
    let (marker, operation) = (ident(&item.marker), operation(item, model));
    let up = quote! { super:: };
    let success = outside(&item.success, home, &up);
    let failure = outside(&item.failure, home, &up);
    let docs = doc(format!("`{}`: `{} {}`.", item.id, item.verb, item.path));
    let inputs = inputs(item);
    let rules = item.ruled_body.then(|| {
        let body = item.body.as_ref().map(|body| outside(body, home, &up));
        quote! { const RULES: &'static [Check] = <#body as Object>::RULES; }
    });
    // What the runtime does for an operation beyond sending it goes by the operation's name.
    let also = match item.id.as_str() {
        "complete_checkout" => &["ChangesCheckout", "CompletesCheckout"][..],
        "update_checkout" => &["ChangesCheckout"],
        "get_checkout" => &["ReadsCheckout"],
        "search_catalog" => &["Paged"],
        _ => &[],
    };
    let also = also.iter().map(|also| {
        let also = ident(also);
        quote! { impl ::ucp_runtime::operation::#also for #marker {} }
    });
    quote! {
        #docs
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct #marker;

        #(#also)*

        impl Endpoint for #marker {
            const OPERATION: &'static Operation = &#operation;
            #inputs
            #rules
            type Success = #success;
            type Failure = #failure;
        }
    }
}

fn webhook(item: &Method, model: &Model, home: &Home<'_>) -> TokenStream {
    let (marker, operation) = (ident(&item.marker), operation(item, model));
    let body = outside(&item.success, home, &quote! { super:: });
    let docs = doc(format!(
        "`{}`: the webhook `{}`.\n\n{}",
        item.id, item.path, item.docs
    ));
    quote! {
        #docs
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct #marker;

        impl Webhook for #marker {
            const OPERATION: &'static Operation = &#operation;
            type Body = #body;
        }
    }
}

fn operation(item: &Method, model: &Model) -> TokenStream {
    let release = &model.release;
    let (id, path, service, verb) = (&item.id, &item.path, &item.service, ident(&item.verb));
    let headers = item.managed.iter().map(|(name, required)| {
        let kind = ident(if *required { "required" } else { "optional" });
        quote! { Header::#kind(#name) }
    });
    let headers = quote! { &[#(#headers),*] };
    let changing = item.changes.then(|| {
        let generated = |id: &str| model.methods.iter().find(|method| method.id == id);
        let read = match &item.read {
            None => quote! { None },
            Some((id, path)) => match generated(id).map(|read| ident(&read.marker)) {
                Some(read) => quote! { Some(#read::OPERATION) },
                None => quote! {
                    Some(const {
                        &Operation::new(#release, #service, #id, Method::GET, #path, #headers)
                    })
                },
            },
        };
        quote! { .changing(#read) }
    });
    quote! { Operation::new(#release, #service, #id, Method::#verb, #path, #headers)#changing }
}

/// A type as it is written outside its module. It is named through its module, as an application may
/// have a type of that name where the macro stands; `up` leads to where the modules are.
fn outside(of: &Ty, home: &Home<'_>, up: &TokenStream) -> TokenStream {
    let inside = |inner: &Ty| outside(inner, home, up);
    match of {
        Ty::Any => quote! { ::ucp_runtime::wire::Value },
        Ty::FreeForm => quote! { ::ucp_runtime::wire::Map },
        Ty::List(inner) => {
            let inner = inside(inner);
            quote! { Vec<#inner> }
        }
        Ty::Map(inner) => {
            let inner = inside(inner);
            quote! { ::std::collections::BTreeMap<String, #inner> }
        }
        Ty::Nullable(inner) => {
            let inner = inside(inner);
            quote! { Option<#inner> }
        }
        Ty::OneOrMany(inner) => {
            let inner = inside(inner);
            quote! { ::ucp_runtime::wire::OneOrMany<#inner> }
        }
        Ty::Boxed(inner) => {
            let inner = inside(inner);
            quote! { Box<#inner> }
        }
        Ty::Named(name) => {
            let module = home.get(name.as_str()).map(|module| ident(module));
            let (module, name) = (module.into_iter(), ident(name));
            quote! { #up #(#module::)* #name }
        }
        Ty::Boolean | Ty::Integer | Ty::SafeInteger | Ty::Number | Ty::Text => {
            ty(of).into_token_stream()
        }
    }
}

/// For each input that may be left out, a trait that gives it to the calls that declare it.
fn setters(model: &Model) -> TokenStream {
    let mut by_name: BTreeMap<&str, (&Argument, Vec<TokenStream>)> = BTreeMap::new();
    for item in &model.methods {
        for argument in item.arguments.iter().filter(|argument| !argument.required) {
            by_name
                .entry(&argument.ident)
                .or_insert_with(|| (argument, Vec::new()))
                .1
                .push(target(item));
        }
    }
    let traits = by_name.into_iter().map(|(name, (argument, markers))| {
        let words = name.trim_start_matches("r#");
        let trait_name = ident(&format!(
            "With{}",
            heck::ToUpperCamelCase::to_upper_camel_case(words)
        ));
        let name = ident(name);
        let kind = if argument.header {
            "header"
        } else {
            "query parameter"
        };
        let trait_docs = doc(format!("What takes the {kind} `{}`.", argument.wire));
        let docs = doc(&argument.docs);
        let call = set(argument, &name);
        quote! {
            #trait_docs
            pub trait #trait_name: Sized {
                #docs
                #[must_use]
                fn #name(self, #name: impl Into<String>) -> Self;
            }
            #(impl #trait_name for #markers {
                fn #name(self, #name: impl Into<String>) -> Self {
                    self #call
                }
            })*
        }
    });
    quote! { #(#traits)* }
}

/// The type that a method returns.
fn target(item: &Method) -> TokenStream {
    let marker = ident(&item.marker);
    if item.link {
        quote! { ::ucp_runtime::Link<operations::#marker> }
    } else {
        quote! { ::ucp_runtime::Call<operations::#marker> }
    }
}
