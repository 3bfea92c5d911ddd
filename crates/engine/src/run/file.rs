//! The file of a notebook while its cells run.
//!
//! Owns when the file is saved and with which content. Everything here blocks on disks, so callers use threads that may
//! block.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use inkcell_kernel::WidgetStates;
use inkcell_notebook::{EditError, EditOp, IdSource, Injection, NbOutput, Notebook, OutputView};

use super::cell_identity::{CellFinder, KnownCell, has_unique_ids};
use super::fold::{Fold, FoldResult, Safety, ShownCell, put_back, state_error};
use super::inject::Values;
use super::journal::{CellOutputs, Journal};
use super::record::{RanCell, RecordPlace, RunHistory, RunPlaces, RunRecord};
use super::stamps::{self, CellStamps, Span, Whole};
use super::trail::Trail;
use super::widgets;
use crate::api::{OutputChange, Stamps, WriteBack};
use crate::edit::{Base, FileEffect, Keep, Notebooks, SaveOptions};
use crate::error::{EngineError, SessionError};
use crate::files::{Metadata, Still, Target};
use crate::types::Version;

/// Default limit for cheap saves: if a save takes less than this, the file is saved after every cell.
pub const CHEAP_SAVE: Duration = Duration::from_millis(50);

/// Distance between dearer saves: at least this long, and at least `APART_TIMES` the cost of a save.
const APART: Duration = Duration::from_secs(2);
const APART_TIMES: u32 = 10;

/// Limits rewriting of notebooks larger than `SMALL_BYTES`, however long their cells take: a save is due while all
/// saves together wrote at most `WRITTEN_QUARTERS` quarters of the size, or once the last save is `LONG` ago.
const SMALL_BYTES: u64 = 1 << 20;
const WRITTEN_QUARTERS: u64 = 3;
const LONG: Duration = Duration::from_secs(600);

/// Says whether outputs must be in the file now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urgency {
    /// The outputs are safe in the journal; a save may wait.
    WhenCheap,
    Now,
}

pub(crate) struct RunFile {
    notebooks: Notebooks,
    /// The output file, as the caller named it.
    path: String,
    target: Target,
    record: RunRecord,
    journal: Journal,
    /// Outputs of the cells of this run, by number in the run. Outputs that the file has stay here: another program may
    /// replace the file with an older copy.
    shown: BTreeMap<usize, ShownCell>,
    /// Cells that have run and are not in the record yet.
    unnoted: Vec<RanCell>,
    /// Version that the last save wrote.
    left: Option<Version>,
    seen: Option<FileView>,
    /// The notebook as planned; `None` where ids alone tell all cells apart.
    planned: Option<Notebook>,
    /// Whether any cell had outputs when the run was planned.
    had_outputs: bool,
    pace: Pace,
}

/// The notebook as last read from its file.
struct FileView {
    metadata: Metadata,
    notebook: Notebook,
}

/// Result of a save.
pub(crate) struct SavedRun {
    pub(crate) version: Version,
    /// The fate of the outputs of each cell.
    pub(crate) cells: Vec<(usize, WriteBack)>,
    /// Cells whose outputs another program removed from the file and this save restored.
    pub(crate) put_again: Vec<usize>,
}

impl RunFile {
    /// Takes the notebook for a run. No other run can take it meanwhile.
    pub(crate) fn open(
        notebooks: &Notebooks,
        path: &str,
    ) -> Result<(RunFile, RunHistory), EngineError> {
        let target = notebooks.target(path)?;
        let state = notebooks.state_dir();
        let places = RunPlaces::of(&target.path, state);
        let failed = |source| state_error(state, source);
        let record = RunRecord::take(&places, state).map_err(failed)?;
        let busy = || EngineError::from(SessionError::RunUnderWay { path: path.to_owned() });
        let mut record = record.ok_or_else(busy)?;
        let past = record.past().map_err(failed)?;
        let journal = Journal::new(places.journal);
        let (notebooks, path) = (notebooks.clone(), path.to_owned());
        let (shown, unnoted) = (BTreeMap::new(), Vec::new());
        let (left, seen, planned, had_outputs) = (None, None, None, false);
        let pace = Pace::default();
        let file = RunFile {
            notebooks,
            path,
            target,
            record,
            journal,
            shown,
            unnoted,
            left,
            seen,
            planned,
            had_outputs,
            pace,
        };
        Ok((file, past))
    }

