//! Frames, and their translation to bytes for a terminal.
//!
//! Owns lines of text in roles, their width and the bytes that paint them. It must not know the content of a
//! frame.

mod frame;
mod frame_text;
mod look;
mod repaint;
mod terminal_text;
mod width;

#[cfg(test)]
pub(in crate::view) use frame::Span;
pub(crate) use frame::{Frame, Line, Paint, Picture, Role, TAB};
pub(in crate::view) use frame_text::paint_line;
pub(crate) use frame_text::{ansi, plain};
pub(crate) use look::{Look, Shape};
pub(crate) use repaint::{Repaint, Size};
pub(crate) use terminal_text::TerminalText;
pub(in crate::view) use width::indented;
pub(crate) use width::{Wrap, columns, fit, wrap};

/// Colours in output, on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colour {
    On,
    Off,
}

impl Colour {
    pub(crate) fn when(is_on: bool) -> Colour {
        if is_on { Colour::On } else { Colour::Off }
    }
}
