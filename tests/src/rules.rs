//! Reading the rules of generated types back from their source, in the words of JSON Schema, so that
//! they compare with facts about schemas as they are.

use crate::source::{text, type_name};
use serde_json::{Map, Value, json};
use syn::{Expr, Lit};

/// A rule of a generated type (`wire::Check`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A keyword that holds no other schema, with its value.
    Keyword(&'static str, Value),
    /// About a member.
    Member(String, Vec<Rule>),
    /// About the members besides those named.
    Values(Vec<String>, Vec<Rule>),
    /// That there are no members besides those named.
    Closed(Vec<String>),
    /// About the names of members.
    Names(Vec<Rule>),
    /// About items.
    Items(Vec<Rule>),
    /// About some of the items.
    Contains(Vec<Rule>, u64, Option<u64>),
    /// A condition, what holds under it, what holds otherwise.
    When(Vec<Rule>, Vec<Rule>, Vec<Rule>),
    /// What must not hold.
    Not(Vec<Rule>),
    /// Of which one must hold.
    AnyOf(Vec<Vec<Rule>>),
    /// Of which exactly one must hold.
    OneOf(Vec<Vec<Rule>>),
    /// The rules of a generated type, by its name.
    Of(String),
}

impl Rule {
    /// Reads `&[Check::…, …]`.
    ///
    /// # Panics
    ///
    /// When it is not what the generator writes.
    #[must_use]
    pub fn read(list: &Expr) -> Vec<Self> {
        elements(list).into_iter().map(rule).collect()
    }

    /// The rules as one JSON Schema.
    #[must_use]
    pub fn schema(rules: &[Self]) -> Value {
        let mut schema = Map::new();
        for rule in rules {
            match rule {
                Self::Member(name, rules) => {
                    let properties = schema.entry("properties").or_insert_with(|| json!({}));
                    if let Value::Object(properties) = properties {
                        properties.insert(name.clone(), Self::schema(rules));
                    }
                }
                rule => schema.extend(rule.keywords()),
            }
        }
        Value::Object(schema)
    }

    /// The keywords that say what this rule says.
    fn keywords(&self) -> Vec<(String, Value)> {
        let all = |branches: &[Vec<Self>]| branches.iter().map(|one| Self::schema(one)).collect();
        let found = match self {
            Self::Keyword(name, value) => vec![(*name, value.clone())],
            Self::Member(name, rules) => vec![("properties", json!({ name: Self::schema(rules) }))],
            Self::Values(_, rules) => vec![("additionalProperties", Self::schema(rules))],
            Self::Closed(_) => vec![("additionalProperties", json!(false))],
            Self::Names(rules) => vec![("propertyNames", Self::schema(rules))],
            Self::Items(rules) => vec![("items", Self::schema(rules))],
            Self::Contains(rules, least, most) => {
                let mut found = vec![
                    ("contains", Self::schema(rules)),
                    ("minContains", json!(least)),
                ];
                found.extend(most.map(|most| ("maxContains", json!(most))));
                found
            }
            Self::When(condition, then, otherwise) => vec![
                ("if", Self::schema(condition)),
                ("then", Self::schema(then)),
                ("else", Self::schema(otherwise)),
            ],
            Self::Not(rules) => vec![("not", Self::schema(rules))],
            Self::AnyOf(branches) => vec![("anyOf", Value::Array(all(branches)))],
            Self::OneOf(branches) => vec![("oneOf", Value::Array(all(branches)))],
            Self::Of(name) => vec![("$ref", json!(name))],
        };
        found
            .into_iter()
            .map(|(keyword, value)| (keyword.to_owned(), value))
            .collect()
    }

    /// The values that a keyword has in a list of rules; several when several schemas say it.
    #[must_use]
    pub fn said(rules: &[Self], keyword: &str) -> Vec<Value> {
        rules
            .iter()
            .flat_map(Self::keywords)
            .filter(|(known, _)| known == keyword)
            .map(|(_, value)| value)
            .collect()
    }
}

/// The keyword behind a variant of `wire::Check` that holds no other rules.
fn keyword(variant: &str) -> Option<&'static str> {
    Some(match variant {
        "Pattern" => "pattern",
        "Format" => "format",
        "MinLength" => "minLength",
        "MaxLength" => "maxLength",
        "Minimum" => "minimum",
        "Maximum" => "maximum",
        "ExclusiveMinimum" => "exclusiveMinimum",
        "ExclusiveMaximum" => "exclusiveMaximum",
        "MultipleOf" => "multipleOf",
        "MinItems" => "minItems",
        "MaxItems" => "maxItems",
        "MinProperties" => "minProperties",
        "MaxProperties" => "maxProperties",
        "Const" => "const",
        "Enum" => "enum",
        "Type" => "type",
        "Required" => "required",
        _ => return None,
    })
}