    /// Saves after every cell as long as a save takes less than `cost`.
    pub(crate) fn save_at_once_below(&mut self, cost: Duration) {
        self.pace.cheap = cost;
    }

    /// Restores outputs that a dead host had not saved. Returns the number of cells.
    pub(crate) fn recover(&self) -> Result<Option<usize>, EngineError> {
        if !self.target.exists() {
            return Ok(None);
        }
        let places = RunPlaces::of(&self.target.path, self.notebooks.state_dir());
        put_back(&self.notebooks, &places, &self.path)
    }

    /// Begins the run: `known` holds records of other cells, `done` the cells that this run need not repeat.
    pub(crate) fn begin(
        &mut self,
        known: (RecordPlace, &[RanCell]),
        done: &[RanCell],
    ) -> Result<(), EngineError> {
        let failed = |source| state_error(self.notebooks.state_dir(), source);
        self.record.begin(known, done).map_err(failed)
    }

    /// Remembers the notebook that the run was planned on.
    pub(crate) fn plan_on(&mut self, notebook: &Notebook) {
        self.planned = (!has_unique_ids(notebook)).then(|| notebook.clone());
        self.had_outputs = notebook.cells().any(|cell| !cell.outputs().is_empty());
    }

    /// The notebook as last read.
    fn sight(&self) -> Option<(&Notebook, CellFinder<'_>)> {
        let notebook = &self.seen.as_ref()?.notebook;
        Some((notebook, CellFinder::new(notebook, self.planned.as_ref())))
    }

    /// Reads the notebook again if the file has changed.
    fn refresh(&mut self) -> Result<(), EngineError> {
        let is_same = match &self.seen {
            Some(seen) => {
                let still = self.target.still(&seen.metadata).map_err(self.target.io("read it"))?;
                matches!(still, Some(Still::Same))
            }
            None => false,
        };
        if !is_same {
            let (notebook, metadata) = self.notebooks.read_again(&self.target)?;
            self.seen = Some(FileView { metadata, notebook });
        }
        Ok(())
    }

    /// Returns the cell to run next as it is now; `None` if it is gone or is not code any more.
    pub(crate) fn cell(&mut self, known: &KnownCell) -> Result<Option<KnownCell>, EngineError> {
        self.refresh()?;
        let Some((notebook, sight)) = self.sight() else { return Ok(None) };
        let cell = sight.find(known).index().and_then(|index| notebook.cell(index));
        let code = cell.filter(|cell| cell.kind() == Some(inkcell_notebook::CellKind::Code));
        let cell = code.map(|cell| KnownCell { planned: known.planned, ..KnownCell::of(&cell) });
        if let Some(cell) = &cell {
            // If this fails, a command after the death of this host only knows less.
            let _ = self.record.note_start(cell);
        }
        Ok(cell)
    }

    /// The notebook as it is now; `None` if it cannot be read.
    pub(crate) fn notebook(&mut self) -> Option<&Notebook> {
        self.refresh().ok()?;
        self.seen.as_ref().map(|seen| &seen.notebook)
    }

    /// Returns true if other cells share the id of this cell.
    pub(crate) fn is_twin(&self, cell: &KnownCell) -> bool {
        // If all ids were unique, `planned` is empty.
        let (Some(_), Some(seen), Some(id)) = (&self.planned, &self.seen, &cell.id) else {
            return false;
        };
        seen.notebook.cells().filter(|cell| cell.id().as_deref() == Some(id)).nth(1).is_some()
    }

