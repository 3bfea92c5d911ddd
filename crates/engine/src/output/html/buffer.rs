//! Text that is put together, with the line feeds and blanks that are wanted before the next word.
//!
//! Owns how many of them are written. It must not know tags.

/// A text with what is wanted before its next word.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) text: String,
    /// Line feeds wanted before the next text.
    pub(super) breaks: usize,
    /// A blank wanted before the next text.
    pub(super) space: bool,
}

impl Buffer {
    /// Writes what was wanted before the next text.
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

    /// Writes something after what was wanted before it.
    pub(super) fn mark(&mut self, mark: &str) {
        self.settle();
        self.text.push_str(mark);
    }
}
