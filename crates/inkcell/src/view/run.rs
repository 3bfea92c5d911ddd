//! A run of a notebook, for users and programs: its progress, then the result of each cell.
//!
//! Owns the lines about a run. It must not know how cells run: it takes reports and events and returns text.

use std::io;
use std::time::{Duration, Instant};

use inkcell_engine::StaleReason;
use inkcell_engine::api::{CellReport, PythonReport, State, WriteBack};
use inkcell_engine::notebook::first_line;
use serde_json::Value;

use super::fold::{CallNews, CallView};
use crate::output::{Stream, plain_json};
use crate::view::paint::{Line, Look, Role};
use crate::words;
use crate::words::run::{cell_name, missing, notes, notes_beside_errors, said_beside};

mod failure;
mod json;
mod output_log;
mod status_line;
mod summary;
mod table;

pub(crate) use failure::{trouble, trouble_of};
use output_log::OutputLog;
pub(crate) use status_line::StatusLine;
use table::Table;

/// How to show progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Following {
    /// A live line on a terminal and a table at the end, or a row for each finished cell elsewhere.
    Lines,
    /// No progress. Only problems are shown.
    Quiet,
    /// One JSON object a line, on standard output.
    Json,
}

/// The streams that show a run, with their looks.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) following: Following,
    pub(crate) answer: Answer,
    pub(crate) stdout: Look,
    pub(crate) stderr: Look,
    pub(crate) advice: Advice,
    /// True if standard error is a terminal that can be painted on.
    pub(crate) can_draw: bool,
    /// True if outputs are shown as they come.
    pub(crate) shows_outputs: bool,
    /// The values of the run, an object.
    pub(crate) parameters: Value,
    /// True if the notebook is only written, and no cell runs.
    pub(crate) is_preparation: bool,
}

/// Whether the end of a run suggests a next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Advice {
    Unwanted,
    Wanted {
        /// The command that goes on with a run that was cut short, if there is one.
        resume: Option<String>,
    },
}

pub(crate) struct Progress {
    manner: Manner,
    status: Option<StatusLine>,
    /// The rows of cells that have ended, if they come one by one.
    table: Option<Table>,
    log: Option<OutputLog>,
    /// Number of cells already announced as started, and as finished.
    begun: usize,
    ended: usize,
    call: CallView,
    cell_began: Instant,
    is_stopping: bool,
}

impl Progress {
    pub(crate) fn new(manner: Manner) -> Progress {
        // A live line would cut the outputs in pieces.
        let is_live =
            manner.following == Following::Lines && manner.can_draw && !manner.shows_outputs;
        let log = manner.shows_outputs.then(|| OutputLog::new(manner.stderr));
        Progress {
            log,
            manner,
            status: is_live.then(StatusLine::default),
            table: None,
            begun: 0,
            ended: 0,
            call: CallView::new(Vec::new()),
            cell_began: Instant::now(),
            is_stopping: false,
        }
    }

