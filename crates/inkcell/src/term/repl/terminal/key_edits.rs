//! Edits around a key: the indentation that goes with Enter, Space, Backspace and a paste.
//!
//! Owns how they reach the text. The line editor shows its text to menus alone, so each edit is a menu that is never
//! on the screen. `indentation` has the rules.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use reedline::{
    Completer, EditCommand, EditMode, Editor, Emacs, KeyCode, KeyModifiers, Keybindings, Menu,
    MenuEvent, MenuSettings, Painter, PromptEditMode, ReedlineEvent, ReedlineMenu,
    ReedlineRawEvent, Suggestion, UndoBehavior,
};

use crate::term::repl::indentation::{LEVEL, leading, moved, next_line};

/// The key, and the side of it on which the text is edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum KeyEdit {
    BeforeEnter,
    AfterEnter,
    BeforeSpace,
    BeforeBackspace,
    BeforePaste,
}

const ALL: [KeyEdit; 5] = [
    KeyEdit::BeforeEnter,
    KeyEdit::AfterEnter,
    KeyEdit::BeforeSpace,
    KeyEdit::BeforeBackspace,
    KeyEdit::BeforePaste,
];

impl KeyEdit {
    fn name(self) -> String {
        format!("{self:?}")
    }

    fn event(self) -> ReedlineEvent {
        ReedlineEvent::Menu(self.name())
    }
}

/// The menus that edit. They share what Enter has written.
pub(super) fn menus() -> impl Iterator<Item = ReedlineMenu> {
    let written = Arc::new(Mutex::new(None));
    ALL.into_iter().map(move |edit| {
        let settings = MenuSettings::default().with_name(&edit.name());
        let menu = EditMenu { edit, settings, written: Arc::clone(&written) };
        ReedlineMenu::EngineCompleter(Box::new(menu))
    })
}

/// Binds the keys to their edits. While the history is searched, a key does what it does without them.
pub(super) fn bind(keys: &mut Keybindings) {
    let with_edits = |events: Vec<ReedlineEvent>, key: ReedlineEvent| {
        ReedlineEvent::UntilFound(vec![ReedlineEvent::Multiple(events), key])
    };
    let enter = with_edits(
        vec![KeyEdit::BeforeEnter.event(), ReedlineEvent::Enter, KeyEdit::AfterEnter.event()],
        ReedlineEvent::Enter,
    );
    // An open menu takes the key.
    let enter = ReedlineEvent::UntilFound(vec![ReedlineEvent::MenuAccept, enter]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Enter, enter);
    let space = ReedlineEvent::Edit(vec![EditCommand::InsertChar(' ')]);
    let space = with_edits(vec![KeyEdit::BeforeSpace.event(), space.clone()], space);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Char(' '), space);
    let back = ReedlineEvent::Edit(vec![EditCommand::Backspace]);
    let back = with_edits(vec![KeyEdit::BeforeBackspace.event(), back.clone()], back);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Backspace, back.clone());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('h'), back);
}

/// The keys of Emacs, with an edit before a paste that brings its own indentation.
pub(super) struct PromptKeys(pub(super) Emacs);

impl EditMode for PromptKeys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = self.0.parse_event(event);
        match &event {
            ReedlineEvent::Edit(commands) => match commands.as_slice() {
                [EditCommand::InsertString(pasted)] if !leading(pasted).is_empty() => {
                    let edited = vec![KeyEdit::BeforePaste.event(), event.clone()];
                    ReedlineEvent::UntilFound(vec![ReedlineEvent::Multiple(edited), event])
                }
                _ => event,
            },
            _ => event,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.0.edit_mode()
    }
}

/// An indentation that Enter wrote at the start of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct WrittenIndent {
    /// The offset of its line.
    start: usize,
    length: usize,
    /// How many blanks were typed over it. Who indents by hand gets what was typed.
    typed: usize,
}

/// A replacement in the text.
#[derive(PartialEq, Eq, Debug)]
struct Replacement {
    range: Range<usize>,
    with: String,
}

