//! The record of a notebook: which cells ran, and how they ended. Later runs and readers of the notebook use it.
//!
//! Owns one small file per notebook in the state folder, and the lock that marks a run under way. Losing the file only
//! loses the knowledge of earlier runs.

mod lines;

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use compact_str::CompactString;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::lines::{Line, Reading, push_cell, push_line, read};
use super::cell_identity::KnownCell;
use super::cell_records::Records;
use crate::api::CellReport;
use crate::files::{file_key, private_folder};
use crate::run::staleness::{ExecutionTrace, KernelNames};
use crate::types::{Generation, State};

/// A larger record is rewritten when a run begins.
const ROOMY_BYTES: u64 = 1 << 20;

/// Attempts to take the lock, `LOOK` apart. A reader that only checks the lock releases it sooner.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(10);

/// Record of one cell's last run.
#[derive(Clone, PartialEq, Debug)]
pub struct RanCell {
    /// The id of the cell; none in files before nbformat 4.5.
    pub id: Option<CompactString>,
    /// The position of the cell when it ran, from 0.
    pub index: usize,
    /// Digest of the source that ran.
    pub source: SourceDigest,
    /// Execution count of the run.
    pub count: Option<u32>,
    /// How the run ended.
    pub state: State,
    /// Wall-clock time of the run.
    pub duration: Duration,
    /// Displays that later code may change: their names and output indexes.
    pub displays: Vec<(String, usize)>,
    /// True if other cells had the same id; the position then identifies the cell, too.
    pub is_twin: bool,
    /// The names that it used and made.
    pub trace: Option<ExecutionTrace>,
}

impl RanCell {
    pub(crate) fn new(cell: &KnownCell, report: &CellReport) -> RanCell {
        RanCell {
            source: SourceDigest::of(&cell.source),
            count: report.count,
            duration: report.duration,
            ..RanCell::unknown(cell.id.as_deref(), cell.index, report.state)
        }
    }

    /// A record that only knows how the cell ended.
    pub(crate) fn unknown(id: Option<&str>, index: usize, state: State) -> RanCell {
        RanCell {
            id: id.map(CompactString::from),
            index,
            source: SourceDigest::default(),
            count: None,
            state,
            duration: Duration::ZERO,
            displays: Vec::new(),
            is_twin: false,
            trace: None,
        }
    }

    /// Returns true if this record belongs to that cell, whatever its source is now.
    pub fn is_of(&self, id: Option<&str>, index: usize) -> bool {
        match (&self.id, id) {
            (Some(own), Some(id)) => own == id && (!self.is_twin || self.index == index),
            (None, None) => self.index == index,
            _ => false,
        }
    }

    /// Returns true if it ran to its end in this kernel.
    pub fn is_made_in(&self, kernel: &Generation) -> bool {
        let trace = self.trace.as_ref().filter(|_| self.state == State::Done);
        trace.is_some_and(|trace| trace.kernel == *kernel)
    }

    /// Returns true if this source is the one that ran.
    pub fn ran(&self, source: &str) -> bool {
        self.source == SourceDigest::of(source)
    }
}

/// Digest that tells sources apart, written as sixteen hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SourceDigest(u64);

impl SourceDigest {
    pub(crate) fn of(source: &str) -> SourceDigest {
        let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(source.as_bytes()).as_bytes();
        SourceDigest(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl Serialize for SourceDigest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for SourceDigest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<SourceDigest, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        u64::from_str_radix(&text, 16).map(SourceDigest).map_err(D::Error::custom)
    }
}

/// A cell that has begun and not ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OpenCell {
    /// The id of the cell; none in files before nbformat 4.5.
    pub id: Option<CompactString>,
    /// The position of the cell when it began, from 0.
    pub index: usize,
}

/// The last runs of the cells of a notebook.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LastRuns {
    /// True if the file may lack outputs that are on record.
    pub is_ahead: bool,
    /// The latest record of each cell.
    pub cells: Vec<RanCell>,
    /// Records that another kernel's run of the same cell has replaced.
    pub earlier: Vec<RanCell>,
    /// The cell that is running now.
    pub running: Option<OpenCell>,
    /// The cell that was running when its host died.
    pub cut_off: Option<OpenCell>,
}

impl LastRuns {
    /// Index of the latest record of each cell.
    pub fn by_cell(&self) -> Records<'_> {
        Records::new(&self.cells)
    }
}

/// Records of earlier runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct RunHistory {
    /// The latest record of each cell.
    pub(crate) cells: Vec<RanCell>,
    /// Records that another kernel's run of the same cell has replaced.
    pub(crate) earlier: Vec<RanCell>,
    /// Indexes in `cells` that belong to the last run.
    pub(crate) last: BTreeSet<usize>,
    /// The cell of the last run that has begun and not ended.
    pub(crate) open: Option<OpenCell>,
    /// The names that the kernel of the last run held at its end.
    pub(crate) held: KernelNames,
}

