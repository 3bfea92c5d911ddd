//! Lines in order with their text; runs of equal lines are kept once.
//!
//! Owns how lines are joined, counted, cut and shown. It must not know which part of an output it holds.

use std::collections::VecDeque;

use super::window::Extent;
use crate::output::model::{Mark, Part};

/// Approximate cost of the mark after a repeated line.
pub(crate) const MARK_BYTES: usize = 32;

/// One entry of a shelf.
#[derive(Debug)]
pub(crate) enum ShelfEntry {
    /// A line or a piece of one; its text is in the shelf.
    Line {
        len: usize,
        /// Number of occurrences in a row.
        times: u64,
        /// True if it came in one piece with its line feed and has not been cut since.
        is_whole: bool,
    },
    /// A mark, which is not text of the program.
    Mark(Mark),
    /// Text that may be replaced later, identified by its number.
    Slot { slot: u64, text: String },
}

/// Entries in order, with the text of their lines.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    pub(crate) kept: VecDeque<ShelfEntry>,
    text: String,
    /// Offset of the first line's text.
    start: usize,
    /// Cost of all entries, charged to the budget.
    pub(crate) cost: usize,
}

/// Cost of a run: all its lines, or one line and a mark, whichever is less. It never falls while a run grows; otherwise
/// the kept text would depend on how it was cut into chunks.
pub(crate) fn cost(len: usize, times: u64) -> usize {
    if is_shown_whole(len, times) { len * times as usize } else { len + MARK_BYTES }
}

/// Returns true if a run is short enough to be shown line by line.
fn is_shown_whole(len: usize, times: u64) -> bool {
    times == 1 || times.saturating_mul(len as u64) <= (len + MARK_BYTES) as u64
}

impl Shelf {
    /// Adds a line or a piece of one.
    pub(crate) fn push(&mut self, piece: &str) {
        let is_open = !self.text.ends_with('\n');
        self.text.push_str(piece);
        self.cost += piece.len();
        match self.kept.back_mut() {
            Some(ShelfEntry::Line { len, .. }) if is_open => *len += piece.len(),
            _ => {
                let is_whole = piece.ends_with('\n');
                self.kept.push_back(ShelfEntry::Line { len: piece.len(), times: 1, is_whole });
            }
        }
    }

    /// Counts a line that equals the last one. Returns false if it differs.
    pub(crate) fn count(&mut self, piece: &str) -> bool {
        match self.kept.back_mut() {
            Some(ShelfEntry::Line { len, times, is_whole: true })
                if *len == piece.len()
                    && self.text.as_bytes()[self.text.len() - *len..] == *piece.as_bytes() =>
            {
                self.cost -= cost(*len, *times);
                *times += 1;
                self.cost += cost(*len, *times);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn is_at_line_start(&self) -> Option<bool> {
        self.kept.iter().rev().find_map(|kept| match kept {
            ShelfEntry::Line { .. } => Some(self.text.ends_with('\n')),
            ShelfEntry::Slot { text, .. } => Some(text.ends_with('\n')),
            ShelfEntry::Mark(_) => None,
        })
    }

    /// Removes entries from the front until the cost is within `limit`.
    pub(crate) fn trim(&mut self, limit: usize) {
        while self.cost > limit {
            let excess = self.cost - limit;
            match self.kept.front_mut() {
                Some(ShelfEntry::Line { len, times, is_whole }) => {
                    if cost(*len, *times) <= excess {
                        self.cost -= cost(*len, *times);
                        self.start += *len;
                        self.kept.pop_front();
                    } else if *times > 1 {
                        self.cost -= cost(*len, *times) - *len;
                        *times = 1;
                    } else {
                        let text = &self.text[self.start..self.start + *len];
                        let cut = text.ceil_char_boundary(excess);
                        self.cost -= cut;
                        self.start += cut;
                        *len -= cut;
                        *is_whole = false;
                    }
                }
                Some(ShelfEntry::Slot { text, .. }) => {
                    self.cost -= text.len();
                    self.kept.pop_front();
                }
                Some(ShelfEntry::Mark(_)) => {
                    self.kept.pop_front();
                }
                None => break,
            }
        }
        // Moving the text pays only once much of it is gone.
        if self.start > 2 * limit + 4096 {
            self.text.drain(..self.start);
            self.start = 0;
        }
    }

    /// The text at the end, up to about `max_bytes`.
    pub(crate) fn recent(&self, max_bytes: usize) -> String {
        let mut pieces = Vec::new();
        let (mut bytes, mut end) = (0, self.text.len());
        for kept in self.kept.iter().rev() {
            let (text, times) = match kept {
                ShelfEntry::Line { len, times, .. } => {
                    end -= len;
                    (&self.text[end..end + len], *times)
                }
                ShelfEntry::Slot { text, .. } => (text.as_str(), 1),
                ShelfEntry::Mark(_) => continue,
            };
            for _ in 0..times {
                if bytes >= max_bytes {
                    break;
                }
                bytes += text.len();
                pieces.push(text);
            }
        }
        pieces.into_iter().rev().collect()
    }

    /// The text of a display that may be replaced.
    pub(crate) fn slot(&mut self, slot: u64) -> Option<&mut String> {
        self.kept.iter_mut().rev().find_map(|kept| match kept {
            ShelfEntry::Slot { slot: found, text } if *found == slot => Some(text),
            _ => None,
        })
    }
}

/// Appends text to the last part if that is text, or as a new part.
pub(crate) fn add_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// Appends the entries of a shelf to `parts` and returns the extent they stand for.
pub(crate) fn add_shelf(parts: &mut Vec<Part>, shelf: &Shelf, expand: bool) -> Extent {
    let mut stands_for = Extent::default();
    let mut at = shelf.start;
    for kept in &shelf.kept {
        match kept {
            ShelfEntry::Line { len, times, .. } => {
                let text = &shelf.text[at..at + len];
                at += len;
                stands_for += Extent::of(text).times(*times);
                let is_whole = expand || is_shown_whole(*len, *times);
                let shown = if is_whole { *times } else { 1 };
                for _ in 0..shown {
                    add_text(parts, text);
                }
                if shown < *times {
                    parts.push(Part::Mark(Mark::Repeated { times: *times - shown }));
                }
            }
            ShelfEntry::Slot { text, .. } => {
                stands_for += Extent::of(text);
                add_text(parts, text);
            }
            ShelfEntry::Mark(mark) => parts.push(Part::Mark(mark.clone())),
        }
    }
    stands_for
}
