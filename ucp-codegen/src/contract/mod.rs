//! Stage `contract`: the OpenAPI envelope. Finds the operations and webhooks of a document, and for
//! each the parameters, the body and the answers; schemas stay places that stage `schema` reads.

mod lower;

use crate::diagnostics::{Code, Diagnostics};
use crate::source::{FileId, Source};
use crate::tree::Place;
use openapiv3::{OpenAPI, Parameter as OpenApiParameter, ReferenceOr};

/// The operations of a document, in its order.
#[derive(Debug, Default)]
pub(crate) struct Contract {
    pub(crate) title: String,
    pub(crate) operations: Vec<Operation>,
    pub(crate) webhooks: Vec<Operation>,
}

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) id: String,
    /// Upper case, for example `POST`.
    pub(crate) method: String,
    /// Below the endpoint, with parameters in braces; a webhook's name.
    pub(crate) path: String,
    pub(crate) summary: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) deprecated: bool,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Place>,
    pub(crate) answers: Vec<Answer>,
    /// Of an operation on one resource: the operation that reads it, and its path.
    pub(crate) read: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Path,
    Query,
    Header,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) location: Location,
    pub(crate) required: bool,
    pub(crate) description: Option<String>,
}

/// What a status is answered with.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) schema: Option<Place>,
}

impl Operation {
    /// The name that UCP's marks know the operation by: `create` for `create_checkout`.
    pub(crate) fn verb(&self) -> &str {
        self.id.split('_').next().unwrap_or(&self.id)
    }

    /// Whether it answers with nothing but redirects: a browser opens it, a program does not call it.
    pub(crate) fn is_link(&self) -> bool {
        self.method == "GET"
            && self
                .answers
                .iter()
                .any(|answer| answer.status.starts_with('3'))
            && !self
                .answers
                .iter()
                .any(|answer| answer.status.starts_with('2'))
    }

    /// The schema of the answer that says success.
    pub(crate) fn success(&self) -> Option<Place> {
        self.answers
            .iter()
            .filter(|answer| answer.status.starts_with('2'))
            .find_map(|answer| answer.schema)
    }
}

/// Reads the document.
pub(crate) fn read(source: &Source, entry: FileId, diagnostics: &mut Diagnostics) -> Contract {
    let Some(document) = lower::lower(source, entry, diagnostics) else {
        return Contract::default();
    };
    let mut contract = Contract {
        title: document.info.title.clone(),
        ..Contract::default()
    };
    let mut seen: Vec<(String, Place)> = Vec::new();
    for (path, item) in document.paths.iter() {
        let ReferenceOr::Item(item) = item else {
            continue;
        };
        for (method, operation) in item.iter() {
            let (webhook, path) = match path.strip_prefix(lower::WEBHOOK) {
                Some(name) => (true, name),
                None => (false, path.as_str()),
            };
            // A path item may stand elsewhere; then the reference to it is the place.
            let section = if webhook { "webhooks" } else { "paths" };
            let root = source.at(source.root(entry));
            let place = root.get(section).and_then(|paths| paths.get(path));
            let place = place.map_or(root, |item| item.get(method).unwrap_or(item));
            let place = place.place;
            let Some(id) = operation.operation_id.clone() else {
                let message = format!("{} {path} has no `operationId`", method.to_uppercase());
                diagnostics.at(
                    source,
                    place,
                    Code::OperationId,
                    message,
                    Some("the generated method is named after it".to_owned()),
                );
                continue;
            };
            if let Some((_, first)) = seen.iter().find(|(other, _)| *other == id) {
                let message = format!(
                    "`operationId: {id}` is taken by {}",
                    source.at(*first).pointer()
                );
                diagnostics.at(
                    source,
                    place,
                    Code::OperationId,
                    message,
                    Some("give each operation a name of its own".to_owned()),
                );
                continue;
            }
            let operation = read_operation(&document, operation, id, method, path);
            if !webhook {
                check_path(&operation, place, source, diagnostics);
            }
            seen.push((operation.id.clone(), place));
            if webhook {
                contract.webhooks.push(operation)
            } else {
                contract.operations.push(operation)
            }
        }
    }
    name_reads(&mut contract.operations);
    contract
}

