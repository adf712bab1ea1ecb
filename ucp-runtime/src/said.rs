//! What an error body says, in whichever of the shapes that merchants print.

use crate::error::RetryAfter;
use crate::wire;
use serde_json::Value;

/// Code, text and URL of an error body.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) code: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) continue_url: Option<String>,
}

impl Said {
    /// What the bytes of an error body say: JSON of any shape, a page, or plain text.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        if let Ok(body) = serde_json::from_slice(bytes) {
            return Self::of(&body);
        }
        let text = std::str::from_utf8(bytes).ok();
        Self {
            text: if is_html(bytes) {
                text.and_then(title)
            } else {
                text.map(str::trim)
            }
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
            ..Self::default()
        }
    }

    fn of(body: &Value) -> Self {
        let mut said = Self {
            continue_url: text(body, "continue_url"),
            ..Self::default()
        };
        said.take(body);
        match body {
            Value::String(text) => said.text = Some(text.clone()),
            Value::Array(items) => said.list(items),
            _ => {}
        }
        if let Some(message) = first_message(body) {
            said.take(message);
        }
        match body.get("detail") {
            Some(Value::Array(items)) => said.list(items),
            Some(detail @ Value::Object(_)) => said.nested(detail),
            _ => {}
        }
        match body.get("error") {
            // A sentence is no code.
            Some(Value::String(text)) if text.contains(char::is_whitespace) => {
                said.text.get_or_insert_with(|| text.clone());
            }
            Some(Value::String(code)) => {
                said.code.get_or_insert_with(|| code.clone());
            }
            Some(error @ Value::Object(_)) => said.nested(error),
            _ => {}
        }
        if let Some(Value::Array(items)) = body.get("errors") {
            said.list(items);
        }
        said
    }

    /// A list of errors: texts, objects with a code and a text, or a validation framework's `{loc,
    /// msg}`.
    fn list(&mut self, items: &[Value]) {
        if self.code.is_none() {
            self.code = items.iter().find_map(|item| text(item, "code"));
        }
        let lines: Vec<String> = items.iter().filter_map(line).collect();
        if self.text.is_none() && !lines.is_empty() {
            self.text = Some(lines.join("; "));
        }
    }

    fn take(&mut self, object: &Value) {
        if self.code.is_none() {
            self.code = text(object, "code");
        }
        if self.text.is_none() {
            self.text = TEXTS.into_iter().find_map(|name| text(object, name));
        }
    }

    fn nested(&mut self, object: &Value) {
        self.take(object);
        if let Some(Value::Array(items)) = object.get("errors") {
            self.list(items);
        }
    }
}

/// Where errors of many makes say what is wrong, the protocol's own first.
const TEXTS: [&str; 6] = [
    "content",
    "detail",
    "message",
    "error_description",
    "msg",
    "title",
];

fn text(object: &Value, name: &str) -> Option<String> {
    wire::tag(object, name).map(str::to_owned)
}

/// The first error among `messages`, or else the first message.
fn first_message(body: &Value) -> Option<&Value> {
    let messages = body.get("messages")?.as_array()?;
    messages
        .iter()
        .find(|message| wire::tag(message, "type") == Some("error"))
        .or_else(|| messages.first())
}

/// One error of a list, with its place where a validation framework gives one.
fn line(item: &Value) -> Option<String> {
    let message = match item {
        Value::String(text) => text,
        item => TEXTS.into_iter().find_map(|name| wire::tag(item, name))?,
    };
    let place: Vec<String> = item
        .get("loc")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|step| {
            step.as_str()
                .map_or_else(|| step.to_string(), str::to_owned)
        })
        .collect();
    if place.is_empty() {
        return Some(message.to_owned());
    }
    Some(format!("{}: {message}", place.join(".")))
}

/// The title of an HTML page.
fn title(page: &str) -> Option<&str> {
    let lower = page.to_ascii_lowercase();
    let from = lower.find("<title")?;
    let from = from + lower.get(from..)?.find('>')? + 1;
    let to = from + lower.get(from..)?.find('<')?;
    page.get(from..to).map(str::trim)
}

/// Whether a body is a page for people.
pub(crate) fn is_html(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"<")
}

/// Seconds or an HTTP-date (RFC 9110 section 10.2.3).
pub(crate) fn retry_after(value: &str) -> Option<RetryAfter> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(RetryAfter::Seconds(seconds));
    }
    jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(value)
        .ok()
        .map(RetryAfter::At)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_the_shapes_of_error_bodies() {
        for (body, code, said) in [
            (json!({"code": "x", "content": "c"}), Some("x"), Some("c")),
            (
                json!({"detail": "gone", "code": "RESOURCE_NOT_FOUND"}),
                Some("RESOURCE_NOT_FOUND"),
                Some("gone"),
            ),
            (
                json!({"detail": [
                    {"type": "missing", "loc": ["body", "items", 0, "id"], "msg": "Field required", "input": "SECRET"},
                    {"msg": "and more"},
                ]}),
                None,
                Some("body.items.0.id: Field required; and more"),
            ),
            (
                json!({"detail": {"status": "error", "errors": [{"code": "V", "message": "m"}]}}),
                Some("V"),
                Some("m"),
            ),
            (
                json!({"error": "signature_invalid"}),
                Some("signature_invalid"),
                None,
            ),
            (
                json!({"error": "invalid_token", "error_description": "expired"}),
                Some("invalid_token"),
                Some("expired"),
            ),
            (
                json!({"error": {"code": "e", "message": "m"}}),
                Some("e"),
                Some("m"),
            ),
            (
                json!({"messages": [
                    {"type": "info", "content": "i"},
                    {"type": "error", "code": "identity_required", "content": "who?"},
                ]}),
                Some("identity_required"),
                Some("who?"),
            ),
            (
                json!({"title": "Bad Request", "status": 400}),
                None,
                Some("Bad Request"),
            ),
            (json!([1]), None, None),
            (json!("out of order"), None, Some("out of order")),
            (json!({"error": "not found"}), None, Some("not found")),
            (
                json!(["a", {"code": "B", "message": "b"}]),
                Some("B"),
                Some("a; b"),
            ),
            (
                json!({"errors": [{"loc": ["body"], "msg": "m"}]}),
                None,
                Some("body: m"),
            ),
            (json!({"detail": ["a", "b"]}), None, Some("a; b")),
        ] {
            let read = Said::of(&body);
            assert_eq!(
                (read.code.as_deref(), read.text.as_deref()),
                (code, said),
                "{body}"
            );
        }
    }

    #[test]
    fn reads_retry_after() {
        assert_eq!(retry_after("2"), Some(RetryAfter::Seconds(2)));
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(RetryAfter::At("1994-11-06T08:49:37Z".parse().unwrap()))
        );
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after("-1"), None);
    }
}
