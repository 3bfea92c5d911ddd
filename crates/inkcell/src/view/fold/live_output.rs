//! The output of a running cell, folded from its events. The report replaces it at the end of the cell.
//!
//! Owns the bounds: it keeps the end of the text, displays in their places and status events. It must not
//! know widths or colours. It cleans text by the same rules as the engine.

use std::collections::VecDeque;

use inkcell_engine::kernel::{
    DisplayId, ExecEvent, MimeBundle, MimeData, Outcome, PyError, StreamName,
};
use inkcell_engine::output::{Cleaner, ImageItem, JsonItem, Mark, RichItem, RichKind, size};

use super::lines::Lines;
use super::traceback::{Traceback, traceback};
use crate::output::cleaned;
use crate::view::display::{self, STATUS};
use crate::words;

/// Bytes of text that a cell keeps: twice the size of an answer (B:O-20).
pub(in crate::view) const HELD_BYTES: usize = 2 * 51200;

/// Lines that a cell keeps. For empty lines this limit is reached first (B:O-05).
pub(in crate::view) const HELD_LINES: usize = 3000;

/// Displays that a cell keeps, plus the stretches of text between them.
const HELD_PIECES: usize = 200;

const HELD_STATUSES: usize = 1000;

/// Larger JSON values are not parsed from events. They appear with the report.
const JSON_BYTES: usize = 64 * 1024;

/// One part of an output, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::view) enum Item {
    /// Text that the program wrote.
    Text(Lines),
    /// Lines of an exception.
    Traceback(Lines),
    /// A remark from inkcell about the output, and the number of lines that it stands for.
    Mark { text: String, lines: u64 },
    /// An item beyond text, such as an image or a JSON value.
    Rich(RichItem),
}

impl Item {
    pub(super) fn of_mark(mark: &Mark) -> Item {
        let lines = match mark {
            Mark::Elided { lines, .. } => *lines,
            Mark::Repeated { times } => *times,
            Mark::InputRequested | Mark::Rich { .. } => 1,
        };
        Item::Mark { text: mark.to_string(), lines: lines.max(1) }
    }
}

/// Output of a cell, ready for rendering.
#[derive(Default)]
pub(in crate::view) struct Content {
    pub(in crate::view) items: Vec<Item>,
    /// Status events, as JSON text.
    pub(in crate::view) statuses: Vec<String>,
    pub(in crate::view) has_markdown: bool,
}

/// Output that may still grow.
#[derive(Default)]
pub(in crate::view) struct LiveOutput {
    /// One cleaner each for standard output and standard error.
    cleaners: [Cleaner; 2],
    pieces: VecDeque<Piece>,
    statuses: Vec<String>,
    rich: u64,
    forgotten_bytes: u64,
    forgotten_lines: u64,
    is_to_be_cleared: bool,
    has_markdown: bool,
    outcome: Option<Outcome>,
}

struct Piece {
    id: Option<DisplayId>,
    item: Item,
}

/// The lines of an exception, with a mark in place of those that are left out.
pub(super) fn traceback_items(error: &PyError) -> Vec<Item> {
    let Traceback { lines, rest } = traceback(error);
    let mut items = vec![Item::Traceback(lines)];
    if let Some((hidden, rest)) = rest {
        let mark = format!("[… {hidden} lines elided …]");
        items.extend([Item::Mark { text: mark, lines: hidden as u64 }, Item::Traceback(rest)]);
    }
    items
}

fn json(data: Option<&MimeData>) -> Option<&str> {
    match data {
        Some(MimeData::Json(text) | MimeData::Text(text)) => Some(text),
        _ => None,
    }
}

impl LiveOutput {
    pub(in crate::view) fn event(&mut self, event: &ExecEvent) {
        match event {
            ExecEvent::Stream { name, data } => self.stream(*name, data),
            ExecEvent::Display { id, data } | ExecEvent::Result { id, data, .. } => {
                self.display(id.as_ref(), data);
            }
            ExecEvent::UpdateDisplay { id, data } => self.update(id, data),
            ExecEvent::ClearOutput { wait: true } => self.is_to_be_cleared = true,
            ExecEvent::ClearOutput { wait: false } => self.clear(),
            ExecEvent::InputRequested { prompt, .. } => self.question(prompt),
            ExecEvent::Finished(outcome) => self.finish(outcome),
            ExecEvent::Started { .. } | ExecEvent::Names(_) | ExecEvent::Widgets(_) => {}
        }
        self.keep_to_limits();
    }

