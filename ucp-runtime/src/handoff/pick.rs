//! Takes what decides out of bytes, JSON or a typed value, into one small tree, and builds nothing of
//! the rest.

use super::view::SERVICE;
use crate::wire::{Map, Object, Sink};
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer,
};
use serde_json::Value;
use std::fmt;

/// What is taken at a place: of an object some members, of a list its items; of all else that it is
/// there, or its text.
enum Shape {
    Text,
    Object(&'static [Member]),
    List(&'static Shape),
}

type Member = (&'static str, Shape);

const TEXTS: Shape = Shape::List(&Shape::Text);

const MEMBERS: &[Member] = &[
    (
        "ucp",
        Shape::Object(&[
            ("version", Shape::Text),
            ("status", Shape::Text),
            ("services", Shape::Object(&[(SERVICE, BINDINGS)])),
        ]),
    ),
    ("status", Shape::Text),
    ("messages", Shape::List(&Shape::Object(MESSAGE))),
    ("continue_url", Shape::Text),
    ("order", Shape::Object(ORDER)),
    ("expires_at", Shape::Text),
];

const BINDINGS: Shape = Shape::List(&Shape::Object(&[
    ("transport", Shape::Text),
    (
        "config",
        Shape::Object(&[("delegate", TEXTS), ("color_scheme", TEXTS)]),
    ),
]));

const MESSAGE: &[Member] = &[
    ("type", Shape::Text),
    ("code", Shape::Text),
    ("path", Shape::Text),
    ("content", Shape::Text),
    ("message", Shape::Text),
    ("content_type", Shape::Text),
    ("severity", Shape::Text),
    ("presentation", Shape::Text),
    ("url", Shape::Text),
    ("image_url", Shape::Text),
];

const ORDER: &[Member] = &[
    ("id", Shape::Text),
    ("label", Shape::Text),
    ("permalink_url", Shape::Text),
];

/// What was taken. A value that is not what its place wants is `Other`.
#[derive(Debug, PartialEq)]
pub(super) enum Tree {
    Null,
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(&'static str, Tree)>),
    Other,
}

impl Tree {
    /// A member, taken out.
    pub(super) fn take(&mut self, name: &str) -> Option<Self> {
        let Self::Object(members) = self else {
            return None;
        };
        // The last of a name counts, as in a map.
        let at = members.iter().rposition(|(member, _)| *member == name)?;
        Some(members.remove(at).1)
    }

    /// A member's text, taken out.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.take(name)?.into_text()
    }

    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn into_list(self) -> Option<Vec<Self>> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }
}

/// What decides, out of a body's bytes. What else the body has must be JSON, and is not looked at.
pub(super) fn from_bytes(body: &[u8]) -> Result<Tree, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let tree = Picker(&Shape::Object(MEMBERS)).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(tree)
}

/// What decides, out of a body that was read already.
pub(super) fn from_value(body: &Value) -> Tree {
    // A `Value` is a deserializer that cannot fail on the way to what takes any value.
    Picker(&Shape::Object(MEMBERS))
        .deserialize(body)
        .unwrap_or(Tree::Other)
}

/// What is taken of a message.
pub(super) fn message(message: &Value) -> Tree {
    Picker(&Shape::Object(MESSAGE))
        .deserialize(message)
        .unwrap_or(Tree::Other)
}

/// What decides, out of a typed value.
pub(super) fn from_object<T: Object>(body: &T) -> Result<Tree, serde_json::Error> {
    let mut members = Members::of(MEMBERS);
    body.write_members(&mut members)?;
    Ok(Tree::Object(members.taken))
}

fn named(members: &'static [Member], name: &str) -> Option<&'static Member> {
    members.iter().find(|(member, _)| *member == name)
}

/// Reads what is taken at a place.
struct Picker(&'static Shape);

impl<'de> DeserializeSeed<'de> for Picker {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Picker {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let Shape::Object(members) = self.0 else {
            while access.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Tree::Other);
        };
        let mut taken = Vec::new();
        while let Some(member) = access.next_key_seed(Name(members))? {
            match member {
                Some((name, shape)) => taken.push((*name, access.next_value_seed(Picker(shape))?)),
                None => {
                    access.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Tree::Object(taken))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let Shape::List(of) = self.0 else {
            while access.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Tree::Other);
        };
        let mut taken = Vec::new();
        while let Some(item) = access.next_element_seed(Picker(of))? {
            taken.push(item);
        }
        Ok(Tree::List(taken))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(match self.0 {
            Shape::Text => Tree::Text(text.to_owned()),
            _ => Tree::Other,
        })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Other)
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }
}

/// Which of the members a name is.
struct Name(&'static [Member]);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<&'static Member>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<&'static Member>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(named(self.0, name))
    }
}

/// Takes members of an object that is written.
struct Members {
    of: &'static [Member],
    taken: Vec<(&'static str, Tree)>,
    /// The member whose value comes next.
    next: Option<&'static Member>,
}

impl Members {
    fn of(of: &'static [Member]) -> Self {
        Self {
            of,
            taken: Vec::new(),
            next: None,
        }
    }

