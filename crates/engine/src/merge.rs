//! An edit made against an older version of a notebook, carried over to the version on disk.
//!
//! Owns the rule: an operation applies when every cell it names is what the caller saw. It must not
//! know files.

use std::collections::HashMap;

use inkcell_notebook::{Candidate, CellRef, EditError, EditOp, OpError, resolve};

use crate::error::{Difference, Fate};
use crate::files::{Record, RecordedCell};

/// Why an edit could not be carried over.
#[derive(Debug)]
pub(crate) enum CarryError {
    /// A reference names no cell of the version the caller knew.
    Ref(EditError),
    /// Cells it names are different now.
    Conflict(Vec<Difference>),
}

/// The same operations, with every cell named by its position in the version on disk.
pub(crate) fn carry_over(
    ops: &[EditOp],
    known: &Record,
    current: &Record,
) -> Result<Vec<EditOp>, CarryError> {
    let places = places(&known.cells, &current.cells);
    let ids = known.ids();
    let mut differences: Vec<Difference> = Vec::new();
    let mut carried = ops.to_vec();
    for (op, operation) in carried.iter_mut().enumerate() {
        for cell in operation.names_mut() {
            let old = resolve(&ids, cell).map_err(|error| {
                CarryError::Ref(EditError::Op { op, problem: OpError::Ref(error) })
            })?;
            let fate = match places[old] {
                None => Fate::Gone,
                Some(now) if !known.cells[old].is_same(&current.cells[now]) => Fate::Changed,
                Some(now) => {
                    *cell = CellRef::Index(now as i64);
                    continue;
                }
            };
            let named = Candidate { index: old, id: known.cells[old].id.clone() };
            let difference = Difference { cell: named, fate };
            if !differences.contains(&difference) {
                differences.push(difference);
            }
        }
    }
    if differences.is_empty() { Ok(carried) } else { Err(CarryError::Conflict(differences)) }
}

/// Where each known cell stands now: by its id when that is unique in both versions, otherwise by
/// comparing the cells that have none, in order.
fn places(known: &[RecordedCell], current: &[RecordedCell]) -> Vec<Option<usize>> {
    let known_ids = unique_ids(known);
    let current_ids = unique_ids(current);
    let by_id = |cell: &RecordedCell| {
        let id = cell.id.as_deref()?;
        known_ids.get(id).copied().flatten()?;
        current_ids.get(id).copied().flatten()
    };
    let mut places: Vec<Option<usize>> = known.iter().map(by_id).collect();
    let mut is_taken = vec![false; current.len()];
    for &place in places.iter().flatten() {
        is_taken[place] = true;
    }
    let nameless = |cell: &RecordedCell, ids: &HashMap<&str, Option<usize>>| {
        cell.id.as_deref().is_none_or(|id| ids.get(id).copied().flatten().is_none())
    };
    let old: Vec<usize> = (0..known.len()).filter(|&at| nameless(&known[at], &known_ids)).collect();
    let new: Vec<usize> = (0..current.len())
        .filter(|&at| !is_taken[at] && nameless(&current[at], &current_ids))
        .collect();
    let old_digests: Vec<_> = old.iter().map(|&at| known[at].digest()).collect();
    let new_digests: Vec<_> = new.iter().map(|&at| current[at].digest()).collect();
    let algorithm = similar::Algorithm::Myers;
    for op in similar::capture_diff_slices(algorithm, &old_digests, &new_digests) {
        if let similar::DiffOp::Equal { old_index, new_index, len } = op {
            for step in 0..len {
                places[old[old_index + step]] = Some(new[new_index + step]);
            }
        }
    }
    places
}

/// Positions by id; `None` for an id that stands more than once.
fn unique_ids(cells: &[RecordedCell]) -> HashMap<&str, Option<usize>> {
    let mut found: HashMap<&str, Option<usize>> = HashMap::new();
    for (at, cell) in cells.iter().enumerate() {
        if let Some(id) = cell.id.as_deref() {
            found.entry(id).and_modify(|seen| *seen = None).or_insert(Some(at));
        }
    }
    found
}
