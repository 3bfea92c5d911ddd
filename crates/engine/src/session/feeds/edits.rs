//! The differences between two states of a notebook, cell by cell, for watchers.
//!
//! Owns the matching of cells: by id, or by position and equal neighbours if ids are missing. It must not know how a
//! change was requested, since that may have been a text, a list of operations or a whole file.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use inkcell_notebook::{CellView, Notebook};

use super::{EditAction, NotebookEdit};

/// The most changes that are reported for one save. Beyond that, a watcher reads the notebook.
const MOST: usize = 32;

struct Cell<'a> {
    id: Option<String>,
    /// The whole cell as its bytes in the file.
    json: &'a [u8],
}

impl<'a> Cell<'a> {
    fn of(cell: CellView<'a>) -> Cell<'a> {
        Cell { id: cell.id().map(|id| id.into_owned()), json: cell.json() }
    }

    fn is_like(&self, other: &Cell<'_>) -> bool {
        self.json == other.json
    }
}

/// The changes of cells: deleted cells first, then the others in the order of the notebook.
pub(crate) fn edits(path: &Path, before: Option<&Notebook>, after: &Notebook) -> Vec<NotebookEdit> {
    let old: Vec<Cell<'_>> = before.into_iter().flat_map(|nb| nb.cells().map(Cell::of)).collect();
    let new: Vec<Cell<'_>> = after.cells().map(Cell::of).collect();
    let total = new.len();
    let changes = match (have_ids(&old), have_ids(&new)) {
        (true, true) => by_id(&old, &new),
        _ => by_place(&old, &new),
    };
    let changes = changes.into_iter().take(MOST).filter_map(|(action, index)| {
        let of = if action == EditAction::Delete { before? } else { after };
        let cell = of.cell(index)?;
        let (kind, source) = (cell.kind(), cell.source().text.into_owned());
        Some(NotebookEdit { path: path.to_owned(), action, index, kind, source, total })
    });
    changes.collect()
}

fn have_ids(cells: &[Cell<'_>]) -> bool {
    let ids: HashSet<&str> = cells.iter().filter_map(|cell| cell.id.as_deref()).collect();
    ids.len() == cells.len()
}

type Changes = Vec<(EditAction, usize)>;

fn by_id(old: &[Cell<'_>], new: &[Cell<'_>]) -> Changes {
    let places = |cells: &'_ [Cell<'_>]| -> HashMap<String, usize> {
        let ids = cells.iter().enumerate();
        ids.filter_map(|(at, cell)| Some((cell.id.clone()?, at))).collect()
    };
    let (was, is) = (places(old), places(new));
    let of = |cell: &Cell<'_>| cell.id.clone().unwrap_or_default();
    let gone = old.iter().enumerate().filter(|(_, cell)| !is.contains_key(&of(cell)));
    let mut changes: Changes = gone.map(|(at, _)| (EditAction::Delete, at)).collect();
    // Among the cells that stayed, a moved cell is one outside the longest run that kept its order.
    let order: Vec<usize> = new.iter().filter_map(|cell| was.get(&of(cell)).copied()).collect();
    let stayed = rising(&order);
    for (at, cell) in new.iter().enumerate() {
        match was.get(&of(cell)) {
            None => changes.push((EditAction::Insert, at)),
            Some(place) if !old[*place].is_like(cell) => changes.push((EditAction::Edit, at)),
            Some(place) if !stayed.contains(place) => changes.push((EditAction::Move, at)),
            Some(_) => {}
        }
    }
    changes
}

/// The longest increasing subsequence of the positions.
fn rising(places: &[usize]) -> HashSet<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(places.len());
    for (at, place) in places.iter().enumerate() {
        let length = ends.partition_point(|end| places[*end] < *place);
        before.push(length.checked_sub(1).map(|last| ends[last]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut chosen = HashSet::new();
    let mut at = ends.last().copied();
    while let Some(here) = at {
        chosen.insert(places[here]);
        at = before[here];
    }
    chosen
}

fn by_place(old: &[Cell<'_>], new: &[Cell<'_>]) -> Changes {
    let same = |(old, new): &(&Cell<'_>, &Cell<'_>)| old.is_like(new);
    let head = old.iter().zip(new).take_while(same).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(same).count();
    let (gone, come) = (old.len() - head - tail, new.len() - head - tail);
    let both = gone.min(come);
    let deleted = (head + both..head + gone).map(|at| (EditAction::Delete, at));
    let edited = (head..head + both)
        .filter(|at| !old[*at].is_like(&new[*at]))
        .map(|at| (EditAction::Edit, at));
    let inserted = (head + both..head + come).map(|at| (EditAction::Insert, at));
    deleted.chain(edited).chain(inserted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<Cell<'_>> {
        fn cell(word: &str) -> Cell<'_> {
            let (id, source) = word.split_once('=').unwrap_or(("", word));
            let id = (!id.is_empty()).then(|| id.to_owned());
            Cell { id, json: source.as_bytes() }
        }
        text.split_whitespace().map(cell).collect()
    }

    fn describe(changes: &[(EditAction, usize)]) -> String {
        let word = |(action, at): &(EditAction, usize)| format!("{action:?}{at}");
        changes.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_change_is_told_once() {
        let by_ids = [
            ("a=1 b=2 c=3", "a=1 b=2 c=3", ""),
            ("a=1 b=2 c=3", "a=1 b=9 c=3", "Edit1"),
            ("a=1 b=2 c=3", "a=1 c=3", "Delete1"),
            ("a=1 b=2", "a=1 n=5 b=2", "Insert1"),
            ("a=1 b=2 c=3 d=4", "d=4 a=1 b=2 c=3", "Move0"),
            ("a=1 b=2 c=3", "b=2 c=3 a=1", "Move2"),
            ("a=1 b=2 c=3", "c=4 n=0", "Delete0 Delete1 Edit0 Insert1"),
            ("", "a=1", "Insert0"),
        ];
        for (old, new, wanted) in by_ids {
            assert_eq!(describe(&by_id(&cells(old), &cells(new))), wanted, "{old} -> {new}");
        }
        let by_places = [
            ("1 2 3", "1 2 3", ""),
            ("1 2 3", "1 9 3", "Edit1"),
            ("1 2 3", "1 3", "Delete1"),
            ("1 1 1", "1 1", "Delete2"),
            ("1 3", "1 2 3", "Insert1"),
            ("1 2", "7 8 9", "Edit0 Edit1 Insert2"),
            ("1", "", "Delete0"),
        ];
        for (old, new, wanted) in by_places {
            assert_eq!(describe(&by_place(&cells(old), &cells(new))), wanted, "{old} -> {new}");
        }
    }
}
