//! Lines of an answer on standard output: whole in a pipe, in colours and within the width on a terminal.
//!
//! Owns the difference between the two. It must not know what a line says.

use std::io;

use super::paint::{Frame, Line, Role, Size, Wrap, ansi, fit, plain, wrap};
use crate::output::Output;

/// What becomes of a line that is wider than the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A row of a table: it is cut.
    Row,
    /// A sentence: it goes on in the next row, between words.
    Sentence,
    /// The text of a notebook: the terminal breaks it.
    Text,
}

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
    paint(output, shape, vec![line])
}

/// Writes lines with their looks.
pub(crate) fn paint(output: &mut Output, shape: Shape, lines: Vec<Line>) -> io::Result<()> {
    let lines = match (shape, width(output)) {
        (Shape::Row, Some(width)) => lines.iter().map(|line| fit(line, width)).collect(),
        (Shape::Sentence, Some(width)) => {
            lines.iter().flat_map(|line| wrap(line, width, Wrap::Words)).collect()
        }
        _ => lines,
    };
    let frame = Frame { lines };
    output.painted(&if output.is_coloured() { ansi(&frame) } else { plain(&frame) })
}
