//! What is wrong with a contract or with the options, all of it in one run.

use crate::source::Source;
use crate::tree::Place;
use std::fmt;

/// Which part of the options a diagnostic is about, so that a macro can underline it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Argument {
    /// `release` or `contract`.
    Contract,
    /// The entry of `extensions` with this index.
    Extension(usize),
    /// The entry of `expose` with this index.
    Expose(usize),
    /// The entry of `operations` with this index.
    Operation(usize),
    /// The entry of `derive` with this index.
    Derive(usize),
    /// `module`.
    Module,
}

/// The kind of a mistake. Its name is stable and printed with the diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A file is missing or unreadable.
    FileUnreadable,
    /// A file is neither JSON nor YAML.
    Syntax,
    /// A `$ref` leads nowhere.
    RefNotFound,
    /// A `$ref` leads only to itself.
    RefCycle,
    /// An OpenAPI document lacks something or has it in the wrong shape.
    OpenApi,
    /// An operation has no `operationId`, or one that another has.
    OperationId,
    /// A schema is not JSON Schema 2020-12.
    Schema,
    /// A keyword that the generator does not know, or knows and cannot honour.
    Keyword,
    /// Two schemas that apply to one value exclude each other.
    Conflict,
    /// A release that is not shipped, or an extension, operation or header that the contract lacks.
    Unknown,
    /// An option that is not valid by itself.
    Option,
}

impl Code {
    /// The code as it is printed, for example `ref-not-found`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FileUnreadable => "file-unreadable",
            Self::Syntax => "syntax",
            Self::RefNotFound => "ref-not-found",
            Self::RefCycle => "ref-cycle",
            Self::OpenApi => "openapi",
            Self::OperationId => "operation-id",
            Self::Schema => "schema",
            Self::Keyword => "keyword",
            Self::Conflict => "conflict",
            Self::Unknown => "unknown",
            Self::Option => "option",
        }
    }
}

/// One mistake, with its place and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The kind of mistake.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// The file it is in, as it was named or reached; empty when no file is concerned.
    pub file: String,
    /// The JSON pointer (RFC 6901) into that file.
    pub pointer: String,
    /// Line and column, counted from 1, where they could be found.
    pub position: Option<(u64, u64)>,
    /// What to do.
    pub hint: Option<String>,
    /// The part of the options that led here.
    pub argument: Argument,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code.as_str())?;
        if !self.file.is_empty() {
            write!(f, "\n  at {}", self.file)?;
            if let Some((line, column)) = self.position {
                write!(f, ":{line}:{column}")?;
            }
            if !self.pointer.is_empty() {
                write!(f, " {}", self.pointer)?;
            }
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

/// Everything that is wrong, as one error.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// The mistakes, in the order they were met.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a mistake about an option.
    pub(crate) fn option(
        &mut self,
        code: Code,
        argument: Argument,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.push(Diagnostic {
            code,
            message: message.into(),
            file: String::new(),
            pointer: String::new(),
            position: None,
            hint,
            argument,
        });
    }

    /// Adds a mistake at a place of the contract.
    pub(crate) fn at(
        &mut self,
        source: &Source,
        place: Place,
        code: Code,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.push(Diagnostic {
            code,
            message: message.into(),
            file: source.file_name(place).to_owned(),
            pointer: source.at(place).pointer(),
            position: source.position(place),
            hint,
            argument: source.argument(place),
        });
    }

    /// Adds a mistake unless the same was said before: schemas are visited once a view.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if !self.0.contains(&diagnostic) {
            self.0.push(diagnostic);
        }
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "error: {diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
