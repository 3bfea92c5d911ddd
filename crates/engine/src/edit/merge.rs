//! Carries an edit made against an older version over to the version on disk.
//!
//! Owns the rule: an operation applies if every cell it names is as the caller saw it. It must not
//! know files.

use std::collections::HashMap;

use inkcell_notebook::{
    CellCandidate, CellNames, CellRef, EditError, EditOp, Notebook, OpError, align, unique_ids,
};

use crate::error::{CellDifference, CellFate};
use crate::files::Record;

/// The reason why an edit could not be carried over.
#[derive(Debug)]
pub(crate) enum CarryError {
    /// A reference names no cell of the caller's version.
    Ref(EditError),
    /// Named cells have changed since.
    Conflict(Vec<CellDifference>),
    /// The operation is on the whole notebook, or on its metadata, and that has changed since.
    Whole,
}

/// The bytes of a changed source that a conflict shows.
const SHOWN_BYTES: usize = 2000;

/// Returns the operations with every cell named by its position on disk; `notebook` and `current` are what is there.
pub(crate) fn carry_over(
    ops: &[EditOp],
    known: &Record,
    (notebook, current): (&Notebook, &Record),
) -> Result<Vec<EditOp>, CarryError> {
    let places = places(known, current);
    let names = CellNames::new(known.ids());
    let mut differences: Vec<CellDifference> = Vec::new();
    let mut carried = ops.to_vec();
    for (op, operation) in carried.iter_mut().enumerate() {
        let is_carried = match operation {
            EditOp::SetMeta { cell: None, .. } => known.metadata == current.metadata,
            EditOp::Sub { cell: None, .. } | EditOp::Rename { .. } => {
                let mut cells = known.cells.iter().zip(&current.cells);
                known.cells.len() == current.cells.len() && cells.all(|(old, new)| old.is_same(new))
            }
            _ => true,
        };
        if !is_carried {
            return Err(CarryError::Whole);
        }
        for cell in operation.names_mut() {
            let old = names.resolve(cell).map_err(|error| {
                CarryError::Ref(EditError::Op { op, problem: OpError::Ref(error) })
            })?;
            let fate = match places[old] {
                None => CellFate::Gone,
                Some(now) if !known.cells[old].is_same(&current.cells[now]) => {
                    let has_other_text = !known.cells[old].has_text_of(&current.cells[now]);
                    let source = has_other_text.then(|| source_at(notebook, now));
                    CellFate::Changed { now, source }
                }
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

/// The source of a cell, or its beginning.
fn source_at(notebook: &Notebook, index: usize) -> String {
    let mut source = notebook.cell(index).map(|cell| cell.source().text.into_owned());
    if let Some(long) = source.as_mut().filter(|source| source.len() > SHOWN_BYTES) {
        long.truncate(long.floor_char_boundary(SHOWN_BYTES));
        long.push('…');
    }
    source.unwrap_or_default()
}

/// Current position of each known cell: by id if it is unique in both versions, otherwise by
/// comparing the cells without unique ids, in order.
fn places(known: &Record, current: &Record) -> Vec<Option<usize>> {
    let (old_ids, new_ids): (Vec<_>, Vec<_>) = (known.ids().collect(), current.ids().collect());
    let (old, new) = (contents(known), contents(current));
    let aligned = align((&old_ids, |index| old[index]), (&new_ids, |at| new[at]));
    let mut places = aligned.places(old.len());
    let (old_counts, new_counts) = (counts(&old), counts(&new));
    for (content, place) in old.iter().zip(&mut places) {
        // Equal cells can only be told apart while their number is unchanged.
        if content.0.is_none() && old_counts.get(content) != new_counts.get(content) {
            *place = None;
        }
    }
    places
}

/// The digests of a cell, and its id if that is unique. A cell whose unique id the other version lacks equals no other
/// cell.
type Content<'a> = (Option<&'a str>, (u64, u64));

fn contents(record: &Record) -> Vec<Content<'_>> {
    let ids = unique_ids(record.ids());
    let unique = |id: &&str| ids.get(id).copied().flatten().is_some();
    record.cells.iter().map(|cell| (cell.id.as_deref().filter(unique), cell.digest())).collect()
}

fn counts<'c, 'a>(contents: &'c [Content<'a>]) -> HashMap<&'c Content<'a>, usize> {
    let mut counts = HashMap::new();
    for content in contents {
        *counts.entry(content).or_default() += 1;
    }
    counts
}
