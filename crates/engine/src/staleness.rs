//! Which cells of a notebook are stale, and why: decided from what is on record about their executions. Pure.
//!
//! The contract, in five points:
//! 1. A record of a cell has `source` (a digest), `count`, `state` and `trace`: `{"kernel": which one, "ran": a number
//!    that grows with every execution, "made": that number, or an earlier one whose work it did again, "saw": {name: the
//!    "made" it came from, or null}, "makes": [names], "later": {function: {"uses", "makes"}}, "files": [[path, size,
//!    mtime]]}`; without `makes` its names are unknown, and `saw` has `*`, which stands for all cells above it. So it is in
//!    the metadata of a cell; the state folder has the same as arrays, see `run/record/lines.rs`.
//! 2. A cell is *fresh* when it ran as it is, ended well, and saw of every name what the nearest cell above it that makes
//!    the name has made, which is fresh itself; the order in the notebook is the order that counts.
//! 3. Otherwise it is *never run*, *changed*, *failed*, *unknown* (another program ran it), *out of order* (it saw what
//!    another cell had made) or *stale* (because of a name, a cell or a file).
//! 4. A cell whose names are unknown may use and make everything. A cell that has not run as it is makes what it made.
//! 5. Needed is what is not fresh, and what makes a name for one of those where the kernel does not hold it as the
//!    notebook has it. It is decided anew after every cell whose names were not foreseen.

mod held;
mod need;
mod saw;

use std::collections::{BTreeMap, HashMap};

use compact_str::{CompactString, format_compact};
use inkcell_kernel::{BodyNames, CodeNames, FileRead, Name};
use serde::{Deserialize, Serialize};

use crate::api::State;

pub(crate) use held::{Ended, Held};
pub(crate) use need::needed;
pub(crate) use saw::Saw;

/// Stands for all cells above in what a cell saw whose names are unknown.
pub(crate) const EVERYTHING: &str = "*";

/// Numbers of executions yet to come are at least this one.
const TO_COME: u64 = 1 << 63;

/// No execution that has ended has a greater number.
const LAST_RAN: u64 = TO_COME - 1;

/// Names one kernel among all there ever were.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Generation(pub CompactString);

impl Generation {
    /// One that no other kernel has.
    pub(crate) fn random() -> Generation {
        Generation(format_compact!("{:016x}", crate::notebooks::system_random()))
    }
}

/// One execution of a cell, as far as other cells are concerned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// The kernel it ran in.
    pub kernel: Generation,
    /// A number that is greater for later executions.
    pub ran: u64,
    /// The number by which what it made is known, where that is not its own: it did the work of that one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<u64>,
    /// Where the values of the names that it used came from; nothing where that is not known.
    #[serde(default, skip_serializing_if = "Saw::is_empty")]
    pub(crate) saw: Saw,
    /// The names it bound or changed; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub makes: Option<Vec<Name>>,
    /// What the bodies of its functions take.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub later: BTreeMap<Name, BodyNames>,
    /// Files it read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRead>,
}

impl Trace {
    /// The number by which what it made is known.
    pub fn made(&self) -> u64 {
        self.made.unwrap_or(self.ran)
    }

    /// Whether an inkcell can have written it: a file may hold whatever somebody put there.
    pub(crate) fn is_possible(&self) -> bool {
        let seen = self.saw.iter().filter_map(|(_, made)| made);
        seen.chain(self.made).chain([self.ran]).all(|number| number <= LAST_RAN)
    }
}

/// A trace without what the bodies of functions take.
#[derive(Deserialize)]
pub(crate) struct OuterTrace {
    kernel: Generation,
    ran: u64,
    made: Option<u64>,
    saw: Saw,
    makes: Option<Vec<Name>>,
    files: Vec<FileRead>,
}

/// The same for who writes it, in the same order.
pub(crate) type OuterParts<'a> =
    (&'a Generation, u64, Option<u64>, &'a Saw, &'a Option<Vec<Name>>, &'a [FileRead]);

impl OuterTrace {
    pub(crate) fn of(trace: &Trace) -> OuterParts<'_> {
        let Trace { kernel, ran, made, saw, makes, files, later: _ } = trace;
        (kernel, *ran, *made, saw, makes, files)
    }

    pub(crate) fn with(self, later: BTreeMap<Name, BodyNames>) -> Trace {
        let OuterTrace { kernel, ran, made, saw, makes, files } = self;
        Trace { kernel, ran, made, saw, makes, later, files }
    }
}

/// What is known of a cell that ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// Whether what ran is what the cell holds now.
    pub(crate) is_same: bool,
    pub(crate) state: State,
    pub(crate) trace: Option<&'a Trace>,
}

/// A cell of the notebook that can be run, in the order of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellNow<'a> {
    /// Where it stands.
    pub(crate) index: usize,
    pub(crate) known: Option<Known<'a>>,
    /// What the file itself shows of runs.
    pub(crate) shows: Shows,
    /// How it may end and still be well.
    pub(crate) may_fail: bool,
    /// Its names, where somebody who can tell was asked before it runs.
    pub(crate) foreseen: Option<&'a CodeNames>,
}

/// What the file shows of the runs of a cell, compared with what is on record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shows {
    /// What the record says, or what is not in the file yet.
    Recorded,
    /// No run at all.
    Nothing,
    /// A run that nothing is known of.
    Another,
}

