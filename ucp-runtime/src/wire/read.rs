//! Reading JSON values into types.

use super::note::KEPT;
use super::path::Segment;
use super::{DecodeError, JsonPath, Map, Note, SafeInteger, UnknownObject, UnknownValue};
use serde::de::Error as _;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A type that can be read from a JSON value.
pub trait Read: Sized {
    /// Whether `null` is a value of the type, and so never stands for an absent member.
    const NULL: bool = false;

    /// Reads the value that stands where `reader` is.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when the value does not fit the type.
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError>;

    /// What a required member of this type is when a document leaves it out: an empty map for a
    /// map, nothing for all other types.
    fn absent() -> Option<Self> {
        None
    }
}

/// A generated struct: a JSON object with declared members and an open rest.
pub trait Object: Sized {
    /// The Rust name of the type.
    const NAME: &'static str;
    /// The names of the declared members, in the contract's order.
    const MEMBERS: &'static [&'static str];
    /// What the contract demands beyond what the members' types hold.
    const RULES: &'static [super::Check] = &[];
    /// Members that [`Debug`](std::fmt::Debug) never shows. `["*"]` hides all but `type`.
    const SECRETS: &'static [&'static str] = &[];

    /// Takes the declared members out of an object; the rest stays in [`Members::rest`].
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when a member is missing or does not fit.
    fn read_members(members: &mut Members<'_>) -> Result<Self, DecodeError>;

    /// Writes the declared members in the contract's order, then the rest.
    ///
    /// # Errors
    ///
    /// Whatever the sink reports.
    fn write_members<S: super::Sink>(&self, sink: &mut S) -> Result<(), S::Error>;
}

/// A generated vocabulary: known strings, and one arm for those still to come.
pub trait Vocabulary: Sized {
    /// The Rust name of the type.
    const NAME: &'static str;
    /// The arm that a known string stands for.
    fn known(text: &str) -> Option<Self>;
    /// The arm for all other strings.
    fn unknown(value: UnknownValue) -> Self;
    /// The string on the wire.
    fn as_str(&self) -> &str;
}

/// Reads one arm of a union.
pub type ReadArm<T> = fn(Value, &mut Reader) -> Result<T, DecodeError>;

/// A generated union of objects, decided by what the object carries.
pub trait Union: Sized {
    /// The Rust name of the type.
    const NAME: &'static str;
    /// What the contract demands beyond what the arms' types hold.
    const RULES: &'static [super::Check] = &[];
    /// Reads the arm that the object's content selects. `None` when no arm is selected; the object
    /// is then kept as it is by [`Union::unknown`].
    fn select(value: &Value) -> Option<ReadArm<Self>>;
    /// The arm for objects that no other arm fits.
    fn unknown(object: UnknownObject) -> Self;
    /// Writes the arm's object.
    ///
    /// # Errors
    ///
    /// Whatever the serializer reports.
    fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// The place that reading has reached, and what it noted on the way.
#[derive(Debug, Default)]
pub struct Reader {
    path: JsonPath,
    notes: Vec<Note>,
    /// Whether members that a type does not declare are dropped rather than kept.
    declared_only: bool,
}

impl Reader {
    /// What was accepted although the contract does not allow it.
    #[must_use]
    pub fn into_notes(self) -> Vec<Note> {
        self.notes
    }

    /// Records something accepted at the current place.
    pub fn note(&mut self, text: impl Into<Cow<'static, str>>) {
        self.notes.push(Note {
            path: self.path.clone(),
            text: text.into(),
        });
    }

    /// An error at the current place.
    pub fn error(
        &self,
        expected: impl Into<Cow<'static, str>>,
        found: Option<&Value>,
    ) -> DecodeError {
        DecodeError {
            path: self.path.clone(),
            expected: expected.into(),
            found: found.map_or("nothing", kind),
        }
    }

    fn within<T>(
        &mut self,
        segment: Segment,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        self.path.0.push(segment);
        let result = read(self);
        self.path.0.pop();
        result
    }

    /// The members of an object. An empty array passes for an empty object, with a note: servers
    /// that keep maps and lists in one type print it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when the value is not an object.
    pub fn object(&mut self, value: Value, expected: &'static str) -> Result<Map, DecodeError> {
        match value {
            Value::Object(map) => Ok(map),
            Value::Array(items) if items.is_empty() => {
                self.note("an empty array where an object is declared, read as an empty object");
                Ok(Map::new())
            }
            other => Err(self.error(expected, Some(&other))),
        }
    }
}

/// The members of the object that is being read.
#[derive(Debug)]
pub struct Members<'r> {
    map: Map,
    reader: &'r mut Reader,
}

