//! Code that a person runs at a prompt (B:T-20): the code behind `>>>`, its output, how it ended.
//!
//! Owns the look of a prompt. It must not know keys, clocks or terminals; the spinner turns when it is told.

use inkcell_engine::CallEvent;
use inkcell_engine::api::{CellReport, CellSource, State};

use super::super::image::Gallery;
use super::block::{code_lines, remarks};
use super::cache::Cache;
use super::cell::Cell;
use super::ends::exit_code;
use super::frame::{Frame, Line, Role};
use super::output::{self, Layout, remark};
use super::width::{Wrap, wrap};
use super::{Area, Renderer};

const PREVIEW: usize = 20;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Code at a prompt.
pub(crate) struct Interactive {
    cell: Cell,
    heading: Heading,
    turns: u64,
    cache: Cache,
    gallery: Option<Gallery>,
}

/// Whether the code stands above its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heading {
    Code,
    /// It stands there already: it was typed there.
    Typed,
}

impl Interactive {
    pub(crate) fn new(source: CellSource) -> Interactive {
        let (cell, cache) = (Cell::new(source), Cache::default());
        Interactive { cell, heading: Heading::Code, turns: 0, cache, gallery: None }
    }

    /// Leaves the code out, because whoever typed it sees it above.
    pub(crate) fn below_typed_code(self) -> Interactive {
        Interactive { heading: Heading::Typed, ..self }
    }

    /// Draws pictures.
    pub(crate) fn with_gallery(self, gallery: Gallery) -> Interactive {
        Interactive { gallery: Some(gallery), ..self }
    }

    /// Takes what the engine says of it.
    pub(crate) fn report(&mut self, report: &CellReport) {
        self.cell.report(report);
    }

    /// Turns the spinner by one.
    pub(crate) fn tick(&mut self) {
        self.turns += 1;
    }

    /// What is to be seen now, without the word that it runs.
    pub(crate) fn still(&mut self, area: Area) -> Frame {
        Frame { lines: self.rows(area.at_least_one_wide()) }
    }

    fn rows(&mut self, area: Area) -> Vec<Line> {
        let (cell, heading) = (&self.cell, self.heading);
        let layout = Layout { area, preview: PREVIEW, gallery: self.gallery.as_ref() };
        self.cache.rows(area, cell.revision(), || rows(cell, heading, layout)).to_vec()
    }

    /// How often rows were made.
    #[cfg(test)]
    pub(crate) fn renders(&self) -> u64 {
        self.cache.renders()
    }
}

impl Renderer for Interactive {
    fn event(&mut self, (_, event): &CallEvent) {
        self.cell.event(event);
    }

    fn frame(&mut self, area: Area) -> Frame {
        let area = area.at_least_one_wide();
        let mut lines = self.rows(area);
        if !self.cell.state().is_end() {
            let turn = usize::try_from(self.turns % SPINNER.len() as u64).unwrap_or(0);
            let waiting = format!("{} Running… (esc to cancel)", SPINNER[turn]);
            lines.extend(remark(Role::Dim, &waiting, area.width));
        }
        Frame { lines }
    }
}

fn rows(cell: &Cell, heading: Heading, layout: Layout<'_>) -> Vec<Line> {
    let area = layout.area;
    let mut rows = Vec::new();
    let code = match heading {
        Heading::Code => code_lines(&cell.source().code),
        Heading::Typed => Vec::new(),
    };
    for (number, code) in code.iter().enumerate() {
        let mut line = match number {
            0 => Line::of(Role::Title, ">>> "),
            _ => Line::of(Role::Plain, "    "),
        };
        for span in code.spans() {
            line.push_clean(span.role(), span.text());
        }
        rows.extend(wrap(&line, area.width, Wrap::Anywhere));
    }
    rows.extend(output::rows(&cell.content(), cell.status(), layout));
    let ended = match cell.state() {
        State::Cancelled | State::TimedOut => Some("(cancelled)".to_owned()),
        state => exit_code(state, cell.end()).map(|code| format!("(exit {code})")),
    };
    if let Some(ended) = ended {
        rows.extend(remark(Role::Error, &ended, area.width));
    }
    rows.extend(remarks(cell, area.width));
    rows
}
