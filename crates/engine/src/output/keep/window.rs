//! The beginning and the end of a text of any length, with the extent of the part between.
//!
//! Owns the budget in bytes, cuts between characters, and runs of equal lines, which are kept once with their count. It
//! must not know where the text comes from. The budget bounds its memory for any input.

use super::shelf::{MARK_BYTES, Shelf, ShelfEntry, add_shelf, add_text, cost};
use super::stage::Stage;
use super::text::tail;
use crate::output::clean::plain::PlainLines;
use crate::output::model::{Mark, Part};

/// Longer lines are not compared with the one before.
const MAX_COMPARED_BYTES: usize = 4096;

/// Marks contain no text, so their number has a limit of its own.
const MAX_MARKS: usize = 1000;

/// The treatment of repeated lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    /// Treats every line as text like any other.
    Keep,
    /// Shows a long run once with its count, if the text does not fit otherwise.
    Count,
}

/// Bytes, line feeds and characters of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Bytes in UTF-8 encoding.
    pub bytes: u64,
    /// Number of line feeds.
    pub feeds: u64,
    /// Number of characters, which are Unicode scalar values.
    pub chars: u64,
}

impl Extent {
    /// Measures a text; an empty one has no lines.
    pub fn of(text: &str) -> Extent {
        Extent {
            bytes: text.len() as u64,
            feeds: memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64,
            chars: if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 },
        }
    }

    /// Line feeds, and one more for a text that is not empty (B:O-04).
    pub fn lines(self) -> u64 {
        if self.bytes == 0 { 0 } else { self.feeds + 1 }
    }

    /// The extent of `times` copies.
    pub(crate) fn times(self, times: u64) -> Extent {
        Extent { bytes: self.bytes * times, feeds: self.feeds * times, chars: self.chars * times }
    }
}

impl std::ops::AddAssign for Extent {
    fn add_assign(&mut self, other: Extent) {
        self.bytes += other.bytes;
        self.feeds += other.feeds;
        self.chars += other.chars;
    }
}

impl std::ops::SubAssign for Extent {
    fn sub_assign(&mut self, other: Extent) {
        self.bytes -= other.bytes;
        self.feeds -= other.feeds;
        self.chars -= other.chars;
    }
}

/// The kept parts of a text.
#[derive(Debug)]
pub(crate) struct Window {
    budget: usize,
    /// The budget of a text that exceeds the other one.
    cut_budget: usize,
    head_budget: usize,
    repeats: Repeats,
    head: Shelf,
    tail: Shelf,
    /// True once the beginning is complete.
    head_is_closed: bool,
    /// Text that has arrived and not been examined, so that only the end is ever split into lines.
    stage: Stage,
    total: Extent,
    /// True if text was removed to keep to the budget.
    is_trimmed: bool,
    /// Text left out of single displays.
    left_out: Extent,
    /// Text that the program cleared or replaced.
    cleared: Extent,
    /// Bytes of the current line.
    line_bytes: u64,
    marks: usize,
}

impl Window {
    pub(crate) fn new(budget: usize, head_budget: usize, repeats: Repeats) -> Window {
        Window {
            budget,
            cut_budget: budget,
            head_budget: head_budget.min(budget),
            repeats,
            head: Shelf::default(),
            tail: Shelf::default(),
            head_is_closed: head_budget == 0,
            total: Extent::default(),
            stage: Stage::default(),
            is_trimmed: false,
            left_out: Extent::default(),
            cleared: Extent::default(),
            line_bytes: 0,
            marks: 0,
        }
    }

    /// Keeps only this much of a text that exceeds the budget. Its beginning has room in it.
    pub(crate) fn cut_to(self, bytes: usize) -> Window {
        Window { cut_budget: bytes.clamp(self.head_budget, self.budget), ..self }
    }

    pub(crate) fn total(&self) -> Extent {
        self.total
    }

    /// The extent of the text that the program cleared or replaced.
    pub(crate) fn cleared(&self) -> Extent {
        self.cleared
    }

    /// The bytes of the last line so far.
    pub(crate) fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    /// Returns true if more text came than fits.
    pub(crate) fn is_over(&self) -> bool {
        self.total.bytes > self.budget as u64
    }

    pub(crate) fn is_at_line_start(&self) -> bool {
        let last = self.stage.is_at_line_start().or_else(|| self.tail.is_at_line_start());
        last.or_else(|| self.head.is_at_line_start()).unwrap_or(true)
    }

