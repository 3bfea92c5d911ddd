//! Which cells of a notebook are stale, and why, decided from the records of their executions. Pure.
//!
//! The contract, in five points:
//! 1. The record of a cell has `source` (a digest), `count`, `state` and `trace`: `{"kernel": which one, "ran": a number
//!    that grows with every execution, "made": that number, or an earlier one whose work it repeated, "saw": {name: the
//!    "made" it came from, or null}, "makes": [names], "later": {function: {"uses", "makes"}}, "files": [[path, size,
//!    mtime]]}`. Without `makes` its names are unknown, and `saw` has `*`, which stands for all cells above it. The
//!    metadata of a cell hold this form; the state folder holds the same as arrays, see `run/record/lines.rs`.
//! 2. A cell is *fresh* if it ran with its current source, ended well, and saw each name as made by the nearest cell
//!    above it that makes the name, which must be fresh itself. The order in the notebook is the order that counts.
//! 3. Otherwise it is *never run*, *changed*, *failed*, *unknown* (another program ran it), *out of order* (it saw a
//!    value from another cell) or *stale* (because of a name, a cell or a file).
//! 4. A cell whose names are unknown may use and make everything. A cell that has not run with its current source
//!    makes the names of its last run.
//! 5. Needed are the cells that are not fresh, and those that make a name for one of them where the kernel does not
//!    hold it as the notebook has it. The run decides again after every cell with unforeseen names. A cell that the
//!    kernel was not asked about may use any name, so all names must be held as the notebook has them.

mod held;
mod needed_cells;
mod saw;

use std::collections::{BTreeMap, HashMap};

use inkcell_kernel::{BodyNames, CodeNames, FileRead, Name};
use serde::{Deserialize, Serialize};

use crate::types::{Because, Freshness, Generation, State};

pub(crate) use held::{EndedExecution, KernelNames};
pub(crate) use needed_cells::{Goal, needed};
pub(crate) use saw::Saw;

/// Stands for all cells above in the `saw` of a cell whose names are unknown.
pub(crate) const EVERYTHING: &str = "*";

/// Numbers from here on stand for executions of the future.
const TO_COME: u64 = 1 << 63;

/// The greatest number of an execution that has ended.
const LAST_RAN: u64 = TO_COME - 1;

/// One execution of a cell, as far as it concerns other cells.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ExecutionTrace {
    /// The kernel that ran the cell; values of another kernel are gone.
    pub kernel: Generation,
    /// Greater for later executions, in whatever kernel.
    pub ran: u64,
    /// The number under which its results are known, if that is an earlier one: this execution repeated its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<u64>,
    /// The names it used, with the executions their values came from; empty where that is unknown.
    #[serde(default, skip_serializing_if = "Saw::is_empty")]
    pub(crate) saw: Saw,
    /// The names it bound or changed; `None` where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub makes: Option<Vec<Name>>,
    /// The names that the bodies of its functions use and make.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub later: BTreeMap<Name, BodyNames>,
    /// The files that the cell read, with their state at that time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRead>,
}

impl ExecutionTrace {
    /// The number under which its results are known.
    pub fn made(&self) -> u64 {
        self.made.unwrap_or(self.ran)
    }

    /// Returns true if inkcell can have written this trace: a file may hold any numbers.
    pub(crate) fn is_possible(&self) -> bool {
        let seen = self.saw.iter().filter_map(|(_, made)| made);
        seen.chain(self.made).chain([self.ran]).all(|number| number <= LAST_RAN)
    }
}

/// A trace without the names in function bodies.
#[derive(Deserialize)]
pub(crate) struct OuterTrace {
    kernel: Generation,
    ran: u64,
    made: Option<u64>,
    saw: Saw,
    makes: Option<Vec<Name>>,
    files: Vec<FileRead>,
}

/// [`OuterTrace`] as written, in the same order.
pub(crate) type OuterParts<'a> =
    (&'a Generation, u64, Option<u64>, &'a Saw, &'a Option<Vec<Name>>, &'a [FileRead]);

