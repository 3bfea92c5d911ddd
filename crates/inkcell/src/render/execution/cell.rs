//! One cell of an execution as far as it has come: from reports, and between them from events.
//!
//! Owns which of the two counts. A report of a cell that is over has everything and wins; until then events
//! are newer. It must not know widths or colours.

use std::time::Duration;

use inkcell_engine::api::{CellReport, CellSource, EndReport, State};
use inkcell_engine::kernel::{ExecEvent, Outcome};
use inkcell_engine::output::{Mark, ModelOutput, Notice, Part, RichItem, RichKind};
use inkcell_engine::session::Note;

use super::growing::{Growing, lines_elided};
use super::lines::Lines;
use super::traceback::{Traceback, line_in_cell, traceback};
use crate::render::ending::exception;

/// Something in an output, in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::render) enum Item {
    /// What the program wrote.
    Text(Lines),
    /// The lines of an exception.
    Traceback(Lines),
    /// What inkcell says about it.
    Mark(String),
    /// What is more than text.
    Rich(RichItem),
}

/// What of a cell's output is to be shown.
#[derive(Default)]
pub(in crate::render) struct Content {
    pub(in crate::render) items: Vec<Item>,
    /// Status events, as JSON text.
    pub(in crate::render) statuses: Vec<String>,
    pub(in crate::render) has_markdown: bool,
}

/// Where a cell is, as far as its look goes (B:T-10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::render) enum Status {
    Pending,
    Running,
    Complete,
    Error,
}

/// A piece of a stored output that is shown in the place of what was kept (B:T-11).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Page {
    /// The number of its first line, counted from 1.
    pub(crate) first_line: u64,
    /// Lines in all.
    pub(crate) total_lines: u64,
    /// The lines, cleaned.
    pub(crate) text: String,
}

/// A cell.
pub(in crate::render) struct Cell {
    source: CellSource,
    report: Option<CellReport>,
    growing: Option<Growing>,
    page: Option<Page>,
    revision: u64,
}

impl Cell {
    pub(in crate::render) fn new(source: CellSource) -> Cell {
        Cell { source, report: None, growing: None, page: None, revision: 0 }
    }

    pub(in crate::render) fn report(&mut self, report: &CellReport) {
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

    pub(in crate::render) fn event(&mut self, event: &ExecEvent) {
        if !self.is_over() {
            self.growing.get_or_insert_default().event(event);
            self.revision += 1;
        }
    }

    pub(in crate::render) fn missed(&mut self, events: u64) {
        if !self.is_over() {
            self.growing.get_or_insert_default().missed(events);
            self.revision += 1;
        }
    }

    /// Shows a page of the stored output, or again what was kept.
    pub(in crate::render) fn page(&mut self, page: Option<Page>) {
        self.page = page;
        self.revision += 1;
    }

    /// Whether a report said so: after it nothing changes.
    fn is_over(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.state.is_end())
    }

    /// Counts changes, so that a frame made before one can be told from one made after.
    pub(in crate::render) fn revision(&self) -> u64 {
        self.revision
    }

    pub(in crate::render) fn source(&self) -> &CellSource {
        &self.source
    }

    pub(in crate::render) fn shown_page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    pub(in crate::render) fn state(&self) -> State {
        let told = self.report.as_ref().map_or(State::Queued, |report| report.state);
        match self.growing.as_ref().map(Growing::outcome) {
            None => told,
            Some(None) => State::Running,
            Some(Some(Outcome::Ok)) => State::Done,
            Some(Some(Outcome::Error(_))) => State::Error,
            Some(Some(Outcome::Aborted)) => State::NeverRun,
        }
    }

    pub(in crate::render) fn status(&self) -> Status {
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

    /// How long it took or has taken, once it has begun.
    pub(in crate::render) fn duration(&self) -> Option<Duration> {
        let report = self.report.as_ref()?;
        let has_begun = self.status() != Status::Pending && !report.duration.is_zero();
        (has_begun || self.state() == State::Done).then_some(report.duration)
    }

    pub(in crate::render) fn end(&self) -> Option<&EndReport> {
        self.report.as_ref().and_then(|report| report.end.as_ref())
    }

    pub(in crate::render) fn notes(&self) -> &[Note] {
        self.report.as_ref().map_or(&[], |report| &report.notes)
    }

    pub(in crate::render) fn notices(&self) -> &[Notice] {
        self.report.as_ref().map_or(&[], |report| &report.output.notices)
    }

    /// The stored output, by its id, where there is more than is kept.
    pub(in crate::render) fn artifact(&self) -> Option<&str> {
        let output = &self.report.as_ref()?.output;
        output.artifact.as_ref().map(|stored| stored.id.as_str())
    }

    /// The line of its code that failed, counted from 1.
    pub(in crate::render) fn failing_line(&self) -> Option<usize> {
        if let Some(Some(Outcome::Error(error))) = self.growing.as_ref().map(Growing::outcome) {
            return line_in_cell(error, None);
        }
        let report = self.report.as_ref().filter(|report| report.state == State::Error)?;
        line_in_cell(exception(report)?, report.count.map(u64::from))
    }

    pub(in crate::render) fn content(&self) -> Content {
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
    // Whoever took a cell back knows where it was.
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
    // An item whose mark was left out with the text around it is shown at the end.
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

/// While a cell runs, its report has the end of the text only; this says how much came before it.
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
