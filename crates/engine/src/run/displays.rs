//! Displays that later cells may change.
//!
//! Owns the map from display names to outputs of cells. It covers the cells of this run and of earlier runs of the same
//! notebook: a kernel that lives on may still change a display from then.

use std::collections::HashMap;

use inkcell_kernel::DisplayId;

use super::cell_identity::KnownCell;
use super::journal::CellOutputs;
use super::plan::PlannedCell;
use super::record::RanCell;
use crate::output::ExecutionOutputs;

pub(super) struct Displays {
    /// For each display: the number of the cell in the run, and the index of the output.
    places: HashMap<DisplayId, Vec<(usize, usize)>>,
    /// The outputs of those cells.
    cells: HashMap<usize, CellOutputs>,
    /// Cells of earlier runs that have displays and are not part of this run. Their outputs have not been read yet.
    earlier: Vec<RanCell>,
    /// The next number for a cell of an earlier run; no cell of this run has it.
    next: usize,
}

/// Converts displays to the form in which a record keeps them.
pub(super) fn named(displays: &[(DisplayId, usize)]) -> Vec<(String, usize)> {
    displays.iter().map(|(id, at)| (id.0.to_string(), *at)).collect()
}

impl Displays {
    /// `known` holds the records of earlier runs.
    pub(super) fn new(cells: &[PlannedCell], mut known: Vec<RanCell>) -> Displays {
        // A cell that runs again replaces its displays, or shows none.
        let is_run = |ran: &RanCell| {
            cells.iter().any(|planned| ran.is_of(planned.cell.id.as_deref(), planned.cell.index))
        };
        known.retain(|ran| !ran.displays.is_empty() && !is_run(ran));
        let (places, of_cells) = (HashMap::new(), HashMap::new());
        Displays { places, cells: of_cells, earlier: known, next: cells.len() }
    }

    /// Returns the cells of earlier runs whose displays have just changed. Each cell is returned once.
    pub(super) fn wanted(&mut self, recorded: &ExecutionOutputs) -> Vec<RanCell> {
        let is_changed = |ran: &mut RanCell| {
            let mut names = ran.displays.iter().map(|(id, _)| id.as_str());
            names.any(|name| recorded.changes.iter().any(|change| &*change.id.0 == name))
        };
        self.earlier.extract_if(.., is_changed).collect()
    }

    /// Adds the outputs of such a cell, as read from the file.
    pub(super) fn add(&mut self, ran: &RanCell, outputs: CellOutputs) {
        for (id, at) in &ran.displays {
            let id = DisplayId(id.as_str().into());
            self.places.entry(id).or_default().push((self.next, *at));
        }
        self.cells.insert(self.next, outputs);
        self.next += 1;
    }

    /// Returns the outputs that have changed: displays of earlier cells first, then the outputs of the cell itself.
    pub(super) fn fold(
        &mut self,
        number: usize,
        (cell, count): (KnownCell, Option<u32>),
        recorded: ExecutionOutputs,
    ) -> Vec<(usize, CellOutputs)> {
        let mut changed: Vec<usize> = Vec::new();
        for change in &recorded.changes {
            for (other, at) in self.places.get(&change.id).into_iter().flatten() {
                let outputs = self.cells.get_mut(other).filter(|_| *other != number);
                let Some(output) = outputs.and_then(|cell| cell.outputs.get_mut(*at)) else {
                    continue;
                };
                if let Ok(new) = change.apply(output) {
                    *output = new;
                    changed.push(*other);
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        let outputs = CellOutputs { cell, count, outputs: recorded.outputs };
        if !recorded.displays.is_empty() {
            self.cells.insert(number, outputs.clone());
        }
        for (id, at) in recorded.displays {
            self.places.entry(id).or_default().push((number, at));
        }
        let earlier = changed
            .into_iter()
            .filter_map(|other| self.cells.get(&other).map(|outputs| (other, outputs.clone())));
        earlier.chain(std::iter::once((number, outputs))).collect()
    }
}
