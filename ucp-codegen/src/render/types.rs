//! Structs, vocabularies and unions.

use super::rules::rules;
use super::{doc, ident, ty};
use crate::model::{Field, Item, Presence, Struct, Ty, Union, Vocabulary};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

pub(super) fn render(item: &Item, derives: &[String]) -> TokenStream {
    match item {
        Item::Struct(item) => structure(item, derives),
        Item::Vocabulary(item) => vocabulary(item, derives),
        Item::Union(item) => union(item, derives),
    }
}

/// The derives of a type: its own, then what the options ask for where the type allows it.
fn derive(own: &[&str], more: &[String], total: bool) -> TokenStream {
    let last = |path: &str| path.rsplit("::").next().unwrap_or(path).trim().to_owned();
    // Every type has these already, where not by derive then by the runtime's macros.
    let has =
        |path: &str| own.contains(&path) || matches!(path, "Debug" | "Serialize" | "Deserialize");
    let more = more
        .iter()
        .filter(|path| !has(&last(path)))
        .filter(|path| total || !matches!(last(path).as_str(), "Eq" | "Hash"))
        .cloned();
    let paths = own
        .iter()
        .map(ToString::to_string)
        .chain(more)
        .filter_map(|path| syn::parse_str::<syn::Path>(&path).ok());
    quote! { #[derive(#(#paths),*)] }
}

fn deprecated(reason: Option<&String>) -> Option<TokenStream> {
    reason.map(|reason| {
        if reason.is_empty() {
            quote! { #[deprecated] }
        } else {
            quote! { #[deprecated(note = #reason)] }
        }
    })
}

fn structure(item: &Struct, derives: &[String]) -> TokenStream {
    let name = ident(&item.name);
    let docs = doc(&item.docs);
    let mut own = vec!["Clone", "PartialEq"];
    if item.total {
        own.push("Eq");
    }
    if item.sent && item.empty {
        own.push("Default");
    }
    let derive = derive(&own, derives, item.total);
    let attribute = deprecated(item.deprecated.as_ref());
    let fields = item.fields.iter().filter_map(field);
    let facts = facts(item, &name);
    let build = item.sent.then(|| constructor(item, &name));
    let complex = item
        .fields
        .iter()
        .any(|field| depth(&field.ty) > 4)
        .then(|| quote! { #[allow(clippy::type_complexity)] });
    let build = build.map(|build| quote! { #complex #build });
    let object = object(item, &name);
    quote! {
        #docs
        #attribute
        #derive
        #complex
        #[non_exhaustive]
        pub struct #name {
            #(#fields)*
            /// Members that the contract does not declare, as they arrived.
            pub extra: wire::Map,
        }
        #build
        #facts
        #object
    }
}

/// What `object!` takes from the type itself.
fn facts(item: &Struct, name: &Ident) -> Option<TokenStream> {
    let secrets = (!item.secrets.is_empty()).then(|| {
        let secrets = &item.secrets;
        quote! { const SECRETS: &'static [&'static str] = &[#(#secrets),*]; }
    });
    let rules = rules(&item.rules);
    (secrets.is_some() || rules.is_some()).then(|| quote! { impl #name { #secrets #rules } })
}

/// The table from which the runtime makes reading and writing: the members in order, those of a kind
/// that follow each other in one group.
fn object(item: &Struct, name: &Ident) -> TokenStream {
    let kind = |field: &Field| match (&field.presence, field.ty == Ty::SafeInteger) {
        (Presence::Constant(_), _) => "constant",
        (Presence::Required, false) => "required",
        (Presence::Required, true) => "safe",
        (Presence::Optional, false) => "optional",
        (Presence::Optional, true) => "optional_safe",
        (Presence::Nullable, _) => "nullable",
    };
    let constants = item.fields.iter().filter_map(|field| match &field.presence {
        Presence::Constant(value) => {
            let wire = &field.wire;
            Some(quote! { #wire = #value })
        }
        _ => None,
    });
    let mut groups = vec![("constant", constants.collect::<Vec<_>>())];
    for field in &item.fields {
        let kind = kind(field);
        if kind == "constant" {
            continue;
        }
        let member = member(field);
        match groups.last_mut() {
            Some((last, members)) if *last == kind => members.push(member),
            _ => groups.push((kind, vec![member])),
        }
    }
    let groups = groups
        .iter()
        .filter(|(_, members)| !members.is_empty())
        .map(|(kind, members)| {
            let kind = ident(kind);
            quote! { , #kind(#(#members),*) }
        });
    let facts = match (item.secrets.is_empty(), item.rules.is_empty()) {
        (true, true) => None,
        (true, false) => Some(quote! { ; RULES }),
        (false, true) => Some(quote! { ; SECRETS }),
        (false, false) => Some(quote! { ; SECRETS, RULES }),
    };
    quote! { wire::object!(#name #(#groups)* #facts); }
}

/// A field, with its name on the wire where that differs.
fn member(field: &Field) -> TokenStream {
    let name = ident(&field.ident);
    if field.ident == field.wire {
        return quote! { #name };
    }
    let wire = &field.wire;
    quote! { #name = #wire }
}

/// How many lists, maps and the like lie in each other; clippy finds many of them complex.
fn depth(of: &Ty) -> usize {
    let mut depth = 0;
    super::walk(of, &mut |_| depth += 1);
    depth
}

fn field(field: &Field) -> Option<TokenStream> {
    let name = ident(&field.ident);
    let of = ty(&field.ty);
    let of = match field.presence {
        Presence::Required => of,
        Presence::Optional => quote! { Option<#of> },
        Presence::Nullable => quote! { Option<Option<#of>> },
        Presence::Constant(_) => return None,
    };
    let docs = doc(&field.docs);
    let attribute = deprecated(field.deprecated.as_ref());
    Some(quote! { #docs #attribute pub #name: #of, })
}

/// `new` with what is required, and a setter for each of the rest.
fn constructor(item: &Struct, name: &Ident) -> TokenStream {
    let required: Vec<&Field> = item
        .fields
        .iter()
        .filter(|field| field.presence == Presence::Required)
        .collect();
    let parameters = required.iter().map(|field| {
        let (name, of) = (ident(&field.ident), accepted(&field.ty));
        quote! { #name: #of }
    });
    let values = item.fields.iter().filter_map(|field| {
        let name = ident(&field.ident);
        match field.presence {
            Presence::Required => {
                let value = convert(&field.ty, &name);
                Some(if name == value.to_string().as_str() {
                    quote! { #name }
                } else {
                    quote! { #name: #value }
                })
            }
            Presence::Optional | Presence::Nullable => Some(quote! { #name: None }),
            Presence::Constant(_) => None,
        }
    });
    let table = setters(item, name);
    let setters = item
        .fields
        .iter()
        .filter(|field| setter_group(field).is_none())
        .filter_map(setter);
    // A setter of a contract's `add` is not what clippy takes it for.
    let operators = [
        "add", "sub", "mul", "div", "rem", "shl", "shr", "bitand", "bitor", "bitxor",
    ];
    let operator = item
        .fields
        .iter()
        .any(|field| operators.contains(&field.ident.as_str()))
        .then(|| quote! { #[allow(clippy::should_implement_trait)] });
    let allow = item
        .fields
        .iter()
        .any(|field| field.deprecated.is_some())
        .then(|| quote! { #[allow(deprecated)] });
    // Most take one or two; where a contract requires more, positions are still the shortest way.
    let many = (required.len() > 7).then(|| quote! { #[allow(clippy::too_many_arguments)] });
    let conversions = from_text(name, &required);
    let update = item.update_of.as_ref().map(|received| {
        let of = ident(received);
        quote! {
            /// Starts an update from what was received. An update replaces everything: what it
            /// leaves out is erased. So this has all that a request may say, and nothing that only
            /// the merchant says.
            ///
            /// # Errors
            ///
            /// When the merchant left out what an update requires.
            pub fn update_from(received: &#of) -> Result<Self, wire::DecodeError> {
                wire::project(received)
            }
        }
    });
    let docs = doc(&if required.is_empty() {
        "With nothing set.".to_owned()
    } else {
        "With what the contract requires; the rest is unset.".to_owned()
    });
    quote! {
        #allow
        #operator
        impl #name {
            #docs
            #many
            #[must_use]
            pub fn new(#(#parameters),*) -> Self {
                Self { #(#values,)* extra: wire::Map::new() }
            }
            #(#setters)*
            #update
        }
        #table
        #conversions
    }
}

/// What `setters!` groups a field by: its type, or that of its items. Nothing where the setter is
/// written out.
fn setter_group(field: &Field) -> Option<(bool, &str)> {
    if field.presence != Presence::Optional || field.deprecated.is_some() {
        return None;
    }
    let (list, of) = match &field.ty {
        Ty::List(inner) => (true, &**inner),
        other => (false, other),
    };
    let name = match of {
        Ty::Text => "String",
        Ty::Boolean => "bool",
        Ty::Integer | Ty::SafeInteger => "i64",
        Ty::Number => "f64",
        Ty::Named(name) => name,
        _ => return None,
    };
    Some((list, name))
}

/// The table from which the runtime makes the usual setters.
fn setters(item: &Struct, name: &Ident) -> TokenStream {
    let mut groups: Vec<((bool, &str), Vec<TokenStream>)> = Vec::new();
    for field in &item.fields {
        let Some(of) = setter_group(field) else {
            continue;
        };
        match groups.last_mut() {
            Some((last, members)) if *last == of => members.push(member(field)),
            _ => groups.push((of, vec![member(field)])),
        }
    }
    let groups = groups.iter().map(|((list, of), members)| {
        let of = ident(of);
        if *list {
            quote! { , list(#of(#(#members),*)) }
        } else {
            quote! { , #of(#(#members),*) }
        }
    });
    quote! { wire::setters!(#name #(#groups)*); }
}

fn setter(field: &Field) -> Option<TokenStream> {
    let (name, of) = (ident(&field.ident), accepted(&field.ty));
    let value = convert(&field.ty, &name);
    let attribute = deprecated(field.deprecated.as_ref());
    let docs = doc(&format!("Sets `{}`.", field.wire));
    let set = |value: TokenStream| {
        quote! {
            #docs
            #attribute
            #[must_use]
            pub fn #name(mut self, #name: #of) -> Self {
                self.#name = Some(#value);
                self
            }
        }
    };
    match field.presence {
        Presence::Optional => Some(set(value)),
        Presence::Nullable => {
            let set = set(quote! { Some(#value) });
            let null = ident(&format!("null_{}", field.ident.trim_start_matches("r#")));
            let docs = doc(&format!(
                "Sets `{}` to `null`, which clears it.",
                field.wire
            ));
            Some(quote! {
                #set
                #docs
                #attribute
                #[must_use]
                pub fn #null(mut self) -> Self {
                    self.#name = Some(None);
                    self
                }
            })
        }
        Presence::Required | Presence::Constant(_) => None,
    }
}

/// What a constructor or setter takes for a type.
fn accepted(of: &Ty) -> TokenStream {
    match of {
        Ty::Text => quote! { impl Into<String> },
        Ty::List(inner) => match &**inner {
            Ty::Text => quote! { impl IntoIterator<Item = impl Into<String>> },
            // A type, not `impl Into` of it: an empty list could not say which.
            inner => {
                let inner = ty(inner);
                quote! { impl IntoIterator<Item = #inner> }
            }
        },
        Ty::Boxed(inner) => accepted(inner),
        Ty::Named(_) => {
            let of = ty(of);
            quote! { impl Into<#of> }
        }
        other => ty(other),
    }
}

fn convert(of: &Ty, name: &Ident) -> TokenStream {
    match of {
        Ty::Text | Ty::Named(_) => quote! { #name.into() },
        Ty::List(inner) if **inner == Ty::Text => {
            quote! { #name.into_iter().map(Into::into).collect() }
        }
        Ty::List(_) => quote! { #name.into_iter().collect() },
        Ty::Boxed(inner) => {
            let inner = convert(inner, name);
            quote! { Box::new(#inner) }
        }
        _ => quote! { #name },
    }
}

/// Where one string is all that a type requires, the string may stand for it.
fn from_text(name: &Ident, required: &[&Field]) -> Option<TokenStream> {
    let [only] = required else { return None };
    (only.ty == Ty::Text).then(|| {
        quote! {
            impl From<&str> for #name {
                fn from(only: &str) -> Self {
                    Self::new(only)
                }
            }

            impl From<String> for #name {
                fn from(only: String) -> Self {
                    Self::new(only)
                }
            }
        }
    })
}

fn vocabulary(item: &Vocabulary, derives: &[String]) -> TokenStream {
    let name = ident(&item.name);
    let docs = doc(&item.docs);
    let derive = derive(
        &["Clone", "Debug", "PartialEq", "Eq", "Hash"],
        derives,
        true,
    );
    let variants: Vec<Ident> = item.arms.iter().map(|(variant, _)| ident(variant)).collect();
    let values: Vec<&String> = item.arms.iter().map(|(_, value)| value).collect();
    let arm_docs = values.iter().map(|value| doc(&format!("`{value}`.")));
    quote! {
        #docs
        #derive
        #[non_exhaustive]
        pub enum #name {
            #(#arm_docs #variants,)*
            /// A value that this release does not list, as it arrived.
            Unknown(wire::UnknownValue),
        }
        wire::vocabulary!(#name #(, #variants = #values)*);
    }
}

fn union(item: &Union, derives: &[String]) -> TokenStream {
    let name = ident(&item.name);
    let text = &item.name;
    let docs = doc(&item.docs);
    let own: &[&str] = if item.total {
        &["Clone", "Debug", "PartialEq", "Eq"]
    } else {
        &["Clone", "Debug", "PartialEq"]
    };
    let derive = derive(own, derives, item.total);
    let rules = rules(&item.rules);
    let variants: Vec<Ident> = item.arms.iter().map(|arm| ident(&arm.variant)).collect();
    let types: Vec<TokenStream> = item.arms.iter().map(|arm| ty(&arm.ty)).collect();
    let arm_docs = item.arms.iter().map(|arm| doc(&arm.docs));
    let select = match &item.tag {
        Some(tag) => {
            let tags = item.arms.iter().map(|arm| &arm.tag);
            let tags = tags.flatten();
            quote! {
                match wire::tag(value, #tag)? {
                    #(#tags => Some(|value, reader| wire::Read::read(value, reader).map(Self::#variants)),)*
                    _ => None,
                }
            }
        }
        None => {
            let tests = item.arms.iter().zip(&variants).map(|(arm, variant)| {
                let read = quote! { Some(|value, reader| wire::Read::read(value, reader).map(Self::#variant)) };
                let members = &arm.members;
                if members.is_empty() { read } else { quote! { if #(wire::has(value, #members))&&* { return #read; } } }
            });
            let otherwise = item
                .arms
                .iter()
                .all(|arm| !arm.members.is_empty())
                .then(|| quote! { None });
            quote! { #(#tests)* #otherwise }
        }
    };
    // A single arm that nothing distinguishes is not looked at.
    let input = if item.tag.is_none() && item.arms.iter().all(|arm| arm.members.is_empty()) {
        quote! { _ }
    } else {
        quote! { value }
    };
    let conversions = item
        .arms
        .iter()
        .zip(&variants)
        .filter_map(|(arm, variant)| {
            let (of, value) = match &arm.ty {
                Ty::Boxed(inner) => (ty(inner), quote! { Box::new(arm) }),
                Ty::Named(_) => (ty(&arm.ty), quote! { arm }),
                _ => return None,
            };
            Some(quote! {
                impl From<#of> for #name {
                    fn from(arm: #of) -> Self {
                        Self::#variant(#value)
                    }
                }
            })
        });
    quote! {
        #docs
        #derive
        #[non_exhaustive]
        pub enum #name {
            #(#arm_docs #variants(#types),)*
            /// An object that fits none of these, as it arrived.
            Unknown(wire::UnknownObject),
        }

        impl wire::Union for #name {
            const NAME: &'static str = #text;
            #rules

            fn select(#input: &wire::Value) -> Option<wire::ReadArm<Self>> {
                #select
            }

            fn unknown(object: wire::UnknownObject) -> Self {
                Self::Unknown(object)
            }

            fn write<S: ::ucp_runtime::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    #(Self::#variants(arm) => ::ucp_runtime::serde::Serialize::serialize(arm, serializer),)*
                    Self::Unknown(object) => ::ucp_runtime::serde::Serialize::serialize(object, serializer),
                }
            }
        }
        #(#conversions)*
    }
}