    /// Adds text, in whole lines if possible.
    pub(crate) fn push(&mut self, text: &str) {
        self.total += Extent::of(text);
        match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(last) => self.line_bytes = (text.len() - last - 1) as u64,
            None => self.line_bytes += text.len() as u64,
        }
        self.stage.push(text);
        self.settle_when_long();
    }

    /// Adds whole lines that are already counted.
    pub(crate) fn push_plain(&mut self, lines: PlainLines) {
        if !self.head_is_closed || !self.is_at_line_start() {
            return self.push(std::str::from_utf8(&lines.bytes).unwrap_or_default());
        }
        let bytes = lines.bytes.len() as u64;
        self.total += Extent { bytes, feeds: lines.feeds, chars: bytes };
        self.line_bytes = 0;
        self.stage.push_plain(lines);
        self.settle_when_long();
    }

    fn settle_when_long(&mut self) {
        if !self.head_is_closed || self.stage.len() > 16 * self.budget + 256 {
            // The last line may go on, and is compared once it is complete.
            let held = self.stage.open_bytes();
            self.settle(if held <= MAX_COMPARED_BYTES { held } else { 0 });
        }
    }

    /// Splits the staged text into lines, except its last `held` bytes.
    fn settle(&mut self, held: usize) {
        let mut staged = std::mem::take(&mut self.stage);
        // Usually its end is enough, and only that is joined.
        let mut at_least = 2 * self.budget + held;
        let (text, from) = loop {
            let text = staged.end(at_least);
            let from = self.first_needed(&text[..text.len() - held]);
            if from > 0 || text.len() == staged.len() {
                break (text, from);
            }
            at_least = usize::MAX;
        };
        let end = text.len() - held;
        if from > 0 {
            self.tail = Shelf::default();
            self.is_trimmed = true;
        }
        let max_compared = self.max_compared_bytes();
        let mut at = from;
        while at < end {
            let feed = memchr::memchr(b'\n', &text.as_bytes()[at..end]);
            let line = &text[at..feed.map_or(end, |feed| at + feed + 1)];
            self.piece(line);
            at += line.len();
            if line.len() <= max_compared && feed.is_some() {
                // A long run is counted without searching for line ends.
                while text.as_bytes()[at..end].starts_with(line.as_bytes()) {
                    self.piece(line);
                    at += line.len();
                }
            }
        }
        self.make_room();
        drop(text);
        staged.keep_open(held);
        self.stage = staged;
    }

    /// The offset from which a text is needed: if its end alone exceeds the budget, earlier text is dropped. A run is
    /// never cut here, because its count would be wrong.
    fn first_needed(&self, text: &str) -> usize {
        if !self.head_is_closed || text.len() <= self.budget {
            return 0;
        }
        let bytes = text.as_bytes();
        let max_compared = self.max_compared_bytes();
        let (mut start, mut spent, mut run) = (bytes.len(), 0, (0..0, 0));
        while start > 0 {
            let line = memchr::memrchr(b'\n', &bytes[..start - 1]).map_or(0, |at| at + 1)..start;
            let is_same = line.len() <= max_compared && bytes[line.clone()] == bytes[run.0.clone()];
            if is_same {
                run.1 += 1;
            } else {
                spent += cost(run.0.len(), run.1);
                if spent > self.budget {
                    return start;
                }
                run = (line.clone(), 1);
            }
            start = line.start;
        }
        0
    }

    fn piece(&mut self, mut piece: &str) {
        if piece.len() <= self.max_compared_bytes() {
            // Right after the beginning a run may go on there, unless text between was dropped.
            let follows_head = self.tail.kept.is_empty() && !self.is_trimmed;
            let shelf = if follows_head { &mut self.head } else { &mut self.tail };
            if shelf.count(piece) {
                return;
            }
        }
        if !self.head_is_closed {
            let room = self.head_budget.saturating_sub(self.head.cost);
            if piece.len() <= room {
                return self.head.push(piece);
            }
            let (fits, rest) = piece.split_at(piece.floor_char_boundary(room));
            if !fits.is_empty() {
                self.head.push(fits);
            }
            self.head_is_closed = true;
            piece = rest;
        }
        self.tail.push(piece);
    }

    /// Maximum length of lines that are compared. A run must fit as a whole: if it were cut while it grows, its count
    /// would depend on how the text was cut into chunks.
    fn max_compared_bytes(&self) -> usize {
        match self.repeats {
            Repeats::Keep => 0,
            Repeats::Count => self.tail_budget().saturating_sub(MARK_BYTES).min(MAX_COMPARED_BYTES),
        }
    }

    fn tail_budget(&self) -> usize {
        self.budget - self.head_budget
    }

    fn make_room(&mut self) {
        if self.head.cost + self.tail.cost > self.budget {
            self.tail.trim(self.tail_budget());
            self.is_trimmed = true;
        }
    }

    /// Counts text of a display that is left out, and marks the gap.
    pub(crate) fn leave_out(&mut self, text: &str) {
        let extent = Extent::of(text);
        self.total += extent;
        self.left_out += extent;
        self.mark(Mark::Elided { bytes: extent.bytes, lines: extent.feeds });
    }

    /// Adds a mark, which is not text of the program. It stays with the text after it.
    pub(crate) fn mark(&mut self, mark: Mark) {
        if self.marks == MAX_MARKS {
            return;
        }
        self.marks += 1;
        self.settle(0);
        let shelf = if self.head_is_closed { &mut self.tail } else { &mut self.head };
        shelf.kept.push_back(ShelfEntry::Mark(mark));
    }

    /// Adds text that may be replaced later.
    pub(crate) fn push_slot(&mut self, slot: u64, text: String) {
        self.settle(0);
        self.total += Extent::of(&text);
        let room = self.head_budget.saturating_sub(self.head.cost);
        self.head_is_closed |= text.len() > room;
        let shelf = if self.head_is_closed { &mut self.tail } else { &mut self.head };
        shelf.cost += text.len();
        shelf.kept.push_back(ShelfEntry::Slot { slot, text });
        self.make_room();
    }

    /// Replaces such a text in its place. Returns false if the text is gone.
    pub(crate) fn replace_slot(&mut self, slot: u64, text: &str) -> bool {
        self.settle(0);
        let in_tail = self.tail.slot(slot).is_some();
        let shelf = if in_tail { &mut self.tail } else { &mut self.head };
        let Some(kept) = shelf.slot(slot) else {
            return false;
        };
        let old = std::mem::replace(kept, text.to_owned());
        shelf.cost = shelf.cost - old.len() + text.len();
        self.total += Extent::of(text);
        self.cleared += Extent::of(&old);
        self.make_room();
        true
    }

    /// Clears the kept text at the program's request; the totals stay.
    pub(crate) fn clear(&mut self) {
        self.cleared = self.total;
        self.is_trimmed = false;
        self.stage.keep_open(0);
        self.left_out = Extent::default();
        self.line_bytes = 0;
        self.marks = 0;
        self.head = Shelf::default();
        self.tail = Shelf::default();
        self.head_is_closed = self.head_budget == 0;
    }

    /// The end of the text so far, if available, up to about `max_bytes`.
    pub(crate) fn recent(&self, max_bytes: usize) -> String {
        let mut text = String::new();
        if !self.is_trimmed {
            text = self.head.recent(max_bytes);
        }
        text.push_str(&self.tail.recent(max_bytes));
        text.push_str(tail(&self.stage.end(max_bytes), max_bytes));
        text
    }

    /// The kept parts, in order.
    pub(crate) fn parts(&mut self) -> Kepts {
        self.settle(0);
        if self.is_trimmed {
            self.tail.trim(self.cut_budget - self.head_budget);
        }
        let expand = !self.is_over();
        let (mut parts, mut tail_parts) = (Vec::new(), Vec::new());
        let head = add_shelf(&mut parts, &self.head, expand);
        let tail = add_shelf(&mut tail_parts, &self.tail, expand);
        let mut elided = self.total;
        for known in [self.cleared, self.left_out, head, tail] {
            elided -= known;
        }
        if elided.bytes > 0 {
            let (bytes, lines) = (elided.bytes, elided.feeds);
            parts.push(Part::Mark(Mark::Elided { bytes, lines }));
        }
        for part in tail_parts {
            match part {
                Part::Text(text) => add_text(&mut parts, &text),
                mark => parts.push(mark),
            }
        }
        Kepts {
            parts,
            head,
            tail,
            elided,
            left_out: self.left_out,
            cleared: self.cleared,
            head_is_open: self.head.is_at_line_start() == Some(false),
            ends_a_line: self.is_at_line_start(),
            line_bytes: self.line_bytes,
        }
    }
}

/// The content of a window.
#[derive(Debug, Default)]
pub(crate) struct Kepts {
    pub(crate) parts: Vec<Part>,
    /// Extent of the beginning, with repeated lines counted.
    pub(crate) head: Extent,
    /// Extent of the end.
    pub(crate) tail: Extent,
    pub(crate) elided: Extent,
    pub(crate) left_out: Extent,
    pub(crate) cleared: Extent,
    /// True if the beginning ends inside a line.
    pub(crate) head_is_open: bool,
    /// True if the text ends with a line end.
    pub(crate) ends_a_line: bool,
    /// Bytes of the last line.
    pub(crate) line_bytes: u64,
}

#[cfg(test)]
mod tests;
