//! UCP's marks: what a property is in one view of its schema.

use crate::tree::At;
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

/// Whether a property has a mark in any view.
pub(crate) fn is_marked(property: At<'_>) -> bool {
    property.has("ucp_request") || property.has("ucp_response")
}

/// The mark of a property in a view. `Ok(None)` when it has none, which is also the case when the
/// object form does not list the operation. `Err` says what is wrong with the mark.
pub(crate) fn mark(property: At<'_>, view: &View) -> Result<Option<Marked>, String> {
    let (keyword, verb) = match view {
        View::Response => ("ucp_response", "read"),
        View::Request(verb) => ("ucp_request", verb.as_ref()),
    };
    let Some(form) = property.get(keyword) else {
        return Ok(None);
    };
    if form.is_object() && !form.has("transition") {
        return match form.get(verb) {
            None => Ok(None),
            Some(form) => read(form, keyword),
        };
    }
    read(form, keyword)
}

fn read(form: At<'_>, keyword: &str) -> Result<Option<Marked>, String> {
    let plain = |value: Option<At<'_>>| match value.and_then(At::as_str) {
        Some("omit") => Ok(Mark::Omit),
        Some("optional") => Ok(Mark::Optional),
        Some("required") => Ok(Mark::Required),
        _ => Err(format!(
            "`{keyword}` is `omit`, `optional` or `required`, alone or per operation"
        )),
    };
    match form.get("transition") {
        None => Ok(Some(Marked {
            mark: plain(Some(form))?,
            transition: None,
        })),
        // A transition announces what will be; until then, what was holds.
        Some(transition) => {
            let to = transition.text("to").unwrap_or("something else");
            let text = transition.text("description").map_or_else(
                || format!("Will become `{to}`."),
                |why| format!("Will become `{to}`: {why}"),
            );
            Ok(Some(Marked {
                mark: plain(transition.get("from"))?,
                transition: Some(text),
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use serde_json::{Value, json};

    fn marked(property: &Value, view: &View) -> Result<Option<Marked>, String> {
        let mut tree = Tree::default();
        let root = crate::parse::parse("a.json", &property.to_string(), &mut tree).unwrap();
        mark(tree.at(root), view)
    }

    fn request(verb: &str, marks: Value) -> Option<Mark> {
        let property = json!({ "ucp_request": marks });
        marked(&property, &View::Request(verb.into()))
            .unwrap()
            .map(|marked| marked.mark)
    }

    #[test]
    fn reads_every_form() {
        assert_eq!(request("create", json!("omit")), Some(Mark::Omit));
        assert_eq!(request("search", json!("optional")), Some(Mark::Optional));
        assert_eq!(
            request("create", json!({"create": "required", "update": "omit"})),
            Some(Mark::Required)
        );
        // Cases C07: an operation that is not listed has no mark.
        assert_eq!(
            request("complete", json!({"create": "required", "update": "omit"})),
            None
        );
        assert_eq!(
            marked(&json!({"ucp_request": "omit"}), &View::Response),
            Ok(None)
        );
        assert_eq!(
            marked(&json!({"ucp_response": "omit"}), &View::Response)
                .unwrap()
                .map(|marked| marked.mark),
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
            let marked = super::tests::marked(&property, &View::Request("update".into()))
                .unwrap()
                .unwrap();
            assert_eq!(marked.mark, Mark::Required);
            assert_eq!(
                marked.transition.as_deref(),
                Some("Will become `omit`: moves to the path")
            );
        }
    }

    #[test]
    fn refuses_other_words() {
        assert!(
            marked(
                &json!({"ucp_request": "hidden"}),
                &View::Request("create".into())
            )
            .is_err()
        );
    }
}
