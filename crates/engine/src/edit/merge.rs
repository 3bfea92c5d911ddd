//! Carries an edit made against an older version over to the version on disk.
//!
//! Owns the rule: an operation applies if every cell it names is as the caller saw it. It must not
//! know files.

use std::collections::HashMap;

use inkcell_notebook::{CellCandidate, CellNames, CellRef, EditError, EditOp, OpError, unique_ids};

use crate::error::{CellDifference, CellFate};
use crate::files::{Record, RecordedCell};

/// The reason why an edit could not be carried over.
#[derive(Debug)]
pub(crate) enum CarryError {
    /// A reference names no cell of the caller's version.
    Ref(EditError),
    /// Named cells have changed since.
    Conflict(Vec<CellDifference>),
    /// The operation names notebook metadata that has changed since.
    Metadata,
}

/// Returns the operations with every cell named by its position on disk.
pub(crate) fn carry_over(
    ops: &[EditOp],
    known: &Record,
    current: &Record,
) -> Result<Vec<EditOp>, CarryError> {
    let places = places(known, current);
    let names = CellNames::new(known.ids());
    let mut differences: Vec<CellDifference> = Vec::new();
    let mut carried = ops.to_vec();
    for (op, operation) in carried.iter_mut().enumerate() {
        let is_notebook_meta = matches!(operation, EditOp::SetMeta { cell: None, .. });
        if is_notebook_meta && known.metadata != current.metadata {
            return Err(CarryError::Metadata);
        }
        for cell in operation.names_mut() {
            let old = names.resolve(cell).map_err(|error| {
                CarryError::Ref(EditError::Op { op, problem: OpError::Ref(error) })
            })?;
            let fate = match places[old] {
                None => CellFate::Gone,
                Some(now) if !known.cells[old].is_same(&current.cells[now]) => CellFate::Changed,
                Some(now) => {
                    *cell = CellRef::Index(now as i64);
                    continue;
                }
            };
            let named = CellCandidate { index: old, id: known.cells[old].id.clone() };
            let difference = CellDifference { cell: named, fate };
            if !differences.contains(&difference) {
                differences.push(difference);
            }
        }
    }
    if differences.is_empty() { Ok(carried) } else { Err(CarryError::Conflict(differences)) }
}

/// Current position of each known cell: by id if it is unique in both versions, otherwise by
/// comparing the cells without unique ids, in order.
fn places(known: &Record, current: &Record) -> Vec<Option<usize>> {
    let (known_ids, current_ids) = (unique_ids(known.ids()), unique_ids(current.ids()));
    let (known, current) = (&known.cells, &current.cells);
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
    let (old_counts, new_counts) = (counts(&old_digests), counts(&new_digests));
    let algorithm = similar::Algorithm::Myers;
    for op in similar::capture_diff_slices(algorithm, &old_digests, &new_digests) {
        if let similar::DiffOp::Equal { old_index, new_index, len } = op {
            for step in 0..len {
                let digest = old_digests[old_index + step];
                // Equal cells can only be told apart while their number is unchanged.
                if old_counts.get(&digest) == new_counts.get(&digest) {
                    places[old[old_index + step]] = Some(new[new_index + step]);
                }
            }
        }
    }
    places
}

fn counts(digests: &[(u64, u64)]) -> HashMap<(u64, u64), usize> {
    let mut counts = HashMap::new();
    for digest in digests {
        *counts.entry(*digest).or_default() += 1;
    }
    counts
}
