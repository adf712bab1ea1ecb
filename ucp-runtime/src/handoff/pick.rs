//! Takes the members that decide out of bytes or a typed value, and builds nothing of the rest.

use super::view::SERVICE;
use crate::wire::{Map, Object, Sink};
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer,
};
use serde_json::Value;
use std::fmt;

/// How much of a value is taken: all of it, or some members of an object.
enum Shape {
    Whole,
    Members(&'static [(&'static str, Shape)]),
}

const MEMBERS: &[(&str, Shape)] = &[
    (
        "ucp",
        Shape::Members(&[
            ("version", Shape::Whole),
            ("status", Shape::Whole),
            ("services", Shape::Members(&[(SERVICE, Shape::Whole)])),
        ]),
    ),
    ("status", Shape::Whole),
    ("messages", Shape::Whole),
    ("continue_url", Shape::Whole),
    ("order", Shape::Whole),
    ("expires_at", Shape::Whole),
];

type Member = (&'static str, Shape);

fn named(members: &'static [Member], name: &str) -> Option<&'static Member> {
    members.iter().find(|(member, _)| *member == name)
}

/// The members that decide, out of a body's bytes. What else the body has must be JSON, and is not
/// looked at.
pub(super) fn from_bytes(body: &[u8]) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let picked = Picked(MEMBERS).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(picked)
}

/// The members that decide, out of a typed value.
pub(super) fn from_object<T: Object>(body: &T) -> Result<Map, serde_json::Error> {
    let mut picker = Picker(Map::new());
    body.write_members(&mut picker)?;
    Ok(picker.0)
}

/// Reads an object by its picked members, and any other value as it is; of an array, that it is one.
struct Picked(&'static [Member]);

impl<'de> DeserializeSeed<'de> for Picked {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Picked {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut picked = Map::new();
        while let Some(member) = access.next_key_seed(Name(self.0))? {
            match member {
                Some((name, Shape::Whole)) => {
                    picked.insert((*name).to_owned(), access.next_value()?);
                }
                Some((name, Shape::Members(inner))) => {
                    let value = access.next_value_seed(Picked(inner))?;
                    picked.insert((*name).to_owned(), value);
                }
                None => {
                    access.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Value::Object(picked))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        while access.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(Vec::new()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
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

struct Picker(Map);

impl Sink for Picker {
    type Error = serde_json::Error;

    fn put<T: Serialize + fmt::Debug + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), Self::Error> {
        if let Some((_, shape)) = named(MEMBERS, name) {
            self.0.insert(name.to_owned(), shape.write(value)?);
        }
        Ok(())
    }
}

impl Shape {
    fn write<T: Serialize + ?Sized>(&self, value: &T) -> Result<Value, serde_json::Error> {
        match self {
            Self::Whole => serde_json::to_value(value),
            Self::Members(members) => value.serialize(Writer(members)),
        }
    }
}

/// Writes an object by its picked members, and any other value as it is; of an array, that it is one.
struct Writer(&'static [Member]);

struct MapWriter {
    members: &'static [Member],
    picked: Map,
    /// The member whose value comes next.
    next: Option<&'static Member>,
}

impl SerializeMap for MapWriter {
    type Ok = Value;
    type Error = serde_json::Error;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Self::Error> {
        self.next = match serde_json::to_value(key)? {
            Value::String(name) => named(self.members, &name),
            _ => None,
        };
        Ok(())
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Self::Error> {
        if let Some((name, shape)) = self.next.take() {
            self.picked.insert((*name).to_owned(), shape.write(value)?);
        }
        Ok(())
    }

    fn end(self) -> Result<Value, Self::Error> {
        Ok(Value::Object(self.picked))
    }
}

struct ArrayWriter;

impl SerializeSeq for ArrayWriter {
    type Ok = Value;
    type Error = serde_json::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Self::Error> {
        Ok(())
    }

    fn end(self) -> Result<Value, Self::Error> {
        Ok(Value::Array(Vec::new()))
    }
}

impl SerializeStruct for MapWriter {
    type Ok = Value;
    type Error = serde_json::Error;

    fn serialize_field<V: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &V,
    ) -> Result<(), Self::Error> {
        self.next = named(self.members, name);
        self.serialize_value(value)
    }

    fn end(self) -> Result<Value, Self::Error> {
        Ok(Value::Object(self.picked))
    }
}

type Never = Impossible<Value, serde_json::Error>;

/// A form that no type of a contract has.
fn refused<T>() -> Result<T, serde_json::Error> {
    Err(serde_json::Error::custom("neither an object nor a value"))
}

macro_rules! scalars {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<Value, Self::Error> {
            Ok(value.into())
        }
    )*};
}

impl Serializer for Writer {
    type Ok = Value;
    type Error = serde_json::Error;
    type SerializeSeq = ArrayWriter;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = MapWriter;
    type SerializeStruct = MapWriter;
    type SerializeStructVariant = Never;

    scalars! {
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
        serialize_str: &str,
    }

    fn serialize_char(self, value: char) -> Result<Value, Self::Error> {
        Ok(value.to_string().into())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Value, Self::Error> {
        refused()
    }

    fn serialize_none(self) -> Result<Value, Self::Error> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Self::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Self::Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Self::Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, Self::Error> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value, Self::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Value, Self::Error> {
        refused()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ArrayWriter, Self::Error> {
        Ok(ArrayWriter)
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

    fn serialize_map(self, _: Option<usize>) -> Result<MapWriter, Self::Error> {
        Ok(MapWriter {
            members: self.0,
            picked: Map::new(),
            next: None,
        })
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<MapWriter, Self::Error> {
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
