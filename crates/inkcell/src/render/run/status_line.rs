//! A line on a terminal that is kept up to date.
//!
//! Owns its place at the bottom of what was written: it is drawn over and taken away, and leaves nothing behind.

use std::io;

use unicode_width::UnicodeWidthChar as _;

use crate::output::{Stream, visible};
use crate::render::repaint::Size;

#[derive(Default)]
pub(super) struct StatusLine {
    is_shown: bool,
}

impl StatusLine {
    pub(super) fn show(&mut self, text: &str) -> io::Result<()> {
        let width = Size::of(io::stderr()).columns.saturating_sub(1);
        let line = cut(&visible(text), width);
        self.is_shown = true;
        Stream::stderr().write_all(format!("\r{line}\x1b[K").as_bytes())
    }

    pub(super) fn clear(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_shown) {
            return Ok(());
        }
        Stream::stderr().write_all(b"\r\x1b[K")
    }
}

/// As much of a text as fits into one row.
pub(in crate::render) fn cut(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    text.chars().map(|c| if c == '\t' { ' ' } else { c }).take_while(fits).collect()
}
