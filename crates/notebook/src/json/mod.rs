//! JSON as bytes with positions: `scan.rs` checks a text, `walk.rs` returns the span of every member
//! and item of checked text, `string.rs` handles escapes, and `tokens.rs` reads JSON that arrives in
//! blocks.
//!
//! It must not know what a notebook is, and it never builds a tree: values keep their position and
//! spelling in the file.

mod scan;
mod string;
mod tokens;
mod walk;

pub use scan::SyntaxError;
pub(crate) use scan::{Scanner, TOO_DEEP, check, whole_number};
pub(crate) use string::{DecodedString, NonAscii, decode, encode};
pub use tokens::{
    JsonFault, JsonKind, JsonLimits, JsonRole, JsonScanner, JsonToken, JsonTokens, json_tokens,
};
pub(crate) use walk::{Cursor, Member, first_key, get, items, members, skip};

/// A range of bytes. Files are smaller than 4 GiB, so 32 bits suffice and keep cells small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The same range, with offsets relative to `origin`.
    pub(crate) fn relative_to(self, origin: u32) -> Span {
        Span { start: self.start - origin, end: self.end - origin }
    }
}

#[cfg(test)]
mod tests;