impl<'a> CellNow<'a> {
    fn trace(&self) -> Option<&'a Trace> {
        self.known?.trace
    }

    /// The names that it makes, or made when it was another; none where nobody knows.
    fn makes(&self) -> Option<&'a [Name]> {
        match self.foreseen {
            Some(names) => Some(&names.makes),
            None => self.trace()?.makes.as_deref(),
        }
    }

    /// What the body of one of its functions takes.
    fn body(&self, name: &str) -> Option<&'a BodyNames> {
        match self.foreseen {
            Some(names) => names.later.get(name),
            None => self.trace()?.later.get(name),
        }
    }
}

/// What there is to say about a cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// It ran as it is, on what the cells above it made.
    Fresh,
    /// The file shows no run of it.
    NeverRun,
    /// The file shows a run of which nothing is known.
    Unknown,
    /// Its source is not what ran.
    Changed,
    /// It did not end well.
    Failed,
    /// What it used is not what there would be now.
    Stale(Because),
    /// It used what a cell had made that is not the one above it.
    OutOfOrder(Because),
}

/// Why a cell is stale.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// Of a name.
    Name {
        /// Which.
        name: String,
        /// The cell that makes it; none where no cell does any more.
        cell: Option<usize>,
    },
    /// Of a cell, whatever it makes.
    Cell(usize),
    /// Of a file that it read and that is not what it was.
    File(String),
}

/// Why a cell of a run of stale cells was run, or not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Of itself; one that is fresh was left out.
    Marked(Freshness),
    /// It makes what another cell needs, and the kernel does not hold it as the notebook has it.
    Needed {
        /// The name, where it is known.
        name: Option<String>,
        /// The cell that needs it.
        by: usize,
    },
}

impl Why {
    /// Whether the cell was left out, since it is fresh.
    pub fn is_left_out(&self) -> bool {
        *self == Why::Marked(Freshness::Fresh)
    }
}

/// Which cell makes a name, for whoever stands below.
#[derive(Default)]
struct Makers<'a> {
    by_name: HashMap<&'a str, usize>,
    /// The last cell that may have made everything.
    all: Option<usize>,
}

impl<'a> Makers<'a> {
    /// The place of the nearest cell above that makes this name.
    fn of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().or(self.all)
    }

    /// Goes on below a cell.
    fn pass(&mut self, place: usize, cell: &CellNow<'a>) {
        match (cell.makes(), cell.trace()) {
            (Some(names), _) => {
                self.by_name.extend(names.iter().map(|name| (name.as_str(), place)));
            }
            (None, Some(_)) => {
                self.by_name.clear();
                self.all = Some(place);
            }
            // What it will make is seen when it has.
            (None, None) => {}
        }
    }
}

/// What there is to say about each cell. `is_changed` tells whether a file is not what it was.
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
            let seen = Seen { cells, marks: &marks, makers: &makers, by_made: &by_made };
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

/// What there is to say about a cell whatever the others are; its last execution, if that is not all.
fn own_mark<'a>(cell: &CellNow<'a>) -> Result<Freshness, &'a Trace> {
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

/// All cells above one.
#[derive(Default)]
struct Above {
    /// The first that is not fresh.
    first: Option<usize>,
    /// The one that made something last.
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

/// What a cell is compared with.
struct Seen<'a, 'b> {
    cells: &'b [CellNow<'a>],
    marks: &'b [Freshness],
    makers: &'b Makers<'a>,
    by_made: &'b HashMap<u64, usize>,
}

impl Seen<'_, '_> {
    /// A cell whose names are unknown is fresh when all above it are, and ran before it.
    fn everything(&self, trace: &Trace, above: &Above) -> Option<Freshness> {
        let saw = trace.saw.get(EVERYTHING)?;
        let last = above.last.map(|(made, _)| made);
        let because = match above.first {
            Some(first) => Some(first),
            None if saw == last => None,
            None => above.last.map(|(_, index)| index),
        };
        because.map(|index| Freshness::Stale(Because::Cell(index)))
    }

    fn names(&self, cell: &CellNow<'_>, trace: &Trace) -> Option<Freshness> {
        let names = trace.saw.iter().filter(|(name, _)| *name != EVERYTHING);
        names.filter_map(|(name, saw)| self.name(cell.index, name, saw)).next()
    }

    fn name(&self, index: usize, name: &str, saw: Option<u64>) -> Option<Freshness> {
        let because = |cell| Because::Name { name: name.to_owned(), cell };
        let maker = self.makers.of(name);
        let is_right = match maker {
            Some(maker) => saw == self.cells[maker].trace().map(Trace::made),
            None => saw.is_none(),
        };
        let is_fresh = maker.is_none_or(|maker| self.marks[maker] == Freshness::Fresh);
        let maker = maker.map(|maker| self.cells[maker].index);
        if is_right {
            return (!is_fresh).then(|| Freshness::Stale(because(maker)));
        }
        // Whoever made it is still there, and is not the one above.
        let other = saw.and_then(|made| self.by_made.get(&made)).copied();
        match other.filter(|other| Some(*other) != maker && *other != index) {
            Some(other) if is_fresh => Some(Freshness::OutOfOrder(because(Some(other)))),
            _ => Some(Freshness::Stale(because(maker))),
        }
    }
}

#[cfg(test)]
mod tests;
