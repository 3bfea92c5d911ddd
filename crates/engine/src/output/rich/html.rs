//! HTML as Markdown for a reader: text, emphasis, links, lists, headings, code, quotes and tables.
//!
//! Owns which tags have a meaning (B:X-33); all others are removed. It must not know displays. The text is read once
//! and without recursion; beyond the budget, rows are only counted.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::table::{CellKind, Section, Table, TextTable};

mod buffer;
mod tags;

use buffer::Buffer;
use tags::{attribute, emphasis, is_block, is_skipped, level, span};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HtmlText {
    pub(crate) markdown: String,
    /// The largest of its tables, without its rows.
    pub(crate) table: Option<TextTable>,
    /// True if the input went on beyond the budget.
    pub(crate) is_cut: bool,
}

/// Converts HTML; texts and tables are read up to about `max_bytes` of result.
pub(crate) fn to_markdown(html: &str, max_bytes: usize) -> HtmlText {
    let sink = Sink { writer: RefCell::new(Writer::new(max_bytes)) };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() && !tokenizer.sink.writer.borrow().is_full() {
        let (piece, after) = rest.split_at(piece_len(rest));
        queue.push_back(StrTendril::from_slice(piece));
        // It stops early only for scripts and encodings that a sink reports, and this sink never does.
        let _ = tokenizer.feed(&queue);
        rest = after;
    }
    let is_cut = !rest.is_empty();
    if !is_cut {
        tokenizer.end();
    }
    let mut writer = tokenizer.sink.writer.into_inner();
    if is_cut {
        // The unfinished row is counted among the rows that were not read.
        writer.end_cell();
        if let Some(table) = &mut writer.table {
            table.abandon_row();
            table.skip_rows(memchr::memmem::find_iter(rest.as_bytes(), "</tr>").count() as u64);
        }
    }
    writer.finish(is_cut)
}

/// Length of the next piece to read before the budget is checked: up to the end of a tag if possible.
fn piece_len(html: &str) -> usize {
    let len = html.floor_char_boundary(64 * 1024);
    memchr::memrchr(b'>', &html.as_bytes()[..len]).map_or(len, |at| at + 1)
}

