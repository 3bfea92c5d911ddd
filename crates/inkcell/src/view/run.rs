//! A run of a notebook, for users and programs: its progress, then the result of each cell.
//!
//! Owns the lines about a run. It must not know how cells run: it takes reports and events and returns text.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use inkcell_engine::StaleReason;
use inkcell_engine::api::{CellReport, EndReport, PythonReport, State, WriteBack};
use inkcell_engine::notebook::first_line;
use serde_json::Value;

use super::ending::{exception, status};
use super::fold::{CallNews, CallView};
use crate::batch::Trouble;
use crate::output::{Output, Stream, count, plain_json, visible};
use crate::setup::quoted;
use crate::words;
use crate::words::run::{cell_name, missing, notes, notes_beside_errors, said_beside};

mod json;
mod status_line;
mod table;

use status_line::StatusLine;
pub(super) use status_line::cut;

/// How to show progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Following {
    /// A live line on a terminal, or a line for each finished cell elsewhere.
    Lines,
    /// No progress. Only problems are shown.
    Quiet,
    /// One JSON object a line, on standard output.
    Json,
}

pub(crate) struct Progress {
    following: Following,
    status: Option<StatusLine>,
    /// Number of cells already announced as started, and as finished.
    begun: usize,
    ended: usize,
    call: CallView,
    cell_began: Instant,
    is_stopping: bool,
}

impl Progress {
    pub(crate) fn new(following: Following) -> Progress {
        let is_live = following == Following::Lines && io::stderr().is_terminal();
        Progress {
            following,
            status: is_live.then(StatusLine::default),
            begun: 0,
            ended: 0,
            call: CallView::new(Vec::new()),
            cell_began: Instant::now(),
            is_stopping: false,
        }
    }

    /// Uses plain text instead of a live line.
    pub(crate) fn without_drawing(self) -> Progress {
        Progress { status: None, ..self }
    }

    pub(crate) fn apply(&mut self, news: CallNews<'_>) {
        if matches!(news, CallNews::Line("")) {
            self.cell_began = Instant::now();
        }
        self.call.apply(news);
    }

    /// Notes that the user has asked the run to stop.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Shows new events and the elapsed time of the running cell.
    pub(crate) fn tick(&mut self) -> io::Result<()> {
        self.tell_news()?;
        let Some(status) = &mut self.status else { return Ok(()) };
        let Some(number) = self.call.running() else { return Ok(()) };
        let took = self.cell_began.elapsed();
        let text = now(&self.call.reports(), number, took, self.call.last_line());
        let stopping = if self.is_stopping { words::call::STOPPING } else { "" };
        status.show(&format!("{stopping}{text}"))
    }

    /// Announces cells that started or finished since the last call.
    fn tell_news(&mut self) -> io::Result<()> {
        let cells = self.call.reports();
        let all = cells.iter().filter(|cell| !cell.is_left_out()).count();
        let mut number = cells[..self.ended].iter().filter(|cell| !cell.is_left_out()).count();
        // A cell that vanished from the file never starts, but later cells do. So look for the last started one.
        let last = cells.iter().rposition(|cell| has_begun(cell)).map_or(0, |at| at + 1);
        for (at, cell) in cells.into_iter().enumerate().take(last).skip(self.ended) {
            if cell.is_left_out() {
                (self.begun, self.ended) = (self.begun.max(at + 1), at + 1);
                continue;
            }
            number += 1;
            // A quick cell may start and finish between two calls. Announce both, in order.
            if self.begun <= at && has_begun(cell) && self.following == Following::Json {
                print(&json::started(number, all, cell))?;
            }
            self.begun = self.begun.max(at + 1);
            // Its outputs are on their way to the disk. Only a later cell, or the end of the run, proves that
            // they did not arrive.
            let is_on_its_way = is_awaited(cell) && at + 1 == last && !self.call.is_over();
            if !cell.state.is_end() || is_on_its_way {
                break;
            }
            self.ended = at + 1;
            match self.following {
                Following::Json => print(&json::finished(number, all, cell))?,
                Following::Lines if self.status.is_none() => {
                    let line = finished_line(number, all, cell);
                    // A closed standard error must not stop the run.
                    let line = format!("{}\n", visible(&line));
                    drop(Stream::stderr().write_all(line.as_bytes()));
                }
                Following::Lines | Following::Quiet => {}
            }
        }
        Ok(())
    }

