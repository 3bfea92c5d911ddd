//! Cells on a terminal, one after the other. Each grows in place while it runs and stays at its end.
//!
//! Owns the screen and the effect of keys. The renderer makes the look of a cell, and `keys` reads keys.

use std::time::{Duration, Instant};

use inkcell_engine::api::{
    CellReport, CellSource, ExecutionId, PythonReport, ResultReport, ResultRequest, State,
};
use inkcell_engine::kernel::{ExecEvent, InputReply};
use inkcell_engine::output::{OutputLimits, OutputSink, Spill};

use super::follow::{Echo, Reply, Watcher, Wish};
use super::keys::{Key, Keys, Place};
use super::pages::{Asking, Pages, Turn};
use super::{Looks, area, is_ours, size, write};
use crate::exit::Failure;
use crate::host::{Answer, Ask, HostEvent};
use crate::output::visible;
use crate::view::ending::Summary;
use crate::view::execution::interactive::Interactive;
use crate::view::execution::{Expansion, Renderer as _};
use crate::view::paint::{Frame, Repaint};
use crate::words;
use crate::words::step::Audience;

/// Time between repaints while code runs. Code that ends sooner is painted only once.
const PAINT: Duration = Duration::from_millis(80);

/// Time between requests for the place of a stored output, while the user wants to see it.
const ASK: Duration = Duration::from_millis(500);

/// Whether the code appears above its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    Shown,
    /// The code is on the screen already, since the user typed it there.
    Typed,
}

pub(crate) struct Cells<'a> {
    pub(crate) keys: Keys,
    looks: Looks,
    code: Code,
    /// Sends a request to the host that runs the code.
    host: Box<Asking<'a>>,
    /// The hint for the full output after the end. `None` if a key still works then.
    later: Option<Later>,
    repaint: Repaint,
    sources: Vec<CellSource>,
    execution: Option<ExecutionId>,
    stretch: Option<Stretch>,
    /// The last cell, which the user may still expand.
    last: Option<Interactive>,
    expansion: Expansion,
    pages: Pages,
    /// True while the user pages through stored output.
    is_paged: bool,
    /// Times of the last repaint and of the last request for stored output.
    painted: Instant,
    asked: Instant,
}

/// The way to see cut output after a command has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Later {
    /// By the call's id, which the host remembers.
    Call,
    Nothing,
}

/// The part of a cell's output between two questions for input.
struct Stretch {
    cell: usize,
    shown: Interactive,
    /// Collects this part's output for its final frame. The report also has output from before the last question.
    sink: OutputSink,
    has_asked: bool,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(keys: Keys, looks: Looks, code: Code, host: Box<Asking<'a>>) -> Cells<'a> {
        Cells {
            keys,
            looks,
            code,
            host,
            later: None,
            repaint: Repaint::default(),
            sources: Vec::new(),
            execution: None,
            stretch: None,
            last: None,
            expansion: Expansion::Collapsed,
            pages: Pages::default(),
            is_paged: false,
            painted: Instant::now(),
            asked: Instant::now(),
        }
    }

    /// Sets another hint on cut output, for a command that ends with its code and then reads no keys.
    pub(crate) fn seen_later(self, later: Later) -> Cells<'a> {
        Cells { later: Some(later), ..self }
    }

    /// Cells were submitted to run.
    pub(crate) fn began(&mut self, sources: &[CellSource]) {
        self.keys.watch();
        self.painted = Instant::now();
        self.sources = sources.to_vec();
        (self.execution, self.expansion) = (None, Expansion::Collapsed);
        self.stretch = self.stretch_of(0, self.code);
    }

    fn stretch_of(&self, cell: usize, code: Code) -> Option<Stretch> {
        let source = self.sources.get(cell)?;
        let mut shown = Interactive::new(source.clone()).with_gallery(self.looks.gallery());
        if code == Code::Typed {
            shown = shown.below_typed_code();
        }
        if !self.keys.are_there() {
            shown = shown.without_keys();
        }
        let sink = OutputSink::new(OutputLimits::head_and_tail(), Spill::none());
        Some(Stretch { cell, shown, sink, has_asked: false })
    }

