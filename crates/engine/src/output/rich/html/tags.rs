//! Meaning of single HTML tags.
//!
//! Owns the lists of names. It must not know how text is put together.

use html5ever::tokenizer::Tag;

/// The Markdown mark around emphasised text.
pub(super) fn emphasis(tag: &str) -> Option<&'static str> {
    match tag {
        "b" | "strong" => Some("**"),
        "i" | "em" => Some("*"),
        "code" | "tt" | "kbd" | "samp" => Some("`"),
        _ => None,
    }
}

/// Returns true if a tag begins on a line of its own.
pub(super) fn is_block(tag: &str) -> bool {
    const BLOCKS: [&str; 14] = [
        "div", "section", "article", "header", "footer", "main", "nav", "aside", "figure", "dl",
        "dt", "dd", "details", "summary",
    ];
    BLOCKS.contains(&tag)
}

/// The level of a heading.
pub(super) fn level(tag: &str) -> Option<usize> {
    match tag.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(usize::from(digit - b'0')),
        _ => None,
    }
}

/// The value of an attribute.
pub(super) fn attribute(tag: &Tag, name: &str) -> Option<String> {
    tag.attrs.iter().find(|found| &*found.name.local == name).map(|found| found.value.to_string())
}

/// Number of columns or rows that a cell spans.
pub(super) fn span(tag: &Tag, name: &str) -> usize {
    attribute(tag, name).and_then(|value| value.trim().parse().ok()).unwrap_or(1)
}

/// Returns true if the content of the tag is not read.
pub(super) fn is_skipped(tag: &str) -> bool {
    ["script", "style", "title", "noscript", "iframe", "textarea"].contains(&tag)
}
