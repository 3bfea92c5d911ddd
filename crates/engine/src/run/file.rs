//! The file of a notebook while its cells run.
//!
//! Owns when it is saved and what goes into it. Everything here waits for disks, so it is called from threads
//! that may.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use inkcell_notebook::{CellRef, EditOp, IdSource, NbOutput, Notebook};

use super::journal::{CellOutputs, Journal};
use super::plan::{Found, KnownCell};
use super::record::{Past, RanCell, RunPlaces, RunRecord};
use super::stamps::{self, CellStamps, Span, Whole};
use crate::api::{Stamps, WriteBack};
use crate::change::{Backup, Base, IfMissing, Mode, SaveOptions};
use crate::error::{EngineError, SessionError};
use crate::files::{Force, Metadata, Still, Target, Version};
use crate::notebooks::{Keep, Notebooks};

/// A save that takes less is made after every cell.
const CHEAP: Duration = Duration::from_millis(50);

/// Otherwise saves are at least so far apart, and so many times what one costs.
const APART: Duration = Duration::from_secs(2);
const APART_TIMES: u32 = 10;

/// Whether outputs must be in the file now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urgency {
    /// They are safe in the journal; a save may wait.
    WhenCheap,
    Now,
}

pub(crate) struct RunFile {
    notebooks: Notebooks,
    /// The file that is written, as the caller named it.
    path: String,
    target: Target,
    record: RunRecord,
    journal: Journal,
    /// What is not in the file yet, by the number of the cell in the run.
    unsaved: BTreeMap<usize, Unsaved>,
    seen: Option<Seen>,
    pace: Pace,
}

/// What a cell showed and its file does not have yet.
struct Unsaved {
    outputs: CellOutputs,
    stamps: CellStamps,
    safety: Safety,
}

/// Where outputs are while they are not in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Safety {
    Nowhere,
    InJournal,
}

/// The notebook as it was when its file was last looked at.
struct Seen {
    metadata: Metadata,
    notebook: Notebook,
}

/// What a save did.
pub(crate) struct SavedRun {
    pub(crate) version: Version,
    /// What became of the outputs of each cell.
    pub(crate) cells: Vec<(usize, WriteBack)>,
}

impl RunFile {
    /// Takes the notebook for a run; nobody else runs it meanwhile.
    pub(crate) fn open(notebooks: &Notebooks, path: &str) -> Result<(RunFile, Past), EngineError> {
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
        let (unsaved, seen, pace) = (BTreeMap::new(), None, Pace::default());
        let file = RunFile { notebooks, path, target, record, journal, unsaved, seen, pace };
        Ok((file, past))
    }

    /// Puts in what a host that died had not saved; of how many cells.
    pub(crate) fn recover(&self) -> Result<Option<usize>, EngineError> {
        if !self.target.exists() {
            return Ok(None);
        }
        let places = RunPlaces::of(&self.target.path, self.notebooks.state_dir());
        put_back(&self.notebooks, &places, &self.path)
    }

    /// Begins: `known` is what earlier runs say about other cells, `done` what this one need not do again.
    pub(crate) fn begin(&mut self, known: &[RanCell], done: &[RanCell]) -> Result<(), EngineError> {
        let failed = |source| state_error(self.notebooks.state_dir(), source);
        self.record.begin(known, done).map_err(failed)
    }

    /// The notebook as it is in the file now.
    fn current(&mut self) -> Result<&Notebook, EngineError> {
        let is_same = match &self.seen {
            Some(seen) => {
                let still = self.target.still(&seen.metadata).map_err(self.target.io("read it"))?;
                matches!(still, Some(Still::Same))
            }
            None => false,
        };
        if !is_same {
            let (notebook, metadata) = self.notebooks.read_again(&self.target)?;
            self.seen = None;
            return Ok(&self.seen.insert(Seen { metadata, notebook }).notebook);
        }
        match &self.seen {
            Some(seen) => Ok(&seen.notebook),
            None => Err(EngineError::NotFound { what: "Notebook", path: self.path.clone() }),
        }
    }

