//! A cell while its text is edited: keys, the save, and conflicts with changes on disk.
//!
//! Owns the steps from the first key to the saved text. `editor` owns the effect of keys on the text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use inkcell_engine::api::Completions;
use inkcell_engine::notebook::{CellKind, CellPlace, EditOp};

use super::change::{at, replace};
use super::editor::{Editor, Then};
use super::model::{Effect, KernelState, Mode, Model};
use crate::term::screen::Turn;
use crate::view::paint::Role;
use crate::words;

impl Model {
    /// The edited text is in the file. Takes the step that was planned for this.
    pub(super) fn saved(&mut self) -> Vec<Effect> {
        let Mode::Edit(editor) = &mut self.mode else { return Vec::new() };
        let Some(then) = editor.then.take() else { return Vec::new() };
        editor.before = editor.text();
        match then {
            Then::Stay => Vec::new(),
            Then::Browse => {
                self.mode = Mode::Browse;
                Vec::new()
            }
            Then::Run => {
                self.mode = Mode::Browse;
                self.run_cell()
            }
            Then::RunAndGoOn => {
                self.mode = Mode::Browse;
                self.run_and_go_on()
            }
            Then::RunAndInsert => {
                self.mode = Mode::Browse;
                self.run_and_insert()
            }
            Then::EditSelected => {
                self.mode = Mode::Browse;
                self.edit();
                Vec::new()
            }
        }
    }

    pub(super) fn edit(&mut self) {
        let (cell, language) = (self.cursor, self.language_of(self.cursor));
        let is_lossy = self.current().is_some_and(|cell| cell.source().lossy);
        if let Some(reason) = self.notebook.read_only() {
            let reason = reason.to_string();
            return self.say(Role::Error, reason);
        }
        self.mode = Mode::Edit(Box::new(Editor::new(cell, &self.source(cell), language)));
        self.must_show_cursor = true;
        if is_lossy {
            self.say(Role::Warning, words::notebook_screen::LOSSY);
        }
    }

