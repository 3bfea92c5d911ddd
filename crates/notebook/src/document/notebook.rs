//! The notebook: the file's bytes, the position of every cell, and an overlay of changed cells.
//!
//! The original bytes stay the truth: a cell that was not changed is a span of them. The new file is
//! those spans with new text between (`write.rs`). It must not know how an edit is decided.

use std::borrow::Cow;
use std::sync::Arc;

use super::names::{CellNames, resolve_index};
use super::read::{FormatVersion, Layout, read};
use super::slot::{Body, Slot};
use super::style::Style;
use super::view::CellView;
use crate::cell::CellRef;
use crate::error::{NotebookError, ReadOnly, RefError};
use crate::json;

/// Offsets have 32 bits.
const MAX_BYTES: u64 = u32::MAX as u64;

/// A notebook that keeps the bytes it was parsed from.
#[derive(Clone)]
pub struct Notebook {
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) layout: Layout,
    pub(crate) style: Style,
    pub(crate) cells: Vec<Slot>,
    /// The notebook's metadata, if an edit changed it.
    pub(crate) metadata: Option<Arc<Vec<u8>>>,
}

impl Notebook {
    /// Parses a notebook. Accepts what Python's `json.loads` accepts, after an optional byte order
    /// mark, if it is an object with an array `cells` (or the `worksheets` of nbformat 3).
    pub fn parse(bytes: Vec<u8>) -> Result<Notebook, NotebookError> {
        Notebook::parse_shared(Arc::new(bytes))
    }

    /// [`Notebook::parse`] for bytes that another reader shares.
    pub fn parse_shared(bytes: Arc<Vec<u8>>) -> Result<Notebook, NotebookError> {
        if bytes.len() as u64 > MAX_BYTES {
            let size_bytes = bytes.len() as u64;
            return Err(NotebookError::TooLarge { size_bytes, limit_bytes: MAX_BYTES });
        }
        let (layout, style, cells) = read(&bytes)?;
        Ok(Notebook { bytes, layout, style, cells, metadata: None })
    }

    /// An empty notebook as Jupyter writes it: nbformat 4.5, no cells, no metadata.
    pub fn empty() -> Notebook {
        let text = b"{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";
        match Notebook::parse(text.to_vec()) {
            Ok(notebook) => notebook,
            Err(_) => unreachable!("the constant above is a notebook"),
        }
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// True for a notebook without cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cells in order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = CellView<'_>> + DoubleEndedIterator {
        (0..self.cells.len()).map(|index| self.view(index))
    }

    /// The cell at a position, from 0; none past the last cell.
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

    /// Finds the position of the cell that a reference names.
    pub fn find(&self, cell: &CellRef) -> Result<usize, RefError> {
        match cell {
            CellRef::Index(index) => resolve_index(*index, self.len()),
            CellRef::Text(_) => self.names().resolve(cell),
        }
    }

    /// Indexes the ids of all cells, to resolve several references.
    pub fn names(&self) -> CellNames<'_> {
        CellNames::new(self.cells().map(|cell| cell.id()))
    }

    /// The nbformat version that the file states.
    pub fn version(&self) -> FormatVersion {
        self.layout.version
    }

    /// True if cells of this notebook have ids, which is the case exactly from nbformat 4.5 on.
    pub fn has_ids(&self) -> bool {
        let version = self.layout.version;
        matches!((version.major, version.minor), (Some(4), Some(minor)) if minor >= 5)
    }

    /// The reason why the notebook cannot be changed; none if it can.
    pub fn read_only(&self) -> Option<&ReadOnly> {
        self.layout.read_only.as_ref()
    }

    /// True if the notebook has a top-level key `metadata`.
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

    /// The language of the code cells, if the metadata names one.
    pub fn language(&self) -> Option<String> {
        let metadata = self.metadata_json();
        let name = json::get(metadata, "language_info").and_then(|info| json::get(info, "name"));
        let spec =
            || json::get(metadata, "kernelspec").and_then(|spec| json::get(spec, "language"));
        let text = json::decode(name.or_else(spec)?).text.into_owned();
        (!text.is_empty()).then_some(text)
    }

    /// True if the document differs from the bytes that were parsed.
    pub fn is_changed(&self) -> bool {
        let in_place = |(at, slot): (usize, &Slot)| {
            slot.origin == Some(at) && matches!(slot.body, Body::File(_))
        };
        self.metadata.is_some()
            || self.layout.cells.is_some()
                && (self.cells.len() != self.layout.original.len()
                    || !self.cells.iter().enumerate().all(in_place))
    }

    /// The bytes that were parsed, without any change.
    pub fn original_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
