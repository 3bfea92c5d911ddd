//! The two editors of the source documents, on files: `notebook` (by position) and `NotebookEdit` (by
//! id), with the names, checks and words those documents give.
//!
//! Owns their request and result types; a tool only decodes and wraps them.

use inkcell_notebook::{IdEdit, IndexEdit, OutputsAfter};
use serde::{Deserialize, Serialize};

use crate::change::{Backup, SaveOptions};
use crate::error::{EngineError, Kind};
use crate::notebooks::Notebooks;

/// The arguments of `notebook`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexEditRequest {
    /// `edit`, `insert` or `delete`.
    pub action: String,
    /// The notebook.
    pub notebook_path: String,
    /// Position of the cell, from 0.
    pub cell_index: f64,
    /// The source, for `edit` and `insert`.
    pub content: Option<String>,
    /// The kind, for `insert`.
    pub cell_type: Option<String>,
}

/// The result of `notebook`: a sentence and details.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexEditResult {
    /// The sentence.
    #[serde(skip)]
    pub text: String,
    /// `edit`, `insert` or `delete`.
    pub action: &'static str,
    /// Position of the cell.
    pub cell_index: usize,
    /// Its kind.
    pub cell_type: String,
    /// How many cells there are now.
    pub total_cells: usize,
    /// The lines of its source.
    pub cell_source: Vec<String>,
}

/// The arguments of `NotebookEdit`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdEditRequest {
    /// The notebook.
    pub notebook_path: String,
    /// The cell, or for an insert the cell before.
    pub cell_id: Option<String>,
    /// `code`, `markdown` or `raw`.
    pub cell_type: Option<String>,
    /// The source.
    pub new_source: Option<String>,
    /// `replace`, `insert` or `delete`.
    pub edit_mode: Option<String>,
    /// `keep` or `clear`.
    pub outputs: Option<String>,
    /// Whether the earlier bytes are kept beside the file.
    pub backup: Option<bool>,
}

/// The result of `NotebookEdit`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct IdEditResult {
    /// Whether it was done.
    pub success: bool,
    /// The cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell_id: Option<String>,
    /// Its position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell_index: Option<usize>,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where the earlier bytes are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The summary for people.
    #[serde(skip)]
    pub summary: String,
    /// What sort of failure it was.
    #[serde(skip)]
    pub kind: Option<Kind>,
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
        let saved = self.change(path, &SaveOptions::in_place(), |notebook, base| {
            if let Some(conflict) = base.conflict() {
                return Err(conflict);
            }
            edit.apply(notebook, &mut base.ids())
                .map_err(|error| EngineError::Refused { message: error.message(path) })
        });
        let saved = saved.map_err(|error| match error {
            EngineError::NotJson { .. } => {
                EngineError::Refused { message: format!("Invalid JSON in notebook: {path}") }
            }
            EngineError::Structure { .. } => EngineError::Refused {
                message: format!("Invalid notebook structure (missing cells array): {path}"),
            },
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
        match self.try_edit_by_id(request) {
            Ok(result) => result,
            Err(error) => {
                let kind = Some(error.kind());
                let message = match error {
                    EngineError::NotFound { .. } => "Notebook not found".to_owned(),
                    EngineError::NotJson { .. } | EngineError::Structure { .. } => {
                        "Invalid notebook format".to_owned()
                    }
                    other => other.to_string(),
                };
                let summary = format!("Error: {message}");
                let (cell_id, cell_index, backup) = (None, None, None);
                IdEditResult {
                    success: false,
                    cell_id,
                    cell_index,
                    error: Some(message),
                    backup,
                    summary,
                    kind,
                }
            }
        }
    }

    fn try_edit_by_id(&self, request: &IdEditRequest) -> Result<IdEditResult, EngineError> {
        let path = &request.notebook_path;
        let refused = |message: String| EngineError::Refused { message };
        let outputs = match request.outputs.as_deref() {
            None => None,
            Some("keep") => Some(OutputsAfter::Keep),
            Some("clear") => Some(OutputsAfter::Clear),
            Some(other) => {
                return Err(refused(format!("Invalid outputs: {other} (expected keep or clear)")));
            }
        };
        let edit = IdEdit {
            cell_id: request.cell_id.clone(),
            cell_type: request.cell_type.clone(),
            new_source: request.new_source.clone(),
            edit_mode: request.edit_mode.clone(),
            outputs,
        };
        let backup = if request.backup == Some(true) { Backup::Yes } else { Backup::No };
        let saved = self.change(
            path,
            &SaveOptions { backup, ..SaveOptions::in_place() },
            |notebook, base| {
                if let Some(conflict) = base.conflict() {
                    return Err(conflict);
                }
                edit.apply(notebook, &mut base.ids()).map_err(refused)
            },
        )?;
        Ok(IdEditResult {
            success: true,
            summary: saved.value.summary(path),
            cell_id: Some(saved.value.cell_id),
            cell_index: Some(saved.value.cell_index),
            error: None,
            kind: None,
            backup: saved.backup.map(|path| path.display().to_string()),
        })
    }
}