    /// Paints lines that stay above lines that may still change.
    fn paint(&mut self, settled: &Frame, live: &Frame) -> Result<(), Failure> {
        let (settled, live) = (self.looks.coloured(settled), self.looks.coloured(live));
        write(&self.repaint.paint(&settled, &live, size()))
    }

    /// Leaves the final frame of this part on the screen, without the line that says it is running.
    fn settle(&mut self, report: Option<&CellReport>) -> Result<(), Failure> {
        let Some(mut stretch) = self.stretch.take() else { return Ok(()) };
        match report {
            Some(report) if stretch.has_asked => {
                let output = stretch.sink.finish();
                stretch.shown.report(&CellReport { output, ..report.clone() });
            }
            Some(report) => stretch.shown.report(report),
            None => {}
        }
        if let Some(later) = self.later {
            stretch.shown.seen_later(match (later, &self.execution) {
                (Later::Call, Some(id)) => words::output::result_shows(&id.0),
                _ => words::output::STREAMS.to_owned(),
            });
        }
        let frame = stretch.shown.still(area(self.expansion));
        stretch.shown.turn_to(None);
        self.last = Some(stretch.shown);
        (self.is_paged, self.pages) = (false, Pages::default());
        if !is_ours() {
            // Another job has written on the screen, so do not move back to the old rows.
            self.repaint = Repaint::default();
        }
        self.paint(&frame, &Frame::default())
    }

    /// Moves on to a later cell of the call, after settling the cells before it.
    fn turn_to(&mut self, cell: usize) -> Result<(), Failure> {
        let Some(before) = self.stretch.as_ref().map(|stretch| stretch.cell) else { return Ok(()) };
        if cell <= before {
            return Ok(());
        }
        let report = self.report();
        for done in before..cell {
            self.settle(report.as_ref().and_then(|report| report.cells.get(done)))?;
            self.stretch = self.stretch_of(done + 1, self.code);
        }
        Ok(())
    }

    /// The report of the call so far.
    fn report(&self) -> Option<PythonReport> {
        let request = ResultRequest::Execution { id: self.execution.clone()?, wait: None };
        match (self.host)(Ask::Result(request)) {
            Ok(Answer::Result(ResultReport::Execution(report))) => Some(*report),
            _ => None,
        }
    }

    /// Shows all kept output of the last cell.
    pub(crate) fn expand(&mut self) -> Result<(), Failure> {
        let Some(last) = &mut self.last else { return Ok(()) };
        let frame = last.still(area(Expansion::Expanded));
        self.paint(&frame, &Frame::default())
    }

    /// The call is over. `None` means that it could not run; the caller reports the reason next.
    pub(crate) fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure> {
        let Some(summary) = summary else {
            self.settle(None)?;
            self.keys.rest();
            return Ok(());
        };
        let cells = &summary.report.cells;
        let now = self.stretch.as_ref().map_or(0, |stretch| stretch.cell);
        for (at, report) in cells.iter().enumerate().skip(now) {
            if at > now {
                if report.state == State::NeverRun {
                    break;
                }
                self.stretch = self.stretch_of(at, self.code);
            }
            self.settle(Some(report))?;
        }
        self.keys.rest();
        for note in summary.notes_of_call() {
            self.say(&format!("note: {note}"))?;
        }
        match Audience::Person.about_missed(&summary.report) {
            Some(hint) => self.say(&format!("hint: {hint}")),
            None => Ok(()),
        }
    }

