//! Finds cells without a unique id: a cell inserted above has moved all records below it.
//!
//! Owns which record belongs to which of these cells, by the order of their sources. Cells with unique ids are looked
//! up elsewhere.

use std::borrow::Cow;
use std::collections::HashSet;

use inkcell_notebook::{CellKind, CellView, Notebook};
use similar::{Algorithm, DiffOp};

use super::record::{RanCell, SourceDigest};

/// Current position of the cell of each record, `None` for a cell that is gone. Returns `None` if nothing has moved.
pub(crate) fn places(notebook: &Notebook, records: &[RanCell]) -> Option<Vec<Option<usize>>> {
    let is_placed = |record: &RanCell| record.id.is_none() || record.is_twin;
    let mut old: Vec<usize> = (0..records.len()).filter(|at| is_placed(&records[*at])).collect();
    if old.is_empty() {
        return None;
    }
    old.sort_by_key(|at| records[*at].index);
    let twins: HashSet<&str> = old.iter().filter_map(|at| records[*at].id.as_deref()).collect();
    let is_one = |cell: &CellView<'_>| {
        cell.kind() == Some(CellKind::Code) && cell.id().is_none_or(|id| twins.contains(&*id))
    };
    let new: Vec<CellView<'_>> = notebook.cells().filter(is_one).collect();
    type Key<'a> = (Option<Cow<'a, str>>, SourceDigest);
    let new_keys: Vec<Key<'_>> =
        new.iter().map(|cell| (cell.id(), SourceDigest::of(&cell.source().text))).collect();
    let old_key = |at: &usize| (records[*at].id.as_deref().map(Cow::from), records[*at].source);
    let old_keys: Vec<Key<'_>> = old.iter().map(old_key).collect();
    let is_there = |at: &usize| {
        let here = new.binary_search_by_key(&records[*at].index, |cell| cell.index()).ok();
        here.is_some_and(|here| new_keys[here].1 == records[*at].source)
    };
    if old.iter().all(is_there) {
        return None;
    }
    let mut places: Vec<Option<usize>> = records.iter().map(|record| Some(record.index)).collect();
    old.iter().for_each(|at| places[*at] = None);
    for op in similar::capture_diff_slices(Algorithm::Myers, &old_keys, &new_keys) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                for step in 0..len {
                    places[old[old_index + step]] = Some(new[new_index + step].index());
                }
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                let old = &old[old_index..old_index + old_len];
                replaced(records, old, &new[new_index..new_index + new_len], &mut places);
            }
            DiffOp::Delete { .. } | DiffOp::Insert { .. } => {}
        }
    }
    let is_moved = |(place, record): (&Option<usize>, &RanCell)| *place != Some(record.index);
    places.iter().zip(records).any(is_moved).then_some(places)
}

/// Matches cells that replaced others: first by the count of a record, then by position.
fn replaced(
    records: &[RanCell],
    old: &[usize],
    new: &[CellView<'_>],
    places: &mut [Option<usize>],
) {
    let mut is_taken = vec![false; new.len()];
    type IsIt = fn(&RanCell, &CellView<'_>) -> bool;
    let by_count: IsIt = |record, cell| {
        record.count.is_some() && cell.execution_count() == record.count.map(u64::from)
    };
    let by_place: IsIt = |record, cell| record.index == cell.index();
    for is_it in [by_count, by_place] {
        for at in old.iter().filter(|at| places[**at].is_none()).copied().collect::<Vec<_>>() {
            let is_it = |(here, cell): &(usize, &CellView<'_>)| {
                !is_taken[*here]
                    && cell.id().as_deref() == records[at].id.as_deref()
                    && is_it(&records[at], cell)
            };
            if let Some((here, cell)) = new.iter().enumerate().find(is_it) {
                places[at] = Some(cell.index());
                is_taken[here] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
