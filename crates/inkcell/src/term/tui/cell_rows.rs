//! A cell of the notebook on the screen: its expansion, its run, and its cached rows.
//!
//! Owns the decision to render again. It must not know other cells, or the position of the rows on the screen.

use std::time::Duration;

use inkcell_engine::Freshness;
use inkcell_engine::api::{CellReport, CellSource, ExecutionId, State};
use inkcell_engine::kernel::ExecEvent;
use inkcell_engine::notebook::CellView;

use super::pages::{LinesRequest, Pages};
use crate::term::screen::Turn;
use crate::view::execution::stored_cell::{
    Language, Showing, live_rows, long_text, output_rows, source_rows,
};
use crate::view::execution::{Area, Expansion, Page, mark, shown_duration};
use crate::view::fold::cell::{CallCell, Status};
use crate::view::image::Gallery;
use crate::view::paint::{Line, Role, Wrap, wrap};
use crate::words;

/// The mark of a cell whose outputs are out of date.
const STALE: &str = "~";

/// Time for the outputs of a finished run to reach the file.
const SETTLED: Duration = Duration::from_secs(1);

pub(super) struct CellRows {
    pub(super) expansion: Expansion,
    /// The user has hidden the outputs.
    hides_output: bool,
    /// A run was requested and has not started.
    pub(super) is_waiting: bool,
    run: Option<Run>,
    /// The last run, if its end was seen.
    last: Option<Last>,
    /// The outputs in the file changed during the run.
    has_news: bool,
    /// Counts changes of the cell in the file.
    revision: u64,
    made: Option<(Area, u64, u64)>,
    rows: Vec<Line>,
    /// Rows of the source, which come first.
    source_len: usize,
    outputs_made: Option<(Area, u64, u64)>,
    output_rows: Vec<Line>,
    /// The freshness of the cell, once it is known.
    freshness: Option<Freshness>,
    /// Whether the outputs in the file include an exception.
    stored: Status,
    pages: Pages,
    renders: u64,
}

/// A finished run, kept while the file has its outputs.
struct Last {
    state: State,
    took: Option<String>,
    /// Execution count that the run gave the cell.
    count: Option<u32>,
    ended: Duration,
    is_in_file: bool,
    /// The outputs could not be written, so that only this process has them.
    is_unsaved: bool,
}

/// A run that is shown in place of the file's outputs.
struct Run {
    execution: ExecutionId,
    /// Index of the cell within its call.
    number: usize,
    began: Duration,
    live: CallCell,
}

impl Last {
    /// Returns true if the cell in the file may hold the outputs of this run.
    fn is_of(&self, cell: &CellView<'_>) -> bool {
        let count = cell.execution_count().and_then(|count| u32::try_from(count).ok());
        count == self.count
    }
}

impl Default for CellRows {
    fn default() -> CellRows {
        CellRows {
            expansion: Expansion::Collapsed,
            hides_output: false,
            is_waiting: false,
            run: None,
            last: None,
            has_news: false,
            revision: 0,
            made: None,
            rows: Vec::new(),
            source_len: 0,
            outputs_made: None,
            output_rows: Vec::new(),
            freshness: None,
            stored: Status::Complete,
            pages: Pages::default(),
            renders: 0,
        }
    }
}

impl CellRows {
    /// Takes a change of the cell in the file.
    pub(super) fn changed(&mut self, before: &CellView<'_>, now: &CellView<'_>) {
        self.revision += 1;
        self.freshness = None;
        let has_other_source = before.source().text != now.source().text;
        let has_other_outputs = before.outputs_json() != now.outputs_json()
            || before.execution_count() != now.execution_count();
        if !has_other_source && !has_other_outputs {
            return;
        }
        if self.is_running() {
            self.has_news |= has_other_outputs;
            return;
        }
        // Nothing is running, so show the outputs in the file again.
        self.run = None;
        match &mut self.last {
            Some(last) if !has_other_source && !last.is_in_file && last.is_of(now) => {
                last.is_in_file = true;
            }
            _ => self.forget_last(),
        }
    }

    /// Takes the freshness of the cell, as of the notebook on the screen.
    pub(super) fn marked(&mut self, freshness: Option<Freshness>) {
        self.freshness = freshness;
    }

    /// Drops the last run, since the file now has other content.
    fn forget_last(&mut self) {
        self.last = None;
        self.pages = Pages::default();
    }

    /// Gives up a finished run whose outputs did not reach the file in time, and shows the file again. A watcher
    /// that connects late also hears of runs whose outputs were removed from the file since.
    pub(super) fn settle(&mut self, cell: &CellView<'_>, now: Duration) {
        let is_due = |last: &Last| !last.is_unsaved && now.saturating_sub(last.ended) >= SETTLED;
        let Some(last) = self.last.as_mut().filter(|last| self.run.is_some() && is_due(last))
        else {
            return;
        };
        self.run = None;
        self.revision += 1;
        if !last.is_of(cell) {
            self.forget_last();
        } else if !std::mem::replace(&mut last.is_in_file, true) {
            self.pages = Pages::default();
        }
    }

    /// Returns true while the cell shows a finished run.
    pub(super) fn is_unsettled(&self) -> bool {
        self.run.is_some() && self.last.is_some()
    }

    /// Notes that the outputs of the finished run could not be written.
    pub(super) fn is_unsaved(&mut self) {
        if let Some(last) = self.last.as_mut().filter(|_| self.run.is_some()) {
            last.is_unsaved = true;
        }
    }

