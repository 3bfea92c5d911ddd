//! The state of one cell, folded from reports and from the events between them.
//!
//! Owns the choice between the two sources. The report of a finished cell is complete and wins. Until then
//! events are newer. It must not know widths or colours.

use std::time::Duration;

use inkcell_engine::api::{CellReport, CellSource, State};
use inkcell_engine::kernel::{ExecEvent, Outcome};
use inkcell_engine::output::{Mark, ModelOutput, Part, RichItem, RichKind};

use super::lines::Lines;
use super::live_output::{Content, Item, LiveOutput, traceback_items};
use super::traceback::line_in_cell;
use crate::view::ending::exception;

/// State of a cell, as far as it changes the look of the cell (B:T-10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Pending,
    Running,
    Complete,
    Error,
}

impl Status {
    pub(crate) fn of(state: State) -> Status {
        match state {
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

pub(crate) struct CallCell {
    report: CellReport,
    /// Output that is newer than the report.
    live: Option<LiveOutput>,
    page: Option<Page>,
    revision: u64,
}

impl CallCell {
    /// Creates a cell that has not started.
    pub(crate) fn new(source: CellSource) -> CallCell {
        let report = CellReport {
            source,
            state: State::Queued,
            count: None,
            duration: Duration::ZERO,
            output: ModelOutput::default(),
            end: None,
            notes: Vec::new(),
            notebook: None,
        };
        CallCell { report, live: None, page: None, revision: 0 }
    }

    /// Takes a report. That of a finished cell replaces all events.
    pub(crate) fn report(&mut self, report: &CellReport) {
        if self.report == *report {
            return;
        }
        if report.state.is_end() {
            self.live = None;
        }
        self.report = report.clone();
        self.revision += 1;
    }

    pub(crate) fn event(&mut self, event: &ExecEvent) {
        if let Some(live) = self.live_output() {
            live.event(event);
        }
    }

    /// Marks the place of events that were dropped before they could be shown.
    pub(crate) fn missed(&mut self, events: u64) {
        if let Some(live) = self.live_output() {
            live.missed(events);
        }
    }

    /// The output that is about to change. `None` once a report has ended the cell.
    fn live_output(&mut self) -> Option<&mut LiveOutput> {
        if self.report.state.is_end() {
            return None;
        }
        self.revision += 1;
        Some(self.live.get_or_insert_default())
    }

    /// Shows a page of the stored output. `None` goes back to the preview.
    pub(in crate::view) fn page(&mut self, page: Option<Page>) {
        self.page = page;
        self.revision += 1;
    }

    /// Counts changes, so that a caller can tell an old frame from a new one.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The last report, or that of a cell that waits.
    pub(in crate::view) fn last_report(&self) -> &CellReport {
        &self.report
    }

    pub(in crate::view) fn source(&self) -> &CellSource {
        &self.report.source
    }

    pub(in crate::view) fn shown_page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    pub(crate) fn state(&self) -> State {
        match self.live.as_ref().map(LiveOutput::outcome) {
            None => self.report.state,
            Some(None) => State::Running,
            Some(Some(Outcome::Ok)) => State::Done,
            Some(Some(Outcome::Error(_))) => State::Error,
            Some(Some(Outcome::Aborted)) => State::NeverRun,
        }
    }

    pub(in crate::view) fn status(&self) -> Status {
        Status::of(self.state())
    }

    /// Run time up to the end, or so far. `None` before the start.
    pub(crate) fn duration(&self) -> Option<Duration> {
        let CellReport { state, duration, .. } = self.report;
        let has_begun = self.status() != Status::Pending && !duration.is_zero();
        (has_begun || state == State::Done).then_some(duration)
    }

    /// Id of the stored output, if it holds more than the preview.
    pub(crate) fn artifact(&self) -> Option<&str> {
        self.report.output.artifact.as_ref().map(|stored| stored.id.as_str())
    }

    /// Line of the cell's code that failed, counted from 1.
    pub(in crate::view) fn failing_line(&self) -> Option<usize> {
        if let Some(Some(Outcome::Error(error))) = self.live.as_ref().map(LiveOutput::outcome) {
            return line_in_cell(error, None);
        }
        let error = exception(&self.report).filter(|_| self.report.state == State::Error)?;
        line_in_cell(error, self.report.count.map(u64::from))
    }

    pub(in crate::view) fn content(&self) -> Content {
        match &self.live {
            Some(live) => live.content(),
            None => of_report(&self.report),
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
            Part::Mark(mark) => items.push(Item::of_mark(mark)),
        }
    }
    // A cancelled cell needs no traceback: the user who cancelled it knows why it stopped.
    if report.state != State::Cancelled
        && let Some(error) = exception(report)
    {
        items.extend(traceback_items(error));
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
    Some(Item::of_mark(&Mark::Elided { bytes: left_out, lines }))
}
