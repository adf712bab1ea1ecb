//! What types cannot hold: patterns, ranges, formats, conditions. Generated types carry them as
//! data, and `validate()` names every one that a value breaks.

use super::path::Segment;
use super::{JsonPath, Object, Union, Vocabulary};
use regex_lite::Regex;
use serde_json::{Number, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, Mutex, PoisonError};

/// One rule of the contract about a JSON value, as in JSON Schema 2020-12: a rule for strings says
/// nothing about numbers, and so on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Check {
    /// A string that matches this regular expression (`pattern`).
    Pattern(&'static str),
    /// A string in this format (`format`): `date-time`, `uri`, `uri-reference`, `uuid`. Others pass.
    Format(&'static str),
    /// A string of at least so many characters (`minLength`).
    MinLength(u64),
    /// A string of at most so many characters (`maxLength`).
    MaxLength(u64),
    /// A number not below this (`minimum`).
    Minimum(i64),
    /// A number not above this (`maximum`).
    Maximum(i64),
    /// A number above this (`exclusiveMinimum`).
    ExclusiveMinimum(i64),
    /// A number below this (`exclusiveMaximum`).
    ExclusiveMaximum(i64),
    /// A number that this divides (`multipleOf`).
    MultipleOf(i64),
    /// A list of at least so many items (`minItems`).
    MinItems(u64),
    /// A list of at most so many items (`maxItems`).
    MaxItems(u64),
    /// A list without equal items (`uniqueItems`).
    UniqueItems,
    /// An object of at least so many members (`minProperties`).
    MinProperties(u64),
    /// An object of at most so many members (`maxProperties`).
    MaxProperties(u64),
    /// An object without other members than these (`additionalProperties: false`).
    Closed(&'static [&'static str]),
    /// Exactly this (`const`).
    Const(Literal),
    /// One of these (`enum`).
    Enum(&'static [Literal]),
    /// A string that a vocabulary knows.
    Known(fn(&str) -> bool),
    /// A value of one of these JSON types (`type`).
    Type(&'static [&'static str]),
    /// An object that has these members (`required`).
    Required(&'static [&'static str]),
    /// An object that has the second members when it has the first (`dependentRequired`).
    Dependent(&'static str, &'static [&'static str]),
    /// A member, when it is there (`properties`).
    Member(&'static str, &'static [Check]),
    /// The members besides the named ones (`additionalProperties`).
    Values(&'static [&'static str], &'static [Check]),
    /// The names of all members (`propertyNames`).
    Names(&'static [Check]),
    /// The items of a list (`items`).
    Items(&'static [Check]),
    /// A list in which so many items pass (`contains`, `minContains`, `maxContains`).
    Contains(&'static [Check], u64, Option<u64>),
    /// What passes the first must pass the second, what does not the third (`if`, `then`, `else`).
    When(&'static [Check], &'static [Check], &'static [Check]),
    /// What does not pass (`not`).
    Not(&'static [Check]),
    /// What passes at least one (`anyOf`).
    AnyOf(&'static [&'static [Check]]),
    /// What passes exactly one (`oneOf`).
    OneOf(&'static [&'static [Check]]),
    /// The rules of a generated type.
    Is(fn() -> &'static [Check]),
}

/// A JSON value that a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Literal {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A string.
    Text(&'static str),
}

impl Literal {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Bool(known) => value.as_bool() == Some(known),
            Self::Integer(known) => value.as_i64() == Some(known),
            Self::Text(known) => value.as_str() == Some(known),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Text(value) => write!(f, "`{value}`"),
        }
    }
}

/// A rule that a value breaks. It names the place and the rule, never the value, which may be a
/// secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Where.
    pub path: JsonPath,
    /// What must be, for example `must be at least 1`.
    pub rule: Cow<'static, str>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.rule)
    }
}

/// Every rule of the contract that a value breaks; what `validate()` of generated types gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// The rules that are broken, in the order of the document; there is at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Violation] {
        &self.0
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            violation.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

/// The rules of a generated struct, for [`Check::Is`].
#[must_use]
pub fn object_rules<T: Object>() -> &'static [Check] {
    T::RULES
}

