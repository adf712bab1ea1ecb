//! Lines and columns. The YAML reader of the pipeline keeps none, so a file that has a mistake is
//! read once more by a parser that does, JSON and YAML alike.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;

/// The line and column, from 1, of the member or item that an RFC 6901 pointer names. Where the
/// pointer goes further than the file, the last step that is there.
pub(crate) fn of(text: &str, pointer: &str) -> Option<(u64, u64)> {
    // A contract may be larger and deeper than what the parser allows a stranger's YAML to be.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: 5_000_000, max_depth: 512 },
        strict_booleans: true,
    };
    let root: Spanned<Node> = serde_saphyr::from_str_with_options(text, options).ok()?;
    let mut found = (root.referenced.line(), root.referenced.column());
    let mut node = &root;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        match &node.value {
            Node::Map(entries) => {
                let Some((key, value)) = entries.iter().find(|(key, _)| key.value == token) else {
                    break;
                };
                found = (key.referenced.line(), key.referenced.column());
                node = value;
            }
            Node::List(items) => {
                let Some(item) = token
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index))
                else {
                    break;
                };
                found = (item.referenced.line(), item.referenced.column());
                node = item;
            }
            Node::Scalar => break,
        }
    }
    Some(found)
}

/// A document's structure, with a location on each key and value.
enum Node {
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    Scalar,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

macro_rules! scalars {
    ($($method:ident($type:ty)),*) => {$(
        fn $method<E>(self, _: $type) -> Result<Node, E> {
            Ok(Node::Scalar)
        }
    )*};
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    scalars!(
        visit_bool(bool),
        visit_i64(i64),
        visit_u64(u64),
        visit_i128(i128),
        visit_u128(u128),
        visit_f64(f64),
        visit_str(&str)
    );

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Node::Scalar)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_members_and_items_in_json_and_yaml() {
        let json = "{\n  \"a\": [\n    1,\n    {\"b/c\": true}\n  ]\n}";
        assert_eq!(of(json, "/a/1/b~1c"), Some((4, 6)));
        assert_eq!(of(json, "/a/7/x"), Some((2, 3)));
        assert_eq!(of("a:\n  - x\n  - b: 1\n", "/a/1/b"), Some((3, 5)));
        assert_eq!(of("a: [", "/a"), None);
    }
}
