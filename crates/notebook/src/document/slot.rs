//! One cell of the document: its bytes, and the spans of its fields in them.
//!
//! Owns the keys of nbformat cells. It must not know how an edit builds a cell's text.

use std::sync::Arc;

use crate::cell::CellKind;
use crate::json::{self, Span};

/// One cell of the new document: the bytes of its object and the spans of its fields.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) body: Body,
    pub(crate) fields: Fields,
    /// Position of the cell in the file as it was parsed.
    pub(crate) origin: Option<usize>,
}

#[derive(Clone)]
pub(crate) enum Body {
    /// A span of the file.
    File(Span),
    /// Text that an edit made.
    Own(Arc<Vec<u8>>),
}

impl Slot {
    /// Makes a cell from these bytes, which must be JSON, and finds its fields.
    pub(crate) fn own(text: Vec<u8>, origin: Option<usize>) -> Slot {
        let fields = Fields::of(&text);
        Slot { body: Body::Own(Arc::new(text)), fields, origin }
    }

    pub(crate) fn kind(&self) -> Option<CellKind> {
        self.fields.kind
    }
}

/// Keys of a cell, in the order in which Jupyter writes them (alphabetical).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    Attachments,
    CellType,
    ExecutionCount,
    Id,
    Metadata,
    Outputs,
    Source,
}

impl Key {
    pub(crate) const ALL: [Key; 7] = [
        Key::Attachments,
        Key::CellType,
        Key::ExecutionCount,
        Key::Id,
        Key::Metadata,
        Key::Outputs,
        Key::Source,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Key::Attachments => "attachments",
            Key::CellType => "cell_type",
            Key::ExecutionCount => "execution_count",
            Key::Id => "id",
            Key::Metadata => "metadata",
            Key::Outputs => "outputs",
            Key::Source => "source",
        }
    }

    fn from_name(name: &str) -> Option<Key> {
        Key::ALL.into_iter().find(|key| key.name() == name)
    }
}

/// Spans of the known fields of a cell, relative to the cell's first byte.
#[derive(Clone, Default, Debug)]
pub(crate) struct Fields {
    members: [Option<Span>; 7],
    pub(crate) kind: Option<CellKind>,
    /// A known key that occurs more than once; the last one counts.
    pub(crate) duplicate: Option<Key>,
    pub(crate) is_object: bool,
    /// Level of an nbformat 3 heading cell, which appears as Markdown; 0 otherwise.
    pub(crate) heading: u8,
}

impl Fields {
    /// Finds the fields of a checked cell.
    pub(crate) fn of(cell: &[u8]) -> Fields {
        let mut fields = Fields { is_object: cell.first() == Some(&b'{'), ..Fields::default() };
        for member in json::members(cell) {
            fields.note(cell, member.key, member.value);
        }
        fields
    }

    /// Records the span of one member, if its key is known.
    pub(crate) fn note(&mut self, cell: &[u8], key: Span, value: Span) {
        let name = json::decode(key.of(cell)).text;
        let Some(key) = Key::from_name(&name) else { return };
        if self.members[key as usize].replace(value).is_some() {
            self.duplicate = Some(key);
        }
        if key == Key::CellType {
            self.kind = CellKind::from_name(&json::decode(value.of(cell)).text);
        }
    }

    pub(crate) fn member(&self, key: Key) -> Option<Span> {
        self.members[key as usize]
    }

    pub(crate) fn set_member(&mut self, key: Key, value: Span) {
        self.members[key as usize] = Some(value);
    }

    /// The value of a field as JSON text.
    pub(crate) fn value<'a>(&self, cell: &'a [u8], key: Key) -> Option<&'a [u8]> {
        self.member(key).map(|span| span.of(cell))
    }
}
