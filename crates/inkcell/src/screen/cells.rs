//! Cells on a terminal, one after the other: each grows in place while it runs and stays as it ended.
//!
//! Owns what is on the screen, and what keys do to it. What a cell looks like is the renderer's; keys are read by `keys`.

use std::time::{Duration, Instant};

use inkcell_engine::api::{
    CellReport, CellSource, ExecutionId, PythonReport, Request, Response, ResultReport,
    ResultRequest, State,
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
use crate::render::ending::Summary;
use crate::render::execution::interactive::{Interactive, STREAMS};
use crate::render::execution::{Expansion, Frame, Renderer as _};
use crate::render::live::Colour;
use crate::render::repaint::Repaint;

/// How often the screen is painted anew while code runs, and how long it may run before it is at all.
const PAINT: Duration = Duration::from_millis(80);

/// How often the host is asked where a long output is stored, while somebody wants to see it.
const ASK: Duration = Duration::from_millis(500);

/// Whether the code is shown above what it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    Shown,
    /// It was typed there.
    Typed,
}

pub(crate) struct Cells<'a> {
    pub(crate) keys: Keys,
    looks: Looks,
    code: Code,
    /// Asks whoever runs the code.
    host: Box<Asking<'a>>,
    /// Where all of a cell can be seen when it is over; none where a key shows it.
    later: Option<Later>,
    repaint: Repaint,
    sources: Vec<CellSource>,
    execution: Option<ExecutionId>,
    stretch: Option<Stretch>,
    /// The last cell, for whoever wants to see all of it.
    last: Option<Interactive>,
    expansion: Expansion,
    pages: Pages,
    /// Whether somebody turns the pages of what is stored.
    is_paged: bool,
    /// When something was painted, and when was asked where output is stored.
    painted: Instant,
    asked: Instant,
}

/// What a command shows of output that it has shown in part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Later {
    /// The call is remembered by its id.
    Call,
    /// Nothing is remembered.
    Nothing,
}

/// What a cell shows between two lines that it asks for.
struct Stretch {
    cell: usize,
    shown: Interactive,
    /// The same for the end, where the report has also what came before the last question.
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

    /// Nobody can press a key when the code is over: what is left out is found in another way.
    pub(crate) fn seen_later(self, later: Later) -> Cells<'a> {
        Cells { later: Some(later), ..self }
    }

    /// Cells were handed over to run.
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

    /// Puts what stays above what may still change.
    fn paint(&mut self, settled: &Frame, live: &Frame) -> Result<(), Failure> {
        let (settled, live) = (self.coloured(settled), self.coloured(live));
        write(&self.repaint.paint(&settled, &live, size()))
    }

    fn coloured(&self, frame: &Frame) -> Frame {
        match self.looks.colour {
            Colour::On => frame.clone(),
            Colour::Off => frame.uncoloured(),
        }
    }

    /// Leaves what the stretch shows on the screen, without the word that it runs.
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
                (Later::Call, Some(id)) => format!("inkcell result {} shows them", id.0),
                _ => STREAMS.to_owned(),
            });
        }
        let frame = stretch.shown.still(area(self.expansion));
        stretch.shown.turn_to(None);
        self.last = Some(stretch.shown);
        (self.is_paged, self.pages) = (false, Pages::default());
        if !is_ours() {
            // What is on the screen is another job's.
            self.repaint = Repaint::default();
        }
        self.paint(&frame, &Frame::default())
    }

    /// Goes on to another cell of the call, once those before it are over.
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

    /// The call as far as it has come.
    fn report(&self) -> Option<PythonReport> {
        let request = ResultRequest::Execution { id: self.execution.clone()?, wait: None };
        match (self.host)(Ask::Engine(Request::Result(request))) {
            Ok(Answer::Engine(Response::Result(ResultReport::Execution(report)))) => Some(*report),
            _ => None,
        }
    }

    /// Shows everything that is kept of the last cell's output.
    pub(crate) fn expand(&mut self) -> Result<(), Failure> {
        let Some(last) = &mut self.last else { return Ok(()) };
        let frame = last.still(area(Expansion::Expanded));
        self.paint(&frame, &Frame::default())
    }

    /// The call is over; none says that it could not be run, which is told next.
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
        match &summary.report.withheld_hint {
            Some(hint) => self.say(&format!("hint: {hint}")),
            None => Ok(()),
        }
    }

    /// Says something that is no output.
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
            // Behind the last page is what comes.
            (true, Turn::On) if self.pages.are_at_end() => self.is_paged = false,
            (true, turn) => self.pages.turn(turn),
        }
    }

    /// Brings the page that is shown up to date.
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
        if let Some(page) = self.pages.look(artifact.as_deref(), &*self.host, size().rows) {
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

    fn look(&mut self) -> Result<Wish, Failure> {
        if self.keys.is_to_suspend() {
            write(&self.repaint.wipe(size()))?;
            self.keys.suspend();
        }
        let place = self.keys.place();
        if place != Place::InFront {
            // Others have written below what was painted.
            self.repaint = Repaint::default();
        }
        let wish = match self.keys.next() {
            Some(Key::Stop) => return Ok(Wish::Stop),
            Some(Key::Expand) => {
                self.expansion = match self.expansion {
                    Expansion::Collapsed => Expansion::Expanded,
                    Expansion::Expanded => Expansion::Collapsed,
                };
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