    pub(crate) fn apply(&mut self, news: CallNews<'_>) {
        if matches!(news, CallNews::Line("")) {
            self.cell_began = Instant::now();
        }
        if let (Some(log), CallNews::Event(at, event)) = (&mut self.log, news) {
            log.take(&self.call.reports(), at, event);
            return;
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
        let mut line = Line::default();
        if self.is_stopping {
            line.push(Role::Warning, words::call::STOPPING);
        }
        let line = now(line, (&self.call.reports()[..], number), took, self.call.last_line());
        status.show(&line, self.manner.stderr.colour)
    }

    /// Announces cells that started or finished since the last call.
    fn tell_news(&mut self) -> io::Result<()> {
        let cells = self.call.reports();
        let all = cells.iter().filter(|cell| !cell.is_left_out()).count();
        let mut number = cells[..self.ended].iter().filter(|cell| !cell.is_left_out()).count();
        // A cell that vanished from the file never starts, but later cells do. So look for the last started one.
        let last = cells.iter().rposition(|cell| has_begun(cell)).map_or(0, |at| at + 1);
        // After the end, no cell is still to come.
        let has_rows = self.manner.following == Following::Lines && self.status.is_none();
        let rest = if has_rows && self.call.is_over() { table::MAX_ROWS } else { 0 };
        let last = cells.len().min(last + rest);
        let mut rows = Vec::new();
        for (at, cell) in cells.iter().enumerate().take(last).skip(self.ended) {
            if cell.is_left_out() {
                (self.begun, self.ended) = (self.begun.max(at + 1), at + 1);
                continue;
            }
            number += 1;
            // A quick cell may start and finish between two calls. Announce both, in order.
            if self.begun <= at && has_begun(cell) && self.manner.following == Following::Json {
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
            match self.manner.following {
                Following::Json => print(&json::finished(number, all, cell))?,
                Following::Lines if self.status.is_none() => {
                    let table = self.table.get_or_insert_with(|| Table::growing(&cells));
                    rows.push(table.row(Some((number, all)), cell));
                }
                Following::Lines | Following::Quiet => {}
            }
        }
        if let (Some(log), false) = (&mut self.log, rows.is_empty()) {
            log.end_line();
        }
        self.rows(&rows)
    }

    /// Shows the end of the run: one JSON object, only problems, or the rows that are left with a summary.
    /// `hint` is about the failure.
    pub(crate) fn end(
        &mut self,
        told: &PythonReport,
        took: Duration,
        hint: Option<&str>,
    ) -> io::Result<()> {
        self.call.apply(CallNews::Report(told));
        if let Some(status) = &mut self.status {
            status.clear()?;
        }
        let news = self.tell_news();
        let told = &*told.without_left_out();
        if self.manner.following == Following::Json {
            news?;
            let mut notes = notes(told);
            notes.extend(said_beside(told));
            return print(&json::end((told, &self.manner.parameters), took, (&notes[..], hint)));
        }
        if let Some(log) = &mut self.log {
            log.end_line();
        }
        if let Some(cell) = failure::stopped_at(told) {
            aside(&failure::painted(cell, self.manner.stderr));
        }
        if let Some(hint) = hint {
            let mut line = Line::of(Role::Code, "hint:");
            line.push(Role::Plain, &format!(" {hint}"));
            aside(&Look { width: None, ..self.manner.stderr }.rows(&[line]));
        }
        if self.manner.following == Following::Quiet {
            // Quiet hides progress, but not outputs that are missing from the file.
            let said: Vec<Line> = missing(told)
                .into_iter()
                .chain(said_beside(told))
                .map(|text| note(&text))
                .collect();
            aside(&self.manner.stderr.sentences(&said));
            return Ok(());
        }
        news?;
        if self.status.is_some() {
            self.rows(&table::of(told, self.remarks_look().width))?;
        }
        let written = told.notebook.as_ref().filter(|_| self.manner.is_preparation);
        let mut lines = vec![match written {
            Some(notebook) => Line::of(Role::Strong, &words::run::prepared(&notebook.written)),
            None => summary::of(told, took),
        }];
        lines.extend(notes_beside_errors(told).into_iter().map(|text| note(&text)));
        let step = match self.manner.answer {
            Answer::File => summary::next_step(told, &self.manner.advice),
            Answer::Piped | Answer::Served => None,
        };
        self.write(&self.remarks_look().sentences(&lines))?;
        // The terminal wraps a command without breaking it, so that it can be copied.
        let unwrapped = Look { width: None, ..self.remarks_look() };
        let step = step.map(|step| unwrapped.rows(&[Line::of(Role::Plain, &step)]));
        step.map_or(Ok(()), |step| self.write(&step))
    }

    /// The look of the remarks about the run.
    fn remarks_look(&self) -> Look {
        match self.manner.answer {
            Answer::File | Answer::Served => self.manner.stdout,
            Answer::Piped => self.manner.stderr,
        }
    }

    fn rows(&self, rows: &[Line]) -> io::Result<()> {
        if rows.is_empty() { Ok(()) } else { self.write(&self.remarks_look().rows(rows)) }
    }

    fn write(&self, text: &str) -> io::Result<()> {
        match self.manner.answer {
            Answer::File | Answer::Served => Stream::stdout().write_all(text.as_bytes()),
            // The notebook itself goes to standard output.
            Answer::Piped => {
                aside(text);
                Ok(())
            }
        }
    }
}

/// Writes remarks beside the answer. A closed standard error must not stop the run.
fn aside(text: &str) {
    drop(Stream::stderr().write_all(text.as_bytes()));
}

fn note(text: &str) -> Line {
    let mut line = Line::of(Role::Warning, "note:");
    line.push(Role::Plain, &format!(" {text}"));
    line
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

/// The live line: the progress of the run, the running cell, its time, the estimated rest of the run, and its last
/// output.
fn now(
    mut line: Line,
    (cells, number): (&[&CellReport], usize),
    took: Duration,
    last_line: &str,
) -> Line {
    let Some(cell) = cells.get(number) else { return line };
    let is_told = |cell: &&&CellReport| !cell.is_left_out();
    let at = cells[..=number].iter().filter(is_told).count();
    let all = cells.iter().filter(is_told).count();
    line.push(Role::Strong, &format!("{at}/{all}"));
    line.push(Role::Plain, &format!("  {}  {}", cell_name(cell), duration(took)));
    let left = match left(&cells[number..], took) {
        Some((left, RunTimes::All)) => format!(", about {} left", duration(left)),
        Some((left, RunTimes::Some)) => format!(", over {} left", duration(left)),
        None => String::new(),
    };
    line.push(Role::Dim, &left);
    line.push(Role::Plain, &format!("  {}", first_line(&cell.source.code, 40)));
    if !last_line.is_empty() {
        line.push(Role::Dim, &format!("  | {last_line}"));
    }
    line
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

#[cfg(test)]
mod tests;
