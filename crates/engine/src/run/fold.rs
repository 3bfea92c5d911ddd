//! Outputs on their way into a notebook: which cell they belong to, and whether that is still what ran.
//!
//! Owns what a save of a run changes, and what becomes of outputs that a host which died had kept. When that
//! happens is `file.rs`'s.

use std::collections::BTreeMap;
use std::path::Path;

use inkcell_notebook::{CellRef, CellView, EditOp, IdSource, Notebook};
use serde_json::Value;

use super::journal::{CellOutputs, Journal};
use super::known::{Found, KnownCell, Sight};
use super::record::{RunPlaces, RunRecord};
use super::stamps::CellStamps;
use crate::api::WriteBack;
use crate::change::{Effect, SaveOptions};
use crate::error::EngineError;
use crate::files::Target;
use crate::notebooks::{Keep, Notebooks};

/// What a cell of a run showed.
pub(super) struct ShownCell {
    pub(super) outputs: CellOutputs,
    pub(super) stamps: CellStamps,
    pub(super) safety: Safety,
}

/// Where outputs are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Safety {
    Nowhere,
    InJournal,
    /// A save has dealt with them.
    InFile,
}

/// Which outputs a save looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fold {
    /// Those that no save has dealt with.
    New,
    /// All: somebody else has written the file, maybe from a copy that did not have them yet.
    All,
}

/// What a save did with outputs.
#[derive(Default)]
pub(super) struct Folded {
    pub(super) fates: Vec<(usize, WriteBack)>,
    pub(super) put_again: Vec<usize>,
}

impl Fold {
    /// Sets the outputs of cells whose sources are still what ran.
    pub(super) fn into(
        self,
        notebook: &mut Notebook,
        planned: Option<&Notebook>,
        shown: &BTreeMap<usize, ShownCell>,
        path: &str,
    ) -> Result<Folded, EngineError> {
        let sight = Sight::new(notebook, planned);
        let (mut ops, mut folded) = (Vec::new(), Folded::default());
        for (number, ShownCell { outputs, stamps, safety }) in shown {
            let is_new = *safety != Safety::InFile;
            if !is_new && self == Fold::New {
                continue;
            }
            let fate = match sight.find(&outputs.cell) {
                // What a save has dealt with keeps its fate, unless it can be mended now.
                Found::Same(index) if !is_new && outputs.are_in(notebook.cell(index)) => continue,
                Found::Changed(_) | Found::Gone if !is_new => continue,
                Found::Same(index) => {
                    let cell = CellRef::Index(index as i64);
                    ops.push(outputs.op(cell.clone()));
                    ops.extend(stamps.op(cell, notebook));
                    if !is_new {
                        folded.put_again.push(*number);
                    }
                    WriteBack::Saved
                }
                Found::Changed(_) => WriteBack::SourceChanged,
                Found::Gone => WriteBack::Gone,
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

    /// Whether the cell has them, however they are spelled.
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
}

/// Refuses a notebook that could not take the outputs of these cells, before anything is run.
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

/// Puts what a host that died had not saved into its notebook.
pub(crate) fn recover(
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
        // A run is under way, and saves itself.
        None => Ok(None),
    }
}

/// The same for whoever has the notebook's record.
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
    // Of two entries for a cell the later counts.
    let mut latest: Vec<CellOutputs> = Vec::new();
    for outputs in left {
        latest.retain(|known| !known.cell.is_same_place(&outputs.cell));
        latest.push(outputs);
    }
    let shown = |outputs| ShownCell {
        outputs,
        stamps: CellStamps::default(),
        // The host may have died after a save that put them in.
        safety: Safety::InFile,
    };
    let shown: BTreeMap<usize, ShownCell> = latest.into_iter().map(shown).enumerate().collect();
    let saved =
        notebooks.change_keeping(path, &SaveOptions::in_place(), Keep::Record, |notebook, _| {
            Fold::All.into(notebook, None, &shown, path)
        })?;
    Journal::new(places.journal.clone()).clear().map_err(failed)?;
    let is_written = saved.effect == Effect::Written;
    Ok(is_written.then_some(saved.value.put_again.len()))
}

pub(super) fn state_error(state: &Path, source: std::io::Error) -> EngineError {
    EngineError::Io { path: state.display().to_string(), what: "use the state folder", source }
}
