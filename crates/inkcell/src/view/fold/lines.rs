//! Lines of a program's text, each within a bound, also while a line grows piece by piece.
//!
//! Owns the limit of a line (B:T-21). It must not know the origin of the text or the width of the screen.

use std::collections::VecDeque;

use crate::words;

/// Characters of a line before it is cut.
pub(in crate::view) const LINE_CHARS: usize = 4000;

/// One line, with a count of the characters cut from its end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::view) struct TextLine {
    text: String,
    chars: usize,
    omitted: u64,
}

impl TextLine {
    fn push(&mut self, piece: &str) {
        let room = LINE_CHARS - self.chars;
        let cut = piece.char_indices().nth(room).map_or(piece.len(), |(at, _)| at);
        let (kept, rest) = piece.split_at(cut);
        self.text.push_str(kept);
        self.chars += kept.chars().count();
        self.omitted += rest.chars().count() as u64;
    }

    pub(in crate::view) fn text(&self) -> &str {
        &self.text
    }

    /// The note in place of the characters that were cut.
    pub(in crate::view) fn omitted(&self) -> Option<String> {
        (self.omitted > 0).then(|| words::output::chars_omitted(self.omitted))
    }

    /// Bytes of the text plus the fixed cost of a line.
    fn held_bytes(&self) -> usize {
        self.text.len() + size_of::<TextLine>()
    }
}

/// Text as lines. The last line may still grow.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::view) struct Lines {
    lines: VecDeque<TextLine>,
    is_open: bool,
    held_bytes: usize,
}

impl Lines {
    pub(in crate::view) fn of(text: &str) -> Lines {
        let mut lines = Lines::default();
        lines.push(text);
        lines
    }

    /// Appends text, which may continue the last line.
    pub(in crate::view) fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            let (piece, is_whole) = match piece.strip_suffix('\n') {
                Some(piece) => (piece, true),
                None => (piece, false),
            };
            if self.is_open
                && let Some(last) = self.lines.back_mut()
            {
                let before = last.held_bytes();
                last.push(piece);
                self.held_bytes += last.held_bytes() - before;
            } else {
                let mut line = TextLine::default();
                line.push(piece);
                self.held_bytes += line.held_bytes();
                self.lines.push_back(line);
            }
            self.is_open = !is_whole;
        }
    }

    /// Appends whole lines. They never continue the last line.
    pub(in crate::view) fn append(&mut self, mut more: Lines) {
        self.lines.append(&mut more.lines);
        self.held_bytes += more.held_bytes;
        self.is_open = false;
    }

    /// Drops the first line and returns its length in bytes.
    pub(in crate::view) fn forget_first(&mut self) -> Option<u64> {
        let first = self.lines.pop_front()?;
        self.held_bytes -= first.held_bytes();
        self.is_open &= !self.lines.is_empty();
        Some(first.text.len() as u64)
    }

    pub(in crate::view) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    pub(in crate::view) fn iter(&self) -> impl Iterator<Item = &TextLine> {
        self.lines.iter()
    }

    pub(in crate::view) fn len(&self) -> usize {
        self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &Lines) -> Vec<String> {
        let shown = lines
            .iter()
            .map(|line| format!("{}{}", line.text(), line.omitted().unwrap_or_default()));
        shown.collect()
    }

    #[test]
    fn text_comes_in_pieces_and_stands_in_lines() {
        let mut lines = Lines::default();
        for piece in ["a", "b\nc", "", "\n\nd\n"] {
            lines.push(piece);
        }
        assert_eq!(texts(&lines), ["ab", "c", "", "d"]);
        lines.push("e");
        lines.append(Lines::of("f"));
        assert_eq!(texts(&lines), ["ab", "c", "", "d", "e", "f"]);
        assert_eq!(lines.forget_first(), Some(2));
        assert_eq!(texts(&lines).len(), 5);
    }

    /// B:T-21
    #[test]
    fn a_long_line_is_cut_also_when_it_grows_over_pieces() {
        let wanted = format!("{}… [2000 chars omitted]", "é".repeat(4000));
        let whole = Lines::of(&"é".repeat(6000));
        assert_eq!(texts(&whole), [wanted.as_str()]);
        let mut grown = Lines::default();
        for _ in 0..600 {
            grown.push(&"é".repeat(10));
        }
        assert_eq!(grown, whole);
        assert_eq!(texts(&Lines::of(&"x".repeat(4000))), ["x".repeat(4000)]);
    }

    #[test]
    fn what_is_held_is_counted() {
        let mut lines = Lines::of("one\ntwo\nthree");
        lines.push(" more");
        lines.append(Lines::of(&"long".repeat(2000)));
        while lines.forget_first().is_some() {}
        assert_eq!(lines.held_bytes(), 0);
        lines.push("x");
        assert_eq!(texts(&lines), ["x"]);
    }
}