    /// A cell as it is now, to be run; none when it is gone or no code any more.
    pub(crate) fn cell(&mut self, known: &KnownCell) -> Result<Option<KnownCell>, EngineError> {
        let notebook = self.current()?;
        let (Found::Same(index) | Found::Changed(index)) = known.find(notebook) else {
            return Ok(None);
        };
        let cell = notebook.cell(index);
        let code = cell.filter(|cell| cell.kind() == Some(inkcell_notebook::CellKind::Code));
        Ok(code.map(|cell| KnownCell::of(&cell)))
    }

    /// Takes outputs, and sees to it that they are safe: in the file, or in the journal. What cannot be kept there
    /// is saved at once.
    pub(crate) fn take(
        &mut self,
        outputs: Vec<(usize, CellOutputs, CellStamps)>,
        ran: Option<&RanCell>,
        urgency: Urgency,
    ) -> Result<Option<SavedRun>, EngineError> {
        let mut is_due = urgency == Urgency::Now || self.pace.is_due(Instant::now());
        for (number, outputs, stamps) in outputs {
            let safety = match is_due || self.journal.keep(&outputs).is_err() {
                true => Safety::Nowhere,
                false => Safety::InJournal,
            };
            is_due |= safety == Safety::Nowhere;
            self.unsaved.insert(number, Unsaved { outputs, stamps, safety });
        }
        let saved = if is_due { self.save(Keep::Nothing)? } else { None };
        // A cell has run when what it showed is safe: otherwise a run that is taken up again would leave it out.
        if let Some(ran) = ran {
            // Without it a later command only knows less about this run.
            let _ = self.record.note(ran);
        }
        Ok(saved)
    }

    /// Puts everything into the file.
    pub(crate) fn save(&mut self, keep: Keep) -> Result<Option<SavedRun>, EngineError> {
        if self.unsaved.is_empty() && keep == Keep::Nothing {
            return Ok(None);
        }
        let began = Instant::now();
        let options = in_place();
        let unsaved = &self.unsaved;
        let saved = self.notebooks.change_keeping(&self.path, &options, keep, |notebook, _| {
            let entries =
                unsaved.iter().map(|(number, cell)| (*number, &cell.outputs, &cell.stamps));
            put(notebook, entries, &self.path)
        });
        let saved = match saved {
            Ok(saved) => saved,
            Err(error) => {
                // What is not in the file must be safe elsewhere.
                for cell in self.unsaved.values_mut() {
                    if cell.safety == Safety::Nowhere && self.journal.keep(&cell.outputs).is_ok() {
                        cell.safety = Safety::InJournal;
                    }
                }
                return Err(error);
            }
        };
        self.pace.saved(began, Instant::now());
        self.unsaved.clear();
        self.journal.clear().map_err(|source| state_error(self.notebooks.state_dir(), source))?;
        Ok(Some(SavedRun { version: saved.version, cells: saved.value }))
    }

    /// Takes away what an earlier run said about its failure.
    pub(crate) fn without_markers(&self, stamps: Stamps) -> Result<(), EngineError> {
        self.change(stamps, |notebook| stamps::without_markers(stamps, notebook)).map(drop)
    }

    /// Notes a run that is over, when that was asked for.
    pub(crate) fn note_run(
        &self,
        stamps: Stamps,
        (input, output): (&str, &str),
        span: Span,
        failed: Option<&(KnownCell, Option<u32>)>,
    ) -> Result<Option<Version>, EngineError> {
        self.change(stamps, |notebook| {
            let failed = failed.and_then(|(cell, count)| match cell.find(notebook) {
                Found::Same(index) | Found::Changed(index) => Some((index, *count)),
                Found::Gone => None,
            });
            stamps::whole(stamps, notebook, &Whole { input, output, span, failed })
        })?;
        self.change(stamps, |notebook| stamps::marker_tags(stamps, notebook))
    }

