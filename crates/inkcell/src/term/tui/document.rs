//! The notebook file: read, changed, and read again after changes by other programs.
//!
//! Owns the history of edits made here, for undo. All writes go through the engine, which merges an edit with the
//! changes of other programs and refuses an edit that would damage them. It must not know the screen.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use inkcell_engine::notebook::{
    CellPlace, CellRef, CellView, EditOp, EditReport, NbOutput, Notebook, pairs,
};
use inkcell_engine::{Base, EngineError, Notebooks, SaveOptions, SavedChange, Version};

use super::clipboard::CellCopy;
use super::model::By;
use crate::words;
use crate::words::step::Audience;

/// Distinguishes states of a file without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &std::path::Path) -> Option<Stamp> {
        let found = std::fs::metadata(path).ok()?;
        Some(Stamp {
            inode: (found.dev(), found.ino()),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// An edit made here. Undo puts `before` back, and redo `after`.
struct DocumentEdit {
    what: &'static str,
    before: Notebook,
    after: Notebook,
}

/// The content of the file after a read or a write.
pub(super) struct Reading {
    pub(super) notebook: Notebook,
    pub(super) version: Version,
    pub(super) by: By,
}

pub(super) struct Document {
    notebooks: Notebooks,
    /// The path as the user gave it.
    name: String,
    pub(super) file: PathBuf,
    version: Version,
    stamp: Option<Stamp>,
    done: Vec<DocumentEdit>,
    undone: Vec<DocumentEdit>,
    is_gone: bool,
}

/// Result of an attempt to restore an earlier state.
enum RestoreResult {
    /// The file was as this program left it, so the earlier state is back.
    Yes,
    /// Another program has changed the file since.
    No,
}

impl Document {
    pub(super) fn open(
        notebooks: &Notebooks,
        name: &str,
    ) -> Result<(Document, Notebook), EngineError> {
        // Take the stamp first: the next look then notices a change during the read.
        let early = Stamp::of(std::path::Path::new(name));
        let opened = notebooks.read(name)?;
        let stamp = early.or_else(|| Stamp::of(&opened.path));
        let document = Document {
            notebooks: notebooks.clone(),
            name: name.to_owned(),
            file: opened.path,
            version: opened.version,
            stamp,
            done: Vec::new(),
            undone: Vec::new(),
            is_gone: false,
        };
        Ok((document, opened.notebook))
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Reads the file if it has changed.
    pub(super) fn refresh(&mut self) -> Result<Option<Reading>, String> {
        let stamp = Stamp::of(&self.file);
        if stamp == self.stamp {
            return Ok(None);
        }
        self.stamp = stamp;
        if stamp.is_none() {
            let is_news = !std::mem::replace(&mut self.is_gone, true);
            return if is_news {
                Err(words::notebook_screen::FILE_GONE.to_owned())
            } else {
                Ok(None)
            };
        }
        self.is_gone = false;
        match self.notebooks.read(&self.name) {
            Ok(opened) if opened.version == self.version => Ok(None),
            Ok(opened) => {
                self.version = opened.version;
                let (notebook, version) = (opened.notebook, opened.version);
                Ok(Some(Reading { notebook, version, by: By::Others }))
            }
            Err(error) => Err(said(&error)),
        }
    }

    /// Applies an edit that refers to the file as last read.
    pub(super) fn change(&mut self, what: &'static str, ops: &[EditOp]) -> Result<Reading, String> {
        self.edit(what, |notebook, base| base.apply(notebook, ops))
    }

    /// Inserts a copied cell with all that the copy holds. It is one edit, so that one undo reverts it.
    pub(super) fn paste(&mut self, at: &CellPlace, copy: &CellCopy) -> Result<Reading, String> {
        let insert = [copy.insert(at.clone())];
        let name = self.name.clone();
        self.edit("pasted", |notebook, base| {
            let report = base.apply(notebook, &insert)?;
            if let Some(index) = report.changes.last().and_then(|change| change.index) {
                let ops = copy.complete(index);
                let done = notebook.apply(&ops, &mut base.ids());
                let failed =
                    |error| EngineError::Edit { path: name.clone(), error, batch: ops.len() };
                done.map_err(failed)?;
            }
            Ok(report)
        })
    }

    fn edit(
        &mut self,
        what: &'static str,
        edit: impl FnMut(&mut Notebook, &Base) -> Result<EditReport, EngineError>,
    ) -> Result<Reading, String> {
        let options = SaveOptions { base: Some(self.version), ..SaveOptions::in_place() };
        let saved = self.notebooks.change(&self.name, &options, edit);
        let saved = saved.map_err(|error| said(&error))?;
        let select = saved.value.changes.last().and_then(|change| change.index);
        if let Some(before) = &saved.before {
            self.done.push(DocumentEdit {
                what,
                before: before.clone(),
                after: saved.after.clone(),
            });
            self.undone.clear();
        }
        let merged = if saved.merged.is_some() { words::notebook_screen::MERGED } else { "" };
        Ok(self.taken(saved, By::Us { done: format!("{what}{merged}"), select }))
    }

    fn taken<T>(&mut self, saved: SavedChange<T>, by: By) -> Reading {
        self.version = saved.version;
        self.stamp = Stamp::of(&self.file);
        Reading { notebook: saved.after, version: saved.version, by }
    }

    pub(super) fn undo(&mut self) -> Result<Reading, String> {
        let Some(done) = self.done.pop() else {
            return Err(words::notebook_screen::NOTHING_TO_UNDO.to_owned());
        };
        match self.put_back(&done.after, &done.before, &words::notebook_screen::undone(done.what)) {
            Ok(reading) => {
                self.undone.push(done);
                Ok(reading)
            }
            Err(why) => {
                self.done.push(done);
                Err(why)
            }
        }
    }

    pub(super) fn redo(&mut self) -> Result<Reading, String> {
        let Some(done) = self.undone.pop() else {
            return Err(words::notebook_screen::NOTHING_TO_REDO.to_owned());
        };
        match self.put_back(&done.before, &done.after, &words::notebook_screen::redone(done.what)) {
            Ok(reading) => {
                self.done.push(done);
                Ok(reading)
            }
            Err(why) => {
                self.undone.push(done);
                Err(why)
            }
        }
    }

    /// Restores a state, if the file has not changed since, apart from outputs.
    fn put_back(
        &mut self,
        left: &Notebook,
        wanted: &Notebook,
        done: &str,
    ) -> Result<Reading, String> {
        let select = first_difference(left, wanted);
        let put = |notebook: &mut Notebook, base: &Base| {
            if !is_same_but_outputs(notebook, left) {
                return Ok(RestoreResult::No);
            }
            let mut restored = wanted.clone();
            let ops = newer_outputs(notebook, left, wanted);
            base.apply(&mut restored, &ops)?;
            *notebook = restored;
            Ok(RestoreResult::Yes)
        };
        let saved = self.notebooks.change(&self.name, &SaveOptions::in_place(), put);
        let saved = saved.map_err(|error| said(&error))?;
        match saved.value {
            RestoreResult::Yes => {
                Ok(self.taken(saved, By::Us { done: done.to_owned(), select: Some(select) }))
            }
            RestoreResult::No => Err(words::notebook_screen::CHANGED_SINCE.to_owned()),
        }
    }
}

fn said(error: &EngineError) -> String {
    match Audience::Person.step_after(error) {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}

fn is_same_cell(one: &CellView<'_>, other: &CellView<'_>) -> bool {
    one.id() == other.id()
        && one.kind() == other.kind()
        && one.source().text == other.source().text
        && one.properties() == other.properties()
}

/// Returns true if the notebooks differ only in outputs and execution counts.
fn is_same_but_outputs(one: &Notebook, other: &Notebook) -> bool {
    one.len() == other.len()
        && one.metadata_json() == other.metadata_json()
        && one.cells().zip(other.cells()).all(|(one, other)| is_same_cell(&one, &other))
}

fn first_difference(one: &Notebook, other: &Notebook) -> usize {
    let same = one.cells().zip(other.cells()).take_while(|(one, other)| is_same_cell(one, other));
    same.count()
}

/// Outputs made since the file was left, for cells whose source is the same in the restored state.
fn newer_outputs(now: &Notebook, left: &Notebook, wanted: &Notebook) -> Vec<EditOp> {
    let was = pairs(now, wanted);
    let mut ops = Vec::new();
    for (at, cell) in wanted.cells().enumerate() {
        let Some(index) = was.get(at).copied().flatten() else { continue };
        let (Some(newer), Some(older)) = (now.cell(index), left.cell(index)) else { continue };
        let is_news = newer.outputs_json() != older.outputs_json()
            || newer.execution_count() != older.execution_count();
        if !is_news || newer.source().text != cell.source().text {
            continue;
        }
        let outputs: Option<Vec<NbOutput>> = (newer.outputs().iter())
            .map(|output| NbOutput::from_json(std::str::from_utf8(output.json()).ok()?).ok())
            .collect();
        // If newer outputs are malformed, keep those of the restored state.
        let Some(outputs) = outputs else { continue };
        let cell = CellRef::Index(i64::try_from(at).unwrap_or(i64::MAX));
        ops.push(EditOp::SetOutputs { cell, count: newer.execution_count(), outputs });
    }
    ops
}

#[cfg(test)]
#[path = "document/tests.rs"]
mod tests;
