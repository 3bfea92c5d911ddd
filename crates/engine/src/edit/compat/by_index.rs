//! The editor of the source documents that names cells by position (`notebook`).
//!
//! Owns its rules, order of checks and wording; the change itself is one `EditOp`. It must not know
//! how the file was opened.

use inkcell_notebook::{
    CellKind, CellPlace, CellRef, EditError, EditOp, IdSource, Notebook, OutputsAfter, SourceShape,
    visible_line,
};

/// A requested edit. The fields are as the caller gave them: checking them is part of the rules.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct IndexEdit {
    /// `edit`, `insert` or `delete`.
    pub(super) action: String,
    /// Position, from 0. Negative and fractional numbers are out of range.
    pub(super) cell_index: f64,
    /// The source, for `edit` and `insert`.
    pub(super) content: Option<String>,
    /// The kind, for `insert`; code when not given.
    pub(super) cell_type: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IndexAction {
    Edit,
    Insert,
    Delete,
}

impl IndexAction {
    pub(super) fn name(self) -> &'static str {
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

/// The result of an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct IndexEditDetails {
    pub(super) action: IndexAction,
    /// Position of the cell, from 0.
    pub(super) cell_index: usize,
    pub(super) cell_type: String,
    /// Number of cells after the edit.
    pub(super) total_cells: usize,
    /// The lines of its source; for a deleted cell, its last source.
    pub(super) cell_source: Vec<String>,
}

impl IndexEditDetails {
    /// The result as a sentence.
    pub(super) fn text(&self) -> String {
        let IndexEditDetails { cell_index, cell_type, total_cells, .. } = self;
        let done = match self.action {
            IndexAction::Edit => format!("Replaced cell {cell_index} ({cell_type})"),
            IndexAction::Insert => format!("Inserted {cell_type} cell at position {cell_index}"),
            IndexAction::Delete => format!("Deleted cell {cell_index} ({cell_type})"),
        };
        format!("{done}. Notebook now has {total_cells} cells.")
    }
}

/// The reason why an edit failed.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum IndexEditError {
    /// The position is not valid for an insert.
    InsertRange {
        /// The position as the caller gave it.
        index: f64,
        /// Number of cells in the notebook.
        count: usize,
    },
    /// The position names no cell.
    Range {
        /// The position as the caller gave it.
        index: f64,
        /// Number of cells in the notebook.
        count: usize,
    },
    /// `edit` and `insert` need a source.
    NoContent {
        /// The action that the caller named.
        action: String,
    },
    /// Not one of the three actions.
    BadAction {
        /// The action as the caller gave it.
        action: String,
    },
    /// Not one of the three kinds.
    BadType {
        /// The kind as the caller gave it.
        cell_type: String,
    },
    /// The notebook refused the operation.
    Edit(EditError),
}

impl IndexEditError {
    /// The message, with the path as the caller gave it, on one line.
    pub(super) fn message(&self, path: &str) -> String {
        let path = visible_line(path);
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
            IndexEditError::BadAction { action } => {
                format!("Invalid action: {}", visible_line(action))
            }
            IndexEditError::BadType { cell_type } => {
                let cell_type = visible_line(cell_type);
                format!("Invalid cell type: {cell_type} (expected code, markdown or raw)")
            }
            IndexEditError::Edit(error) => format!("{error} in {path}"),
        }
    }
}

/// Converts a whole number below `limit` to a position.
fn position(index: f64, limit: usize) -> Option<usize> {
    (index >= 0.0 && index.fract() == 0.0 && index < limit as f64).then_some(index as usize)
}

impl IndexEdit {
    /// Carries out the edit. Checks the range first, then the content, then the action.
    pub(super) fn apply(
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
                EditOp::Insert { at: CellPlace::End, kind, source: source.clone() }
            }
            IndexAction::Insert => {
                EditOp::Insert { at: CellPlace::Before(cell), kind, source: source.clone() }
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
            cell_source: source.split_inclusive('\n').map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests;
