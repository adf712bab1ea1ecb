//! A file's text to nodes of the tree. A name that an object repeats is a mistake: `serde_json` would
//! keep the last one in silence (RFC 8259 section 4, YAML 1.2 section 3.2.1.3).

use crate::tree::{Kind, Place, Step, Tree};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// What is wrong with the text, with line and column where the parser knows them.
pub(crate) type SyntaxError = (String, Option<(u64, u64)>);

/// Reads JSON from a path that ends so, and YAML from any other. Leaves the tree as it was when the
/// text is neither.
pub(crate) fn parse(path: &str, text: &str, tree: &mut Tree) -> Result<Place, SyntaxError> {
    let start = tree.next();
    let json = Path::new(path)
        .extension()
        .is_some_and(|ending| ending == "json");
    let root = Reading {
        tree,
        step: Step::Root,
        parent: start,
    };
    let parsed = if json {
        let mut reader = serde_json::Deserializer::from_str(text);
        let parsed = root.deserialize(&mut reader).and_then(|()| reader.end());
        parsed.map_err(|error| {
            let position = (error.line() as u64, error.column() as u64);
            (format!("not JSON: {error}"), Some(position))
        })
    } else {
        let parsed = root.deserialize(serde_yaml::Deserializer::from_str(text));
        parsed.map_err(|error| {
            let position = error
                .location()
                .map(|at| (at.line() as u64, at.column() as u64));
            (format!("not YAML: {error}"), position)
        })
    };
    if parsed.is_err() {
        tree.truncate(start);
    }
    parsed.map(|()| start)
}

/// Reads one value into the tree.
struct Reading<'t> {
    tree: &'t mut Tree,
    step: Step,
    parent: Place,
}

impl Reading<'_> {
    fn push(self, kind: Kind) {
        self.tree.push(kind, self.step, self.parent);
    }
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.push(Kind::Bool(value));
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.push(Kind::Number(value.into()));
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.push(Kind::Number(value.into()));
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.push(Number::from_f64(value).map_or(Kind::Null, Kind::Number));
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.push(Kind::Text(value.into()));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.push(Kind::Null);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { tree, step, parent } = self;
        let list = tree.push(Kind::List, step, parent);
        let mut index = 0;
        while let Some(()) = items.next_element_seed(Reading {
            tree,
            step: Step::Item(index),
            parent: list,
        })? {
            index += 1;
        }
        tree.close(list);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        /// Up to here, comparing each name with all before it is the cheapest.
        const FEW: usize = 32;
        let Self { tree, step, parent } = self;
        let object = tree.push(Kind::Object, step, parent);
        let mut count = 0;
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key_seed(Name)? {
            // The members that were read are there to be asked.
            tree.close(object);
            let before = tree.at(object);
            if count == FEW {
                names.extend(before.members().map(|(name, _)| Box::<str>::from(name)));
            }
            let repeated = if count < FEW {
                before.has(&name)
            } else {
                !names.insert(name.clone())
            };
            if repeated {
                return Err(Error::custom(format_args!(
                    "`{name}` stands twice in one object"
                )));
            }
            count += 1;
            members.next_value_seed(Reading {
                tree,
                step: Step::Member(name),
                parent: object,
            })?;
        }
        tree.close(object);
        Ok(())
    }
}

/// Reads the name of a member.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Box<str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Box<str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Box<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, name: &str) -> Result<Box<str>, E> {
        Ok(name.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn value(path: &str, text: &str) -> Result<Value, SyntaxError> {
        let mut tree = Tree::default();
        parse(path, text, &mut tree).map(|root| tree.at(root).to_value())
    }

    #[test]
    fn reads_what_serde_json_reads() {
        let text = r#"{"a": [1, -2, 18446744073709551615, 1.5, null, true, "x\n"], "b": {}}"#;
        let wanted: Value = serde_json::from_str(text).unwrap_or_default();
        assert_eq!(value("a.json", text), Ok(wanted.clone()));
        assert_eq!(value("a.yaml", text), Ok(wanted));
        assert_eq!(value("a.yaml", "a: {b: ~}"), Ok(json!({"a": {"b": null}})));
    }

    #[test]
    fn refuses_a_repeated_name_with_its_place() {
        let (message, position) = value("a.yaml", "a:\n  b: 1\n  c: 2\n  b: 3\n").unwrap_err();
        assert!(
            message.contains("`b` stands twice in one object"),
            "{message}"
        );
        // The object begins there.
        assert_eq!(position, Some((2, 3)), "{message}");
        let (message, position) = value("a.json", "{\"b\": 1,\n\"b\": 3}").unwrap_err();
        assert!(
            message.contains("`b` stands twice in one object"),
            "{message}"
        );
        assert_eq!(position.map(|(line, _)| line), Some(2), "{message}");
    }

    #[test]
    fn refuses_a_repeated_name_among_many() {
        let mut members: Vec<String> = (0..60).map(|index| format!("\"m{index}\": 1")).collect();
        assert!(value("a.json", &format!("{{{}}}", members.join(","))).is_ok());
        for repeated in [3, 50] {
            members.push(format!("\"m{repeated}\": 2"));
            let (message, _) = value("a.json", &format!("{{{}}}", members.join(","))).unwrap_err();
            assert!(message.contains(&format!("`m{repeated}` stands twice")));
            members.pop();
        }
    }

    #[test]
    fn what_is_no_json_leaves_nothing() {
        let mut tree = Tree::default();
        assert!(parse("a.json", "{\"a\": [1, 2}", &mut tree).is_err());
        assert_eq!(tree.next(), Place(0));
        assert!(parse("a.json", "{} {}", &mut tree).is_err());
    }
}
