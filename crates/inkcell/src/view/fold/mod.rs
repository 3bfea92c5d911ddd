//! The state of a call, folded from its events and reports. Views of a running call read it here.
//!
//! Owns what the news of a call mean for its cells, and their order: reports win over events that came before. It
//! must not know how anything is drawn, where news come from, or clocks.

pub(crate) mod cell;
pub(in crate::view) mod lines;
pub(in crate::view) mod live_output;
mod traceback;

use inkcell_engine::api::{CellReport, CellSource, PythonReport, State};
use inkcell_engine::kernel::ExecEvent;

use crate::words::step::Audience;
use cell::CallCell;

/// Something that a call reports while it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallNews<'a> {
    /// The whole call: before its first cell, on the way, or at its end.
    Report(&'a PythonReport),
    /// Cells, by their indices, that have begun or advanced.
    Cells(&'a [(usize, CellReport)]),
    /// An event in a cell.
    Event(usize, &'a ExecEvent),
    /// The last line that the running cell wrote. It is empty when a cell begins.
    Line(&'a str),
    /// A remark of the kernel, which its cell also has in the end.
    Notice(&'a str),
}

/// A call with its cells.
pub(crate) struct CallView {
    cells: Vec<CallCell>,
    /// The state of the whole call. `None` before its first report.
    state: Option<State>,
    hint: Option<String>,
    last_line: String,
}

impl CallView {
    /// Creates a call that has not started.
    pub(crate) fn new(cells: Vec<CellSource>) -> CallView {
        let cells = cells.into_iter().map(CallCell::new).collect();
        CallView { cells, state: None, hint: None, last_line: String::new() }
    }

    pub(crate) fn apply(&mut self, news: CallNews<'_>) {
        match news {
            CallNews::Report(report) => {
                if self.cells.len() != report.cells.len() {
                    let sources = report.cells.iter().map(|cell| cell.source.clone());
                    self.cells = sources.map(CallCell::new).collect();
                }
                for (cell, report) in self.cells.iter_mut().zip(&report.cells) {
                    cell.report(report);
                }
                self.state = Some(report.state);
                self.hint = Audience::Person.about_missed(report);
            }
            CallNews::Cells(changed) => {
                for (cell, report) in changed {
                    self.cells.get_mut(*cell).into_iter().for_each(|cell| cell.report(report));
                }
            }
            CallNews::Event(cell, event) => {
                self.cells.get_mut(cell).into_iter().for_each(|cell| cell.event(event));
            }
            CallNews::Line(line) => line.clone_into(&mut self.last_line),
            CallNews::Notice(_) => {}
        }
    }

    pub(crate) fn cells(&self) -> &[CallCell] {
        &self.cells
    }

    /// The last report of each cell.
    pub(in crate::view) fn reports(&self) -> Vec<&CellReport> {
        self.cells.iter().map(CallCell::last_report).collect()
    }

    pub(in crate::view) fn state(&self) -> Option<State> {
        self.state
    }

    pub(in crate::view) fn is_over(&self) -> bool {
        self.state.is_some_and(State::is_end)
    }

    /// Index of the cell that runs.
    pub(in crate::view) fn running(&self) -> Option<usize> {
        self.cells.iter().position(|cell| cell.state() == State::Running)
    }

    /// Number of cells that have ended.
    pub(crate) fn ended(&self) -> usize {
        self.cells.iter().filter(|cell| cell.state().is_end()).count()
    }

    /// How to pass a withheld variable to the code, if the code missed one.
    pub(in crate::view) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(in crate::view) fn last_line(&self) -> &str {
        &self.last_line
    }
}

#[cfg(test)]
mod tests;
