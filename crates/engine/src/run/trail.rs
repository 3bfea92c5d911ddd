//! The records that a run leaves for later questions about staleness, and the choice of cells in a run of stale cells.
//!
//! Owns the records of the notebook's cells while it runs, and the names that its kernel holds. `staleness` decides
//! what is stale; `file.rs` owns the file.

use std::collections::{BTreeSet, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use inkcell_kernel::CodeNames;
use inkcell_notebook::{CellView, Notebook};

use super::cell_records::{Behind, FilesNow, Records, can_run, standing};
use super::record::{Latest, RanCell, SourceDigest};
use crate::run::staleness::{EndedExecution, ExecutionTrace, Goal, KernelNames, marks, needed};
use crate::types::{Freshness, Generation, StaleReason};

/// Which of the planned cells run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Choosing {
    #[default]
    All,
    /// Cells that are not fresh, and the cells they need.
    Stale,
    /// Cells with these numbers in the run, and the cells they need.
    Needed(BTreeSet<usize>),
}

#[derive(Debug, Default)]
pub(crate) struct Trail {
    choosing: Choosing,
    records: Latest,
    /// Records that another kernel's run of the same cell has replaced.
    earlier: Vec<RanCell>,
    /// Place of the record for each number of results.
    by_made: HashMap<u64, usize>,
    /// The cells that can run, by id and position, as the run began.
    order: Vec<(Option<String>, usize)>,
    above: Above,
    held: KernelNames,
    kernel: Option<Generation>,
    /// True if the kernel will be a copy of the one that `held` describes.
    is_copy: bool,
    /// The kernel's answers about sources before they ran, by digest: names, or that they cannot be known.
    foreseen: HashMap<SourceDigest, Option<CodeNames>>,
    /// Why each cell runs or does not, by its number in the run; empty before the first decision.
    whys: Vec<StaleReason>,
    is_to_be_decided: bool,
    /// Numbers of cells that have failed. Cells that depend on them do not run.
    failed: BTreeSet<usize>,
    /// Files read by cells that need not run, as they were at the decision.
    files: FilesNow,
    /// Executions of this run have greater numbers.
    began: u64,
}

/// Facts about a cell that has ended.
#[derive(Clone, Copy)]
pub(crate) struct EndedCell<'a> {
    pub(crate) number: usize,
    pub(crate) names: Option<&'a CodeNames>,
    pub(crate) at: SystemTime,
}

/// The executions of all cells above one. Cells run in the order of the notebook, so it only grows.
#[derive(Debug, Default)]
struct Above {
    kernel: Option<Generation>,
    /// Number of cells covered so far.
    cells: usize,
    /// True if one of them has not run in this kernel as recorded.
    is_any_missing: bool,
    last: Option<u64>,
}

impl Trail {
    pub(crate) fn new(
        choosing: Choosing,
        records: Vec<RanCell>,
        mut held: KernelNames,
        notebook: &Notebook,
    ) -> Trail {
        records.iter().filter_map(|ran| ran.trace.as_ref()).for_each(|trace| held.after(trace.ran));
        let is_to_be_decided = choosing != Choosing::All;
        let began = held.last();
        let name = |cell: CellView<'_>| (cell.id().map(|id| id.into_owned()), cell.index());
        let order: Vec<_> = notebook.cells().filter(can_run).map(name).collect();
        let mut records: Latest = records.into_iter().collect();
        // A record holds the position of its cell at the time of the run.
        for (id, index) in &order {
            if let Some(known) =
                records.of(id.as_deref(), *index).filter(|known| known.index != *index)
            {
                let known = RanCell { index: *index, ..known.clone() };
                records.put(known);
            }
        }
        let made = |(at, ran): (usize, &RanCell)| Some((ran.trace.as_ref()?.made(), at));
        let by_made = records.cells().iter().enumerate().filter_map(made).collect();
        Trail {
            by_made,
            order,
            choosing,
            records,
            held,
            is_to_be_decided,
            began,
            ..Trail::default()
        }
    }

    /// Takes the records that runs in other kernels have replaced.
    pub(crate) fn with_earlier(self, earlier: Vec<RanCell>) -> Trail {
        Trail { earlier, ..self }
    }

