//! The cell that stopped a run: its traceback, and the reason in a sentence.
//!
//! Owns the choice of that cell. The sentences are in `words`.

use inkcell_engine::api::{CellReport, EndReport, PythonReport, State};
use inkcell_engine::notebook::first_line;

use super::{duration, has_run};
use crate::batch::Trouble;
use crate::view::ending::{exception, status};
use crate::view::live;
use crate::view::paint::{Line, Look, Role};
use crate::words;
use crate::words::run::cell_name;

/// The cell that stopped the run.
pub(super) fn stopped_at(told: &PythonReport) -> Option<&CellReport> {
    let is_failure = |cell: &&CellReport| {
        matches!(
            cell.state,
            State::Error
                | State::TimedOut
                | State::InputRefused
                | State::KernelDied
                | State::Cancelled
        )
    };
    if told.state == State::Done {
        return None;
    }
    told.cells.iter().rev().find(is_failure)
}

/// The failure that stopped a run, in parts, for a report on many runs.
pub(crate) fn trouble(told: &PythonReport) -> Option<Trouble> {
    stopped_at(told).map(trouble_of)
}

/// The failure of a cell, in parts.
pub(crate) fn trouble_of(cell: &CellReport) -> Trouble {
    let position = cell.notebook.as_ref().map(|cell| cell.index);
    let (kind, said) = match (cell.exit_status(), exception(cell)) {
        (Some(status), _) => ("SystemExit".to_owned(), words::run::called_exit(status)),
        (None, Some(error)) if cell.state == State::Error => {
            let said = format!("{}: {}", error.name, error.value);
            (error.name.clone(), first_line(said.trim_end_matches(": "), 200))
        }
        (None, _) => (
            status(cell.state).to_owned(),
            why(cell).trim_start_matches(':').trim().lines().next().unwrap_or_default().to_owned(),
        ),
    };
    let message = format!("{}: {said}", cell_name(cell));
    Trouble { kind, message, cell: position, details: whole(cell) }
}

/// The traceback and the sentence, without colours.
pub(super) fn whole(cell: &CellReport) -> String {
    let mut text = String::new();
    if let Some(error) = exception_to_show(cell) {
        let lines = if error.plain.is_empty() { &error.traceback } else { &error.plain };
        text.push_str(&lines.join("\n"));
        text.push('\n');
    }
    text + "error: " + &sentence(cell)
}

/// The traceback and the sentence, as they appear on a stream.
pub(super) fn painted(cell: &CellReport, look: Look) -> String {
    let mut text = exception_to_show(cell).map(|error| live::painted_traceback(error, look.colour));
    let sentence = sentence(cell);
    let mut lines = sentence.lines();
    let mut first = Line::of(Role::Failing, "error:");
    first.push(Role::Plain, &format!(" {}", lines.next().unwrap_or_default()));
    let rest = lines.map(|line| Line::of(Role::Plain, line));
    let lines: Vec<Line> = std::iter::once(first).chain(rest).collect();
    text.get_or_insert_default().push_str(&look.sentences(&lines));
    text.unwrap_or_default()
}

/// The exception to show. A cell that called `exit` says everything with its status.
fn exception_to_show(cell: &CellReport) -> Option<&inkcell_engine::kernel::PyError> {
    exception(cell).filter(|_| cell.exit_status().is_none())
}

fn sentence(cell: &CellReport) -> String {
    match cell.exit_status() {
        Some(status) => format!("{} {}", cell_name(cell), words::run::called_exit(status)),
        None => format!("{}{}", cell_name(cell), why(cell)),
    }
}

/// The reason why a cell did not end well.
fn why(cell: &CellReport) -> String {
    match (cell.state, &cell.end) {
        (State::Cancelled, _) if !has_run(cell) => words::run::STOPPED_BEFORE.to_owned(),
        (State::TimedOut, Some(EndReport::Stopped { after: Some(after), .. })) => {
            words::run::not_ended_within(&duration(*after))
        }
        (State::InputRefused, _) => words::run::ASKED_FOR_INPUT.to_owned(),
        (state, end) => match words::call::sentence(state, end.as_ref()) {
            Some(why) => format!(": {why}"),
            None => " failed".to_owned(),
        },
    }
}
