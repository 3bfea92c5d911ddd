//! Finds cells without a unique id: a cell inserted above has moved all records below it.
//!
//! Owns which record belongs to which of these cells, by the order of their sources. Cells with unique ids are looked
//! up elsewhere.

use std::borrow::Cow;
use std::collections::HashSet;

use inkcell_notebook::{CellKind, CellView, Notebook, align};

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
    // The content of a cell includes its id, because here no id names one cell.
    let (old_ids, new_ids) = (vec![None::<()>; old.len()], vec![None; new.len()]);
    let aligned =
        align((&old_ids, |at| old_keys[at].clone()), (&new_ids, |here| new_keys[here].clone()));
    for (at, here) in old.iter().zip(aligned.places(old.len())) {
        places[*at] = here.map(|here| new[here].index());
    }
    for (olds, news) in aligned.replaced {
        let olds: Vec<usize> = olds.into_iter().map(|at| old[at]).collect();
        let news: Vec<CellView<'_>> = news.into_iter().map(|here| new[here]).collect();
        replaced(records, &olds, &news, &mut places);
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