    /// Shows the end of the run: one JSON object, only problems, or a table with a summary.
    pub(crate) fn end(
        &mut self,
        told: &PythonReport,
        took: Duration,
        output: &mut Output,
        answer: Answer,
    ) -> io::Result<()> {
        self.call.apply(CallNews::Report(told));
        self.tell_news()?;
        let told = &*told.without_left_out();
        if let Some(status) = &mut self.status {
            status.clear()?;
        }
        if self.following == Following::Json {
            let mut notes = notes(told);
            notes.extend(said_beside(told));
            return print(&json::end(told, took, &notes));
        }
        if let Some(failed) = failure(told) {
            for line in failed.lines() {
                output.aside(line);
            }
        }
        if self.following == Following::Quiet {
            // Quiet hides progress, but not outputs that are missing from the file.
            let said = missing(told).into_iter().chain(said_beside(told));
            said.for_each(|note| output.aside(&format!("note: {note}")));
            return Ok(());
        }
        let mut lines = table::of(told);
        lines.push(summary(told, took));
        let notes = notes_beside_errors(told).into_iter();
        lines.extend(notes.map(|note| format!("note: {note}")));
        if let Some(notebook) = &told.notebook
            && answer == Answer::File
            && told.cells.iter().any(is_saved)
            && notebook.unsaved().is_none()
        {
            lines.extend(next(&notebook.written, told));
        }
        for line in lines {
            match answer {
                Answer::File | Answer::Served => output.line(&line)?,
                // The notebook itself goes to standard output.
                Answer::Piped => output.aside(&line),
            }
        }
        Ok(())
    }
}

/// The place of the outputs, and next steps after a successful run.
fn next(path: &str, told: &PythonReport) -> Vec<String> {
    let name = quoted(path);
    let last = told.cells.iter().rev().find_map(|cell| Some(cell.notebook.as_ref()?.index));
    match last.filter(|_| told.state == State::Done) {
        Some(last) => words::run::next_steps(path, &name, last),
        None => vec![words::run::outputs_are_in(path, &name)],
    }
}

/// Use of standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// Remarks about the run, including the place of the outputs.
    File,
    Piped,
    /// Remarks about the run. The caller stores the outputs and reports their place.
    Served,
}

fn print(value: &Value) -> io::Result<()> {
    let line = format!("{}\n", plain_json(&value.to_string()));
    Stream::stdout().write_all(line.as_bytes())
}

fn has_begun(cell: &CellReport) -> bool {
    !matches!(cell.state, State::Queued | State::NeverRun)
}

/// Returns true if any code of the cell ran. A kernel that was not ready in time ran none.
fn has_run(cell: &CellReport) -> bool {
    cell.count.is_some() || cell.state == State::KernelDied
}

/// Returns true while the write of the cell's outputs is pending.
fn is_awaited(cell: &CellReport) -> bool {
    cell.notebook.as_ref().is_some_and(|cell| cell.written == WriteBack::NotYet)
}

/// Returns true if the cell's outputs are in the file.
fn is_saved(cell: &CellReport) -> bool {
    cell.notebook.as_ref().is_some_and(|cell| cell.written == WriteBack::Saved)
}

/// Formats a duration for users.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_secs() {
        0 if seconds < 0.0995 => format!("{:.0} ms", seconds * 1000.0),
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{seconds:.0} s"),
        whole @ 60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        whole => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// The live line: the running cell, its time, its last output, and the estimated rest of the run.
fn now(cells: &[&CellReport], number: usize, took: Duration, last_line: &str) -> String {
    let Some(cell) = cells.get(number) else { return String::new() };
    let is_told = |cell: &&&CellReport| !cell.is_left_out();
    let at = cells[..=number].iter().filter(is_told).count();
    let all = cells.iter().filter(is_told).count();
    let mut text = format!("[{at}/{all}] {} {}", cell_name(cell), duration(took));
    match left(&cells[number..], took) {
        Some((left, RunTimes::All)) => text.push_str(&format!(", about {} left", duration(left))),
        Some((left, RunTimes::Some)) => text.push_str(&format!(", over {} left", duration(left))),
        None => {}
    }
    text.push_str(&format!("  {}", first_line(&cell.source.code, 40)));
    if !last_line.is_empty() {
        text.push_str(&format!("  | {last_line}"));
    }
    text
}

/// How many of the remaining cells have a run time from before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RunTimes {
    Some,
    All,
}

