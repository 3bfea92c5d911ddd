//! A run of a notebook as people and programs see it: how far it is, and at the end what became of each cell.
//!
//! Owns what is said about a run. It must not know how a run is made: reports and events come in, text goes out.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use inkcell_engine::api::{
    CellReport, NotebookCell, NotebookReport, PythonReport, RunNote, State, WriteBack,
};
use inkcell_engine::kernel::{ExecEvent, KernelEvent};
use inkcell_engine::notebook::first_line;
use serde_json::{Value, json};

use super::ending::{exception, status};
use super::{report, words};
use crate::output::{Output, count, visible};

mod status_line;
mod table;

use status_line::StatusLine;

/// How a run is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Following {
    /// On a terminal a line that is kept up to date; elsewhere a line for each cell.
    Lines,
    /// Not at all; only what went wrong is said.
    Quiet,
    /// An object a line, on standard output.
    Json,
}

pub(crate) struct Progress {
    following: Following,
    status: Option<StatusLine>,
    /// How many cells have been told as begun, and as ended.
    begun: usize,
    ended: usize,
    /// The last line that the running cell wrote.
    last_line: String,
    cell_began: Instant,
}

impl Progress {
    pub(crate) fn new(following: Following) -> Progress {
        let is_live = following == Following::Lines && io::stderr().is_terminal();
        Progress {
            following,
            status: is_live.then(StatusLine::default),
            begun: 0,
            ended: 0,
            last_line: String::new(),
            cell_began: Instant::now(),
        }
    }

    /// Something happened in a cell.
    pub(crate) fn event(&mut self, event: &KernelEvent) {
        let (KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event)) = event else { return };
        match event {
            ExecEvent::Started { .. } => {
                self.last_line.clear();
                self.cell_began = Instant::now();
            }
            ExecEvent::Stream { data, .. } => {
                // A progress bar goes back to the beginning of its line again and again.
                let text = String::from_utf8_lossy(data);
                let mut lines = text.split(['\n', '\r']).filter(|line| !line.trim().is_empty());
                if let Some(line) = lines.next_back() {
                    self.last_line = line.to_owned();
                }
            }
            _ => {}
        }
    }

    /// A while has passed.
    pub(crate) fn tick(&mut self, report: &PythonReport) -> io::Result<()> {
        self.tell_news(report)?;
        let Some(status) = &mut self.status else { return Ok(()) };
        let running = report.cells.iter().position(|cell| cell.state == State::Running);
        let Some(number) = running else { return Ok(()) };
        let text = now(report, number, self.cell_began.elapsed(), &self.last_line);
        status.show(&text)
    }

    /// Says which cells have begun and ended since the last time.
    fn tell_news(&mut self, report: &PythonReport) -> io::Result<()> {
        let all = report.cells.len();
        // A cell that vanished from the file never begins, and those after it do.
        let last = report.cells.iter().rposition(has_begun).map_or(0, |at| at + 1);
        for at in self.begun..last {
            self.begun = at + 1;
            let cell = &report.cells[at];
            if self.following == Following::Json && has_begun(cell) {
                print(&event_json("cell_started", at + 1, all, cell))?;
            }
        }
        while self.ended < last && report.cells[self.ended].state.is_end() {
            let cell = &report.cells[self.ended];
            self.ended += 1;
            match self.following {
                Following::Json => print(&event_json("cell_finished", self.ended, all, cell))?,
                Following::Lines if self.status.is_none() => {
                    let line = finished_line(self.ended, all, cell);
                    // Nobody may be there to read it, which is no reason to stop.
                    drop(writeln!(io::stderr(), "{}", visible(&line)));
                }
                Following::Lines | Following::Quiet => {}
            }
        }
        Ok(())
    }

    /// The run is over.
    pub(crate) fn end(
        &mut self,
        told: &PythonReport,
        took: Duration,
        output: &mut Output,
        answer: Answer,
    ) -> io::Result<()> {
        self.tell_news(told)?;
        if let Some(status) = &mut self.status {
            status.clear()?;
        }
        let notes = notes(told);
        if self.following == Following::Json {
            return print(&end_json(told, took, &notes));
        }
        if let Some(failed) = failure(told) {
            for line in failed.lines() {
                output.aside(line);
            }
        }
        if self.following == Following::Quiet {
            return Ok(());
        }
        let mut lines = table::of(told);
        lines.push(summary(told, took));
        lines.extend(notes.into_iter().map(|note| format!("note: {note}")));
        if let Some(notebook) = &told.notebook
            && answer == Answer::File
            && !notebook.notes.iter().any(|note| matches!(note, RunNote::NotSaved(_)))
        {
            let path = &notebook.written;
            lines.push(format!(
                "Outputs are in {path}; see them with: inkcell read {path} --outputs full"
            ));
        }
        for line in lines {
            match answer {
                Answer::File => output.line(&line)?,
                // Standard output is for the notebook.
                Answer::Piped => output.aside(&line),
            }
        }
        Ok(())
    }
}

