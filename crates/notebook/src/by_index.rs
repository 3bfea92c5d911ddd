//! The editor of the source documents that names cells by position (`notebook`).
//!
//! Owns its rules, order of checks and wording; the change itself is one `EditOp`. It must not know
//! how the file was opened.

use crate::cell::{CellKind, CellRef, IdSource, split_lines};
use crate::document::Notebook;
use crate::edit::{EditOp, OutputsAfter, Place};
use crate::error::EditError;
use crate::fields::SourceShape;

/// What is asked for. The fields are as the caller gave them: checking them is part of the rules.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexEdit {
    /// `edit`, `insert` or `delete`.
    pub action: String,
    /// Position, from 0. A number that is no position is out of range.
    pub cell_index: f64,
    /// The source, for `edit` and `insert`.
    pub content: Option<String>,
    /// The kind, for `insert`; code when not given.
    pub cell_type: Option<String>,
}

/// The three actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexAction {
    /// Replaced.
    Edit,
    /// Inserted.
    Insert,
    /// Deleted.
    Delete,
}

impl IndexAction {
    /// The name of the action.
    pub fn name(self) -> &'static str {
        match self {
            IndexAction::Edit => "edit",
            IndexAction::Insert => "insert",
            IndexAction::Delete => "delete",
        }
    }

    fn from_name(name: &str) -> Option<IndexAction> {
        let all = [IndexAction::Edit, IndexAction::Insert, IndexAction::Delete];
        all.into_iter().find(|action| action.name() == name)
    }
}

/// What was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexEditDetails {
    /// The action.
    pub action: IndexAction,
    /// Position of the cell.
    pub cell_index: usize,
    /// Its kind.
    pub cell_type: String,
    /// How many cells there are now.
    pub total_cells: usize,
    /// The lines of its source; of a deleted cell, what it had.
    pub cell_source: Vec<String>,
}

impl IndexEditDetails {
    /// The result as a sentence.
    pub fn text(&self) -> String {
        let IndexEditDetails { cell_index, cell_type, total_cells, .. } = self;
        let done = match self.action {
            IndexAction::Edit => format!("Replaced cell {cell_index} ({cell_type})"),
            IndexAction::Insert => format!("Inserted {cell_type} cell at position {cell_index}"),
            IndexAction::Delete => format!("Deleted cell {cell_index} ({cell_type})"),
        };
        format!("{done}. Notebook now has {total_cells} cells.")
    }
}

/// Why nothing was done.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexEditError {
    /// The position is not one an insert can have.
    InsertRange {
        /// As given.
        index: f64,
        /// How many cells there are.
        count: usize,
    },
    /// The position names no cell.
    Range {
        /// As given.
        index: f64,
        /// How many cells there are.
        count: usize,
    },
    /// `edit` and `insert` need a source.
    NoContent {
        /// The action.
        action: String,
    },
    /// Not one of the three actions.
    BadAction {
        /// As given.
        action: String,
    },
    /// Not one of the three kinds.
    BadType {
        /// As given.
        cell_type: String,
    },
    /// The operation itself was refused.
    Edit(EditError),
}

impl IndexEditError {
    /// The message, with the path as the caller gave it.
    pub fn message(&self, path: &str) -> String {
        match self {
            IndexEditError::InsertRange { index, count } => {
                format!("Cell index {index} out of range for insert (0-{count}) in {path}")
            }
            IndexEditError::Range { index, count: 0 } => {
                format!("Cell index {index} out of range: the notebook has no cells in {path}")
            }
            IndexEditError::Range { index, count } => {
                format!("Cell index {index} out of range (0-{}) in {path}", count - 1)
            }
            IndexEditError::NoContent { action } => {
                format!("Content is required for {action} action")
            }
            IndexEditError::BadAction { action } => format!("Invalid action: {action}"),
            IndexEditError::BadType { cell_type } => {
                format!("Invalid cell type: {cell_type} (expected code, markdown or raw)")
            }
            IndexEditError::Edit(error) => format!("{error} in {path}"),
        }
    }
}

/// A number that is a position below `limit`.
fn position(index: f64, limit: usize) -> Option<usize> {
    (index >= 0.0 && index.fract() == 0.0 && index < limit as f64).then_some(index as usize)
}

impl IndexEdit {
    /// Carries it out: range first, then content, then the action itself.
    pub fn apply(
        &self,
        notebook: &mut Notebook,
        ids: &mut IdSource,
    ) -> Result<IndexEditDetails, IndexEditError> {
        let count = notebook.len();
        let is_insert = self.action == "insert";
        let index = if is_insert {
            let bad = IndexEditError::InsertRange { index: self.cell_index, count };
            position(self.cell_index, count + 1).ok_or(bad)?
        } else {
            let bad = IndexEditError::Range { index: self.cell_index, count };
            position(self.cell_index, count).ok_or(bad)?
        };
        if self.content.is_none() && matches!(self.action.as_str(), "edit" | "insert") {
            return Err(IndexEditError::NoContent { action: self.action.clone() });
        }
        let action = IndexAction::from_name(&self.action)
            .ok_or_else(|| IndexEditError::BadAction { action: self.action.clone() })?;
        let source = self.content.clone().unwrap_or_default();
        let cell = CellRef::Index(index as i64);
        let kind = match self.cell_type.as_deref() {
            None => CellKind::Code,
            Some(name) => CellKind::from_name(name)
                .ok_or_else(|| IndexEditError::BadType { cell_type: name.to_owned() })?,
        };
        let before = notebook
            .cell(index)
            .map(|cell| (cell.kind_name().into_owned(), cell.source().text.into_owned()));
        let op = match action {
            IndexAction::Edit => EditOp::Replace {
                cell,
                source: source.clone(),
                kind: None,
                outputs: OutputsAfter::Keep,
                shape: SourceShape::Lines,
            },
            IndexAction::Insert if index == count => {
                EditOp::Insert { at: Place::End, kind, source: source.clone() }
            }
            IndexAction::Insert => {
                EditOp::Insert { at: Place::Before(cell), kind, source: source.clone() }
            }
            IndexAction::Delete => EditOp::Delete { cell },
        };
        notebook.apply(&[op], ids).map_err(IndexEditError::Edit)?;
        let (cell_type, source) = match (action, before) {
            (IndexAction::Insert, _) | (_, None) => (kind.name().to_owned(), source),
            (IndexAction::Edit, Some((kind, _))) => (kind, source),
            (IndexAction::Delete, Some(before)) => before,
        };
        Ok(IndexEditDetails {
            action,
            cell_index: index,
            cell_type,
            total_cells: notebook.len(),
            cell_source: split_lines(&source).into_iter().map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
#[path = "by_index/tests.rs"]
mod tests;
