//! One cell to look at: its fields decoded on demand from the bytes.
//!
//! Owns how stored shapes become text. It must not change anything.

use std::borrow::Cow;

use crate::cell::CellKind;
use crate::error::Candidate;
use crate::fields::{Fields, Key};
use crate::json;
use crate::output::OutputView;

/// A cell of a notebook.
#[derive(Clone, Copy)]
pub struct CellView<'a> {
    pub(crate) index: usize,
    pub(crate) body: &'a [u8],
    pub(crate) fields: &'a Fields,
}

/// A source as text.
pub struct Source<'a> {
    /// The text; lone surrogates, which no Rust string can hold, are shown as U+FFFD.
    pub text: Cow<'a, str>,
    /// Something in the file has no exact form in `text`.
    pub lossy: bool,
}

impl<'a> CellView<'a> {
    /// Its position.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its kind; none when it is not one of the three.
    pub fn kind(&self) -> Option<CellKind> {
        self.fields.kind
    }

    /// The kind as the file names it.
    pub fn kind_name(&self) -> Cow<'a, str> {
        match self.fields.kind {
            Some(kind) => Cow::Borrowed(kind.name()),
            None => self.string(Key::CellType).unwrap_or(Cow::Borrowed("?")),
        }
    }

    /// Its id, when it has one that is a string.
    pub fn id(&self) -> Option<Cow<'a, str>> {
        self.string(Key::Id)
    }

    /// The id some tools keep in the metadata.
    pub fn metadata_id(&self) -> Option<Cow<'a, str>> {
        as_string(json::get(self.metadata_json(), "id")?)
    }

    fn string(&self, key: Key) -> Option<Cow<'a, str>> {
        as_string(self.fields.value(self.body, key)?)
    }

    /// Position and id, for messages.
    pub fn name(&self) -> Candidate {
        Candidate { index: self.index, id: self.id().map(Cow::into_owned) }
    }

    /// The source, whichever shape it is stored in; a missing one is empty.
    pub fn source(&self) -> Source<'a> {
        let mut source = joined(self.fields.value(self.body, Key::Source).unwrap_or(b"\"\""));
        if self.fields.heading > 0 {
            let hashes = "#".repeat(usize::from(self.fields.heading));
            source.text = Cow::Owned(format!("{hashes} {}", source.text));
        }
        source
    }

    /// The number of its last run, if it has one.
    pub fn execution_count(&self) -> Option<u64> {
        json::whole_number(self.fields.value(self.body, Key::ExecutionCount)?)
    }

    /// Its outputs, in order.
    pub fn outputs(&self) -> Vec<OutputView<'a>> {
        let list = self.fields.value(self.body, Key::Outputs).unwrap_or_default();
        json::items(list).into_iter().map(|span| OutputView::new(span.of(list))).collect()
    }

    /// Its outputs as JSON text.
    pub fn outputs_json(&self) -> Option<&'a [u8]> {
        self.fields.value(self.body, Key::Outputs)
    }

    /// Its metadata as JSON text.
    pub fn metadata_json(&self) -> &'a [u8] {
        self.fields.value(self.body, Key::Metadata).unwrap_or(b"{}")
    }

    /// Whether its metadata have any of these keys.
    pub fn has_any_metadata(&self, keys: &[String]) -> bool {
        keys.iter().any(|key| json::get(self.metadata_json(), key).is_some())
    }

    /// Its tags.
    pub fn tags(&self) -> Vec<String> {
        let list = json::get(self.metadata_json(), "tags").unwrap_or_default();
        let text = |span: json::Span| json::decode(span.of(list)).text.into_owned();
        json::items(list).into_iter().map(text).collect()
    }

    /// The whole cell as it stands in the file.
    pub fn json(&self) -> &'a [u8] {
        self.body
    }

    /// What belongs to the cell besides kind, source, outputs and count, as JSON text.
    pub fn properties(&self) -> [&'a [u8]; 2] {
        [Key::Metadata, Key::Attachments]
            .map(|key| self.fields.value(self.body, key).unwrap_or_default())
    }
}

fn as_string(value: &[u8]) -> Option<Cow<'_, str>> {
    (value.first() == Some(&b'"')).then(|| json::decode(value).text)
}

/// A string, or a list of strings joined, where anything that is no string is shown as its JSON text.
/// Any other value is no text at all.
pub(crate) fn joined(value: &[u8]) -> Source<'_> {
    match value.first() {
        Some(b'"') => {
            let decoded = json::decode(value);
            Source { text: decoded.text, lossy: decoded.lossy }
        }
        Some(b'[') => {
            let items = json::items(value);
            if let [only] = items.as_slice() {
                return joined_item(only.of(value));
            }
            let mut text = String::with_capacity(value.len());
            let mut lossy = false;
            for item in items {
                let part = joined_item(item.of(value));
                text.push_str(&part.text);
                lossy |= part.lossy;
            }
            Source { text: Cow::Owned(text), lossy }
        }
        _ => Source { text: Cow::Borrowed(""), lossy: value != b"null" },
    }
}

fn joined_item(item: &[u8]) -> Source<'_> {
    if item.first() == Some(&b'"') {
        return joined(item);
    }
    Source { text: String::from_utf8_lossy(item), lossy: true }
}
