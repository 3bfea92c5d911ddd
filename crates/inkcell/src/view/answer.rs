//! Lines of an answer on standard output: whole in a pipe, in colours and within the width on a terminal.
//!
//! Owns when an answer is painted. It must not know what a line says.

use std::io;

use super::paint::{Colour, Line, Look, Role, Size};
use crate::output::Output;

pub(crate) use super::paint::Shape;

/// Returns whether painters draw the answer. If not, it is plain text, byte for byte.
pub(crate) fn is_painted(output: &Output) -> bool {
    output.is_terminal() || output.is_coloured()
}

/// The columns of the terminal; `None` in a pipe, where nothing is cut.
pub(crate) fn width(output: &Output) -> Option<usize> {
    output.is_terminal().then(|| Size::of(io::stdout()).columns)
}

/// The mark in front of a result that is painted.
pub(crate) fn mark(output: &Output, is_good: bool) -> (Role, &'static str) {
    match (is_painted(output), is_good) {
        (false, _) => (Role::Plain, ""),
        (true, true) => (Role::Success, "✓ "),
        (true, false) => (Role::Error, "✗ "),
    }
}

/// Writes a line: painted, or the text of its pieces.
pub(crate) fn write(output: &mut Output, shape: Shape, pieces: &[(Role, &str)]) -> io::Result<()> {
    if !is_painted(output) {
        let text: String = pieces.iter().map(|(_, text)| *text).collect();
        return output.line(&text);
    }
    let mut line = Line::default();
    pieces.iter().for_each(|(role, text)| line.push(*role, text));
    paint(output, shape, &[line])
}

/// Writes lines with their looks.
pub(crate) fn paint(output: &mut Output, shape: Shape, lines: &[Line]) -> io::Result<()> {
    let look = Look { colour: Colour::when(output.is_coloured()), width: width(output) };
    output.painted(&look.paint(shape, lines))
}
