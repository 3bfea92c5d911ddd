//! The cells of a run, one row each.
//!
//! Owns the columns, and the choice of cells in a long notebook. A row comes alone while a run goes on, or with all
//! others at its end.

use inkcell_engine::api::{CellReport, OutputChange, PythonReport, State, WriteBack};
use inkcell_engine::notebook::first_line;

use super::{because, duration, ended, has_run, is_well};
use crate::output::count;
use crate::view::ending::exception;
use crate::view::paint::{Line, Role, columns};
use crate::words;
use crate::words::run::cell_name;

/// Rows of the full table. A longer notebook shows failures and the slowest cells only.
pub(super) const MAX_ROWS: usize = 40;

/// Number of slowest cells shown for a longer notebook.
const SLOWEST: usize = 10;

/// Characters of the first line of code, alone and beside an exception.
const CODE: usize = 50;
const CODE_BESIDE: usize = 24;

/// The least columns for a state, a time and a number of outputs in rows that come alone.
const USUAL: [usize; 3] = [5, 7, 9];

/// The part of a narrow terminal that the columns before the code may take, in tenths.
const BEFORE_CODE: usize = 6;

/// The columns of the rows.
pub(super) struct Table {
    cell: usize,
    state: usize,
    took: usize,
    outputs: usize,
    has_ids: bool,
    has_outputs: bool,
}

impl Table {
    /// The columns for rows that come one by one. They grow with the rows.
    pub(super) fn growing(cells: &[&CellReport]) -> Table {
        let [state, took, outputs] = USUAL;
        let cell = cells.iter().map(|cell| columns(&cell_name(cell))).max().unwrap_or(0);
        Table { cell, state, took, outputs, has_ids: true, has_outputs: true }
    }

    /// The columns for these rows, in a terminal of this width.
    fn of(cells: &[&CellReport], width: Option<usize>) -> Table {
        let mut table =
            Table { cell: 0, state: 0, took: 0, outputs: 0, has_ids: true, has_outputs: true };
        cells.iter().for_each(|cell| table.make_room(cell));
        let Some(width) = width else { return table };
        let is_wide = |table: &Table| {
            let outputs = if table.has_outputs { table.outputs } else { 0 };
            (table.cell + table.state + table.took + outputs) * 10 > width * BEFORE_CODE
        };
        table.has_outputs = !is_wide(&table);
        if is_wide(&table) {
            table = Table { cell: 0, has_ids: false, ..table };
            cells.iter().for_each(|cell| table.make_room(cell));
        }
        table
    }

    fn make_room(&mut self, cell: &CellReport) {
        self.cell = self.cell.max(columns(&self.name(cell)));
        self.state = self.state.max(columns(state(cell)));
        self.took = self.took.max(columns(&took(cell)));
        self.outputs = self.outputs.max(columns(&outputs(cell)));
    }

    /// The row of a cell, behind the progress of the run if it comes alone.
    pub(super) fn row(&mut self, progress: Option<(usize, usize)>, cell: &CellReport) -> Line {
        self.make_room(cell);
        let mut line = Line::default();
        if let Some((number, all)) = progress {
            let width = all.to_string().len();
            line.push(Role::Dim, &format!("{number:>width$}/{all}  "));
        }
        let gap = |line: &mut Line, used: usize, width: usize| {
            line.push(Role::Plain, &" ".repeat(width.saturating_sub(used) + 2));
        };
        let name = self.name(cell);
        line.push(Role::Plain, &name);
        gap(&mut line, columns(&name), self.cell);
        let word = state(cell);
        line.push(role(cell), word);
        gap(&mut line, columns(word), self.state);
        let took = took(cell);
        line.push(Role::Plain, &" ".repeat(self.took - columns(&took)));
        line.push(Role::Dim, &took);
        gap(&mut line, 0, 0);
        if self.has_outputs && self.outputs > 0 {
            let outputs = outputs(cell);
            line.push(Role::Dim, &outputs);
            gap(&mut line, columns(&outputs), self.outputs);
        }
        push_code(&mut line, cell);
        line
    }

    fn name(&self, cell: &CellReport) -> String {
        let place = cell.notebook.as_ref();
        // A cell that is no longer in the file has no position there.
        let is_gone = place.is_some_and(|place| place.written == WriteBack::Gone);
        match place {
            Some(place) if is_gone => {
                let id = place.id.as_deref().filter(|_| self.has_ids);
                format!("cell -{}", id.map(|id| format!(" ({id})")).unwrap_or_default())
            }
            Some(place) if !self.has_ids => format!("cell {}", place.index),
            _ => cell_name(cell),
        }
    }
}

/// All rows of a run, in a terminal of this width.
pub(super) fn of(told: &PythonReport, width: Option<usize>) -> Vec<Line> {
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
    let rows: Vec<&CellReport> = shown.iter().map(|at| &cells[*at]).collect();
    let mut table = Table::of(&rows, width);
    let mut lines: Vec<Line> = rows.iter().map(|cell| table.row(None, cell)).collect();
    if shown.len() < cells.len() {
        let rest = count(cells.len() - shown.len(), "other cell");
        lines.push(Line::of(Role::Dim, &words::run::cells_not_shown(&rest)));
    }
    lines
}

fn state(cell: &CellReport) -> &'static str {
    if cell.state == State::Done { "ok" } else { ended(cell) }
}

fn role(cell: &CellReport) -> Role {
    match cell.state {
        _ if is_well(cell) => Role::Success,
        State::Cancelled | State::NeverRun => Role::Warning,
        _ => Role::Error,
    }
}

fn took(cell: &CellReport) -> String {
    if has_run(cell) { duration(cell.duration) } else { String::new() }
}

/// The number of outputs, and whether they changed.
fn outputs(cell: &CellReport) -> String {
    let Some(place) = &cell.notebook else { return String::new() };
    let has_changed = place.change == Some(OutputChange::Changed);
    match place.outputs {
        0 if has_changed => words::run::NO_OUTPUT_NOW.to_owned(),
        0 => String::new(),
        some if has_changed => words::run::changed(&count(some, "output")),
        some => count(some, "output"),
    }
}

/// The first line of a cell, why it ran, and the exception if it failed.
fn push_code(line: &mut Line, cell: &CellReport) {
    let error = exception(cell)
        .filter(|_| cell.state == State::Error && cell.exit_status().is_none())
        .map(|error| format!("{}: {}", error.name, error.value));
    let room = if error.is_some() { CODE_BESIDE } else { CODE };
    line.push(Role::Plain, &first_line(&cell.source.code, room));
    line.push(Role::Dim, &because(cell));
    if let Some(error) = error {
        line.push(Role::Error, &format!("  → {}", first_line(error.trim_end_matches(": "), 60)));
    }
}
