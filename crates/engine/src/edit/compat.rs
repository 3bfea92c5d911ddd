//! The two editors of the source documents, on files: `notebook` (by position) and `NotebookEdit` (by id), with the
//! names, checks and wording of those documents.
//!
//! Owns their request and result types; a tool only decodes and wraps them. `by_id.rs` and `by_index.rs` are the
//! editors themselves, which know no files.

mod by_id;
mod by_index;
#[cfg(test)]
mod tests;

use inkcell_notebook::{CellKind, OutputsAfter, visible_line};
use serde::{Deserialize, Serialize};

use by_id::{IdEdit, IdEditReply};
use by_index::IndexEdit;

use crate::edit::change::{Backup, IfMissing, SaveOptions};
use crate::edit::notebooks::Notebooks;
use crate::error::EngineError;
use crate::session::feeds::{EditAction, EditAsked};
use crate::types::Kind;

/// The arguments of `notebook`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexEditRequest {
    /// `edit`, `insert` or `delete`.
    pub action: String,
    /// The path of the notebook, relative to the caller's folder.
    pub notebook_path: String,
    /// Position of the cell, from 0.
    pub cell_index: f64,
    /// The source, for `edit` and `insert`.
    pub content: Option<String>,
    /// The kind, for `insert`.
    pub cell_type: Option<String>,
}

impl IndexEditRequest {
    /// The requested edit, as reported if it fails.
    fn asked(&self) -> EditAsked {
        let action = match self.action.as_str() {
            "edit" => Some(EditAction::Edit),
            "insert" => Some(EditAction::Insert),
            "delete" => Some(EditAction::Delete),
            _ => None,
        };
        let index = self.cell_index;
        let is_place = index >= 0.0 && index.fract() == 0.0 && index < 1e15;
        EditAsked {
            action,
            index: is_place.then_some(index as usize),
            kind: self.cell_type.as_deref().and_then(CellKind::from_name),
        }
    }
}

/// The result of `notebook`: a sentence and details.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct IndexEditResult {
    /// The summary for the reader of the answer, which is not part of the details.
    #[serde(skip)]
    pub text: String,
    /// `edit`, `insert` or `delete`.
    pub action: &'static str,
    /// Position of the cell, from 0.
    pub cell_index: usize,
    /// The kind of the cell, as the notebook spells it.
    pub cell_type: String,
    /// Number of cells after the edit.
    pub total_cells: usize,
    /// The lines of its source.
    pub cell_source: Vec<String>,
}

/// The arguments of `NotebookEdit`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdEditRequest {
    /// The path of the notebook, as the caller gave it.
    pub notebook_path: String,
    /// The cell, or for an insert the cell before.
    pub cell_id: Option<String>,
    /// `code`, `markdown` or `raw`.
    pub cell_type: Option<String>,
    /// The source after the edit; not needed to delete a cell.
    pub new_source: Option<String>,
    /// `replace`, `insert` or `delete`.
    pub edit_mode: Option<String>,
    /// `keep` or `clear`, for the outputs of a replaced cell.
    pub outputs: Option<String>,
    /// Says if the earlier bytes are kept beside the file.
    pub backup: Option<bool>,
    /// Several edits instead of the one above, all or nothing.
    pub edits: Option<Vec<IdEditPart>>,
    /// Says if a missing notebook is created.
    pub create: Option<bool>,
}

/// One of several edits of a `NotebookEdit` request.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdEditPart {
    /// The cell, or for an insert the cell before.
    pub cell_id: Option<String>,
    /// `code`, `markdown` or `raw`.
    pub cell_type: Option<String>,
    /// The new source; none to delete the cell.
    pub new_source: Option<String>,
    /// `replace`, `insert` or `delete`.
    pub edit_mode: Option<String>,
}

/// The result of `NotebookEdit`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct IdEditResult {
    /// False if the request failed.
    pub success: bool,
    /// The id of the edited cell; none if the request failed or had several edits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell_id: Option<String>,
    /// The position of that cell, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell_index: Option<usize>,
    /// Why the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Path of the backup, if one was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The result of each of several edits, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<IdEdited>>,
    /// Set if the notebook was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<bool>,
    /// The summary for people.
    #[serde(skip)]
    pub summary: String,
    /// The kind of failure.
    #[serde(skip)]
    pub kind: Option<Kind>,
}

/// One cell of several that were edited.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct IdEdited {
    /// The id of the cell; for a deleted cell, the reference that was given.
    pub cell_id: String,
    /// Its position afterwards; for a deleted cell, the one it had.
    pub cell_index: usize,
}

impl Notebooks {
    /// Carries out a `notebook` request. The error's text is the sentence the documents give; a caller
    /// puts `Error: ` before it.
    pub fn edit_by_index(
        &self,
        request: &IndexEditRequest,
    ) -> Result<IndexEditResult, EngineError> {
        let path = &request.notebook_path;
        let edit = IndexEdit {
            action: request.action.clone(),
            cell_index: request.cell_index,
            content: request.content.clone(),
            cell_type: request.cell_type.clone(),
        };
        let options = SaveOptions::in_place();
        let saved = self.change_as_asked(path, &options, request.asked(), |notebook, base| {
            if let Some(conflict) = base.conflict() {
                return Err(conflict);
            }
            edit.apply(notebook, &mut base.ids()).map_err(|error| refused(error.message(path)))
        });
        let saved = saved.map_err(|error| match error {
            EngineError::NotJson { .. } => {
                refused(format!("Invalid JSON in notebook: {}", visible_line(path)))
            }
            EngineError::Structure { .. } => {
                let path = visible_line(path);
                refused(format!("Invalid notebook structure (missing cells array): {path}"))
            }
            other => other,
        })?;
        let details = saved.value;
        Ok(IndexEditResult {
            text: details.text(),
            action: details.action.name(),
            cell_index: details.cell_index,
            cell_type: details.cell_type,
            total_cells: details.total_cells,
            cell_source: details.cell_source,
        })
    }

