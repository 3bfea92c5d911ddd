//! Cleaned text on its way to the window: pieces gathered, lines capped.
//!
//! Owns the limit for one line and the totals before any limit. It must not know bytes or streams.

use super::window::{Extent, Window};
use crate::output::clean::plain::PlainLines;

/// Pieces of at least this size are passed on alone.
const LONG_PIECE_BYTES: usize = 8192;

/// The limit for one line, across chunks.
#[derive(Debug, Default)]
pub(crate) struct LineCap {
    used: usize,
    is_over: bool,
    pub(crate) dropped: Extent,
    pub(crate) dropped_lines: u64,
}

/// The receiver of cleaned text.
#[derive(Debug)]
pub(crate) struct TextSide {
    pub(crate) window: Window,
    /// Pieces of a chunk, gathered so that short lines are passed on together.
    scratch: String,
    line_bytes: Option<usize>,
    pub(crate) cap: LineCap,
}

impl TextSide {
    pub(crate) fn new(window: Window, line_bytes: Option<usize>) -> TextSide {
        TextSide { window, scratch: String::new(), line_bytes, cap: LineCap::default() }
    }

    /// Takes a piece of a chunk; [`TextSide::end_chunk`] must follow.
    pub(crate) fn collect(&mut self, piece: &str) {
        if piece.len() >= LONG_PIECE_BYTES {
            self.end_chunk();
            return self.take(piece);
        }
        self.scratch.push_str(piece);
    }

    pub(crate) fn end_chunk(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        if !scratch.is_empty() {
            self.take(&scratch);
        }
        scratch.clear();
        // Release the memory after one giant chunk.
        if scratch.capacity() <= 16 * LONG_PIECE_BYTES {
            self.scratch = scratch;
        }
    }

    pub(crate) fn take(&mut self, text: &str) {
        match self.line_bytes {
            None => self.window.push(text),
            Some(max) => text.split_inclusive('\n').for_each(|line| self.take_line(line, max)),
        }
    }

    /// Returns true if lines can be taken without examining each.
    pub(crate) fn takes_plain(&self) -> bool {
        self.line_bytes.is_none()
    }

    pub(crate) fn take_plain(&mut self, lines: PlainLines) {
        self.end_chunk();
        self.window.push_plain(lines);
    }

    fn take_line(&mut self, line: &str, max: usize) {
        let (body, feed) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        if !self.cap.is_over && self.cap.used + body.len() <= max {
            self.cap.used = if feed.is_empty() { self.cap.used + body.len() } else { 0 };
            return self.window.push(line);
        }
        let fits = if self.cap.is_over { 0 } else { max - self.cap.used };
        let (kept, dropped) = body.split_at(body.floor_char_boundary(fits));
        self.window.push(kept);
        self.cap.used += kept.len();
        if !dropped.is_empty() {
            self.cap.dropped += Extent::of(dropped);
            if !self.cap.is_over {
                self.cap.is_over = true;
                self.cap.dropped_lines += 1;
                self.window.push("…");
            }
        }
        if !feed.is_empty() {
            self.window.push(feed);
            self.cap.used = 0;
            self.cap.is_over = false;
        }
    }

    /// Extent of everything that came, before any limit.
    pub(crate) fn total(&self) -> Extent {
        let mut total = self.window.total();
        total += self.cap.dropped;
        total.bytes -= self.cap.dropped_lines * '…'.len_utf8() as u64;
        total.chars -= self.cap.dropped_lines;
        total
    }
}

/// The last `max_bytes` of a text, cut between characters.
pub(crate) fn tail(text: &str, max_bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max_bytes))..]
}
