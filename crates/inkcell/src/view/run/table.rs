//! The cells of a run as a table, one line each.
//!
//! Owns the columns, and the choice of cells in a long notebook.

use inkcell_engine::api::{CellReport, OutputChange, PythonReport, State, WriteBack};
use inkcell_engine::notebook::first_line;

use super::{because, duration, ended, has_run};
use crate::output::count;
use crate::view::ending::exception;
use crate::words;

/// Rows of the full table. A longer notebook shows failures and the slowest cells only.
const MAX_ROWS: usize = 40;

/// Number of slowest cells shown for a longer notebook.
const SLOWEST: usize = 10;

pub(super) fn of(told: &PythonReport) -> Vec<String> {
    let cells = &told.cells;
    let shown: Vec<usize> = if cells.len() <= MAX_ROWS {
        (0..cells.len()).collect()
    } else {
        let mut by_time: Vec<usize> = (0..cells.len()).collect();
        by_time.sort_by_key(|at| std::cmp::Reverse(cells[*at].duration));
        let mut shown: Vec<usize> = by_time.into_iter().take(SLOWEST).collect();
        let unwell = |at: &usize| !matches!(cells[*at].state, State::Done | State::NeverRun);
        shown.extend((0..cells.len()).filter(unwell).take(MAX_ROWS));
        shown.sort_unstable();
        shown.dedup();
        shown
    };
    let rows: Vec<[String; 6]> = shown.iter().map(|at| row(&cells[*at])).collect();
    let mut widths = [0; 6];
    for row in &rows {
        for (width, field) in widths.iter_mut().zip(row) {
            *width = (*width).max(field.chars().count());
        }
    }
    let mut lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
    if shown.len() < cells.len() {
        let rest = count(cells.len() - shown.len(), "other cell");
        lines.push(words::run::cells_not_shown(&rest));
    }
    lines
}

fn row(cell: &CellReport) -> [String; 6] {
    let place = cell.notebook.as_ref();
    // A cell that is no longer in the file has no position there.
    let index = place.filter(|place| place.written != WriteBack::Gone).map(|place| place.index);
    [
        index.map_or_else(|| "-".to_owned(), |index| index.to_string()),
        place.and_then(|place| place.id.clone()).unwrap_or_default(),
        if cell.state == State::Done { "ok".to_owned() } else { ended(cell).to_owned() },
        if has_run(cell) { duration(cell.duration) } else { String::new() },
        outputs(cell).unwrap_or_default(),
        what(cell),
    ]
}

/// The number of outputs, and whether they changed.
fn outputs(cell: &CellReport) -> Option<String> {
    let place = cell.notebook.as_ref()?;
    let has_changed = place.change == Some(OutputChange::Changed);
    match place.outputs {
        0 => has_changed.then(|| words::run::NO_OUTPUT_NOW.to_owned()),
        some if has_changed => Some(words::run::changed(&count(some, "output"))),
        some => Some(count(some, "output")),
    }
}

/// The first line of a cell, and the exception if it failed.
fn what(cell: &CellReport) -> String {
    let code = first_line(&cell.source.code, 50) + &because(cell);
    match exception(cell).filter(|_| cell.state == State::Error && cell.exit_status().is_none()) {
        Some(error) => {
            let said = format!("{}: {}", error.name, error.value);
            format!("{code}  → {}", first_line(said.trim_end_matches(": "), 60))
        }
        None => code,
    }
}

/// Numbers are aligned to the right, words to the left.
fn line(row: &[String; 6], widths: &[usize; 6]) -> String {
    let [index, id, state, took, outputs, code] = row;
    let [w0, w1, w2, w3, w4, _] = widths;
    let line =
        format!("{index:>w0$}  {id:<w1$}  {state:<w2$}  {took:>w3$}  {outputs:<w4$}  {code}");
    line.trim_end().to_owned()
}
