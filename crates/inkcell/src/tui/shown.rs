//! One cell of the notebook as it is shown: how much of it, what of it runs, and the rows made last.
//!
//! Owns when rows are made again. It must not know the other cells, or where on the screen the rows go.

use std::time::Duration;

use inkcell_engine::api::{CellReport, CellSource, ExecutionId, NotebookCell, State, WriteBack};
use inkcell_engine::kernel::ExecEvent;
use inkcell_engine::notebook::CellView;

use super::pages::{Pages, Turn, Wanted};
use crate::render::execution::stored::{
    Ended, Language, LiveCell, Showing, long_text, output_rows, shown_time, source_rows,
};
use crate::render::execution::{Area, Expansion, Line, Page, Role, Wrap, wrap};
use crate::render::image::Gallery;

/// What is said below a page of an output.
const PAGING: &str = "[ shows earlier lines, ] later ones";

pub(super) struct ShownCell {
    pub(super) expansion: Expansion,
    /// It was asked to run and has not begun.
    pub(super) is_waiting: bool,
    run: Option<Run>,
    /// How the last run ended and how long it took, when that was seen.
    last: Option<(State, Option<String>)>,
    /// Counts changes of the file's cell.
    revision: u64,
    made: Option<(Area, u64, u64)>,
    rows: Vec<Line>,
    outputs_made: Option<(Area, u64, u64)>,
    output_rows: Vec<Line>,
    ended: Ended,
    pages: Pages,
    /// The count of the run whose output the pages are of.
    count: Option<u32>,
    renders: u64,
}

/// A run that is shown instead of what the file holds.
struct Run {
    execution: ExecutionId,
    /// Which cell of its call it is.
    number: usize,
    began: Duration,
    live: LiveCell,
}

impl Default for ShownCell {
    fn default() -> ShownCell {
        ShownCell {
            expansion: Expansion::Collapsed,
            is_waiting: false,
            run: None,
            last: None,
            revision: 0,
            made: None,
            rows: Vec::new(),
            outputs_made: None,
            output_rows: Vec::new(),
            ended: Ended::Well,
            pages: Pages::default(),
            count: None,
            renders: 0,
        }
    }
}

impl ShownCell {
    /// The cell of the file is another one now.
    pub(super) fn changed(&mut self, before: &CellView<'_>, now: &CellView<'_>) {
        self.revision += 1;
        let has_other_source = before.source().text != now.source().text;
        let has_other_outputs = before.outputs_json() != now.outputs_json()
            || before.execution_count() != now.execution_count();
        // What the file holds counts again, once nothing is to come.
        if !self.is_running() && (has_other_source || has_other_outputs) {
            self.run = None;
        }
        let count = now.execution_count().and_then(|count| u32::try_from(count).ok());
        if !self.is_running() && has_other_outputs && (count.is_none() || count != self.count) {
            self.pages = Pages::default();
        }
        if has_other_source {
            self.last = None;
        }
    }

    pub(super) fn begin(
        &mut self,
        execution: ExecutionId,
        number: usize,
        source: CellSource,
        now: Duration,
    ) {
        self.is_waiting = false;
        self.last = None;
        self.pages = Pages::default();
        self.run = Some(Run { execution, number, began: now, live: LiveCell::new(source) });
        self.revision += 1;
    }

    /// Whether this is the cell of this call.
    pub(super) fn is_of(&self, execution: &ExecutionId, number: usize) -> bool {
        self.run.as_ref().is_some_and(|run| run.execution == *execution && run.number == number)
    }

    pub(super) fn event(&mut self, event: &ExecEvent) {
        if let Some(run) = &mut self.run {
            run.live.event(event);
        }
    }

    pub(super) fn missed(&mut self, events: u64) {
        if let Some(run) = &mut self.run {
            run.live.missed(events);
        }
    }

    pub(super) fn end(&mut self, report: &CellReport) {
        if let Some(run) = &mut self.run {
            run.live.report(report);
            self.last = Some((run.live.state(), run.live.took()));
            self.pages = Pages::of(run.live.artifact());
            self.count = report.count;
        }
        let is_in_file = |cell: &NotebookCell| cell.written == WriteBack::Saved;
        if report.notebook.as_ref().is_some_and(is_in_file) {
            self.run = None;
            self.revision += 1;
        }
    }

