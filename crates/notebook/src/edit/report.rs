//! The report of a batch: each operation with the cell that it changed.
//!
//! Owns the vocabulary of the report. It must not know how a change is displayed.

use crate::cell::CellKind;
/// The effect of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The source was set, and the kind if one was given.
    Replaced,
    /// A new cell was added.
    Inserted,
    /// The cell was removed.
    Deleted,
    /// The cell moved to another place.
    Moved,
    /// The kind was changed.
    Retyped,
    /// Text in the source was replaced.
    Substituted {
        /// Number of replaced matches, from 1.
        count: usize,
    },
    /// A name in the source was replaced by another one.
    Renamed {
        /// Number of its places; 0 if only magics and shell commands have it.
        count: usize,
    },
    /// Outputs and execution count were removed.
    Cleared,
    /// Metadata keys were set or removed.
    MetaChanged,
    /// Outputs and execution count were set.
    OutputsSet,
}

/// A side effect or other detail of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditNote {
    /// The operation changed nothing: the document already was as requested.
    Unchanged,
    /// Number of outputs that were removed.
    OutputsCleared(usize),
    /// The cell had no id, which nbformat 4.5 requires; it got a new one.
    IdAdded,
    /// Attachments were removed, because code cells cannot have any.
    AttachmentsRemoved,
    /// U+FFFD replaced lone surrogates of the old source.
    SurrogatesLost,
    /// Number of places in magics and shell commands where the old name stays.
    LeftInCommands(usize),
}

/// One cell that an operation changed, in its state after the batch.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CellChange {
    /// Position of the operation in the batch, from 0.
    pub op: usize,
    /// The effect on the cell.
    pub action: Action,
    /// Position after the batch; for a deleted cell, the position before it. None for operations on
    /// the whole notebook.
    pub index: Option<usize>,
    /// Id of the cell; none if the format or the file gives it none.
    pub id: Option<String>,
    /// Kind of the cell; none if nbformat 4 does not define it.
    pub kind: Option<CellKind>,
    /// Side effects that the caller did not ask for.
    pub notes: Vec<EditNote>,
}

/// The effects of a batch: one entry for each operation, and for one on all cells an entry for each that it
/// changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EditReport {
    /// Changes, in the order of the operations.
    pub changes: Vec<CellChange>,
}