    pub(super) fn edit_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        self.must_show_cursor = true;
        let Mode::Edit(editor) = &mut self.mode else { return Vec::new() };
        match key.code {
            KeyCode::Tab | KeyCode::BackTab if !control && !alt => return self.tab(key),
            // The list of completions goes first, as in Jupyter.
            KeyCode::Esc if editor.has_offer() => {
                editor.close_offer();
                return Vec::new();
            }
            KeyCode::Enter if editor.has_chosen() && key.modifiers.is_empty() => {
                editor.close_offer();
                return Vec::new();
            }
            _ => editor.close_offer(),
        }
        match key.code {
            KeyCode::Esc => self.save(Then::Browse),
            KeyCode::Char('s') if alt => self.split(),
            // Terminals send Ctrl-Shift-Minus as one of these.
            KeyCode::Char('7' | '_') if control => self.split(),
            KeyCode::Char('-') if control && shift => self.split(),
            KeyCode::Char('s') if control => self.save(Then::Stay),
            KeyCode::Char('r') if control => self.save(Then::Run),
            KeyCode::Enter if control => self.save(Then::Run),
            KeyCode::Enter if shift => self.save(Then::RunAndGoOn),
            KeyCode::Char('g') if control => self.save(Then::RunAndGoOn),
            KeyCode::Enter if alt => self.save(Then::RunAndInsert),
            KeyCode::Char('c') if control => vec![Effect::Interrupt],
            KeyCode::Char('q') if control => {
                self.mode = Mode::Browse;
                self.say(Role::Dim, words::notebook_screen::LEFT);
                Vec::new()
            }
            _ => {
                if let Mode::Edit(editor) = &mut self.mode {
                    editor.key(key, self.body_rows);
                }
                Vec::new()
            }
        }
    }

    /// Writes the typed text into the file. If another program has changed the cell, asks the user first.
    pub(super) fn save(&mut self, then: Then) -> Vec<Effect> {
        self.message = None;
        let Mode::Edit(editor) = &mut self.mode else { return Vec::new() };
        editor.then = Some(then);
        if !editor.is_changed() {
            return self.saved();
        }
        let (text, cell) = (editor.text(), editor.cell);
        let is_overtaken = matches!(&self.mode, Mode::Edit(editor) if self.is_overtaken(editor));
        match cell {
            Some(cell) if !is_overtaken => vec![saving(cell, text)],
            _ => {
                if let Mode::Edit(editor) = std::mem::replace(&mut self.mode, Mode::Browse) {
                    self.mode = Mode::Conflict(editor);
                }
                Vec::new()
            }
        }
    }

    /// Handles a Tab: the next completion, an indent, or a question to the kernel.
    fn tab(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.message = None;
        let is_code = self.editor().and_then(|editor| editor.cell);
        let is_code = is_code.is_some_and(|cell| self.is_code(cell));
        let Mode::Edit(editor) = &mut self.mode else { return Vec::new() };
        let turn = if key.code == KeyCode::Tab { Turn::On } else { Turn::Back };
        if editor.has_offer() {
            editor.choose(turn);
            return Vec::new();
        }
        if turn == Turn::Back || editor.is_at_indent() || !is_code {
            editor.key(key, self.body_rows);
            return Vec::new();
        }
        let (code, cursor) = (editor.text(), editor.cursor_chars());
        match self.kernel_state() {
            KernelState::Idle => vec![Effect::Complete { code, cursor }],
            KernelState::None | KernelState::Dead => {
                self.hint(words::notebook_screen::NO_KERNEL_TO_COMPLETE.to_owned());
                Vec::new()
            }
            KernelState::Starting | KernelState::Busy => {
                self.hint(words::notebook_screen::BUSY_TO_COMPLETE.to_owned());
                Vec::new()
            }
        }
    }

    /// Takes the kernel's completions of a text, unless the user has typed on since.
    pub(super) fn completed(&mut self, code: &str, cursor: usize, found: Option<&Completions>) {
        self.must_show_cursor = true;
        let Mode::Edit(editor) = &mut self.mode else { return };
        if editor.text() != code || editor.cursor_chars() != cursor {
            return;
        }
        if !found.is_some_and(|found| editor.offer(found)) {
            self.hint(words::notebook_screen::NO_COMPLETIONS.to_owned());
        }
    }

    /// Splits the cell at the cursor. The text before it stays, and the rest goes into a new cell below.
    fn split(&mut self) -> Vec<Effect> {
        let is_overtaken = self.editor().is_none_or(|editor| self.is_overtaken(editor));
        let Mode::Edit(editor) = &mut self.mode else { return Vec::new() };
        let Some(cell) = editor.cell.filter(|_| !is_overtaken) else {
            // Another program has changed the cell: the user decides about that first.
            return self.save(Then::Stay);
        };
        editor.then = Some(Then::EditSelected);
        let (upper, lower) = editor.halves();
        let kind = self.notebook.cell(cell).and_then(|cell| cell.kind());
        let kind = kind.unwrap_or(CellKind::Code);
        self.message = None;
        let insert = EditOp::Insert { at: CellPlace::After(at(cell)), kind, source: lower };
        vec![Effect::Change { what: "split", ops: vec![replace(cell, upper), insert] }]
    }

    pub(super) fn conflict_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Mode::Conflict(mut editor) = std::mem::replace(&mut self.mode, Mode::Browse) else {
            return Vec::new();
        };
        match (key.code, editor.cell) {
            (KeyCode::Char('o'), Some(cell)) => {
                editor.before = self.source(cell);
                let text = editor.text();
                self.mode = Mode::Edit(editor);
                vec![saving(cell, text)]
            }
            (KeyCode::Char('b'), cell) => {
                let at = cell.map_or(CellPlace::End, |cell| CellPlace::After(at(cell)));
                let kind = if editor.is_markdown() { CellKind::Markdown } else { CellKind::Code };
                let op = EditOp::Insert { at, kind, source: editor.text() };
                editor.then = Some(Then::Browse);
                self.mode = Mode::Edit(editor);
                vec![Effect::Change { what: words::notebook_screen::PUT_BESIDE, ops: vec![op] }]
            }
            (KeyCode::Char('t'), _) => {
                self.say(Role::Dim, words::notebook_screen::THEIRS);
                Vec::new()
            }
            _ => {
                editor.then = None;
                self.mode = Mode::Edit(editor);
                Vec::new()
            }
        }
    }

    pub(super) fn edited_outside(&mut self, cell: usize, before: &str, text: &str) -> Vec<Effect> {
        if before == text {
            self.say(Role::Dim, words::notebook_screen::UNCHANGED);
            return Vec::new();
        }
        // The file may have changed meanwhile, so handle the text as if the user had typed it here.
        let mut editor = Editor::new(cell, before, self.language_of(cell));
        editor.put(text);
        self.mode = Mode::Edit(Box::new(editor));
        self.save(Then::Browse)
    }
}

/// The effect that saves the source of a cell.
fn saving(cell: usize, source: String) -> Effect {
    Effect::Change { what: "saved", ops: vec![replace(cell, source)] }
}