    fn change(
        &self,
        stamps: Stamps,
        ops: impl Fn(&Notebook) -> Vec<EditOp>,
    ) -> Result<Option<Version>, EngineError> {
        if stamps == Stamps::Nothing {
            return Ok(None);
        }
        let options = in_place();
        let changed = |notebook: &mut Notebook, base: &Base| {
            let ops = ops(notebook);
            let path = self.path.clone();
            let failed = |error| EngineError::Edit { path, error, batch: ops.len() };
            notebook.apply(&ops, &mut IdSource::seeded(base.seed)).map_err(failed)
        };
        let saved = self.notebooks.change_keeping(&self.path, &options, Keep::Record, changed)?;
        Ok(Some(saved.version))
    }
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
fn put_back(
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
    let mut latest: Vec<&CellOutputs> = Vec::new();
    for outputs in &left {
        latest.retain(|known| !known.cell.is_same_place(&outputs.cell));
        latest.push(outputs);
    }
    let stamps = CellStamps::default();
    let saved = notebooks.change_keeping(path, &in_place(), Keep::Record, |notebook, _| {
        let entries =
            latest.iter().enumerate().map(|(number, outputs)| (number, *outputs, &stamps));
        put(notebook, entries, path)
    })?;
    Journal::new(places.journal.clone()).clear().map_err(failed)?;
    let put_in = saved.value.iter().filter(|(_, fate)| *fate == WriteBack::Saved).count();
    Ok(Some(put_in))
}

/// Sets the outputs of cells whose sources are still what ran.
fn put<'a>(
    notebook: &mut Notebook,
    entries: impl Iterator<Item = (usize, &'a CellOutputs, &'a CellStamps)>,
    path: &str,
) -> Result<Vec<(usize, WriteBack)>, EngineError> {
    let (mut ops, mut fates) = (Vec::new(), Vec::new());
    for (number, outputs, stamps) in entries {
        let fate = match outputs.cell.find(notebook) {
            Found::Same(index) => {
                let cell = CellRef::Index(index as i64);
                let kept: Vec<NbOutput> = outputs.outputs.clone();
                let count = outputs.count.map(u64::from);
                ops.push(EditOp::SetOutputs { cell: cell.clone(), count, outputs: kept });
                ops.extend(stamps.op(cell, notebook));
                WriteBack::Saved
            }
            Found::Changed(_) => WriteBack::SourceChanged,
            Found::Gone => WriteBack::Gone,
        };
        fates.push((number, fate));
    }
    let failed = |error| EngineError::Edit { path: path.to_owned(), error, batch: ops.len() };
    notebook.apply(&ops, &mut IdSource::seeded(0)).map_err(failed)?;
    Ok(fates)
}

fn in_place() -> SaveOptions {
    SaveOptions {
        base: None,
        output: None,
        if_missing: IfMissing::Fail,
        backup: Backup::No,
        force: Force::No,
        mode: Mode::Write,
    }
}

fn state_error(state: &Path, source: std::io::Error) -> EngineError {
    EngineError::Io { path: state.display().to_string(), what: "use the state folder", source }
}

/// How often a file is saved.
#[derive(Debug, Default)]
struct Pace {
    /// When the last save was over, and what it took.
    last: Option<(Instant, Duration)>,
}

impl Pace {
    fn is_due(&self, now: Instant) -> bool {
        match self.last {
            None => true,
            Some((_, cost)) if cost < CHEAP => true,
            Some((over, cost)) => now.duration_since(over) >= APART.max(cost * APART_TIMES),
        }
    }

    fn saved(&mut self, began: Instant, over: Instant) {
        self.last = Some((over, over.duration_since(began)));
    }
}

#[cfg(test)]
mod tests;
