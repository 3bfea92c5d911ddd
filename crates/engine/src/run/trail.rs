//! What a run leaves behind for whoever asks later what is stale, and which cells of a run of stale cells run.
//!
//! Owns the records of the notebook's cells while it runs, and what its kernel holds. What is stale is decided in
//! `staleness`; the file is `file.rs`'s.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use inkcell_kernel::CodeNames;
use inkcell_notebook::Notebook;

use super::known::KnownCell;
use super::record::{RanCell, digest};
use super::standing::{Behind, FilesNow, Records, can_run, standing};
use crate::staleness::{Ended, Freshness, Generation, Held, Trace, Why, marks, needed};

/// Which of the planned cells run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Choosing {
    #[default]
    All,
    /// Those that are not fresh, and what they need.
    Stale,
}

#[derive(Debug, Default)]
pub(crate) struct Trail {
    choosing: Choosing,
    /// The last word on each cell.
    records: Vec<RanCell>,
    held: Held,
    kernel: Option<Generation>,
    /// Whether the kernel will be a copy of the one that what is held comes from.
    is_copy: bool,
    /// Names of sources that somebody was asked for before they run, by their digests.
    foreseen: HashMap<String, CodeNames>,
    /// Why each cell runs or does not, by its number in the run; empty before that was decided.
    whys: Vec<Why>,
    is_to_be_decided: bool,
    /// Executions of this run have greater numbers.
    began: u64,
}

/// What is to be known of a cell that has ended.
pub(crate) struct EndedCell<'a> {
    pub(crate) number: usize,
    pub(crate) names: Option<&'a CodeNames>,
    pub(crate) at: SystemTime,
    /// The cells above it, by id and position, where its names are unknown.
    pub(crate) above: Option<Vec<(Option<String>, usize)>>,
}

impl Trail {
    pub(crate) fn new(choosing: Choosing, records: Vec<RanCell>, mut held: Held) -> Trail {
        records.iter().filter_map(|ran| ran.trace.as_ref()).for_each(|trace| held.after(trace.ran));
        let is_to_be_decided = choosing == Choosing::Stale;
        let began = held.last();
        Trail { choosing, records, held, is_to_be_decided, began, ..Trail::default() }
    }

    /// The same for a run in a copy of the kernel of the last one.
    pub(crate) fn in_copy(self) -> Trail {
        Trail { is_copy: true, ..self }
    }

    /// The kernel is this one. One that has changed holds nothing.
    pub(crate) fn in_kernel(&mut self, kernel: Option<Generation>) {
        match &kernel {
            Some(copy) if std::mem::take(&mut self.is_copy) => self.held.go_on_in(copy),
            // There is no kernel yet.
            None if self.is_copy => {}
            _ => self.held.in_kernel(kernel.as_ref()),
        }
        // A kernel that was just started for what was decided has held nothing then, either.
        if self.kernel.is_some() && self.kernel != kernel {
            self.is_to_be_decided = self.choosing == Choosing::Stale;
        }
        self.kernel = kernel;
    }

    /// Whether it must be decided which cells run before the one of this number.
    pub(crate) fn must_decide(&self, number: usize) -> bool {
        let is_any_left_out =
            self.whys.is_empty() || self.whys.iter().skip(number).any(Why::is_left_out);
        self.is_to_be_decided && is_any_left_out
    }

    /// Sources that will run and whose names nobody knows; none where all cells run.
    pub(crate) fn unforeseen(&self, notebook: &Notebook) -> Vec<String> {
        if self.choosing == Choosing::All {
            return Vec::new();
        }
        let records = Records::new(&self.records);
        let cells = notebook.cells().filter(can_run);
        let is_new = |id: Option<&str>, index, source: &str| {
            let own = digest(source);
            let is_known = records.of(id, index).is_some_and(|record| record.source == own);
            !is_known && !self.foreseen.contains_key(&own)
        };
        let sources = cells.map(|cell| (cell.id(), cell.index(), cell.source().text.into_owned()));
        let new = sources.filter(|(id, index, source)| is_new(id.as_deref(), *index, source));
        new.map(|(_, _, source)| source).collect()
    }

    /// The names of a source that has not run.
    pub(crate) fn foresee(&mut self, source: &str, names: CodeNames) {
        self.foreseen.insert(digest(source), names);
    }

    /// Decides which cells run. `places` are the planned cells, where they are now.
    pub(crate) fn decide(&mut self, from: usize, notebook: &Notebook, places: &[Option<usize>]) {
        self.is_to_be_decided = false;
        let records = Records::new(&self.records);
        // What this run has shown is safe, and maybe not in the file yet.
        let behind = Behind::After(self.began);
        let files = FilesNow::default();
        let cells = standing(notebook, &records, behind, &self.foreseen);
        let marks = marks(&cells, |file| files.is_changed(file));
        let whys = needed(&cells, &marks, &self.held);
        let by_index: HashMap<usize, Why> =
            cells.iter().zip(whys).filter_map(|(cell, why)| Some((cell.index, why?))).collect();
        for (number, place) in places.iter().enumerate().skip(from) {
            let why = place.and_then(|place| by_index.get(&place));
            let why = why.cloned().unwrap_or(Why::Marked(Freshness::Fresh));
            match self.whys.get_mut(number) {
                Some(old) => *old = why,
                None => self.whys.push(why),
            }
        }
    }

    /// Why a cell runs, or was left out; nothing where stale cells were not asked for.
    pub(crate) fn why(&self, number: usize) -> Option<&Why> {
        self.whys.get(number)
    }

    /// Takes a cell that has ended, whose record is complete then.
    pub(crate) fn end(&mut self, ran: &mut RanCell, ended: EndedCell<'_>) {
        let of = |id: Option<&str>, index| self.records.iter().find(|old| old.is_of(id, index));
        let old = of(ran.id.as_deref(), ran.index);
        let old = old.filter(|old| old.source == ran.source).and_then(|old| old.trace.as_ref());
        let is_again = matches!(self.whys.get(ended.number), Some(Why::Needed { .. }));
        let above: Option<Vec<u64>> = ended.above.and_then(|above| {
            let made = |(id, index): &(Option<String>, usize)| {
                of(id.as_deref(), *index)?.trace.as_ref().map(Trace::made)
            };
            above.iter().map(made).collect()
        });
        let micros = ended.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let trace = self.kernel.as_ref().map(|kernel| {
            let again = old.filter(|_| is_again);
            let (names, above) = (ended.names, above.as_deref());
            self.held.end(kernel, Ended { names, micros, again, above })
        });
        // What it made before counts as foreseen only where it is what ran then.
        let foreseen = self.foreseen.get(&ran.source).map(|names| Some(&names.makes));
        let foreseen = foreseen.or_else(|| old.map(|old| old.makes.as_ref()));
        let made = trace.as_ref().map(|trace| trace.makes.as_ref());
        let is_foreseen = made.is_some() && made == foreseen;
        self.is_to_be_decided |= self.choosing == Choosing::Stale && !is_foreseen;
        ran.trace = trace;
        let is_it = |old: &RanCell| old.is_of(ran.id.as_deref(), ran.index);
        match self.records.iter_mut().find(|old| is_it(old)) {
            Some(old) => *old = ran.clone(),
            None => self.records.push(ran.clone()),
        }
    }
}

/// The cells with code above one, by id and position.
pub(crate) fn above(notebook: &Notebook, cell: &KnownCell) -> Vec<(Option<String>, usize)> {
    let cells = notebook.cells().take(cell.index).filter(can_run);
    cells.map(|cell| (cell.id().map(|id| id.into_owned()), cell.index())).collect()
}
