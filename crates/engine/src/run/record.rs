//! What ran of a notebook, and how it ended: known to later runs, and to whoever looks at the notebook.
//!
//! Owns one small file a notebook in the state folder, and the lock that says that a run is under way. Losing
//! it only means that nothing is known of earlier runs.

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
use super::known::KnownCell;
use super::standing::Records;
use crate::api::{CellReport, State};
use crate::files::{file_key, private_folder};
use crate::staleness::{Held, Trace};

/// A larger one is written anew when a run begins.
const ROOMY_BYTES: u64 = 1 << 20;

/// A lock that somebody only looked at is free again after one of so many moments.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(10);

/// How one cell ran.
#[derive(Clone, PartialEq, Debug)]
pub struct RanCell {
    /// Its id.
    pub id: Option<CompactString>,
    /// Its position.
    pub index: usize,
    /// A digest of its source.
    pub source: SourceDigest,
    /// The number it ran under.
    pub count: Option<u32>,
    /// How it ended.
    pub state: State,
    /// How long it took.
    pub duration: Duration,
    /// Its displays that later code may change: their names, and which outputs they are.
    pub displays: Vec<(String, usize)>,
    /// Whether other cells had the same id, so that it is known by its position, too.
    pub is_twin: bool,
    /// What it used and made.
    pub trace: Option<Trace>,
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

    /// A cell of which only the end is known.
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

    /// Whether it tells of this cell, whatever its source is now.
    pub fn is_of(&self, id: Option<&str>, index: usize) -> bool {
        match (&self.id, id) {
            (Some(own), Some(id)) => own == id && (!self.is_twin || self.index == index),
            (None, None) => self.index == index,
            _ => false,
        }
    }

    /// Whether this is what ran.
    pub fn ran(&self, source: &str) -> bool {
        self.source == SourceDigest::of(source)
    }
}

/// Tells sources apart; written as sixteen digits.
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

/// A cell that has begun, of a run that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpenCell {
    /// Its id.
    pub id: Option<CompactString>,
    /// Its position.
    pub index: usize,
}

/// How the cells of a notebook ran the last time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LastRuns {
    /// Whether outputs that are on record may not be in the file yet.
    pub is_ahead: bool,
    /// The last word on each cell.
    pub cells: Vec<RanCell>,
    /// The cell that runs now.
    pub running: Option<OpenCell>,
    /// The cell that ran when the host of its run died.
    pub cut_off: Option<OpenCell>,
}

impl LastRuns {
    /// The last word on a cell, to be looked up.
    pub fn by_cell(&self) -> Records<'_> {
        Records::new(&self.cells)
    }
}

/// What is known of earlier runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Past {
    /// The last word on each cell.
    pub(crate) cells: Vec<RanCell>,
    /// Which of them are of the last run.
    pub(crate) last: BTreeSet<usize>,
    /// The cell of it that has begun and not ended.
    pub(crate) open: Option<OpenCell>,
    /// What the kernel of the last run held at its end.
    pub(crate) held: Held,
}

/// Whether what is known of cells stands in the file of a notebook as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Noted {
    #[default]
    AsKnown,
    /// Cells without ids of their own have been moved since.
    Elsewhere,
}