impl Members<'_> {
    /// A member that must be there.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it is missing or does not fit.
    pub fn required<T: Read>(&mut self, name: &'static str) -> Result<T, DecodeError> {
        let value = self.map.remove(name);
        self.reader
            .within(Segment::Member(Cow::Borrowed(name)), |reader| match value {
                Some(value) => T::read(value, reader),
                None => match T::absent() {
                    Some(empty) => {
                        reader.note("absent though required, read as empty");
                        Ok(empty)
                    }
                    None => Err(reader.error("a required member", None)),
                },
            })
    }

    /// A member that may be absent. `null` passes for absent, with a note, unless it is a value of the
    /// type.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it is there and does not fit.
    pub fn optional<T: Read>(&mut self, name: &'static str) -> Result<Option<T>, DecodeError> {
        let Some(value) = self.map.remove(name) else {
            return Ok(None);
        };
        self.reader
            .within(Segment::Member(Cow::Borrowed(name)), |reader| {
                if value.is_null() && !T::NULL {
                    reader.note("null for an optional member, read as absent");
                    return Ok(None);
                }
                T::read(value, reader).map(Some)
            })
    }

    /// A member that may be absent, and may be `null`: `None` is absent, `Some(None)` is `null`.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it is neither and does not fit.
    pub fn nullable<T: Read>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Option<T>>, DecodeError> {
        match self.map.remove(name) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(value) => self
                .reader
                .within(Segment::Member(Cow::Borrowed(name)), |reader| {
                    T::read(value, reader)
                })
                .map(|value| Some(Some(value))),
        }
    }

    /// As [`required`](Self::required), for an integer that is refused beyond 2^53.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it is missing or does not fit.
    pub fn safe(&mut self, name: &'static str) -> Result<i64, DecodeError> {
        self.required(name).map(SafeInteger::get)
    }

    /// As [`optional`](Self::optional), for an integer that is refused beyond 2^53.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it is there and does not fit.
    pub fn optional_safe(&mut self, name: &'static str) -> Result<Option<i64>, DecodeError> {
        let integer = self.optional(name)?;
        Ok(integer.map(SafeInteger::get))
    }

    /// A required member whose only value is `value`; the type has no field for it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it is missing or differs.
    pub fn constant(&mut self, name: &'static str, value: &'static str) -> Result<(), DecodeError> {
        let found = self.map.remove(name);
        if found.as_ref().and_then(Value::as_str) == Some(value) {
            return Ok(());
        }
        self.reader
            .within(Segment::Member(Cow::Borrowed(name)), |reader| {
                Err(match found {
                    Some(Value::String(_)) => DecodeError {
                        found: "another string",
                        ..reader.error(format!("\"{value}\""), None)
                    },
                    other => reader.error(format!("\"{value}\""), other.as_ref()),
                })
            })
    }

    /// The members that no call before took.
    pub fn rest(&mut self) -> Map {
        if self.reader.declared_only {
            Map::new()
        } else {
            std::mem::take(&mut self.map)
        }
    }
}

/// The next of an object's member names; what [`object!`](crate::object) reads and writes by.
#[doc(hidden)]
pub fn next_name(names: &mut std::slice::Iter<'static, &'static str>) -> &'static str {
    names.next().copied().unwrap_or_default()
}

/// Reads a generated struct; what [`impl_object!`](crate::impl_object) calls.
#[doc(hidden)]
pub fn read_object<T: Object>(value: Value, reader: &mut Reader) -> Result<T, DecodeError> {
    let map = reader.object(value, "an object")?;
    T::read_members(&mut Members { map, reader })
}

/// Reads a generated vocabulary; what [`impl_vocabulary!`](crate::impl_vocabulary) calls.
#[doc(hidden)]
pub fn read_vocabulary<T: Vocabulary>(value: Value, reader: &mut Reader) -> Result<T, DecodeError> {
    let text = String::read(value, reader)?;
    Ok(T::known(&text).unwrap_or_else(|| T::unknown(UnknownValue::new(text))))
}

