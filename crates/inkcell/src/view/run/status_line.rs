//! A live line on a terminal.
//!
//! Owns its place below the written text. It is painted over, then erased, and leaves no trace.

use std::io;

use crate::output::Stream;
use crate::view::paint::{Colour, Frame, Line, Size, ansi, fit, plain};

#[derive(Default)]
pub(crate) struct StatusLine {
    is_shown: bool,
}

impl StatusLine {
    pub(crate) fn show(&mut self, line: &Line, colour: Colour) -> io::Result<()> {
        // The terminal may have been resized since the last time.
        let width = Size::of(io::stderr()).columns.saturating_sub(1);
        let frame = Frame { lines: vec![fit(line, width)] };
        let text = if colour == Colour::On { ansi(&frame) } else { plain(&frame) };
        self.is_shown = true;
        Stream::stderr().write_all(format!("\r{}\x1b[K", text.trim_end_matches('\n')).as_bytes())
    }

    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_shown) {
            return Ok(());
        }
        Stream::stderr().write_all(b"\r\x1b[K")
    }
}
