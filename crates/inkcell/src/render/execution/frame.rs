//! What a renderer makes and a painter paints: lines of text in roles.
//!
//! Owns the rule that nothing in a frame can command a terminal: text gets in through [`Line::push`] only,
//! which shows control characters instead of keeping them. Colours are the painters'.

use std::sync::Arc;

use bytes::Bytes;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::visible;

/// How far apart the tab stops of a terminal are.
pub(crate) const TAB: usize = 8;

/// What a piece of text is; a painter knows how that looks.
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
    /// Code in the midst of prose.
    Code,
    Keyword,
    /// A name that Python gives, or that is being defined.
    Name,
    Text,
    Number,
    Comment,
    /// Where a traceback or a code shows what failed.
    Failing,
    /// A character that is two pixels of a picture.
    Pixels {
        upper: Paint,
        lower: Paint,
    },
}

/// A colour of a pixel, in the terms of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Paint {
    True(u8, u8, u8),
    /// One of the 256 of xterm.
    Indexed(u8),
}

/// A picture that the terminal draws itself, over rows that are kept free for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Picture {
    columns: usize,
    rows: usize,
    bytes: Bytes,
    /// The same as text, a line a row, for whoever shows only some of the rows.
    text: Arc<[Line]>,
}

impl Picture {
    /// Bytes must be ours alone: they reach the terminal as they are.
    pub(in crate::render) fn new(columns: usize, rows: usize, bytes: Bytes) -> Picture {
        Picture { columns, rows, bytes, text: Arc::default() }
    }

    /// With the same as text.
    pub(in crate::render) fn or_text(self, text: Vec<Line>) -> Picture {
        Picture { text: text.into(), ..self }
    }

    /// A row of it as text; an empty one where it has none.
    pub(crate) fn text_row(&self, row: usize) -> Line {
        self.text.get(row).cloned().unwrap_or_default()
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The rows it takes, with that of its line.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// What makes the terminal draw it at the cursor.
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

/// One line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Line {
    spans: Vec<Span>,
    /// The columns of the spans, counted as they come: a line of tabs would take long to count each time.
    columns: usize,
    picture: Option<Picture>,
}

impl Frame {
    /// The same text in no role.
    pub(crate) fn uncoloured(&self) -> Frame {
        let plain = |line: &Line| Line::of(Role::Plain, &line.text());
        Frame { lines: self.lines.iter().map(plain).collect() }
    }
}

impl Line {
    /// A line in one role.
    pub(crate) fn of(role: Role, text: &str) -> Line {
        let mut line = Line::default();
        line.push(role, text);
        line
    }

    /// The first of the rows of a picture; the others are empty lines below it.
    pub(in crate::render) fn drawn(picture: Picture) -> Line {
        Line { picture: Some(picture), ..Line::default() }
    }

    /// The same line behind another.
    pub(in crate::render) fn behind(&self, mut before: Line) -> Line {
        for span in &self.spans {
            before.push_clean(span.role, &span.text);
        }
        Line { picture: self.picture.clone(), ..before }
    }

    /// The same line with nothing drawn in it.
    pub(in crate::render) fn undrawn(&self) -> Line {
        Line { picture: None, ..self.clone() }
    }

    /// Adds text; tabs become spaces up to the next stop, other control characters are shown.
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

    /// Adds text that came out of a line.
    pub(in crate::render) fn push_clean(&mut self, role: Role, text: &str) {
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

    /// What is drawn here, right of the text.
    pub(crate) fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.picture.is_none()
    }

    /// What of it is in so many columns from one on; a character that is only half in them is left out.
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

/// What is to be seen.
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
