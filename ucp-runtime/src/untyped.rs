//! Operations that are chosen while the program runs: by name, with inputs as JSON.

use crate::call::Call;
use crate::merchant::Merchant;
use crate::operation::{
    Answers, ChangesCheckout, CompletesCheckout, Endpoint, Input, Operation, Place,
};
use crate::transport::BoxError;
use crate::wire::{self, Check, DecodeError, Map, Note, Read, Value};
use serde::Serialize;
use std::fmt;

/// What stands for the operation of a [`Call`] that was made by the operation's name. Its inputs
/// were checked as the operation's types; its answer stays JSON.
#[derive(Clone, Copy, Debug)]
pub enum Untyped {}

impl Answers for Untyped {
    type Success = Value;
    type Failure = Value;
}

/// An operation that completes a checkout is judged as it is for its method (see
/// [`guard`](crate::guard)); what is said of guards to another has no effect.
impl CompletesCheckout for Untyped {}
impl ChangesCheckout for Untyped {}

type Set = (Call<Untyped>, Vec<Note>);
type SetBody = fn(Call<Untyped>, Value, &'static [Check]) -> Result<Set, DecodeError>;
type Project = fn(&Value) -> Result<Value, BoxError>;

/// An operation that can be called by its name. Generated code has all of a client's as
/// `OPERATIONS`, and `Client::call` takes one of them.
///
/// ```
/// use ucp_runtime::untyped::Callable;
///
/// fn list(operations: &[Callable]) {
///     for callable in operations {
///         println!("{}", callable.operation.id);
///         for input in callable.inputs {
///             println!("  {}{}", input.name, if input.required { "" } else { " (optional)" });
///         }
///     }
/// }
/// # list(&[]);
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Callable {
    /// The operation.
    pub operation: &'static Operation,
    /// Its own inputs, the body last.
    pub inputs: &'static [Input],
    rules: &'static [Check],
    body: Option<SetBody>,
    project: Option<Project>,
}

impl Callable {
    /// An operation without a body. Written by generated code.
    #[must_use]
    pub const fn of<E: Endpoint>() -> Self {
        Self {
            operation: E::OPERATION,
            inputs: E::INPUTS,
            rules: E::RULES,
            body: None,
            project: None,
        }
    }

    /// The type of its body. Written by generated code.
    #[must_use]
    pub const fn body<T: Read + Serialize>(mut self) -> Self {
        self.body = Some(|call, value, rules| {
            let mut violations = wire::validate(&value, rules).err();
            let (body, notes) = wire::read_body::<T>(value)?;
            // What was read as it stood is judged as it stood.
            if !notes.is_empty() {
                violations = wire::validate_value(&body, rules).err();
            }
            Ok((call.judged_body(&body, violations), notes))
        });
        self.project = Some(|read| {
            let body: T = wire::project(read)?;
            Ok(serde_json::to_value(body)?)
        });
        self
    }

    /// Whether it replaces what there is with its body.
    pub(crate) fn replaces(&self) -> bool {
        let of = self.operation;
        self.project.is_some() && of.read.is_some() && of.method == http::Method::PUT
    }

    /// The body that leaves what was read as it is.
    pub(crate) fn unchanged(&self, read: &Value) -> Result<Map, BoxError> {
        let project = self.project.ok_or("the operation has no body")?;
        match project(read)? {
            Value::Object(body) => Ok(body),
            _ => Err("the operation's body is no object".into()),
        }
    }

    /// The same without its body, to read what it is about.
    pub(crate) fn bare(self) -> Self {
        let inputs = match self.inputs.split_last() {
            Some((last, others)) if last.place == Place::Body => others,
            _ => self.inputs,
        };
        Self {
            inputs,
            body: None,
            ..self
        }
    }
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable")
            .field("operation", &self.operation.id)
            .field("inputs", &self.inputs)
            .finish_non_exhaustive()
    }
}

/// Inputs that make no call of an operation. Nothing was sent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// There is no such operation.
    #[error("there is no operation `{name}`; there are {}", .known.join(", "))]
    UnknownOperation {
        /// What was asked for.
        name: String,
        /// The names of those that there are.
        known: Vec<&'static str>,
    },
    /// An input that the operation does not have.
    #[error("`{operation}` has no input `{name}`; it takes {}", .known.join(", "))]
    Unknown {
        /// The operation.
        operation: &'static str,
        /// The input.
        name: String,
        /// The names of those that it has.
        known: Vec<&'static str>,
    },
    /// An input that must be given.
    #[error("`{operation}` needs the input `{name}`")]
    Missing {
        /// The operation.
        operation: &'static str,
        /// The input.
        name: &'static str,
    },
    /// An input for the path, the query or a header that is no single value.
    #[error("the input `{name}` of `{operation}` is not a string, a number or a boolean")]
    NotText {
        /// The operation.
        operation: &'static str,
        /// The input.
        name: &'static str,
    },
    /// A body that does not fit its type.
    #[error("the body of `{operation}` does not fit: {source}")]
    Body {
        /// The operation.
        operation: &'static str,
        /// Where, and what was expected there.
        source: DecodeError,
    },
}

/// Makes a call by an operation's name; what `Client::call` of generated code does.
///
/// # Errors
///
/// [`InputError`] for an unknown operation, and for inputs that it does not take.
#[doc(hidden)]
pub fn call(
    merchant: &Merchant,
    operations: &'static [Callable],
    name: &str,
    inputs: Map,
) -> Result<Call<Untyped>, InputError> {
    let found = operations.iter().find(|of| of.operation.id == name);
    let Some(callable) = found else {
        return Err(InputError::UnknownOperation {
            name: name.to_owned(),
            known: operations.iter().map(|of| of.operation.id).collect(),
        });
    };
    make(merchant, callable, inputs).map(|(call, _)| call)
}

/// Makes a call of an operation, and says what of its body was read leniently.
pub(crate) fn make(
    merchant: &Merchant,
    callable: &Callable,
    mut inputs: Map,
) -> Result<(Call<Untyped>, Vec<Note>), InputError> {
    let operation = callable.operation.id;
    let mut notes = Vec::new();
    let mut call = Call::of(merchant, callable.operation);
    for Input {
        name,
        place,
        required,
    } in callable.inputs.iter().copied()
    {
        let value = match inputs.remove(name) {
            None | Some(Value::Null) if required => {
                return Err(InputError::Missing { operation, name });
            }
            None | Some(Value::Null) => continue,
            Some(value) => value,
        };
        if let (Place::Body, Some(set)) = (place, callable.body) {
            (call, notes) = set(call, value, callable.rules)
                .map_err(|source| InputError::Body { operation, source })?;
            continue;
        }
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return Err(InputError::NotText { operation, name }),
        };
        call = match place {
            Place::Path => call.path(name, text),
            Place::Header => call.exposed_header(name, text),
            Place::Query | Place::Body => call.query(name, text),
        };
    }
    match inputs.into_iter().next() {
        None => Ok((call, notes)),
        Some((name, _)) => Err(InputError::Unknown {
            operation,
            name,
            known: callable.inputs.iter().map(|input| input.name).collect(),
        }),
    }
}
