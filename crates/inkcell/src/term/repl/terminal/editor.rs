//! The editor for a cell: several lines, a history, completion by the kernel, highlighted Python.
//!
//! Owns the line editor and its settings. `completeness` decides when a cell is complete, `key_edits` what keys do to
//! the indentation. If the editor cannot draw, plain lines are read instead.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use inkcell_engine::api::{Completions, Inspect, InspectionAnswer};
use inkcell_engine::kernel::{InputReply, make_private_folder};
use reedline::{
    Color, ColumnarMenu, Completer, CompletionResult, EditCommand, Emacs, FileBackedHistory,
    Highlighter, KeyCode, KeyModifiers, MenuBuilder as _, Prompt, PromptEditMode,
    PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, StyledText,
    Suggestion, ValidationResult, Validator, default_emacs_keybindings,
};

use super::key_edits::{self, PromptKeys};
use crate::exit::Failure;
use crate::term::repl::completeness::{Completeness, completeness};
use crate::term::repl::face::Entry;
use crate::term::repl::indentation::LEVEL;
use crate::term::repl::{Shared, locked};
use crate::term::screen::{self, Echo, Keys, Reply};
use crate::view::execution::highlighted;
use crate::view::paint::{Colour, Role};

/// Cells in the history file, which later prompts share.
const REMEMBERED: usize = 5000;

const PROMPT: &str = ">>> ";

/// The prompt of further lines, as wide as the first one.
const CONTINUED: &str = "... ";

const MENU: &str = "completions";

const EXPAND: &str = "expand";

/// Result of a typing turn.
pub(super) enum Typing {
    Read(Entry),
    /// The user asked to see the last output in full.
    Expand,
    /// The terminal does not report its cursor, or the editor cannot draw on it.
    Impossible,
}

pub(super) struct Editor {
    line: Reedline,
    is_possible: bool,
}

impl Editor {
    pub(super) fn new(talk: &Shared, colour: Colour) -> Result<Editor, Failure> {
        let settings = locked(talk).settings.clone();
        let mut keys = default_emacs_keybindings();
        let complete = ReedlineEvent::UntilFound(vec![
            ReedlineEvent::Menu(MENU.to_owned()),
            ReedlineEvent::MenuNext,
        ]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
        keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, ReedlineEvent::Submit);
        key_edits::bind(&mut keys);
        let expand = ReedlineEvent::ExecuteHostCommand(EXPAND.to_owned());
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('o'), expand);
        // An empty marker, so that the typed text keeps its place while the menu is open.
        let menu = ColumnarMenu::default().with_name(MENU).with_columns(4).with_marker("");
        let mut line = Reedline::create()
            .with_edit_mode(Box::new(PromptKeys(Emacs::new(keys))))
            .with_validator(Box::new(Wholeness))
            .with_completer(Box::new(FromKernel { talk: talk.clone() }))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_history_exclusion_prefix(Some(" ".to_owned()))
            .use_bracketed_paste(true)
            .with_ansi_colors(colour == Colour::On);
        line = key_edits::menus().fold(line, Reedline::with_menu);
        if colour == Colour::On {
            line = line.with_highlighter(Box::new(Python));
        }
        // The prompt also works without a history file.
        let kept = history_file(&settings.state_dir)
            .ok()
            .and_then(|path| FileBackedHistory::with_file(REMEMBERED, path).ok());
        if let Some(history) = kept {
            line = line.with_history(Box::new(history));
        }
        Ok(Editor { line, is_possible: true })
    }

    /// Reads a cell. It starts with text typed before the prompt appeared.
    pub(super) fn read(&mut self, ahead: &str) -> Typing {
        if !self.is_possible {
            return Typing::Impossible;
        }
        if !ahead.is_empty() {
            self.line.run_edit_commands(&[EditCommand::InsertString(ahead.to_owned())]);
        }
        match self.line.read_line(&Plain) {
            Ok(Signal::Success(text)) => Typing::Read(Entry::Text(text)),
            Ok(Signal::CtrlD) => Typing::Read(Entry::End),
            Ok(Signal::HostCommand(_)) => Typing::Expand,
            Ok(_) => Typing::Read(Entry::Dropped),
            Err(_) => {
                self.is_possible = false;
                Typing::Impossible
            }
        }
    }
}

/// Reads a cell line by line, with the terminal's own line editing.
pub(crate) fn read_plainly(keys: &mut Keys) -> Result<Entry, Failure> {
    let mut cell = String::new();
    keys.forget();
    loop {
        let prompt = if cell.is_empty() { PROMPT } else { CONTINUED };
        keys.expect_line(Echo::Shown);
        screen::write(prompt)?;
        let line = match keys.line(&mut || true) {
            Reply::Given(InputReply::Line(line)) => line,
            Reply::Given(_) => return Ok(Entry::End),
            Reply::Interrupted | Reply::Overtaken => return Ok(Entry::Dropped),
        };
        cell.push_str(&line);
        if completeness(&cell) == Completeness::Complete {
            return Ok(Entry::Text(cell));
        }
        cell.push('\n');
    }
}

