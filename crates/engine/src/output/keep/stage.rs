//! Text that has arrived and not been examined, in the pieces in which it came.
//!
//! Owns the joining of pieces. It must not know which part of the text is needed. Most of a long output passes through
//! here and is only counted, so plain lines are not even copied.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memrchr;

use crate::output::clean::plain::PlainLines;

#[derive(Debug, Default)]
pub(crate) struct Stage {
    /// Two texts never follow each other, so a text after another piece begins a line.
    pieces: Vec<Piece>,
    /// All texts, one after the other.
    text: String,
    len: usize,
}

#[derive(Debug)]
enum Piece {
    /// This many bytes of the text.
    Text(usize),
    /// Whole lines of ASCII.
    Plain(Bytes),
}

impl Stage {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.len += text.len();
        match self.pieces.last_mut() {
            Some(Piece::Text(len)) => *len += text.len(),
            _ => self.pieces.push(Piece::Text(text.len())),
        }
    }

    /// Adds whole lines; the text before must end with a line feed.
    pub(crate) fn push_plain(&mut self, lines: PlainLines) {
        self.len += lines.bytes.len();
        self.pieces.push(Piece::Plain(lines.bytes));
    }

    /// Returns true if the text ends with a line feed; `None` if it is empty.
    pub(crate) fn is_at_line_start(&self) -> Option<bool> {
        (self.len > 0).then(|| self.open_bytes() == 0)
    }

    /// Bytes of the unfinished line.
    pub(crate) fn open_bytes(&self) -> usize {
        match self.pieces.last() {
            Some(Piece::Text(len)) => {
                let text = &self.text.as_bytes()[self.text.len() - len..];
                len - memrchr(b'\n', text).map_or(0, |at| at + 1)
            }
            _ => 0,
        }
    }

    /// The end of the text, from the start of a line: everything, or at least this many bytes.
    pub(crate) fn end(&self, at_least: usize) -> Cow<'_, str> {
        let (mut len, mut first) = (0, self.pieces.len());
        let mut text_at = self.text.len();
        while first > 0 && len < at_least {
            first -= 1;
            match &self.pieces[first] {
                Piece::Text(text) => {
                    len += text;
                    text_at -= text;
                }
                Piece::Plain(bytes) => len += bytes.len(),
            }
        }
        if let [Piece::Text(_)] = self.pieces[first..] {
            return Cow::Borrowed(&self.text[text_at..]);
        }
        let mut joined = String::with_capacity(len);
        for piece in &self.pieces[first..] {
            match piece {
                Piece::Text(len) => {
                    joined.push_str(&self.text[text_at..text_at + len]);
                    text_at += len;
                }
                // Plain lines are ASCII, so the default is never used.
                Piece::Plain(bytes) => {
                    joined.push_str(std::str::from_utf8(bytes).unwrap_or_default());
                }
            }
        }
        Cow::Owned(joined)
    }

    /// Drops all but the last `open_bytes`, which belong to the unfinished line.
    pub(crate) fn keep_open(&mut self, open_bytes: usize) {
        self.text.drain(..self.text.len() - open_bytes);
        self.pieces.clear();
        self.len = open_bytes;
        if open_bytes > 0 {
            self.pieces.push(Piece::Text(open_bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces are joined in order, and a part of them begins a line.
    #[test]
    fn pieces_are_joined_again() {
        let plain = |text: &'static str| PlainLines { bytes: text.into(), feeds: 1 };
        let mut stage = Stage::default();
        assert_eq!((stage.is_at_line_start(), stage.end(9).as_ref()), (None, ""));
        stage.push("é");
        stage.push("a\n");
        stage.push_plain(plain("b\n"));
        stage.push_plain(plain("c\n"));
        assert_eq!(stage.is_at_line_start(), Some(true));
        stage.push("d\ne");
        assert_eq!((stage.len(), stage.open_bytes()), (11, 1));
        let ends =
            [(99, "éa\nb\nc\nd\ne"), (5, "c\nd\ne"), (3, "d\ne"), (6, "b\nc\nd\ne"), (0, "")];
        for (at_least, expected) in ends {
            assert_eq!(stage.end(at_least), expected, "{at_least}");
        }
        stage.keep_open(1);
        assert_eq!((stage.end(99).as_ref(), stage.open_bytes()), ("e", 1));
        stage.keep_open(0);
        assert_eq!((stage.len(), stage.is_at_line_start()), (0, None));
    }
}