    /// Decides which of the planned cells run, beginning with number `from`.
    pub(crate) fn decide(
        &mut self,
        trail: &mut Trail,
        from: usize,
        planned: &[KnownCell],
    ) -> Result<(), EngineError> {
        let places = self.places(planned)?;
        if let Some((notebook, _)) = self.sight() {
            trail.decide(from, notebook, &places);
        }
        Ok(())
    }

    /// Outputs of a cell that ran before, if its source is still the one that ran.
    pub(crate) fn outputs_of(&mut self, ran: &RanCell) -> Result<Option<CellOutputs>, EngineError> {
        self.refresh()?;
        let Some((notebook, _)) = self.sight() else { return Ok(None) };
        let mut of = notebook.cells().filter(|cell| ran.is_of(cell.id().as_deref(), cell.index()));
        let (Some(cell), None) = (of.next(), of.next()) else { return Ok(None) };
        let known = KnownCell::of(&cell);
        let text =
            |output: &OutputView<'_>| NbOutput::from_json(str::from_utf8(output.json()).ok()?).ok();
        let outputs: Option<Vec<NbOutput>> = cell.outputs().iter().map(text).collect();
        let count = cell.execution_count().and_then(|count| u32::try_from(count).ok());
        let is_same = ran.ran(&known.source);
        let outputs = outputs.filter(|_| is_same);
        Ok(outputs.map(|outputs| CellOutputs { cell: known, count, outputs }))
    }

    /// Takes outputs and makes them safe: in the file or in the journal. If the journal fails, it saves at once.
    pub(crate) fn take(
        &mut self,
        outputs: Vec<(usize, CellOutputs, CellStamps)>,
        ran: Option<&RanCell>,
        urgency: Urgency,
    ) -> Result<Option<SavedRun>, EngineError> {
        let mut is_due = urgency == Urgency::Now || self.pace.is_due(Instant::now());
        for (number, outputs, stamps) in outputs {
            self.pace.taken(outputs.outputs.iter().map(|output| output.json().len() as u64).sum());
            let safety = match is_due || self.journal.keep(&outputs).is_err() {
                true => Safety::Nowhere,
                false => Safety::InJournal,
            };
            is_due |= safety == Safety::Nowhere;
            // If a later cell changed a display, the notes about the display's own cell stay.
            let noted = self.shown.remove(&number).map(|earlier| earlier.stamps);
            let stamps = stamps.or(noted);
            self.shown.insert(number, ShownCell { outputs, stamps, safety });
        }
        self.unnoted.extend(ran.cloned());
        let saved = if is_due { self.save(Keep::Nothing) } else { Ok(None) };
        self.note_ran();
        saved
    }

    /// Compares the outputs of a cell with those that the file had when the cell began; `None` if no cell had outputs
    /// before the run, or if the cell was not there.
    pub(crate) fn output_change(&self, number: usize) -> Option<OutputChange> {
        let (notebook, sight) = self.sight().filter(|_| self.had_outputs)?;
        let outputs = &self.shown.get(&number)?.outputs;
        let stored = notebook.cell(sight.find(&outputs.cell).index()?)?;
        outputs.change_from(&stored)
    }

    /// Records that no more cells will begin.
    pub(crate) fn note_end(&mut self) {
        // If this fails, a later command only mistakes the last cell for one that was cut off.
        let _ = self.record.note_end();
    }

    /// Returns true if all outputs are in the file or the journal.
    pub(crate) fn is_kept(&self) -> bool {
        self.shown.values().all(|cell| cell.safety != Safety::Nowhere)
    }

    /// Records cells that have run, once their outputs are safe: otherwise a resumed run would leave them out.
    fn note_ran(&mut self) {
        if !self.is_kept() {
            return;
        }
        // Cells that cannot be recorded now are tried again later; without a record a later command only knows less.
        let noted = self.unnoted.iter().take_while(|ran| self.record.note(ran).is_ok()).count();
        self.unnoted.drain(..noted);
    }

