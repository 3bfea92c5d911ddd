//! The beginning and the end of a text of any length, with the number of what lies between.
//!
//! Owns the budget in bytes, cuts between characters, and runs of the same line, which are kept once
//! with their number. It must not know where the text comes from. Its memory is bounded by the budget,
//! whatever comes in.

use super::model::{Mark, Part};
use super::plain::PlainLines;
use super::shelf::{Kept, MARK_BYTES, Shelf, add_shelf, add_text, cost};
use super::stage::Stage;
use super::truncate::tail;

/// Longer lines are not compared with the one before.
const MAX_COMPARED_BYTES: usize = 4096;

/// Marks cost no text, so their number is limited apart from it.
const MAX_MARKS: usize = 1000;

/// What happens to lines that repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    /// Every one is text like any other.
    Keep,
    /// When the text does not fit, a long run is shown once, with its number.
    Count,
}

/// Bytes, line feeds and characters of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Bytes of UTF-8.
    pub bytes: u64,
    /// Line feeds.
    pub feeds: u64,
    /// Characters.
    pub chars: u64,
}

impl Extent {
    /// The extent of a text.
    pub fn of(text: &str) -> Extent {
        Extent {
            bytes: text.len() as u64,
            feeds: memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64,
            chars: if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 },
        }
    }

    /// Line feeds and one more when there is any text (B:O-04).
    pub fn lines(self) -> u64 {
        if self.bytes == 0 { 0 } else { self.feeds + 1 }
    }

    /// So many of it.
    pub(super) fn times(self, times: u64) -> Extent {
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

/// What is kept of a text.
#[derive(Debug)]
pub(super) struct Window {
    budget: usize,
    head_budget: usize,
    repeats: Repeats,
    head: Shelf,
    tail: Shelf,
    /// The beginning takes no more.
    head_is_closed: bool,
    /// Text that came and was not looked at yet, so that only the end is ever taken apart into lines.
    stage: Stage,
    total: Extent,
    /// Whether something was removed to keep to the budget.
    is_trimmed: bool,
    /// What was left out of single displays.
    left_out: Extent,
    /// What was removed because the program asked for it or replaced it.
    cleared: Extent,
    /// Bytes of the line that is being written.
    line_bytes: u64,
    marks: usize,
}

impl Window {
    pub(super) fn new(budget: usize, head_budget: usize, repeats: Repeats) -> Window {
        Window {
            budget,
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

    /// Everything that came.
    pub(super) fn total(&self) -> Extent {
        self.total
    }

    /// Whether more came than fits.
    pub(super) fn is_over(&self) -> bool {
        self.total.bytes > self.budget as u64
    }

    pub(super) fn is_at_line_start(&self) -> bool {
        let last = self.stage.is_at_line_start().or_else(|| self.tail.is_at_line_start());
        last.or_else(|| self.head.is_at_line_start()).unwrap_or(true)
    }

    /// Adds text. Lines should come whole where that is possible.
    pub(super) fn push(&mut self, text: &str) {
        self.total += Extent::of(text);
        match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(last) => self.line_bytes = (text.len() - last - 1) as u64,
            None => self.line_bytes += text.len() as u64,
        }
        self.stage.push(text);
        self.settle_when_long();
    }

    /// Adds whole lines that were counted already.
    pub(super) fn push_plain(&mut self, lines: PlainLines) {
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
            // The last line may go on, and is compared when it is whole.
            let held = self.stage.open_bytes();
            self.settle(if held <= MAX_COMPARED_BYTES { held } else { 0 });
        }
    }

    /// Takes the staged text apart, all but its last `held` bytes.
    fn settle(&mut self, held: usize) {
        let mut staged = std::mem::take(&mut self.stage);
        // Mostly its end is enough, and only that is joined.
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
                // A long run is counted without looking for the ends of its lines.
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

    /// From where on a text is needed: when its end alone is more than fits, nothing before it stays.
    /// A run is never cut here, because its number would be wrong.
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
            // Right after the beginning a run may go on there, unless something between is gone.
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

    /// Up to which length lines are compared. A run must fit as a whole: one that is cut while it grows
    /// would be counted differently for every way to cut the text into chunks.
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

    /// Counts text of a display that is left out, and says so in its place.
    pub(super) fn leave_out(&mut self, text: &str) {
        let extent = Extent::of(text);
        self.total += extent;
        self.left_out += extent;
        self.mark(Mark::Elided { bytes: extent.bytes, lines: extent.feeds });
    }

    /// Adds something that is not text of the program. It stands with the text that follows it.
    pub(super) fn mark(&mut self, mark: Mark) {
        if self.marks == MAX_MARKS {
            return;
        }
        self.marks += 1;
        self.settle(0);
        let shelf = if self.head_is_closed { &mut self.tail } else { &mut self.head };
        shelf.kept.push_back(Kept::Mark(mark));
    }

    /// Adds text that may be replaced later.
    pub(super) fn push_slot(&mut self, slot: u64, text: String) {
        self.settle(0);
        self.total += Extent::of(&text);
        let room = self.head_budget.saturating_sub(self.head.cost);
        self.head_is_closed |= text.len() > room;
        let shelf = if self.head_is_closed { &mut self.tail } else { &mut self.head };
        shelf.cost += text.len();
        shelf.kept.push_back(Kept::Slot { slot, text });
        self.make_room();
    }

    /// Replaces such a text where it stands. False when it is not kept any more.
    pub(super) fn replace_slot(&mut self, slot: u64, text: &str) -> bool {
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

    /// Removes what is kept, as the program asked; the totals stay.
    pub(super) fn clear(&mut self) {
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

    /// The end of what came, as far as it is at hand, up to about so many bytes.
    pub(super) fn recent(&self, max_bytes: usize) -> String {
        let mut text = String::new();
        if !self.is_trimmed {
            text = self.head.recent(max_bytes);
        }
        text.push_str(&self.tail.recent(max_bytes));
        text.push_str(tail(&self.stage.end(max_bytes), max_bytes));
        text
    }

    /// What is kept, in order.
    pub(super) fn parts(&mut self) -> Kepts {
        self.settle(0);
        if self.is_trimmed {
            self.tail.trim(self.tail_budget());
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
            line_bytes: self.line_bytes,
        }
    }
}

/// What a window gives.
#[derive(Debug, Default)]
pub(super) struct Kepts {
    pub(super) parts: Vec<Part>,
    /// What the beginning stands for, repeated lines counted.
    pub(super) head: Extent,
    /// What the end stands for.
    pub(super) tail: Extent,
    pub(super) elided: Extent,
    pub(super) left_out: Extent,
    pub(super) cleared: Extent,
    /// Whether the beginning ends within a line.
    pub(super) head_is_open: bool,
    /// Bytes of the last line.
    pub(super) line_bytes: u64,
}

#[cfg(test)]
mod tests;
