//! Outputs on their way into a notebook: which cell they belong to, and whether its source is still the one that ran.
//!
//! Owns the changes that a save of a run makes, and the fate of outputs that a dead host had kept. `file.rs` owns when
//! that happens.

use std::collections::BTreeMap;
use std::path::Path;

use inkcell_notebook::{
    CellRef, CellView, CompareRules, EditOp, IdSource, Notebook, Pictures, compare_outputs,
};
use serde_json::Value;

use super::cell_identity::{CellFinder, CellMatch, KnownCell};
use super::journal::{CellOutputs, Journal};
use super::record::{RunPlaces, RunRecord};
use super::stamps::CellStamps;
use crate::api::{OutputChange, WriteBack};
use crate::edit::{FileEffect, FilesConfig, Keep, Notebooks, SaveOptions};
use crate::error::EngineError;
use crate::files::Target;
use crate::output::Looks;

/// Outputs of a cell in a run, with their notes.
pub(super) struct ShownCell {
    pub(super) outputs: CellOutputs,
    pub(super) stamps: CellStamps,
    pub(super) safety: Safety,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Safety {
    Nowhere,
    InJournal,
    /// A save has dealt with them.
    InFile,
}

/// The outputs that a save considers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fold {
    /// Only outputs that no save has dealt with.
    New,
    /// All outputs: another program has written the file, perhaps from a copy without them.
    All,
}

/// What a save did with outputs.
#[derive(Default)]
pub(super) struct FoldResult {
    pub(super) fates: Vec<(usize, WriteBack)>,
    pub(super) put_again: Vec<usize>,
}

impl Fold {
    /// Sets the outputs of cells whose sources are still the ones that ran.
    pub(super) fn into(
        self,
        notebook: &mut Notebook,
        planned: Option<&Notebook>,
        shown: &BTreeMap<usize, ShownCell>,
        path: &str,
    ) -> Result<FoldResult, EngineError> {
        let sight = CellFinder::new(notebook, planned);
        let (mut ops, mut folded) = (Vec::new(), FoldResult::default());
        for (number, ShownCell { outputs, stamps, safety }) in shown {
            let is_new = *safety != Safety::InFile;
            if !is_new && self == Fold::New {
                continue;
            }
            let fate = match sight.find(&outputs.cell) {
                // Outputs that a save has dealt with keep their fate, unless this save can restore them.
                CellMatch::Same(index) if !is_new && outputs.are_in(notebook.cell(index)) => {
                    continue;
                }
                CellMatch::Changed(_) | CellMatch::Gone if !is_new => continue,
                CellMatch::Same(index) => {
                    let cell = CellRef::Index(index as i64);
                    ops.push(outputs.op(cell.clone()));
                    ops.extend(stamps.op(cell, notebook));
                    if !is_new {
                        folded.put_again.push(*number);
                    }
                    WriteBack::Saved
                }
                CellMatch::Changed(_) => WriteBack::SourceChanged,
                CellMatch::Gone => WriteBack::Gone,
            };
            folded.fates.push((*number, fate));
        }
        let failed = |error| EngineError::Edit { path: path.to_owned(), error, batch: ops.len() };
        notebook.apply(&ops, &mut IdSource::seeded(0)).map_err(failed)?;
        Ok(folded)
    }
}

impl CellOutputs {
    fn op(&self, cell: CellRef) -> EditOp {
        let (count, outputs) = (self.count.map(u64::from), self.outputs.clone());
        EditOp::SetOutputs { cell, count, outputs }
    }

    /// Returns true if the cell has these outputs, in any JSON spelling.
    fn are_in(&self, cell: Option<CellView<'_>>) -> bool {
        let Some(cell) = cell else { return false };
        let there: Option<Vec<Value>> = match cell.outputs_json() {
            Some(list) => serde_json::from_slice(list).ok(),
            None => Some(Vec::new()),
        };
        let own = self.outputs.iter().map(|output| serde_json::from_slice(output.json()).ok());
        let own: Option<Vec<Value>> = own.collect();
        cell.execution_count() == self.count.map(u64::from) && own.is_some() && own == there
    }