    /// Drops the run, since no event will report its end.
    pub(super) fn lost_sight(&mut self) {
        if self.is_running() {
            self.run = None;
            self.revision += 1;
            self.forget_last();
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
        self.freshness = None;
        self.forget_last();
        self.has_news = false;
        self.run = Some(Run { execution, number, began: now, live: CallCell::new(source) });
        self.revision += 1;
    }

    /// Returns true if the cell shows this cell of this call.
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

    pub(super) fn end(&mut self, report: &CellReport, now: Duration) {
        if let Some(run) = &mut self.run {
            run.live.report(report);
            self.pages = Pages::of(run.live.artifact());
            self.last = Some(Last {
                state: run.live.state(),
                took: run.live.duration().map(shown_duration),
                count: report.count,
                ended: now,
                is_in_file: self.has_news,
                is_unsaved: false,
            });
        }
    }

    /// Returns true while the cell runs.
    pub(super) fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.live.state().is_end()) && self.last.is_none()
    }

    /// The page to fetch, if the cell is expanded and its output is stored elsewhere.
    pub(super) fn wants_page(&mut self) -> Option<LinesRequest> {
        let is_wanted = self.expansion == Expansion::Expanded && !self.is_running();
        is_wanted.then(|| self.pages.wanted()).flatten()
    }

    /// Takes a page of stored output. `None` means that the output is gone.
    pub(super) fn take_page(&mut self, artifact: &str, page: Option<&Page>) {
        if self.pages.take(artifact, page) {
            self.revision += 1;
        }
    }

    /// Hides the outputs, or shows them again.
    pub(super) fn toggle_output(&mut self) {
        self.hides_output = !self.hides_output;
        self.revision += 1;
    }

    pub(super) fn show_output(&mut self) {
        if self.hides_output {
            self.toggle_output();
        }
    }

    /// Turns to another page. Returns false if there is none.
    pub(super) fn turn(&mut self, turn: Turn) -> bool {
        let is_turned = self.expansion == Expansion::Expanded && self.pages.turn(turn);
        self.revision += u64::from(is_turned);
        is_turned
    }

    /// Discards cached rows after a change of the picture renderer.
    pub(super) fn forget_rows(&mut self) {
        self.revision += 1;
    }

    /// Counts renderings. Tests use it to show that an unchanged cell is not rendered again.
    #[cfg(test)]
    pub(super) fn renders(&self) -> u64 {
        self.renders
    }

    /// The rows below the label, from the cache if possible.
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
            self.source_len = self.rows.len();
            let outputs = self.outputs(cell, (area, gallery)).to_vec();
            self.rows.extend(outputs);
            self.made = Some(key);
            self.renders += 1;
        }
        &self.rows
    }

    /// Rows of the source among the rows as last rendered.
    pub(super) fn source_len(&self) -> usize {
        self.source_len
    }

    /// The rows below the source.
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
            let page = self.pages.current().filter(|_| area.expansion == Expansion::Expanded);
            let showing = Showing { area, gallery: Some(gallery), page };
            let mut rows = match &self.run {
                Some(run) => live_rows(&run.live, showing),
                None => {
                    let (rows, status) = output_rows(&cell.outputs(), showing);
                    self.stored = status;
                    rows
                }
            };
            if page.is_some() {
                rows.extend(wrap(
                    &Line::of(Role::Dim, words::notebook_screen::PAGING),
                    area.width,
                    Wrap::Words,
                ));
            }
            if self.hides_output && !rows.is_empty() {
                let hidden = Line::of(Role::Dim, words::notebook_screen::OUTPUT_HIDDEN);
                rows = wrap(&hidden, area.width, Wrap::Words);
            }
            self.output_rows = rows;
            self.outputs_made = Some(key);
        }
        &self.output_rows
    }

    /// The mark of the cell, the words about its state, and the role of the mark.
    pub(super) fn status(&self, now: Duration) -> (Role, &'static str, Option<String>) {
        if self.is_waiting {
            return (Role::Dim, mark(Status::Pending).1, Some("queued".to_owned()));
        }
        if let Some(run) = self.run.as_ref().filter(|_| self.last.is_none()) {
            let (role, mark) = mark(Status::Running);
            return (role, mark, Some(shown_duration(now.saturating_sub(run.began))));
        }
        let took = self.last.as_ref().and_then(|last| last.took.clone());
        let status = match (&self.last, self.stored) {
            (Some(last), _) => Some(Status::of(last.state)),
            (None, Status::Error) => Some(Status::Error),
            (None, _) => None,
        };
        let stale = self.freshness.as_ref().filter(|freshness| {
            matches!(freshness, Freshness::Stale(_) | Freshness::OutOfOrder(_) | Freshness::Changed)
        });
        match (status, stale, &self.freshness) {
            (Some(Status::Error), _, _) | (None, None, Some(Freshness::Failed)) => {
                let (role, mark) = mark(Status::Error);
                (role, mark, took)
            }
            (_, Some(stale), _) => {
                let why = words::freshness::mark(stale);
                (
                    Role::Warning,
                    STALE,
                    Some([took, Some(why)].into_iter().flatten().collect::<Vec<_>>().join("  ")),
                )
            }
            (Some(status), None, _) => {
                let (role, mark) = mark(status);
                (role, mark, took)
            }
            (None, None, Some(Freshness::Fresh)) => {
                let (role, mark) = mark(Status::Complete);
                (role, mark, took)
            }
            (None, None, _) => (Role::Dim, " ", None),
        }
    }
}
