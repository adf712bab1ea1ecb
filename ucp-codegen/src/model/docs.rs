//! Text of the contract as Rust documentation.

use crate::schema::Docs;

/// A description with what the type cannot say, as one doc comment. `fallback` is what is said
/// where the contract says nothing.
pub(super) fn text(docs: &Docs, fallback: &str) -> String {
    let first = docs.description.as_deref().map(sentence).filter(|text| !text.is_empty()).unwrap_or_else(|| fallback.to_owned());
    let facts = docs.facts.join(" ");
    if facts.is_empty() { first } else { format!("{first}\n\n{facts}") }
}

/// A paragraph of the contract, safe for rustdoc and closed by a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut safe = escape(text.trim());
    if safe.ends_with(|c: char| c.is_alphanumeric() || c == ')' || c == '`') {
        safe.push('.');
    }
    safe
}

/// Escapes what rustdoc would take for a link or for HTML, outside of code spans.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, part) in text.split('`').enumerate() {
        if index > 0 {
            out.push('`');
        }
        if index % 2 == 1 {
            out.push_str(part);
            continue;
        }
        for word in part.split_inclusive(char::is_whitespace) {
            let trimmed = word.trim_end();
            let (link, tail) = split_link(trimmed);
            if link.is_empty() {
                for c in trimmed.chars() {
                    if matches!(c, '[' | ']' | '<' | '>' | '*') {
                        out.push('\\');
                    }
                    out.push(c);
                }
            } else {
                out.push_str(&format!("<{link}>{tail}"));
            }
            out.push_str(word.get(trimmed.len()..).unwrap_or_default());
        }
    }
    // An unclosed code span would swallow the rest of the page.
    if text.matches('`').count() % 2 == 1 {
        out = out.replace('`', "'");
    }
    out
}

fn split_link(word: &str) -> (&str, &str) {
    if !word.starts_with("https://") && !word.starts_with("http://") {
        return ("", word);
    }
    let end = word.trim_end_matches(['.', ',', ';', ')', ':', '\'', '"']).len();
    word.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustdoc_takes_it_as_it_is_meant() {
        assert_eq!(sentence("Path $.line_items[0] of <it>"), r"Path $.line_items\[0\] of \<it\>.");
        assert_eq!(sentence("See `a[0]` at https://x.example/y."), "See `a[0]` at <https://x.example/y>.");
        assert_eq!(sentence("one ` only"), "one ' only.");
        assert_eq!(sentence("Is it?"), "Is it?");
    }
}