/// The rules of a generated union, for [`Check::Is`].
#[must_use]
pub fn union_rules<T: Union>() -> &'static [Check] {
    T::RULES
}

/// Whether a generated vocabulary lists a string, for [`Check::Known`].
#[must_use]
pub fn knows<T: Vocabulary>(text: &str) -> bool {
    T::known(text).is_some()
}

/// What tells an item apart, in words: the members that must have one value.
fn kind(rules: &[Check]) -> String {
    let members = rules.iter().filter_map(|rule| match rule {
        Check::Member(name, [.., Check::Const(value)]) => Some(format!("`{name}` is {value}")),
        _ => None,
    });
    let members: Vec<String> = members.collect();
    if members.is_empty() {
        return " of one kind".to_owned();
    }
    format!(" whose {}", members.join(" and "))
}

/// Holds a JSON value against rules.
///
/// # Errors
///
/// Every rule that it breaks.
pub fn validate(value: &Value, rules: &'static [Check]) -> Result<(), Violations> {
    let mut validator = Validator {
        path: JsonPath::default(),
        found: Vec::new(),
    };
    validator.all(rules, value);
    if validator.found.is_empty() {
        Ok(())
    } else {
        Err(Violations(validator.found))
    }
}

/// Holds a typed value against rules; what `validate()` of generated types calls.
///
/// # Errors
///
/// Every rule that it breaks.
pub fn validate_value<T: serde::Serialize>(
    value: &T,
    rules: &'static [Check],
) -> Result<(), Violations> {
    if rules.is_empty() {
        return Ok(());
    }
    match serde_json::to_value(value) {
        Ok(value) => validate(&value, rules),
        Err(error) => Err(Violations(vec![Violation {
            path: JsonPath::default(),
            rule: format!("must be JSON: {error}").into(),
        }])),
    }
}

fn passes(value: &Value, rules: &'static [Check]) -> bool {
    validate(value, rules).is_ok()
}

struct Validator {
    path: JsonPath,
    found: Vec<Violation>,
}

impl Validator {
    fn all(&mut self, rules: &'static [Check], value: &Value) {
        for rule in rules {
            self.one(*rule, value);
        }
    }

    fn within(&mut self, segment: Segment, rules: &'static [Check], value: &Value) {
        self.path.0.push(segment);
        self.all(rules, value);
        self.path.0.pop();
    }

    fn must(&mut self, holds: bool, rule: impl FnOnce() -> Cow<'static, str>) {
        if !holds {
            self.found.push(Violation {
                path: self.path.clone(),
                rule: rule(),
            });
        }
    }

