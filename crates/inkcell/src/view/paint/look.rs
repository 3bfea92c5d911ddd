//! How lines appear on a stream: in colours or without, within the width of a terminal or at their full length.
//!
//! Owns that choice for one stream. It must not know the content of a line.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use super::{Colour, Frame, Line, Size, Wrap, ansi, fit, plain, wrap};

/// The treatment of a line that is wider than the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A row of a table: it is cut.
    Row,
    /// A sentence: it continues in the next row, between words.
    Sentence,
    /// The text of a notebook: the terminal breaks it.
    Text,
}

/// The look of lines on one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    pub(crate) colour: Colour,
    /// Columns of the terminal. `None` for a file or a pipe, which have no width.
    pub(crate) width: Option<usize>,
}

impl Look {
    /// The look on a file or a pipe.
    pub(crate) const PLAIN: Look = Look { colour: Colour::Off, width: None };

    /// The look on this stream. `colour` applies to terminals only.
    pub(crate) fn of(stream: impl AsFd + IsTerminal, colour: Colour) -> Look {
        match stream.is_terminal() {
            true => Look { colour, width: Some(Size::of(stream).columns) },
            false => Look::PLAIN,
        }
    }

    /// Each line as one row, cut where the terminal ends.
    pub(crate) fn rows(self, lines: &[Line]) -> String {
        self.paint(Shape::Row, lines)
    }

    /// Sentences, continued on the next row where the terminal ends.
    pub(crate) fn sentences(self, lines: &[Line]) -> String {
        self.paint(Shape::Sentence, lines)
    }

    pub(crate) fn paint(self, shape: Shape, lines: &[Line]) -> String {
        let lines = match (shape, self.width) {
            (Shape::Row, Some(width)) => lines.iter().map(|line| fit(line, width)).collect(),
            (Shape::Sentence, Some(width)) => {
                lines.iter().flat_map(|line| wrap(line, width, Wrap::Words)).collect()
            }
            _ => lines.to_vec(),
        };
        let frame = Frame { lines };
        match self.colour {
            Colour::On => ansi(&frame),
            Colour::Off => plain(&frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    #[test]
    fn a_line_fits_the_terminal_and_is_whole_in_a_file() {
        let lines = [Line::of(Role::Error, "one two three")];
        let narrow = Look { colour: Colour::Off, width: Some(8) };
        assert_eq!(narrow.rows(&lines), "one two…\n");
        assert_eq!(narrow.sentences(&lines), "one two\nthree\n");
        assert_eq!(Look::PLAIN.rows(&lines), "one two three\n");
        let coloured = Look { colour: Colour::On, width: Some(80) };
        assert_eq!(coloured.rows(&lines), "\u{1b}[31mone two three\u{1b}[0m\n");
    }
}
