//! The notebook: the file's bytes, the place of every cell in them, and an overlay of changed cells.
//!
//! Owns parsing and writing. The original bytes stay the truth: a cell that was not changed is a span
//! of them, and the new file is those spans with new text between. It must not know how an edit is
//! decided (`edit.rs`) or shown (`text.rs`, `outline.rs`).

use std::borrow::Cow;
use std::sync::Arc;

use crate::cell::{CellKind, CellRef};
use crate::diagnose;
use crate::error::{NotebookError, ReadOnly, RefError};
use crate::fields::Fields;
use crate::json::{self, NonAscii, Scanner, Span, SyntaxError};
use crate::legacy;
use crate::names::{CellNames, at_index};
use crate::style::{Container, Entry, Indent, Piece, Style};
use crate::view::CellView;

/// Offsets are kept in 32 bits.
const MAX_BYTES: u64 = u32::MAX as u64;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A notebook that remembers its bytes.
#[derive(Clone)]
pub struct Notebook {
    bytes: Arc<Vec<u8>>,
    layout: Layout,
    pub(crate) style: Style,
    pub(crate) cells: Vec<Slot>,
    /// The notebook's metadata when it was changed.
    pub(crate) metadata: Option<Arc<Vec<u8>>>,
}

/// Where the parts of the top-level object are.
#[derive(Clone)]
struct Layout {
    /// The top-level object.
    document: Span,
    /// Just past `[` and at `]` of the cells array; none for notebooks that keep cells elsewhere.
    cells: Option<Span>,
    /// The entries of the cells array, in file order.
    original: Vec<Span>,
    metadata: Option<Span>,
    version: FormatVersion,
    read_only: Option<ReadOnly>,
}

/// `nbformat` and `nbformat_minor` as the file has them; none where it has no such whole number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatVersion {
    /// `nbformat`.
    pub major: Option<u64>,
    /// `nbformat_minor`.
    pub minor: Option<u64>,
}

/// One cell of the new document: the bytes of its object and the fields in them.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) body: Body,
    pub(crate) fields: Fields,
    /// Its place in the file as it was parsed.
    pub(crate) origin: Option<usize>,
}

#[derive(Clone)]
pub(crate) enum Body {
    /// A span of the file.
    File(Span),
    /// Text made here.
    Own(Arc<Vec<u8>>),
}

/// A run of bytes of the document, in order.
pub type Chunk<'a> = Cow<'a, [u8]>;

impl Notebook {
    /// Reads a notebook. What is accepted is what Python's `json.loads` accepts, after an optional
    /// byte order mark, when it is an object with an array `cells` (or the `worksheets` of nbformat 3).
    pub fn parse(bytes: Vec<u8>) -> Result<Notebook, NotebookError> {
        Notebook::parse_shared(Arc::new(bytes))
    }

    /// [`Notebook::parse`] for bytes that something else reads at the same time.
    pub fn parse_shared(bytes: Arc<Vec<u8>>) -> Result<Notebook, NotebookError> {
        if bytes.len() as u64 > MAX_BYTES {
            let size_bytes = bytes.len() as u64;
            return Err(NotebookError::TooLarge { size_bytes, limit_bytes: MAX_BYTES });
        }
        let (layout, style, cells) = read(&bytes)?;
        Ok(Notebook { bytes, layout, style, cells, metadata: None })
    }

    /// An empty notebook as Jupyter would write it: nbformat 4.5, no cells, no metadata.
    pub fn empty() -> Notebook {
        let text = b"{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";
        match Notebook::parse(text.to_vec()) {
            Ok(notebook) => notebook,
            Err(_) => unreachable!("the constant above is a notebook"),
        }
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cells in order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = CellView<'_>> + DoubleEndedIterator {
        (0..self.cells.len()).map(|index| self.view(index))
    }

