//! Text of the contract as Rust documentation.

use crate::schema::Docs;

/// A description with what the type cannot say, as one doc comment. `fallback` is what is said
/// where the contract says nothing.
pub(super) fn text(docs: &Docs, fallback: &str) -> String {
    let first = docs
        .description
        .as_deref()
        .map(sentence)
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| fallback.to_owned());
    let facts = docs.facts.join(" ");
    if facts.is_empty() {
        first
    } else {
        format!("{first}\n\n{facts}")
    }
}

/// Breaks a paragraph into lines that fit a page of code, each as it stands behind `///`. Words are
/// never broken, nor are code spans.
pub(crate) fn wrap(paragraph: &str) -> Vec<String> {
    const WIDTH: usize = 92;
    if !is_spaced(paragraph.as_bytes()) {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        return filled(words.into_iter(), WIDTH);
    }
    // Most paragraphs are one line as they are.
    if paragraph.len() <= WIDTH {
        return vec![[" ", paragraph].concat()];
    }
    filled(paragraph.split(' '), WIDTH)
}

fn filled<'w>(words: impl Iterator<Item = &'w str>, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut width = 0;
    let mut open_span = false;
    // What continues a list item is indented below its text.
    let mut indent = 0;
    for word in words {
        let length = if word.is_ascii() {
            word.len()
        } else {
            word.chars().count()
        };
        // A line may not begin like a list item or a heading.
        let glued = open_span || matches!(word, "-" | "+" | "*" | "#" | "=");
        match lines.last_mut() {
            Some(line) if glued || width + length < limit => {
                line.push(' ');
                line.push_str(word);
                width += 1 + length;
            }
            last => {
                if last.is_none() && is_marker(word) {
                    indent = word.len() + 1;
                }
                let first = last.is_none();
                let mut line = String::with_capacity(limit + 8);
                line.push(' ');
                width = length;
                if !first && indent > 0 {
                    line.push_str(&" ".repeat(indent));
                    width += indent;
                }
                line.push_str(word);
                lines.push(line);
            }
        }
        if word.contains('`') {
            open_span ^= word.matches('`').count() % 2 == 1;
        }
    }
    lines
}

/// Whether all space in a text is single, and between words.
fn is_spaced(text: &[u8]) -> bool {
    let mut before = b' ';
    for byte in text {
        if !(byte.is_ascii_graphic() || *byte == b' ' && before != b' ') {
            return false;
        }
        before = *byte;
    }
    before != b' '
}

/// Whether a line that begins with this word is an item of a list.
fn is_marker(word: &str) -> bool {
    matches!(word, "-" | "+")
        || word
            .strip_suffix(['.', ')'])
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A paragraph of the contract, safe for rustdoc and closed by a full stop.
pub(super) fn sentence(text: &str) -> String {
    if is_plain(text) {
        let end = if text.ends_with(['.', '!', '?', ':']) {
            ""
        } else {
            "."
        };
        return [text, end].concat();
    }
    // A fence would be compiled as a test of whoever includes the generated code.
    let plain = text.trim().replace("```", "'''").replace("~~~", "'''");
    let mut safe = String::new();
    let mut in_list = false;
    for line in escape(&plain).lines() {
        let item = is_marker(line.split_whitespace().next().unwrap_or_default());
        // Markdown would take a line that follows an item for a part of it.
        if in_list && !item && !line.trim().is_empty() {
            safe.push('\n');
        }
        if !safe.is_empty() {
            safe.push('\n');
        }
        safe.push_str(line);
        in_list = item;
    }
    if !safe.is_empty() && !safe.ends_with(['.', '!', '?', ':']) {
        safe.push('.');
    }
    safe
}

/// Whether a text is one line in which nothing is to be escaped. Most are.
fn is_plain(text: &str) -> bool {
    let (mut spans, mut before) = (0, b' ');
    for byte in text.bytes() {
        match byte {
            b'`' if before == b'`' => return false,
            b'`' => spans += 1,
            b'[' | b']' | b'<' | b'>' | b'*' | b'~' | b'/' => return false,
            b' ' if before == b' ' => return false,
            b' '..=b'~' => {}
            _ => return false,
        }
        before = byte;
    }
    spans % 2 == 0 && before != b' '
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
    let end = word
        .trim_end_matches(['.', ',', ';', ')', ':', '\'', '"'])
        .len();
    word.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustdoc_takes_it_as_it_is_meant() {
        assert_eq!(
            sentence("Path $.line_items[0] of <it>"),
            r"Path $.line_items\[0\] of \<it\>."
        );
        assert_eq!(
            sentence("See `a[0]` at https://x.example/y."),
            "See `a[0]` at <https://x.example/y>."
        );
        assert_eq!(sentence("one ` only"), "one ' only.");
        assert_eq!(sentence("Is it?"), "Is it?");
        assert_eq!(
            sentence("- one\n- two\nand more\n```\nlet x = ;\n```"),
            "- one\n- two\n\nand more\n'''\nlet x = ;\n'''."
        );
        let item = format!("- {}", "word ".repeat(30));
        assert!(
            wrap(&item)
                .iter()
                .skip(1)
                .all(|line| line.starts_with("   w"))
        );
    }
}
