//! Which cell is which, in a notebook that others may change while it runs.
//!
//! Owns how a cell is found again. What is done with it is for others.

use std::cell::OnceCell;

use inkcell_notebook::{CellKind, CellView, Notebook, pairs};

/// A cell as it was when somebody looked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KnownCell {
    pub(crate) id: Option<String>,
    pub(crate) index: usize,
    pub(crate) source: String,
    /// Its position when the run was planned, for cells of the run.
    pub(crate) planned: Option<usize>,
}

/// What became of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// It is here, with the same source.
    Same(usize),
    /// It is here; its source, or its kind, is another one.
    Changed(usize),
    Gone,
}

impl Found {
    /// Where it is.
    pub(crate) fn place(self) -> Option<usize> {
        match self {
            Found::Same(index) | Found::Changed(index) => Some(index),
            Found::Gone => None,
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

    /// Whether both are the same cell, whatever it held.
    pub(crate) fn is_same_place(&self, other: &KnownCell) -> bool {
        match (&self.id, &other.id) {
            // Two cells may share an id.
            (Some(one), Some(two)) => one == two && self.index == other.index,
            (None, None) => self.index == other.index,
            _ => false,
        }
    }

    fn compare(&self, cell: &CellView<'_>) -> Found {
        let is_same = cell.kind() == Some(CellKind::Code) && cell.source().text == self.source;
        if is_same { Found::Same(cell.index()) } else { Found::Changed(cell.index()) }
    }
}

/// A notebook as it is now, to somebody who may know how it was when the run was planned.
pub(crate) struct Sight<'a> {
    now: &'a Notebook,
    planned: Option<&'a Notebook>,
    /// Where each cell of the plan is now.
    places: OnceCell<Vec<Option<usize>>>,
}

impl<'a> Sight<'a> {
    pub(crate) fn new(now: &'a Notebook, planned: Option<&'a Notebook>) -> Sight<'a> {
        Sight { now, planned, places: OnceCell::new() }
    }

    /// Where a cell is now. One whose id is its own is known by it. Others are known by their order: two cells may
    /// hold the same code, and a cell that was put in above moves all of them.
    pub(crate) fn find(&self, known: &KnownCell) -> Found {
        if let Some(id) = &known.id {
            let mut named = self.now.cells().filter(|cell| cell.id().as_deref() == Some(id));
            match (named.next(), named.next()) {
                (Some(cell), None) => return known.compare(&cell),
                (None, _) => return Found::Gone,
                (Some(_), Some(_)) => {}
            }
        }
        match (self.planned, known.planned) {
            (Some(planned), Some(at)) => {
                let places = self.places.get_or_init(|| places(planned, self.now));
                let here = places.get(at).copied().flatten().and_then(|at| self.now.cell(at));
                here.map_or(Found::Gone, |cell| known.compare(&cell))
            }
            _ => self.guess(known),
        }
    }

    /// By its place, and by its source when nobody else has the same.
    fn guess(&self, known: &KnownCell) -> Found {
        let here = self.now.cell(known.index);
        if let Some(cell) = &here
            && let same @ Found::Same(_) = known.compare(cell)
        {
            return same;
        }
        let is_same = |cell: &CellView<'_>| known.compare(cell) == Found::Same(cell.index());
        let mut same = self.now.cells().filter(is_same);
        match (same.next(), same.next(), here) {
            (Some(cell), None, _) => Found::Same(cell.index()),
            (_, _, Some(cell)) => Found::Changed(cell.index()),
            (_, _, None) => Found::Gone,
        }
    }
}

/// Where each cell of one notebook is in another.
fn places(old: &Notebook, new: &Notebook) -> Vec<Option<usize>> {
    let mut places = vec![None; old.len()];
    for (at, old) in pairs(old, new).into_iter().enumerate() {
        if let Some(place) = old.and_then(|old| places.get_mut(old)) {
            *place = Some(at);
        }
    }
    places
}

/// Whether every cell of a notebook can be told by its id alone.
pub(crate) fn has_unique_ids(notebook: &Notebook) -> bool {
    let ids: Vec<_> = notebook.cells().map(|cell| cell.id()).collect();
    let names: std::collections::HashSet<&str> = ids.iter().flatten().map(|id| &**id).collect();
    names.len() == ids.len()
}

#[cfg(test)]
mod tests;
