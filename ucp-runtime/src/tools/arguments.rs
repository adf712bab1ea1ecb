//! From a model's arguments to a call, or to what is wrong with them.

use super::schema::{self, Provided};
use super::{Definition, Offered};
use crate::call::Call;
use crate::headers;
use crate::merchant::Merchant;
use crate::operation::{Operation, Place};
use crate::untyped::{self, InputError, Untyped};
use crate::wire::path::Segment;
use crate::wire::{JsonPath, Map, Value};
use http::HeaderName;
use serde::Serialize;
use std::fmt;

/// Something about a tool's arguments that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mistake {
    /// Where, as an RFC 9535 path into the arguments: `$.body.line_items[0].quantity`.
    pub path: String,
    /// What is wrong there, for example `must be at least 1`. It never repeats the value.
    pub problem: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.problem)
    }
}

/// Why a tool was not called. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistakes {
    tool: String,
    mistakes: Vec<Mistake>,
    /// Whether other arguments would do.
    #[serde(skip)]
    curable: bool,
}

impl Mistakes {
    /// The mistakes; there is at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// One that no other arguments would mend.
    pub(super) fn about(problem: String) -> Self {
        Self {
            curable: false,
            ..Self::at(&JsonPath::default(), problem)
        }
    }

    fn at(path: &JsonPath, problem: String) -> Self {
        Self {
            tool: String::new(),
            mistakes: vec![Mistake {
                path: path.to_string(),
                problem,
            }],
            curable: true,
        }
    }

    pub(super) fn of(mut self, tool: &str) -> Self {
        self.tool = tool.to_owned();
        self
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was not called, and nothing was sent.", self.tool)?;
        for mistake in &self.mistakes {
            write!(f, "\n{mistake}")?;
        }
        match self.curable {
            true => f.write_str("\nCorrect this and call the tool again."),
            false => Ok(()),
        }
    }
}

impl std::error::Error for Mistakes {}

/// Where models of other protocols put what this one has in headers.
const ELSEWHERE: [&str; 3] = ["_meta", "headers", "meta"];

/// The operation's inputs out of a model's arguments and what the application provides.
pub(super) fn inputs(
    offered: &Offered,
    arguments: Value,
    notes: &mut Vec<String>,
) -> Result<Map, Mistakes> {
    let whole = JsonPath::default();
    let arguments = match arguments {
        Value::Null => Map::new(),
        other => object(other, &whole, "the arguments", notes)?,
    };
    let mut inputs = Map::new();
    for (name, value) in arguments {
        match place(offered, &name) {
            Some(name) => {
                inputs.insert(name.to_owned(), value);
            }
            None if is_protocol(offered.callable.operation, &name) => {
                notes.push(format!(
                    "`{name}` was discarded: the protocol's headers are not a model's to set"
                ));
            }
            // Refused later, by name.
            None => {
                inputs.insert(name, value);
            }
        }
    }
    if let Some(body @ Value::String(_)) = inputs.get_mut("body") {
        let text = body.take();
        *body = object(text, &member("body"), "`body`", notes)?.into();
    }
    for Provided {
        in_body,
        name,
        value,
    } in &offered.provided
    {
        let into = if *in_body {
            if value.is_some() {
                inputs.entry("body").or_insert_with(|| Map::new().into());
            }
            match inputs.get_mut("body") {
                Some(Value::Object(body)) => body,
                // Refused later, by its type.
                _ => continue,
            }
        } else {
            &mut inputs
        };
        let (given, why) = match value {
            Some(value) => (
                into.insert(name.clone(), value.clone()),
                "the application sets it",
            ),
            None => (into.remove(name), "it is not a model's to set"),
        };
        if given.is_some() {
            notes.push(format!("`{name}` was discarded: {why}"));
        }
    }
    Ok(inputs)
}

