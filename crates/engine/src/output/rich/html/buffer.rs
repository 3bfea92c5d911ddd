//! Text under construction, with the line feeds and blanks that must come before the next word.
//!
//! Owns how many of them are written. It must not know tags.

/// A text with the separators that are due before its next word.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) text: String,
    /// Number of line feeds due before the next text.
    pub(super) breaks: usize,
    /// True if a blank is due before the next text.
    pub(super) space: bool,
}

impl Buffer {
    /// Writes the separators that are due.
    pub(super) fn settle(&mut self) {
        let breaks = std::mem::take(&mut self.breaks);
        let space = std::mem::take(&mut self.space);
        if self.text.is_empty() {
            return;
        }
        let there = self.text.bytes().rev().take_while(|byte| *byte == b'\n').count();
        if breaks > 0 {
            self.text.extend(std::iter::repeat_n('\n', breaks.saturating_sub(there)));
        } else if space && there == 0 {
            self.text.push(' ');
        }
    }

    /// Writes the separators that are due, and then the mark.
    pub(super) fn mark(&mut self, mark: &str) {
        self.settle();
        self.text.push_str(mark);
    }
}