/// Says if the records in memory match the record file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum RecordPlace {
    #[default]
    AsKnown,
    /// Cells without unique ids have moved since the file was written.
    Elsewhere,
}

impl RunHistory {
    /// Moves the cells to these positions; drops cells without one.
    pub(crate) fn moved(mut self, places: &[Option<usize>]) -> RunHistory {
        let last = std::mem::take(&mut self.last);
        let cells = std::mem::take(&mut self.cells);
        for (at, (cell, place)) in cells.into_iter().zip(places).enumerate() {
            let Some(index) = *place else { continue };
            if last.contains(&at) {
                self.last.insert(self.cells.len());
            }
            self.cells.push(RanCell { index, ..cell });
        }
        self
    }

    /// The cells of the last run.
    pub(crate) fn last(&self) -> impl Iterator<Item = &RanCell> {
        self.last.iter().filter_map(|at| self.cells.get(*at))
    }

    /// History for a file that replaces `original`: runs of its kernel count as the last run. Earlier records of other
    /// cells stay.
    pub(crate) fn copied_from(self, original: RunHistory) -> RunHistory {
        let mut cells = Latest::default();
        for cell in original.cells {
            cells.put(cell);
        }
        let known = cells.cells.len();
        for cell in self.cells {
            if !cells.cells[..known].iter().any(|own| own.is_of(cell.id.as_deref(), cell.index)) {
                cells.put(cell);
            }
        }
        let RunHistory { last, held, earlier, .. } = original;
        RunHistory { cells: cells.cells, earlier, last, open: None, held }
    }
}

/// The record file of a notebook, held by the run that is under way.
#[derive(Debug)]
pub(crate) struct RunRecord {
    file: File,
}

/// Paths in the state folder for the runs of a notebook.
pub(crate) struct RunPlaces {
    pub(crate) record: PathBuf,
    pub(crate) journal: PathBuf,
}

impl RunPlaces {
    /// Computes the paths; creates nothing.
    pub(crate) fn of(notebook: &Path, state: &Path) -> RunPlaces {
        let record = state.join("runs").join(file_key(notebook));
        RunPlaces { journal: record.with_extension("outputs"), record }
    }
}