    /// Returns true if this kernel ran the cell at a position, and another kernel ran it later.
    pub(crate) fn is_outdated(&self, index: usize, kernel: &Generation) -> bool {
        let named = self.order.iter().find(|(_, at)| *at == index);
        let Some(id) = named.map(|(id, _)| id.as_deref()) else { return false };
        let trace = self.records.of(id, index).and_then(|latest| latest.trace.as_ref());
        trace.is_some_and(|trace| trace.kernel != *kernel)
            && self.earlier.iter().any(|ran| ran.is_of(id, index) && ran.is_made_in(kernel))
    }

    /// Continues in a copy of the last run's kernel.
    pub(crate) fn in_copy(self) -> Trail {
        Trail { is_copy: true, ..self }
    }

    /// Switches to this kernel. A new kernel holds no names.
    pub(crate) fn in_kernel(&mut self, kernel: Option<Generation>) {
        match &kernel {
            Some(copy) if std::mem::take(&mut self.is_copy) => self.held.go_on_in(copy),
            // The kernel does not exist yet.
            None if self.is_copy => {}
            _ => self.held.in_kernel(kernel.as_ref()),
        }
        // A kernel that was just started for the current decision held nothing at that time, either.
        if self.kernel.is_some() && self.kernel != kernel {
            self.is_to_be_decided = self.choosing != Choosing::All;
        }
        self.kernel = kernel;
    }

    /// Returns true if the choice of cells must be decided again before this one.
    pub(crate) fn must_decide(&self, number: usize) -> bool {
        let is_any_left_out =
            || self.whys.is_empty() || self.whys.iter().skip(number).any(StaleReason::is_left_out);
        self.is_to_be_decided && (is_any_left_out() || !self.failed.is_empty())
    }

    /// Returns true if the run is one of stale cells.
    pub(crate) fn is_of_stale(&self) -> bool {
        self.choosing == Choosing::Stale
    }

    /// Blocks the cells that depend on this one, which has failed.
    pub(crate) fn fail(&mut self, number: usize) {
        self.failed.insert(number);
        self.is_to_be_decided = true;
    }

    /// Sources that will run and whose names are unknown. Empty if all cells run.
    pub(crate) fn unforeseen(&self, notebook: &Notebook) -> Vec<String> {
        if self.choosing == Choosing::All {
            return Vec::new();
        }
        let records = Records::new(self.records.cells());
        let cells = notebook.cells().filter(can_run);
        let is_new = |id: Option<&str>, index, source: &str| {
            let own = SourceDigest::of(source);
            let is_known = records.of(id, index).is_some_and(|record| record.source == own);
            !is_known && !self.foreseen.contains_key(&own)
        };
        let sources = cells.map(|cell| (cell.id(), cell.index(), cell.source().text.into_owned()));
        let new = sources.filter(|(id, index, source)| is_new(id.as_deref(), *index, source));
        new.map(|(_, _, source)| source).collect()
    }

    /// Records the kernel's answer about a source that has not run.
    pub(crate) fn foresee(&mut self, source: &str, names: Option<CodeNames>) {
        self.foreseen.insert(SourceDigest::of(source), names);
    }

    /// Decides which cells run. `places` holds the current positions of the planned cells.
    pub(crate) fn decide(&mut self, from: usize, notebook: &Notebook, places: &[Option<usize>]) {
        self.is_to_be_decided = false;
        let records = Records::new(self.records.cells());
        // Outputs of this run are safe, but maybe not in the file yet.
        let behind = Behind::After(self.began);
        self.files = FilesNow::default();
        let cells = standing(notebook, &records, behind, &self.foreseen);
        let marks = marks(&cells, |file| self.files.is_changed(file));
        let at = |number: &usize| places.get(*number).copied().flatten();
        let meant: BTreeSet<usize> = match &self.choosing {
            Choosing::Needed(chosen) => chosen.range(from..).filter_map(at).collect(),
            Choosing::All | Choosing::Stale => self.failed.iter().filter_map(at).collect(),
        };
        let goal = match self.choosing {
            Choosing::Needed(_) => Goal::Run(&meant),
            Choosing::All | Choosing::Stale => Goal::Fresh(&meant),
        };
        let otherwise = |number: usize| match &self.choosing {
            Choosing::Needed(chosen) if chosen.contains(&number) => StaleReason::Chosen,
            Choosing::Needed(_) => StaleReason::Unneeded,
            Choosing::All | Choosing::Stale => StaleReason::Marked(Freshness::Fresh),
        };
        let whys = needed(&cells, &marks, &self.held, goal);
        let by_index: HashMap<usize, StaleReason> =
            cells.iter().zip(whys).filter_map(|(cell, why)| Some((cell.index, why?))).collect();
        for (number, place) in places.iter().enumerate().skip(from) {
            let why = place.and_then(|place| by_index.get(&place));
            let why = why.cloned().unwrap_or_else(|| otherwise(number));
            match self.whys.get_mut(number) {
                Some(old) => *old = why,
                None => self.whys.push(why),
            }
        }
    }

