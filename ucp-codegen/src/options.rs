//! What can be asked of the generator: the same options for the macro, for `build.rs` and for
//! `xtask`.

use crate::diagnostics::{Argument, Code, Diagnostic};
use proc_macro2::{Span, TokenStream};
use std::path::PathBuf;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, LitStr, Token, bracketed};

/// Header parameters that the runtime fills and that no generated signature shows, compared without
/// case.
pub const MANAGED: [&str; 17] = [
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Authorization",
    "Content-Digest",
    "Content-Type",
    "Idempotency-Key",
    "Request-Id",
    "Request-Signature",
    "Signature",
    "Signature-Agent",
    "Signature-Input",
    "UCP-Agent",
    "User-Agent",
    "Webhook-Id",
    "Webhook-Timestamp",
    "X-API-Key",
];

/// Where the contract comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contract {
    /// A release that is shipped with the crates, by its date; or `draft`.
    Release(String),
    /// An OpenAPI document of a published tree or of one's own, JSON or YAML.
    File(PathBuf),
}

/// The options of one generation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The contract.
    pub contract: Contract,
    /// The release that a contract from a file belongs to. Without it, the folder above that looks
    /// like a release's date says it. The `draft` always needs it.
    pub version: Option<String>,
    /// Which document of a shipped release: `rest`, `tokenization`, or `permalink` where there is
    /// one.
    pub document: String,
    /// Extensions to compose: short names (`discount`), full names (`dev.ucp.shopping.discount`),
    /// or files.
    pub extensions: Vec<String>,
    /// Operations to generate, by `operationId`; empty for all.
    pub operations: Vec<String>,
    /// Managed headers beyond [`MANAGED`].
    pub managed: Vec<String>,
    /// Managed headers that become inputs of the operations that declare them.
    pub expose: Vec<String>,
    /// Derives that every generated type gets besides its own.
    pub derive: Vec<String>,
    /// Whether the operations are also generated as tools for a model.
    pub tools: bool,
    /// The module to put everything into; without it, the code stands where it is written.
    pub module: Option<String>,
}

impl Options {
    /// The options that only name a contract.
    #[must_use]
    pub fn new(contract: Contract) -> Self {
        Self {
            contract,
            version: None,
            document: "rest".to_owned(),
            extensions: Vec::new(),
            operations: Vec::new(),
            managed: Vec::new(),
            expose: Vec::new(),
            derive: Vec::new(),
            tools: false,
            module: None,
        }
    }
}

/// Options as they are written in `include_ucp! { … }`, with the span of each part.
#[derive(Clone, Debug)]
pub struct SpannedOptions {
    /// The options.
    pub options: Options,
    spans: Vec<(Argument, Span)>,
}

impl SpannedOptions {
    /// Reads `release: "2026-04-08", extensions: [discount, "acme/loyalty.json"], …`.
    ///
    /// # Errors
    ///
    /// The parser's, at the part that is wrong.
    pub fn parse(tokens: TokenStream) -> syn::Result<Self> {
        Parser::parse2(read, tokens)
    }

    /// The diagnostic as a compile error at the part of the options that it is about.
    #[must_use]
    pub fn error(&self, diagnostic: &Diagnostic) -> syn::Error {
        let exact = self
            .spans
            .iter()
            .find(|(argument, _)| *argument == diagnostic.argument);
        let span = exact
            .or(self.spans.first())
            .map_or_else(Span::call_site, |(_, span)| *span);
        syn::Error::new(span, diagnostic)
    }
}

enum Word {
    Text(LitStr),
    Name(Ident),
}

impl Parse for Word {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitStr) {
            input.parse().map(Self::Text)
        } else {
            input.parse().map(Self::Name)
        }
    }
}

impl Word {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.value(),
            Self::Name(name) => name.to_string(),
        }
    }

    fn span(&self) -> Span {
        match self {
            Self::Text(text) => text.span(),
            Self::Name(name) => name.span(),
        }
    }
}

const NAMES: &str = "release, contract, version, document, extensions, operations, managed, expose, derive, tools, module";

fn read(input: ParseStream<'_>) -> syn::Result<SpannedOptions> {
    let mut contract: Option<(Contract, Span)> = None;
    let mut options = Options::new(Contract::Release(String::new()));
    let mut spans = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    while !input.is_empty() {
        let name: Ident = input.parse()?;
        let option = name.to_string();
        if seen.contains(&option) {
            return Err(syn::Error::new(
                name.span(),
                format!("`{option}` is given twice"),
            ));
        }
        input.parse::<Token![:]>()?;
        match option.as_str() {
            "release" | "contract" => {
                let value: LitStr = input.parse()?;
                if contract.is_some() {
                    return Err(syn::Error::new(
                        name.span(),
                        "give either `release` or `contract`, not both",
                    ));
                }
                let which = if option == "release" {
                    Contract::Release(value.value())
                } else {
                    Contract::File(value.value().into())
                };
                contract = Some((which, value.span()));
            }
            "version" => options.version = Some(input.parse::<LitStr>()?.value()),
            "document" => options.document = input.parse::<Word>()?.text(),
            "module" => {
                let value: Ident = input.parse()?;
                spans.push((Argument::Module, value.span()));
                options.module = Some(value.to_string());
            }
            "extensions" => {
                options.extensions = words(input, &mut spans, Some(Argument::Extension))?
            }
            "operations" => {
                options.operations = words(input, &mut spans, Some(Argument::Operation))?
            }
            "expose" => options.expose = words(input, &mut spans, Some(Argument::Expose))?,
            "derive" => options.derive = words(input, &mut spans, Some(Argument::Derive))?,
            "managed" => options.managed = words(input, &mut spans, None)?,
            "tools" => options.tools = input.parse::<syn::LitBool>()?.value,
            _ => {
                return Err(syn::Error::new(
                    name.span(),
                    format!("`{option}` is not an option; the options are {NAMES}"),
                ));
            }
        }
        seen.push(option);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    let Some((which, span)) = contract else {
        return Err(syn::Error::new(
            Span::call_site(),
            "give `release: \"2026-04-08\"` or `contract: \"path/to/rest.openapi.json\"`",
        ));
    };
    spans.insert(0, (Argument::Contract, span));
    options.contract = which;
    Ok(SpannedOptions { options, spans })
}

fn words(
    input: ParseStream<'_>,
    spans: &mut Vec<(Argument, Span)>,
    argument: Option<fn(usize) -> Argument>,
) -> syn::Result<Vec<String>> {
    let content;
    bracketed!(content in input);
    let words = Punctuated::<Word, Token![,]>::parse_terminated(&content)?;
    if let Some(argument) = argument {
        spans.extend(
            words
                .iter()
                .enumerate()
                .map(|(index, word)| (argument(index), word.span())),
        );
    }
    Ok(words.iter().map(Word::text).collect())
}

/// Checks what can be checked without the contract.
pub(crate) fn check(options: &Options, diagnostics: &mut crate::diagnostics::Diagnostics) {
    for (index, path) in options.derive.iter().enumerate() {
        if syn::parse_str::<syn::Path>(path).is_err() {
            let message = format!("`{path}` is not the path of a derive macro");
            diagnostics.option(Code::Option, Argument::Derive(index), message, None);
        }
    }
    if let Some(module) = &options.module
        && syn::parse_str::<Ident>(module).is_err()
    {
        diagnostics.option(
            Code::Option,
            Argument::Module,
            format!("`{module}` cannot name a module"),
            None,
        );
    }
}
