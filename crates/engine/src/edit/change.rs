//! A change on its way: the save options, the base version, and the result.
//!
//! Owns every way in which a request becomes a changed notebook. It must not know files: `notebooks.rs` reads and
//! writes them.

use std::path::PathBuf;

use inkcell_notebook::{
    EditOp, EditReport, IdSource, MarkerIds, Matches, Notebook, NotebookError, TextRules,
    lower_text, parse_text, substitute_between_markers,
};

use crate::edit::merge::{CarryError, carry_over};
use crate::error::{EngineError, not_a_notebook, text_error};
use crate::files::{FileNote, Force, Record, Records};
use crate::types::Version;

/// Behavior if the file does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfMissing {
    /// Report that the file does not exist.
    Fail,
    /// Start from an empty notebook; a path without a notebook extension is refused.
    CreateNotebook,
}

/// Says if the earlier bytes are kept beside the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backup {
    /// The earlier bytes are gone once the change is saved.
    No,
    /// Keeps them as `<name>.bak`.
    Yes,
}

/// Says if the change is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Replace the file with the result.
    Write,
    /// Write nothing; the result says what would be saved.
    DryRun,
}

/// Options for saving a change.
#[derive(Clone, Debug)]
pub struct SaveOptions {
    /// The version that the caller has seen.
    pub base: Option<Version>,
    /// Path to write instead of the notebook itself.
    pub output: Option<String>,
    /// Behavior if the file does not exist.
    pub if_missing: IfMissing,
    /// Says if the earlier bytes are kept.
    pub backup: Backup,
    /// Says if a write may lose properties of the file.
    pub force: Force,
    /// Says if the change is written at all.
    pub mode: Mode,
}

impl SaveOptions {
    /// Options to change an existing notebook in place, whatever its version.
    pub fn in_place() -> SaveOptions {
        SaveOptions {
            base: None,
            output: None,
            if_missing: IfMissing::Fail,
            backup: Backup::No,
            force: Force::No,
            mode: Mode::Write,
        }
    }
}

/// Effect of a change on the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileEffect {
    /// The new content is on disk.
    Written,
    /// Nothing to write: the bytes are unchanged.
    Nothing,
    /// Dry run: the edit would have changed the file.
    WouldWrite,
}

/// The base of a change: the version that the caller edited.
pub struct Base {
    pub(crate) known: Option<Record>,
    pub(crate) current: Option<Record>,
    /// The path as the caller gave it.
    pub(crate) path: String,
    pub(crate) is_new: bool,
    pub(crate) records: Records,
    pub(crate) seed: u64,
}

/// The result of a saved change.
pub struct SavedChange<T> {
    /// The result of the change itself.
    pub value: T,
    /// The notebook before; `None` if it was created.
    pub before: Option<Notebook>,
    /// The notebook as it was saved, or would be in a dry run.
    pub after: Notebook,
    /// The version of the saved bytes, to give with the next edit.
    pub version: Version,
    /// The base version, if the change was carried over to a newer one.
    pub merged: Option<Version>,
    /// Effect on the file.
    pub effect: FileEffect,
    /// The written path, in the caller's terms.
    pub path: String,
    /// Path of the backup, if one was made.
    pub backup: Option<PathBuf>,
    /// Further notes about the file.
    pub notes: Vec<FileNote>,
}

/// A change that is applied and not yet written.
pub(crate) struct Draft<T> {
    pub(crate) value: T,
    pub(crate) before: Option<Notebook>,
    pub(crate) after: Notebook,
    pub(crate) merged: Option<Version>,
}

impl<T> Draft<T> {
    /// Returns true if the bytes equal those that were read.
    pub(crate) fn is_unchanged(&self) -> bool {
        let Some(before) = &self.before else { return false };
        let (old, new) = (before.original_bytes(), self.after.original_bytes());
        !self.after.is_changed() && (std::ptr::eq(old, new) || old == new)
    }

    /// The result of a change that is not written.
    pub(crate) fn unwritten(self, path: &str) -> SavedChange<T> {
        let version = Version::of_chunks(self.after.chunks().iter().map(|chunk| &**chunk));
        let effect = if self.is_unchanged() { FileEffect::Nothing } else { FileEffect::WouldWrite };
        self.finish(path, version, effect)
    }

    pub(crate) fn finish(self, path: &str, version: Version, effect: FileEffect) -> SavedChange<T> {
        let Draft { value, before, after, merged } = self;
        let (path, notes, backup) = (path.to_owned(), Vec::new(), None);
        SavedChange { value, before, after, version, merged, effect, path, backup, notes }
    }
}

impl Base {
    /// Source of ids for new cells.
    pub fn ids(&self) -> IdSource {
        IdSource::seeded(self.seed)
    }

    /// The conflict to report if a change cannot be carried over at all.
    pub fn conflict(&self) -> Option<EngineError> {
        let (known, current) = (self.known.as_ref()?, self.current.as_ref()?);
        let (yours, current, path) = (known.version, current.version, self.path.clone());
        Some(EngineError::ConflictWhole { path, yours, current })
    }