    /// The cell at a position.
    pub fn cell(&self, index: usize) -> Option<CellView<'_>> {
        (index < self.cells.len()).then(|| self.view(index))
    }

    pub(crate) fn view(&self, index: usize) -> CellView<'_> {
        let slot = &self.cells[index];
        CellView { index, body: self.body(slot), fields: &slot.fields }
    }

    pub(crate) fn body<'a>(&'a self, slot: &'a Slot) -> &'a [u8] {
        match &slot.body {
            Body::File(span) => span.of(&self.bytes),
            Body::Own(text) => text,
        }
    }

    /// The ids of all cells, in order.
    pub(crate) fn ids(&self) -> Vec<Option<Cow<'_, str>>> {
        self.cells().map(|cell| cell.id()).collect()
    }

    /// The position of the cell a reference names.
    pub fn find(&self, cell: &CellRef) -> Result<usize, RefError> {
        match cell {
            CellRef::Index(index) => at_index(*index, self.len()),
            CellRef::Text(_) => self.names().resolve(cell),
        }
    }

    /// The names of all cells, to look up more than one.
    pub fn names(&self) -> CellNames<'_> {
        CellNames::new(self.cells().map(|cell| cell.id()))
    }

    /// The version the file states.
    pub fn version(&self) -> FormatVersion {
        self.layout.version
    }

    /// Whether cells of this notebook have ids: exactly from nbformat 4.5 on.
    pub fn has_ids(&self) -> bool {
        let version = self.layout.version;
        matches!((version.major, version.minor), (Some(4), Some(minor)) if minor >= 5)
    }

    /// Why the notebook cannot be changed, if it cannot.
    pub fn read_only(&self) -> Option<&ReadOnly> {
        self.layout.read_only.as_ref()
    }

    /// Whether the notebook has a key `metadata` at all.
    pub(crate) fn has_metadata(&self) -> bool {
        self.metadata.is_some() || self.layout.metadata.is_some()
    }

    /// The notebook's metadata as JSON text.
    pub fn metadata_json(&self) -> &[u8] {
        match (&self.metadata, self.layout.metadata) {
            (Some(changed), _) => changed,
            (None, Some(span)) => span.of(&self.bytes),
            (None, None) => b"{}",
        }
    }

    /// The language of its code cells, as far as the metadata says.
    pub fn language(&self) -> Option<String> {
        let metadata = self.metadata_json();
        let name = json::get(metadata, "language_info").and_then(|info| json::get(info, "name"));
        let spec =
            || json::get(metadata, "kernelspec").and_then(|spec| json::get(spec, "language"));
        let text = json::decode(name.or_else(spec)?).text.into_owned();
        (!text.is_empty()).then_some(text)
    }

    /// Whether anything differs from the bytes that were parsed.
    pub fn is_changed(&self) -> bool {
        let in_place = |(at, slot): (usize, &Slot)| {
            slot.origin == Some(at) && matches!(slot.body, Body::File(_))
        };
        self.metadata.is_some()
            || self.layout.cells.is_some()
                && (self.cells.len() != self.layout.original.len()
                    || !self.cells.iter().enumerate().all(in_place))
    }

    /// The bytes that were parsed.
    pub fn original_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The document as it is now, in pieces that borrow from the original where they can, so that a
    /// large file is written without a second copy of it.
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

    /// Where the members of the top-level object stand.
    pub(crate) fn top_indent(&self) -> Indent {
        let document = self.layout.document.of(&self.bytes);
        match json::first_key(document) {
            Some((key, _)) => Indent::of_gap(&document[1..key.start as usize]),
            None => Indent::Inline,
        }
    }

    /// Where the cells stand.
    pub(crate) fn cell_indent(&self) -> Indent {
        match self.layout.cells {
            Some(inner) => self.cells_container(inner).indent().clone(),
            None => Indent::Inline,
        }
    }

    /// Puts changed metadata in the place of the old, or adds the key at the end of the document.
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

    /// The document as it is now.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.chunks().concat()
    }
}

/// Scans the whole file once, checking all of it and keeping the places an edit may touch.
fn read(bytes: &[u8]) -> Result<(Layout, Style, Vec<Slot>), NotebookError> {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let mut scanner = Scanner::new(bytes);
    let mut top = Top::default();
    let syntax = |error| diagnose::syntax_error(bytes, error);
    let at = scanner.skip_space(start);
    let is_object = scanner.peek(at) == Some(b'{');
    let end = if is_object {
        scanner.object(at, |scanner, key, at| top.member(scanner, key, at))
    } else {
        scanner.value(at, 0)
    };
    let end = end.map_err(syntax)?;
    let rest = scanner.skip_space(end);
    if rest < bytes.len() {
        let problem = "text follows the end of the notebook";
        return Err(syntax(SyntaxError { offset: rest, problem }));
    }
    if !is_object {
        return Err(NotebookError::NotAnObject);
    }
    let habit = match (scanner.raw_non_ascii, scanner.escaped_non_ascii) {
        (false, true) => NonAscii::Escaped,
        _ => NonAscii::Raw,
    };
    let document = Span::new(at, end);
    let style = Style::of(document.of(bytes), habit);
    let (layout, cells) = top.finish(bytes, document)?;
    Ok((layout, style, cells))
}

