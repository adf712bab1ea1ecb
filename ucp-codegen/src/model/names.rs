//! Names: legal, unique, stable, and such as a person would choose.

use heck::{ToSnakeCase, ToUpperCamelCase};
use std::collections::BTreeSet;

/// Types that generated code uses by their short names.
const TAKEN: [&str; 33] = [
    "Any",
    "Box",
    "Borrow",
    "BTreeMap",
    "Call",
    "Check",
    "Client",
    "Clone",
    "Debug",
    "Default",
    "Err",
    "From",
    "Into",
    "IntoIterator",
    "Iterator",
    "Map",
    "Merchant",
    "None",
    "Ok",
    "OneOrMany",
    "Option",
    "Result",
    "Self",
    "Sized",
    "Some",
    "String",
    "ToOwned",
    "UnknownObject",
    "UnknownValue",
    "Value",
    "Vec",
    "Operation",
    "Endpoint",
];

/// Strict and reserved keywords of edition 2024.
const KEYWORDS: [&str; 50] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield", "union", "dyn",
];

/// Words that name no thing by themselves: a definition called by them takes its file's name too.
const GENERIC: [&str; 14] = [
    "base",
    "entity",
    "request",
    "response",
    "business",
    "platform",
    "success",
    "error",
    "code",
    "version",
    "config",
    "requires",
    "constraint",
    "schema",
];

/// A type's name from words in any case.
pub(crate) fn type_name(words: &str) -> String {
    // Not every letter or digit of Unicode can stand in an identifier.
    let name = if is_snake(words) {
        let mut name = String::with_capacity(words.len());
        for word in words.split('_') {
            let (first, rest) = word.split_at(word.len().min(1));
            name.push_str(&first.to_ascii_uppercase());
            name.push_str(rest);
        }
        name
    } else {
        words
            .replace(|c: char| !c.is_ascii_alphanumeric(), "_")
            .to_upper_camel_case()
    };
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("N{name}")
    } else {
        name
    };
    if name.is_empty() {
        "Unnamed".to_owned()
    } else if TAKEN.contains(&name.as_str()) {
        format!("{name}Type")
    } else {
        name
    }
}

/// The words by which a definition is called: its key, with its file's name where the key alone
/// says too little.
pub(crate) fn definition_words(stem: &str, key: Option<&str>) -> String {
    let stem = stem.strip_suffix("_schema").unwrap_or(stem);
    let Some(key) = key else {
        return stem.to_owned();
    };
    // A capability's full name: its last label says what it is.
    let key = key.rsplit('.').next().unwrap_or(key);
    let snake = snake_case(key);
    let is_view = snake.ends_with("_schema");
    let words: Vec<&str> = snake.split('_').filter(|word| *word != "schema").collect();
    let generic = matches!(words.as_slice(), [word] if GENERIC.contains(word));
    if is_view || generic {
        let rest: Vec<&str> = words.into_iter().filter(|word| *word != "base").collect();
        return if rest.is_empty() {
            stem.to_owned()
        } else {
            format!("{stem}_{}", rest.join("_"))
        };
    }
    snake
}

/// One of many: `methods` is a list of `method`.
pub(crate) fn singular(plural: &str) -> String {
    if let Some(stem) = plural.strip_suffix("ies") {
        return format!("{stem}y");
    }
    for ending in ["sses", "xes", "ches", "shes"] {
        if plural.ends_with(ending) {
            return plural.strip_suffix("es").unwrap_or(plural).to_owned();
        }
    }
    match plural.strip_suffix('s') {
        Some(stem) if !stem.ends_with('s') => stem.to_owned(),
        _ => format!("{plural}_item"),
    }
}

/// Words in snake case.
pub(super) fn snake_case(words: &str) -> String {
    if is_snake(words) {
        words.to_owned()
    } else {
        words.to_snake_case()
    }
}

/// Whether words are in snake case as they are; nearly all of a contract's are.
fn is_snake(words: &str) -> bool {
    let mut before = b'_';
    for byte in words.bytes() {
        if !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' && before != b'_') {
            return false;
        }
        before = byte;
    }
    before != b'_'
}