    /// Applies operations, carrying them over if they were made for an older version.
    pub fn apply(
        &self,
        notebook: &mut Notebook,
        ops: &[EditOp],
    ) -> Result<EditReport, EngineError> {
        let batch = ops.len();
        let edit = |error| EngineError::Edit { path: self.path.clone(), error, batch };
        let (Some(known), Some(current)) = (&self.known, &self.current) else {
            return notebook.apply(ops, &mut self.ids()).map_err(edit);
        };
        let carried =
            carry_over(ops, known, (&*notebook, current)).map_err(|error| match error {
                CarryError::Ref(error) => edit(error),
                CarryError::Whole => EngineError::ConflictWhole {
                    path: self.path.clone(),
                    yours: known.version,
                    current: current.version,
                },
                CarryError::Conflict(cells) => EngineError::Conflict {
                    path: self.path.clone(),
                    yours: known.version,
                    current: current.version,
                    cells,
                },
            })?;
        notebook.apply(&carried, &mut self.ids()).map_err(edit)
    }

    /// Applies virtual text, carrying it over if it was made from an older version.
    pub fn apply_text(
        &self,
        notebook: &mut Notebook,
        text: &str,
        rules: TextRules,
    ) -> Result<EditReport, EngineError> {
        let ops = match &self.known {
            None => notebook.text_ops(text, rules),
            Some(known) => parse_text(text).and_then(|cells| lower_text(known, cells, rules)),
        };
        let ops = ops.map_err(|error| text_error(&self.path, error))?;
        self.apply(notebook, &ops)
    }

    /// Replaces the whole notebook. Text that begins with `{` is the JSON of a notebook and is stored as given. Any
    /// other text is virtual text; it is refused if it was shown as a part.
    pub fn put_text(
        &self,
        notebook: &mut Notebook,
        text: &str,
        rules: TextRules,
    ) -> Result<EditReport, EngineError> {
        if text.is_empty() && self.is_new {
            return Err(EngineError::NothingToWrite { path: self.path.clone() });
        }
        if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
            if let Some(conflict) = self.conflict() {
                return Err(conflict);
            }
            let new = whole_notebook(&self.path, text, notebook)?;
            notebook.may_become(&new, rules.drop).map_err(|error| text_error(&self.path, error))?;
            *notebook = new;
            return Ok(EditReport::default());
        }
        // Check before counting cells: a script would seem to leave out all of them.
        notebook.check_markers(text).map_err(|error| text_error(&self.path, error))?;
        let report = self.apply_text(notebook, text, rules)?;
        if notebook.is_changed() && self.records.is_part(text.as_bytes()) {
            return Err(EngineError::PartOfText { path: self.path.clone() });
        }
        Ok(report)
    }

    /// Replaces text in the virtual text; the match may span cells. `ids` names the markers that the caller has seen.
    /// If `old` is empty, a missing notebook is created from `new`.
    pub fn replace_text(
        &self,
        notebook: &mut Notebook,
        (old, new): (&str, &str),
        matches: Matches,
        ids: MarkerIds,
        rules: TextRules,
    ) -> Result<EditReport, EngineError> {
        if let Some(conflict) = self.conflict() {
            return Err(conflict);
        }
        // A missing notebook has no text to search: the new text becomes all of it.
        if self.is_new && old.is_empty() {
            return self.put_text(notebook, new, rules);
        }
        if self.is_new {
            let path = self.path.clone();
            return Err(EngineError::NotFound { what: "Notebook", path });
        }
        let failed = |error| text_error(&self.path, error);
        let text = notebook.to_text(ids).map_err(failed)?;
        let (text, _) = substitute_between_markers(&text, old, new, matches)
            .map_err(|error| EngineError::Sub { path: self.path.clone(), error })?;
        notebook.check_markers(&text).map_err(failed)?;
        notebook.apply_text(&text, rules, &mut self.ids()).map_err(failed)
    }
}

/// Parses the JSON of a whole notebook. It must have the shape that the format demands, unless the notebook it replaces
/// lacks that shape, too.
fn whole_notebook(path: &str, text: &str, before: &Notebook) -> Result<Notebook, EngineError> {
    let bad = |problem: String| EngineError::BadWhole { path: path.to_owned(), problem };
    let notebook = Notebook::parse(text.as_bytes().to_vec()).map_err(|error| match error {
        NotebookError::Syntax { .. } => {
            bad(format!("it begins like the JSON of a notebook, but {error}"))
        }
        other => not_a_notebook(path, other),
    })?;
    if let Some(odd) = notebook.cells().find(|cell| cell.kind().is_none()) {
        return Err(EngineError::BadCell { path: path.to_owned(), index: odd.index() });
    }
    let problems = notebook.problems();
    if !problems.is_empty() && before.problems().is_empty() {
        return Err(bad(problems.join("; ")));
    }
    Ok(notebook)
}