    /// Why a cell runs or does not; `None` unless the run chooses its cells.
    pub(crate) fn why(&self, number: usize) -> Option<&StaleReason> {
        self.whys.get(number)
    }

    /// Names that the code of a cell replaces or deletes without reading them.
    pub(crate) fn overwritten<'a>(&'a self, names: &'a CodeNames) -> BTreeSet<&'a str> {
        self.held.overwritten(names)
    }

    /// Takes a cell that has ended and completes its record.
    pub(crate) fn end(&mut self, ran: &mut RanCell, ended: EndedCell<'_>) {
        let last_above = match ended.names {
            None => self.last_above(ran.index),
            Some(_) => None,
        };
        let old = self.records.of(ran.id.as_deref(), ran.index);
        let old = old.filter(|old| old.source == ran.source).and_then(|old| old.trace.as_ref());
        let is_again = matches!(self.whys.get(ended.number), Some(StaleReason::Needed { .. }));
        let micros = ended.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let trace = self.kernel.as_ref().map(|kernel| {
            let again = old.filter(|_| is_again);
            let is_above = |made: u64| {
                let known = self.by_made.get(&made).and_then(|at| self.records.cells().get(*at));
                known.is_some_and(|known| known.index < ran.index)
            };
            let names = ended.names;
            self.held.end(
                kernel,
                EndedExecution { names, micros, again, is_above: &is_above, last_above },
            )
        });
        let foreseen = self.foreseen.get(&ran.source).and_then(Option::as_ref);
        let is_foreseen = match (&trace, foreseen, old) {
            (Some(trace), Some(names), _) => is_as_foreseen(trace, names),
            // Its earlier names count as a prediction only for the same source.
            (Some(trace), None, Some(old)) => trace.makes == old.makes && trace.later == old.later,
            _ => false,
        };
        // It may have written a file that a cell below has read.
        let is_other = || !is_foreseen || self.files.is_any_changed();
        self.is_to_be_decided |= self.choosing != Choosing::All && is_other();
        ran.trace = trace;
        let made = ran.trace.as_ref().map(ExecutionTrace::made);
        let at = self.records.put(ran.clone());
        self.by_made.extend(made.map(|made| (made, at)));
    }

    /// The last execution of all cells above a position; `None` if one of them did not run in this kernel.
    fn last_above(&mut self, index: usize) -> Option<u64> {
        let above = &mut self.above;
        let is_passed = above.cells.checked_sub(1).is_some_and(|last| self.order[last].1 >= index);
        if above.kernel != self.kernel || is_passed {
            *above = Above { kernel: self.kernel.clone(), ..Above::default() };
        }
        while let Some((id, at)) = self.order.get(above.cells).filter(|(_, at)| *at < index) {
            let trace = self.records.of(id.as_deref(), *at).and_then(|known| known.trace.as_ref());
            let made = trace.map(ExecutionTrace::made).filter(|made| self.held.has_done(*made));
            above.is_any_missing |= made.is_none();
            above.last = above.last.max(made);
            above.cells += 1;
        }
        above.last.filter(|_| !above.is_any_missing)
    }
}

/// Returns true if a cell has made exactly the predicted names.
fn is_as_foreseen(trace: &ExecutionTrace, names: &CodeNames) -> bool {
    let Some(makes) = &trace.makes else { return false };
    names.makes.iter().all(|name| makes.contains(name))
        && makes.iter().all(|name| names.makes.contains(name))
        && trace.later == names.later
}
