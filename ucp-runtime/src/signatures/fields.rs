//! The header fields of signatures, and reading them as structured fields (RFC 8941).

use super::Reason;
use http::{HeaderMap, HeaderName, HeaderValue};
use sfv::visitor::{DictionaryVisitor, EntryVisitor};
use sfv::{Dictionary, KeyRef, Parser};
use std::borrow::Cow;

pub(super) const SIGNATURE: HeaderName = HeaderName::from_static("signature");
pub(super) const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
pub(super) const SIGNATURE_AGENT: HeaderName = HeaderName::from_static("signature-agent");
pub(super) use crate::headers::{CONTENT_DIGEST, IDEMPOTENCY_KEY, REQUEST_SIGNATURE, UCP_AGENT};

/// How long `Signature-Input` or `Signature` may be, in bytes, all lines together.
pub(super) const LENGTH_LIMIT: usize = 16 * 1024;
/// How many signatures a message may carry.
pub(super) const SIGNATURE_LIMIT: usize = 16;
/// How many components a signature may cover.
pub(super) const COMPONENT_LIMIT: usize = 64;

/// The lines of a field as one (RFC 9110 section 5.3).
pub(super) enum Lines<'h> {
    Absent,
    NotAscii,
    Text(Cow<'h, str>),
}

pub(super) fn joined<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Lines<'h> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else {
        return Lines::Absent;
    };
    let Some(mut text) = line(first).map(Cow::Borrowed) else {
        return Lines::NotAscii;
    };
    for value in values {
        let Some(value) = line(value) else {
            return Lines::NotAscii;
        };
        let text = text.to_mut();
        text.push_str(", ");
        text.push_str(value);
    }
    Lines::Text(text)
}

/// A line as RFC 9421 section 2.1 takes it: printable ASCII, without white space around it.
pub(super) fn line(value: &HeaderValue) -> Option<&str> {
    Some(value.to_str().ok()?.trim_matches([' ', '\t']))
}

/// Reads a dictionary in which no key stands twice: which of the two counts, parsers do not agree
/// on, and whoever adds a line must not choose.
pub(super) fn dictionary(headers: &HeaderMap, name: &HeaderName) -> Result<Dictionary, Reason> {
    let malformed = || Reason::Malformed {
        header: name.clone(),
    };
    let text = match joined(headers, name) {
        Lines::Absent => return Ok(Dictionary::new()),
        Lines::NotAscii => return Err(malformed()),
        Lines::Text(text) => text,
    };
    if text.len() > LENGTH_LIMIT {
        return Err(Reason::TooMuch {
            what: "the bytes of a signature header",
            limit: LENGTH_LIMIT,
        });
    }
    let read = Parser::new(text.as_ref()).parse_dictionary_with_visitor(Once::default());
    match read.map_err(|_| malformed())? {
        Once { repeated: true, .. } => Err(Reason::Repeated {
            header: name.clone(),
        }),
        Once { members, .. } => Ok(members),
    }
}

/// A dictionary that notices a key which stands twice.
#[derive(Default)]
struct Once {
    members: Dictionary,
    repeated: bool,
}

impl<'de> DictionaryVisitor<'de> for Once {
    type Out = Self;
    type Error = std::convert::Infallible;

    fn entry(&mut self, key: &'de KeyRef) -> Result<impl EntryVisitor<'de>, Self::Error> {
        self.repeated |= self.members.contains_key(key);
        DictionaryVisitor::entry(&mut self.members, key)
    }

    fn finish(self) -> Result<Self::Out, Self::Error> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sfv::FieldType as _;

    fn headers(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(SIGNATURE_INPUT, HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    #[test]
    fn lines_join_and_order_is_kept() {
        let read = dictionary(
            &headers(&[
                "  b=( \"@status\"   \"x\" );z=1;keyid=\"k\";a;created=5\t",
                "a=()",
            ]),
            &SIGNATURE_INPUT,
        );
        assert_eq!(
            read.unwrap().serialize().unwrap(),
            "b=(\"@status\" \"x\");z=1;keyid=\"k\";a;created=5, a=()"
        );
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        for lines in [&["a=(), b=1, a=()"][..], &["a=()", "a=1"]] {
            let header = SIGNATURE_INPUT;
            assert_eq!(
                dictionary(&headers(lines), &SIGNATURE_INPUT),
                Err(Reason::Repeated { header })
            );
        }
    }

    #[test]
    fn length_is_bounded() {
        let long = format!("a=\"{}\"", "x".repeat(LENGTH_LIMIT - 4));
        assert_eq!(long.len(), LENGTH_LIMIT);
        assert!(dictionary(&headers(&[&long]), &SIGNATURE_INPUT).is_ok());
        assert!(matches!(
            dictionary(&headers(&[&long, "b"]), &SIGNATURE_INPUT),
            Err(Reason::TooMuch { limit: 16_384, .. })
        ));
    }
}
