//! A session as text for a pipe: written as it happens, without repainting.
//!
//! Owns the look of its lines. It must not know widths. It leaves nothing out, except events that the journal
//! dropped. It is not a fold: it writes each event once, and keeps only the place in the last line.

use std::path::PathBuf;

use inkcell_engine::api::{CellReport, ExecutionId};
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::kernel::{ExecEvent, Outcome, StreamName};
use inkcell_engine::output::Cleaner;

use super::super::display;
use super::super::execution::{Area, Expansion};
use super::super::live::traceback;
use super::super::notebook_edit::{Edit, NotebookEdit};
use crate::output::{cleaned, visible};
use crate::view::paint::{Colour, plain};
use crate::words;

/// Columns for an edit, since a pipe has no width.
const WIDTH: usize = 100;

/// Writes a session as text.
pub(crate) struct PlainTranscript {
    cwd: PathBuf,
    cleaners: [Cleaner; 2],
    is_mid_line: bool,
    now: Option<(ExecutionId, usize)>,
}

impl PlainTranscript {
    /// Creates a writer for a session in this folder.
    pub(crate) fn new(cwd: PathBuf) -> PlainTranscript {
        PlainTranscript { cwd, cleaners: Default::default(), is_mid_line: false, now: None }
    }

    /// The text for an event.
    pub(crate) fn text(&mut self, event: &SessionEvent) -> String {
        let mut out = String::new();
        match event {
            SessionEvent::Began { execution, cell, of, source, .. } => {
                self.turn_to(execution, *cell, &mut out);
                let number = cell + 1;
                match &source.title {
                    // A cell of a notebook has a position, which a number in front would hide.
                    Some(title) if words::run::is_cell_name(title) => {
                        self.line(&format!("# {title}  {number}/{of}"), &mut out);
                    }
                    Some(title) => self.line(&format!("# [{number}/{of}] {title}"), &mut out),
                    None if *of > 1 => self.line(&format!("# [{number}/{of}]"), &mut out),
                    None => {}
                }
                for (at, line) in source.code.lines().enumerate() {
                    let before = if at == 0 { ">>> " } else { "    " };
                    self.line(&format!("{before}{line}"), &mut out);
                }
            }
            SessionEvent::Happened { execution, cell, event } => {
                self.turn_to(execution, *cell, &mut out);
                self.happened(event, &mut out);
            }
            SessionEvent::Ended { execution, cell, report } => {
                self.turn_to(execution, *cell, &mut out);
                self.settle(&mut out);
                self.ended(report, &mut out);
                self.now = None;
            }
            SessionEvent::Edited(edit) => self.edit(Edit::of(edit, &self.cwd), &mut out),
            SessionEvent::EditFailed(failure) => {
                self.edit(Edit::of_failure(failure, &self.cwd), &mut out);
            }
            SessionEvent::Kernel(change) => {
                self.line(words::session::kernel_change(*change), &mut out);
            }
        }
        out
    }

    fn edit(&mut self, edit: Edit, out: &mut String) {
        self.settle(out);
        let area = Area { width: WIDTH, expansion: Expansion::Collapsed };
        out.push_str(&plain(&NotebookEdit::new(edit).frame(area)));
    }

    /// The mark in place of dropped events.
    pub(crate) fn missed(&mut self, events: u64) -> String {
        let mut out = String::new();
        self.line(&words::session::missed(events), &mut out);
        out
    }

    /// Ends the text, since no event will follow.
    pub(crate) fn close(&mut self) -> String {
        let mut out = String::new();
        self.settle(&mut out);
        out
    }

    fn turn_to(&mut self, execution: &ExecutionId, cell: usize, out: &mut String) {
        let is_same = self.now.as_ref().is_some_and(|(id, at)| id == execution && *at == cell);
        if !is_same {
            self.settle(out);
            self.now = Some((execution.clone(), cell));
        }
    }

    /// Ends an unfinished line.
    fn settle(&mut self, out: &mut String) {
        let mut text = String::new();
        for cleaner in &mut self.cleaners {
            cleaner.finish(&mut |piece| text.push_str(piece));
        }
        self.write(&text, out);
        if std::mem::take(&mut self.is_mid_line) {
            out.push('\n');
        }
    }

    /// Writes cleaned text. Characters that reverse the reading direction become visible.
    fn write(&mut self, text: &str, out: &mut String) {
        for piece in text.split_inclusive('\n') {
            let line = piece.strip_suffix('\n');
            out.push_str(&visible(line.unwrap_or(piece)));
            self.is_mid_line = line.is_none();
            if line.is_some() {
                out.push('\n');
            }
        }
    }

    /// Writes text on lines of its own.
    fn line(&mut self, text: &str, out: &mut String) {
        self.settle(out);
        for line in text.lines() {
            out.push_str(&visible(line));
            out.push('\n');
        }
    }

    fn happened(&mut self, event: &ExecEvent, out: &mut String) {
        match event {
            ExecEvent::Stream { name, data } => {
                let (one, other) = match name {
                    StreamName::Stdout => (0, 1),
                    StreamName::Stderr => (1, 0),
                };
                let mut text = String::new();
                self.cleaners[other].flush(&mut |piece| text.push_str(piece));
                self.cleaners[one].push(data, &mut |piece| text.push_str(piece));
                self.write(&text, out);
            }
            ExecEvent::Display { data, .. }
            | ExecEvent::UpdateDisplay { data, .. }
            | ExecEvent::Result { data, .. } => {
                if let Some(text) = display::text(data) {
                    self.line(&cleaned(&text), out);
                }
            }
            ExecEvent::Finished(Outcome::Error(error)) => {
                let text = cleaned(&traceback(error, Colour::Off));
                self.line(&text, out);
            }
            _ => {}
        }
    }

    fn ended(&mut self, report: &CellReport, out: &mut String) {
        if let Some(sentence) = words::call::sentence(report.state, report.end.as_ref()) {
            self.line(&format!("[{sentence}]"), out);
        }
        for note in &report.notes {
            self.line(&format!("[{}]", words::call::note(note)), out);
        }
    }
}
