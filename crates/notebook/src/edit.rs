//! Every way a document can change: the operations, and what is answered when a batch was applied.
//!
//! Owns the vocabulary; `batch.rs` carries it out. It must not know files, versions or how an
//! operation was asked for.

use crate::batch::Batch;
use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::Notebook;
use crate::error::EditError;
use crate::fields::SourceShape;
use crate::output::NbOutput;

/// What happens to a cell's outputs and count when its source is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputsAfter {
    /// Cleared when the source really changes.
    ClearIfChanged,
    /// Kept, whatever happens to the source.
    Keep,
    /// Cleared, also when the source stays.
    Clear,
}

/// How many places a substitution may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Matches {
    /// Exactly one; more or none is an error.
    One,
    /// Every one; none is an error.
    All,
}

/// Where a cell goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Right after this cell.
    After(CellRef),
    /// Right before this cell.
    Before(CellRef),
    /// Before all cells.
    Start,
    /// After all cells.
    End,
}

/// Keys to set, with their values as JSON text, and keys to remove.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MetaChange {
    /// Set to these values.
    pub set: Vec<(String, String)>,
    /// Removed; a key that is not there is no error.
    pub unset: Vec<String>,
}

/// One change of a document. Positions mean the cells as they are before the batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditOp {
    /// Sets the source, and the kind if one is given.
    Replace {
        /// Which cell.
        cell: CellRef,
        /// The new source.
        source: String,
        /// The new kind.
        kind: Option<CellKind>,
        /// What happens to outputs.
        outputs: OutputsAfter,
        /// How the source is stored.
        shape: SourceShape,
    },
    /// Adds a cell.
    Insert {
        /// Where.
        at: Place,
        /// Its kind.
        kind: CellKind,
        /// Its source.
        source: String,
    },
    /// Removes a cell.
    Delete {
        /// Which cell.
        cell: CellRef,
    },
    /// Moves a cell with all it holds.
    Move {
        /// Which cell.
        cell: CellRef,
        /// Where to.
        to: Place,
    },
    /// Changes the kind and nothing else.
    SetKind {
        /// Which cell.
        cell: CellRef,
        /// The new kind.
        kind: CellKind,
    },
    /// Replaces text inside the source.
    Sub {
        /// Which cell.
        cell: CellRef,
        /// The text to find.
        old: String,
        /// The text to put there.
        new: String,
        /// How many places.
        matches: Matches,
        /// What happens to outputs.
        outputs: OutputsAfter,
    },
    /// Removes outputs and count, of one cell or of all.
    Clear {
        /// Which cell; none for all.
        cell: Option<CellRef>,
    },
    /// Changes metadata, of one cell or of the notebook.
    SetMeta {
        /// Which cell; none for the notebook.
        cell: Option<CellRef>,
        /// The change.
        change: MetaChange,
    },
    /// Adds tags to a cell and removes others; one that is in both lists is added.
    SetTags {
        /// Which cell.
        cell: CellRef,
        /// Tags it has afterwards; one it has already stays where it is.
        add: Vec<String>,
        /// Tags it does not have afterwards; one that is not there is no error.
        remove: Vec<String>,
    },
    /// Sets outputs and count, as a run does.
    SetOutputs {
        /// Which cell.
        cell: CellRef,
        /// The count.
        count: Option<u64>,
        /// The outputs.
        outputs: Vec<NbOutput>,
    },
}

impl EditOp {
    /// The cells the operation names, to look at or to exchange for other references.
    pub fn names_mut(&mut self) -> Vec<&mut CellRef> {
        let anchor = |place| match place {
            &mut Place::After(ref mut cell) | &mut Place::Before(ref mut cell) => Some(cell),
            Place::Start | Place::End => None,
        };
        match self {
            EditOp::Replace { cell, .. }
            | EditOp::Delete { cell }
            | EditOp::SetKind { cell, .. }
            | EditOp::Sub { cell, .. }
            | EditOp::SetTags { cell, .. }
            | EditOp::SetOutputs { cell, .. } => vec![cell],
            EditOp::Move { cell, to } => std::iter::once(cell).chain(anchor(to)).collect(),
            EditOp::Insert { at, .. } => anchor(at).into_iter().collect(),
            EditOp::Clear { cell } | EditOp::SetMeta { cell, .. } => cell.iter_mut().collect(),
        }
    }
}

/// What an operation did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The source was set.
    Replaced,
    /// A cell was added.
    Inserted,
    /// A cell was removed.
    Deleted,
    /// A cell stands elsewhere.
    Moved,
    /// The kind was changed.
    Retyped,
    /// Text was replaced in this many places.
    Substituted {
        /// How many.
        count: usize,
    },
    /// Outputs and count were removed.
    Cleared,
    /// Metadata was changed.
    MetaChanged,
    /// Outputs and count were set.
    OutputsSet,
}

/// Something about a change that the caller would want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// The operation changed nothing: all was as asked for already.
    Unchanged,
    /// This many outputs were removed.
    OutputsCleared(usize),
    /// The cell had no id, as nbformat 4.5 wants; it was given one.
    IdAdded,
    /// Code cells cannot have attachments; they were removed.
    AttachmentsRemoved,
    /// Lone surrogates in the old source became U+FFFD.
    SurrogatesLost,
}

/// One cell that an operation touched, as it is after the batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CellChange {
    /// Position of the operation in the batch.
    pub op: usize,
    /// What was done.
    pub action: Action,
    /// Position after the batch; for a deleted cell the position before it. None for operations on
    /// the whole notebook.
    pub index: Option<usize>,
    /// The cell's id.
    pub id: Option<String>,
    /// The cell's kind.
    pub kind: Option<CellKind>,
    /// What else there is to say.
    pub notes: Vec<Note>,
}

/// What a batch did, one entry an operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditReport {
    /// In the order of the operations.
    pub changes: Vec<CellChange>,
}

impl Notebook {
    /// Applies operations in order. Either all of them happen or none: on an error the notebook is
    /// as it was. Cells are named as they are before the batch; cells put at the same place stand in
    /// the order of their operations.
    pub fn apply(&mut self, ops: &[EditOp], ids: &mut IdSource) -> Result<EditReport, EditError> {
        if ops.is_empty() {
            return Ok(EditReport::default());
        }
        if let Some(reason) = self.read_only() {
            return Err(EditError::ReadOnly(reason.clone()));
        }
        let mut batch = Batch::new(self, ids);
        for (op, operation) in ops.iter().enumerate() {
            batch.apply(op, operation).map_err(|problem| EditError::Op { op, problem })?;
        }
        let done = batch.finish();
        self.cells = done.cells;
        if let Some(metadata) = done.metadata {
            self.metadata = Some(metadata);
        }
        Ok(done.report)
    }
}

#[cfg(test)]
#[path = "edit/tests.rs"]
mod tests;
