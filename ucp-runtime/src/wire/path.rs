//! Where in a JSON document something was found.

use std::borrow::Cow;
use std::fmt;

/// One step into a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Member(Cow<'static, str>),
    Index(usize),
}

/// A place in a JSON document, printed as an RFC 9535 path: `$.line_items[0].id`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonPath(pub(crate) Vec<Segment>);

impl JsonPath {
    /// The place of a member of the whole document.
    pub(crate) fn member(name: &'static str) -> Self {
        Self(vec![Segment::Member(name.into())])
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for segment in &self.0 {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Member(name) if is_shorthand(name) => write!(f, ".{name}")?,
                // RFC 9535 section 2.3.1.1; JSON's own escapes are among those it allows.
                Segment::Member(name) => write!(f, "[{}]", serde_json::Value::from(name.as_ref()))?,
            }
        }
        Ok(())
    }
}

/// Whether a member name may follow a dot (RFC 9535 section 2.5.1.1).
fn is_shorthand(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii())
        && chars.all(|c| c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_rfc_9535() {
        let path = JsonPath(vec![
            Segment::Member("line_items".into()),
            Segment::Index(2),
            Segment::Member("dev.ucp \"x\"".into()),
        ]);
        assert_eq!(path.to_string(), r#"$.line_items[2]["dev.ucp \"x\""]"#);
        assert_eq!(JsonPath::default().to_string(), "$");
    }
}