/// Creates the history file, readable by its user only, since typed text may hold a secret.
fn history_file(state: &Path) -> io::Result<PathBuf> {
    let folder = state.join("repl");
    make_private_folder(&folder)?;
    let path = folder.join("history");
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(path)
}

/// The prompts of Python: `>>>`, and `...` for further lines (B:T-20).
struct Plain;

impl Prompt for Plain {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(PROMPT)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(CONTINUED)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(history: {}) ", search.term))
    }

    fn get_prompt_color(&self) -> Color {
        Color::Default
    }

    fn get_prompt_multiline_color(&self) -> Color {
        Color::DarkGray
    }
}

struct Wholeness;

impl Validator for Wholeness {
    fn validate(&self, line: &str) -> ValidationResult {
        match completeness(line) {
            Completeness::Complete => ValidationResult::Complete,
            Completeness::Incomplete => ValidationResult::Incomplete,
        }
    }
}

/// Python code in the colours of output.
struct Python;

impl Highlighter for Python {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        let lines = highlighted(line);
        // Leave text uncoloured if highlighting would change it: the editor needs each letter in its place.
        let texts: Vec<String> = lines.iter().map(|line| line.text()).collect();
        if texts.join("\n") != line.strip_suffix('\n').unwrap_or(line) {
            styled.push((Default::default(), line.to_owned()));
            return styled;
        }
        for (number, coloured) in lines.iter().enumerate() {
            if number > 0 {
                styled.push((Default::default(), "\n".to_owned()));
            }
            for span in coloured.spans() {
                let style = match span.role() {
                    Role::Keyword => Color::Purple.normal(),
                    Role::Name => Color::Blue.normal(),
                    Role::Text => Color::Green.normal(),
                    Role::Number => Color::Cyan.normal(),
                    Role::Comment => Color::DarkGray.normal(),
                    _ => Default::default(),
                };
                styled.push((style, span.text().to_owned()));
            }
        }
        if line.ends_with('\n') {
            styled.push((Default::default(), "\n".to_owned()));
        }
        styled
    }
}

struct FromKernel {
    talk: Shared,
}

impl Completer for FromKernel {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let before = line.get(..pos).unwrap_or(line);
        let begun = before.rsplit('\n').next().unwrap_or(before);
        if begun.trim().is_empty() {
            let level = &LEVEL[begun.chars().count() % LEVEL.len()..];
            return CompletionResult::fresh(vec![suggestion(level, Span::new(pos, pos))]);
        }
        let what =
            Inspect::Complete { code: line.to_owned(), cursor: Some(before.chars().count()) };
        // Without a kernel, or with a busy one, completions stay empty.
        let found = match locked(&self.talk).inspect(what) {
            Ok(InspectionAnswer::Completions(found)) => suggestions(line, &found),
            _ => Vec::new(),
        };
        CompletionResult::fresh(found)
    }
}

fn suggestions(line: &str, found: &Completions) -> Vec<Suggestion> {
    let byte = |characters: u64| {
        let at = usize::try_from(characters).unwrap_or(usize::MAX);
        line.char_indices().nth(at).map_or(line.len(), |(byte, _)| byte)
    };
    let (start, end) = (byte(found.start), byte(found.end));
    let span = Span::new(start, end.max(start));
    found.matches.iter().map(|found| suggestion(&found.text, span)).collect()
}

fn suggestion(value: &str, span: Span) -> Suggestion {
    Suggestion { value: value.to_owned(), span, ..Suggestion::default() }
}

#[cfg(test)]
mod tests {
    use inkcell_engine::api::Completion;

    use super::*;

    /// Issue 9: the editor counts bytes, but the kernel counts characters.
    #[test]
    fn completions_replace_what_was_typed() {
        let found = |start, end, text: &str| Completions {
            start,
            end,
            matches: vec![Completion { text: text.to_owned(), kind: "name".to_owned() }],
            total: 1,
        };
        let made = suggestions("é = fo", &found(4, 6, "foo"));
        assert_eq!((made[0].value.as_str(), made[0].span), ("foo", Span::new(5, 7)));
        let beyond = suggestions("x", &found(5, 1, "foo"));
        assert_eq!(beyond[0].span, Span::new(1, 1), "what a kernel says is not believed");
    }

    /// Issue 9: colours do not change any letter, and text that cannot be coloured stays as it is.
    #[test]
    fn highlighting_keeps_every_letter() {
        for code in ["def f():\n    return 'é' # x\n", "a\tb", "", "x\n\n", "\u{1b}"] {
            assert_eq!(Python.highlight(code, 0).raw_string(), code, "{code:?}");
        }
    }

    /// Issue 9: typed text may hold a secret.
    #[test]
    fn the_history_is_for_its_user_alone() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("repl");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("history"), "x = 1\n").unwrap();
        let path = history_file(state.path()).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "x = 1\n", "nothing of it is lost");
    }
}
