//! The file of a notebook while its cells run.
//!
//! Owns when it is saved and what goes into it. Everything here waits for disks, so it is called from threads
//! that may.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use inkcell_kernel::WidgetStates;
use inkcell_notebook::{EditOp, IdSource, Injected, NbOutput, Notebook, OutputView};

use super::fold::{Fold, Folded, Safety, ShownCell, put_back, state_error};
use super::inject::Values;
use super::journal::{CellOutputs, Journal};
use super::known::{KnownCell, Sight, has_unique_ids};
use super::record::{Noted, Past, RanCell, RunPlaces, RunRecord};
use super::stamps::{self, CellStamps, Span, Whole};
use super::trail::Trail;
use super::widgets;
use crate::api::{Stamps, WriteBack};
use crate::change::{Base, Effect, SaveOptions};
use crate::error::{EngineError, SessionError};
use crate::files::{Metadata, Still, Target, Version};
use crate::notebooks::{Keep, Notebooks};

/// A save that takes less is made after every cell, when nothing else is said.
pub const CHEAP_SAVE: Duration = Duration::from_millis(50);

/// Otherwise saves are at least so far apart, and so many times what one costs.
const APART: Duration = Duration::from_secs(2);
const APART_TIMES: u32 = 10;

/// However long its cells take, a notebook that is larger than this is not written again and again: what was written
/// on the way is at most so much of its size before it is written once more, or the last time is this long ago.
const SMALL_BYTES: u64 = 1 << 20;
const WRITTEN_QUARTERS: u64 = 3;
const LONG: Duration = Duration::from_secs(600);

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
    /// What the cells of this run showed, by the number of the cell in the run. Those that are in the file stay
    /// here: another program may put an older copy of the notebook over it.
    shown: BTreeMap<usize, ShownCell>,
    /// Cells that ran, and are not in the record yet.
    unnoted: Vec<RanCell>,
    /// The content that the last save left.
    left: Option<Version>,
    seen: Option<Seen>,
    /// The notebook as it was when the run was planned, where its ids do not tell all cells apart.
    planned: Option<Notebook>,
    pace: Pace,
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
    /// Cells whose outputs had been in the file, were taken out by somebody else, and are in it again.
    pub(crate) put_again: Vec<usize>,
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
        let (shown, unnoted) = (BTreeMap::new(), Vec::new());
        let (left, seen, planned, pace) = (None, None, None, Pace::default());
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
            pace,
        };
        Ok((file, past))
    }

    /// A save that takes less than this is made after every cell.
    pub(crate) fn save_at_once_below(&mut self, cost: Duration) {
        self.pace.cheap = cost;
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
    pub(crate) fn begin(
        &mut self,
        known: (Noted, &[RanCell]),
        done: &[RanCell],
    ) -> Result<(), EngineError> {
        let failed = |source| state_error(self.notebooks.state_dir(), source);
        self.record.begin(known, done).map_err(failed)
    }

    /// Remembers what the run was planned on.
    pub(crate) fn plan_on(&mut self, notebook: &Notebook) {
        self.planned = (!has_unique_ids(notebook)).then(|| notebook.clone());
    }

    /// The notebook that was looked at last.
    fn sight(&self) -> Option<(&Notebook, Sight<'_>)> {
        let notebook = &self.seen.as_ref()?.notebook;
        Some((notebook, Sight::new(notebook, self.planned.as_ref())))
    }

    /// Looks at the notebook as it is in the file now.
    fn look(&mut self) -> Result<(), EngineError> {
        let is_same = match &self.seen {
            Some(seen) => {
                let still = self.target.still(&seen.metadata).map_err(self.target.io("read it"))?;
                matches!(still, Some(Still::Same))
            }
            None => false,
        };
        if !is_same {
            let (notebook, metadata) = self.notebooks.read_again(&self.target)?;
            self.seen = Some(Seen { metadata, notebook });
        }
        Ok(())
    }

    /// A cell as it is now, which is run next; none when it is gone or no code any more.
    pub(crate) fn cell(&mut self, known: &KnownCell) -> Result<Option<KnownCell>, EngineError> {
        self.look()?;
        let Some((notebook, sight)) = self.sight() else { return Ok(None) };
        let cell = sight.find(known).place().and_then(|index| notebook.cell(index));
        let code = cell.filter(|cell| cell.kind() == Some(inkcell_notebook::CellKind::Code));
        let cell = code.map(|cell| KnownCell { planned: known.planned, ..KnownCell::of(&cell) });
        if let Some(cell) = &cell {
            // Whoever comes after a host that died only knows less without it.
            let _ = self.record.note_start(cell);
        }
        Ok(cell)
    }

    /// The notebook as it is now; none where it cannot be read.
    pub(crate) fn notebook(&mut self) -> Option<&Notebook> {
        self.look().ok()?;
        self.seen.as_ref().map(|seen| &seen.notebook)
    }

    /// Whether other cells have the id of this one.
    pub(crate) fn is_twin(&self, cell: &KnownCell) -> bool {
        // Where all ids are different there was nothing to remember.
        let (Some(_), Some(seen), Some(id)) = (&self.planned, &self.seen, &cell.id) else {
            return false;
        };
        seen.notebook.cells().filter(|cell| cell.id().as_deref() == Some(id)).nth(1).is_some()
    }

    /// Decides which of the planned cells run, from the one of this number on.
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

    /// What a cell that ran before shows, when it is still what ran.
    pub(crate) fn outputs_of(&mut self, ran: &RanCell) -> Result<Option<CellOutputs>, EngineError> {
        self.look()?;
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
            self.pace.taken(outputs.outputs.iter().map(|output| output.json().len() as u64).sum());
            let safety = match is_due || self.journal.keep(&outputs).is_err() {
                true => Safety::Nowhere,
                false => Safety::InJournal,
            };
            is_due |= safety == Safety::Nowhere;
            // A display that a later cell changed leaves what is noted about its own cell.
            let noted = self.shown.remove(&number).map(|earlier| earlier.stamps);
            let stamps = stamps.or(noted);
            self.shown.insert(number, ShownCell { outputs, stamps, safety });
        }
        self.unnoted.extend(ran.cloned());
        let saved = if is_due { self.save(Keep::Nothing) } else { Ok(None) };
        self.note_ran();
        saved
    }

    /// Notes that no cell is begun any more.
    pub(crate) fn note_end(&mut self) {
        // Without it a later command only takes the last cell for one that was cut off.
        let _ = self.record.note_end();
    }

    /// Whether everything that cells showed is safe somewhere.
    pub(crate) fn is_kept(&self) -> bool {
        self.shown.values().all(|cell| cell.safety != Safety::Nowhere)
    }

    /// A cell has run when what it showed is safe: otherwise a run that is taken up again would leave it out.
    fn note_ran(&mut self) {
        if !self.is_kept() {
            return;
        }
        // What cannot be noted now may be later; without it a later command only knows less about this run.
        let noted = self.unnoted.iter().take_while(|ran| self.record.note(ran).is_ok()).count();
        self.unnoted.drain(..noted);
    }

    /// Puts everything into the file.
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
        if saved.effect == Effect::Written {
            let size = saved.after.chunks().iter().map(|chunk| chunk.len() as u64).sum();
            self.pace.saved(began, Instant::now(), size);
        }
        self.left = Some(saved.version);
        for cell in self.shown.values_mut() {
            cell.safety = Safety::InFile;
        }
        // What is in the file as well may go in once more without harm, so a journal that cannot be removed is
        // no reason to say that outputs are not there.
        let _ = self.journal.clear();
        self.note_ran();
        let Folded { fates, put_again } = saved.value;
        Ok(Some(SavedRun { version: saved.version, cells: fates, put_again }))
    }

    /// What is not in the file must be safe elsewhere; also what was in it, when the file is not what it was.
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

    /// Where these cells are now; none where one is gone.
    pub(crate) fn places(
        &mut self,
        cells: &[KnownCell],
    ) -> Result<Vec<Option<usize>>, EngineError> {
        self.look()?;
        let Some((_, sight)) = self.sight() else { return Ok(vec![None; cells.len()]) };
        Ok(cells.iter().map(|cell| sight.find(cell).place()).collect())
    }

    /// Takes away what an earlier run said about its failure.
    pub(crate) fn without_markers(&self, stamps: Stamps) -> Result<(), EngineError> {
        self.note(stamps, |notebook| stamps::without_markers(stamps, notebook)).map(drop)
    }

    /// Notes a run that is over, when that was asked for.
    pub(crate) fn note_run(
        &self,
        stamps: Stamps,
        (input, output): (&str, &str),
        span: Span,
        failed: Option<&(KnownCell, Option<u32>)>,
    ) -> Result<Option<Version>, EngineError> {
        self.note(stamps, |notebook| {
            let sight = Sight::new(notebook, self.planned.as_ref());
            let failed = failed.and_then(|(cell, count)| Some((sight.find(cell).place()?, *count)));
            stamps::whole(stamps, notebook, &Whole { input, output, span, failed })
        })?;
        self.note(stamps, |notebook| stamps::marker_tags(stamps, notebook))
    }

    /// Stores the widgets of the kernel with the outputs that show them.
    pub(crate) fn store_widgets(&self, states: &WidgetStates) -> Result<Version, EngineError> {
        self.change(|notebook| Vec::from_iter(widgets::stored(notebook, states)))
    }

    /// Puts the values of this run into their cell, before anything is run.
    pub(crate) fn inject(&self, values: &Values, stamps: Stamps) -> Result<Injected, EngineError> {
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

    fn note(
        &self,
        stamps: Stamps,
        ops: impl Fn(&Notebook) -> Vec<EditOp>,
    ) -> Result<Option<Version>, EngineError> {
        match stamps {
            Stamps::Papermill => self.change(ops).map(Some),
            // The others note nothing about a run as a whole.
            _ => Ok(None),
        }
    }

    fn change(&self, ops: impl Fn(&Notebook) -> Vec<EditOp>) -> Result<Version, EngineError> {
        let options = SaveOptions::in_place();
        let changed = |notebook: &mut Notebook, base: &Base| {
            let ops = ops(notebook);
            let path = self.path.clone();
            let failed = |error| EngineError::Edit { path, error, batch: ops.len() };
            notebook.apply(&ops, &mut IdSource::seeded(base.seed)).map_err(failed)
        };
        let saved = self.notebooks.change_keeping(&self.path, &options, Keep::Record, changed)?;
        Ok(saved.version)
    }
}

/// How often a file is saved.
#[derive(Debug)]
struct Pace {
    /// A save that takes less is made after every cell.
    cheap: Duration,
    /// When the last save was over, and what it took.
    last: Option<(Instant, Duration)>,
    /// How much all saves have written.
    written_bytes: u64,
    /// How large the file was then.
    size_bytes: u64,
    /// How much is to be put in since.
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

    /// A cell has shown so much.
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