/// What standard output is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// What is said about the run.
    File,
    /// The notebook.
    Piped,
}

fn print(value: &Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{value}")?;
    stdout.flush()
}

fn has_begun(cell: &CellReport) -> bool {
    !matches!(cell.state, State::Queued | State::NeverRun)
}

/// A duration as people read it.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_secs() {
        0 if seconds < 0.0995 => format!("{:.0} ms", seconds * 1000.0),
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{seconds:.0} s"),
        whole @ 60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        whole => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// The cell that runs, in one line: which, how long, what it wrote last, and when it may all be over.
fn now(report: &PythonReport, number: usize, took: Duration, last_line: &str) -> String {
    let Some(cell) = report.cells.get(number) else { return String::new() };
    let (at, all) = (number + 1, report.cells.len());
    let mut text = format!("[{at}/{all}] {} {}", name(cell), duration(took));
    if let Some(left) = left(report, number, took) {
        text.push_str(&format!(", about {} left", duration(left)));
    }
    text.push_str(&format!("  {}", first_line(&cell.source.code, 40)));
    if !last_line.is_empty() {
        text.push_str(&format!("  | {last_line}"));
    }
    text
}

/// How long the rest may take, when every cell of it has been timed before.
fn left(report: &PythonReport, number: usize, took: Duration) -> Option<Duration> {
    let rest = report.cells.get(number..)?;
    let last = rest.iter().map(|cell| cell.notebook.as_ref()?.last_took);
    Some(last.sum::<Option<Duration>>()?.saturating_sub(took))
}

/// A cell by its position and id.
pub(super) fn name(cell: &CellReport) -> String {
    match &cell.notebook {
        Some(NotebookCell { index, id: Some(id), .. }) => format!("cell {index} ({id})"),
        Some(NotebookCell { index, id: None, .. }) => format!("cell {index}"),
        None => String::from("cell"),
    }
}

fn finished_line(number: usize, all: usize, cell: &CellReport) -> String {
    let (state, took) = (cell.state.name(), duration(cell.duration));
    let code = first_line(&cell.source.code, 60);
    format!("[{number}/{all}] {} {state} {took}  {code}", name(cell))
}

/// What stopped the run: the cell, and what it said.
fn failure(told: &PythonReport) -> Option<String> {
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
    let cell = told.cells.iter().rev().find(is_failure)?;
    let mut text = String::new();
    if let Some(error) = exception(cell) {
        let lines = if error.plain.is_empty() { &error.traceback } else { &error.plain };
        text.push_str(&lines.join("\n"));
        text.push('\n');
    }
    let why = words::sentence(cell.state, cell.end.as_ref());
    let why = why.map_or_else(|| " failed".to_owned(), |why| format!(": {why}"));
    text.push_str(&format!("error: {}{why}", name(cell)));
    Some(text)
}

