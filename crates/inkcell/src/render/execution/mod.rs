//! Executions on a screen: what an engine reports and what happens meanwhile, as frames for any painter.
//!
//! Owns the way in: [`Execution::new`] with the cells, [`Execution::report`] and [`Renderer::event`] as they
//! come, [`Renderer::frame`] whenever something is to be seen, and a painter of `paint` for the frame. Frames
//! are pure: the same state gives the same frame, and nothing here reads a clock or writes anywhere.

pub(in crate::render) mod block;
pub(in crate::render) mod cache;
pub(in crate::render) mod cell;
mod ends;
pub(in crate::render) mod frame;
mod growing;
pub(in crate::render) mod highlight;
pub(crate) mod interactive;
mod json_tree;
pub(in crate::render) mod lines;
pub(in crate::render) mod markdown;
mod markdown_table;
pub(in crate::render) mod output;
pub(in crate::render) mod paint;
mod status;
pub(crate) mod stored;
pub(crate) mod text_only;
mod traceback;
pub(in crate::render) mod width;

use std::path::Path;
use std::time::Duration;

use inkcell_engine::CallEvent;
use inkcell_engine::api::{CellSource, PythonReport};

use super::image::Gallery;
use super::place;
use block::{PREVIEW, Place, timeout_line};
use cache::Cache;
use cell::Cell;
use output::{EXPANDS, Layout, remark};

pub(crate) use cell::Page;
pub(crate) use frame::{Frame, Line, Paint, Picture, Role, TAB};
pub(crate) use paint::{ansi, plain};
pub(crate) use width::{Wrap, columns, fit, wrap};

/// Python code, its words in their roles.
pub(crate) fn highlighted(code: &str) -> Vec<Line> {
    highlight::python(code)
}

/// Where a frame is to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Area {
    /// In columns.
    pub(crate) width: usize,
    pub(crate) expansion: Expansion,
}

impl Area {
    /// A terminal that is being resized may say 0.
    pub(in crate::render) fn at_least_one_wide(self) -> Area {
        Area { width: self.width.max(1), ..self }
    }
}

/// How much is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expansion {
    /// A preview.
    Collapsed,
    /// Everything that is kept.
    Expanded,
}

/// What shows an execution while it runs and after.
pub(crate) trait Renderer {
    /// Takes what happened.
    fn event(&mut self, event: &CallEvent);

    /// What is to be seen now.
    fn frame(&mut self, area: Area) -> Frame;
}

/// A call with its cells.
pub(crate) struct Execution {
    cells: Vec<(Cell, Cache)>,
    timeout: Option<Duration>,
    notice: Option<String>,
    cwd: Option<String>,
    gallery: Option<Gallery>,
}

impl Execution {
    /// A call that has not begun.
    pub(crate) fn new(cells: Vec<CellSource>) -> Execution {
        let cells = cells.into_iter().map(|source| (Cell::new(source), Cache::default()));
        let cells = cells.collect();
        Execution { cells, timeout: None, notice: None, cwd: None, gallery: None }
    }

    /// Shows how long all cells together may take.
    pub(crate) fn with_timeout(self, timeout: Option<Duration>) -> Execution {
        Execution { timeout, ..self }
    }

    /// Shows where it works, unless that is where the session is anyway (B:T-23).
    pub(crate) fn with_cwd(self, cwd: &Path, session: &Path) -> Execution {
        Execution { cwd: place::shown_cwd(cwd, session), ..self }
    }

    /// Draws pictures.
    pub(crate) fn with_gallery(self, gallery: Gallery) -> Execution {
        Execution { gallery: Some(gallery), ..self }
    }

    /// Takes the call as the engine has it now. A cell that is over is what its report says from then on;
    /// of one that runs, events are believed to be newer.
    pub(crate) fn report(&mut self, report: &PythonReport) {
        if self.cells.len() != report.cells.len() {
            let sources = report.cells.iter().map(|cell| cell.source.clone()).collect();
            self.cells = Execution::new(sources).cells;
        }
        for ((cell, _), report) in self.cells.iter_mut().zip(&report.cells) {
            cell.report(report);
        }
        self.notice.clone_from(&report.withheld_hint);
    }

    /// How often blocks were made: a frame of what did not change makes none (B:T-04).
    #[cfg(test)]
    pub(crate) fn renders(&self) -> u64 {
        self.cells.iter().map(|(_, cache)| cache.renders()).sum()
    }
}

impl Renderer for Execution {
    fn event(&mut self, (cell, event): &CallEvent) {
        if let Some((cell, _)) = self.cells.get_mut(*cell) {
            cell.event(event);
        }
    }

    fn frame(&mut self, area: Area) -> Frame {
        let area = area.at_least_one_wide();
        let gallery = self.gallery.as_ref();
        let layout = Layout { area, preview: PREVIEW, gallery, more: EXPANDS };
        let of = self.cells.len();
        let mut lines: Vec<Line> = Vec::new();
        if let Some(cwd) = &self.cwd {
            lines.extend(remark(Role::Dim, &format!("in {cwd}"), area.width));
        }
        for (at, (cell, cache)) in self.cells.iter_mut().enumerate() {
            if at > 0 {
                lines.push(Line::default());
            }
            let place = Place { number: at + 1, of };
            let rows = cache.rows(area, cell.revision(), || block::rows(cell, place, layout));
            lines.extend_from_slice(rows);
        }
        if let Some(timeout) = self.timeout {
            lines.extend(timeout_line(timeout, area.width));
        }
        if let Some(notice) = &self.notice {
            lines.extend(remark(Role::Dim, notice, area.width));
        }
        Frame { lines }
    }
}

/// A noun for so many things.
pub(in crate::render) fn plural(number: usize, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

#[cfg(test)]
mod tests;
