//! A notebook at a glance: its cells, and what is known of their runs.
//!
//! Owns the order in which that is found. What is on record is read beside the notebook, and compared with it beside the
//! look at its cells, so that who asks for an outline hardly waits longer for knowing which cells are stale.

use inkcell_notebook::OutlineCell;

use super::moved;
use super::record::{LastRuns, RanCell, RunPlaces, RunRecord};
use super::standing::cell_marks;
use crate::error::EngineError;
use crate::notebooks::{Notebooks, Opened, beside};
use crate::staleness::Freshness;

/// Beside a larger record the notebook is read on another thread.
const PARALLEL_BYTES: u64 = 32 << 10;

/// From so many cells on, what is known of their runs is found while they are looked at.
const MANY: usize = 200;

/// Reads a notebook, and how its cells ran the last time as far as that is known.
pub fn read_with_runs(
    notebooks: &Notebooks,
    path: &str,
) -> Result<(Opened, LastRuns), EngineError> {
    let places = notebooks.target(path).ok();
    let places = places.map(|target| RunPlaces::of(&target.path, notebooks.state_dir()));
    let size = places.as_ref().and_then(|places| std::fs::metadata(&places.record).ok());
    let is_large = size.is_some_and(|found| found.len() >= PARALLEL_BYTES);
    // A record is many small pieces of memory, which the first thread of a process is given more quickly than others.
    let look = || Some((RunRecord::look(places.as_ref()?)?, places.as_ref()?));
    let (look, opened) = beside(is_large, look, || notebooks.read(path));
    let opened = opened?;
    let runs = look.map(|(look, places)| look.now(places)).unwrap_or_default();
    let runs = where_cells_are(&opened, runs);
    Ok((opened, runs))
}

/// Cells without ids of their own may have moved since.
fn where_cells_are(opened: &Opened, mut runs: LastRuns) -> LastRuns {
    if let Some(places) = moved::places(&opened.notebook, &runs.cells) {
        let cells = runs.cells.into_iter().zip(places);
        runs.cells =
            cells.filter_map(|(cell, index)| Some(RanCell { index: index?, ..cell })).collect();
    }
    runs
}

/// These cells at a glance, each with what there is to say about its runs.
pub fn outlined(
    opened: &Opened,
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