impl OuterTrace {
    pub(crate) fn of(trace: &ExecutionTrace) -> OuterParts<'_> {
        let ExecutionTrace { kernel, ran, made, saw, makes, files, later: _ } = trace;
        (kernel, *ran, *made, saw, makes, files)
    }

    pub(crate) fn with(self, later: BTreeMap<Name, BodyNames>) -> ExecutionTrace {
        let OuterTrace { kernel, ran, made, saw, makes, files } = self;
        ExecutionTrace { kernel, ran, made, saw, makes, later, files }
    }
}

/// The record of a cell, as far as staleness needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownRun<'a> {
    /// True if the source has not changed since the run.
    pub(crate) is_same: bool,
    pub(crate) state: State,
    pub(crate) trace: Option<&'a ExecutionTrace>,
}

/// A cell of the notebook that can run, in the order of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellNow<'a> {
    pub(crate) index: usize,
    pub(crate) known: Option<KnownRun<'a>>,
    /// The run that the file itself shows.
    pub(crate) shows: Shows,
    /// True if a tag allows the cell to fail.
    pub(crate) may_fail: bool,
    /// The kernel's answer before the cell runs: its names, or that they cannot be known. `None` without an answer.
    pub(crate) foreseen: Option<Option<&'a CodeNames>>,
}

/// The run that the file shows for a cell, compared with the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shows {
    /// The recorded run, or one whose outputs are not in the file yet.
    Recorded,
    /// No run at all.
    Nothing,
    /// A run without a record.
    Another,
}

impl<'a> CellNow<'a> {
    fn trace(&self) -> Option<&'a ExecutionTrace> {
        self.known?.trace
    }

    /// The names that this cell makes, or made with its earlier source; `None` if unknown.
    fn makes(&self) -> Option<&'a [Name]> {
        match self.foreseen.flatten() {
            Some(names) => Some(&names.makes),
            None => self.trace()?.makes.as_deref(),
        }
    }

    /// The names in the body of one of its functions.
    fn body(&self, name: &str) -> Option<&'a BodyNames> {
        match self.foreseen.flatten() {
            Some(names) => names.later.get(name),
            None => self.trace()?.later.get(name),
        }
    }

    /// Returns true if it may turn out to use any name, because neither a run nor the kernel has told.
    fn is_unforeseen(&self) -> bool {
        self.foreseen.is_none() && !self.known.is_some_and(|known| known.is_same)
    }
}

/// Maps names to the cells that make them, for cells below.
#[derive(Default)]
struct Makers<'a> {
    by_name: HashMap<&'a str, usize>,
    /// The last cell that may have made everything.
    all: Option<usize>,
}

impl<'a> Makers<'a> {
    /// The nearest cell above that makes this name.
    fn of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().or(self.all)
    }

    /// Adds the names of a cell before the walk goes on below it.
    fn pass(&mut self, place: usize, cell: &CellNow<'a>) {
        match (cell.makes(), cell.trace()) {
            (Some(names), _) => {
                self.by_name.extend(names.iter().map(|name| (name.as_str(), place)));
            }
            (None, Some(_)) => {
                self.by_name.clear();
                self.all = Some(place);
            }
            // The names of a cell that never ran show once it runs.
            (None, None) => {}
        }
    }
}