    /// Whether it runs now.
    pub(super) fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.live.state().is_end()) && self.last.is_none()
    }

    /// The page that is to be asked for, where all of it is wanted and it is stored elsewhere.
    pub(super) fn wants_page(&mut self) -> Option<Wanted> {
        let is_wanted = self.expansion == Expansion::Expanded && !self.is_running();
        is_wanted.then(|| self.pages.wanted()).flatten()
    }

    /// Takes a page of a stored output; none if that is gone.
    pub(super) fn take_page(&mut self, artifact: &str, page: Option<&Page>) {
        if self.pages.take(artifact, page) {
            self.revision += 1;
        }
    }

    /// Turns to another page of the output; whether there is one.
    pub(super) fn turn(&mut self, turn: Turn) -> bool {
        let is_turned = self.expansion == Expansion::Expanded && self.pages.turn(turn);
        self.revision += u64::from(is_turned);
        is_turned
    }

    /// What draws pictures is another one now.
    pub(super) fn forget_rows(&mut self) {
        self.revision += 1;
    }

    /// How often rows were made.
    #[cfg(test)]
    pub(super) fn renders(&self) -> u64 {
        self.renders
    }

    /// The rows below the heading.
    pub(super) fn rows(
        &mut self,
        cell: &CellView<'_>,
        language: Language,
        (width, gallery): (usize, &Gallery),
    ) -> &[Line] {
        let area = Area { width, expansion: self.expansion };
        let live = self.run.as_ref().map_or(0, |run| run.live.revision());
        let key = (area, self.revision, live);
        if self.made != Some(key) {
            self.rows = source_rows(&cell.source().text, language, area);
            let outputs = self.outputs(cell, (area, gallery)).to_vec();
            self.rows.extend(outputs);
            self.made = Some(key);
            self.renders += 1;
        }
        &self.rows
    }

    /// What it shows besides its source.
    pub(super) fn outputs(
        &mut self,
        cell: &CellView<'_>,
        (area, gallery): (Area, &Gallery),
    ) -> &[Line] {
        let live = self.run.as_ref().map_or(0, |run| run.live.revision());
        let key = (area, self.revision, live);
        if self.outputs_made != Some(key) {
            if self.run.is_none() && area.expansion == Expansion::Expanded {
                self.pages.take_text(|| long_text(&cell.outputs()));
            }
            let page = self.pages.shown().filter(|_| area.expansion == Expansion::Expanded);
            let showing = Showing { area, gallery: Some(gallery), page };
            let mut rows = match &self.run {
                Some(run) => run.live.rows(showing),
                None => {
                    let (rows, ended) = output_rows(&cell.outputs(), showing);
                    self.ended = ended;
                    rows
                }
            };
            if page.is_some() {
                rows.extend(wrap(&Line::of(Role::Dim, PAGING), area.width, Wrap::Words));
            }
            let title = (!rows.is_empty()).then(|| Line::of(Role::Title, "Output"));
            self.output_rows = title.into_iter().chain(rows).collect();
            self.outputs_made = Some(key);
        }
        &self.output_rows
    }

    /// The mark, what is said beside it, and the role of both.
    pub(super) fn status(&self, now: Duration) -> (Role, &'static str, Option<String>) {
        let of_state = |state: State| match state {
            State::Done => (Role::Success, "✓"),
            State::Queued | State::NeverRun => (Role::Dim, "○"),
            State::Running => (Role::Warning, "●"),
            _ => (Role::Error, "✗"),
        };
        if self.is_waiting {
            return (Role::Dim, "○", Some("waiting".to_owned()));
        }
        if let Some((state, took)) = &self.last {
            let (role, mark) = of_state(*state);
            return (role, mark, took.clone());
        }
        if let Some(run) = &self.run {
            let since = shown_time(now.saturating_sub(run.began));
            return (Role::Warning, "●", Some(since));
        }
        match self.ended {
            Ended::Badly => (Role::Error, "✗", None),
            Ended::Well => (Role::Dim, "", None),
        }
    }
}
