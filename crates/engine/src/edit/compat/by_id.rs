//! The editor of the source documents that names cells by id (`NotebookEdit`).
//!
//! Owns its rules and wording. Each edit is one `EditOp`, and several are one batch. It must not know how the file was
//! opened.

use inkcell_notebook::{
    CellChange, CellKind, CellPlace, CellRef, EditError, EditOp, IdSource, Notebook, OutputsAfter,
    SourceShape, visible_line,
};

/// A requested edit. The fields are as the caller gave them: checking them is part of the rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct IdEdit {
    /// The cell, or for an insert the cell before; an id or a position.
    pub(super) cell_id: Option<String>,
    /// `code`, `markdown` or `raw`.
    pub(super) cell_type: Option<String>,
    /// The source; not needed to delete.
    pub(super) new_source: Option<String>,
    /// `replace` (when not given), `insert` or `delete`.
    pub(super) edit_mode: Option<String>,
    /// Effect of a replace on outputs; by default it clears them, as in the documents.
    pub(super) outputs: Option<OutputsAfter>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IdMode {
    Replace,
    Insert,
    Delete,
}

/// The result of one edit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct IdEditReply {
    pub(super) mode: IdMode,
    /// Id of the cell, or the caller's reference if the cell has no id.
    pub(super) cell_id: String,
    /// Position of the cell; for a deleted cell, the one it had.
    pub(super) cell_index: usize,
    pub(super) cell_type: String,
    /// For an insert, the cell before it as the caller named it.
    pub(super) after: Option<String>,
}

impl IdEditReply {
    /// The summary for people, with the path.
    pub(super) fn summary(&self, path: &str) -> String {
        let IdEditReply { cell_index, cell_type, .. } = self;
        let (path, cell_id) = (visible_line(path), visible_line(&self.cell_id));
        match self.mode {
            IdMode::Replace => format!(
                "✓ Cell updated\n  Notebook: {path}\n  Cell: {cell_id} (index {cell_index})\n  Type: {cell_type}"
            ),
            IdMode::Insert => {
                let place = match &self.after {
                    Some(after) => format!("Inserted after: {}", visible_line(after)),
                    None => "Inserted at: start".to_owned(),
                };
                format!(
                    "✓ Cell inserted\n  Notebook: {path}\n  New cell: {cell_id} (index {cell_index})\n  \
                     Type: {cell_type}\n  {place}"
                )
            }
            IdMode::Delete => format!(
                "✓ Cell deleted\n  Notebook: {path}\n  Removed: {cell_id} (was at index {cell_index})"
            ),
        }
    }
}

/// An edit as an operation, with the mode that its answer needs.
struct LoweredEdit {
    op: EditOp,
    mode: IdMode,
}

impl IdEdit {
    /// Carries out several edits, all or none. Each names cells as they are before the first edit. The error gives the
    /// index of the failed edit and the wording of the documents.
    pub(super) fn apply_all(
        edits: &[IdEdit],
        notebook: &mut Notebook,
        ids: &mut IdSource,
    ) -> Result<Vec<IdEditReply>, (usize, String)> {
        let lower =
            |(at, edit): (usize, &IdEdit)| edit.lower(notebook).map_err(|error| (at, error));
        let lowered = edits.iter().enumerate().map(lower).collect::<Result<Vec<_>, _>>()?;
        let (ops, modes): (Vec<EditOp>, Vec<IdMode>) =
            lowered.into_iter().map(|LoweredEdit { op, mode }| (op, mode)).unzip();
        let report = notebook.apply(&ops, ids).map_err(|error| match &error {
            EditError::Op { op, .. } => (*op, error.to_string()),
            // The whole notebook refuses edits.
            _ => (0, error.to_string()),
        })?;
        let changes = edits.iter().zip(modes).zip(&report.changes);
        Ok(changes.map(|((edit, mode), change)| edit.reply(notebook, mode, Some(change))).collect())
    }

    fn lower(&self, notebook: &Notebook) -> Result<LoweredEdit, String> {
        let mode = match self.edit_mode.as_deref() {
            None | Some("replace") => IdMode::Replace,
            Some("insert") => IdMode::Insert,
            Some("delete") => IdMode::Delete,
            Some(_) => return Err("Invalid edit mode".to_owned()),
        };
        let kind = match self.cell_type.as_deref() {
            None => None,
            Some(name) => Some(CellKind::from_name(name).ok_or_else(|| {
                format!("Invalid cell type: {name} (expected code, markdown or raw)")
            })?),
        };
        let op = match mode {
            IdMode::Replace => EditOp::Replace {
                cell: self.cell(notebook, "replace")?,
                source: self.source("replace")?,
                kind,
                outputs: self.outputs.unwrap_or(OutputsAfter::Clear),
                shape: SourceShape::Lines,
            },
            IdMode::Insert => {
                let kind = kind.ok_or("cell_type required for insert")?;
                let at = match self.cell_id.as_deref() {
                    None => CellPlace::Start,
                    Some(given) => CellPlace::After(
                        Self::find(notebook, given)
                            .ok_or_else(|| format!("Reference cell not found: {given}"))?,
                    ),
                };
                EditOp::Insert { at, kind, source: self.source("insert")? }
            }
            IdMode::Delete => EditOp::Delete { cell: self.cell(notebook, "delete")? },
        };
        Ok(LoweredEdit { op, mode })
    }

    fn source(&self, mode: &str) -> Result<String, String> {
        self.new_source.clone().ok_or_else(|| format!("new_source required for {mode}"))
    }

    fn cell(&self, notebook: &Notebook, mode: &str) -> Result<CellRef, String> {
        let given =
            self.cell_id.as_deref().ok_or_else(|| format!("cell_id required for {mode}"))?;
        Self::find(notebook, given)
            .ok_or_else(|| format!("Cell not found: {}", visible_line(given)))
    }

    /// Finds a cell by id, then by an id in its metadata, then by a position in plain digits.
    fn find(notebook: &Notebook, given: &str) -> Option<CellRef> {
        let by_id = notebook.cells().position(|cell| cell.id().as_deref() == Some(given));
        let by_metadata =
            || notebook.cells().position(|cell| cell.metadata_id().as_deref() == Some(given));
        let by_position = || {
            let is_digits = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
            given.parse().ok().filter(|&index: &usize| is_digits && index < notebook.len())
        };
        let index = by_id.or_else(by_metadata).or_else(by_position)?;
        Some(CellRef::Index(index as i64))
    }

    /// The answer about a change; `notebook` is already changed.
    fn reply(&self, notebook: &Notebook, mode: IdMode, change: Option<&CellChange>) -> IdEditReply {
        let cell_index = change.and_then(|change| change.index).unwrap_or_default();
        let given = || self.cell_id.clone().unwrap_or_default();
        let id = change.and_then(|change| change.id.clone());
        let kind = change.and_then(|change| change.kind).map(|kind| kind.name().to_owned());
        // A kind unknown to the format keeps its name.
        let kind_there = || notebook.cell(cell_index).map(|cell| cell.kind_name().into_owned());
        IdEditReply {
            mode,
            cell_id: match mode {
                IdMode::Replace => id.unwrap_or_else(given),
                IdMode::Insert => id.unwrap_or_else(|| cell_index.to_string()),
                IdMode::Delete => given(),
            },
            cell_index,
            cell_type: match mode {
                IdMode::Delete => kind.unwrap_or_default(),
                IdMode::Replace | IdMode::Insert => kind.or_else(kind_there).unwrap_or_default(),
            },
            after: self.cell_id.clone().filter(|_| mode == IdMode::Insert),
        }
    }
}

#[cfg(test)]
mod tests;