/// The call that inputs make.
pub(super) fn call(
    merchant: &Merchant,
    definition: &Definition,
    offered: &Offered,
    inputs: Map,
    notes: &mut Vec<String>,
) -> Result<Call<Untyped>, Mistakes> {
    let (call, read) = untyped::make(merchant, offered.callable, inputs)
        .map_err(|error| mistake(error, definition))?;
    let mut mistakes = Vec::new();
    for note in read {
        let path = within(&note.path).to_string();
        // What a merchant may send in a form still to come, a model may not make up.
        if note.is_misfit() {
            let problem = note.text.into_owned();
            mistakes.push(Mistake { path, problem });
        } else {
            notes.push(format!("{path}: {}", note.text));
        }
    }
    let broken = call.violations().map(|them| them.as_slice());
    mistakes.extend(broken.into_iter().flatten().map(|broken| Mistake {
        path: within(&broken.path).to_string(),
        problem: broken.rule.to_string(),
    }));
    if mistakes.is_empty() {
        return Ok(call);
    }
    Err(Mistakes {
        tool: String::new(),
        mistakes,
        curable: true,
    })
}

/// An object, or the text of one: models double what they mean.
fn object(
    value: Value,
    path: &JsonPath,
    what: &str,
    notes: &mut Vec<String>,
) -> Result<Map, Mistakes> {
    let value = match value {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(parsed @ Value::Object(_)) => {
                notes.push(format!("{what} came as a JSON text, and was read as JSON"));
                parsed
            }
            _ => Value::String(text),
        },
        value => value,
    };
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(Mistakes::at(path, "must be a JSON object".to_owned())),
    }
}

/// The input that a name stands for: headers have no case.
fn place(offered: &Offered, name: &str) -> Option<&'static str> {
    let mut inputs = offered.callable.inputs.iter();
    let found = inputs.find(|input| match input.place {
        Place::Header => input.name.eq_ignore_ascii_case(name) && !schema::is_kept(input.name),
        _ => input.name == name,
    });
    found.map(|input| input.name)
}

/// Whether a name is a header of the protocol, or what stands for headers elsewhere.
fn is_protocol(operation: &Operation, name: &str) -> bool {
    let declared = |header: &crate::operation::Header| header.name.eq_ignore_ascii_case(name);
    ELSEWHERE.contains(&name)
        || operation.headers.iter().any(declared)
        || HeaderName::from_bytes(name.as_bytes())
            .is_ok_and(|name| headers::is_managed(&name) || headers::is_framing(&name))
}

pub(super) fn mistake(error: InputError, definition: &Definition) -> Mistakes {
    match error {
        InputError::Unknown { name, .. } => {
            let properties = definition.input_schema.get("properties");
            let known = properties.and_then(Value::as_object).into_iter();
            let known: Vec<&str> = known.flat_map(Map::keys).map(String::as_str).collect();
            let takes = match known.as_slice() {
                [] => "it takes none".to_owned(),
                known => format!("it takes {}", known.join(", ")),
            };
            Mistakes::at(
                &member(name),
                format!("is not an input of the tool; {takes}"),
            )
        }
        InputError::Missing { name, .. } => Mistakes::at(&member(name), "is required".to_owned()),
        InputError::NotText { name, .. } => {
            Mistakes::at(&member(name), "must be a string".to_owned())
        }
        InputError::Body { source, .. } => {
            let problem = match source.found {
                "nothing" => "is required".to_owned(),
                found => format!("must be {}, and is {found}", source.expected),
            };
            Mistakes::at(&within(&source.path), problem)
        }
        InputError::UnknownOperation { .. } => Mistakes::about(error.to_string()),
    }
}

fn member(name: impl Into<std::borrow::Cow<'static, str>>) -> JsonPath {
    JsonPath(vec![Segment::Member(name.into())])
}

/// A place in the body, as a place in the arguments.
fn within(path: &JsonPath) -> JsonPath {
    let mut whole = member("body");
    whole.0.extend(path.0.iter().cloned());
    whole
}