/// Decides the freshness of each cell. `is_changed` returns true if a file has changed since it was read.
pub(crate) fn marks(
    cells: &[CellNow<'_>],
    is_changed: impl Fn(&FileRead) -> bool,
) -> Vec<Freshness> {
    let by_made: HashMap<u64, usize> =
        cells.iter().filter_map(|cell| Some((cell.trace()?.made(), cell.index))).collect();
    let mut makers = Makers::default();
    let mut above = Above::default();
    let mut marks: Vec<Freshness> = Vec::with_capacity(cells.len());
    for (place, cell) in cells.iter().enumerate() {
        let mark = own_mark(cell).unwrap_or_else(|trace| {
            let seen = Comparison { cells, marks: &marks, makers: &makers, by_made: &by_made };
            let stale = seen.everything(trace, &above).or_else(|| seen.names(cell, trace));
            let file = || trace.files.iter().find(|file| is_changed(file));
            stale
                .or_else(|| Some(Freshness::Stale(Because::File(file()?.0.clone()))))
                .unwrap_or(Freshness::Fresh)
        });
        above.pass(cell, &mark);
        makers.pass(place, cell);
        marks.push(mark);
    }
    marks
}

/// The freshness that a cell has regardless of all others; if that does not decide, its last execution.
fn own_mark<'a>(cell: &CellNow<'a>) -> Result<Freshness, &'a ExecutionTrace> {
    let Some(known) = cell.known else {
        return Ok(match cell.shows {
            Shows::Another => Freshness::Unknown,
            Shows::Nothing | Shows::Recorded => Freshness::NeverRun,
        });
    };
    if !known.is_same {
        return Ok(Freshness::Changed);
    }
    match (cell.shows, known.state, known.trace) {
        (Shows::Nothing, ..) => Ok(Freshness::NeverRun),
        (Shows::Another, ..) => Ok(Freshness::Unknown),
        (Shows::Recorded, State::Done, Some(trace)) => Err(trace),
        (Shows::Recorded, State::Error, Some(trace)) if cell.may_fail => Err(trace),
        (Shows::Recorded, State::Done, None) => Ok(Freshness::Unknown),
        (Shows::Recorded, ..) => Ok(Freshness::Failed),
    }
}

/// Summary of all cells above one.
#[derive(Default)]
struct Above {
    /// The first that is not fresh.
    first: Option<usize>,
    /// The cell whose results are the newest, with their number.
    last: Option<(u64, usize)>,
}

impl Above {
    fn pass(&mut self, cell: &CellNow<'_>, mark: &Freshness) {
        if *mark != Freshness::Fresh {
            self.first = self.first.or(Some(cell.index));
        }
        let made = cell.trace().map(|trace| (trace.made(), cell.index));
        self.last = self.last.max(made);
    }
}

/// The data that the marks of a cell are decided from.
struct Comparison<'a, 'b> {
    cells: &'b [CellNow<'a>],
    marks: &'b [Freshness],
    makers: &'b Makers<'a>,
    by_made: &'b HashMap<u64, usize>,
}

impl Comparison<'_, '_> {
    /// A cell whose names are unknown is fresh if all cells above it are fresh and ran before it.
    fn everything(&self, trace: &ExecutionTrace, above: &Above) -> Option<Freshness> {
        let saw = trace.saw.get(EVERYTHING)?;
        let last = above.last.map(|(made, _)| made);
        let because = match above.first {
            Some(first) => Some(first),
            None if saw == last => None,
            None => above.last.map(|(_, index)| index),
        };
        because.map(|index| Freshness::Stale(Because::Cell(index)))
    }

    fn names(&self, cell: &CellNow<'_>, trace: &ExecutionTrace) -> Option<Freshness> {
        let names = trace.saw.iter().filter(|(name, _)| *name != EVERYTHING);
        names.filter_map(|(name, saw)| self.name(cell.index, name, saw)).next()
    }

    fn name(&self, index: usize, name: &str, saw: Option<u64>) -> Option<Freshness> {
        let because = |cell| Because::Name { name: name.to_owned(), cell };
        let maker = self.makers.of(name);
        let is_right = match maker {
            Some(maker) => saw == self.cells[maker].trace().map(ExecutionTrace::made),
            None => saw.is_none(),
        };
        let is_fresh = maker.is_none_or(|maker| self.marks[maker] == Freshness::Fresh);
        let maker = maker.map(|maker| self.cells[maker].index);
        if is_right {
            return (!is_fresh).then(|| Freshness::Stale(because(maker)));
        }
        // The cell that made it still exists and is not the one above.
        let other = saw.and_then(|made| self.by_made.get(&made)).copied();
        match other.filter(|other| Some(*other) != maker && *other != index) {
            Some(other) if is_fresh => Some(Freshness::OutOfOrder(because(Some(other)))),
            _ => Some(Freshness::Stale(because(maker))),
        }
    }
}

#[cfg(test)]
mod tests;