fn rule(expression: &Expr) -> Rule {
    let (variant, arguments): (String, Vec<&Expr>) = match expression {
        Expr::Call(call) => (name(&call.func), call.args.iter().collect()),
        other => (name(other), Vec::new()),
    };
    let rules = |index: usize| {
        arguments
            .get(index)
            .map(|list| Rule::read(list))
            .unwrap_or_default()
    };
    let strings = |index: usize| -> Vec<String> {
        let list = arguments.get(index).map(|list| elements(list));
        list.into_iter().flatten().map(text).collect()
    };
    let branches = || {
        let list = arguments.first().map(|list| elements(list));
        list.into_iter().flatten().map(Rule::read).collect()
    };
    let first = || {
        arguments
            .first()
            .map(|first| value(first))
            .unwrap_or_default()
    };
    if let Some(keyword) = keyword(&variant) {
        // A list of one type is written as that type.
        let value = match first() {
            Value::Array(one) if keyword == "type" && one.len() == 1 => {
                one.into_iter().next().unwrap_or_default()
            }
            value => value,
        };
        return Rule::Keyword(keyword, value);
    }
    match variant.as_str() {
        "UniqueItems" => Rule::Keyword("uniqueItems", json!(true)),
        "Dependent" => Rule::Keyword(
            "dependentRequired",
            json!({ text_of(&first()): strings(1) }),
        ),
        "Member" => Rule::Member(text_of(&first()), rules(1)),
        "Values" => Rule::Values(strings(0), rules(1)),
        "Closed" => Rule::Closed(strings(0)),
        "Names" => Rule::Names(rules(0)),
        "Items" => Rule::Items(rules(0)),
        "Contains" => {
            let number = |index: usize| arguments.get(index).map(|number| value(number));
            let least = number(1)
                .and_then(|least| least.as_u64())
                .unwrap_or_default();
            Rule::Contains(rules(0), least, number(2).and_then(|most| most.as_u64()))
        }
        "When" => Rule::When(rules(0), rules(1), rules(2)),
        "Not" => Rule::Not(rules(0)),
        "AnyOf" => Rule::AnyOf(branches()),
        "OneOf" => Rule::OneOf(branches()),
        "Is" | "Known" => Rule::Of(arguments.first().map(|of| subject(of)).unwrap_or_default()),
        other => panic!("`{other}` is not a rule that this reader knows"),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The elements of `&[…]`.
fn elements(list: &Expr) -> Vec<&Expr> {
    match list {
        Expr::Reference(reference) => elements(&reference.expr),
        Expr::Array(array) => array.elems.iter().collect(),
        _ => panic!("not a list"),
    }
}

/// The last name of a path.
fn name(expression: &Expr) -> String {
    match expression {
        Expr::Path(path) => path
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string())
            .unwrap_or_default(),
        _ => panic!("not a name"),
    }
}

/// `Service` for `wire::object_rules::<Service>`.
fn subject(expression: &Expr) -> String {
    if let Expr::Path(path) = expression
        && let Some(last) = path.path.segments.last()
        && let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(syn::GenericArgument::Type(of)) = arguments.args.first()
    {
        return type_name(of);
    }
    panic!("not the rules of a type")
}

/// A number, a string, a `wire::Literal`, a list of those, `Some` of one, or `None`.
fn value(expression: &Expr) -> Value {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => json!(text.value()),
            Lit::Bool(value) => json!(value.value),
            Lit::Int(number) => json!(number.base10_parse::<i64>().unwrap_or_default()),
            _ => panic!("not a value of a rule"),
        },
        Expr::Unary(negative) => {
            json!(
                value(&negative.expr)
                    .as_i64()
                    .unwrap_or_default()
                    .saturating_neg()
            )
        }
        Expr::Reference(_) | Expr::Array(_) => {
            Value::Array(elements(expression).into_iter().map(value).collect())
        }
        Expr::Call(wrapped) => wrapped.args.first().map(value).unwrap_or_default(),
        _ => Value::Null,
    }
}