fn summary(told: &PythonReport, took: Duration) -> String {
    let of =
        |wanted: fn(State) -> bool| told.cells.iter().filter(|cell| wanted(cell.state)).count();
    let well = of(|state| state == State::Done);
    let not_run = of(|state| matches!(state, State::NeverRun | State::Queued));
    let failed = told.cells.len() - well - not_run;
    let mut parts = vec![format!("{} ran", count(well, "cell"))];
    match failed {
        0 => {}
        // A run that ended well was told, or its notebook says, that these may fail.
        some if told.state == State::Done => parts.push(format!("{some} failed, as allowed")),
        some => parts.push(format!("{some} failed")),
    }
    if not_run > 0 {
        parts.push(format!("{not_run} not run"));
    }
    let skipped = told.notebook.as_ref().map_or(0, |notebook| notebook.skipped.len());
    if skipped > 0 {
        parts.push(format!("{skipped} skipped"));
    }
    format!("{} in {}", parts.join(", "), duration(took))
}

/// What else there is to say, in sentences.
fn notes(told: &PythonReport) -> Vec<String> {
    let Some(NotebookReport { notes, resumed, .. }) = &told.notebook else { return Vec::new() };
    let mut said: Vec<String> = notes.iter().map(note).collect();
    if !resumed.is_empty() {
        let cells = count(resumed.len(), "cell");
        said.push(format!("{cells} that an earlier run had finished were not run again; their variables are not there"));
    }
    let changed = |wanted: WriteBack| {
        let is_it =
            |cell: &&CellReport| cell.notebook.as_ref().is_some_and(|cell| cell.written == wanted);
        let names: Vec<String> = told.cells.iter().filter(is_it).map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    said.extend(changed(WriteBack::SourceChanged).map(|cells| {
        format!(
            "changed by somebody else while it ran, so its outputs are not in the file: {cells}"
        )
    }));
    said.extend(changed(WriteBack::Gone).map(|cells| format!("not in the file any more: {cells}")));
    said
}

/// A note, in a sentence.
pub(crate) fn note(note: &RunNote) -> String {
    match note {
        RunNote::OtherKernel { named } => {
            format!(
                "the notebook names the kernel {named}; it was run by the Python that is used here"
            )
        }
        RunNote::Exited { index, status } if status.is_empty() || status == "0" => {
            format!("the run ended at cell {index}, which called exit")
        }
        RunNote::Exited { index, status } => {
            format!("the run ended at cell {index}, which called exit with: {status}")
        }
        RunNote::NotSaved(problem) => format!(
            "the outputs could not be saved ({}); they are kept and go into the file with the next command on it",
            problem.message
        ),
        RunNote::Recovered { cells } => report::recovered(*cells),
    }
}

fn event_json(event: &str, number: usize, all: usize, cell: &CellReport) -> Value {
    let mut value = cell_json(cell);
    value["event"] = event.into();
    value["number"] = number.into();
    value["of"] = all.into();
    value
}

fn cell_json(cell: &CellReport) -> Value {
    let place = cell.notebook.as_ref();
    let error = exception(cell);
    json!({
        "index": place.map(|place| place.index),
        "id": place.and_then(|place| place.id.clone()),
        "status": status(cell.state),
        "seconds": cell.duration.as_secs_f64(),
        "count": cell.count,
        "outputs": place.map(|place| place.outputs),
        "written": place.map(|place| place.written),
        "error": error.map(|error| json!({"name": error.name, "value": error.value, "traceback": error.plain})),
        "message": words::sentence(cell.state, cell.end.as_ref()),
    })
}

fn end_json(told: &PythonReport, took: Duration, notes: &[String]) -> Value {
    let notebook = told.notebook.as_ref();
    json!({
        "event": "run_finished",
        "status": status(told.state),
        "seconds": took.as_secs_f64(),
        "path": notebook.map(|notebook| notebook.path.clone()),
        "written": notebook.map(|notebook| notebook.written.clone()),
        "version": notebook.and_then(|notebook| notebook.version.clone()),
        "cells": told.cells.iter().map(cell_json).collect::<Vec<_>>(),
        "skipped": notebook.map(|notebook| notebook.skipped.clone()),
        "resumed": notebook.map(|notebook| notebook.resumed.clone()),
        "notes": notes,
    })
}

#[cfg(test)]
mod tests;