/// Estimated time for the rest, from the run times of earlier runs.
fn left(rest: &[&CellReport], took: Duration) -> Option<(Duration, RunTimes)> {
    let rest = || rest.iter().copied().filter(|cell| !cell.is_left_out());
    let last = |cell: &CellReport| cell.notebook.as_ref()?.last_took;
    let known = rest().filter_map(last);
    let timed =
        if known.clone().count() == rest().count() { RunTimes::All } else { RunTimes::Some };
    // A cell that exceeds its last run time must not shorten the estimate for the others.
    let over = rest().next().and_then(last).map_or(Duration::ZERO, |own| own.min(took));
    let left = known.reduce(|sum, took| sum + took)?.saturating_sub(over);
    // Return no estimate if all that is left of the run was never timed.
    (timed == RunTimes::All || !left.is_zero()).then_some((left, timed))
}

/// Whether a cell succeeded. A call of `exit` without an error status counts as success.
fn is_well(cell: &CellReport) -> bool {
    cell.state == State::Done || cell.exit_status() == Some("")
}

/// The result of a cell, in a word or two.
fn ended(cell: &CellReport) -> &'static str {
    let is_gone = cell.notebook.as_ref().is_some_and(|cell| cell.written == WriteBack::Gone);
    match cell.state {
        State::NeverRun if is_gone => "gone",
        State::NeverRun if is_blocked(cell) => "blocked",
        State::Error if cell.exit_status().is_some() => "exit",
        state => state.name(),
    }
}

fn finished_line(number: usize, all: usize, cell: &CellReport) -> String {
    let (state, code) = (ended(cell), first_line(&cell.source.code, 60));
    let took = if has_begun(cell) { duration(cell.duration) + " " } else { String::new() };
    format!("[{number}/{all}] {} {state} {took} {code}{}", cell_name(cell), because(cell))
}

/// The reason for a cell's run, unless the caller named the cell.
pub(super) fn reason(cell: &CellReport) -> Option<&StaleReason> {
    cell.notebook.as_ref()?.why.as_ref().filter(|why| **why != StaleReason::Chosen)
}

/// Returns true if the cell did not run because it depends on one that failed.
pub(super) fn is_blocked(cell: &CellReport) -> bool {
    matches!(reason(cell), Some(StaleReason::Blocked { .. }))
}

fn because(cell: &CellReport) -> String {
    reason(cell).map(|why| format!("  ({})", words::freshness::why(why))).unwrap_or_default()
}

/// The cell that stopped the run.
fn stopped_at(told: &PythonReport) -> Option<&CellReport> {
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
    Trouble { kind, message, cell: position, details: failure_of(cell) }
}

/// The failure that stopped the run: the cell and its message.
fn failure(told: &PythonReport) -> Option<String> {
    stopped_at(told).map(failure_of)
}

fn failure_of(cell: &CellReport) -> String {
    if let Some(status) = cell.exit_status() {
        return format!("error: {} {}", cell_name(cell), words::run::called_exit(status));
    }
    let mut text = String::new();
    if let Some(error) = exception(cell) {
        let lines = if error.plain.is_empty() { &error.traceback } else { &error.plain };
        text.push_str(&lines.join("\n"));
        text.push('\n');
    }
    text.push_str(&format!("error: {}{}", cell_name(cell), why(cell)));
    text
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

fn summary(told: &PythonReport, took: Duration) -> String {
    let of =
        |wanted: fn(&CellReport) -> bool| told.cells.iter().filter(|cell| wanted(cell)).count();
    let (ran, not_run) = (of(has_run), of(|cell| !has_run(cell)));
    let stopped = of(|cell| has_run(cell) && cell.state == State::Cancelled);
    let failed = ran - stopped - of(|cell| has_run(cell) && is_well(cell));
    let fresh = told.notebook.as_ref().map_or(0, |notebook| notebook.fresh.len());
    let mut parts = match told.cells.len() {
        0 if fresh > 0 => vec!["nothing is stale".to_owned()],
        0 => vec![words::run::NOTHING_TO_RUN.to_owned()],
        _ => vec![format!("{} ran", count(ran, "cell"))],
    };
    match failed {
        0 => {}
        // The run ended well, so an option or the notebook allows these failures.
        some if told.state == State::Done => {
            parts.push(words::run::failed_as_allowed(some));
        }
        some => parts.push(format!("{some} of them failed")),
    }
    if fresh > 0 {
        parts.push(format!("{fresh} fresh"));
    }
    if stopped > 0 {
        parts.push(format!("{stopped} of them interrupted"));
    }
    if not_run > 0 {
        parts.push(format!("{not_run} not run"));
    }
    let skipped = told.notebook.as_ref().map_or(0, |notebook| notebook.skipped.len());
    if skipped > 0 {
        parts.push(format!("{skipped} skipped"));
    }
    match told.cells.len() {
        0 => parts.join(", "),
        _ => format!("{} in {}", parts.join(", "), duration(took)),
    }
}

#[cfg(test)]
mod tests;
