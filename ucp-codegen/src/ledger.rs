//! The ledger of keywords: what becomes of each one that a contract may use. Nothing is dropped in
//! silence: a keyword that is not listed here, or listed as refused, is a diagnostic.

/// What becomes of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It shapes the generated code.
    Used,
    /// It is written into the documentation of the generated code.
    Documented,
    /// It says nothing about Rust types or requests; the text is why.
    Ignored(&'static str),
    /// It cannot be honoured; the text is why.
    Refused(&'static str),
}
use Use::{Documented, Ignored, Refused, Used};

type Table = &'static [(&'static str, Use)];

const IDENTITY: Use = Ignored("places are keyed by file and pointer");
const PROSE: Use = Ignored("prose for people who read the file");
const HTTP: Use = Ignored("where a merchant answers comes from its profile");

/// JSON Schema 2020-12, with UCP's marks and the vendor keys of its documents.
pub(crate) const SCHEMA: Table = &[
    ("$schema", IDENTITY),
    ("$id", IDENTITY),
    ("$anchor", Refused("references go by JSON pointer")),
    (
        "$dynamicRef",
        Refused("types cannot depend on the path that reached them"),
    ),
    (
        "$dynamicAnchor",
        Refused("types cannot depend on the path that reached them"),
    ),
    ("$vocabulary", IDENTITY),
    ("$comment", PROSE),
    ("$ref", Used),
    ("$defs", Used),
    ("type", Used),
    ("const", Used),
    ("enum", Used),
    ("properties", Used),
    ("required", Used),
    ("additionalProperties", Used),
    ("items", Used),
    ("allOf", Used),
    ("anyOf", Used),
    ("oneOf", Used),
    ("if", Used),
    ("then", Used),
    ("else", Used),
    ("title", Used),
    ("description", Documented),
    ("default", Documented),
    ("examples", Documented),
    ("deprecated", Used),
    ("readOnly", Documented),
    ("writeOnly", Documented),
    ("format", Documented),
    ("pattern", Documented),
    ("minimum", Documented),
    ("maximum", Documented),
    ("exclusiveMinimum", Documented),
    ("exclusiveMaximum", Documented),
    ("multipleOf", Documented),
    ("minLength", Documented),
    ("maxLength", Documented),
    ("minItems", Documented),
    ("maxItems", Documented),
    ("uniqueItems", Documented),
    ("minProperties", Documented),
    ("maxProperties", Documented),
    ("propertyNames", Ignored("keys stay strings")),
    ("contains", Ignored("a rule about values, not about types")),
    (
        "minContains",
        Ignored("a rule about values, not about types"),
    ),
    (
        "maxContains",
        Ignored("a rule about values, not about types"),
    ),
    ("not", Ignored("a rule about values, not about types")),
    (
        "dependentRequired",
        Ignored("a rule about values, not about types"),
    ),
    ("contentMediaType", PROSE),
    ("contentEncoding", PROSE),
    ("dependentSchemas", Refused("use `if` and `then`")),
    (
        "patternProperties",
        Refused("use `additionalProperties` with `propertyNames`"),
    ),
    ("prefixItems", Refused("no tuple occurs in a UCP payload")),
    (
        "unevaluatedProperties",
        Refused("use `additionalProperties`"),
    ),
    ("unevaluatedItems", Refused("use `items`")),
    (
        "discriminator",
        Refused("unions are decided by `const` members"),
    ),
    (
        "nullable",
        Refused("OpenAPI 3.0; in 2020-12 `type` lists `null`"),
    ),
    ("ucp_request", Used),
    ("ucp_response", Used),
    (
        "ucp_shared_request",
        Ignored("types are shared wherever their views agree"),
    ),
    ("name", Used),
    (
        "version",
        Ignored("the release comes from the caller or the folder"),
    ),
    ("requires", Ignored("a rule of negotiation")),
    ("embedded", Ignored("the embedded protocol is not REST")),
];

pub(crate) const DOCUMENT: Table = &[
    ("openapi", Used),
    ("info", Used),
    ("servers", HTTP),
    ("paths", Used),
    ("webhooks", Used),
    ("components", Used),
    ("tags", PROSE),
    ("externalDocs", PROSE),
    ("jsonSchemaDialect", IDENTITY),
    (
        "security",
        Ignored("credentials come from the application, per merchant"),
    ),
];

pub(crate) const PATH_ITEM: Table = &[
    ("$ref", Used),
    ("summary", PROSE),
    ("description", PROSE),
    ("parameters", Used),
    ("servers", HTTP),
    ("get", Used),
    ("put", Used),
    ("post", Used),
    ("delete", Used),
    ("patch", Used),
    ("options", Refused("not a call of an application")),
    ("head", Refused("not a call of an application")),
    ("trace", Refused("not a call of an application")),
];

pub(crate) const OPERATION: Table = &[
    ("operationId", Used),
    ("summary", Documented),
    ("description", Documented),
    ("deprecated", Used),
    ("parameters", Used),
    ("requestBody", Used),
    ("responses", Used),
    ("tags", PROSE),
    ("externalDocs", PROSE),
    ("servers", HTTP),
    (
        "security",
        Ignored("credentials come from the application, per merchant"),
    ),
    ("callbacks", Refused("use `webhooks`")),
];

pub(crate) const PARAMETER: Table = &[
    ("name", Used),
    ("in", Used),
    ("required", Used),
    ("schema", Used),
    ("description", Documented),
    ("deprecated", Documented),
    ("style", Ignored("only simple values occur")),
    ("explode", Ignored("only simple values occur")),
    ("allowReserved", Refused("values are percent-encoded")),
    ("allowEmptyValue", Refused("values are percent-encoded")),
    ("example", PROSE),
    ("examples", PROSE),
    ("content", Refused("only parameters with a schema occur")),
];

pub(crate) const REQUEST_BODY: Table = &[
    ("required", Used),
    ("content", Used),
    ("description", Documented),
];

pub(crate) const RESPONSE: Table = &[
    ("description", Documented),
    ("headers", Used),
    ("content", Used),
    ("links", Refused("calls are chosen by the application")),
];

pub(crate) const MEDIA_TYPE: Table = &[
    ("schema", Used),
    ("example", PROSE),
    ("examples", PROSE),
    ("encoding", Refused("only JSON bodies occur")),
];

/// What becomes of a keyword, or `None` when the ledger does not know it. Names beginning with `x-`
/// are somebody's own.
pub(crate) fn lookup(table: Table, keyword: &str) -> Option<Use> {
    if keyword.starts_with("x-") {
        return Some(PROSE);
    }
    table
        .iter()
        .find(|(name, _)| name.len() == keyword.len() && *name == keyword)
        .map(|(_, usage)| *usage)
}

/// What is wrong with a keyword that the ledger refuses or does not know, and what to do.
pub(crate) fn check(table: Table, keyword: &str) -> Option<(String, Option<String>)> {
    match lookup(table, keyword) {
        Some(Refused(why)) => Some((
            format!("`{keyword}` cannot be honoured"),
            Some(why.to_owned()),
        )),
        Some(_) => None,
        None => Some((
            format!("`{keyword}` is not a keyword that may stand here"),
            Some("is it misspelt? keywords of your own begin with `x-`".to_owned()),
        )),
    }
}
