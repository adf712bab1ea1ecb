//! Stage `model`: what will exist, and what it is called. Plain data, no tokens and no JSON: a
//! person can print it and check it. Names, boxing, derives, constructors and secrets are decided
//! here.

mod boxing;
mod build;
mod docs;
mod names;
mod tools;

use crate::schema::Check;
use std::collections::BTreeMap;

pub(crate) use build::{Bodies, Contract, build};
pub(crate) use docs::wrap;

/// A client and its types.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// The release of the contract, for example `2026-04-08`.
    pub(crate) release: String,
    /// One paragraph for the module.
    pub(crate) docs: String,
    /// Types by the domain that they belong to.
    pub(crate) modules: BTreeMap<String, Vec<Item>>,
    pub(crate) methods: Vec<Method>,
    /// What merchants send on their own; `success` is the body.
    pub(crate) webhooks: Vec<Method>,
    /// The service that the operations belong to.
    pub(crate) service: String,
    /// The capabilities and extensions that the types cover.
    pub(crate) capabilities: Vec<Capability>,
}

/// A capability or an extension that the types cover.
#[derive(Clone, Debug)]
pub(crate) struct Capability {
    /// Its root name.
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) extends: Vec<String>,
    pub(crate) requires: Vec<Bound>,
}

/// Versions that an extension requires of the protocol (no name) or of a capability.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) capability: Option<String>,
    pub(crate) min: String,
    pub(crate) max: Option<String>,
}

/// A type that will exist.
#[derive(Debug)]
pub(crate) enum Item {
    Struct(Struct),
    Vocabulary(Vocabulary),
    Union(Union),
}

impl Item {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Struct(item) => &item.name,
            Self::Vocabulary(item) => &item.name,
            Self::Union(item) => &item.name,
        }
    }
}

/// A rule that a type carries, and how it refers to the rules of another.
pub(crate) type Rule = Check<Of>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Of {
    Struct(String),
    Union(String),
    Vocabulary(String),
}

/// A Rust type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    Any,
    Boolean,
    Integer,
    /// An `i64` that is refused beyond 2^53.
    SafeInteger,
    Number,
    Text,
    FreeForm,
    List(Box<Ty>),
    Map(Box<Ty>),
    /// A value that may be `null`.
    Nullable(Box<Ty>),
    OneOrMany(Box<Ty>),
    Boxed(Box<Ty>),
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
    /// Absent, `null` and a value are three things.
    Nullable,
    /// Always there with this value; the struct has no field for it.
    Constant(String),
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) ident: String,
    pub(crate) wire: String,
    pub(crate) ty: Ty,
    pub(crate) presence: Presence,
    pub(crate) docs: String,
    pub(crate) deprecated: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) docs: String,
    pub(crate) fields: Vec<Field>,
    /// Whether users build it: it is part of a request.
    pub(crate) sent: bool,
    /// Whether all of it may be absent.
    pub(crate) empty: bool,
    /// Members that are never shown; `["*"]` for all but `type`.
    pub(crate) secrets: Vec<String>,
    pub(crate) deprecated: Option<String>,
    /// Whether equality is total: nothing in it is a float.
    pub(crate) total: bool,
    pub(crate) rules: Vec<Rule>,
    /// For the body of an update: the type that is received, from which an update starts.
    pub(crate) update_of: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Vocabulary {
    pub(crate) name: String,
    pub(crate) docs: String,
    /// Arm and string on the wire.
    pub(crate) arms: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) struct Union {
    pub(crate) name: String,
    pub(crate) docs: String,
    /// The member whose value decides; `None` when required members decide.
    pub(crate) tag: Option<String>,
    pub(crate) arms: Vec<Arm>,
    pub(crate) total: bool,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) variant: String,
    pub(crate) ty: Ty,
    pub(crate) tag: Option<String>,
    pub(crate) members: Vec<String>,
    pub(crate) docs: String,
}

/// A header or query parameter that is an input of the operation's own: an argument when it is
/// required, a setter when it is not.
#[derive(Debug)]
pub(crate) struct Argument {
    /// Whether it is a header; a query parameter otherwise.
    pub(crate) header: bool,
    pub(crate) ident: String,
    pub(crate) wire: String,
    pub(crate) required: bool,
    pub(crate) docs: String,
}

#[derive(Debug)]
pub(crate) struct Method {
    /// The contract's `operationId`.
    pub(crate) id: String,
    pub(crate) ident: String,
    /// The type that stands for the operation.
    pub(crate) marker: String,
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) service: String,
    /// Identifier and name of each path parameter, in the path's order.
    pub(crate) path_parameters: Vec<(String, String)>,
    pub(crate) arguments: Vec<Argument>,
    /// Declared header parameters that the runtime fills, and whether the contract requires them.
    pub(crate) managed: Vec<(String, bool)>,
    /// Whether the contract declares an `Idempotency-Key` for it: what says that it changes something.
    pub(crate) changes: bool,
    /// Of an operation on one resource: the operation that reads it, and its path.
    pub(crate) read: Option<(String, String)>,
    pub(crate) body: Option<Ty>,
    /// Whether the contract demands something of the body beyond its type.
    pub(crate) ruled_body: bool,
    pub(crate) success: Ty,
    pub(crate) failure: Ty,
    pub(crate) docs: String,
    pub(crate) deprecated: bool,
    /// Whether it is a URL to open rather than a call to make.
    pub(crate) link: bool,
    /// What a model is told of it, where that was asked for.
    pub(crate) tool: Option<Tool>,
}

/// An operation as a tool for a model.
#[derive(Debug)]
pub(crate) struct Tool {
    /// At most 64 characters of `[A-Za-z0-9_-]`, and no other tool's.
    pub(crate) name: String,
    /// The capability that must be agreed with a merchant; empty for none.
    pub(crate) capability: String,
    pub(crate) description: String,
    /// The JSON Schema of its inputs, as text: what is passed on and not looked into.
    pub(crate) schema: String,
}
