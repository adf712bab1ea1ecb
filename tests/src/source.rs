//! Reading generated source back, to compare it with facts that were not made by the generator.

use std::collections::BTreeMap;
use syn::{Expr, File, FnArg, ImplItem, Item, Lit, Pat};

/// An operation as the generated source states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// `POST`.
    pub method: String,
    /// `/carts/{id}`, or a webhook's name.
    pub path: String,
    /// Managed headers with whether they are required.
    pub managed: Vec<(String, bool)>,
    /// The parameters of the client's method, without `self`.
    pub parameters: Vec<String>,
    /// The setters of inputs that may be left out.
    pub setters: Vec<String>,
}

/// The operations and webhooks of a generated source, by `operationId`.
///
/// # Panics
///
/// When the source is not what the generator writes.
#[must_use]
pub fn operations(file: &File) -> BTreeMap<String, Operation> {
    let mut found = BTreeMap::new();
    let parameters = method_parameters(file);
    let setters = setters(file);
    for item in module(file, "operations") {
        let Item::Impl(item) = item else { continue };
        let constant = item.items.iter().find_map(|item| match item {
            ImplItem::Const(constant) if constant.ident == "OPERATION" => Some(&constant.expr),
            _ => None,
        });
        let Some(Expr::Reference(reference)) = constant else {
            continue;
        };
        // `Operation::new(…)`, or that with `.changing(…)` behind it.
        let mut expression = &*reference.expr;
        while let Expr::MethodCall(outer) = expression {
            expression = &outer.receiver;
        }
        let Expr::Call(call) = expression else {
            panic!("OPERATION is not a call")
        };
        let arguments: Vec<&Expr> = call.args.iter().collect();
        let [_, _, id, method, path, headers] = arguments.as_slice() else {
            panic!("OPERATION has other arguments")
        };
        let id = text(id);
        let Expr::Path(method) = method else {
            panic!("{id}: the method is not a path")
        };
        let marker = type_name(&item.self_ty);
        let operation = Operation {
            method: method
                .path
                .segments
                .last()
                .map(|segment| segment.ident.to_string())
                .unwrap_or_default(),
            path: text(path),
            managed: header_list(headers),
            parameters: parameters.get(&id).cloned().unwrap_or_default(),
            setters: setters.get(&marker).cloned().unwrap_or_default(),
        };
        found.insert(id, operation);
    }
    found
}

fn module<'f>(file: &'f File, name: &str) -> &'f [Item] {
    file.items
        .iter()
        .find_map(|item| match item {
            Item::Mod(module) if module.ident == name => {
                module.content.as_ref().map(|(_, items)| items.as_slice())
            }
            _ => None,
        })
        .unwrap_or_default()
}

fn method_parameters(file: &File) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for item in &file.items {
        let Item::Impl(item) = item else { continue };
        if item.trait_.is_some() || type_name(&item.self_ty) != "Client" {
            continue;
        }
        for item in &item.items {
            let ImplItem::Fn(method) = item else { continue };
            let names = method.sig.inputs.iter().filter_map(|input| match input {
                FnArg::Typed(typed) => match &*typed.pat {
                    Pat::Ident(name) => Some(name.ident.to_string()),
                    _ => None,
                },
                FnArg::Receiver(_) => None,
            });
            found.insert(method.sig.ident.to_string(), names.collect());
        }
    }
    found
}

/// The setters that traits give to a call, by the operation's type.
fn setters(file: &File) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for item in &file.items {
        let Item::Impl(item) = item else { continue };
        let syn::Type::Path(path) = &*item.self_ty else {
            continue;
        };
        let Some(last) = path
            .path
            .segments
            .last()
            .filter(|segment| segment.ident == "Call" || segment.ident == "Link")
        else {
            continue;
        };
        let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
            continue;
        };
        let Some(syn::GenericArgument::Type(marker)) = arguments.args.first() else {
            continue;
        };
        for item in &item.items {
            if let ImplItem::Fn(method) = item {
                found
                    .entry(type_name(marker))
                    .or_default()
                    .push(method.sig.ident.to_string());
            }
        }
    }
    found
}

fn header_list(expression: &Expr) -> Vec<(String, bool)> {
    let Expr::Reference(reference) = expression else {
        panic!("headers are not a slice")
    };
    let Expr::Array(array) = &*reference.expr else {
        panic!("headers are not a list")
    };
    array
        .elems
        .iter()
        .map(|element| {
            let Expr::Call(header) = element else {
                panic!("a header is not a call")
            };
            let Expr::Path(kind) = &*header.func else {
                panic!("a header is not made by a name")
            };
            let kind = kind.path.segments.last().map(|last| last.ident.to_string());
            let required = match kind.as_deref() {
                Some("required") => true,
                Some("optional") => false,
                _ => panic!("a header is required or optional"),
            };
            let name = header.args.first().map(text).unwrap_or_default();
            (name, required)
        })
        .collect()
}

pub(crate) fn text(expression: &Expr) -> String {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => text.value(),
            _ => panic!("not a string"),
        },
        _ => panic!("not a literal"),
    }
}

/// The last name of a type's path.
#[must_use]
pub fn type_name(of: &syn::Type) -> String {
    match of {
        syn::Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string())
            .unwrap_or_default(),
        _ => String::new(),
    }
}
