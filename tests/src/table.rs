//! The tables from which the runtime's macros make what a generated type does.

use syn::parse::{Parse as _, ParseStream, Parser};
use syn::token::Paren;
use syn::{Ident, LitStr, Macro, Token, parenthesized};

/// What `object!`, `setters!` or `vocabulary!` is called with: the groups `how(a, b = "c")` of the
/// first two, the pairs `Arm = "value"` of the last, and the names behind the semicolon.
pub(crate) struct Table {
    pub(crate) of: String,
    pub(crate) name: Ident,
    pub(crate) groups: Vec<Group>,
    pub(crate) facts: Vec<String>,
}

pub(crate) struct Group {
    pub(crate) how: String,
    pub(crate) entries: Vec<Entry>,
}

/// `a`, `a = "b"`, `"a" = "b"` or, in `list(…)` of setters, `Of(a, b = "c")`.
pub(crate) enum Entry {
    Name(String, Option<String>),
    Constant(String, String),
    Nested(Group),
}

impl Table {
    /// Nothing for macros that are no table.
    pub(crate) fn read(mac: &Macro) -> Option<Self> {
        let of = mac.path.segments.last()?.ident.to_string();
        if !["object", "setters", "vocabulary"].contains(&of.as_str()) {
            return None;
        }
        let read = |input: ParseStream<'_>| {
            let name = input.parse()?;
            let mut groups = Vec::new();
            let mut pairs = Vec::new();
            while input.parse::<Option<Token![,]>>()?.is_some() {
                if input.peek2(Paren) {
                    groups.push(Group::read(input)?);
                } else {
                    pairs.push(Entry::read(input)?);
                }
            }
            if !pairs.is_empty() {
                let how = String::new();
                groups.push(Group {
                    how,
                    entries: pairs,
                });
            }
            let mut facts = Vec::new();
            if input.parse::<Option<Token![;]>>()?.is_some() {
                let names = input.parse_terminated(Ident::parse, Token![,])?;
                facts.extend(names.iter().map(ToString::to_string));
            }
            Ok(Self {
                of: of.clone(),
                name,
                groups,
                facts,
            })
        };
        let table = Parser::parse2(read, mac.tokens.clone());
        Some(table.unwrap_or_else(|error| panic!("{of}! is no table: {error}")))
    }
}

impl Group {
    fn read(input: ParseStream<'_>) -> syn::Result<Self> {
        let how = input.parse::<Ident>()?.to_string();
        let inside;
        parenthesized!(inside in input);
        let entries = inside.parse_terminated(Entry::read, Token![,])?;
        Ok(Self {
            how,
            entries: entries.into_iter().collect(),
        })
    }
}

impl Entry {
    fn read(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek2(Paren) {
            return Group::read(input).map(Self::Nested);
        }
        let value = |input: ParseStream<'_>| {
            input
                .parse::<Option<Token![=]>>()?
                .map(|_| input.parse::<LitStr>().map(|value| value.value()))
                .transpose()
        };
        if input.peek(LitStr) {
            let name = input.parse::<LitStr>()?.value();
            return Ok(Self::Constant(name, value(input)?.unwrap_or_default()));
        }
        let name = input.parse::<Ident>()?.to_string();
        Ok(Self::Name(name, value(input)?))
    }
}