    fn put_next<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        if let Some((name, shape)) = self.next.take() {
            self.taken.push((name, value.serialize(Writer(shape))?));
        }
        Ok(())
    }
}

impl Sink for Members {
    type Error = serde_json::Error;

    fn put<T: Serialize + fmt::Debug + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), Self::Error> {
        self.next = named(self.of, name);
        self.put_next(value)
    }

    fn put_rest(&mut self, rest: &Map, declared: &[&str]) -> Result<(), Self::Error> {
        // Only a few names count: there is no need to go through all.
        for (name, _) in self.of {
            if !declared.contains(name)
                && let Some(value) = rest.get(*name)
            {
                self.put(name, value)?;
            }
        }
        Ok(())
    }
}

/// Compares a name as it is written, so that none is copied.
struct Matcher {
    of: &'static [Member],
    found: Option<&'static Member>,
}

impl fmt::Write for Matcher {
    fn write_str(&mut self, name: &str) -> fmt::Result {
        self.found = named(self.of, name);
        Ok(())
    }
}

struct Written<'k, K: ?Sized>(&'k K);

impl<K: Serialize + ?Sized> fmt::Display for Written<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

impl SerializeMap for Members {
    type Ok = Tree;
    type Error = serde_json::Error;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Self::Error> {
        let mut matcher = Matcher {
            of: self.of,
            found: None,
        };
        fmt::write(&mut matcher, format_args!("{}", Written(key)))
            .map_err(|_| serde_json::Error::custom("a name that is no text"))?;
        self.next = matcher.found;
        Ok(())
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Self::Error> {
        self.put_next(value)
    }

    fn end(self) -> Result<Tree, Self::Error> {
        Ok(Tree::Object(self.taken))
    }
}

impl SerializeStruct for Members {
    type Ok = Tree;
    type Error = serde_json::Error;

    fn serialize_field<V: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &V,
    ) -> Result<(), Self::Error> {
        self.next = named(self.of, name);
        self.put_next(value)
    }

    fn end(self) -> Result<Tree, Self::Error> {
        Ok(Tree::Object(self.taken))
    }
}

/// Takes the items of a list that is written.
struct Items {
    of: Option<&'static Shape>,
    taken: Vec<Tree>,
}

impl SerializeSeq for Items {
    type Ok = Tree;
    type Error = serde_json::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Self::Error> {
        if let Some(of) = self.of {
            self.taken.push(item.serialize(Writer(of))?);
        }
        Ok(())
    }

    fn end(self) -> Result<Tree, Self::Error> {
        Ok(match self.of {
            Some(_) => Tree::List(self.taken),
            None => Tree::Other,
        })
    }
}

/// Takes what counts at a place of a value that is written.
struct Writer(&'static Shape);

type Never = Impossible<Tree, serde_json::Error>;

/// A form that no type of a contract has.
fn refused<T>() -> Result<T, serde_json::Error> {
    Err(serde_json::Error::custom("not a form of JSON"))
}

macro_rules! others {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, _: $type) -> Result<Tree, Self::Error> {
            Ok(Tree::Other)
        }
    )*};
}

impl Serializer for Writer {
    type Ok = Tree;
    type Error = serde_json::Error;
    type SerializeSeq = Items;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Never;

    others! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_bytes: &[u8],
    }

    fn serialize_str(self, text: &str) -> Result<Tree, Self::Error> {
        Picker(self.0).visit_str(text)
    }

    fn serialize_none(self) -> Result<Tree, Self::Error> {
        Ok(Tree::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Tree, Self::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Tree, Self::Error> {
        Ok(Tree::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Tree, Self::Error> {
        Ok(Tree::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Tree, Self::Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Tree, Self::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Tree, Self::Error> {
        refused()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items, Self::Error> {
        Ok(Items {
            of: match self.0 {
                Shape::List(of) => Some(of),
                _ => None,
            },
            taken: Vec::new(),
        })
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, Self::Error> {
        refused()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, Self::Error> {
        refused()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Self::Error> {
        refused()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, Self::Error> {
        Ok(Members::of(match self.0 {
            Shape::Object(members) => members,
            _ => &[],
        }))
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Members, Self::Error> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Self::Error> {
        refused()
    }
}
