//! The editor of the source documents that names cells by id (`NotebookEdit`).
//!
//! Owns its rules and wording; the change itself is one `EditOp`. It must not know how the file was
//! opened.

use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::Notebook;
use crate::edit::{EditOp, OutputsAfter, Place};
use crate::fields::SourceShape;

/// What is asked for. The fields are as the caller gave them: checking them is part of the rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IdEdit {
    /// The cell, or for an insert the cell before; an id or a position.
    pub cell_id: Option<String>,
    /// `code`, `markdown` or `raw`.
    pub cell_type: Option<String>,
    /// The source; not needed to delete.
    pub new_source: Option<String>,
    /// `replace` (when not given), `insert` or `delete`.
    pub edit_mode: Option<String>,
    /// What a replace does to outputs; the documents' rule is to clear them.
    pub outputs: Option<OutputsAfter>,
}

/// The three modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdMode {
    /// Replaced.
    Replace,
    /// Inserted.
    Insert,
    /// Deleted.
    Delete,
}

/// What was done to which cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdEditReply {
    /// The mode.
    pub mode: IdMode,
    /// The cell: its id, or how the caller named it when it has none.
    pub cell_id: String,
    /// Its position; of a deleted cell the position it had.
    pub cell_index: usize,
    /// Its kind.
    pub cell_type: String,
    /// For an insert, the cell before it as the caller named it.
    pub after: Option<String>,
}

impl IdEditReply {
    /// The summary for people.
    pub fn summary(&self, path: &str) -> String {
        let IdEditReply { cell_id, cell_index, cell_type, .. } = self;
        match self.mode {
            IdMode::Replace => format!(
                "✓ Cell updated\n  Notebook: {path}\n  Cell: {cell_id} (index {cell_index})\n  Type: {cell_type}"
            ),
            IdMode::Insert => {
                let place = match &self.after {
                    Some(after) => format!("Inserted after: {after}"),
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

impl IdEdit {
    /// Carries it out. The error is the sentence the documents give.
    pub fn apply(
        &self,
        notebook: &mut Notebook,
        ids: &mut IdSource,
    ) -> Result<IdEditReply, String> {
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
        match mode {
            IdMode::Replace => self.replace(notebook, kind, ids),
            IdMode::Insert => self.insert(notebook, kind, ids),
            IdMode::Delete => self.delete(notebook, ids),
        }
    }

    fn source(&self, mode: &str) -> Result<String, String> {
        self.new_source.clone().ok_or_else(|| format!("new_source required for {mode}"))
    }

    /// An id, then an id kept in the metadata, then a position in plain digits.
    fn find(notebook: &Notebook, given: &str) -> Option<usize> {
        let by_id = notebook.cells().position(|cell| cell.id().as_deref() == Some(given));
        let by_metadata =
            || notebook.cells().position(|cell| cell.metadata_id().as_deref() == Some(given));
        let by_position = || {
            let is_digits = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
            given.parse().ok().filter(|&index: &usize| is_digits && index < notebook.len())
        };
        by_id.or_else(by_metadata).or_else(by_position)
    }

    fn replace(
        &self,
        notebook: &mut Notebook,
        kind: Option<CellKind>,
        ids: &mut IdSource,
    ) -> Result<IdEditReply, String> {
        let given = self.cell_id.as_deref().ok_or("cell_id required for replace")?;
        let index =
            Self::find(notebook, given).ok_or_else(|| format!("Cell not found: {given}"))?;
        let op = EditOp::Replace {
            cell: CellRef::Index(index as i64),
            source: self.source("replace")?,
            kind,
            outputs: self.outputs.unwrap_or(OutputsAfter::Clear),
            shape: SourceShape::Lines,
        };
        notebook.apply(&[op], ids).map_err(|error| error.to_string())?;
        Ok(Self::reply(notebook, IdMode::Replace, index, Some(given), None))
    }

    fn insert(
        &self,
        notebook: &mut Notebook,
        kind: Option<CellKind>,
        ids: &mut IdSource,
    ) -> Result<IdEditReply, String> {
        let kind = kind.ok_or("cell_type required for insert")?;
        let (at, index) = match self.cell_id.as_deref() {
            None => (Place::Start, 0),
            Some(given) => {
                let before = Self::find(notebook, given)
                    .ok_or_else(|| format!("Reference cell not found: {given}"))?;
                (Place::After(CellRef::Index(before as i64)), before + 1)
            }
        };
        let op = EditOp::Insert { at, kind, source: self.source("insert")? };
        notebook.apply(&[op], ids).map_err(|error| error.to_string())?;
        Ok(Self::reply(notebook, IdMode::Insert, index, None, self.cell_id.clone()))
    }

    fn delete(&self, notebook: &mut Notebook, ids: &mut IdSource) -> Result<IdEditReply, String> {
        let given = self.cell_id.as_deref().ok_or("cell_id required for delete")?;
        let index =
            Self::find(notebook, given).ok_or_else(|| format!("Cell not found: {given}"))?;
        let mut reply = Self::reply(notebook, IdMode::Delete, index, Some(given), None);
        given.clone_into(&mut reply.cell_id);
        let op = EditOp::Delete { cell: CellRef::Index(index as i64) };
        notebook.apply(&[op], ids).map_err(|error| error.to_string())?;
        Ok(reply)
    }

    fn reply(
        notebook: &Notebook,
        mode: IdMode,
        cell_index: usize,
        given: Option<&str>,
        after: Option<String>,
    ) -> IdEditReply {
        let cell = notebook.cell(cell_index);
        let id = cell.and_then(|cell| cell.id()).map(|id| id.into_owned());
        let fallback = || given.map_or(cell_index.to_string(), str::to_owned);
        IdEditReply {
            mode,
            cell_id: id.unwrap_or_else(fallback),
            cell_index,
            cell_type: cell.map(|cell| cell.kind_name().into_owned()).unwrap_or_default(),
            after,
        }
    }
}

#[cfg(test)]
#[path = "by_id/tests.rs"]
mod tests;