struct Sink {
    writer: RefCell<Writer>,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut writer = self.writer.borrow_mut();
        match token {
            Token::TagToken(tag) => {
                if tag.kind == TagKind::StartTag {
                    writer.start(&tag);
                    match &*tag.name {
                        "script" => return TokenSinkResult::RawData(RawKind::ScriptData),
                        "style" | "noscript" | "iframe" => {
                            return TokenSinkResult::RawData(RawKind::Rawtext);
                        }
                        "title" | "textarea" => {
                            return TokenSinkResult::RawData(RawKind::Rcdata);
                        }
                        _ => {}
                    }
                } else {
                    writer.end(&tag.name);
                }
            }
            Token::CharacterTokens(text) => writer.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// Content that is collected separately and added when its tag ends.
#[derive(Debug)]
enum Frame {
    Quote,
    Link { href: String },
    Cell { kind: CellKind, across: usize, down: usize },
    Caption,
}

/// Maximum nesting of quotes, links and cells; deeper ones are only text.
const MAX_FRAMES: usize = 64;

/// Open emphasis: the number of frames and the position, so that empty emphasis can be removed.
#[derive(Debug)]
struct OpenEmphasis {
    mark: &'static str,
    depth: usize,
    at: usize,
}

#[derive(Debug)]
struct Writer {
    buffer: Buffer,
    /// Outer buffers, each with the purpose of the inner one.
    frames: Vec<(Frame, Buffer)>,
    lists: Vec<Option<u64>>,
    /// Emphasis that is still open.
    opened: Vec<OpenEmphasis>,
    pre: usize,
    skipped: usize,
    table: Option<Table>,
    inner_tables: usize,
    largest: Option<TextTable>,
    max_bytes: usize,
}

impl Writer {
    fn new(max_bytes: usize) -> Writer {
        Writer {
            buffer: Buffer::default(),
            frames: Vec::new(),
            lists: Vec::new(),
            opened: Vec::new(),
            pre: 0,
            skipped: 0,
            table: None,
            inner_tables: 0,
            largest: None,
            max_bytes,
        }
    }

    fn is_full(&self) -> bool {
        let outer: usize = self.frames.iter().map(|(_, buffer)| buffer.text.len()).sum();
        outer + self.buffer.text.len() > self.max_bytes
            || self.table.as_ref().is_some_and(Table::is_full)
    }

    fn break_lines(&mut self, lines: usize) {
        self.buffer.breaks = self.buffer.breaks.max(lines);
    }

    fn push_frame(&mut self, frame: Frame) {
        if self.frames.len() < MAX_FRAMES {
            self.frames.push((frame, std::mem::take(&mut self.buffer)));
        }
    }

    fn start(&mut self, tag: &Tag) {
        let name = &*tag.name;
        if is_skipped(name) {
            self.skipped += 1;
            return;
        }
        if self.skipped > 0 || self.start_table(tag) {
            return;
        }
        if let Some(level) = level(name) {
            self.break_lines(2);
            self.buffer.mark(&format!("{} ", "#".repeat(level)));
        } else if let Some(mark) = emphasis(name).filter(|_| self.pre == 0) {
            self.buffer.mark(mark);
            let (depth, at) = (self.frames.len(), self.buffer.text.len());
            self.opened.push(OpenEmphasis { mark, depth, at });
        } else if is_block(name) {
            self.break_lines(1);
        }
        match name {
            "p" => self.break_lines(2),
            "br" => {
                let breaks = self.buffer.breaks.min(1) + 1;
                self.break_lines(breaks);
            }
            "hr" => {
                self.break_lines(2);
                self.buffer.mark("---");
                self.break_lines(2);
            }
            "pre" => {
                self.break_lines(2);
                self.buffer.mark("```\n");
                self.pre += 1;
            }
            "ul" | "ol" => {
                self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push((name == "ol").then_some(0));
            }
            "li" => self.item(),
            "blockquote" => {
                self.break_lines(2);
                self.push_frame(Frame::Quote);
            }
            "a" => {
                if let Some(href) = attribute(tag, "href") {
                    self.buffer.settle();
                    self.push_frame(Frame::Link { href });
                }
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        self.break_lines(1);
        let depth = self.lists.len().saturating_sub(1).min(MAX_FRAMES);
        let bullet = match self.lists.last_mut() {
            Some(Some(count)) => {
                *count += 1;
                format!("{count}. ")
            }
            _ => "- ".to_owned(),
        };
        self.buffer.mark(&format!("{}{bullet}", "  ".repeat(depth)));
    }

    /// Handles the tags of tables. A table inside a cell is only text of that cell.
    fn start_table(&mut self, tag: &Tag) -> bool {
        let name = &*tag.name;
        if name == "table" {
            if self.table.is_some() {
                self.inner_tables += 1;
            } else {
                self.table = Some(Table::new(self.max_bytes));
            }
            return true;
        }
        let is_part = ["thead", "tbody", "tfoot", "tr", "th", "td", "caption"].contains(&name);
        if !is_part || self.inner_tables > 0 {
            self.buffer.space |= is_part;
            return is_part;
        }
        self.end_cell();
        let Some(table) = &mut self.table else {
            return true;
        };
        match name {
            "thead" => table.section(Section::Head),
            "tbody" | "tfoot" => table.section(Section::Body),
            "tr" => table.begin_row(),
            "caption" => self.push_frame(Frame::Caption),
            _ => {
                let kind = if name == "th" { CellKind::Heading } else { CellKind::Data };
                let (across, down) = (span(tag, "colspan"), span(tag, "rowspan"));
                self.push_frame(Frame::Cell { kind, across, down });
            }
        }
        true
    }

    /// Ends the open cell, including everything still open in it.
    fn end_cell(&mut self) {
        let is_cell =
            |(frame, _): &(Frame, Buffer)| matches!(frame, Frame::Cell { .. } | Frame::Caption);
        if let Some(at) = self.frames.iter().rposition(is_cell) {
            while self.frames.len() > at {
                self.end_frame();
            }
        }
    }

    /// Closes the last emphasis, if it was opened in this frame.
    fn close(&mut self) {
        let depth = self.frames.len();
        if let Some(OpenEmphasis { mark, at, .. }) =
            self.opened.pop_if(|opened| opened.depth == depth)
        {
            if at == self.buffer.text.len() {
                self.buffer.text.truncate(at - mark.len());
            } else {
                // The closing mark belongs to the word before it, so a pending blank stays pending.
                self.buffer.text.push_str(mark);
            }
        }
    }

    fn end_frame(&mut self) {
        let depth = self.frames.len();
        while self.opened.last().is_some_and(|opened| opened.depth == depth) {
            self.close();
        }
        let Some((frame, outer)) = self.frames.pop() else {
            return;
        };
        let inner = std::mem::replace(&mut self.buffer, outer).text;
        let line = || inner.split_whitespace().collect::<Vec<_>>().join(" ");
        match frame {
            Frame::Quote => {
                for (at, text) in inner.trim().lines().enumerate() {
                    self.break_lines(if at == 0 { 2 } else { 1 });
                    self.buffer.mark(&format!("> {text}"));
                }
                self.break_lines(2);
            }
            Frame::Link { href } => {
                let text = inner.trim();
                if !text.is_empty() {
                    self.buffer.mark(&format!("[{text}]({href})"));
                }
            }
            Frame::Cell { kind, across, down } => {
                if let Some(table) = &mut self.table {
                    table.cell(kind, &line(), across, down);
                }
            }
            Frame::Caption => {
                if let Some(table) = &mut self.table {
                    table.caption = line();
                }
            }
        }
    }

    fn end(&mut self, name: &str) {
        if is_skipped(name) {
            self.skipped = self.skipped.saturating_sub(1);
            return;
        }
        if self.skipped > 0 {
            return;
        }
        if let Some(mark) = emphasis(name).filter(|_| self.pre == 0) {
            let is_last = |opened: &OpenEmphasis| opened.mark == mark;
            if self.opened.last().is_some_and(is_last) {
                self.close();
            }
        }
        if level(name).is_some() || name == "p" {
            self.break_lines(2);
        } else if is_block(name) {
            self.break_lines(1);
        }
        match name {
            "table" if self.inner_tables > 0 => self.inner_tables -= 1,
            "table" => self.end_table(),
            "td" | "th" | "caption" if self.inner_tables == 0 => self.end_cell(),
            "tr" if self.inner_tables == 0 => {
                self.end_cell();
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            "pre" if self.pre > 0 => {
                self.pre -= 1;
                self.break_lines(1);
                self.buffer.mark("```");
                self.break_lines(2);
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
            }
            "blockquote" if matches!(self.frames.last(), Some((Frame::Quote, _))) => {
                self.end_frame();
            }
            "a" if matches!(self.frames.last(), Some((Frame::Link { .. }, _))) => self.end_frame(),
            _ => {}
        }
    }

    fn end_table(&mut self) {
        self.end_cell();
        let Some(table) = self.table.take() else {
            return;
        };
        let mut finished = table.finish();
        self.break_lines(2);
        let markdown = finished.markdown();
        if !markdown.is_empty() {
            self.buffer.mark(markdown.trim_end());
        }
        self.break_lines(2);
        finished.body.clear();
        if self.largest.as_ref().is_none_or(|largest| largest.rows < finished.rows) {
            self.largest = Some(finished);
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped > 0 {
            return;
        }
        // Text between cells is only layout.
        let in_cell = self
            .frames
            .iter()
            .any(|(frame, _)| matches!(frame, Frame::Cell { .. } | Frame::Caption));
        if self.table.is_some() && !in_cell {
            return;
        }
        if self.pre > 0 {
            self.buffer.settle();
            self.buffer.text.push_str(text);
            return;
        }
        for piece in text.split_inclusive([' ', '\n', '\t', '\r', '\u{c}', '\u{a0}']) {
            let word = piece.trim_end_matches([' ', '\n', '\t', '\r', '\u{c}', '\u{a0}']);
            if !word.is_empty() {
                self.buffer.mark(word);
            }
            self.buffer.space |= word.len() < piece.len();
        }
    }

    fn finish(mut self, is_cut: bool) -> HtmlText {
        if self.table.is_some() {
            self.end_table();
        }
        while !self.frames.is_empty() {
            self.end_frame();
        }
        while !self.opened.is_empty() {
            self.close();
        }
        let mut markdown = String::new();
        let mut feeds = 0;
        for c in self.buffer.text.trim().chars() {
            feeds = if c == '\n' { feeds + 1 } else { 0 };
            if feeds <= 2 {
                markdown.push(c);
            }
        }
        HtmlText { markdown, table: self.largest, is_cut }
    }
}

#[cfg(test)]
mod tests;
