//! The lines of a record: one for each event of a cell or a run.
//!
//! Owns their form. A long notebook has a line for each of its cells, and every outline reads them all. So a cell is an
//! array without field names. Data that only a run needs stands apart, in a line before the cell's, which other readers
//! skip.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::time::Duration;

use compact_str::CompactString;
use inkcell_kernel::{BodyNames, Name};
use serde::{Deserialize, Serialize};

use super::{Latest, OpenCell, RanCell, RunHistory, SourceDigest, cut};
use crate::run::staleness::{KernelNames, OuterParts, OuterTrace};
use crate::types::State;

/// Bytes read from a record; the rest is ignored.
const MAX_BYTES: u64 = 64 << 20;

/// Prefixes of lines that are not always parsed.
const STARTS: &[u8] = b"{\"starts\":";
const APART: &[u8] = b"{\"apart\":";

/// Lower estimate for the length of a cell's line, to reserve room.
const SHORT_BYTES: usize = 200;

/// One line of the file, as written.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line<'a> {
    /// A run began; lines before this one belong to earlier runs.
    Began,
    Starts(OpenCell),
    /// The data apart of the cell in the next line.
    Apart(ApartLineRef<'a>),
    Ran(CellLineRef<'a>),
    Ended,
}

/// One line of the file, as read.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReadLine {
    Began,
    Starts(OpenCell),
    Apart(Apart),
    Ran(CellLine),
    Ended,
}

/// Data that only a run needs.
#[derive(Default, Deserialize)]
struct Apart {
    displays: Vec<(String, usize)>,
    later: BTreeMap<Name, BodyNames>,
}

/// [`Apart`] as written, in the same order.
type ApartLineRef<'a> = (&'a [(String, usize)], &'a BTreeMap<Name, BodyNames>);

/// A cell that has run, as written, in the order of [`CellLine`].
type CellLineRef<'a> = (
    &'a Option<CompactString>,
    usize,
    SourceDigest,
    Option<u32>,
    State,
    f64,
    bool,
    Option<OuterParts<'a>>,
    bool,
);

/// A cell that has run, as read.
#[derive(Deserialize)]
struct CellLine {
    id: Option<CompactString>,
    index: usize,
    source: SourceDigest,
    count: Option<u32>,
    state: State,
    #[serde(with = "crate::types::encoding::seconds")]
    duration: Duration,
    is_twin: bool,
    trace: Option<OuterTrace>,
    /// True if the line before holds more of the cell.
    is_apart: bool,
}

impl CellLine {
    fn with(self, apart: Apart) -> RanCell {
        let CellLine { id, index, source, count, state, duration, is_twin, trace, is_apart: _ } =
            self;
        let Apart { displays, later } = apart;
        let trace = trace.map(|trace| trace.with(later));
        RanCell { id, index, source, count, state, duration, displays, is_twin, trace }
    }
}

/// Appends a line. It begins with its separator, so an incomplete line spoils no other.
pub(super) fn push_line(text: &mut String, line: &Line<'_>) -> io::Result<()> {
    text.push('\n');
    text.push_str(&serde_json::to_string(line)?);
    Ok(())
}

/// Appends a cell. Its data apart comes first: a cell without it does not count.
pub(super) fn push_cell(text: &mut String, cell: &RanCell) -> io::Result<()> {
    let RanCell { id, index, source, count, state, duration, displays, is_twin, trace } = cell;
    let nothing = BTreeMap::new();
    let later = trace.as_ref().map_or(&nothing, |trace| &trace.later);
    let is_apart = !displays.is_empty() || !later.is_empty();
    if is_apart {
        push_line(text, &Line::Apart((displays, later)))?;
    }
    let trace = trace.as_ref().map(OuterTrace::of);
    let seconds = duration.as_secs_f64();
    push_line(
        text,
        &Line::Ran((id, *index, *source, *count, *state, seconds, *is_twin, trace, is_apart)),
    )
}

fn parsed(line: &[u8]) -> Option<ReadLine> {
    // Check UTF-8 once for the line instead of once for each string.
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

/// How much of a record to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Enough to show a notebook: each cell, and the cell that is open.
    Glance,
    /// Also the data apart, the cells of the last run, and the names that its kernel holds.
    Whole,
}

/// Reads all lines of a record.
pub(super) fn read(file: &mut File, reading: Reading) -> io::Result<RunHistory> {
    let size = file.metadata().map_or(0, |found| found.len().min(MAX_BYTES));
    // One more byte of room shows the end of the file without another allocation.
    let mut text = Vec::with_capacity(size as usize + 1);
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    let mut cells = Latest::with_capacity(text.len() / SHORT_BYTES);
    let mut earlier = Vec::new();
    // The latest record of a cell in the last run is the latest of all.
    let mut last = BTreeSet::new();
    // Cells that ran again since have made values that other cells saw, too.
    let mut held = KernelNames::default();
    let mut apart = None;
    // Of all cells that began, only the last may be open. `ended_since` holds cells that ended after it began.
    let (mut begun, mut ended_since) = (None, Vec::new());
    let mut from = 0;
    for end in memchr::memchr_iter(b'\n', &text).chain([text.len()]) {
        let line = &text[std::mem::replace(&mut from, end + 1)..end];
        if line.starts_with(STARTS) {
            (begun, ended_since, apart) = (Some(line), Vec::new(), None);
            continue;
        }
        if reading == Reading::Glance && line.starts_with(APART) {
            continue;
        }
        match parsed(line) {
            Some(ReadLine::Began) => {
                // The run before was cut off, and this one may not run that cell.
                let open = begun.take().and_then(|line| open_cell(line, &ended_since, &cells));
                cut(&mut cells.cells, open.as_ref());
                last = BTreeSet::new();
            }
            Some(ReadLine::Ended) => begun = None,
            Some(ReadLine::Apart(told)) => {
                apart = Some(told);
                continue;
            }
            Some(ReadLine::Ran(told)) => {
                let own = apart.take().filter(|_| told.is_apart);
                // A run skips a cell whose line apart cannot be read.
                if told.is_apart && own.is_none() && reading == Reading::Whole {
                    continue;
                }
                let cell = told.with(own.unwrap_or_default());
                // Skip numbers that no run can have: another program wrote them.
                if cell.trace.as_ref().is_some_and(|trace| !trace.is_possible()) {
                    continue;
                }
                if let (Reading::Whole, Some(trace)) = (reading, &cell.trace) {
                    held.take(trace);
                }
                let kernel = cell.trace.as_ref().map(|trace| trace.kernel.clone());
                let (at, old) = cells.replace(cell);
                let is_of_other = |old: &RanCell| {
                    old.trace.as_ref().is_some_and(|trace| Some(&trace.kernel) != kernel.as_ref())
                };
                earlier.extend(old.filter(is_of_other));
                ended_since.push(at);
                if reading == Reading::Whole {
                    last.insert(at);
                }
            }
            // An empty, truncated or non-UTF-8 line, or a line of another version of inkcell.
            Some(ReadLine::Starts(_)) | None => {}
        }
        apart = None;
    }
    let open = begun.and_then(|line| open_cell(line, &ended_since, &cells));
    Ok(RunHistory { cells: cells.cells, earlier, last, open, held })
}

/// The cell that began with this line, unless it has ended since.
fn open_cell(line: &[u8], ended: &[usize], cells: &Latest) -> Option<OpenCell> {
    let Some(ReadLine::Starts(open)) = parsed(line) else { return None };
    let is_it = |at: &usize| cells.cells[*at].is_of(open.id.as_deref(), open.index);
    (!ended.iter().any(is_it)).then_some(open)
}
