//! Converts sources between their stored shapes and text.
//!
//! Owns how a string or a list of lines becomes one text, and how a text is split into lines.

use std::borrow::Cow;

use crate::json;

/// The source of a cell as text.
pub struct Source<'a> {
    /// The text; U+FFFD replaces lone surrogates, which a Rust string cannot hold.
    pub text: Cow<'a, str>,
    /// True if `text` cannot represent something in the file exactly.
    pub lossy: bool,
}

/// Reads a string, or joins a list of strings, in which any other item counts as its JSON text. Any
/// other value gives the empty text.
pub(crate) fn join_source(value: &[u8]) -> Source<'_> {
    match value.first() {
        Some(b'"') => {
            let decoded = json::decode(value);
            Source { text: decoded.text, lossy: decoded.lossy }
        }
        Some(b'[') => {
            let items = json::items(value);
            if let [only] = items.as_slice() {
                return join_item(only.of(value));
            }
            let mut text = String::with_capacity(value.len());
            let mut lossy = false;
            for item in items {
                let part = join_item(item.of(value));
                text.push_str(&part.text);
                lossy |= part.lossy;
            }
            Source { text: Cow::Owned(text), lossy }
        }
        _ => Source { text: Cow::Borrowed(""), lossy: value != b"null" },
    }
}

fn join_item(item: &[u8]) -> Source<'_> {
    if item.first() == Some(&b'"') {
        return join_source(item);
    }
    Source { text: String::from_utf8_lossy(item), lossy: true }
}

/// Splits a source as Jupyter stores it: every line keeps its line feed, a last line without one
/// stays without, and the empty text gives no lines. Only LF ends a line.
pub(crate) fn split_lines(source: &str) -> Vec<&str> {
    source.split_inclusive('\n').collect()
}

/// Returns the first line that is not blank, cut to at most `limit` characters.
pub fn first_line(text: &str, limit: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end();
    if line.chars().count() <= limit {
        return line.to_owned();
    }
    line.chars().take(limit.saturating_sub(1)).chain(std::iter::once('…')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:N-07 B:N-08 B:N-09
    #[test]
    fn sources_are_split_as_jupyter_stores_them() {
        let check = |source: &str, expected: &[&str]| {
            assert_eq!(split_lines(source), expected, "{source:?}");
            assert_eq!(split_lines(source).concat(), source);
        };
        check("", &[]);
        check("a", &["a"]);
        check("a\n", &["a\n"]);
        check("a\nb", &["a\n", "b"]);
        check("\n", &["\n"]);
        check("\n\n", &["\n", "\n"]);
        check("a\r\nb\rc", &["a\r\n", "b\rc"]);
        check("a\u{c}b\u{2028}c\u{85}d\u{b}e\n", &["a\u{c}b\u{2028}c\u{85}d\u{b}e\n"]);
    }
}