    fn one(&mut self, rule: Check, value: &Value) {
        match (rule, value) {
            (Check::Pattern(pattern), Value::String(text)) => {
                self.must(matches(pattern, text), || {
                    format!("must match `{pattern}`").into()
                });
            }
            (Check::Format(format), Value::String(text)) => {
                self.must(is_format(format, text), || {
                    format!("must be a {format}").into()
                });
            }
            (Check::MinLength(bound), Value::String(text)) => {
                self.must(length(text) >= bound, || {
                    format!("must have at least {bound} characters").into()
                });
            }
            (Check::MaxLength(bound), Value::String(text)) => {
                self.must(length(text) <= bound, || {
                    format!("must have at most {bound} characters").into()
                });
            }
            (Check::Known(known), Value::String(text)) => {
                self.must(known(text), || {
                    "must be a value that the contract lists".into()
                });
            }
            (Check::Minimum(bound), Value::Number(number)) => {
                self.must(!is_below(number, bound), || {
                    format!("must be at least {bound}").into()
                });
            }
            (Check::Maximum(bound), Value::Number(number)) => {
                self.must(!is_above(number, bound), || {
                    format!("must be at most {bound}").into()
                });
            }
            (Check::ExclusiveMinimum(bound), Value::Number(number)) => {
                self.must(is_above(number, bound), || {
                    format!("must be more than {bound}").into()
                });
            }
            (Check::ExclusiveMaximum(bound), Value::Number(number)) => {
                self.must(is_below(number, bound), || {
                    format!("must be less than {bound}").into()
                });
            }
            (Check::MultipleOf(divisor), Value::Number(number)) => {
                let divides = number
                    .as_i64()
                    .is_some_and(|number| number.checked_rem(divisor) == Some(0));
                self.must(divides, || {
                    format!("must be a multiple of {divisor}").into()
                });
            }
            (Check::MinItems(bound), Value::Array(items)) => {
                self.must(items.len() as u64 >= bound, || {
                    format!("must have at least {bound} items").into()
                });
            }
            (Check::MaxItems(bound), Value::Array(items)) => {
                self.must(items.len() as u64 <= bound, || {
                    format!("must have at most {bound} items").into()
                });
            }
            (Check::UniqueItems, Value::Array(items)) => {
                let unique = items
                    .iter()
                    .enumerate()
                    .all(|(index, item)| !items.iter().take(index).any(|other| other == item));
                self.must(unique, || "must not have an item twice".into());
            }
            (Check::Items(rules), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.within(Segment::Index(index), rules, item);
                }
            }
            (Check::Contains(rules, least, most), Value::Array(items)) => {
                let count = items.iter().filter(|item| passes(item, rules)).count() as u64;
                self.must(
                    count >= least && most.is_none_or(|most| count <= most),
                    || {
                        let bound = match most {
                            Some(most) if most == least => format!("exactly {least}"),
                            Some(most) if count > most => format!("at most {most}"),
                            _ => format!("at least {least}"),
                        };
                        let kind = kind(rules);
                        format!("must contain {bound} item{kind}, and contains {count}").into()
                    },
                );
            }
            (Check::MinProperties(bound), Value::Object(members)) => {
                self.must(members.len() as u64 >= bound, || {
                    format!("must have at least {bound} members").into()
                });
            }
            (Check::MaxProperties(bound), Value::Object(members)) => {
                self.must(members.len() as u64 <= bound, || {
                    format!("must have at most {bound} members").into()
                });
            }
            (Check::Closed(names), Value::Object(members)) => {
                for name in members
                    .keys()
                    .filter(|name| !names.contains(&name.as_str()))
                {
                    self.must(false, || format!("must not have `{name}`").into());
                }
            }
            (Check::Required(names), Value::Object(members)) => {
                for name in names.iter().filter(|name| !members.contains_key(**name)) {
                    self.must(false, || format!("must have `{name}`").into());
                }
            }
            (Check::Dependent(name, others), Value::Object(members))
                if members.contains_key(name) =>
            {
                for other in others.iter().filter(|other| !members.contains_key(**other)) {
                    self.must(false, || {
                        format!("must have `{other}` when it has `{name}`").into()
                    });
                }
            }
            (Check::Member(name, rules), Value::Object(members)) => {
                if let Some(member) = members.get(name) {
                    self.within(Segment::Member(name.into()), rules, member);
                }
            }
            (Check::Values(except, rules), Value::Object(members)) => {
                for (name, member) in members
                    .iter()
                    .filter(|(name, _)| !except.contains(&name.as_str()))
                {
                    self.within(Segment::Member(name.clone().into()), rules, member);
                }
            }
            (Check::Names(rules), Value::Object(members)) => {
                for name in members.keys() {
                    self.within(
                        Segment::Member(name.clone().into()),
                        rules,
                        &Value::from(name.as_str()),
                    );
                }
            }
            (Check::Const(literal), value) => {
                self.must(literal.is(value), || format!("must be {literal}").into());
            }
            (Check::Enum(literals), value) => {
                self.must(literals.iter().any(|literal| literal.is(value)), || {
                    let listed: Vec<String> = literals.iter().map(ToString::to_string).collect();
                    format!("must be one of {}", listed.join(", ")).into()
                });
            }
            (Check::Type(types), value) => {
                self.must(types.iter().any(|name| is_type(name, value)), || {
                    format!("must be of type {}", types.join(" or ")).into()
                });
            }
            (Check::When(condition, then, otherwise), value) => {
                let branch = if passes(value, condition) {
                    then
                } else {
                    otherwise
                };
                self.all(branch, value);
            }
            (Check::Not(rules), value) => {
                self.must(!passes(value, rules), || {
                    "must not be what the contract excludes here".into()
                });
            }
            (Check::AnyOf(branches), value) => {
                let any = branches.iter().any(|rules| passes(value, rules));
                self.must(any, || {
                    format!("must fit one of {} alternatives", branches.len()).into()
                });
            }
            (Check::OneOf(branches), value) => {
                let fitting = branches.iter().filter(|rules| passes(value, rules)).count();
                self.must(fitting == 1, || {
                    format!(
                        "must fit exactly one of {} alternatives, and fits {fitting}",
                        branches.len()
                    )
                    .into()
                });
            }
            (Check::Is(rules), value) => self.all(rules(), value),
            // A rule for another type says nothing.
            _ => {}
        }
    }
}

