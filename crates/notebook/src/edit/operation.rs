//! Every way a document can change.
//!
//! Owns the vocabulary; `batch.rs` applies it. It must not know files, versions or the callers'
//! syntax.

use super::patch::SourceShape;
use super::substitute::Matches;
use crate::cell::{CellKind, CellRef};
use crate::document::NbOutput;
/// The fate of outputs and execution count when an operation sets the source of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputsAfter {
    /// Clear them if the source really changes.
    ClearIfChanged,
    /// Keep them, even if the source changes.
    Keep,
    /// Clear them, even if the source stays the same.
    Clear,
}

/// The place that a cell is put at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellPlace {
    /// Right after this cell.
    After(CellRef),
    /// Right before this cell.
    Before(CellRef),
    /// Before the first cell.
    Start,
    /// After the last cell.
    End,
}

/// Keys to set, with their values as JSON text, and keys to remove.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MetaChange {
    /// Keys to set, each with its value as JSON text.
    pub set: Vec<(String, String)>,
    /// Keys to remove; a missing key is not an error.
    pub unset: Vec<String>,
}

/// One change of a document. Positions are those before the batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditOp {
    /// Sets the source, and the kind if one is given.
    Replace {
        /// The cell to change.
        cell: CellRef,
        /// The new source, as one text.
        source: String,
        /// The new kind; none keeps the kind.
        kind: Option<CellKind>,
        /// The fate of outputs and execution count.
        outputs: OutputsAfter,
        /// The stored shape of the new source: a string or a list of lines.
        shape: SourceShape,
    },
    /// Adds a cell without outputs and with empty metadata.
    Insert {
        /// The place of the new cell.
        at: CellPlace,
        /// Kind of the new cell.
        kind: CellKind,
        /// Source of the new cell; may be empty.
        source: String,
    },
    /// Removes a cell with its outputs, metadata and attachments.
    Delete {
        /// The cell to remove.
        cell: CellRef,
    },
    /// Moves a cell with its outputs, metadata and attachments.
    Move {
        /// The cell to move.
        cell: CellRef,
        /// The place that the cell moves to.
        to: CellPlace,
    },
    /// Changes the kind, and the fields that the kind allows.
    SetKind {
        /// The cell to change.
        cell: CellRef,
        /// The new kind, which may be the old one.
        kind: CellKind,
    },
    /// Replaces text inside sources.
    Sub {
        /// The cell to change; none for all cells.
        cell: Option<CellRef>,
        /// The text to find.
        old: String,
        /// The text that replaces each match.
        new: String,
        /// The number of matches that may be replaced.
        matches: Matches,
        /// The fate of outputs and execution count.
        outputs: OutputsAfter,
    },
    /// Renames a name of the notebook in the Python of all code cells.
    Rename {
        /// The name to find.
        old: String,
        /// The name that it gets.
        new: String,
        /// The fate of outputs and execution count of each changed cell.
        outputs: OutputsAfter,
    },
    /// Removes outputs and execution count from one cell or from all.
    Clear {
        /// The cell to clear; none for all cells.
        cell: Option<CellRef>,
    },
    /// Changes metadata of one cell or of the notebook.
    SetMeta {
        /// The cell to change; none for the notebook.
        cell: Option<CellRef>,
        /// Keys to set and to remove.
        change: MetaChange,
    },
    /// Adds tags to a cell and removes others; a tag in both lists is added.
    SetTags {
        /// The cell to change.
        cell: CellRef,
        /// Tags to add; a tag that the cell has already keeps its position.
        add: Vec<String>,
        /// Tags to remove; a missing tag is not an error.
        remove: Vec<String>,
    },
    /// Sets outputs and execution count, as a run does.
    SetOutputs {
        /// The cell to change.
        cell: CellRef,
        /// The execution count; none stores `null`.
        count: Option<u64>,
        /// All outputs, in order; they replace the old ones.
        outputs: Vec<NbOutput>,
    },
}

impl EditOp {
    /// References in the operation, for callers that inspect or replace them.
    pub fn names_mut(&mut self) -> Vec<&mut CellRef> {
        let anchor = |place| match place {
            &mut CellPlace::After(ref mut cell) | &mut CellPlace::Before(ref mut cell) => {
                Some(cell)
            }
            CellPlace::Start | CellPlace::End => None,
        };
        match self {
            EditOp::Replace { cell, .. }
            | EditOp::Delete { cell }
            | EditOp::SetKind { cell, .. }
            | EditOp::SetTags { cell, .. }
            | EditOp::SetOutputs { cell, .. } => vec![cell],
            EditOp::Move { cell, to } => std::iter::once(cell).chain(anchor(to)).collect(),
            EditOp::Insert { at, .. } => anchor(at).into_iter().collect(),
            EditOp::Rename { .. } => Vec::new(),
            EditOp::Clear { cell } | EditOp::SetMeta { cell, .. } | EditOp::Sub { cell, .. } => {
                cell.iter_mut().collect()
            }
        }
    }
}
