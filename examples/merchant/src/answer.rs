//! The shapes of what the merchant answers: a resource, an error envelope, or a protocol error.

use serde_json::{Value, json};

use crate::validate::Violation;

/// A status with its JSON body.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Answer { status: 200, body }
    }

    pub(crate) fn created(body: Value) -> Self {
        Answer { status: 201, body }
    }

    /// A protocol error: the request was not processed.
    pub(crate) fn refused(status: u16, code: &str, content: &str) -> Self {
        let body = json!({ "code": code, "content": content });
        Answer { status, body }
    }

    /// The body does not follow the contract.
    pub(crate) fn violations(found: &[Violation]) -> Self {
        let listed: Vec<String> = found
            .iter()
            .map(|Violation { pointer, message }| format!("{pointer}: {message}"))
            .collect();
        let mut answer = Answer::refused(400, "invalid_request", &listed.join("; "));
        answer.body["errors"] = json!(found);
        answer
    }

    /// One violation that no schema expresses.
    pub(crate) fn invalid(pointer: &str, message: &str) -> Self {
        Answer::violations(&[Violation {
            pointer: pointer.to_owned(),
            message: message.to_owned(),
        }])
    }

    /// A business outcome without a resource: 200, `ucp.status` tells.
    pub(crate) fn envelope(mut ucp: Value, code: &str, content: &str) -> Self {
        ucp["status"] = json!("error");
        if let Some(members) = ucp.as_object_mut() {
            members.remove("payment_handlers");
        }
        let message = error(code, Severity::Unrecoverable, None, content);
        Answer::ok(json!({ "ucp": ucp, "messages": [message] }))
    }

    pub(crate) fn not_found(ucp: Value, content: &str) -> Self {
        Answer::envelope(ucp, "not_found", content)
    }
}

/// What an error message asks of the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// An update can settle it.
    Recoverable,
    /// The buyer must give something that the API does not take.
    RequiresBuyerInput,
    /// The buyer must look and agree.
    RequiresBuyerReview,
    /// Nothing settles it here.
    Unrecoverable,
}

impl Severity {
    /// Whether only the buyer, at the merchant's own page, settles it.
    pub(crate) fn needs_buyer(self) -> bool {
        matches!(
            self,
            Severity::RequiresBuyerInput | Severity::RequiresBuyerReview
        )
    }
}

/// An error for `messages`; `path` is a JSONPath.
pub(crate) fn error(code: &str, severity: Severity, path: Option<&str>, content: &str) -> Value {
    let mut message = json!({
        "type": "error",
        "code": code,
        "severity": severity,
        "content": content,
    });
    if let Some(path) = path {
        message["path"] = json!(path);
    }
    message
}

/// An error that an update can settle.
pub(crate) fn recoverable(code: &str, path: &str, content: &str) -> Value {
    error(code, Severity::Recoverable, Some(path), content)
}

/// A warning for `messages`.
pub(crate) fn warning(code: &str, path: &str, content: &str) -> Value {
    json!({ "type": "warning", "code": code, "path": path, "content": content })
}
