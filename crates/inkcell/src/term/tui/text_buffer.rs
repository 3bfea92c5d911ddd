//! A text with a cursor, a selection and a history.
//!
//! Owns what an edit does to the text and where the cursor goes. It must not know keys, cells or the screen, beyond
//! how wide a character is shown. Positions are byte offsets, always between two characters.

use std::collections::VecDeque;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::view::paint::{Line, Role, TAB, columns};

/// Columns between the stops of the Tab key.
const TAB_STOP: usize = 4;

/// Edits that can be undone. Older ones are dropped.
const MAX_EDITS: usize = 50;

/// A movement of the cursor. Between lines it keeps the column, if the line is long enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Motion {
    Forward,
    Back,
    WordForward,
    WordBack,
    LineStart,
    LineEnd,
    Down(usize),
    Up(usize),
    ParagraphForward,
    ParagraphBack,
    FirstLine,
    LastLine,
}

/// The extent of a deletion. At the end of a line in its direction, each variant deletes the line end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    Back,
    Forward,
    WordBack,
    WordForward,
    LineStart,
    LineEnd,
}

#[derive(Clone, Debug)]
struct Edit {
    at: usize,
    removed: String,
    inserted: String,
}

/// Kinds of characters. Words end where the kind changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    Space,
    Punctuation,
    Word,
}

fn kind(cluster: &str) -> CharacterKind {
    match cluster.chars().next() {
        Some(c) if c.is_whitespace() => CharacterKind::Space,
        Some(c) if c.is_ascii_punctuation() && c != '_' => CharacterKind::Punctuation,
        _ => CharacterKind::Word,
    }
}

#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    text: String,
    cursor: usize,
    /// The fixed end of the selection. The cursor is the other end.
    anchor: Option<usize>,
    clipboard: String,
    done: VecDeque<Edit>,
    undone: Vec<Edit>,
}

