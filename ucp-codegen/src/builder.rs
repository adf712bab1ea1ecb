//! The doors of the crate: [`Builder`] for `build.rs` and chores, [`expand`] for the macro.

use crate::diagnostics::Diagnostics;
use crate::generate;
use crate::options::{Contract, Options};
use crate::render;
use proc_macro2::TokenStream;
use std::path::{Path, PathBuf};

/// Generated code as tokens, with the files that it was made from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Output {
    /// The code.
    pub tokens: TokenStream,
    /// The files on disk that were read: when one changes, the code does.
    pub files: Vec<PathBuf>,
}

/// Generates tokens. Relative paths in `options` are relative to `base`. A macro pays for nothing
/// more than this: it does not format.
///
/// # Errors
///
/// Everything that is wrong with the contract and the options.
pub fn expand(options: &Options, base: &Path) -> Result<Output, Diagnostics> {
    let (model, source) = generate::generate(options, base)?;
    let tokens = render::render(&model, &options.derive, options.module.as_deref());
    Ok(Output {
        tokens,
        files: source.paths(),
    })
}

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The contract or the options are wrong.
    #[error("{0}")]
    Contract(#[from] Diagnostics),
    /// The generated tokens do not parse, which is a defect of this crate.
    #[error("the generated code is not Rust; please report it with your contract: {0}")]
    NotRust(#[from] syn::Error),
    /// The source could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// `OUT_DIR` is not set.
    #[error("OUT_DIR is not set: `emit_to_out_dir` is for build scripts; use `write_to` elsewhere")]
    NoOutDir,
}

/// Generates a client into a file.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), ucp_codegen::Error> {
///     ucp_codegen::Builder::release("2026-04-08")
///         .extensions(["fulfillment", "discount"])
///         .emit_to_out_dir("shop.rs")?;
///     Ok(())
/// }
/// ```
///
/// and in the crate `include!(concat!(env!("OUT_DIR"), "/shop.rs"));`.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it writes"]
pub struct Builder {
    options: Options,
    base: PathBuf,
}

impl Builder {
    /// Starts from a release that is shipped with the crates, for example `2026-04-08`.
    pub fn release(version: impl Into<String>) -> Self {
        Self::with_options(Options::new(Contract::Release(version.into())))
    }

    /// Starts from an OpenAPI document, JSON or YAML, relative to the working directory (which is
    /// the package's folder in a build script).
    pub fn contract(path: impl Into<PathBuf>) -> Self {
        Self::with_options(Options::new(Contract::File(path.into())))
    }

    /// Starts from options.
    pub fn with_options(options: Options) -> Self {
        Self {
            options,
            base: PathBuf::new(),
        }
    }

    /// Resolves relative paths against this folder.
    pub fn base(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = base.into();
        self
    }

    /// The release that a contract from a file belongs to, where no folder above it says so, and
    /// the date of the `draft`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.options.version = Some(version.into());
        self
    }

    /// Composes extensions: short names (`discount`), full names, or files.
    pub fn extensions<T: Into<String>>(mut self, extensions: impl IntoIterator<Item = T>) -> Self {
        self.options
            .extensions
            .extend(extensions.into_iter().map(Into::into));
        self
    }

    /// Generates only these operations, by `operationId` or by the first step of their path.
    pub fn operations<T: Into<String>>(mut self, operations: impl IntoIterator<Item = T>) -> Self {
        self.options
            .operations
            .extend(operations.into_iter().map(Into::into));
        self
    }

    /// Manages more headers than [`MANAGED`](crate::MANAGED).
    pub fn managed<T: Into<String>>(mut self, headers: impl IntoIterator<Item = T>) -> Self {
        self.options
            .managed
            .extend(headers.into_iter().map(Into::into));
        self
    }

    /// Makes managed headers inputs of the operations that declare them.
    pub fn expose<T: Into<String>>(mut self, headers: impl IntoIterator<Item = T>) -> Self {
        self.options
            .expose
            .extend(headers.into_iter().map(Into::into));
        self
    }

    /// Derives more for every generated type, by path. `Eq` and `Hash` are left out where a float
    /// forbids them, and what every type has (`Debug`, `Serialize`, `Deserialize`) everywhere.
    pub fn derive<T: Into<String>>(mut self, derives: impl IntoIterator<Item = T>) -> Self {
        self.options
            .derive
            .extend(derives.into_iter().map(Into::into));
        self
    }

    /// Generates the operations as tools for a model too: `TOOLS`, and `Client::tools`.
    pub fn tools(mut self) -> Self {
        self.options.tools = true;
        self
    }

    /// Puts everything into a module.
    pub fn module(mut self, module: impl Into<String>) -> Self {
        self.options.module = Some(module.into());
        self
    }

    /// The formatted source.
    ///
    /// # Errors
    ///
    /// [`Error::Contract`] when the contract or the options are wrong.
    pub fn source(&self) -> Result<String, Error> {
        let output = expand(&self.options, &self.base)?;
        Ok(prettyplease::unparse(&syn::parse2(output.tokens)?))
    }

    /// Writes the formatted source to a file.
    ///
    /// # Errors
    ///
    /// [`Error::Contract`] when the contract or the options are wrong, [`Error::Write`] when the
    /// file cannot be written.
    pub fn write_to(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        write(path.as_ref(), &self.source()?)
    }

    /// Writes the source to `name` in `OUT_DIR`, for a build script, and tells Cargo to run it again
    /// when a file of the contract changes.
    ///
    /// # Errors
    ///
    /// As [`write_to`](Self::write_to), and [`Error::NoOutDir`] outside a build script.
    pub fn emit_to_out_dir(&self, name: &str) -> Result<(), Error> {
        let output = expand(&self.options, &self.base)?;
        for file in &output.files {
            println!("cargo:rerun-if-changed={}", file.display());
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "Cargo tells build scripts by the environment"
        )]
        let folder = std::env::var_os("OUT_DIR").ok_or(Error::NoOutDir)?;
        write(
            &Path::new(&folder).join(name),
            &prettyplease::unparse(&syn::parse2(output.tokens)?),
        )
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}
