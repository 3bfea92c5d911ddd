//! Frames: lines of text in roles, made by a renderer and painted by a painter.
//!
//! Owns the rule that a frame cannot control a terminal: text enters only through [`Line::push`], which
//! makes control characters visible. Painters choose the colours.

use std::sync::Arc;

use bytes::Bytes;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::visible;

/// Columns between the tab stops of a terminal.
pub(crate) const TAB: usize = 8;

/// The meaning of a piece of text. Painters map it to a look.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Role {
    Plain,
    Dim,
    Title,
    Success,
    Warning,
    Error,
    Strong,
    Emphasis,
    /// Code within a sentence of prose.
    Code,
    Keyword,
    /// A name that Python predefines, or that the code defines.
    Name,
    Text,
    Number,
    Comment,
    /// Marks the failing part of a traceback or of code.
    Failing,
    /// A word that an old text alone has.
    Deleted,
    /// A word that a new text alone has.
    Inserted,
    /// A character that shows a part of a picture in two colours.
    Pixels {
        front: Paint,
        back: Paint,
    },
}

/// Colour of a pixel, as the terminal knows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Paint {
    True(u8, u8, u8),
    /// Index into xterm's 256 colours.
    Indexed(u8),
}

/// A picture that the terminal draws over rows reserved for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Picture {
    columns: usize,
    rows: usize,
    bytes: Bytes,
    /// A text rendering, one line for each row, for a screen that shows only some of the rows.
    text: Arc<[Line]>,
}

impl Picture {
    /// Creates a picture. The caller must have made the bytes itself: they reach the terminal unfiltered.
    pub(in crate::view) fn new(columns: usize, rows: usize, bytes: Bytes) -> Picture {
        Picture { columns, rows, bytes, text: Arc::default() }
    }

    /// Adds a text rendering, one line for each row.
    pub(in crate::view) fn or_text(self, text: Vec<Line>) -> Picture {
        Picture { text: text.into(), ..self }
    }

    /// A row of the text rendering; an empty line if the picture has none.
    pub(crate) fn text_row(&self, row: usize) -> Line {
        self.text.get(row).cloned().unwrap_or_default()
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Number of rows, including the row of its line.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes that draw the picture at the cursor.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A piece of text in one role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    text: String,
    role: Role,
}

impl Span {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Line {
    spans: Vec<Span>,
    /// Columns of all spans, summed on each push. Counting a long line of tabs again each time would be
    /// slow.
    columns: usize,
    picture: Option<Picture>,
}

impl Frame {
    /// The same text in the plain role.
    pub(crate) fn uncoloured(&self) -> Frame {
        let plain = |line: &Line| Line::of(Role::Plain, &line.text());
        Frame { lines: self.lines.iter().map(plain).collect() }
    }
}

impl Line {
    /// Creates a line with a single role.
    pub(crate) fn of(role: Role, text: &str) -> Line {
        let mut line = Line::default();
        line.push(role, text);
        line
    }

    /// The first row of a picture. Empty lines below it reserve the other rows.
    pub(in crate::view) fn drawn(picture: Picture) -> Line {
        Line { picture: Some(picture), ..Line::default() }
    }

    /// Appends this line to another one.
    pub(in crate::view) fn behind(&self, mut before: Line) -> Line {
        for span in &self.spans {
            before.push_clean(span.role, &span.text);
        }
        Line { picture: self.picture.clone(), ..before }
    }

    /// The same line without its picture.
    pub(in crate::view) fn undrawn(&self) -> Line {
        Line { picture: None, ..self.clone() }
    }

    /// Appends text. Tabs become spaces up to the next stop, and other control characters become visible.
    pub(crate) fn push(&mut self, role: Role, text: &str) {
        let text = visible(text);
        let mut pieces = text.split('\t');
        self.push_clean(role, pieces.next().unwrap_or_default());
        for piece in pieces {
            let spaces = TAB - self.columns % TAB;
            self.push_clean(role, &" ".repeat(spaces));
            self.push_clean(role, piece);
        }
    }

    /// Appends text from an existing line, which is clean already.
    pub(in crate::view) fn push_clean(&mut self, role: Role, text: &str) {
        self.columns += text.width();
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.role == role => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), role }),
        }
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The picture to draw here, right of the text.
    pub(crate) fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.picture.is_none()
    }

    /// The part between column `from` and `from + width`. A wide character that only half fits is left
    /// out.
    pub(crate) fn cut(&self, from: usize, width: usize) -> Line {
        let mut line = Line::default();
        let mut at = 0;
        for span in &self.spans {
            for (start, c) in span.text.char_indices() {
                let wide = c.width().unwrap_or(0);
                if at >= from && at + wide <= from + width {
                    line.push_clean(span.role, &span.text[start..start + c.len_utf8()]);
                }
                at += wide;
            }
        }
        line
    }
}

/// Lines to paint, from top to bottom.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<Line>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:T-22
    #[test]
    fn text_is_made_harmless_and_tabs_reach_their_stops() {
        let table = [
            ("plain", "plain"),
            ("a\tb", "a       b"),
            ("\t\tx", "                x"),
            ("日本\tx", "日本    x"),
            ("12345678\tx", "12345678        x"),
            ("\u{1b}[31mred\u{1b}[0m", "␛[31mred␛[0m"),
            ("a\rb\nc\u{7}\u{9b}2J", "a␍b␊c␇\\u{9b}2J"),
            ("\u{202e}evil", "\\u{202e}evil"),
            ("e\u{301}\u{200b}x", "e\u{301}\u{200b}x"),
        ];
        for (given, wanted) in table {
            assert_eq!(Line::of(Role::Plain, given).text(), wanted, "{given:?}");
        }
    }

    #[test]
    fn neighbours_in_one_role_are_one_span() {
        let mut line = Line::of(Role::Dim, "a");
        line.push(Role::Dim, "b");
        line.push(Role::Error, "");
        line.push(Role::Error, "c");
        let spans: Vec<_> = line.spans().iter().map(|span| (span.role(), span.text())).collect();
        assert_eq!(spans, [(Role::Dim, "ab"), (Role::Error, "c")]);
    }
}