fn length(text: &str) -> u64 {
    text.chars().count() as u64
}

/// Bounds of contracts are within 2^53: where a number is no integer, a float compares exactly.
fn is_below(number: &Number, bound: i64) -> bool {
    compare(number, bound).is_some_and(std::cmp::Ordering::is_lt)
}

fn is_above(number: &Number, bound: i64) -> bool {
    compare(number, bound).is_some_and(std::cmp::Ordering::is_gt)
}

fn compare(number: &Number, bound: i64) -> Option<std::cmp::Ordering> {
    if let Some(integer) = number.as_i64() {
        return Some(integer.cmp(&bound));
    }
    #[expect(clippy::cast_precision_loss, reason = "a bound is within 2^53")]
    number.as_f64()?.partial_cmp(&(bound as f64))
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value
            .as_number()
            .is_some_and(|number| number.as_f64().is_some_and(|float| float.fract() == 0.0)),
        _ => false,
    }
}

/// Whether a text matches a pattern of the contract. The generator has made sure that it compiles.
fn matches(pattern: &'static str, text: &str) -> bool {
    static COMPILED: LazyLock<Mutex<HashMap<&'static str, Option<Regex>>>> =
        LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let regex = compiled
        .entry(pattern)
        .or_insert_with(|| Regex::new(pattern).ok());
    regex.as_ref().is_none_or(|regex| regex.is_match(text))
}

fn is_format(format: &str, text: &str) -> bool {
    match format {
        // RFC 3339 section 5.6: the date alone, or a time without its offset, is none.
        "date-time" => {
            matches(
                r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$",
                text,
            ) && text.parse::<jiff::Timestamp>().is_ok()
        }
        "uri" => is_uri_text(text) && url::Url::parse(text).is_ok(),
        "uri-reference" => {
            is_uri_text(text)
                && url::Url::parse("https://base.invalid/")
                    .is_ok_and(|base| base.join(text).is_ok())
        }
        "uuid" => text.len() == 36 && uuid::Uuid::try_parse(text).is_ok(),
        _ => true,
    }
}