/// What an operation on one resource changes is read at its path up to the parameter.
fn name_reads(operations: &mut [Operation]) {
    let reads: Vec<(String, String)> = operations
        .iter()
        .filter(|operation| operation.method == "GET" && operation.path.ends_with('}'))
        .map(|operation| (operation.id.clone(), operation.path.clone()))
        .collect();
    for operation in operations.iter_mut().filter(|it| it.method != "GET") {
        let end = operation.path.rfind('}').map_or(0, |at| at + 1);
        let (resource, _) = operation.path.split_at(end);
        operation.read = reads.iter().find(|(_, path)| path == resource).cloned();
    }
}

/// Reports a path whose braces and `in: path` parameters are not the same: no call of it could be sent.
fn check_path(operation: &Operation, place: Place, source: &Source, diagnostics: &mut Diagnostics) {
    let mut named: Vec<&str> = Vec::new();
    let mut rest = operation.path.as_str();
    while let Some((_, tail)) = rest.split_once('{') {
        let (name, after) = tail.split_once('}').unwrap_or((tail, ""));
        named.push(name);
        rest = after;
    }
    let declared = || {
        let in_path = |parameter: &&Parameter| parameter.location == Location::Path;
        operation.parameters.iter().filter(in_path)
    };
    let undeclared = named
        .iter()
        .filter(|name| !declared().any(|parameter| parameter.name == **name))
        .map(|name| format!("`{{{name}}}` of the path has no parameter"));
    let unnamed = declared()
        .filter(|parameter| !named.contains(&parameter.name.as_str()))
        .map(|parameter| format!("the path has no `{{{}}}`", parameter.name));
    for message in undeclared.chain(unnamed) {
        let hint = "declare each `{name}` of the path once, with `in: path`".to_owned();
        diagnostics.at(source, place, Code::Schema, message, Some(hint));
    }
}

fn read_operation(
    document: &OpenAPI,
    operation: &openapiv3::Operation,
    id: String,
    method: &str,
    path: &str,
) -> Operation {
    let parameters = operation
        .parameters
        .iter()
        .filter_map(|parameter| {
            let name = match parameter {
                ReferenceOr::Item(parameter) => return Some(parameter),
                ReferenceOr::Reference { reference } => reference.strip_prefix(lower::PARAMETER)?,
            };
            document
                .components
                .as_ref()?
                .parameters
                .get(name)?
                .as_item()
        })
        .filter_map(|parameter| {
            let location = match parameter {
                OpenApiParameter::Path { .. } => Location::Path,
                OpenApiParameter::Query { .. } => Location::Query,
                OpenApiParameter::Header { .. } => Location::Header,
                // Cookies are refused when lowering.
                OpenApiParameter::Cookie { .. } => return None,
            };
            let data = parameter.parameter_data_ref();
            Some(Parameter {
                name: data.name.clone(),
                location,
                required: data.required || location == Location::Path,
                description: data.description.clone(),
            })
        });
    let schema_of = |content: &openapiv3::Content| {
        content
            .iter()
            .find(|(media, _)| lower::is_json(media))
            .and_then(|(_, media)| lower::place_of(media.schema.as_ref()?))
    };
    let body = operation
        .request_body
        .as_ref()
        .and_then(ReferenceOr::as_item)
        .and_then(|body| schema_of(&body.content));
    let answers = operation
        .responses
        .responses
        .iter()
        .filter_map(|(status, response)| {
            Some(Answer {
                status: status.to_string(),
                schema: schema_of(&response.as_item()?.content),
            })
        });
    Operation {
        id,
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: operation.summary.clone(),
        description: operation.description.clone(),
        deprecated: operation.deprecated,
        parameters: parameters.collect(),
        body,
        answers: answers.collect(),
        read: None,
    }
}
