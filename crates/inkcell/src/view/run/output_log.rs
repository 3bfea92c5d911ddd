//! The outputs of a run on standard error, as they come.
//!
//! Owns the heading of each cell, and the end of an unfinished line. A terminal receives no sequence that could control
//! it.

use inkcell_engine::api::CellReport;
use inkcell_engine::kernel::ExecEvent;

use super::aside;
use crate::output::Stream;
use crate::view::display;
use crate::view::paint::{Line, Look, Role, TerminalText};
use crate::words::run::cell_name;

pub(super) struct OutputLog {
    look: Look,
    /// The filter for a terminal.
    filter: Option<TerminalText>,
    /// The cell whose outputs came last, by its number in the run.
    cell: Option<usize>,
    is_mid_line: bool,
}

impl OutputLog {
    pub(super) fn new(look: Look) -> OutputLog {
        let filter = look.width.map(|_| TerminalText::new(look.colour));
        OutputLog { look, filter, cell: None, is_mid_line: false }
    }

    /// Writes an output of the cell at this place in the run.
    pub(super) fn take(&mut self, cells: &[&CellReport], at: usize, event: &ExecEvent) {
        let text = match event {
            ExecEvent::Stream { data, .. } => data.to_vec(),
            ExecEvent::Display { data, .. }
            | ExecEvent::UpdateDisplay { data, .. }
            | ExecEvent::Result { data, .. } => match display::text(data) {
                Some(text) => format!("{text}\n").into_bytes(),
                None => return,
            },
            _ => return,
        };
        if self.cell.replace(at) != Some(at) {
            self.head(cells, at);
        }
        let is_display = !matches!(event, ExecEvent::Stream { .. });
        if is_display {
            self.end_line();
        }
        let Some(last) = text.last() else { return };
        self.is_mid_line = *last != b'\n';
        let text = match &mut self.filter {
            Some(filter) => filter.push(&text).into_bytes(),
            None => text,
        };
        // A closed standard error must not stop the run.
        drop(Stream::stderr().write_all(&text));
    }

    /// The line before the outputs of a cell.
    fn head(&mut self, cells: &[&CellReport], at: usize) {
        self.end_line();
        let is_told = |cell: &&&CellReport| !cell.is_left_out();
        let all = cells.iter().filter(is_told).count();
        let number = cells.iter().take(at + 1).filter(is_told).count();
        let Some(cell) = cells.get(at) else { return };
        let head = Line::of(Role::Dim, &format!("{number}/{all}  {}:", cell_name(cell)));
        aside(&self.look.rows(&[head]));
    }

    /// Ends an unfinished line, so that other text does not continue it.
    pub(super) fn end_line(&mut self) {
        if std::mem::take(&mut self.is_mid_line) {
            aside("\n");
        }
    }
}
