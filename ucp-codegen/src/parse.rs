//! A file's text to a JSON value. A name that an object repeats is a mistake: `serde_json` would keep
//! the last one in silence (RFC 8259 section 4, YAML 1.2 section 3.2.1.3).

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use std::fmt;
use std::path::Path;

/// What is wrong with the text, with line and column where the parser knows them.
pub(crate) type SyntaxError = (String, Option<(u64, u64)>);

/// Reads JSON from a path that ends so, and YAML from any other.
pub(crate) fn parse(path: &str, text: &str) -> Result<Value, SyntaxError> {
    let json = Path::new(path)
        .extension()
        .is_some_and(|ending| ending == "json");
    let parsed = if json {
        serde_json::from_str(text).map_err(|error| {
            let position = (error.line() as u64, error.column() as u64);
            (format!("not JSON: {error}"), Some(position))
        })
    } else {
        serde_yaml::from_str(text).map_err(|error| {
            let position = error
                .location()
                .map(|at| (at.line() as u64, at.column() as u64));
            (format!("not YAML: {error}"), position)
        })
    };
    parsed.map(|Unique(value)| value)
}

/// A value in which no object repeats a name.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            match map.entry(name) {
                Entry::Vacant(entry) => {
                    let Unique(value) = members.next_value()?;
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    return Err(Error::custom(format_args!(
                        "`{}` stands twice in one object",
                        entry.key()
                    )));
                }
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_what_serde_json_reads() {
        let text = r#"{"a": [1, -2, 18446744073709551615, 1.5, null, true, "x\n"], "b": {}}"#;
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        assert_eq!(parse("a.json", text), Ok(value.clone()));
        assert_eq!(parse("a.yaml", text), Ok(value));
        assert_eq!(parse("a.yaml", "a: {b: ~}"), Ok(json!({"a": {"b": null}})));
    }

    #[test]
    fn refuses_a_repeated_name_with_its_place() {
        let (message, position) = parse("a.yaml", "a:\n  b: 1\n  c: 2\n  b: 3\n").unwrap_err();
        assert!(
            message.contains("`b` stands twice in one object"),
            "{message}"
        );
        // The object begins there.
        assert_eq!(position, Some((2, 3)), "{message}");
        let (message, position) = parse("a.json", "{\"b\": 1,\n\"b\": 3}").unwrap_err();
        assert!(
            message.contains("`b` stands twice in one object"),
            "{message}"
        );
        assert_eq!(position.map(|(line, _)| line), Some(2), "{message}");
    }
}