    /// Carries out a `NotebookEdit` request. Failing is part of the result.
    pub fn edit_by_id(&self, request: &IdEditRequest) -> IdEditResult {
        self.try_edit_by_id(request).unwrap_or_else(|error| {
            let kind = error.kind();
            let message = match error {
                EngineError::NotFound { .. } => "Notebook not found".to_owned(),
                EngineError::NotJson { .. } | EngineError::Structure { .. } => {
                    "Invalid notebook format".to_owned()
                }
                other => other.to_string(),
            };
            let summary = format!("Error: {message}");
            IdEditResult {
                error: Some(message),
                kind: Some(kind),
                ..IdEditResult::of(false, summary)
            }
        })
    }

    fn try_edit_by_id(&self, request: &IdEditRequest) -> Result<IdEditResult, EngineError> {
        let path = &request.notebook_path;
        let is_made = request.create == Some(true);
        let edits = request.parts()?;
        if edits.is_empty() && is_made {
            self.create(path, None)?;
            return Ok(IdEditResult { created: Some(true), ..IdEditResult::of(true, made(path)) });
        }
        let options = SaveOptions {
            backup: if request.backup == Some(true) { Backup::Yes } else { Backup::No },
            if_missing: if is_made { IfMissing::CreateNotebook } else { IfMissing::Fail },
            ..SaveOptions::in_place()
        };
        let saved = self.change_as_asked(path, &options, request.asked(), |notebook, base| {
            if let Some(conflict) = base.conflict() {
                return Err(conflict);
            }
            IdEdit::apply_all(&edits, notebook, &mut base.ids()).map_err(|(at, message)| {
                let place = request.edits.as_ref().map(|_| format!("edits[{at}]: "));
                refused(place.unwrap_or_default() + &message)
            })
        })?;
        let mut summary: Vec<String> = saved.value.iter().map(|edit| edit.summary(path)).collect();
        if saved.before.is_none() {
            summary.insert(0, made(path));
        }
        let done = saved.value.into_iter();
        let done =
            done.map(|IdEditReply { cell_id, cell_index, .. }| IdEdited { cell_id, cell_index });
        let mut done: Vec<IdEdited> = done.collect();
        let one = if request.edits.is_none() { done.pop() } else { None };
        let (cell_id, cell_index) = one.map(|one| (one.cell_id, one.cell_index)).unzip();
        Ok(IdEditResult {
            cell_id,
            cell_index,
            edits: request.edits.is_some().then_some(done),
            created: saved.before.is_none().then_some(true),
            backup: saved.backup.map(|path| path.display().to_string()),
            ..IdEditResult::of(true, summary.join("\n"))
        })
    }
}

fn refused(message: String) -> EngineError {
    EngineError::Refused { message }
}

/// The summary for a notebook that was created.
fn made(path: &str) -> String {
    format!("✓ Notebook created\n  Notebook: {}", visible_line(path))
}

impl IdEditResult {
    fn of(success: bool, summary: String) -> IdEditResult {
        IdEditResult {
            success,
            cell_id: None,
            cell_index: None,
            error: None,
            backup: None,
            edits: None,
            created: None,
            summary,
            kind: None,
        }
    }
}

impl IdEditRequest {
    /// The single edit given beside the path.
    fn part(&self) -> IdEditPart {
        IdEditPart {
            cell_id: self.cell_id.clone(),
            cell_type: self.cell_type.clone(),
            new_source: self.new_source.clone(),
            edit_mode: self.edit_mode.clone(),
        }
    }

    /// The edits to make; empty only if the request just creates a notebook.
    fn parts(&self) -> Result<Vec<IdEdit>, EngineError> {
        let outputs = match self.outputs.as_deref() {
            None => None,
            Some("keep") => Some(OutputsAfter::Keep),
            Some("clear") => Some(OutputsAfter::Clear),
            Some(other) => {
                return Err(refused(format!("Invalid outputs: {other} (expected keep or clear)")));
            }
        };
        let one = self.part();
        let parts = match &self.edits {
            Some(_) if one != IdEditPart::default() => {
                return Err(refused("Give edits or a single edit, not both".to_owned()));
            }
            Some(parts) if parts.is_empty() && self.create != Some(true) => {
                return Err(refused("edits is empty".to_owned()));
            }
            Some(parts) => parts.clone(),
            None if one == IdEditPart::default() && self.create == Some(true) => Vec::new(),
            None => vec![one],
        };
        let edit = |part: IdEditPart| IdEdit {
            cell_id: part.cell_id,
            cell_type: part.cell_type,
            new_source: part.new_source,
            edit_mode: part.edit_mode,
            outputs,
        };
        Ok(parts.into_iter().map(edit).collect())
    }

    /// The requested edit, if the request makes only one.
    fn asked(&self) -> EditAsked {
        let part = match self.edits.as_deref() {
            None => self.part(),
            Some([only]) => only.clone(),
            Some(_) => IdEditPart::default(),
        };
        let action = match part.edit_mode.as_deref() {
            None | Some("replace") => Some(EditAction::Edit),
            Some("insert") => Some(EditAction::Insert),
            Some("delete") => Some(EditAction::Delete),
            Some(_) => None,
        };
        let is_one = part != IdEditPart::default();
        EditAsked {
            action: action.filter(|_| is_one),
            index: None,
            kind: part.cell_type.as_deref().and_then(CellKind::from_name),
        }
    }
}