impl Past {
    /// The cells are at these places now; those of which there is none are gone.
    pub(crate) fn moved(mut self, places: &[Option<usize>]) -> Past {
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

    /// The same for a file that takes the place of another: what that one's kernel ran counts as the last run, and what
    /// was known before about other cells stays known.
    pub(crate) fn copied_from(self, original: Past) -> Past {
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
        Past { cells: cells.cells, last: original.last, open: None, held: original.held }
    }
}

/// The file of a notebook, held by the run that is under way.
#[derive(Debug)]
pub(crate) struct RunRecord {
    file: File,
}

/// Where the state folder keeps what it knows about runs of a notebook.
pub(crate) struct RunPlaces {
    pub(crate) record: PathBuf,
    pub(crate) journal: PathBuf,
}

impl RunPlaces {
    /// Names only; nothing is made.
    pub(crate) fn of(notebook: &Path, state: &Path) -> RunPlaces {
        let record = state.join("runs").join(file_key(notebook));
        RunPlaces { journal: record.with_extension("outputs"), record }
    }
}

impl RunRecord {
    /// Takes the record of a notebook; none while another run has it.
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
                // Somebody may only be looking whether it is held.
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Whether a run is under way.
    fn is_held(file: &File) -> bool {
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// What is known of earlier runs, without taking anything; none where nothing is.
    pub(crate) fn look(places: &RunPlaces) -> Option<Look> {
        let mut file = File::open(&places.record).ok()?;
        let past = read(&mut file, Reading::Glance).unwrap_or_default();
        Some(Look { file, past })
    }

    pub(crate) fn past(&mut self) -> io::Result<Past> {
        self.file.seek(SeekFrom::Start(0))?;
        whole(&mut self.file)
    }

    /// What is known about a notebook whose runs are over, and that is only read.
    pub(crate) fn past_of(places: &RunPlaces) -> Past {
        File::open(&places.record).and_then(|mut file| whole(&mut file)).unwrap_or_default()
    }

    /// Begins a run. What is known about other cells stays known.
    pub(crate) fn begin(
        &mut self,
        (noted, known): (Noted, &[RanCell]),
        done: &[RanCell],
    ) -> io::Result<()> {
        let mut text = String::new();
        let size = self.file.seek(SeekFrom::End(0))?;
        let is_known = !known.is_empty() && size < ROOMY_BYTES && noted == Noted::AsKnown;
        // In the order in which they ran: what the kernel holds is told by the later ones.
        let mut known: Vec<&RanCell> = known.iter().filter(|_| !is_known).collect();
        known.sort_by_key(|cell| cell.trace.as_ref().map(|trace| trace.ran));
        for &cell in &known {
            push_cell(&mut text, cell)?;
        }
        push_line(&mut text, &Line::Began)?;
        for cell in done {
            push_cell(&mut text, cell)?;
        }
        // What is known stands there already. A host that dies between two calls here must not forget it, or the
        // run could not be taken up again.
        if !is_known {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
        }
        self.file.write_all(text.as_bytes())
    }

    /// Notes that a cell begins. When nothing follows, its host died with it.
    pub(crate) fn note_start(&mut self, cell: &KnownCell) -> io::Result<()> {
        let open = OpenCell { id: cell.id.as_deref().map(CompactString::from), index: cell.index };
        self.write(&Line::Starts(open))
    }

    /// Notes that the run is over.
    pub(crate) fn note_end(&mut self) -> io::Result<()> {
        self.write(&Line::Ended)
    }

    /// Notes a cell. That it survives a power cut is not needed: outputs are what must.
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

/// What was seen in a record, by somebody who does not run anything.
pub(crate) struct Look {
    file: File,
    past: Past,
}

impl Look {
    /// How that stands now, once the notebook was read: reading it may have put outputs there that a dead host had left.
    pub(crate) fn now(self, places: &RunPlaces) -> LastRuns {
        let Look { mut file, mut past } = self;
        // Between two cells, too, outputs may wait for the next save.
        let is_held = RunRecord::is_held(&file);
        // What a run has noted since may be in the notebook already.
        if file.stream_position().ok() != file.metadata().map(|found| found.len()).ok() {
            let again =
                file.seek(SeekFrom::Start(0)).and_then(|_| read(&mut file, Reading::Glance));
            past = again.unwrap_or(past);
        }
        let Past { mut cells, open, .. } = past;
        let is_ahead = is_held || places.journal.exists();
        match open.is_some() && is_held {
            true => LastRuns { is_ahead, cells, running: open, cut_off: None },
            false => {
                cut(&mut cells, open.as_ref());
                LastRuns { is_ahead, cells, running: None, cut_off: open }
            }
        }
    }
}

/// The last word on each cell, in the order of the first.
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

    /// The last word on this cell, whatever its source is now.
    pub(crate) fn of(&self, id: Option<&str>, index: usize) -> Option<&RanCell> {
        let id = id.map(CompactString::from);
        let of = |key| self.at.get(&key).and_then(|at| self.cells.get(*at));
        let by_place = of((id.clone(), Some(index)));
        by_place.or_else(|| of((Some(id?), None)))
    }

    /// Takes the last word on a cell; where it stands.
    pub(crate) fn put(&mut self, cell: RanCell) -> usize {
        let place = (cell.id.is_none() || cell.is_twin).then_some(cell.index);
        match self.at.entry((cell.id.clone(), place)) {
            Entry::Occupied(known) => {
                self.cells[*known.get()] = cell;
                *known.get()
            }
            Entry::Vacant(new) => {
                new.insert(self.cells.len());
                self.cells.push(cell);
                self.cells.len() - 1
            }
        }
    }
}

/// All that is known where no other run is under way.
fn whole(file: &mut File) -> io::Result<Past> {
    let mut past = read(file, Reading::Whole)?;
    cut(&mut past.cells, past.open.as_ref());
    Ok(past)
}

/// What a cell did before it began once more and was cut off says nothing about what is there now.
fn cut(cells: &mut [RanCell], open: Option<&OpenCell>) {
    if let Some(OpenCell { id, index }) = open {
        let cut = cells.iter_mut().filter(|cell| cell.is_of(id.as_deref(), *index));
        cut.for_each(|cell| cell.state = State::Cancelled);
    }
}

#[cfg(test)]
mod tests;
