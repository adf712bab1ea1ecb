//! UCP's marks: what a property is in one view of its schema.

use serde_json::Value;
use std::fmt;
use std::rc::Rc;

/// The view of a schema: as it is received, or as one operation sends it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum View {
    /// What a business sends: answers and webhooks.
    Response,
    /// What a platform sends, by the operation's verb: `create`, `update`, `complete`, ….
    Request(Rc<str>),
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response => f.write_str("a response"),
            Self::Request(verb) => write!(f, "a {verb} request"),
        }
    }
}

/// What a mark makes of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The property is not there, and not required.
    Omit,
    /// The property is there and not required.
    Optional,
    /// The property is there and required.
    Required,
}

/// A mark as it stands on a property, with the change it announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) mark: Mark,
    /// Set when the contract announces that the mark will change.
    pub(crate) transition: Option<String>,
}

/// The mark of a property in a view. `Ok(None)` when it has none, which is also the case when the
/// object form does not list the operation. `Err` says what is wrong with the mark.
pub(crate) fn mark(property: &Value, view: &View) -> Result<Option<Marked>, String> {
    let (keyword, verb) = match view {
        View::Response => ("ucp_response", "read"),
        View::Request(verb) => ("ucp_request", verb.as_ref()),
    };
    match property.get(keyword) {
        None => Ok(None),
        Some(Value::Object(forms)) => match forms.get("transition").or_else(|| forms.get(verb)) {
            None => Ok(None),
            Some(_) if forms.contains_key("transition") => read(property.get(keyword), keyword),
            form => read(form, keyword),
        },
        form => read(form, keyword),
    }
}

fn read(form: Option<&Value>, keyword: &str) -> Result<Option<Marked>, String> {
    let plain = |value: Option<&Value>| match value.and_then(Value::as_str) {
        Some("omit") => Ok(Mark::Omit),
        Some("optional") => Ok(Mark::Optional),
        Some("required") => Ok(Mark::Required),
        _ => Err(format!("`{keyword}` is `omit`, `optional` or `required`, alone or per operation")),
    };
    match form.and_then(|form| form.get("transition")) {
        None => Ok(Some(Marked { mark: plain(form)?, transition: None })),
        // A transition announces what will be; until then, what was holds.
        Some(transition) => {
            let to = transition.get("to").and_then(Value::as_str).unwrap_or("something else");
            let why = transition.get("description").and_then(Value::as_str);
            let text = why.map_or_else(|| format!("Will become `{to}`."), |why| format!("Will become `{to}`: {why}"));
            Ok(Some(Marked { mark: plain(transition.get("from"))?, transition: Some(text) }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(verb: &str, marks: Value) -> Option<Mark> {
        let property = json!({ "ucp_request": marks });
        mark(&property, &View::Request(verb.into())).unwrap().map(|marked| marked.mark)
    }

    #[test]
    fn reads_every_form() {
        assert_eq!(request("create", json!("omit")), Some(Mark::Omit));
        assert_eq!(request("search", json!("optional")), Some(Mark::Optional));
        assert_eq!(request("create", json!({"create": "required", "update": "omit"})), Some(Mark::Required));
        // Cases C07: an operation that is not listed has no mark.
        assert_eq!(request("complete", json!({"create": "required", "update": "omit"})), None);
        assert_eq!(mark(&json!({"ucp_request": "omit"}), &View::Response), Ok(None));
        assert_eq!(
            mark(&json!({"ucp_response": "omit"}), &View::Response).unwrap().map(|marked| marked.mark),
            Some(Mark::Omit)
        );
    }

    #[test]
    fn a_transition_behaves_as_it_did_and_says_so() {
        // Case C08, both forms.
        let transition = json!({"transition": {"from": "required", "to": "omit", "description": "moves to the path"}});
        let long = json!({ "ucp_request": { "update": transition } });
        let short = json!({ "ucp_request": transition });
        for property in [long, short] {
            let marked = mark(&property, &View::Request("update".into())).unwrap().unwrap();
            assert_eq!(marked.mark, Mark::Required);
            assert_eq!(marked.transition.as_deref(), Some("Will become `omit`: moves to the path"));
        }
    }

    #[test]
    fn refuses_other_words() {
        assert!(mark(&json!({"ucp_request": "hidden"}), &View::Request("create".into())).is_err());
    }
}