/// What was found at the top level so far. Of duplicate keys the last one counts, as in Python.
#[derive(Default)]
struct Top {
    cells: Option<Span>,
    slots: Vec<Slot>,
    /// Where the slots are.
    spans: Vec<Span>,
    metadata: Option<Span>,
    worksheets: Option<Span>,
    major: Option<u64>,
    minor: Option<u64>,
    seen: Vec<&'static str>,
    duplicate: Option<&'static str>,
}

impl Top {
    fn member(
        &mut self,
        scanner: &mut Scanner<'_>,
        key: Span,
        at: usize,
    ) -> Result<usize, SyntaxError> {
        const KNOWN: [&str; 5] = ["cells", "metadata", "nbformat", "nbformat_minor", "worksheets"];
        let bytes = scanner.bytes;
        let name = json::decode(key.of(bytes)).text;
        let known = KNOWN.into_iter().find(|known| *known == name);
        let is_cells = known == Some("cells") && scanner.peek(at) == Some(b'[');
        let end = if is_cells {
            self.slots.clear();
            self.spans.clear();
            scanner.array(at, |scanner, at| self.cell(scanner, at))?
        } else {
            scanner.value(at, 1)?
        };
        let Some(known) = known else { return Ok(end) };
        if self.seen.contains(&known) {
            self.duplicate = Some(known);
        }
        self.seen.push(known);
        let value = Span::new(at, end);
        match known {
            "cells" => self.cells = is_cells.then(|| Span::new(at + 1, end - 1)),
            "metadata" => self.metadata = Some(value),
            "worksheets" => self.worksheets = Some(value),
            "nbformat" => self.major = json::whole_number(value.of(bytes)),
            _ => self.minor = json::whole_number(value.of(bytes)),
        }
        Ok(end)
    }

    fn cell(&mut self, scanner: &mut Scanner<'_>, start: usize) -> Result<usize, SyntaxError> {
        let mut fields = Fields::default();
        let end = if scanner.peek(start) == Some(b'{') {
            fields.is_object = true;
            scanner.object(start, |scanner, key, at| {
                let end = scanner.value(at, 3)?;
                let key = key.relative_to(start as u32);
                let value = Span::new(at - start, end - start);
                fields.note(&scanner.bytes[start..], key, value);
                Ok(end)
            })?
        } else {
            scanner.value(start, 2)?
        };
        let span = Span::new(start, end);
        self.slots.push(Slot { body: Body::File(span), fields, origin: Some(self.spans.len()) });
        self.spans.push(span);
        Ok(end)
    }

    fn finish(self, bytes: &[u8], document: Span) -> Result<(Layout, Vec<Slot>), NotebookError> {
        let version = FormatVersion { major: self.major, minor: self.minor };
        let mut layout = Layout {
            document,
            cells: self.cells,
            original: self.spans,
            metadata: self.metadata,
            version,
            read_only: None,
        };
        let old = version.major.is_some_and(|major| major <= 3);
        let slots = match (self.cells, self.worksheets) {
            (None, Some(sheets)) => legacy::worksheet_cells(bytes, sheets),
            (None, None) => return Err(NotebookError::NoCells),
            (Some(_), _) if old => legacy::reread(bytes, self.slots),
            (Some(_), _) => self.slots,
        };
        layout.read_only = match (self.cells, version.major) {
            (_, Some(major)) if major <= 3 => Some(ReadOnly::TooOld { major }),
            (_, Some(major)) if major >= 5 => Some(ReadOnly::TooNew { major }),
            (None, major) => Some(ReadOnly::TooOld { major: major.unwrap_or(3).min(3) }),
            _ => self.duplicate.map(|key| ReadOnly::DuplicateKey { key }),
        };
        Ok((layout, slots))
    }
}

impl Slot {
    /// A cell with these bytes, which must be JSON; its fields are found anew.
    pub(crate) fn own(text: Vec<u8>, origin: Option<usize>) -> Slot {
        let fields = Fields::of(&text);
        Slot { body: Body::Own(Arc::new(text)), fields, origin }
    }

    pub(crate) fn kind(&self) -> Option<CellKind> {
        self.fields.kind
    }
}

#[cfg(test)]
#[path = "document/tests.rs"]
mod tests;
