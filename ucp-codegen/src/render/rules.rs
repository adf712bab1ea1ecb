//! The rules that a type carries, as `wire::Check` data.

use super::{Lazy, ident};
use crate::model::{Of, Rule};
use crate::schema::{Check, Literal};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// The constant of a type's rules; nothing where there are none.
pub(super) fn rules(rules: &[Rule]) -> Option<TokenStream> {
    let list = list(rules);
    (!rules.is_empty()).then(|| quote! { const RULES: &'static [Check] = #list; })
}

fn list(rules: &[Rule]) -> impl ToTokens {
    Lazy(move |tokens: &mut TokenStream| write_list(rules, tokens))
}

fn write_list(rules: &[Rule], tokens: &mut TokenStream) {
    let rules = rules
        .iter()
        .map(|of| Lazy(move |tokens: &mut TokenStream| rule(of, tokens)));
    tokens.extend(quote! { &[#(#rules),*] });
}

fn rule(rule: &Rule, tokens: &mut TokenStream) {
    let branches = |branches: &[Vec<Rule>]| {
        let branches = branches.iter().map(|branch| list(branch));
        quote! { &[#(#branches),*] }
    };
    tokens.extend(quote! { Check:: });
    tokens.extend(match rule {
        Check::Pattern(pattern) => quote! { Pattern(#pattern) },
        Check::Format(format) => quote! { Format(#format) },
        Check::Size(name, bound) => {
            let (name, bound) = (ident(name), proc_macro2::Literal::u64_unsuffixed(*bound));
            quote! { #name(#bound) }
        }
        Check::Bound(name, bound) => {
            let (name, bound) = (ident(name), proc_macro2::Literal::i64_unsuffixed(*bound));
            quote! { #name(#bound) }
        }
        Check::UniqueItems => quote! { UniqueItems },
        Check::Closed(names) => quote! { Closed(&[#(#names),*]) },
        Check::Const(value) => {
            let value = literal(value);
            quote! { Const(#value) }
        }
        Check::Enum(values) => {
            let values = values.iter().map(literal);
            quote! { Enum(&[#(#values),*]) }
        }
        Check::Type(types) => quote! { Type(&[#(#types),*]) },
        Check::Required(names) => quote! { Required(&[#(#names),*]) },
        Check::Dependent(name, others) => quote! { Dependent(#name, &[#(#others),*]) },
        Check::Member(name, rules) => {
            let rules = list(rules);
            quote! { Member(#name, #rules) }
        }
        Check::Values(except, rules) => {
            let rules = list(rules);
            quote! { Values(&[#(#except),*], #rules) }
        }
        Check::Names(rules) => {
            let rules = list(rules);
            quote! { Names(#rules) }
        }
        Check::Items(rules) => {
            let rules = list(rules);
            quote! { Items(#rules) }
        }
        Check::Contains(rules, least, most) => {
            let (rules, least) = (list(rules), proc_macro2::Literal::u64_unsuffixed(*least));
            let most = match most.map(proc_macro2::Literal::u64_unsuffixed) {
                Some(most) => quote! { Some(#most) },
                None => quote! { None },
            };
            quote! { Contains(#rules, #least, #most) }
        }
        Check::When(condition, then, otherwise) => {
            let (condition, then, otherwise) = (list(condition), list(then), list(otherwise));
            quote! { When(#condition, #then, #otherwise) }
        }
        Check::Not(rules) => {
            let rules = list(rules);
            quote! { Not(#rules) }
        }
        Check::AnyOf(list) => {
            let branches = branches(list);
            quote! { AnyOf(#branches) }
        }
        Check::OneOf(list) => {
            let branches = branches(list);
            quote! { OneOf(#branches) }
        }
        Check::Is(Of::Struct(name)) => {
            let name = ident(name);
            quote! { Is(wire::object_rules::<#name>) }
        }
        Check::Is(Of::Union(name)) => {
            let name = ident(name);
            quote! { Is(wire::union_rules::<#name>) }
        }
        Check::Is(Of::Vocabulary(name)) => {
            let name = ident(name);
            quote! { Known(wire::knows::<#name>) }
        }
    });
}

fn literal(literal: &Literal) -> TokenStream {
    match literal {
        Literal::Null => quote! { wire::Literal::Null },
        Literal::Bool(value) => quote! { wire::Literal::Bool(#value) },
        Literal::Integer(value) => {
            let value = proc_macro2::Literal::i64_unsuffixed(*value);
            quote! { wire::Literal::Integer(#value) }
        }
        Literal::Text(value) => quote! { wire::Literal::Text(#value) },
    }
}
