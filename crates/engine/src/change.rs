//! A change on its way: how it is to be saved, against what it was meant, and what became of it.
//!
//! Owns every way in which a request becomes a changed notebook. It must not know files: `notebooks.rs`
//! reads and writes them.

use std::path::PathBuf;

use inkcell_notebook::{
    EditOp, EditReport, IdSource, MarkerIds, Matches, Notebook, NotebookError, TextRules,
    lower_text, parse_text, substitute_between_markers,
};

use crate::error::{EngineError, not_a_notebook, text_error};
use crate::files::{FileNote, Force, Record, Records, Version};
use crate::merge::{CarryError, carry_over};

/// What to do where there is no file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfMissing {
    /// Fail.
    Fail,
    /// Start from an empty notebook; a path without the extension of one is refused.
    CreateNotebook,
}

/// Whether the earlier bytes are kept beside the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backup {
    /// No.
    No,
    /// As `<name>.bak`.
    Yes,
}

/// Whether the change is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Written.
    Write,
    /// Only worked out.
    DryRun,
}

/// How a change is to be saved.
#[derive(Clone, Debug)]
pub struct SaveOptions {
    /// The version the caller has seen.
    pub base: Option<Version>,
    /// Where to write instead of in place.
    pub output: Option<String>,
    /// What to do where there is no file.
    pub if_missing: IfMissing,
    /// Whether to keep the earlier bytes.
    pub backup: Backup,
    /// Whether to write where something of the file would be lost.
    pub force: Force,
    /// Whether to write at all.
    pub mode: Mode,
}

impl SaveOptions {
    /// A change of the notebook that is there, whatever version it has.
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

/// What became of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It is on disk.
    Written,
    /// There was nothing to write: the bytes are what they were.
    Nothing,
    /// It was only worked out; there would be something to write.
    WouldWrite,
}

/// Against what a change was meant.
pub struct Base {
    pub(crate) known: Option<Record>,
    pub(crate) current: Option<Record>,
    /// The path as the caller gave it.
    pub(crate) path: String,
    pub(crate) is_new: bool,
    pub(crate) records: Records,
    pub(crate) seed: u64,
}

/// A change that was saved.
pub struct Saved<T> {
    /// What the change itself has to say.
    pub value: T,
    /// The notebook before; none when it was made.
    pub before: Option<Notebook>,
    /// The notebook now.
    pub after: Notebook,
    /// The version now.
    pub version: Version,
    /// The version the change was meant for, when it was carried over to a newer one.
    pub merged: Option<Version>,
    /// What became of it.
    pub effect: Effect,
    /// The path that was written, as the caller would give it.
    pub path: String,
    /// Where the earlier bytes are.
    pub backup: Option<PathBuf>,
    /// What else there is to say about the file.
    pub notes: Vec<FileNote>,
}

/// A change that is applied and not written yet.
pub(crate) struct Draft<T> {
    pub(crate) value: T,
    pub(crate) before: Option<Notebook>,
    pub(crate) after: Notebook,
    pub(crate) merged: Option<Version>,
}

impl<T> Draft<T> {
    /// Whether the bytes would be the ones that were read.
    pub(crate) fn is_unchanged(&self) -> bool {
        let Some(before) = &self.before else { return false };
        let (old, new) = (before.original_bytes(), self.after.original_bytes());
        !self.after.is_changed() && (std::ptr::eq(old, new) || old == new)
    }

    /// A change that is not written.
    pub(crate) fn unwritten(self, path: &str) -> Saved<T> {
        let version = Version::of_chunks(self.after.chunks().iter().map(|chunk| &**chunk));
        let effect = if self.is_unchanged() { Effect::Nothing } else { Effect::WouldWrite };
        self.finish(path, version, effect)
    }

    pub(crate) fn finish(self, path: &str, version: Version, effect: Effect) -> Saved<T> {
        let Draft { value, before, after, merged } = self;
        let (path, notes, backup) = (path.to_owned(), Vec::new(), None);
        Saved { value, before, after, version, merged, effect, path, backup, notes }
    }
}

impl Base {
    /// Where ids of new cells come from.
    pub fn ids(&self) -> IdSource {
        IdSource::seeded(self.seed)
    }

    /// Whether the notebook is not the one the change was meant for.
    pub fn is_older(&self) -> bool {
        self.known.is_some()
    }

    /// The conflict to report when a change cannot be carried over at all.
    pub fn conflict(&self) -> Option<EngineError> {
        let (known, current) = (self.known.as_ref()?, self.current.as_ref()?);
        let (yours, current, path) = (known.version, current.version, self.path.clone());
        Some(EngineError::ConflictWhole { path, yours, current })
    }

    /// Applies operations, carried over when they were meant for an older version.
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
        let carried = carry_over(ops, known, current).map_err(|error| match error {
            CarryError::Ref(error) => edit(error),
            CarryError::Metadata => EngineError::ConflictWhole {
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

    /// Applies virtual text, carried over when it was made from an older version.
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

    /// Makes the notebook what a whole text says. Text that begins with `{` is the JSON of a notebook
    /// and is stored as it is; any other is virtual text, and refused when it was shown as a part.
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
        // Before cells are counted: a script would look as if it left out all of them.
        notebook.check_markers(text).map_err(|error| text_error(&self.path, error))?;
        let report = self.apply_text(notebook, text, rules)?;
        if notebook.is_changed() && self.records.is_part(text.as_bytes()) {
            return Err(EngineError::PartOfText { path: self.path.clone() });
        }
        Ok(report)
    }

    /// Replaces text in the virtual text, where it may span cells. `ids` says which markers the caller has seen. If
    /// `old` is empty, a missing notebook is created from `new`.
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
        // A missing notebook has no text to search: the new text is all of it.
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

/// The JSON of a notebook as it is to be stored. It must have the shape the format demands, unless what
/// it replaces has not got it either.
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
