//! Writes a document: the original spans, with new text between.
//!
//! Owns where the bytes of the new file come from. It must not know how an edit was decided.

use crate::json::{self, Span};
use std::borrow::Cow;

use super::notebook::Notebook;
use super::slot::Body;
use super::style::{Container, Entry, Indent, Piece};
/// A run of bytes of the document, in order.
pub type Chunk<'a> = Cow<'a, [u8]>;

impl Notebook {
    /// The current document, in pieces that borrow from the original where they can, so that
    /// writing a large file needs no second copy of it.
    pub fn chunks(&self) -> Vec<Chunk<'_>> {
        let mut pieces = match self.layout.cells {
            Some(inner) if self.is_changed() => self.cell_pieces(inner),
            _ => vec![Piece::Kept(Span::new(0, self.bytes.len()))],
        };
        if let Some(changed) = &self.metadata {
            pieces = self.with_metadata(pieces, changed);
        }
        let chunk = |piece| match piece {
            Piece::Kept(span) => Cow::Borrowed(span.of(&self.bytes)),
            Piece::Given(bytes) => bytes,
        };
        pieces.into_iter().map(chunk).collect()
    }

    fn cell_pieces(&self, inner: Span) -> Vec<Piece<'_>> {
        let entries: Vec<Entry<'_>> = self
            .cells
            .iter()
            .map(|slot| match (&slot.body, slot.origin) {
                (Body::File(_), Some(at)) => Entry::Old(at),
                (Body::Own(text), Some(at)) => Entry::Changed(at, [text, b""]),
                (Body::Own(text), None) => Entry::New([text, b""]),
                (Body::File(span), None) => Entry::New([span.of(&self.bytes), b""]),
            })
            .collect();
        let container = self.cells_container(inner);
        let mut pieces = vec![Piece::Kept(Span { start: 0, end: inner.start })];
        pieces.extend(container.rewrite(&entries));
        pieces.push(Piece::Kept(Span::new(inner.end as usize, self.bytes.len())));
        pieces
    }

    fn cells_container(&self, inner: Span) -> Container<'_> {
        let holder = self.top_indent();
        Container::new(&self.bytes, inner, &self.layout.original, holder, &self.style)
    }

    /// The indentation of the members of the top-level object.
    pub(crate) fn top_indent(&self) -> Indent {
        let document = self.layout.document.of(&self.bytes);
        match json::first_key(document) {
            Some((key, _)) => Indent::of_gap(&document[1..key.start as usize]),
            None => Indent::Inline,
        }
    }

    /// The indentation of the cells.
    pub(crate) fn cell_indent(&self) -> Indent {
        match self.layout.cells {
            Some(inner) => self.cells_container(inner).indent().clone(),
            None => Indent::Inline,
        }
    }

    /// Replaces the old metadata, or adds the key at the end of the document.
    fn with_metadata<'a>(&'a self, pieces: Vec<Piece<'a>>, changed: &'a [u8]) -> Vec<Piece<'a>> {
        let (hole, text): (Span, Cow<'a, [u8]>) = match self.layout.metadata {
            Some(span) => (span, changed.into()),
            None => {
                let document = self.layout.document.of(&self.bytes);
                let last = json::members(document).last().map_or(1, |m| m.value.end as usize);
                let at = self.layout.document.start as usize + last;
                let mut text = self.top_indent().separator(&self.style);
                text.extend_from_slice(b"\"metadata\"");
                text.extend_from_slice(self.style.colon.as_bytes());
                text.extend_from_slice(changed);
                (Span::new(at, at), text.into())
            }
        };
        let mut out = Vec::with_capacity(pieces.len() + 2);
        let mut text = Some(text);
        for piece in pieces {
            match piece {
                Piece::Kept(span) if span.start <= hole.start && hole.end <= span.end => {
                    out.push(Piece::Kept(Span { end: hole.start, ..span }));
                    out.extend(text.take().map(Piece::Given));
                    out.push(Piece::Kept(Span { start: hole.end, ..span }));
                }
                other => out.push(other),
            }
        }
        out
    }

    /// The current document as one buffer.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.chunks().concat()
    }
}
