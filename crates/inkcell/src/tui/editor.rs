//! The text of a cell while it is edited in place.
//!
//! Owns what keys do to a text and how its lines are shown. It must not know the notebook, beyond which cell the
//! text is of and what it was.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::TextArea;

use crate::render::execution::stored::{Language, written};
use crate::render::execution::{Line, Role, columns};

/// What is to happen once the text is saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    /// Go on editing.
    Stay,
    Browse,
    Run,
    RunAndGoOn,
}

pub(super) struct Editor {
    /// Where the cell is; none when somebody has removed it.
    pub(super) cell: Option<usize>,
    /// The text as it was in the file when editing began, or when it was saved last.
    pub(super) before: String,
    pub(super) language: Language,
    /// What is to happen when what was asked to be saved is saved.
    pub(super) then: Option<Then>,
    area: TextArea<'static>,
    /// The first column that is shown.
    offset: usize,
}

impl Editor {
    pub(super) fn new(cell: usize, text: &str, language: Language) -> Editor {
        let lines = text.split('\n').map(str::to_owned).collect();
        let mut area = TextArea::new(lines);
        area.set_tab_length(4);
        Editor { cell: Some(cell), before: text.to_owned(), language, then: None, area, offset: 0 }
    }

    /// The text as it is now.
    pub(super) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Puts another text in its place; the way back is kept.
    pub(super) fn put(&mut self, text: &str) {
        self.area.select_all();
        self.area.insert_str(text);
    }

    pub(super) fn is_markdown(&self) -> bool {
        self.language == Language::Markdown
    }

    pub(super) fn is_changed(&self) -> bool {
        self.text() != self.before
    }

    pub(super) fn rows(&self) -> usize {
        self.area.lines().len()
    }

    /// The line that the cursor is in.
    pub(super) fn row(&self) -> usize {
        self.area.cursor().0
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.area.insert_str(text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    /// Takes a key that is for the text.
    pub(super) fn key(&mut self, key: KeyEvent) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('z') if is_control => drop(self.area.undo()),
            KeyCode::Char('y') if is_control => drop(self.area.redo()),
            KeyCode::Enter => self.new_line(),
            _ => drop(self.area.input(key)),
        }
    }

    /// A new line begins where the last one did, and deeper after a colon in Python.
    fn new_line(&mut self) {
        let (row, column) = (self.area.cursor().0, self.area.cursor().1);
        let line = self.area.lines().get(row).map_or("", String::as_str);
        let before: String = line.chars().take(column).collect();
        let mut indent: String = before.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
        if self.language == Language::Python && before.trim_end().ends_with(':') {
            indent.push_str("    ");
        }
        self.area.insert_newline();
        if !indent.is_empty() {
            self.area.insert_str(indent);
        }
    }

    /// The lines as they are shown in so many columns, and where the cursor is in its row.
    pub(super) fn lines(&mut self, width: usize) -> (Vec<Line>, usize) {
        let (row, column) = (self.area.cursor().0, self.area.cursor().1);
        let line = self.area.lines().get(row).map_or("", String::as_str);
        let before: String = line.chars().take(column).collect();
        let at = columns(&Line::of(Role::Plain, &before).text());
        let room = width.saturating_sub(1).max(1);
        if at < self.offset {
            self.offset = at;
        }
        self.offset = self.offset.max((at + 1).saturating_sub(room));
        let lines = written(&self.text(), self.language);
        let shown = lines.iter().map(|line| line.cut(self.offset, width)).collect();
        (shown, at - self.offset)
    }
}