impl RunRecord {
    /// Takes the record of a notebook; `None` while another run holds it.
    pub(crate) fn take(places: &RunPlaces, state: &Path) -> io::Result<Option<RunRecord>> {
        private_folder(state, Path::new("runs"))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
            .open(&places.record)?;
        for _ in 0..LOOKS {
            match file.try_lock() {
                Ok(()) => return Ok(Some(RunRecord { file })),
                // The lock may belong to a reader that only checks it.
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns true if a run is under way.
    fn is_held(file: &File) -> bool {
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Reads the record without taking it; `None` if no record exists.
    pub(crate) fn peek(places: &RunPlaces) -> Option<Look> {
        let mut file = File::open(&places.record).ok()?;
        let past = read(&mut file, Reading::Glance).unwrap_or_default();
        Some(Look { file, past })
    }

    pub(crate) fn past(&mut self) -> io::Result<RunHistory> {
        self.file.seek(SeekFrom::Start(0))?;
        whole(&mut self.file)
    }

    /// Reads the full history of a notebook without taking it. No run may be under way.
    pub(crate) fn past_of(places: &RunPlaces) -> RunHistory {
        File::open(&places.record).and_then(|mut file| whole(&mut file)).unwrap_or_default()
    }

    /// Begins a run. Records of other cells stay.
    pub(crate) fn begin(
        &mut self,
        (noted, known): (RecordPlace, &[RanCell]),
        done: &[RanCell],
    ) -> io::Result<()> {
        let mut text = String::new();
        let size = self.file.seek(SeekFrom::End(0))?;
        let is_known = !known.is_empty() && size < ROOMY_BYTES && noted == RecordPlace::AsKnown;
        // Sort by execution: later records decide what the kernel holds.
        let mut known: Vec<&RanCell> = known.iter().filter(|_| !is_known).collect();
        known.sort_by_key(|cell| cell.trace.as_ref().map(|trace| trace.ran));
        for &cell in &known {
            push_cell(&mut text, cell)?;
        }
        push_line(&mut text, &Line::Began)?;
        for cell in done {
            push_cell(&mut text, cell)?;
        }
        // Append if the file has these records already. A host that dies between two calls here must not lose them, or
        // the run could not be resumed.
        if !is_known {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
        }
        self.file.write_all(text.as_bytes())
    }

    /// Records that a cell begins. If nothing follows, the host died during that cell.
    pub(crate) fn note_start(&mut self, cell: &KnownCell) -> io::Result<()> {
        let open = OpenCell { id: cell.id.as_deref().map(CompactString::from), index: cell.index };
        self.write(&Line::Starts(open))
    }

    /// Records the end of the run.
    pub(crate) fn note_end(&mut self) -> io::Result<()> {
        self.write(&Line::Ended)
    }

    /// Records a cell. It need not survive a power cut; only outputs must.
    pub(crate) fn note(&mut self, cell: &RanCell) -> io::Result<()> {
        let mut text = String::new();
        push_cell(&mut text, cell)?;
        self.file.write_all(text.as_bytes())
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = String::new();
        push_line(&mut text, line)?;
        self.file.write_all(text.as_bytes())
    }
}

/// A record as read by a command that does not run anything.
pub(crate) struct Look {
    file: File,
    past: RunHistory,
}

impl Look {
    /// Completes the look after the notebook was read: that read may have restored outputs that a dead host left.
    pub(crate) fn now(self, places: &RunPlaces) -> LastRuns {
        let Look { mut file, mut past } = self;
        // Outputs may wait for the next save between two cells as well.
        let is_held = RunRecord::is_held(&file);
        // The notebook may already have what a run has recorded since.
        if file.stream_position().ok() != file.metadata().map(|found| found.len()).ok() {
            let again =
                file.seek(SeekFrom::Start(0)).and_then(|_| read(&mut file, Reading::Glance));
            past = again.unwrap_or(past);
        }
        let RunHistory { mut cells, earlier, open, .. } = past;
        let is_ahead = is_held || places.journal.exists();
        match open.is_some() && is_held {
            true => LastRuns { is_ahead, cells, earlier, running: open, cut_off: None },
            false => {
                cut(&mut cells, open.as_ref());
                LastRuns { is_ahead, cells, earlier, running: None, cut_off: open }
            }
        }
    }
}

/// The latest record of each cell, in the order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    cells: Vec<RanCell>,
    at: HashMap<(Option<CompactString>, Option<usize>), usize>,
}

impl FromIterator<RanCell> for Latest {
    fn from_iter<T: IntoIterator<Item = RanCell>>(cells: T) -> Latest {
        let mut latest = Latest::default();
        for cell in cells {
            latest.put(cell);
        }
        latest
    }
}

impl Latest {
    fn with_capacity(cells: usize) -> Latest {
        Latest { cells: Vec::with_capacity(cells), at: HashMap::with_capacity(cells) }
    }

    pub(crate) fn cells(&self) -> &[RanCell] {
        &self.cells
    }

    pub(crate) fn into_cells(self) -> Vec<RanCell> {
        self.cells
    }

    /// The latest record of this cell, whatever its source is now.
    pub(crate) fn of(&self, id: Option<&str>, index: usize) -> Option<&RanCell> {
        let id = id.map(CompactString::from);
        let of = |key| self.at.get(&key).and_then(|at| self.cells.get(*at));
        let by_place = of((id.clone(), Some(index)));
        by_place.or_else(|| of((Some(id?), None)))
    }

    /// Sets the latest record of a cell and returns its place.
    pub(crate) fn put(&mut self, cell: RanCell) -> usize {
        self.replace(cell).0
    }

    /// Sets the latest record of a cell and returns its place, and the record before.
    fn replace(&mut self, cell: RanCell) -> (usize, Option<RanCell>) {
        let place = (cell.id.is_none() || cell.is_twin).then_some(cell.index);
        match self.at.entry((cell.id.clone(), place)) {
            Entry::Occupied(known) => {
                let old = std::mem::replace(&mut self.cells[*known.get()], cell);
                (*known.get(), Some(old))
            }
            Entry::Vacant(new) => {
                new.insert(self.cells.len());
                self.cells.push(cell);
                (self.cells.len() - 1, None)
            }
        }
    }
}

/// Reads everything from a record that no other run holds.
fn whole(file: &mut File) -> io::Result<RunHistory> {
    let mut past = read(file, Reading::Whole)?;
    cut(&mut past.cells, past.open.as_ref());
    Ok(past)
}

/// Marks cells that began again and were cut off as cancelled: their earlier result no longer holds.
fn cut(cells: &mut [RanCell], open: Option<&OpenCell>) {
    if let Some(OpenCell { id, index }) = open {
        let cut = cells.iter_mut().filter(|cell| cell.is_of(id.as_deref(), *index));
        cut.for_each(|cell| cell.state = State::Cancelled);
    }
}

#[cfg(test)]
mod tests;
