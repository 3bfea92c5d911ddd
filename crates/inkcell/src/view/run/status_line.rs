//! A live line on a terminal.
//!
//! Owns its place below the written text. It is painted over, then erased, and leaves no trace.

use std::io;

use unicode_width::UnicodeWidthChar as _;

use crate::output::{Stream, visible};
use crate::view::paint::Size;

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

/// The part of a text that fits into a row.
pub(in crate::view) fn cut(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    text.chars().map(|c| if c == '\t' { ' ' } else { c }).take_while(fits).collect()
}
