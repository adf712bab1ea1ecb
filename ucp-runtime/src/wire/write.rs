//! Writing types as JSON, always in the same order.

use super::{Map, Object};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::fmt::Debug;

/// Where an object's members go: to a serializer, or to a debug print that hides secrets.
pub trait Sink {
    /// What can go wrong.
    type Error;

    /// Writes one member.
    ///
    /// # Errors
    ///
    /// Whatever the sink reports.
    fn put<T: Serialize + Debug + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), Self::Error>;

    /// Writes a member that is always there.
    ///
    /// # Errors
    ///
    /// Whatever the sink reports.
    fn required<T: Serialize + Debug + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), Self::Error> {
        self.put(name, value)
    }

    /// Writes a member unless it is absent.
    ///
    /// # Errors
    ///
    /// Whatever the sink reports.
    fn optional<T: Serialize + Debug>(
        &mut self,
        name: &str,
        value: &Option<T>,
    ) -> Result<(), Self::Error> {
        value.as_ref().map_or(Ok(()), |value| self.put(name, value))
    }

    /// Writes a member unless it is absent; it may be `null`.
    ///
    /// # Errors
    ///
    /// Whatever the sink reports.
    fn nullable<T: Serialize + Debug>(
        &mut self,
        name: &str,
        value: &Option<Option<T>>,
    ) -> Result<(), Self::Error> {
        self.optional(name, value)
    }

    /// Writes an integer that is always there.
    ///
    /// # Errors
    ///
    /// Whatever the sink reports.
    fn safe(&mut self, name: &str, value: &i64) -> Result<(), Self::Error> {
        self.put(name, value)
    }

    /// Writes an integer unless it is absent.
    ///
    /// # Errors
    ///
    /// Whatever the sink reports.
    fn optional_safe(&mut self, name: &str, value: &Option<i64>) -> Result<(), Self::Error> {
        self.optional(name, value)
    }

    /// Writes the members that the type does not declare. One that a caller gave a declared name
    /// is left out: a JSON object must not say two things.
    ///
    /// # Errors
    ///
    /// Whatever the sink reports.
    fn put_rest(&mut self, rest: &Map, declared: &[&str]) -> Result<(), Self::Error> {
        rest.iter()
            .filter(|(name, _)| !declared.contains(&name.as_str()))
            .try_for_each(|(name, value)| self.put(name, value))
    }
}

struct MapSink<M>(M);

impl<M: SerializeMap> Sink for MapSink<M> {
    type Error = M::Error;

    fn put<T: Serialize + Debug + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), M::Error> {
        self.0.serialize_entry(name, value)
    }
}

/// [`serde::Serialize`] for a generated struct.
///
/// # Errors
///
/// Whatever the serializer reports.
pub fn serialize<T: Object, S: Serializer>(object: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut sink = MapSink(serializer.serialize_map(None)?);
    object.write_members(&mut sink)?;
    sink.0.end()
}
