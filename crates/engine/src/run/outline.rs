//! A notebook at a glance: its cells, and how they ran.
//!
//! Owns the order of that work. The record is read in parallel with the notebook, and staleness is computed in parallel
//! with the outline, so that an outline with staleness takes hardly longer.

use inkcell_notebook::{CellKind, CellView, OutlineCell, OutputDigest};

use std::collections::{BTreeSet, HashMap};

use super::cell_records::cell_marks;
use super::record::{LastRuns, RanCell, RunPlaces, RunRecord};
use super::record_places;
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
    let look = || Some((RunRecord::peek(places.as_ref()?)?, places.as_ref()?));
    let (look, opened) = beside(is_large, look, || notebooks.read(path));
    let opened = opened?;
    let runs = look.map(|(look, places)| look.now(places)).unwrap_or_default();
    let runs = where_cells_are(&opened, runs);
    Ok((opened, runs))
}

/// Moves the records of cells without unique ids to their current positions.
fn where_cells_are(opened: &OpenNotebook, mut runs: LastRuns) -> LastRuns {
    if let Some(places) = record_places::places(&opened.notebook, &runs.cells) {
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
    /// Cells that make one of these names for the notebook.
    Makes(&'a str),
    /// Cells that use one of these names of the notebook.
    Uses(&'a str),
}

impl<'a> CellFilter<'a> {
    /// Parses a filter, or several with commas between them; empty if one of them does not exist.
    pub fn parse_all(text: &'a str) -> Vec<CellFilter<'a>> {
        if let Some(filter) = CellFilter::parse(text) {
            return vec![filter];
        }
        let filters: Option<Vec<_>> = text.split(',').map(CellFilter::parse).collect();
        filters.unwrap_or_default()
    }

    /// The cells that one of the filters picks, in order.
    pub fn pick_all(filters: &[Self], opened: &OpenNotebook, runs: &LastRuns) -> Vec<usize> {
        let cells = filters.iter().flat_map(|filter| filter.pick(opened, runs));
        cells.collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// Parses `stale`, `failed`, `headings`, `makes:NAME` or `uses:NAME`. Names have commas between them.
    fn parse(word: &'a str) -> Option<CellFilter<'a>> {
        match word.trim() {
            "stale" => Some(CellFilter::Stale),
            "failed" => Some(CellFilter::Failed),
            "headings" => Some(CellFilter::Headings),
            word => match word.split_once(':')? {
                (_, names) if names.split(',').any(|name| name.trim().is_empty()) => None,
                ("makes", names) => Some(CellFilter::Makes(names)),
                ("uses", names) => Some(CellFilter::Uses(names)),
                _ => None,
            },
        }
    }

    /// Returns true if the filter depends on the records of runs.
    pub fn needs_runs(self) -> bool {
        matches!(self, CellFilter::Stale | CellFilter::Failed)
    }

    /// The cells that the filter picks, in order.
    fn pick(self, opened: &OpenNotebook, runs: &LastRuns) -> Vec<usize> {
        let marks = match self.needs_runs() {
            true => cell_marks(opened, runs),
            false => HashMap::new(),
        };
        let shows_error = |cell: &CellView<'_>| {
            let outputs = cell.outline().outputs;
            outputs.iter().any(|output| matches!(output, OutputDigest::Error { .. }))
        };
        let fits = |cell: &CellView<'_>| match (self, marks.get(&cell.index())) {
            (CellFilter::Stale, mark) => mark.is_some_and(|mark| *mark != Freshness::Fresh),
            (CellFilter::Failed, mark) => mark == Some(&Freshness::Failed) || shows_error(cell),
            (CellFilter::Headings, _) => {
                cell.kind() == Some(CellKind::Markdown) && has_heading(&cell.source().text)
            }
            (CellFilter::Makes(names), _) => {
                names.split(',').any(|name| cell.name_use(name.trim()).makes)
            }
            (CellFilter::Uses(names), _) => {
                names.split(',').any(|name| cell.name_use(name.trim()).uses)
            }
        };
        opened.notebook.cells().filter(fits).map(|cell| cell.index()).collect()
    }
}

/// Returns true if a Markdown text has a heading, outside its blocks of code.
fn has_heading(text: &str) -> bool {
    let (mut fence, mut is_paragraph) = (None, false);
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = line.trim();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let marks = mark.map_or(0, |mark| line.chars().take_while(|c| *c == mark).count());
        match fence {
            Some((open, least)) => {
                let is_end = mark == Some(open) && marks >= least && line.len() == marks;
                fence = fence.filter(|_| !is_end);
                continue;
            }
            None if marks >= 3 && indent < 4 => {
                fence = mark.map(|mark| (mark, marks));
                is_paragraph = false;
                continue;
            }
            None => {}
        }
        if indent >= 4 && !is_paragraph {
            continue;
        }
        let level = line.len() - line.trim_start_matches('#').len();
        let rest = &line[level..];
        let is_of = |mark: char| !line.is_empty() && line.chars().all(|c| c == mark);
        let is_underline = is_of('=') || is_of('-');
        if (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with(' ')) {
            return true;
        }
        if is_paragraph && is_underline && indent < 4 {
            return true;
        }
        is_paragraph = !line.is_empty() && !line.starts_with(['>', '-', '*', '+', '|']);
    }
    false
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_one_outside_code() {
        for (text, wanted) in [
            ("# Title", true),
            ("text\n## Part\n", true),
            ("Title\n=====", true),
            ("Title\n-----", true),
            ("```python\n# code\n```", false),
            ("~~~\n# code\n```\n# more\n~~~\n", false),
            ("```\ncode\n```\n# Title", true),
            ("    # code", false),
            ("#hashtag", false),
            ("a\n\n---\n", false),
            ("", false),
        ] {
            assert_eq!(has_heading(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn filters_take_several_names_and_stand_beside_each_other() {
        use CellFilter::{Failed, Makes, Stale, Uses};
        for (text, wanted) in [
            ("makes:df,x", vec![Makes("df,x")]),
            (" stale , failed", vec![Stale, Failed]),
            ("uses:a", vec![Uses("a")]),
            ("makes:", vec![]),
            ("uses:a,", vec![]),
            ("stale,0", vec![]),
            ("0-3", vec![]),
        ] {
            assert_eq!(CellFilter::parse_all(text), wanted, "{text:?}");
        }
    }
}
