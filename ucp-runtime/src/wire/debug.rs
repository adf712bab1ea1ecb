//! Printing generated types for a person, without their secrets.

use super::{Map, Object, Sink};
use serde::Serialize;
use std::fmt::{self, Debug};

struct DebugSink<'a, 'b: 'a> {
    out: fmt::DebugStruct<'a, 'b>,
    secrets: &'static [&'static str],
}

impl Sink for DebugSink<'_, '_> {
    type Error = fmt::Error;

    fn put<T: Serialize + Debug + ?Sized>(&mut self, name: &str, value: &T) -> fmt::Result {
        let all = self.secrets == ["*"];
        if (all && name != "type") || self.secrets.contains(&name) {
            self.out.field(name, &format_args!("[redacted]"));
        } else {
            self.out.field(name, &value);
        }
        Ok(())
    }

    // What a type does not declare may be a secret of its owner's: its name is enough.
    fn put_rest(&mut self, rest: &Map, _: &[&str]) -> fmt::Result {
        for name in rest.keys() {
            self.out.field(name, &format_args!("[undeclared]"));
        }
        Ok(())
    }
}

/// [`Debug`] for a generated struct: its members, with [`Object::SECRETS`] hidden.
///
/// # Errors
///
/// Whatever the formatter reports.
pub fn debug<T: Object>(object: &T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut sink = DebugSink {
        out: f.debug_struct(T::NAME),
        secrets: T::SECRETS,
    };
    object.write_members(&mut sink)?;
    sink.out.finish()
}