/// RFC 3986 knows only visible ASCII; the URL parser would quietly encode the rest.
fn is_uri_text(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn broken(value: Value, rules: &'static [Check]) -> Vec<String> {
        match validate(&value, rules) {
            Ok(()) => Vec::new(),
            Err(violations) => violations
                .as_slice()
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }

    #[test]
    fn every_rule_says_what_must_be() {
        const VERSION: &[Check] = &[Check::Pattern(r"^\d{4}-\d{2}-\d{2}$")];
        assert_eq!(broken(json!("2026-04-08"), VERSION), [""; 0]);
        assert_eq!(
            broken(json!("٢٠٢٦-04-08"), VERSION),
            [r"$: must match `^\d{4}-\d{2}-\d{2}$`"]
        );
        assert_eq!(broken(json!(7), VERSION), [""; 0]);
        assert_eq!(
            broken(
                json!({"quantity": 0}),
                &[Check::Member("quantity", &[Check::Minimum(1)])]
            ),
            ["$.quantity: must be at least 1"]
        );
        assert_eq!(
            broken(json!(-0.5), &[Check::Minimum(0)]),
            ["$: must be at least 0"]
        );
        assert_eq!(
            broken(json!(0), &[Check::ExclusiveMaximum(0)]),
            ["$: must be less than 0"]
        );
        assert_eq!(
            broken(json!({}), &[Check::MinProperties(1)]),
            ["$: must have at least 1 members"]
        );
        assert_eq!(
            broken(json!([1, 2, 1]), &[Check::UniqueItems]),
            ["$: must not have an item twice"]
        );
        assert_eq!(
            broken(
                json!({"bogus KEY!": 1}),
                &[Check::Names(&[Check::Pattern("^[a-z.]+$")])]
            ),
            [r#"$["bogus KEY!"]: must match `^[a-z.]+$`"#]
        );
        assert_eq!(
            broken(json!({"a": 1}), &[Check::Dependent("a", &["b"])]),
            ["$: must have `b` when it has `a`"]
        );
        assert_eq!(
            broken(
                json!({"a": [1], "b": 1}),
                &[Check::Values(&["b"], &[Check::Type(&["string"])])]
            ),
            ["$.a: must be of type string"]
        );
    }

    #[test]
    fn totals_have_one_subtotal_and_one_total() {
        const ONE: &[Check] = &[
            Check::Required(&["type"]),
            Check::Member("type", &[Check::Const(Literal::Text("total"))]),
        ];
        const TOTALS: &[Check] = &[Check::Contains(ONE, 1, Some(1))];
        assert_eq!(broken(json!([{"type": "total"}]), TOTALS), [""; 0]);
        assert_eq!(
            broken(json!([]), TOTALS),
            ["$: must contain exactly 1 item whose `type` is `total`, and contains 0"]
        );
        assert_eq!(
            broken(json!([{"type": "total"}, {"type": "total"}]), TOTALS).len(),
            1
        );
    }

    #[test]
    fn conditions_apply_to_what_meets_them() {
        const PAGE: &[Check] = &[Check::When(
            &[
                Check::Required(&["has_next_page"]),
                Check::Member("has_next_page", &[Check::Const(Literal::Bool(true))]),
            ],
            &[Check::Required(&["cursor"])],
            &[],
        )];
        assert_eq!(broken(json!({"has_next_page": false}), PAGE), [""; 0]);
        assert_eq!(
            broken(json!({"has_next_page": true}), PAGE),
            ["$: must have `cursor`"]
        );
        assert_eq!(
            broken(
                json!(1),
                &[Check::OneOf(&[&[Check::Minimum(0)], &[Check::Maximum(2)]])]
            )
            .len(),
            1
        );
        assert_eq!(
            broken(json!(1), &[Check::Not(&[Check::Minimum(2)])]),
            [""; 0]
        );
    }

    #[test]
    fn formats() {
        for (format, text, good) in [
            ("date-time", "2026-04-08T10:00:00.000+02:00", true),
            ("date-time", "2026-04-08T10:00:00", false),
            ("date-time", "2026-04-08", false),
            ("date-time", "2026-13-08T10:00:00Z", false),
            ("uri", "https://shop.example/a?b=c", true),
            ("uri", "not-a-url", false),
            ("uri", "https://shop.example/a b", false),
            ("uri-reference", "/a?b", true),
            ("uuid", "048da4dd-9d3c-4184-8cce-43348688fad0", true),
            ("uuid", "048da4dd9d3c41848cce43348688fad0", false),
            ("hostname", "anything", true),
        ] {
            assert_eq!(is_format(format, text), good, "{format} {text}");
        }
    }
}
