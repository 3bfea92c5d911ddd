//! The lines of a record: one for each thing that happened to a cell or a run.
//!
//! Owns their form. A long notebook has a line for each of its cells, and whoever looks at its outline reads them all. So
//! a cell is an array without names of fields, and what only those need who run cells lies apart, in a line before, which
//! others pass over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::time::Duration;

use compact_str::CompactString;
use inkcell_kernel::{BodyNames, Name};
use serde::{Deserialize, Serialize};

use super::{Latest, OpenCell, Past, RanCell, SourceDigest, cut};
use crate::api::State;
use crate::staleness::{Held, OuterParts, OuterTrace};

/// More of such a file is not read.
const MAX_BYTES: u64 = 64 << 20;

/// How lines begin that are not always read to their end.
const STARTS: &[u8] = b"{\"starts\":";
const APART: &[u8] = b"{\"apart\":";

/// Few lines of cells are shorter.
const SHORT_BYTES: usize = 200;

/// One line of the file that is written.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line<'a> {
    /// A run began; what stands before is of earlier ones.
    Began,
    /// A cell begins.
    Starts(OpenCell),
    /// What lies apart of the cell in the next line.
    Apart(WrittenApart<'a>),
    /// A cell has run.
    Ran(Written<'a>),
    /// The run is over.
    Ended,
}

/// The same for who reads it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReadLine {
    Began,
    Starts(OpenCell),
    Apart(Apart),
    Ran(Told),
    Ended,
}

/// What only those need who run cells.
#[derive(Default, Deserialize)]
struct Apart {
    displays: Vec<(String, usize)>,
    later: BTreeMap<Name, BodyNames>,
}

/// The same for who writes it, in the same order.
type WrittenApart<'a> = (&'a [(String, usize)], &'a BTreeMap<Name, BodyNames>);

/// What a line says of a cell that has run, in the order of [`Told`].
type Written<'a> = (
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

/// The same for who reads it.
#[derive(Deserialize)]
struct Told {
    id: Option<CompactString>,
    index: usize,
    source: SourceDigest,
    count: Option<u32>,
    state: State,
    #[serde(with = "crate::encoding::seconds")]
    duration: Duration,
    is_twin: bool,
    trace: Option<OuterTrace>,
    /// Whether something of it lies apart, in the line before.
    is_apart: bool,
}

impl Told {
    fn with(self, apart: Apart) -> RanCell {
        let Told { id, index, source, count, state, duration, is_twin, trace, is_apart: _ } = self;
        let Apart { displays, later } = apart;
        let trace = trace.map(|trace| trace.with(later));
        RanCell { id, index, source, count, state, duration, displays, is_twin, trace }
    }
}

/// A line begins with its separator: one that could not be written to its end costs no other.
pub(super) fn push_line(text: &mut String, line: &Line<'_>) -> io::Result<()> {
    text.push('\n');
    text.push_str(&serde_json::to_string(line)?);
    Ok(())
}

/// What lies apart comes first: without it, nothing is known of the cell.
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
    // Checked once for the line, and not for each of its texts.
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

/// How much is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// What counts for whoever only looks: each cell, and the one that is open.
    Glance,
    /// What lies apart, too, which cells were of the last run, and what its kernel holds.
    Whole,
}

/// What all lines together say.
pub(super) fn read(file: &mut File, reading: Reading) -> io::Result<Past> {
    let size = file.metadata().map_or(0, |found| found.len().min(MAX_BYTES));
    // One byte more shows the end without asking for more room.
    let mut text = Vec::with_capacity(size as usize + 1);
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    let mut cells = Latest::with_capacity(text.len() / SHORT_BYTES);
    // The last word on a cell of the last run is its last word of all.
    let mut last = BTreeSet::new();
    // Those that ran again since have made what others saw, too.
    let mut held = Held::default();
    let mut apart = None;
    // Of all cells that began, only the last may not have ended; and those that ended after it began.
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
                // The run before was cut off, and this one may do nothing about it.
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
                // Of a cell whose line before cannot be read, nothing is known to who needs it.
                if told.is_apart && own.is_none() && reading == Reading::Whole {
                    continue;
                }
                let cell = told.with(own.unwrap_or_default());
                // Numbers that no run can have: somebody else wrote it.
                if cell.trace.as_ref().is_some_and(|trace| !trace.is_possible()) {
                    continue;
                }
                if let (Reading::Whole, Some(trace)) = (reading, &cell.trace) {
                    held.take(trace);
                }
                let at = cells.put(cell);
                ended_since.push(at);
                if reading == Reading::Whole {
                    last.insert(at);
                }
            }
            // An empty line, one that was cut off or is no text, or one of another inkcell.
            Some(ReadLine::Starts(_)) | None => {}
        }
        apart = None;
    }
    let open = begun.and_then(|line| open_cell(line, &ended_since, &cells));
    Ok(Past { cells: cells.cells, last, open, held })
}

/// The cell that began with this line, unless it is one of those that have ended since.
fn open_cell(line: &[u8], ended: &[usize], cells: &Latest) -> Option<OpenCell> {
    let Some(ReadLine::Starts(open)) = parsed(line) else { return None };
    let is_it = |at: &usize| cells.cells[*at].is_of(open.id.as_deref(), open.index);
    (!ended.iter().any(is_it)).then_some(open)
}