    /// Compares the outputs with those that the cell has; `None` if there are none to compare.
    pub(super) fn change_from(&self, stored: &CellView<'_>) -> Option<OutputChange> {
        match (stored.outputs().is_empty(), self.outputs.is_empty()) {
            (true, false) => return Some(OutputChange::New),
            // Without a count, it never ran, or its outputs were cleared.
            (true, true) if stored.execution_count().is_none() => return None,
            _ => {}
        }
        let looks = |both: &Pictures<'_>| Looks::Pixels.difference(both).map(|_| String::new());
        let found = compare_outputs(stored, &self.outputs, &CompareRules::default(), &looks);
        Some(if found.is_empty() { OutputChange::Same } else { OutputChange::Changed })
    }
}

/// Refuses a notebook that could not take the outputs of these cells, before any cell runs.
pub(super) fn must_take_outputs<'a>(
    notebook: &Notebook,
    cells: impl Iterator<Item = &'a KnownCell>,
    path: &str,
) -> Result<(), EngineError> {
    let nothing = |cell: &KnownCell| EditOp::SetOutputs {
        cell: CellRef::Index(cell.index as i64),
        count: None,
        outputs: Vec::new(),
    };
    let ops: Vec<EditOp> = cells.map(nothing).collect();
    let failed = |error| EngineError::Edit { path: path.to_owned(), error, batch: ops.len() };
    notebook.clone().apply(&ops, &mut IdSource::seeded(0)).map_err(failed)?;
    Ok(())
}

impl Notebooks {
    /// Creates notebooks with this configuration. The next command on a notebook restores outputs that an interrupted
    /// run had not saved.
    pub fn new(config: FilesConfig) -> Notebooks {
        Notebooks::with_recovery(config, recover)
    }
}

/// Restores outputs that a dead host had not saved.
fn recover(
    notebooks: &Notebooks,
    target: &Target,
    path: &str,
) -> Result<Option<usize>, EngineError> {
    let state = notebooks.state_dir();
    let places = RunPlaces::of(&target.path, state);
    if !places.journal.exists() {
        return Ok(None);
    }
    let failed = |source| state_error(state, source);
    match RunRecord::take(&places, state).map_err(failed)? {
        Some(_held) => put_back(notebooks, &places, path),
        // A run is under way and saves its own outputs.
        None => Ok(None),
    }
}

/// Restores outputs for a caller that holds the record of the notebook.
pub(super) fn put_back(
    notebooks: &Notebooks,
    places: &RunPlaces,
    path: &str,
) -> Result<Option<usize>, EngineError> {
    let failed = |source| state_error(notebooks.state_dir(), source);
    if !places.journal.exists() {
        return Ok(None);
    }
    let left = Journal::left(&places.journal).map_err(failed)?;
    // If a cell has two entries, the later one counts.
    let mut latest: Vec<CellOutputs> = Vec::new();
    for outputs in left {
        latest.retain(|known| !known.cell.is_same_place(&outputs.cell));
        latest.push(outputs);
    }
    let shown = |outputs| ShownCell {
        outputs,
        stamps: CellStamps::default(),
        // The host may have died after a save that wrote them.
        safety: Safety::InFile,
    };
    let shown: BTreeMap<usize, ShownCell> = latest.into_iter().map(shown).enumerate().collect();
    let saved =
        notebooks.change_keeping(path, &SaveOptions::in_place(), Keep::Record, |notebook, _| {
            Fold::All.into(notebook, None, &shown, path)
        })?;
    Journal::new(places.journal.clone()).clear().map_err(failed)?;
    let is_written = saved.effect == FileEffect::Written;
    Ok(is_written.then_some(saved.value.put_again.len()))
}

pub(super) fn state_error(state: &Path, source: std::io::Error) -> EngineError {
    EngineError::Io { path: state.display().to_string(), what: "use the state folder", source }
}
