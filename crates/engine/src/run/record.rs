//! What ran of a notebook, and how it ended: known to later runs, and to whoever looks at the notebook.
//!
//! Owns one small file a notebook in the state folder, and the lock that says that a run is under way. Losing
//! it only means that nothing is known of earlier runs.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::known::KnownCell;
use super::standing::Records;
use crate::api::{CellReport, State};
use crate::files::{file_key, private_folder};
use crate::staleness::{Held, OuterTrace, Trace};

/// More of such a file is not read.
const MAX_BYTES: u64 = 64 << 20;

/// A larger one is written anew when a run begins.
const ROOMY_BYTES: u64 = 1 << 20;

/// A lock that somebody only looked at is free again after one of so many moments.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(10);

/// How one cell ran.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RanCell {
    /// Its id.
    pub id: Option<String>,
    /// Its position.
    pub index: usize,
    /// A digest of its source.
    pub source: SourceDigest,
    /// The number it ran under.
    #[serde(default)]
    pub count: Option<u32>,
    /// How it ended.
    pub state: State,
    /// How long it took.
    #[serde(with = "crate::encoding::seconds")]
    pub duration: Duration,
    /// Its displays that later code may change: their names, and which outputs they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub displays: Vec<(String, usize)>,
    /// Whether other cells had the same id, so that it is known by its position, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_twin: bool,
    /// What it used and made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

impl RanCell {
    pub(crate) fn new(cell: &KnownCell, report: &CellReport) -> RanCell {
        RanCell {
            source: SourceDigest::of(&cell.source),
            count: report.count,
            duration: report.duration,
            ..RanCell::unknown(cell.id.clone(), cell.index, report.state)
        }
    }

    /// A cell of which only the end is known.
    pub(crate) fn unknown(id: Option<String>, index: usize, state: State) -> RanCell {
        RanCell {
            id,
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

/// One line of the file, with what it says of a cell.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<C> {
    /// A run began; what stands before is of earlier ones.
    Began,
    /// A cell begins.
    Starts(OpenCell),
    Cell(C),
    /// The run is over.
    Ended,
}

/// What a line says of a cell to whoever only looks: without its displays and without what its functions take, which
/// count for who runs cells. They are much of what there is to read.
#[derive(Deserialize)]
struct LookedAt {
    id: Option<String>,
    index: usize,
    source: SourceDigest,
    #[serde(default)]
    count: Option<u32>,
    state: State,
    #[serde(with = "crate::encoding::seconds")]
    duration: Duration,
    #[serde(default)]
    is_twin: bool,
    #[serde(default)]
    trace: Option<OuterTrace>,
}

impl From<LookedAt> for RanCell {
    fn from(cell: LookedAt) -> RanCell {
        let LookedAt { id, index, source, count, state, duration, is_twin, trace } = cell;
        let trace = trace.map(OuterTrace::into);
        RanCell { source, count, duration, is_twin, trace, ..RanCell::unknown(id, index, state) }
    }
}

/// A cell that has begun, of a run that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpenCell {
    /// Its id.
    pub id: Option<String>,
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
        let Past { cells, open, .. } = read::<LookedAt>(&mut file, |_| {}).unwrap_or_default();
        Some(Look { file, cells, open })
    }

    pub(crate) fn past(&mut self) -> io::Result<Past> {
        self.file.seek(SeekFrom::Start(0))?;
        past(&mut self.file)
    }

    /// What is known about a notebook whose runs are over, and that is only read.
    pub(crate) fn past_of(places: &RunPlaces) -> Past {
        File::open(&places.record).and_then(|mut file| past(&mut file)).unwrap_or_default()
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
            text.push_str(&line(&Line::Cell(cell))?);
        }
        text.push_str(&line(&Line::Began)?);
        for cell in done {
            text.push_str(&line(&Line::Cell(cell))?);
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
        let open = OpenCell { id: cell.id.clone(), index: cell.index };
        self.file.write_all(line(&Line::Starts(open))?.as_bytes())
    }

    /// Notes that the run is over.
    pub(crate) fn note_end(&mut self) -> io::Result<()> {
        self.file.write_all(line(&Line::Ended)?.as_bytes())
    }

    /// Notes a cell. That it survives a power cut is not needed: outputs are what must.
    pub(crate) fn note(&mut self, cell: &RanCell) -> io::Result<()> {
        self.file.write_all(line(&Line::Cell(cell))?.as_bytes())
    }
}

/// What was seen in a record, by somebody who does not run anything.
pub(crate) struct Look {
    file: File,
    cells: Vec<RanCell>,
    open: Option<OpenCell>,
}

impl Look {
    /// How that stands now, once the notebook was read: reading it may have put outputs there that a dead host had left.
    pub(crate) fn now(self, places: &RunPlaces) -> LastRuns {
        let Look { file, cells, open } = self;
        // Between two cells, too, outputs may wait for the next save.
        let is_held = RunRecord::is_held(&file);
        let is_ahead = is_held || places.journal.exists();
        match open.is_some() && is_held {
            true => LastRuns { is_ahead, cells, running: open, cut_off: None },
            false => LastRuns { is_ahead, cells, running: None, cut_off: open },
        }
    }
}

/// The last word on each cell, in the order of the first.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    cells: Vec<RanCell>,
    at: HashMap<(Option<String>, Option<usize>), usize>,
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
    pub(crate) fn cells(&self) -> &[RanCell] {
        &self.cells
    }

    pub(crate) fn into_cells(self) -> Vec<RanCell> {
        self.cells
    }

    /// The last word on this cell, whatever its source is now.
    pub(crate) fn of(&self, id: Option<&str>, index: usize) -> Option<&RanCell> {
        let id = id.map(str::to_owned);
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

/// A line begins with its separator: one that could not be written to its end costs no other.
fn line(line: &Line<&RanCell>) -> io::Result<String> {
    Ok(format!("\n{}", serde_json::to_string(line)?))
}

fn past(file: &mut File) -> io::Result<Past> {
    let mut held = Held::default();
    let past = read::<RanCell>(file, |cell| {
        if let Some(trace) = &cell.trace {
            held.take(trace);
        }
    })?;
    Ok(Past { held, ..past })
}

/// `hear` is told of every cell in the order in which they ran, also of those that ran again since.
fn read<C: DeserializeOwned + Into<RanCell>>(
    file: &mut File,
    mut hear: impl FnMut(&RanCell),
) -> io::Result<Past> {
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    let mut cells = Latest::default();
    // The last word on a cell of the last run is its last word of all.
    let mut last = BTreeSet::new();
    let mut open = None;
    for line in text.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::Began) => (last, open) = (BTreeSet::new(), None),
            Ok(Line::Starts(cell)) => open = Some(cell),
            Ok(Line::Ended) => open = None,
            Ok(Line::Cell(cell)) => {
                let cell: RanCell = C::into(cell);
                // Numbers that no run can have: somebody else wrote it.
                if cell.trace.as_ref().is_some_and(|trace| !trace.is_possible()) {
                    continue;
                }
                hear(&cell);
                open = open.filter(|open: &OpenCell| !cell.is_of(open.id.as_deref(), open.index));
                last.insert(cells.put(cell));
            }
            // An empty line, one that was cut off, or one of a later inkcell.
            Err(_) => {}
        }
    }
    Ok(Past { cells: cells.cells, last, open, held: Held::default() })
}

#[cfg(test)]
mod tests;
