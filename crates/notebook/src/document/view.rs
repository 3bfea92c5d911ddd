//! A view of one cell that decodes its fields from the bytes on demand.
//!
//! Owns how stored shapes become text. It must not change anything.

use std::borrow::Cow;

use super::output::OutputView;
use super::slot::{Fields, Key};
use super::source::{Source, join_source};
use crate::cell::CellKind;
use crate::error::CellCandidate;
use crate::json;

/// A read-only view of one cell.
#[derive(Clone, Copy)]
pub struct CellView<'a> {
    pub(crate) index: usize,
    pub(crate) body: &'a [u8],
    pub(crate) fields: &'a Fields,
}

impl<'a> CellView<'a> {
    /// Position of the cell, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Kind of the cell; none if nbformat 4 does not define it.
    pub fn kind(&self) -> Option<CellKind> {
        self.fields.kind
    }

    /// The value of `cell_type` in the file.
    pub fn kind_name(&self) -> Cow<'a, str> {
        match self.fields.kind {
            Some(kind) => Cow::Borrowed(kind.name()),
            None => self.string(Key::CellType).unwrap_or(Cow::Borrowed("?")),
        }
    }

    /// Id of the cell; none if it is missing or not a string.
    pub fn id(&self) -> Option<Cow<'a, str>> {
        self.string(Key::Id)
    }

    /// The id that some tools keep in the metadata.
    pub fn metadata_id(&self) -> Option<Cow<'a, str>> {
        decode_string(json::get(self.metadata_json(), "id")?)
    }

    fn string(&self, key: Key) -> Option<Cow<'a, str>> {
        decode_string(self.fields.value(self.body, key)?)
    }

    /// Position and id, for messages.
    pub fn name(&self) -> CellCandidate {
        CellCandidate { index: self.index, id: self.id().map(Cow::into_owned) }
    }

    /// The source, in whichever shape the file stores it; empty if the key is missing.
    pub fn source(&self) -> Source<'a> {
        let mut source = join_source(self.fields.value(self.body, Key::Source).unwrap_or(b"\"\""));
        if self.fields.heading > 0 {
            let hashes = "#".repeat(usize::from(self.fields.heading));
            source.text = Cow::Owned(format!("{hashes} {}", source.text));
        }
        source
    }

    /// The execution count of the last run; none if the file has none.
    pub fn execution_count(&self) -> Option<u64> {
        json::whole_number(self.fields.value(self.body, Key::ExecutionCount)?)
    }

    /// Outputs of the cell, in order.
    pub fn outputs(&self) -> Vec<OutputView<'a>> {
        let list = self.fields.value(self.body, Key::Outputs).unwrap_or_default();
        json::items(list).into_iter().map(|span| OutputView::new(span.of(list))).collect()
    }

    /// The outputs array as JSON text; none if the key is missing.
    pub fn outputs_json(&self) -> Option<&'a [u8]> {
        self.fields.value(self.body, Key::Outputs)
    }

    /// The cell's metadata as JSON text; `{}` if the key is missing.
    pub fn metadata_json(&self) -> &'a [u8] {
        self.fields.value(self.body, Key::Metadata).unwrap_or(b"{}")
    }

    /// True if the cell's metadata has any of these keys.
    pub fn has_any_metadata(&self, keys: &[String]) -> bool {
        keys.iter().any(|key| json::get(self.metadata_json(), key).is_some())
    }

    /// The tags in its metadata, in order.
    pub fn tags(&self) -> Vec<String> {
        let list = json::get(self.metadata_json(), "tags").unwrap_or_default();
        let text = |span: json::Span| json::decode(span.of(list)).text.into_owned();
        json::items(list).into_iter().map(text).collect()
    }

    /// The whole cell as JSON text, with the bytes of the file.
    pub fn json(&self) -> &'a [u8] {
        self.body
    }

    /// Metadata and attachments as JSON text; each is empty if its key is missing.
    pub fn properties(&self) -> [&'a [u8]; 2] {
        [Key::Metadata, Key::Attachments]
            .map(|key| self.fields.value(self.body, key).unwrap_or_default())
    }
}

fn decode_string(value: &[u8]) -> Option<Cow<'_, str>> {
    (value.first() == Some(&b'"')).then(|| json::decode(value).text)
}