/// Reads a generated union; what [`impl_union!`](crate::impl_union) calls.
#[doc(hidden)]
pub fn read_union<T: Union>(value: Value, reader: &mut Reader) -> Result<T, DecodeError> {
    let Some(read) = T::select(&value) else {
        return Ok(T::unknown(UnknownObject::new(
            reader.object(value, "an object")?,
        )));
    };
    let noted = reader.notes.len();
    let depth = reader.path.0.len();
    match read(value.clone(), reader) {
        Ok(arm) => Ok(arm),
        Err(error) => {
            reader.path.0.truncate(depth);
            reader.notes.truncate(noted);
            let object = reader.object(value, "an object")?;
            reader.note(format!("{KEPT}{error}"));
            Ok(T::unknown(UnknownObject::new(object)))
        }
    }
}

/// Reads a body: a value and what was forgiven in it.
///
/// # Errors
///
/// [`DecodeError`] when the value does not fit the type.
pub fn read_body<T: Read>(value: Value) -> Result<(T, Vec<Note>), DecodeError> {
    let mut reader = Reader::default();
    let body = T::read(value, &mut reader)?;
    Ok((body, reader.into_notes()))
}

/// Turns a value of one view into another view of the same definition: what the other does not
/// declare is left out, at every depth. What `update_from` of generated types does.
///
/// # Errors
///
/// [`DecodeError`] when the value lacks what the other view requires.
pub fn project<T: Read>(from: &impl serde::Serialize) -> Result<T, DecodeError> {
    let mut reader = Reader {
        declared_only: true,
        ..Reader::default()
    };
    match serde_json::to_value(from) {
        Ok(value) => T::read(value, &mut reader),
        Err(_) => Err(reader.error("a value that serialises", None)),
    }
}

/// [`serde::Deserialize`] for a type that is [`Read`].
///
/// # Errors
///
/// The deserializer's error, with the text of [`DecodeError`].
pub fn deserialize<'de, T: Read, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = <Value as serde::Deserialize>::deserialize(deserializer)?;
    T::read(value, &mut Reader::default()).map_err(D::Error::custom)
}

/// The string under `name` of an object, by which a tagged union is decided.
#[must_use]
pub fn tag<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

/// Whether an object has a member that is not `null`, by which an untagged union is decided.
#[must_use]
pub fn has(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|member| !member.is_null())
}

/// A JSON type's name with its article.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fraction or a number beyond 64 bits",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl Read for Value {
    const NULL: bool = true;

    fn read(value: Value, _: &mut Reader) -> Result<Self, DecodeError> {
        Ok(value)
    }
}

impl Read for Map {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        reader.object(value, "an object")
    }
}

impl Read for String {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(reader.error("a string", Some(&other))),
        }
    }
}

impl Read for bool {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        value
            .as_bool()
            .ok_or_else(|| reader.error("a boolean", Some(&value)))
    }
}

impl Read for i64 {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        if let Some(integer) = value.as_i64() {
            return Ok(integer);
        }
        // Beyond 2^53 a float no longer says which integer was meant, so none is guessed.
        const EXACT: f64 = 9_007_199_254_740_991.0;
        match value {
            Value::Number(ref number) => match number.as_f64() {
                Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
                    reader.note("an integer written as a float");
                    #[expect(clippy::cast_possible_truncation, reason = "integral and within 2^53")]
                    Ok(float as i64)
                }
                _ => Err(reader.error("an integer of 64 bits", Some(&value))),
            },
            other => Err(reader.error("an integer", Some(&other))),
        }
    }
}

impl Read for f64 {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        value
            .as_f64()
            .ok_or_else(|| reader.error("a number", Some(&value)))
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        match value {
            Value::Array(items) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| {
                    reader.within(Segment::Index(index), |reader| T::read(item, reader))
                })
                .collect(),
            other => Err(reader.error("an array", Some(&other))),
        }
    }
}

impl<T: Read> Read for BTreeMap<String, T> {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        reader
            .object(value, "an object used as a map")?
            .into_iter()
            .map(|(key, value)| {
                let item = reader.within(Segment::Member(Cow::Owned(key.clone())), |reader| {
                    T::read(value, reader)
                })?;
                Ok((key, item))
            })
            .collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Read> Read for Box<T> {
    const NULL: bool = T::NULL;

    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        T::read(value, reader).map(Box::new)
    }
}

/// A value that may be `null`, as an item of a list or a map.
impl<T: Read> Read for Option<T> {
    const NULL: bool = true;

    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        if value.is_null() {
            Ok(None)
        } else {
            T::read(value, reader).map(Some)
        }
    }
}