impl TextBuffer {
    pub(super) fn new(text: &str) -> TextBuffer {
        TextBuffer { text: text.to_owned(), ..TextBuffer::default() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Number of lines. An empty text has one.
    pub(super) fn rows(&self) -> usize {
        count_line_ends(&self.text) + 1
    }

    /// The line of the cursor, counted from 0.
    pub(super) fn row(&self) -> usize {
        count_line_ends(&self.text[..self.cursor])
    }

    /// The selected range, if it is not empty.
    pub(super) fn selection(&self) -> Option<Range<usize>> {
        let anchor = self.anchor?;
        let range = anchor.min(self.cursor)..anchor.max(self.cursor);
        (!range.is_empty()).then_some(range)
    }

    /// The selected columns of a line. A selected line end counts as one more.
    pub(super) fn selected_columns(&self, row: usize) -> Option<Range<usize>> {
        let selection = self.selection().filter(|_| row < self.rows())?;
        let start = self.row_start(row);
        let line = start..self.line_end(start);
        if selection.start > line.end || selection.end <= line.start {
            return None;
        }
        let column = |at: usize| column_after(&self.text[line.start..at]);
        let line_end = usize::from(selection.end > line.end);
        let from = column(selection.start.max(line.start));
        Some(from..column(selection.end.min(line.end)) + line_end)
    }

    /// The text between the start of a line and a position in it.
    pub(super) fn line_before(&self, at: usize) -> &str {
        &self.text[self.line_start(at)..at]
    }

    /// Inserts text in place of the selection.
    pub(super) fn insert(&mut self, text: &str) {
        let range = self.selection().unwrap_or(self.cursor..self.cursor);
        self.replace(range, text);
    }

    /// Puts text in place of a range. The cursor goes behind it.
    pub(super) fn put(&mut self, range: Range<usize>, text: &str) {
        self.replace(range, text);
    }

    /// Inserts spaces up to the next stop, in place of the selection.
    pub(super) fn insert_tab(&mut self) {
        let at = self.selection().map_or(self.cursor, |range| range.start);
        let column = column_after(self.line_before(at));
        self.insert(&" ".repeat(TAB_STOP - column % TAB_STOP));
    }

    pub(super) fn replace_all(&mut self, text: &str) {
        self.replace(0..self.text.len(), text);
    }

    /// Deletes the selection. Without a selection, deletes as far as `reach` goes.
    pub(super) fn delete(&mut self, reach: Reach) {
        if let Some(range) = self.selection() {
            return self.replace(range, "");
        }
        let (cursor, start, end) =
            (self.cursor, self.line_start(self.cursor), self.line_end(self.cursor));
        let in_line = match reach {
            Reach::Back | Reach::Forward => cursor..cursor,
            Reach::WordBack => self.word_start_before(cursor).unwrap_or(start)..cursor,
            Reach::WordForward => cursor..self.word_end_after(cursor).unwrap_or(end),
            Reach::LineStart => start..cursor,
            Reach::LineEnd => cursor..end,
        };
        if !in_line.is_empty() {
            // A deleted character or line end does not replace a longer text in the clipboard.
            self.text[in_line.clone()].clone_into(&mut self.clipboard);
            return self.replace(in_line, "");
        }
        match reach {
            Reach::Back | Reach::WordBack | Reach::LineStart => {
                self.replace(self.cluster_start(cursor)..cursor, "");
            }
            Reach::Forward | Reach::WordForward | Reach::LineEnd => {
                self.replace(cursor..self.cluster_end(cursor), "");
            }
        }
    }

    /// Copies the selection and ends it.
    pub(super) fn copy(&mut self) {
        if let Some(range) = self.selection() {
            self.text[range].clone_into(&mut self.clipboard);
        }
        self.anchor = None;
    }

    pub(super) fn cut(&mut self) {
        if let Some(range) = self.selection() {
            self.text[range.clone()].clone_into(&mut self.clipboard);
            self.replace(range, "");
        }
    }

    /// Inserts the last cut or copied text.
    pub(super) fn paste(&mut self) {
        if !self.clipboard.is_empty() {
            let text = self.clipboard.clone();
            self.insert(&text);
        }
    }

    /// Moves the cursor. With `selects`, starts or extends the selection.
    pub(super) fn move_cursor(&mut self, motion: Motion, selects: bool) {
        self.anchor = selects.then_some(self.anchor.unwrap_or(self.cursor));
        self.cursor = self.target(motion);
    }

    pub(super) fn undo(&mut self) {
        let Some(edit) = self.done.pop_back() else { return };
        self.text.replace_range(edit.at..edit.at + edit.inserted.len(), &edit.removed);
        self.cursor = edit.at + edit.removed.len();
        self.anchor = None;
        self.undone.push(edit);
    }

    pub(super) fn redo(&mut self) {
        let Some(edit) = self.undone.pop() else { return };
        self.text.replace_range(edit.at..edit.at + edit.removed.len(), &edit.inserted);
        self.cursor = edit.at + edit.inserted.len();
        self.anchor = None;
        self.done.push_back(edit);
    }

    fn replace(&mut self, range: Range<usize>, with: &str) {
        self.anchor = None;
        if range.is_empty() && with.is_empty() {
            return;
        }
        let at = range.start;
        let removed = self.text[range.clone()].to_owned();
        self.text.replace_range(range, with);
        self.cursor = at + with.len();
        self.undone.clear();
        if self.done.len() == MAX_EDITS {
            self.done.pop_front();
        }
        self.done.push_back(Edit { at, removed, inserted: with.to_owned() });
    }

    fn target(&self, motion: Motion) -> usize {
        let cursor = self.cursor;
        match motion {
            Motion::Forward => self.cluster_end(cursor),
            Motion::Back => self.cluster_start(cursor),
            Motion::WordForward => self
                .word_start_after(cursor)
                .unwrap_or_else(|| (self.line_end(cursor) + 1).min(self.text.len())),
            Motion::WordBack => self
                .word_start_before(cursor)
                .unwrap_or_else(|| self.line_start(cursor).saturating_sub(1)),
            Motion::LineStart => self.line_start(cursor),
            Motion::LineEnd => self.line_end(cursor),
            Motion::Down(rows) => self.in_row(self.row().saturating_add(rows)),
            Motion::Up(rows) => self.in_row(self.row().saturating_sub(rows)),
            Motion::ParagraphForward => self.in_row(self.paragraph_after(self.row())),
            Motion::ParagraphBack => self.in_row(self.paragraph_before(self.row())),
            Motion::FirstLine => self.in_row(0),
            Motion::LastLine => self.in_row(usize::MAX),
        }
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |end| at + end)
    }

    /// The end of the grapheme cluster or line end that begins here.
    fn cluster_end(&self, at: usize) -> usize {
        match self.text[at..self.line_end(at)].graphemes(true).next() {
            Some(cluster) => at + cluster.len(),
            None => (at + 1).min(self.text.len()),
        }
    }

    /// The start of the grapheme cluster or line end that ends here.
    fn cluster_start(&self, at: usize) -> usize {
        match self.line_before(at).graphemes(true).next_back() {
            Some(cluster) => at - cluster.len(),
            None => at.saturating_sub(1),
        }
    }

    fn word_start_after(&self, at: usize) -> Option<usize> {
        self.first_change(at, |_, now| now != CharacterKind::Space)
    }

    fn word_end_after(&self, at: usize) -> Option<usize> {
        self.first_change(at, |last, _| last != CharacterKind::Space)
    }

    /// The first position in the rest of the line with the wanted change of kind.
    fn first_change(
        &self,
        at: usize,
        is_wanted: fn(CharacterKind, CharacterKind) -> bool,
    ) -> Option<usize> {
        let mut clusters = self.text[at..self.line_end(at)].grapheme_indices(true);
        let mut last = kind(clusters.next()?.1);
        for (offset, cluster) in clusters {
            let now = kind(cluster);
            if now != last && is_wanted(last, now) {
                return Some(at + offset);
            }
            last = now;
        }
        None
    }

    /// The start of the word at or before a position of its line.
    fn word_start_before(&self, at: usize) -> Option<usize> {
        let start = self.line_start(at);
        let mut later = None;
        for (offset, cluster) in self.text[start..at].grapheme_indices(true).rev() {
            let now = kind(cluster);
            match later {
                Some((word, last)) if last != CharacterKind::Space && last != now => {
                    return Some(word);
                }
                _ => later = Some((start + offset, now)),
            }
        }
        later.filter(|(_, last)| *last != CharacterKind::Space).map(|(word, _)| word)
    }

    /// The first line of the next paragraph. Without one, the last line.
    fn paragraph_after(&self, row: usize) -> usize {
        let mut lines = self.text.split('\n').enumerate().skip(row);
        let mut is_last_empty = lines.next().is_none_or(|(_, line)| line.is_empty());
        for (at, line) in lines {
            if is_last_empty && !line.is_empty() {
                return at;
            }
            is_last_empty = line.is_empty();
        }
        usize::MAX
    }

    /// The first line of this paragraph, or of the previous one if the cursor is there already.
    fn paragraph_before(&self, row: usize) -> usize {
        let mut start = 0;
        let mut is_last_empty = true;
        for (at, line) in self.text.split('\n').enumerate().take(row) {
            if is_last_empty && !line.is_empty() {
                start = at;
            }
            is_last_empty = line.is_empty();
        }
        start
    }

    /// The start of a line. For a row beyond the end, that of the last line.
    fn row_start(&self, row: usize) -> usize {
        let mut start = 0;
        for _ in 0..row {
            match self.text[start..].find('\n') {
                Some(end) => start += end + 1,
                None => break,
            }
        }
        start
    }

    /// The position in line `row` at the cursor's column.
    fn in_row(&self, row: usize) -> usize {
        let start = self.row_start(row);
        if start == self.line_start(self.cursor) {
            return self.cursor;
        }
        let column = column_after(self.line_before(self.cursor));
        start + offset_in(&self.text[start..self.line_end(start)], column)
    }
}

fn count_line_ends(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// The columns of a grapheme cluster that starts at this column.
fn width_at(column: usize, cluster: &str) -> usize {
    match cluster {
        "\t" => TAB - column % TAB,
        cluster => columns(&Line::of(Role::Plain, cluster).text()),
    }
}

/// The column after a text that starts its line.
fn column_after(text: &str) -> usize {
    text.graphemes(true).fold(0, |column, cluster| column + width_at(column, cluster))
}

/// The last offset in a line that is not beyond the column.
fn offset_in(line: &str, wanted: usize) -> usize {
    let mut column = 0;
    for (offset, cluster) in line.grapheme_indices(true) {
        let next = column + width_at(column, cluster);
        if column >= wanted || next > wanted {
            return offset;
        }
        column = next;
    }
    line.len()
}

#[cfg(test)]
mod tests;