/// Decides what changes in the text with the cursor at this place.
fn replacement(
    edit: KeyEdit,
    text: &str,
    cursor: usize,
    written: &mut Option<WrittenIndent>,
) -> Option<Replacement> {
    let start = text[..cursor].rfind('\n').map_or(0, |end| end + 1);
    let (begun, rest) = (&text[start..cursor], &text[cursor..]);
    let is_blank = !begun.is_empty() && leading(begun).len() == begun.len();
    let replace = |range, with: &str| Some(Replacement { range, with: with.to_owned() });
    match edit {
        KeyEdit::BeforeEnter => {
            let own = written.take();
            if rest.contains('\n') {
                return None;
            }
            let (line, length) = (&text[start..], leading(&text[start..]).len());
            let own = own.filter(|own| own.start == start && own.length == length);
            let indent = moved(&text[..start], line, own.map_or(0, |own| own.typed))?;
            replace(start..start + length, &indent)
        }
        KeyEdit::AfterEnter => {
            let next = next_line(&text[..cursor]);
            let length = next.indent.len();
            let is_own = next.is_statement && length > 0 && rest.is_empty();
            *written = is_own.then_some(WrittenIndent { start, length, typed: 0 });
            replace(cursor..cursor + leading(rest).len(), &next.indent)
        }
        KeyEdit::BeforeSpace => {
            let own = written.as_mut()?;
            let is_there = own.start == start && own.length == begun.len() && rest.is_empty();
            if !(is_there && is_blank && begun.ends_with(' ') && own.typed < own.length) {
                return None;
            }
            own.typed += 1;
            replace(cursor - 1..cursor, "")
        }
        KeyEdit::BeforeBackspace => {
            let is_blank = is_blank && !begun.contains('\t');
            // The key itself removes the last one.
            let length = is_blank.then(|| (begun.len() - 1) % LEVEL.len())?;
            replace(cursor - length..cursor, "")
        }
        KeyEdit::BeforePaste => is_blank.then(|| replace(start..cursor, ""))?,
    }
}

struct EditMenu {
    edit: KeyEdit,
    settings: MenuSettings,
    written: Arc<Mutex<Option<WrittenIndent>>>,
}

impl EditMenu {
    fn edit(&self, editor: &mut Editor) {
        if editor.get_selection().is_some() {
            return;
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let edit = |text: &mut reedline::LineBuffer| {
            let (cursor, before) = (text.insertion_point(), text.get_buffer().to_owned());
            let Some(change) = replacement(self.edit, &before, cursor, &mut written) else {
                return;
            };
            let Replacement { range, with } = change;
            let behind = cursor.saturating_sub(range.end);
            text.replace_range(range.clone(), &with);
            text.set_insertion_point(range.start + with.len() + behind);
        };
        // The key that follows makes the step that is undone.
        editor.edit_buffer(edit, UndoBehavior::NoOp);
    }
}

impl Menu for EditMenu {
    fn settings(&self) -> &MenuSettings {
        &self.settings
    }

    fn is_active(&self) -> bool {
        false
    }

    fn can_partially_complete(
        &mut self,
        _values_updated: bool,
        editor: &mut Editor,
        _completer: &mut dyn Completer,
    ) -> bool {
        self.edit(editor);
        false
    }

    fn can_quick_complete(&self) -> bool {
        false
    }

    fn get_values(&self) -> &[Suggestion] {
        &[]
    }

    // Text that is never on the screen needs no drawing.

    fn set_active(&mut self, _active: bool) {}

    fn clear_input(&mut self) {}

    fn menu_event(&mut self, _event: MenuEvent) {}

    fn update_values(&mut self, _editor: &mut Editor, _completer: &mut dyn Completer) {}

    fn reset_position(&mut self) {}

    fn update_working_details(
        &mut self,
        _editor: &mut Editor,
        _completer: &mut dyn Completer,
        _painter: &Painter,
    ) {
    }

    fn replace_in_buffer(&self, _editor: &mut Editor) {}

    fn menu_required_lines(&self, _terminal_columns: u16) -> u16 {
        0
    }

