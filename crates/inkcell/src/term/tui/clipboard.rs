//! A cut or copied cell, and the operations that put it into a notebook.
//!
//! Owns what a copy holds: kind, source, outputs and metadata. The pasted cell is a new one, so it gets an id of its
//! own. No operation sets attachments, so a copy has none.

use inkcell_engine::notebook::{
    CellKind, CellPlace, CellRef, CellView, EditOp, MetaChange, NbOutput,
};
use serde_json::{Map, Value};

/// Returns whether a cell has attachments, which no operation can store in another cell.
pub(super) fn has_attachments(cell: &CellView<'_>) -> bool {
    let [_, attachments] = cell.properties();
    attachments.len() > "{}".len()
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct CellCopy {
    kind: CellKind,
    source: String,
    count: Option<u64>,
    outputs: Vec<NbOutput>,
    /// Keys of the metadata, each with its value as JSON text.
    metadata: Vec<(String, String)>,
    pub(super) had_attachments: bool,
}

impl CellCopy {
    /// Copies a cell. `None` for a cell of an unknown kind.
    pub(super) fn of(cell: &CellView<'_>) -> Option<CellCopy> {
        // Malformed outputs and metadata are left out, as no operation could store them.
        let outputs: Option<Vec<NbOutput>> = (cell.outputs().iter())
            .map(|output| NbOutput::from_json(std::str::from_utf8(output.json()).ok()?).ok())
            .collect();
        let metadata: Map<String, Value> =
            serde_json::from_slice(cell.metadata_json()).unwrap_or_default();
        // Formats before 4.5 keep the id of a cell here.
        let metadata = metadata.into_iter().filter(|(key, _)| key != "id");
        Some(CellCopy {
            kind: cell.kind()?,
            source: cell.source().text.into_owned(),
            count: cell.execution_count(),
            outputs: outputs.unwrap_or_default(),
            metadata: metadata.map(|(key, value)| (key, value.to_string())).collect(),
            had_attachments: has_attachments(cell),
        })
    }

    /// The operation that inserts the cell.
    pub(super) fn insert(&self, at: CellPlace) -> EditOp {
        EditOp::Insert { at, kind: self.kind, source: self.source.clone() }
    }

    /// The operations that complete the inserted cell.
    pub(super) fn complete(&self, index: usize) -> Vec<EditOp> {
        let cell = CellRef::Index(i64::try_from(index).unwrap_or(i64::MAX));
        let mut ops = Vec::new();
        if !self.metadata.is_empty() {
            let change = MetaChange { set: self.metadata.clone(), unset: Vec::new() };
            ops.push(EditOp::SetMeta { cell: Some(cell.clone()), change });
        }
        if self.count.is_some() || !self.outputs.is_empty() {
            let (count, outputs) = (self.count, self.outputs.clone());
            ops.push(EditOp::SetOutputs { cell, count, outputs });
        }
        ops
    }
}