/// An identifier in snake case: a field, a method, a module.
pub(crate) fn identifier(wire: &str) -> String {
    let snake = if is_snake(wire) {
        wire.to_owned()
    } else {
        snake_case(&wire.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
    };
    let name = if snake.is_empty() {
        "unnamed".to_owned()
    } else if snake.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        format!("n{snake}")
    } else if snake.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{snake}")
    } else {
        snake
    };
    match name.as_str() {
        // These cannot be raw identifiers.
        "self" | "super" | "crate" => format!("{name}_"),
        word if KEYWORDS.contains(&word) => format!("r#{name}"),
        _ => name,
    }
}

/// The arm of an enum that stands for a string on the wire.
pub(crate) fn variant(wire: &str) -> String {
    let name = wire
        .replace(|c: char| !c.is_ascii_alphanumeric(), "_")
        .to_upper_camel_case();
    match name.as_str() {
        "" => "Empty".to_owned(),
        "Self" | "Unknown" => format!("{name}Value"),
        _ if name.starts_with(|c: char| c.is_ascii_digit()) => format!("N{name}"),
        _ => name,
    }
}

/// Gives out names of one scope, each once.
#[derive(Debug, Default)]
pub(crate) struct Scope(BTreeSet<String>);

impl Scope {
    pub(crate) fn with<'n>(taken: impl IntoIterator<Item = &'n str>) -> Self {
        Self(taken.into_iter().map(ToOwned::to_owned).collect())
    }

    /// The first of the candidates that is free, or the last with the lowest number that is.
    pub(crate) fn claim(&mut self, candidates: &[String]) -> String {
        let free = candidates
            .iter()
            .find(|name| !self.0.contains(*name))
            .cloned();
        let name = free.unwrap_or_else(|| {
            let last = candidates.last().map_or("unnamed", String::as_str);
            let separator =
                if last.starts_with(|c: char| c.is_ascii_uppercase()) || last.ends_with('_') {
                    ""
                } else {
                    "_"
                };
            (2_u32..)
                .map(|number| format!("{last}{separator}{number}"))
                .find(|name| !self.0.contains(name))
                .unwrap_or_default()
        });
        self.0.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_read_well() {
        for (stem, key, name) in [
            ("checkout", None, "Checkout"),
            ("profile_schema", Some("signing_key"), "SigningKey"),
            ("ucp", Some("base"), "Ucp"),
            (
                "ucp",
                Some("response_checkout_schema"),
                "UcpResponseCheckout",
            ),
            ("service", Some("response_schema"), "ServiceResponse"),
            ("pagination", Some("request"), "PaginationRequest"),
            ("messages", Some("error_response"), "ErrorResponse"),
            ("discount", Some("applied_discount"), "AppliedDiscount"),
            ("option", None, "OptionType"),
        ] {
            assert_eq!(type_name(&definition_words(stem, key)), name);
        }
    }

    #[test]
    fn identifiers_are_legal() {
        for (wire, name) in [
            ("type", "r#type"),
            ("dev.ucp.buyer_ip", "dev_ucp_buyer_ip"),
            ("ucp-agent", "ucp_agent"),
            ("3ds", "_3ds"),
            ("3", "n3"),
            ("m²", "m"),
            ("self", "self_"),
            ("anyOf", "any_of"),
            ("", "unnamed"),
        ] {
            assert_eq!(identifier(wire), name);
            assert!(
                syn::parse_str::<syn::Ident>(name).is_ok() || name.starts_with("r#"),
                "{name}"
            );
        }
        assert_eq!(variant("model_3d"), "Model3d");
        assert_eq!(variant("unknown"), "UnknownValue");
    }

    #[test]
    fn one_of_many() {
        for (plural, one) in [
            ("methods", "method"),
            ("categories", "category"),
            ("addresses", "address"),
            ("destinations", "destination"),
            ("data", "data_item"),
        ] {
            assert_eq!(singular(plural), one);
        }
    }

    #[test]
    fn clashing_names_are_told_apart() {
        let mut scope = Scope::with(["extra"]);
        assert_eq!(scope.claim(&["extra".to_owned()]), "extra_2");
        assert_eq!(scope.claim(&["self_".to_owned()]), "self_");
        assert_eq!(scope.claim(&["self_".to_owned()]), "self_2");
        assert_eq!(scope.claim(&["A".to_owned(), "B".to_owned()]), "A");
        assert_eq!(scope.claim(&["A".to_owned(), "B".to_owned()]), "B");
        assert_eq!(scope.claim(&["A".to_owned(), "B".to_owned()]), "B2");
    }
}