    fn menu_string(&self, _available_lines: u16, _use_ansi_coloring: bool) -> String {
        String::new()
    }

    fn min_rows(&self) -> u16 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text under keys, as the line editor applies them.
    #[derive(Default)]
    struct Typed {
        text: String,
        cursor: usize,
        written: Option<WrittenIndent>,
    }

    impl Typed {
        fn edit(&mut self, edit: KeyEdit) {
            let change = replacement(edit, &self.text, self.cursor, &mut self.written);
            if let Some(Replacement { range, with }) = change {
                let behind = self.cursor.saturating_sub(range.end);
                self.text.replace_range(range.clone(), &with);
                self.cursor = range.start + with.len() + behind;
            }
        }

        fn insert(&mut self, text: &str) {
            self.text.insert_str(self.cursor, text);
            self.cursor += text.len();
        }

        fn keys(keys: &str) -> String {
            let mut typed = Typed::default();
            for key in keys.chars() {
                match key {
                    '\n' => {
                        typed.edit(KeyEdit::BeforeEnter);
                        typed.insert("\n");
                        typed.edit(KeyEdit::AfterEnter);
                    }
                    ' ' => {
                        typed.edit(KeyEdit::BeforeSpace);
                        typed.insert(" ");
                    }
                    '<' => {
                        typed.edit(KeyEdit::BeforeBackspace);
                        typed.cursor -= 1;
                        typed.text.remove(typed.cursor);
                    }
                    key => typed.insert(&key.to_string()),
                }
            }
            typed.text
        }
    }

    /// Issue 24: what people type, with or without blanks of their own, is what Python expects.
    #[test]
    fn typed_lines_are_indented() {
        let table = [
            ("def f():\nx = 1\nreturn x\n", "def f():\n    x = 1\n    return x\n"),
            ("def f():\n    x = 1\n    return x\n", "def f():\n    x = 1\n    return x\n"),
            ("if a:\nx\nelse:\ny\n", "if a:\n    x\nelse:\n    y\n    "),
            ("if a:\n    x\nelse:\n    y\n", "if a:\n    x\nelse:\n    y\n    "),
            ("if a:\nx\n<else:\ny\n", "if a:\n    x\nelse:\n    y\n    "),
            (
                "class A:\n    def f(self):\n        x = 1\n    def g(self):\n        pass\n",
                "class A:\n    def f(self):\n        x = 1\n    def g(self):\n        pass\n    ",
            ),
            ("class A:\ndef f(self):\nx\n<def g(self):\ny", {
                "class A:\n    def f(self):\n        x\n    def g(self):\n        y"
            }),
            ("if a:\nif b:\n      x", "if a:\n    if b:\n        x"),
            ("if a:\n      x", "if a:\n      x"),
            ("x = [\n  1", "x = [\n      1"),
            ("a  b<", "a  "),
            ("if a:\n x<", "if a:\n    "),
        ];
        for (keys, text) in table {
            assert_eq!(Typed::keys(keys), text, "{keys:?}");
        }
    }

    /// Issue 24: Enter in the middle of a line takes the blanks behind it away.
    #[test]
    fn split_line_begins_at_its_indentation() {
        let mut typed = Typed { text: "if a: x".to_owned(), cursor: 5, written: None };
        typed.insert("\n");
        typed.edit(KeyEdit::AfterEnter);
        assert_eq!((typed.text.as_str(), typed.cursor), ("if a:\n    x", 10));
        typed.cursor = 2;
        typed.edit(KeyEdit::BeforeEnter);
        assert_eq!(typed.text, "if a:\n    x", "only the last line moves");
    }

    /// Issue 24: a paste that brings its indentation is not indented twice.
    #[test]
    fn pasted_indentation_replaces_the_written_one() {
        let mut typed = Typed { text: "class A:\n    ".to_owned(), cursor: 13, written: None };
        typed.edit(KeyEdit::BeforePaste);
        typed.insert("    def f(self):\n        pass");
        assert_eq!(typed.text, "class A:\n    def f(self):\n        pass");
    }
}