    /// Writes everything to the file.
    pub(crate) fn save(&mut self, keep: Keep) -> Result<Option<SavedRun>, EngineError> {
        let is_saved = self.shown.values().all(|cell| cell.safety == Safety::InFile);
        if is_saved && keep == Keep::Nothing {
            return Ok(None);
        }
        let began = Instant::now();
        let (shown, left, planned) = (&self.shown, self.left, self.planned.as_ref());
        let saved = self.notebooks.change_keeping(
            &self.path,
            &SaveOptions::in_place(),
            keep,
            |notebook, _| {
                let is_as_left = left == Some(Version::of(notebook.original_bytes()));
                let fold = if is_as_left { Fold::New } else { Fold::All };
                fold.into(notebook, planned, shown, &self.path)
            },
        );
        let saved = match saved {
            Ok(saved) => saved,
            Err(error) => {
                self.keep_all();
                return Err(error);
            }
        };
        if saved.effect == FileEffect::Written {
            let size = saved.after.chunks().iter().map(|chunk| chunk.len() as u64).sum();
            self.pace.saved(began, Instant::now(), size);
        }
        self.left = Some(saved.version);
        for cell in self.shown.values_mut() {
            cell.safety = Safety::InFile;
        }
        // Writing the same outputs again does no harm. So a journal that cannot be removed does not turn the save into
        // a failure.
        let _ = self.journal.clear();
        self.note_ran();
        let FoldResult { fates, put_again } = saved.value;
        Ok(Some(SavedRun { version: saved.version, cells: fates, put_again }))
    }

    /// Makes all outputs safe outside the file. That includes saved outputs if another program has changed the file.
    fn keep_all(&mut self) {
        let current = self.notebooks.read_again(&self.target);
        let version = current.ok().map(|(notebook, _)| Version::of(notebook.original_bytes()));
        let is_as_left = version.is_some() && version == self.left;
        for cell in self.shown.values_mut() {
            let is_safe = match cell.safety {
                Safety::Nowhere => false,
                Safety::InJournal => true,
                Safety::InFile => is_as_left,
            };
            if !is_safe && self.journal.keep(&cell.outputs).is_ok() {
                cell.safety = Safety::InJournal;
            }
        }
    }

    /// Returns the current positions of these cells; `None` for a cell that is gone.
    pub(crate) fn places(
        &mut self,
        cells: &[KnownCell],
    ) -> Result<Vec<Option<usize>>, EngineError> {
        self.refresh()?;
        let Some((_, sight)) = self.sight() else { return Ok(vec![None; cells.len()]) };
        Ok(cells.iter().map(|cell| sight.find(cell).index()).collect())
    }

    /// Removes the failure markers of an earlier run.
    pub(crate) fn without_markers(&self, stamps: Stamps) -> Result<(), EngineError> {
        self.note(stamps, |notebook| stamps::without_markers(stamps, notebook)).map(drop)
    }

    /// Writes notes about a finished run, if `stamps` asks for them.
    pub(crate) fn note_run(
        &self,
        stamps: Stamps,
        (input, output): (&str, &str),
        span: Span,
        failed: Option<&(KnownCell, Option<u32>)>,
    ) -> Result<Option<Version>, EngineError> {
        self.note(stamps, |notebook| {
            let sight = CellFinder::new(notebook, self.planned.as_ref());
            let failed = failed.and_then(|(cell, count)| Some((sight.find(cell).index()?, *count)));
            stamps::whole(stamps, notebook, &Whole { input, output, span, failed })
        })?;
        self.note(stamps, |notebook| stamps::marker_tags(stamps, notebook))
    }

