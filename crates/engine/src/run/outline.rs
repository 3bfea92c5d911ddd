//! A notebook at a glance: its cells, and how they ran.
//!
//! Owns the order of that work. The record is read in parallel with the notebook, and staleness is computed in parallel
//! with the outline, so that an outline with staleness takes hardly longer.

use inkcell_notebook::{CellKind, CellView, OutlineCell, OutputDigest};

use std::collections::HashMap;

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

/// A word that chooses cells, in place of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellFilter<'a> {
    /// Cells that would run with `stale`: all that can run and are not fresh.
    Stale,
    /// Cells whose last run failed, or that show an error.
    Failed,
    /// Markdown cells with a heading.
    Headings,
    /// Cells that make a name for the notebook.
    Makes(&'a str),
    /// Cells that use a name of the notebook.
    Uses(&'a str),
}

impl<'a> CellFilter<'a> {
    /// Parses `stale`, `failed`, `headings`, `makes:NAME` or `uses:NAME`.
    pub fn parse(word: &'a str) -> Option<CellFilter<'a>> {
        match word.trim() {
            "stale" => Some(CellFilter::Stale),
            "failed" => Some(CellFilter::Failed),
            "headings" => Some(CellFilter::Headings),
            word => match word.split_once(':')? {
                ("makes", name) => Some(CellFilter::Makes(name.trim())),
                ("uses", name) => Some(CellFilter::Uses(name.trim())),
                _ => None,
            },
        }
    }

    /// Returns true if the filter depends on the records of runs.
    pub fn needs_runs(self) -> bool {
        matches!(self, CellFilter::Stale | CellFilter::Failed)
    }

    /// The cells that the filter picks, in order.
    pub fn pick(self, opened: &OpenNotebook, runs: &LastRuns) -> Vec<usize> {
        let marks = match self.needs_runs() {
            true => cell_marks(opened, runs),
            false => HashMap::new(),
        };
        let shows_error = |cell: &CellView<'_>| {
            let outputs = cell.outline().outputs;
            outputs.iter().any(|output| matches!(output, OutputDigest::Error { .. }))
        };
        let is_heading = |line: &str| {
            let text = line.trim_start_matches('#');
            text.len() < line.len() && (text.is_empty() || text.starts_with(' '))
        };
        let fits = |cell: &CellView<'_>| match (self, marks.get(&cell.index())) {
            (CellFilter::Stale, mark) => mark.is_some_and(|mark| *mark != Freshness::Fresh),
            (CellFilter::Failed, mark) => mark == Some(&Freshness::Failed) || shows_error(cell),
            (CellFilter::Headings, _) => {
                cell.kind() == Some(CellKind::Markdown)
                    && cell.source().text.lines().any(is_heading)
            }
            (CellFilter::Makes(name), _) => cell.name_use(name).makes,
            (CellFilter::Uses(name), _) => cell.name_use(name).uses,
        };
        opened.notebook.cells().filter(fits).map(|cell| cell.index()).collect()
    }
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
