//! The shapes that no Rust type says by itself.

use super::{DecodeError, Map, Read, Reader};
use serde_json::Value;
use std::fmt;

/// A string outside the vocabulary that this release of the contract lists. Only reading makes one,
/// so it can be looked at and written back, but not invented.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnknownValue(Box<str>);

impl UnknownValue {
    pub(super) fn new(text: String) -> Self {
        Self(text.into())
    }

    /// The string as it arrived.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// An object that fits no arm of its union. Only reading makes one, so it can be looked at and
/// written back, but not invented.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct UnknownObject(Map);

impl UnknownObject {
    pub(super) fn new(members: Map) -> Self {
        Self(members)
    }

    /// The object's members as they arrived.
    #[must_use]
    pub fn members(&self) -> &Map {
        &self.0
    }
}

/// Shows the names of the members only: what an unknown object holds may be a secret.
impl fmt::Debug for UnknownObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UnknownObject")
            .field(&self.0.keys().collect::<Vec<_>>())
            .finish()
    }
}

impl serde::Serialize for UnknownObject {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// An integer within 2^53, as far as every JSON reader keeps one (RFC 8259 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SafeInteger(i64);

impl SafeInteger {
    /// The integer.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl Read for SafeInteger {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        const MAX: u64 = 9_007_199_254_740_991;
        let integer = i64::read(value, reader)?;
        if integer.unsigned_abs() > MAX {
            return Err(DecodeError {
                found: "an integer beyond it",
                ..reader.error("an integer within 2^53", None)
            });
        }
        Ok(Self(integer))
    }
}

/// Where the contract allows one value or a list of them; written back as it arrived.
///
/// ```
/// use ucp_runtime::wire::OneOrMany;
/// let extends: OneOrMany<String> = serde_json::from_str(r#""dev.ucp.shopping.checkout""#)?;
/// assert_eq!(extends.as_slice(), ["dev.ucp.shopping.checkout"]);
/// assert_eq!(serde_json::to_string(&extends)?, r#""dev.ucp.shopping.checkout""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OneOrMany<T> {
    /// One value.
    One(T),
    /// A list of values.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values, however they were written.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl<T> From<T> for OneOrMany<T> {
    fn from(one: T) -> Self {
        Self::One(one)
    }
}

impl<T: Read> Read for OneOrMany<T> {
    fn read(value: Value, reader: &mut Reader) -> Result<Self, DecodeError> {
        if value.is_array() {
            Vec::read(value, reader).map(Self::Many)
        } else {
            T::read(value, reader).map(Self::One)
        }
    }
}

impl<T: serde::Serialize> serde::Serialize for OneOrMany<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(one) => one.serialize(serializer),
            Self::Many(many) => many.serialize(serializer),
        }
    }
}

impl<'de, T: Read> serde::Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::deserialize(deserializer)
    }
}