    /// Marks the place of events that never arrived.
    pub(in crate::view) fn missed(&mut self, events: u64) {
        self.mark(words::session::missed(events));
    }

    /// Counts text that came before the kept part, without storing it.
    pub(in crate::view) fn left_out(&mut self, text: &[u8]) {
        self.forgotten_bytes += text.len() as u64;
        self.forgotten_lines += text.iter().filter(|byte| **byte == b'\n').count() as u64;
    }

    pub(in crate::view) fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    pub(in crate::view) fn content(&self) -> Content {
        let (statuses, has_markdown) = (self.statuses.clone(), self.has_markdown);
        Content { items: self.items(), statuses, has_markdown }
    }

    /// The current items, including lines that the program may still overwrite.
    fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        if self.forgotten_bytes > 0 || self.forgotten_lines > 0 {
            let mark = Mark::Elided { bytes: self.forgotten_bytes, lines: self.forgotten_lines };
            items.push(Item::of_mark(&mark));
        }
        items.extend(self.pieces.iter().map(|piece| piece.item.clone()));
        for pending in self.cleaners.iter().map(Cleaner::pending).filter(|text| !text.is_empty()) {
            let may_go_on = self.pieces.back().is_some_and(|piece| piece.id.is_none());
            match items.last_mut() {
                Some(Item::Text(lines)) if may_go_on => lines.push(&pending),
                _ => items.push(Item::Text(Lines::of(&pending))),
            }
        }
        items
    }

    fn stream(&mut self, name: StreamName, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.begin_output();
        let (one, other) = match name {
            StreamName::Stdout => (0, 1),
            StreamName::Stderr => (1, 0),
        };
        let mut settled = String::new();
        self.cleaners[other].flush(&mut |piece| settled.push_str(piece));
        self.cleaners[one].push(data, &mut |piece| settled.push_str(piece));
        self.text(&settled);
    }

    fn flush(&mut self) {
        let mut settled = String::new();
        for cleaner in &mut self.cleaners {
            cleaner.flush(&mut |piece| settled.push_str(piece));
        }
        self.text(&settled);
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.back_mut() {
            Some(Piece { id: None, item: Item::Text(lines) }) => lines.push(text),
            _ => self.add(None, Item::Text(Lines::of(text))),
        }
    }

    fn add(&mut self, id: Option<&DisplayId>, item: Item) {
        self.pieces.push_back(Piece { id: id.cloned(), item });
    }

    fn mark(&mut self, mark: String) {
        self.flush();
        self.add(None, Item::Mark { text: mark, lines: 1 });
    }

    /// Shows the prompt only. A user may still answer; if the code gets no answer, the report says so.
    fn question(&mut self, prompt: &str) {
        self.begin_output();
        self.flush();
        self.text(&cleaned(prompt));
        self.mark(words::call::ASKS_FOR_INPUT.to_owned());
    }

    fn begin_output(&mut self) {
        if std::mem::take(&mut self.is_to_be_cleared) {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.flush();
        self.is_to_be_cleared = false;
        self.pieces.clear();
        (self.forgotten_bytes, self.forgotten_lines) = (0, 0);
    }

    fn display(&mut self, id: Option<&DisplayId>, data: &MimeBundle) {
        if let Some(status) = json(data.get(STATUS)) {
            if self.statuses.len() < HELD_STATUSES {
                self.statuses.push(status.to_owned());
            }
            return;
        }
        self.begin_output();
        self.flush();
        for item in self.forms(data) {
            self.push_display(id, item);
        }
    }

    /// A display stands on lines of its own. Text without an id is never updated, so it joins the text
    /// before it.
    fn push_display(&mut self, id: Option<&DisplayId>, item: Item) {
        match (item, self.pieces.back_mut()) {
            (Item::Text(new), Some(Piece { id: None, item: Item::Text(lines) }))
                if id.is_none() =>
            {
                lines.append(new);
            }
            (item, _) => self.add(id, item),
        }
    }

    fn update(&mut self, id: &DisplayId, data: &MimeBundle) {
        let is_this = |piece: &Piece| piece.id.as_ref() == Some(id);
        let Some(at) = self.pieces.iter().position(is_this) else {
            return self.display(Some(id), data);
        };
        self.pieces.retain(|piece| !is_this(piece));
        for (more, item) in self.forms(data).into_iter().enumerate() {
            self.pieces.insert(at + more, Piece { id: Some(id.clone()), item });
        }
    }

    /// The shown forms of a display: one text at most, then the items beyond text.
    fn forms(&mut self, data: &MimeBundle) -> Vec<Item> {
        let mut rich = Vec::new();
        for (mime, form) in &data.data {
            match form {
                MimeData::Binary(bytes) if mime.starts_with("image/") => {
                    let (mime, data) = (mime.clone(), Some(bytes.clone()));
                    rich.push(RichKind::Image(ImageItem {
                        mime,
                        data,
                        pixels: None,
                        artifact: None,
                    }));
                }
                MimeData::Json(text) if mime == "application/json" => {
                    let is_small = text.len() <= JSON_BYTES;
                    let shown = format!("JSON, {}", size(text.len() as u64));
                    let raw = is_small.then(|| text.clone());
                    let (is_in_text, artifact) = (false, None);
                    rich.push(RichKind::Json(JsonItem { raw, shown, is_in_text, artifact }));
                }
                _ => {}
            }
        }
        let markdown = json(data.get("text/markdown"));
        self.has_markdown |= markdown.is_some();
        let plain = json(data.get("text/plain")).map(str::to_owned);
        let text = match markdown.map(str::to_owned).or(plain) {
            None if rich.is_empty() => display::text(data),
            text => text,
        };
        let text = text.map(|text| Item::Text(Lines::of(&cleaned(&text))));
        let first = self.rich;
        self.rich += rich.len() as u64;
        let rich = rich
            .into_iter()
            .zip(first + 1..)
            .map(|(kind, number)| Item::Rich(RichItem { number, kind, digest: String::new() }));
        text.into_iter().chain(rich).collect()
    }

    fn finish(&mut self, outcome: &Outcome) {
        let mut settled = String::new();
        for cleaner in &mut self.cleaners {
            cleaner.finish(&mut |piece| settled.push_str(piece));
        }
        self.text(&settled);
        if let Outcome::Error(error) = outcome {
            self.begin_output();
            for item in traceback_items(error) {
                self.add(None, item);
            }
        }
        self.outcome = Some(outcome.clone());
    }

    /// Drops pieces from the front, so that memory stays bounded for any output.
    fn keep_to_limits(&mut self) {
        while self.pieces.len() > HELD_PIECES {
            if let Some(Piece { item: Item::Text(lines), .. }) = self.pieces.pop_front() {
                self.forgotten_lines += lines.iter().count() as u64;
                self.forgotten_bytes +=
                    lines.iter().map(|line| line.text().len() as u64).sum::<u64>();
            }
        }
        let texts = self.pieces.iter().filter_map(|piece| match &piece.item {
            Item::Text(lines) => Some(lines),
            _ => None,
        });
        let (mut bytes, mut count) =
            texts.fold((0, 0), |(b, n), lines| (b + lines.held_bytes(), n + lines.len()));
        for piece in &mut self.pieces {
            let Item::Text(lines) = &mut piece.item else { continue };
            while bytes > HELD_BYTES || count > HELD_LINES {
                let before = lines.held_bytes();
                let Some(forgotten) = lines.forget_first() else { break };
                bytes -= before - lines.held_bytes();
                count -= 1;
                self.forgotten_bytes += forgotten + 1;
                self.forgotten_lines += 1;
            }
        }
    }
}
