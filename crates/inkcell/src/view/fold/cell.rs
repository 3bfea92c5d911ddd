//! The state of one cell on a screen, built from reports and from the events between them.
//!
//! Owns the choice between the two sources. The report of a finished cell is complete and wins. Until then
//! events are newer. It must not know widths or colours.

use std::time::Duration;

use inkcell_engine::api::{CellReport, CellSource, EndReport, State};
use inkcell_engine::kernel::{ExecEvent, Outcome};
use inkcell_engine::output::{Mark, ModelOutput, Notice, Part, RichItem, RichKind};
use inkcell_engine::session::CallNote;

use super::lines::Lines;
use super::live_output::{Growing, Item, lines_elided};
use crate::view::ending::exception;
use crate::view::execution::traceback::{Traceback, line_in_cell, traceback};

/// Output of a cell, ready for rendering.
#[derive(Default)]
pub(in crate::view) struct Content {
    pub(in crate::view) items: Vec<Item>,
    /// Status events, as JSON text.
    pub(in crate::view) statuses: Vec<String>,
    pub(in crate::view) has_markdown: bool,
}

/// State of a cell, as far as it changes the look of the cell (B:T-10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::view) enum Status {
    Pending,
    Running,
    Complete,
    Error,
}

/// A page of a stored output. It replaces the preview of that output (B:T-11).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Page {
    /// Number of the first line of the page, counted from 1.
    pub(crate) first_line: u64,
    /// Lines of the whole stored output, not only of this page.
    pub(crate) total_lines: u64,
    /// The lines of the page, free of control characters.
    pub(crate) text: String,
}

pub(in crate::view) struct Cell {
    source: CellSource,
    report: Option<CellReport>,
    growing: Option<Growing>,
    page: Option<Page>,
    revision: u64,
}

impl Cell {
    pub(in crate::view) fn new(source: CellSource) -> Cell {
        Cell { source, report: None, growing: None, page: None, revision: 0 }
    }

    pub(in crate::view) fn report(&mut self, report: &CellReport) {
        if self.report.as_ref() == Some(report) {
            return;
        }
        self.source = report.source.clone();
        if report.state.is_end() {
            self.growing = None;
        }
        self.report = Some(report.clone());
        self.revision += 1;
    }

    pub(in crate::view) fn event(&mut self, event: &ExecEvent) {
        if !self.is_over() {
            self.growing.get_or_insert_default().event(event);
            self.revision += 1;
        }
    }

    pub(in crate::view) fn missed(&mut self, events: u64) {
        if !self.is_over() {
            self.growing.get_or_insert_default().missed(events);
            self.revision += 1;
        }
    }

    /// Shows a page of the stored output. `None` goes back to the preview.
    pub(in crate::view) fn page(&mut self, page: Option<Page>) {
        self.page = page;
        self.revision += 1;
    }