    /// Stores the widgets of the kernel with the outputs that show them.
    pub(crate) fn store_widgets(&self, states: &WidgetStates) -> Result<Version, EngineError> {
        self.change(|notebook| {
            let stored = widgets::stored(notebook, states).map_err(|problem| {
                let error = EditError::Op { op: 0, problem };
                EngineError::Edit { path: self.path.clone(), error, batch: 1 }
            })?;
            Ok(Vec::from_iter(stored))
        })
    }

    /// Writes the values of this run into their cell before any cell runs.
    pub(crate) fn inject(&self, values: &Values, stamps: Stamps) -> Result<Injection, EngineError> {
        let options = SaveOptions::in_place();
        let changed = |notebook: &mut Notebook, base: &Base| {
            let mut ids = IdSource::seeded(base.seed);
            let injected = values.put_into(notebook, &mut ids, &self.path)?;
            let noted = stamps::parameters(stamps, notebook, &values.parameters);
            let path = self.path.clone();
            let failed = |error| EngineError::Edit { path, error, batch: 1 };
            notebook.apply(&Vec::from_iter(noted), &mut ids).map_err(failed)?;
            Ok(injected)
        };
        let saved = self.notebooks.change_keeping(&self.path, &options, Keep::Record, changed)?;
        Ok(saved.value)
    }

    /// Tells Jupyter to hide the sources of all code cells.
    pub(crate) fn hide_sources(&self) -> Result<Version, EngineError> {
        self.change(|notebook| Ok(stamps::hidden_sources(notebook)))
    }

    fn note(
        &self,
        stamps: Stamps,
        ops: impl Fn(&Notebook) -> Vec<EditOp>,
    ) -> Result<Option<Version>, EngineError> {
        match stamps {
            Stamps::Papermill => self.change(|notebook| Ok(ops(notebook))).map(Some),
            // The other styles have no notes about a whole run.
            _ => Ok(None),
        }
    }

    fn change(
        &self,
        ops: impl Fn(&Notebook) -> Result<Vec<EditOp>, EngineError>,
    ) -> Result<Version, EngineError> {
        let options = SaveOptions::in_place();
        let changed = |notebook: &mut Notebook, base: &Base| {
            let ops = ops(notebook)?;
            let path = self.path.clone();
            let failed = |error| EngineError::Edit { path, error, batch: ops.len() };
            notebook.apply(&ops, &mut IdSource::seeded(base.seed)).map_err(failed)
        };
        let saved = self.notebooks.change_keeping(&self.path, &options, Keep::Record, changed)?;
        Ok(saved.version)
    }
}

/// Decides how often a file is saved.
#[derive(Debug)]
struct Pace {
    /// A save that takes less than this follows every cell.
    cheap: Duration,
    /// The end of the last save, and its duration.
    last: Option<(Instant, Duration)>,
    /// Bytes written by all saves so far.
    written_bytes: u64,
    /// File size at the last save.
    size_bytes: u64,
    /// Bytes of outputs taken since then.
    taken_bytes: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { cheap: CHEAP_SAVE, last: None, written_bytes: 0, size_bytes: 0, taken_bytes: 0 }
    }
}

impl Pace {
    fn is_due(&self, now: Instant) -> bool {
        let Some((over, cost)) = self.last else { return true };
        let since = now.duration_since(over);
        if cost >= self.cheap && since < APART.max(cost * APART_TIMES) {
            return false;
        }
        let size = self.size_bytes + self.taken_bytes;
        size <= SMALL_BYTES || self.written_bytes * 4 <= size * WRITTEN_QUARTERS || since >= LONG
    }

    /// Counts output bytes of a cell.
    fn taken(&mut self, bytes: u64) {
        self.taken_bytes += bytes;
    }

    fn saved(&mut self, began: Instant, over: Instant, size_bytes: u64) {
        self.last = Some((over, over.duration_since(began)));
        self.written_bytes += size_bytes;
        (self.size_bytes, self.taken_bytes) = (size_bytes, 0);
    }
}

#[cfg(test)]
mod tests;
