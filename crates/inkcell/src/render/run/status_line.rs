//! A line on a terminal that is kept up to date.
//!
//! Owns its place at the bottom of what was written: it is drawn over and taken away, and leaves nothing behind.

use std::io::{self, Write as _};

use unicode_width::UnicodeWidthChar as _;

use crate::output::visible;

#[derive(Default)]
pub(super) struct StatusLine {
    is_shown: bool,
}

impl StatusLine {
    pub(super) fn show(&mut self, text: &str) -> io::Result<()> {
        let width = terminal_columns().saturating_sub(1);
        let line = cut(&visible(text), width);
        self.is_shown = true;
        let mut stderr = io::stderr().lock();
        write!(stderr, "\r{line}\x1b[K")?;
        stderr.flush()
    }

    pub(super) fn clear(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_shown) {
            return Ok(());
        }
        let mut stderr = io::stderr().lock();
        write!(stderr, "\r\x1b[K")?;
        stderr.flush()
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

/// How wide the terminal is; 80 where that cannot be told.
fn terminal_columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}
