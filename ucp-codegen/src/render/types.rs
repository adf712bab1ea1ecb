//! Structs, vocabularies and unions.

use super::rules::rules;
use super::{Context, Lazy, doc, ident, ty};
use crate::model::{Field, Item, Presence, Struct, Ty, Union, Vocabulary};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};

pub(super) fn render(item: &Item, context: &Context, tokens: &mut TokenStream) {
    match item {
        Item::Struct(item) => structure(item, context, tokens),
        Item::Vocabulary(item) => vocabulary(item, context, tokens),
        Item::Union(item) => union(item, context, tokens),
    }
}

/// A derive that the options ask for.
pub(super) struct Derive {
    path: TokenStream,
    /// The last step of the path.
    name: String,
}

impl Derive {
    /// Nothing where it is no path; the options were checked.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let path: syn::Path = syn::parse_str(text).ok()?;
        let name = path.segments.last()?.ident.to_string();
        Some(Self {
            path: path.into_token_stream(),
            name,
        })
    }
}

/// The derives of a type: its own, then what the options ask for where the type allows it.
fn derive(own: &[&str], more: &[Derive], total: bool) -> TokenStream {
    // Every type has these already, where not by derive then by the runtime's macros.
    let has =
        |name: &str| own.contains(&name) || matches!(name, "Debug" | "Serialize" | "Deserialize");
    let more = more
        .iter()
        .filter(|derive| !has(&derive.name))
        .filter(|derive| total || !matches!(derive.name.as_str(), "Eq" | "Hash"))
        .map(|derive| &derive.path);
    let own = own.iter().map(|name| ident(name));
    quote! { #[derive(#(#own),* #(, #more)*)] }
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

fn structure(item: &Struct, context: &Context, tokens: &mut TokenStream) {
    let name = ident(&item.name);
    let docs = context.doc(&item.docs);
    let mut own = vec!["Clone", "PartialEq"];
    if item.total {
        own.push("Eq");
    }
    if item.sent && item.empty {
        own.push("Default");
    }
    let derive = derive(&own, &context.derives, item.total);
    let attribute = deprecated(item.deprecated.as_ref());
    let fields = item
        .fields
        .iter()
        .map(|of| Lazy(move |tokens: &mut TokenStream| field(of, context, tokens)));
    let complex = item
        .fields
        .iter()
        .any(|field| depth(&field.ty) > 4)
        .then(|| quote! { #[allow(clippy::type_complexity)] });
    let rest = context.doc("Members that the contract does not declare, as they arrived.");
    tokens.extend(quote! {
        #docs
        #attribute
        #derive
        #complex
        #[non_exhaustive]
        pub struct #name {
            #(#fields)*
            #rest
            pub extra: wire::Map,
        }
    });
    if item.sent {
        tokens.extend(complex);
        constructor(item, &name, context, tokens);
    }
    facts(item, &name, tokens);
    object(item, &name, tokens);
}

/// What `object!` takes from the type itself.
fn facts(item: &Struct, name: &Ident, tokens: &mut TokenStream) {
    if item.secrets.is_empty() && item.rules.is_empty() {
        return;
    }
    let secrets = (!item.secrets.is_empty()).then(|| {
        let secrets = &item.secrets;
        quote! { const SECRETS: &'static [&'static str] = &[#(#secrets),*]; }
    });
    let rules = rules(&item.rules);
    tokens.extend(quote! { impl #name { #secrets #rules } });
}

/// The table from which the runtime makes reading and writing: the members in order, those of a kind
/// that follow each other in one group.
fn object(item: &Struct, name: &Ident, tokens: &mut TokenStream) {
    let constants: Vec<_> = item
        .fields
        .iter()
        .filter_map(|field| match &field.presence {
            Presence::Constant(value) => Some((&field.wire, value)),
            _ => None,
        })
        .collect();
    let kind = |field: &Field| match (&field.presence, field.ty == Ty::SafeInteger) {
        (Presence::Constant(_), _) => None,
        (Presence::Required, false) => Some("required"),
        (Presence::Required, true) => Some("safe"),
        (Presence::Optional, false) => Some("optional"),
        (Presence::Optional, true) => Some("optional_safe"),
        (Presence::Nullable, _) => Some("nullable"),
    };
    let groups = groups(&item.fields, kind);
    let groups = groups.iter().map(|(kind, members)| {
        let kind = ident(kind);
        quote! { , #kind(#members) }
    });
    let constants = (!constants.is_empty()).then(|| {
        let (wires, values) = constants.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        quote! { , constant(#(#wires = #values),*) }
    });
    let facts = match (item.secrets.is_empty(), item.rules.is_empty()) {
        (true, true) => None,
        (true, false) => Some(quote! { ; RULES }),
        (false, true) => Some(quote! { ; SECRETS }),
        (false, false) => Some(quote! { ; SECRETS, RULES }),
    };
    tokens.extend(quote! { wire::object!(#name #constants #(#groups)* #facts); });
}

/// The fields that have a kind, those of one kind that follow each other together.
fn groups<'f, K: PartialEq>(
    fields: &'f [Field],
    kind: impl Fn(&'f Field) -> Option<K>,
) -> Vec<(K, TokenStream)> {
    let mut groups: Vec<(K, TokenStream)> = Vec::new();
    for field in fields {
        let Some(kind) = kind(field) else { continue };
        match groups.last_mut() {
            Some((last, members)) if *last == kind => {
                members.extend(quote! { , });
                member(field, members);
            }
            _ => {
                let mut members = TokenStream::new();
                member(field, &mut members);
                groups.push((kind, members));
            }
        }
    }
    groups
}

/// A field, with its name on the wire where that differs.
fn member(field: &Field, tokens: &mut TokenStream) {
    ident(&field.ident).to_tokens(tokens);
    if field.ident != field.wire {
        let wire = &field.wire;
        tokens.extend(quote! { = #wire });
    }
}

/// How many lists, maps and the like lie in each other; clippy finds many of them complex.
fn depth(of: &Ty) -> usize {
    let mut depth = 0;
    super::walk(of, &mut |_| depth += 1);
    depth
}

fn field(field: &Field, context: &Context, tokens: &mut TokenStream) {
    let name = ident(&field.ident);
    let of = ty(&field.ty);
    if matches!(field.presence, Presence::Constant(_)) {
        return;
    }
    tokens.extend(context.doc(&field.docs));
    tokens.extend(deprecated(field.deprecated.as_ref()));
    tokens.extend(match field.presence {
        Presence::Optional => quote! { pub #name: Option<#of>, },
        Presence::Nullable => quote! { pub #name: Option<Option<#of>>, },
        Presence::Required | Presence::Constant(_) => quote! { pub #name: #of, },
    });
}

/// `new` with what is required, and a setter for each of the rest.
fn constructor(item: &Struct, name: &Ident, context: &Context, tokens: &mut TokenStream) {
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
            Presence::Required => Some(match convert(&field.ty, &name) {
                Some(value) => quote! { #name: #value },
                None => quote! { #name },
            }),
            Presence::Optional | Presence::Nullable => Some(quote! { #name: None }),
            Presence::Constant(_) => None,
        }
    });
    let written = item
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
    let unset = if required.is_empty() {
        "With nothing set."
    } else {
        "With what the contract requires; the rest is unset."
    };
    // An update replaces everything, so one that does not start from what was received says so.
    let (new, docs) = match &item.update_of {
        Some(_) => (
            ident("replace"),
            format!("{unset} What is left out is erased: see [`Self::update_from`]."),
        ),
        None => (ident("new"), unset.to_owned()),
    };
    let docs = context.doc(&docs);
    tokens.extend(quote! {
        #allow
        #operator
        impl #name {
            #docs
            #many
            #[must_use]
            pub fn #new(#(#parameters),*) -> Self {
                Self { #(#values,)* extra: wire::Map::new() }
            }
            #(#written)*
            #update
        }
    });
    setters(item, name, tokens);
    if item.update_of.is_none() {
        tokens.extend(from_text(name, &required));
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
fn setters(item: &Struct, name: &Ident, tokens: &mut TokenStream) {
    let groups = groups(&item.fields, setter_group);
    let groups = groups.iter().map(|((list, of), members)| {
        let of = ident(of);
        if *list {
            quote! { , list(#of(#members)) }
        } else {
            quote! { , #of(#members) }
        }
    });
    tokens.extend(quote! { wire::setters!(#name #(#groups)*); });
}

fn setter(field: &Field) -> Option<TokenStream> {
    let (name, of) = (ident(&field.ident), accepted(&field.ty));
    let value = convert(&field.ty, &name).unwrap_or_else(|| quote! { #name });
    let attribute = deprecated(field.deprecated.as_ref());
    let docs = doc(format!("Sets `{}`.", field.wire));
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
            let docs = doc(format!("Sets `{}` to `null`, which clears it.", field.wire));
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
        other => ty(other).into_token_stream(),
    }
}

/// What was taken as the type; nothing where it is that already.
fn convert(of: &Ty, name: &Ident) -> Option<TokenStream> {
    Some(match of {
        Ty::Text | Ty::Named(_) => quote! { #name.into() },
        Ty::List(inner) if **inner == Ty::Text => {
            quote! { #name.into_iter().map(Into::into).collect() }
        }
        Ty::List(_) => quote! { #name.into_iter().collect() },
        Ty::Boxed(inner) => {
            let inner = convert(inner, name).unwrap_or_else(|| quote! { #name });
            quote! { Box::new(#inner) }
        }
        _ => return None,
    })
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

fn vocabulary(item: &Vocabulary, context: &Context, tokens: &mut TokenStream) {
    let name = ident(&item.name);
    let docs = context.doc(&item.docs);
    let derive = derive(
        &["Clone", "Debug", "PartialEq", "Eq", "Hash"],
        &context.derives,
        true,
    );
    let variants: Vec<Ident> = item
        .arms
        .iter()
        .map(|(variant, _)| ident(variant))
        .collect();
    let values: Vec<&String> = item.arms.iter().map(|(_, value)| value).collect();
    let arm_docs = values.iter().map(|value| doc(format!("`{value}`.")));
    tokens.extend(quote! {
        #docs
        #derive
        #[non_exhaustive]
        pub enum #name {
            #(#arm_docs #variants,)*
            /// A value that this release does not list, as it arrived.
            Unknown(wire::UnknownValue),
        }
        wire::vocabulary!(#name #(, #variants = #values)*);
    });
}

fn union(item: &Union, context: &Context, tokens: &mut TokenStream) {
    let name = ident(&item.name);
    let text = &item.name;
    let docs = context.doc(&item.docs);
    let own: &[&str] = if item.total {
        &["Clone", "Debug", "PartialEq", "Eq"]
    } else {
        &["Clone", "Debug", "PartialEq"]
    };
    let derive = derive(own, &context.derives, item.total);
    let rules = rules(&item.rules);
    let variants: Vec<Ident> = item.arms.iter().map(|arm| ident(&arm.variant)).collect();
    let types: Vec<_> = item.arms.iter().map(|arm| ty(&arm.ty)).collect();
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
    tokens.extend(quote! {
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
    });
}
