//! Identifies cells in a notebook that other programs may change during a run.
//!
//! Owns how a cell is found again. Callers decide what to do with it.

use std::cell::OnceCell;

use inkcell_notebook::{CellKind, CellView, Notebook, pairs};

/// A cell as it was when the notebook was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KnownCell {
    pub(crate) id: Option<String>,
    pub(crate) index: usize,
    pub(crate) source: String,
    /// Position when the run was planned, for cells of the run.
    pub(crate) planned: Option<usize>,
}

/// Result of looking for a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CellMatch {
    /// Found, with the same source.
    Same(usize),
    /// Found, with another source or kind.
    Changed(usize),
    Gone,
}

impl CellMatch {
    pub(crate) fn index(self) -> Option<usize> {
        match self {
            CellMatch::Same(index) | CellMatch::Changed(index) => Some(index),
            CellMatch::Gone => None,
        }
    }
}

impl KnownCell {
    pub(crate) fn of(cell: &CellView<'_>) -> KnownCell {
        KnownCell {
            id: cell.id().map(|id| id.into_owned()),
            index: cell.index(),
            source: cell.source().text.into_owned(),
            planned: None,
        }
    }

    /// Returns true if both are the same cell, whatever its source.
    pub(crate) fn is_same_place(&self, other: &KnownCell) -> bool {
        match (&self.id, &other.id) {
            // Two cells may share an id.
            (Some(one), Some(two)) => one == two && self.index == other.index,
            (None, None) => self.index == other.index,
            _ => false,
        }
    }

    fn compare(&self, cell: &CellView<'_>) -> CellMatch {
        let is_same = cell.kind() == Some(CellKind::Code) && cell.source().text == self.source;
        if is_same { CellMatch::Same(cell.index()) } else { CellMatch::Changed(cell.index()) }
    }
}

/// Finds cells in the current notebook, with the help of the planned notebook if it is known.
pub(crate) struct CellFinder<'a> {
    now: &'a Notebook,
    planned: Option<&'a Notebook>,
    /// Current position of each planned cell.
    places: OnceCell<Vec<Option<usize>>>,
}

impl<'a> CellFinder<'a> {
    pub(crate) fn new(now: &'a Notebook, planned: Option<&'a Notebook>) -> CellFinder<'a> {
        CellFinder { now, planned, places: OnceCell::new() }
    }

    /// Finds a cell. A unique id identifies its cell. Other cells are identified by their order: two may hold the same
    /// code, and a cell inserted above moves all of them.
    pub(crate) fn find(&self, known: &KnownCell) -> CellMatch {
        if let Some(id) = &known.id {
            let mut named = self.now.cells().filter(|cell| cell.id().as_deref() == Some(id));
            match (named.next(), named.next()) {
                (Some(cell), None) => return known.compare(&cell),
                (None, _) => return CellMatch::Gone,
                (Some(_), Some(_)) => {}
            }
        }
        match (self.planned, known.planned) {
            (Some(planned), Some(at)) => {
                let places = self.places.get_or_init(|| places(planned, self.now));
                let here = places.get(at).copied().flatten().and_then(|at| self.now.cell(at));
                here.map_or(CellMatch::Gone, |cell| known.compare(&cell))
            }
            _ => self.guess(known),
        }
    }

    /// Guesses by position, or by source if no other cell has the same.
    fn guess(&self, known: &KnownCell) -> CellMatch {
        let here = self.now.cell(known.index);
        if let Some(cell) = &here
            && let same @ CellMatch::Same(_) = known.compare(cell)
        {
            return same;
        }
        let is_same = |cell: &CellView<'_>| known.compare(cell) == CellMatch::Same(cell.index());
        let mut same = self.now.cells().filter(is_same);
        match (same.next(), same.next(), here) {
            (Some(cell), None, _) => CellMatch::Same(cell.index()),
            (_, _, Some(cell)) => CellMatch::Changed(cell.index()),
            (_, _, None) => CellMatch::Gone,
        }
    }
}

/// Current position of each cell of `old` in `new`.
fn places(old: &Notebook, new: &Notebook) -> Vec<Option<usize>> {
    let mut places = vec![None; old.len()];
    for (at, old) in pairs(old, new).into_iter().enumerate() {
        if let Some(place) = old.and_then(|old| places.get_mut(old)) {
            *place = Some(at);
        }
    }
    places
}

/// Returns true if ids alone tell all cells of a notebook apart.
pub(crate) fn has_unique_ids(notebook: &Notebook) -> bool {
    let ids: Vec<_> = notebook.cells().map(|cell| cell.id()).collect();
    let names: std::collections::HashSet<&str> = ids.iter().flatten().map(|id| &**id).collect();
    names.len() == ids.len()
}

#[cfg(test)]
mod tests;
