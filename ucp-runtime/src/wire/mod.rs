//! How generated types meet JSON: reading what arrived without losing any of it, writing what is
//! sent in one order.
//!
//! Generated structs implement [`Object`] by [`object!`](crate::object), generated vocabularies
//! [`Vocabulary`] by [`vocabulary!`](crate::vocabulary), each from a table of what they hold; generated
//! unions implement [`Union`]. [`serde::Serialize`], [`serde::Deserialize`] and
//! [`Debug`](std::fmt::Debug) follow from those. Reading goes through a [`serde_json::Value`] rather than
//! through serde's visitors: a union is then decided by what it carries instead of by trial, every
//! error names its JSON path, and each type adds little code.
//!
//! # What reading forgives
//!
//! Merchants send slightly wrong documents, and a checkout must not be lost over one. Reading
//! accepts, with a [`Note`]: `null` for an absent optional member, an empty array where a map or an
//! object is declared, an integer written as an integral float (`1000.0`), an absent required map,
//! and a union member whose tag is known but whose content does not fit (kept whole in the unknown
//! arm). All else is a [`DecodeError`].

mod check;
mod debug;
mod macros;
mod note;
pub(crate) mod path;
mod read;
mod types;
mod write;

pub use check::{
    Check, Literal, Violation, Violations, knows, object_rules, union_rules, validate,
    validate_value,
};
pub use debug::debug;
pub use note::{DecodeError, Note};
pub use path::JsonPath;
pub use read::{
    Members, Object, Read, ReadArm, Reader, Union, Vocabulary, deserialize, has, project,
    read_body, tag,
};
#[doc(hidden)]
pub use read::{next_name, read_object, read_union, read_vocabulary};
pub use types::{OneOrMany, SafeInteger, UnknownObject, UnknownValue};
pub use write::{Sink, serialize};

/// The members of a JSON object that its type does not declare, kept and written back.
pub type Map = serde_json::Map<String, serde_json::Value>;
#[doc(hidden)]
pub use crate::{object, setters, vocabulary};
pub use serde_json::Value;
