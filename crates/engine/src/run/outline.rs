//! A notebook at a glance: its cells, and how they ran.
//!
//! Owns the order of that work. The record is read in parallel with the notebook, and staleness is computed in parallel
//! with the outline, so that an outline with staleness takes hardly longer.

use inkcell_notebook::OutlineCell;

use super::moved;
use super::record::{LastRuns, RanCell, RunPlaces, RunRecord};
use super::standing::cell_marks;
use crate::edit::{Notebooks, OpenNotebook, beside};
use crate::error::EngineError;
use crate::types::Freshness;

/// From this record size on, the notebook is read on another thread.
const PARALLEL_BYTES: u64 = 32 << 10;

/// From this number of cells on, staleness is computed in parallel with the outline.
const MANY: usize = 200;

/// Reads a notebook and the records of its last runs.
pub fn read_with_runs(
    notebooks: &Notebooks,
    path: &str,
) -> Result<(OpenNotebook, LastRuns), EngineError> {
    let places = notebooks.target(path).ok();
    let places = places.map(|target| RunPlaces::of(&target.path, notebooks.state_dir()));
    let size = places.as_ref().and_then(|places| std::fs::metadata(&places.record).ok());
    let is_large = size.is_some_and(|found| found.len() >= PARALLEL_BYTES);
    // A record allocates many small pieces, which is faster on the first thread of a process.
    let look = || Some((RunRecord::look(places.as_ref()?)?, places.as_ref()?));
    let (look, opened) = beside(is_large, look, || notebooks.read(path));
    let opened = opened?;
    let runs = look.map(|(look, places)| look.now(places)).unwrap_or_default();
    let runs = where_cells_are(&opened, runs);
    Ok((opened, runs))
}

/// Moves the records of cells without unique ids to their current positions.
fn where_cells_are(opened: &OpenNotebook, mut runs: LastRuns) -> LastRuns {
    if let Some(places) = moved::places(&opened.notebook, &runs.cells) {
        let cells = runs.cells.into_iter().zip(places);
        runs.cells =
            cells.filter_map(|(cell, index)| Some(RanCell { index: index?, ..cell })).collect();
    }
    runs
}

/// Outlines these cells, each with its freshness if it can run.
pub fn outlined(
    opened: &OpenNotebook,
    cells: &[usize],
    runs: &LastRuns,
) -> Vec<(OutlineCell, Option<Freshness>)> {
    let notebook = &opened.notebook;
    let glance = || -> Vec<OutlineCell> {
        cells.iter().filter_map(|&index| Some(notebook.cell(index)?.outline())).collect()
    };
    let marks = || cell_marks(opened, runs);
    let (cells, marks) = beside(cells.len() >= MANY, glance, marks);
    let with_mark = |cell: OutlineCell| {
        let mark = marks.get(&cell.index).cloned();
        (cell, mark)
    };
    cells.into_iter().map(with_mark).collect()
}