    /// Returns true once a report has ended the cell. Nothing changes after that.
    fn is_over(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.state.is_end())
    }

    /// Counts changes, so that a caller can tell an old frame from a new one.
    pub(in crate::view) fn revision(&self) -> u64 {
        self.revision
    }

    pub(in crate::view) fn source(&self) -> &CellSource {
        &self.source
    }

    pub(in crate::view) fn shown_page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    pub(in crate::view) fn state(&self) -> State {
        let told = self.report.as_ref().map_or(State::Queued, |report| report.state);
        match self.growing.as_ref().map(Growing::outcome) {
            None => told,
            Some(None) => State::Running,
            Some(Some(Outcome::Ok)) => State::Done,
            Some(Some(Outcome::Error(_))) => State::Error,
            Some(Some(Outcome::Aborted)) => State::NeverRun,
        }
    }

    pub(in crate::view) fn status(&self) -> Status {
        match self.state() {
            State::Queued | State::NeverRun => Status::Pending,
            State::Running => Status::Running,
            State::Done => Status::Complete,
            State::Error
            | State::TimedOut
            | State::Cancelled
            | State::InputRefused
            | State::KernelDied => Status::Error,
        }
    }

    /// Run time up to the end, or so far. `None` before the start.
    pub(in crate::view) fn duration(&self) -> Option<Duration> {
        let report = self.report.as_ref()?;
        let has_begun = self.status() != Status::Pending && !report.duration.is_zero();
        (has_begun || self.state() == State::Done).then_some(report.duration)
    }

    pub(in crate::view) fn end(&self) -> Option<&EndReport> {
        self.report.as_ref().and_then(|report| report.end.as_ref())
    }

    pub(in crate::view) fn notes(&self) -> &[CallNote] {
        self.report.as_ref().map_or(&[], |report| &report.notes)
    }

    pub(in crate::view) fn notices(&self) -> &[Notice] {
        self.report.as_ref().map_or(&[], |report| &report.output.notices)
    }

    /// Id of the stored output, if it holds more than the preview.
    pub(in crate::view) fn artifact(&self) -> Option<&str> {
        let output = &self.report.as_ref()?.output;
        output.artifact.as_ref().map(|stored| stored.id.as_str())
    }

    /// Line of the cell's code that failed, counted from 1.
    pub(in crate::view) fn failing_line(&self) -> Option<usize> {
        if let Some(Some(Outcome::Error(error))) = self.growing.as_ref().map(Growing::outcome) {
            return line_in_cell(error, None);
        }
        let report = self.report.as_ref().filter(|report| report.state == State::Error)?;
        line_in_cell(exception(report)?, report.count.map(u64::from))
    }

    pub(in crate::view) fn content(&self) -> Content {
        if let Some(growing) = &self.growing {
            return Content {
                items: growing.items(),
                statuses: growing.statuses().to_vec(),
                has_markdown: growing.has_markdown(),
            };
        }
        match &self.report {
            Some(report) => of_report(report),
            None => Content::default(),
        }
    }
}

fn of_report(report: &CellReport) -> Content {
    let output = &report.output;
    let mut items = Vec::new();
    if !report.state.is_end() {
        items.extend(before_preview(output));
    }
    for part in &output.parts {
        match part {
            Part::Text(text) => match items.last_mut() {
                Some(Item::Text(lines)) => lines.push(text),
                _ => items.push(Item::Text(Lines::of(text))),
            },
            Part::Mark(Mark::Rich { number }) => {
                let found = output.rich.iter().find(|item| item.number == *number);
                items.extend(found.cloned().map(Item::Rich));
            }
            Part::Mark(mark) => items.push(Item::Mark(mark.to_string())),
        }
    }
    // A cancelled cell needs no traceback: the user who cancelled it knows why it stopped.
    if report.state != State::Cancelled
        && let Some(error) = exception(report)
    {
        let Traceback { lines, rest } = traceback(error);
        items.push(Item::Traceback(lines));
        if let Some((hidden, rest)) = rest {
            items.extend([Item::Mark(lines_elided(hidden)), Item::Traceback(rest)]);
        }
    }
    let is_status = |item: &&RichItem| matches!(item.kind, RichKind::Status(_));
    // The mark of an item may be lost with the text around it. Such an item goes to the end.
    let is_placed = |item: &RichItem| {
        items.iter().any(|placed| matches!(placed, Item::Rich(one) if one.number == item.number))
    };
    let others: Vec<Item> = (output.rich.iter())
        .filter(|item| !is_status(item) && !is_placed(item))
        .map(|item| Item::Rich(item.clone()))
        .collect();
    items.extend(others);
    let statuses = output.rich.iter().filter_map(|item| match &item.kind {
        RichKind::Status(text) => Some(text.clone()),
        _ => None,
    });
    Content { statuses: statuses.collect(), items, has_markdown: output.has_markdown }
}

/// The report of a running cell holds only the end of the text. This mark counts what came before.
fn before_preview(output: &ModelOutput) -> Option<Item> {
    let texts = output.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Mark(_) => None,
    });
    let (bytes, feeds) = texts.fold((0, 0), |(bytes, feeds), text| {
        (bytes + text.len() as u64, feeds + text.matches('\n').count() as u64)
    });
    let left_out = output.counts.total_bytes.checked_sub(bytes).filter(|bytes| *bytes > 0)?;
    let lines = output.counts.total_lines.saturating_sub(feeds + 1);
    Some(Item::Mark(Mark::Elided { bytes: left_out, lines }.to_string()))
}
