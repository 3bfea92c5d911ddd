//! Executions on a screen: reports and events from an engine become frames for any painter.
//!
//! Owns the way in. A caller creates [`Execution::new`] with the cells, passes on reports and events as they
//! come ([`Execution::report`], [`Renderer::event`]), takes a [`Renderer::frame`] to show, and hands it to a
//! painter of `paint`. Frames are pure: the same state gives the same frame, and no code here reads a clock
//! or writes anywhere.

pub(in crate::view) mod block;
pub(in crate::view) mod cache;
pub(in crate::view) mod highlight;
pub(crate) mod interactive;
mod json_tree;
pub(in crate::view) mod markdown;
mod markdown_table;
pub(in crate::view) mod output;
mod status;
pub(crate) mod stored_cell;
mod table;
mod traceback;

use std::path::Path;
use std::time::Duration;

use inkcell_engine::CallEvent;
use inkcell_engine::api::{CellSource, PythonReport};

use super::fold::{CallNews, CallView};
use super::image::Gallery;
use super::paint::{Frame, Line, Role};
use super::place;
use block::{PREVIEW, Place, timeout_line};
use cache::Cache;
use output::{EXPANDS, Layout, remark};

pub(crate) use super::fold::cell::Page;
pub(crate) use block::{mark, shown_duration};
pub(crate) use highlight::python as highlighted;

/// Size and expansion of the frame to render.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Area {
    /// Columns of the terminal. A width of 0 counts as 1.
    pub(crate) width: usize,
    pub(crate) expansion: Expansion,
}

impl Area {
    /// Raises the width to 1, since a terminal may report 0 during a resize.
    pub(in crate::view) fn at_least_one_wide(self) -> Area {
        Area { width: self.width.max(1), ..self }
    }
}

/// Preview or full view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expansion {
    Collapsed,
    /// All output that was kept.
    Expanded,
}

impl Expansion {
    /// The other view, after the key that switches between them.
    pub(crate) fn toggled(self) -> Expansion {
        match self {
            Expansion::Collapsed => Expansion::Expanded,
            Expansion::Expanded => Expansion::Collapsed,
        }
    }
}

/// A renderer shows an execution while it runs and after its end.
pub(crate) trait Renderer {
    fn event(&mut self, event: &CallEvent);

    /// Renders the current state.
    fn frame(&mut self, area: Area) -> Frame;
}

/// A call with its cells.
pub(crate) struct Execution {
    call: CallView,
    /// The rows of each cell.
    caches: Vec<Cache>,
    timeout: Option<Duration>,
    cwd: Option<String>,
    gallery: Option<Gallery>,
}

impl Execution {
    /// Creates a call that has not started.
    pub(crate) fn new(cells: Vec<CellSource>) -> Execution {
        let (call, caches) = (CallView::new(cells), Vec::new());
        Execution { call, caches, timeout: None, cwd: None, gallery: None }
    }

    /// Shows the time limit for all cells together.
    pub(crate) fn with_timeout(self, timeout: Option<Duration>) -> Execution {
        Execution { timeout, ..self }
    }

    /// Shows the working directory, unless it is that of the session (B:T-23).
    pub(crate) fn with_cwd(self, cwd: &Path, session: &Path) -> Execution {
        Execution { cwd: place::shown_cwd(cwd, session), ..self }
    }

    pub(crate) fn with_gallery(self, gallery: Gallery) -> Execution {
        Execution { gallery: Some(gallery), ..self }
    }

    /// Takes the current report of the call. For a finished cell the report is final; for a running cell
    /// newer events take precedence.
    pub(crate) fn report(&mut self, report: &PythonReport) {
        if self.call.cells().len() != report.cells.len() {
            self.caches.clear();
        }
        self.call.apply(CallNews::Report(report));
    }

    /// Counts rendered blocks: an unchanged frame renders none (B:T-04).
    #[cfg(test)]
    pub(crate) fn renders(&self) -> u64 {
        self.caches.iter().map(Cache::renders).sum()
    }
}

impl Renderer for Execution {
    fn event(&mut self, (cell, event): &CallEvent) {
        self.call.apply(CallNews::Event(*cell, event));
    }

    fn frame(&mut self, area: Area) -> Frame {
        let area = area.at_least_one_wide();
        let gallery = self.gallery.as_ref();
        let layout = Layout { area, preview: PREVIEW, gallery, more: EXPANDS };
        let of = self.call.cells().len();
        self.caches.resize_with(of, Cache::default);
        let mut lines: Vec<Line> = Vec::new();
        if let Some(cwd) = &self.cwd {
            lines.extend(remark(Role::Dim, &format!("in {cwd}"), area.width));
        }
        for (at, (cell, cache)) in self.call.cells().iter().zip(&mut self.caches).enumerate() {
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
        if let Some(notice) = self.call.hint() {
            lines.extend(remark(Role::Dim, notice, area.width));
        }
        Frame { lines }
    }
}

/// The singular for 1, otherwise the plural with `s`.
pub(in crate::view) fn plural(number: usize, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

#[cfg(test)]
mod tests;