    /// Prints a message that is not output.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), Failure> {
        let mut bytes = self.repaint.wipe(size());
        for line in text.lines() {
            bytes.push_str(&visible(line));
            bytes.push_str("\r\n");
        }
        write(&bytes)
    }

    fn page(&mut self, turn: Turn) {
        if self.expansion == Expansion::Collapsed {
            return;
        }
        match (self.is_paged, turn) {
            (false, Turn::Back) => self.is_paged = true,
            (false, Turn::On) => {}
            // After the last page comes the live output.
            (true, Turn::On) if self.pages.are_at_end() => self.is_paged = false,
            (true, turn) => self.pages.turn(turn),
        }
    }

    /// Fetches the wanted page, if it is not shown yet.
    fn look_at_pages(&mut self) {
        let is_wanted = self.is_paged && self.expansion == Expansion::Expanded;
        let is_unknown = self.stretch.as_ref().is_some_and(|it| it.shown.artifact().is_none());
        if is_wanted && is_unknown && self.asked.elapsed() >= ASK {
            self.asked = Instant::now();
            let report = self.report();
            if let Some(stretch) = &mut self.stretch
                && let Some(cell) =
                    report.and_then(|report| report.cells.into_iter().nth(stretch.cell))
            {
                stretch.shown.report(&cell);
            }
        }
        let Some(stretch) = &mut self.stretch else { return };
        let artifact = stretch.shown.artifact().filter(|_| is_wanted).map(str::to_owned);
        if let Some(page) = self.pages.next_page(artifact.as_deref(), &*self.host, size().rows) {
            stretch.shown.turn_to(page);
        }
    }
}

impl Watcher for Cells<'_> {
    fn event(&mut self, event: HostEvent) -> Result<(), Failure> {
        match event {
            HostEvent::Aside(line) => self.say(&line),
            HostEvent::Began(report) => {
                self.execution = Some(report.execution);
                Ok(())
            }
            HostEvent::Exec { cell, event } | HostEvent::Orphan { cell, event } => {
                self.turn_to(cell)?;
                if let Some(stretch) = &mut self.stretch
                    && !matches!(event, ExecEvent::Started { .. })
                {
                    stretch.sink.push(&event);
                    stretch.shown.event(&(cell, event));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn poll(&mut self) -> Result<Wish, Failure> {
        if self.keys.is_to_suspend() {
            write(&self.repaint.wipe(size()))?;
            self.keys.suspend();
        }
        let place = self.keys.check_terminal();
        if place != Place::InFront {
            // Other jobs have written below the painted rows.
            self.repaint = Repaint::default();
        }
        let wish = match self.keys.next() {
            Some(Key::Stop) => return Ok(Wish::Stop),
            Some(Key::Expand) => {
                self.expansion = self.expansion.toggled();
                self.is_paged = false;
                Wish::GoOn
            }
            Some(Key::Page(turn)) => {
                self.page(turn);
                Wish::GoOn
            }
            None => Wish::GoOn,
        };
        if place == Place::Behind || self.painted.elapsed() < PAINT {
            return Ok(wish);
        }
        self.look_at_pages();
        if let Some(stretch) = &mut self.stretch {
            self.painted = Instant::now();
            stretch.shown.tick();
            let frame = stretch.shown.frame(area(self.expansion));
            self.paint(&Frame::default(), &frame)?;
        }
        Ok(wish)
    }

    fn ask(
        &mut self,
        prompt: &str,
        echo: Echo,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let cell = self.stretch.as_ref().map(|stretch| stretch.cell);
        self.settle(None)?;
        let shown: Vec<String> =
            prompt.split('\n').map(|line| visible(line).into_owned()).collect();
        self.keys.expect_line(echo);
        write(&shown.join("\r\n"))?;
        let reply = self.keys.line(is_wanted);
        let is_line_open =
            echo == Echo::Hidden || !matches!(reply, Reply::Given(InputReply::Line(_)));
        if is_line_open {
            write("\r\n")?;
        }
        if let Some(stretch) = cell.and_then(|cell| self.stretch_of(cell, Code::Typed)) {
            self.stretch = Some(Stretch { has_asked: true, ..stretch });
        }
        self.painted = Instant::now();
        Ok(reply)
    }
}
