//! The text of a cell while it is edited in place.
//!
//! Owns the effect of keys on the text, and the display of its lines. It must not know the notebook, except the cell's
//! position and its text in the file.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use inkcell_engine::api::Completions;

use super::text_buffer::{Motion, Reach, TextBuffer};
use crate::term::screen::Turn;
use crate::view::execution::stored_cell::{Language, written};
use crate::view::paint::{Line, Role, columns, fit};

/// The step after a successful save.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    Stay,
    Browse,
    Run,
    RunAndGoOn,
    RunAndInsert,
    /// Edit the cell that the change selected.
    EditSelected,
}

pub(super) struct Editor {
    /// Position of the cell. `None` after another program has removed it.
    pub(super) cell: Option<usize>,
    /// The text in the file at the start of the edit, or after the last save.
    pub(super) before: String,
    pub(super) language: Language,
    /// The step after the pending save.
    pub(super) then: Option<Then>,
    buffer: TextBuffer,
    /// First visible column of the text.
    offset: usize,
    /// Completions from which the user may choose.
    offer: Option<Offer>,
}

/// Completions of the text before the cursor.
struct Offer {
    /// The part of the text that a completion replaces.
    range: Range<usize>,
    texts: Vec<String>,
    /// The one that stands in the text now.
    chosen: Option<usize>,
}

impl Editor {
    pub(super) fn new(cell: usize, text: &str, language: Language) -> Editor {
        let buffer = TextBuffer::new(text);
        Editor {
            cell: Some(cell),
            before: text.to_owned(),
            language,
            then: None,
            buffer,
            offset: 0,
            offer: None,
        }
    }

    /// The current text of the editor.
    pub(super) fn text(&self) -> String {
        self.buffer.text().to_owned()
    }

    /// The text before and after the cursor, without empty lines between them.
    pub(super) fn halves(&self) -> (String, String) {
        let (upper, lower) = self.buffer.text().split_at(self.buffer.cursor());
        (upper.trim_end_matches('\n').to_owned(), lower.trim_start_matches('\n').to_owned())
    }

    /// Replaces the text. Undo can bring the old text back.
    pub(super) fn put(&mut self, text: &str) {
        self.buffer.replace_all(text);
    }

    pub(super) fn is_markdown(&self) -> bool {
        self.language == Language::Markdown
    }

    pub(super) fn is_changed(&self) -> bool {
        self.buffer.text() != self.before
    }

    pub(super) fn rows(&self) -> usize {
        self.buffer.rows()
    }

    /// Line of the cursor, counted from 0.
    pub(super) fn row(&self) -> usize {
        self.buffer.row()
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.buffer.insert(&text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    /// Applies a key to the text. Page keys move by `page` rows.
    pub(super) fn key(&mut self, key: KeyEvent, page: usize) {
        let selects = key.modifiers.contains(KeyModifiers::SHIFT);
        match action(key, page) {
            Action::Insert(c) => self.buffer.insert(c.encode_utf8(&mut [0; 4])),
            Action::NewLine => self.new_line(),
            Action::Tab => self.buffer.insert_tab(),
            Action::Delete(reach) => self.buffer.delete(reach),
            Action::Move(motion) => self.buffer.move_cursor(motion, selects),
            Action::Undo => self.buffer.undo(),
            Action::Redo => self.buffer.redo(),
            Action::Copy => self.buffer.copy(),
            Action::Cut => self.buffer.cut(),
            Action::Paste => self.buffer.paste(),
            Action::Nothing => {}
        }
    }

    /// The position of the cursor in characters.
    pub(super) fn cursor_chars(&self) -> usize {
        self.buffer.text()[..self.buffer.cursor()].chars().count()
    }

    /// Returns true if a Tab indents here: at the start of a line, or with selected text.
    pub(super) fn is_at_indent(&self) -> bool {
        let before = self.buffer.line_before(self.buffer.cursor());
        before.trim().is_empty() || self.buffer.selection().is_some()
    }

    /// Takes completions. A single one goes into the text, and of several the part that they share. Returns false if
    /// there are none.
    pub(super) fn offer(&mut self, found: &Completions) -> bool {
        let text = self.buffer.text();
        let byte = |chars: u64| {
            let at = usize::try_from(chars).unwrap_or(usize::MAX);
            text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
        };
        let start = byte(found.start);
        let range = start..byte(found.end).max(start);
        let texts: Vec<String> = found.matches.iter().map(|found| found.text.clone()).collect();
        let shared = match texts.as_slice() {
            [] => return false,
            [only] => {
                self.buffer.put(range, only);
                return true;
            }
            [first, rest @ ..] => {
                rest.iter().fold(first.as_str(), |shared, text| common(shared, text)).to_owned()
            }
        };
        let is_longer = shared.len() > range.len() && shared.starts_with(&text[range.clone()]);
        let mut offered = range.clone();
        if is_longer {
            self.buffer.put(range, &shared);
            offered.end = start + shared.len();
        }
        self.offer = Some(Offer { range: offered, texts, chosen: None });
        true
    }

    pub(super) fn has_offer(&self) -> bool {
        self.offer.is_some()
    }

    pub(super) fn has_chosen(&self) -> bool {
        self.offer.as_ref().is_some_and(|offer| offer.chosen.is_some())
    }

    pub(super) fn close_offer(&mut self) {
        self.offer = None;
    }

    /// Puts the next or the previous completion into the text.
    pub(super) fn choose(&mut self, turn: Turn) {
        let Some(offer) = &mut self.offer else { return };
        let last = offer.texts.len().saturating_sub(1);
        let chosen = match (offer.chosen, turn) {
            (None, Turn::On) => 0,
            (Some(at), Turn::On) if at < last => at + 1,
            (Some(at), Turn::Back) if at > 0 => at - 1,
            (Some(_), Turn::On) => 0,
            (None | Some(_), Turn::Back) => last,
        };
        let Some(text) = offer.texts.get(chosen) else { return };
        self.buffer.put(offer.range.clone(), text);
        offer.range.end = offer.range.start + text.len();
        offer.chosen = Some(chosen);
    }

    /// The completions on one line, from the chosen one on if not all fit.
    pub(super) fn offer_line(&self, width: usize) -> Option<Line> {
        let offer = self.offer.as_ref()?;
        let all: usize = offer.texts.iter().map(|text| columns(text) + 2).sum();
        let first = if all > width { offer.chosen.unwrap_or(0) } else { 0 };
        let mut line = Line::of(Role::Dim, if first > 0 { "… " } else { "" });
        for (at, text) in offer.texts.iter().enumerate().skip(first) {
            let role = if offer.chosen == Some(at) { Role::Strong } else { Role::Dim };
            line.push(role, text);
            line.push(Role::Plain, "  ");
        }
        Some(fit(&line, width))
    }

    /// Starts a line with the indent of the last one, and more after a colon in Python.
    fn new_line(&mut self) {
        let at = self.buffer.selection().map_or(self.buffer.cursor(), |range| range.start);
        let before = self.buffer.line_before(at);
        let indent = before.chars().take_while(|c| matches!(c, ' ' | '\t'));
        let mut text: String = ['\n'].into_iter().chain(indent).collect();
        if self.language == Language::Python && before.trim_end().ends_with(':') {
            text.push_str("    ");
        }
        self.buffer.insert(&text);
    }

    /// The lines, cut to `width` columns, and the cursor's column in its row.
    pub(super) fn lines(&mut self, width: usize) -> (Vec<Line>, usize) {
        let before = self.buffer.line_before(self.buffer.cursor());
        let at = columns(&Line::of(Role::Plain, before).text());
        let room = width.saturating_sub(1).max(1);
        if at < self.offset {
            self.offset = at;
        }
        self.offset = self.offset.max((at + 1).saturating_sub(room));
        let lines = written(self.buffer.text(), self.language);
        let shown = lines.iter().map(|line| line.cut(self.offset, width)).collect();
        (shown, at - self.offset)
    }

    /// The visible selected columns of a row.
    pub(super) fn selected(&self, row: usize, width: usize) -> Option<Range<usize>> {
        let columns = self.buffer.selected_columns(row)?;
        let end = columns.end.saturating_sub(self.offset).min(width);
        let start = columns.start.saturating_sub(self.offset);
        (start < end).then_some(start..end)
    }
}

/// The beginning that two texts share.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let differs = |((at, a), b): ((usize, char), char)| (a != b).then_some(at);
    let end = one.char_indices().zip(other.chars()).find_map(differs);
    &one[..end.unwrap_or(one.len().min(other.len()))]
}

/// The effect of a key on the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Insert(char),
    NewLine,
    Tab,
    Delete(Reach),
    Move(Motion),
    Undo,
    Redo,
    Copy,
    Cut,
    Paste,
    Nothing,
}

/// Movement keys as in Emacs, plus the arrow keys. The caller handles keys with another meaning during an edit, such as
/// Ctrl-C.
fn action(key: KeyEvent, page: usize) -> Action {
    use Action::{Copy, Cut, Delete, Insert, Move, NewLine, Nothing, Paste, Redo, Tab, Undo};
    use KeyCode as K;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let page = page.max(1);
    match (control, alt, key.code) {
        (_, _, K::Enter) | (false, false, K::Char('\n' | '\r')) => NewLine,
        (_, _, K::Home) => Move(Motion::LineStart),
        (_, _, K::End) => Move(Motion::LineEnd),
        (_, _, K::PageDown) => Move(Motion::Down(page)),
        (_, _, K::PageUp) => Move(Motion::Up(page)),
        (true, _, K::Char('z')) => Undo,
        (true, _, K::Char('y')) => Redo,

        (false, false, K::Char(c)) => Insert(c),
        (false, false, K::Tab | K::BackTab) => Tab,
        (false, false, K::Backspace) => Delete(Reach::Back),
        (false, false, K::Delete) => Delete(Reach::Forward),
        (false, false, K::Right) => Move(Motion::Forward),
        (false, false, K::Left) => Move(Motion::Back),
        (false, false, K::Down) => Move(Motion::Down(1)),
        (false, false, K::Up) => Move(Motion::Up(1)),

        (true, false, K::Char('m')) => NewLine,
        (true, false, K::Char('h')) => Delete(Reach::Back),
        (true, false, K::Char('d')) => Delete(Reach::Forward),
        (true, false, K::Char('w')) => Delete(Reach::WordBack),
        (true, false, K::Char('j')) => Delete(Reach::LineStart),
        (true, false, K::Char('k')) => Delete(Reach::LineEnd),
        (true, false, K::Char('f')) => Move(Motion::Forward),
        (true, false, K::Char('b')) => Move(Motion::Back),
        (true, false, K::Char('n')) => Move(Motion::Down(1)),
        (true, false, K::Char('p')) => Move(Motion::Up(1)),
        (true, false, K::Char('a')) => Move(Motion::LineStart),
        (true, false, K::Char('e')) => Move(Motion::LineEnd),
        (true, false, K::Char('v')) => Move(Motion::Down(page)),
        (true, false, K::Right) => Move(Motion::WordForward),
        (true, false, K::Left) => Move(Motion::WordBack),
        (true, false, K::Down) => Move(Motion::ParagraphForward),
        (true, false, K::Up) => Move(Motion::ParagraphBack),
        (true, false, K::Char('u')) => Undo,
        (true, false, K::Char('x')) => Cut,

        (false, true, K::Char('h') | K::Backspace) => Delete(Reach::WordBack),
        (false, true, K::Char('d') | K::Delete) => Delete(Reach::WordForward),
        (false, true, K::Char('f')) => Move(Motion::WordForward),
        (false, true, K::Char('b')) => Move(Motion::WordBack),
        (false, true, K::Char(']' | 'n')) => Move(Motion::ParagraphForward),
        (false, true, K::Char('[' | 'p')) => Move(Motion::ParagraphBack),
        (false, true, K::Char('<')) => Move(Motion::FirstLine),
        (false, true, K::Char('>')) => Move(Motion::LastLine),
        (false, true, K::Char('v')) => Move(Motion::Up(page)),
        (false, true, K::Char('w')) => Copy,
        (false, true, K::Char('y')) => Paste,

        (true, true, K::Right | K::Char('f')) => Move(Motion::LineEnd),
        (true, true, K::Left | K::Char('b')) => Move(Motion::LineStart),
        (true, true, K::Down | K::Char('n')) => Move(Motion::LastLine),
        (true, true, K::Up | K::Char('p')) => Move(Motion::FirstLine),
        _ => Nothing,
    }
}

#[cfg(test)]
mod tests {
    use inkcell_engine::api::Completion;

    use super::*;

    fn key(name: &str) -> KeyEvent {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = name;
        for (prefix, modifier) in
            [("C-", KeyModifiers::CONTROL), ("M-", KeyModifiers::ALT), ("S-", KeyModifiers::SHIFT)]
        {
            if let Some(after) = rest.strip_prefix(prefix) {
                modifiers |= modifier;
                rest = after;
            }
        }
        let code = match rest {
            "Enter" => KeyCode::Enter,
            "Tab" => KeyCode::Tab,
            "BackTab" => KeyCode::BackTab,
            "Backspace" => KeyCode::Backspace,
            "Delete" => KeyCode::Delete,
            "Home" => KeyCode::Home,
            "End" => KeyCode::End,
            "PageUp" => KeyCode::PageUp,
            "PageDown" => KeyCode::PageDown,
            "Left" => KeyCode::Left,
            "Right" => KeyCode::Right,
            "Up" => KeyCode::Up,
            "Down" => KeyCode::Down,
            "Space" => KeyCode::Char(' '),
            letter => KeyCode::Char(letter.parse().unwrap()),
        };
        KeyEvent::new(code, modifiers)
    }

    /// Presses keys in a text with the cursor at `|`. Returns the new text, marked in the same way.
    fn press(text: &str, keys: &str) -> String {
        let cursor = text.find('|').unwrap();
        let mut editor = Editor::new(0, &text.replace('|', ""), Language::Python);
        while editor.buffer.cursor() < cursor {
            editor.key(key("Right"), 3);
        }
        for name in keys.split_whitespace() {
            editor.key(key(name), 3);
        }
        let mut text = editor.text();
        text.insert(editor.buffer.cursor(), '|');
        text
    }

    fn check(table: &[(&str, &str, &str)]) {
        for (text, keys, wanted) in table {
            assert_eq!(press(text, keys), *wanted, "{keys} in {text:?}");
        }
    }

    #[test]
    fn motion_keys_move_the_cursor() {
        check(&[
            ("a|b\nc", "Right", "ab|\nc"),
            ("ab|\nc", "C-f", "ab\n|c"),
            ("ab\nc|", "Right", "ab\nc|"),
            ("ab\n|c", "Left", "ab|\nc"),
            ("|ab", "C-b", "|ab"),
            ("abc|\nd\nefg", "Down", "abc\nd|\nefg"),
            ("abc\n|d", "Down", "abc\n|d"),
            ("ab|c\nd\nefg", "C-n C-n", "abc\nd\ne|fg"),
            ("ab\ncd|", "Up", "ab|\ncd"),
            ("a|b\ncd", "C-p", "a|b\ncd"),
            ("日本|\nabcde", "Down", "日本\nabcd|e"),
            ("a|b\n日本", "Down", "ab\n|日本"),
            ("abcdefghi|\n\tx", "Down", "abcdefghi\n\tx|"),
            ("ab\ncd|e\nf", "Home", "ab\n|cde\nf"),
            ("ab\ncd|e\nf", "C-a", "ab\n|cde\nf"),
            ("ab\ncd|e\nf", "C-M-Left", "ab\n|cde\nf"),
            ("ab\ncd|e\nf", "C-M-b", "ab\n|cde\nf"),
            ("ab\n|cde\nf", "End", "ab\ncde|\nf"),
            ("ab\n|cde\nf", "C-e", "ab\ncde|\nf"),
            ("ab\n|cde\nf", "C-M-Right", "ab\ncde|\nf"),
            ("ab\n|cde\nf", "C-M-f", "ab\ncde|\nf"),
            ("|x_1 = f(y)", "M-f", "x_1 |= f(y)"),
            ("x_1 |= f(y)", "C-Right C-Right", "x_1 = f|(y)"),
            ("a|b\n  cd", "C-Right C-Right", "ab\n  |cd"),
            ("ab|", "C-Right", "ab|"),
            ("x = f(y|)", "M-b", "x = f(|y)"),
            ("x = f(|y)", "C-Left C-Left C-Left", "x |= f(y)"),
            ("ab\n  |cd", "C-Left", "ab|\n  cd"),
            ("  |ab", "C-Left", "|  ab"),
            ("a|\nb\n\n\ncd\n\ne", "C-Down", "a\nb\n\n\nc|d\n\ne"),
            ("a|\nb\n\n\ncd\n\ne", "M-] M-n M-n", "a\nb\n\n\ncd\n\ne|"),
            ("a\nb\n\ncd\nef|", "C-Up", "a\nb\n\ncd|\nef"),
            ("a\nb\n\ncd\nef|", "M-[ M-p", "a|\nb\n\ncd\nef"),
            ("abc\nd\nef|", "M-<", "ab|c\nd\nef"),
            ("abc\nd\nef|", "C-M-Up", "ab|c\nd\nef"),
            ("ab|c\nd\ne", "M->", "abc\nd\ne|"),
            ("ab|c\nd\ne", "C-M-n", "abc\nd\ne|"),
            ("|1\n2\n3\n4\n5", "PageDown", "1\n2\n3\n|4\n5"),
            ("|1\n2\n3\n4\n5", "C-v C-v", "1\n2\n3\n4\n|5"),
            ("1\n2\n3\n4\n|5", "PageUp", "1\n|2\n3\n4\n5"),
            ("1\n2\n3\n4\n|5", "M-v M-v", "|1\n2\n3\n4\n5"),
        ]);
    }

    #[test]
    fn editing_keys_change_the_text() {
        check(&[
            ("a|c", "b", "ab|c"),
            ("a|c", "S-B", "aB|c"),
            ("|", "Tab x Tab", "    x   |"),
            ("日|", "BackTab", "日  |"),
            ("if x:|", "Enter y", "if x:\n    y|"),
            ("    a|b", "C-m", "    a\n    |b"),
            ("ab|c", "Backspace", "a|c"),
            ("ab\n|c", "C-h", "ab|c"),
            ("|a", "Backspace", "|a"),
            ("a|bc", "Delete", "a|c"),
            ("ab|\nc", "C-d", "ab|c"),
            ("ab|", "Delete", "ab|"),
            ("x = foo.bar|", "C-w", "x = foo.|"),
            ("x = foo.|", "M-Backspace M-h", "x = |"),
            ("  |x", "C-w", "|x"),
            ("ab\n|c", "C-w", "ab|c"),
            ("x |= foo", "M-d", "x | foo"),
            ("x| = foo", "M-d M-Delete", "x|"),
            ("ab|\nc", "M-d", "ab|c"),
            ("a|bc\nd", "C-k", "a|\nd"),
            ("a|bc\nd", "C-k C-k", "a|d"),
            ("a\nbc|d", "C-j", "a\n|d"),
            ("a\nbc|d", "C-j C-j", "a|d"),
        ]);
    }

    #[test]
    fn shift_selects_and_the_next_edit_replaces_it() {
        check(&[
            ("|abc", "S-Right S-Right x", "x|c"),
            ("abc|", "S-Left S-Left Delete", "a|"),
            ("a|b\ncd", "S-Down Backspace", "a|d"),
            ("foo |bar", "S-End C-k", "foo |"),
            ("foo bar|", "C-S-Left C-w", "foo |"),
            ("|ab\ncd", "M-S-> Enter", "\n|cd"),
            ("|abc", "S-Right Right x", "abx|c"),
            ("|1\n2\n3\n4", "S-PageDown C-h", "|4"),
            ("ab  c|", "S-Home Tab", "    |"),
            ("  a|bc", "S-End Enter", "  a\n  |"),
        ]);
    }

    #[test]
    fn deleted_text_is_pasted_again() {
        check(&[
            ("|abc", "S-Right S-Right C-x Right M-y", "cab|"),
            ("|abc", "S-End M-w Home M-y", "abc|abc"),
            ("|ab\ncd", "C-k M-> M-y", "\nab|cd"),
            ("|ab", "C-k x Backspace M-y", "ab|"),
            ("a|b", "M-y", "a|b"),
        ]);
    }

    #[test]
    fn every_edit_is_undone_and_redone_by_itself() {
        check(&[
            ("|", "a b c C-z", "ab|"),
            ("|", "a b c C-u C-u", "a|"),
            ("|", "a b c C-z C-z C-y", "ab|"),
            ("|", "a b C-z c C-y", "ac|"),
            ("|abc", "S-End x C-z", "abc|"),
            ("if x:|", "Enter C-z", "if x:|"),
            ("a|bc", "C-k C-z", "abc|"),
            ("|ab", "C-z C-y", "|ab"),
        ]);
    }

    fn completions(start: u64, end: u64, texts: &[&str]) -> Completions {
        let matches = texts
            .iter()
            .map(|text| Completion { text: (*text).to_owned(), kind: "function".to_owned() });
        Completions { start, end, matches: matches.collect(), total: texts.len() as u64 }
    }

    #[test]
    fn completions_go_into_the_text() {
        let mut editor = Editor::new(0, "日 = ma", Language::Python);
        editor.key(key("End"), 3);
        assert!(editor.offer(&completions(4, 6, &["math"])));
        assert_eq!((editor.text().as_str(), editor.has_offer()), ("日 = math", false));
        editor.paste(".s");
        assert!(editor.offer(&completions(9, 10, &["sqrt", "sqrx", "sqr"])));
        assert_eq!(editor.text(), "日 = math.sqr", "what they share");
        let line = editor.offer_line(80).unwrap().text();
        assert_eq!(line.trim_end(), "sqrt  sqrx  sqr");
        for (turn, wanted) in [
            (Turn::On, "sqrt"),
            (Turn::On, "sqrx"),
            (Turn::On, "sqr"),
            (Turn::On, "sqrt"),
            (Turn::Back, "sqr"),
        ] {
            editor.choose(turn);
            assert_eq!(editor.text(), format!("日 = math.{wanted}"));
        }
        assert_eq!(editor.offer_line(12).unwrap().text().trim_end(), "… sqr");
        editor.close_offer();
        assert!(!editor.offer(&completions(0, 0, &[])));
        assert!(!editor.has_offer());
        // A kernel may replace more than the last name.
        let mut editor = Editor::new(0, "x.ap", Language::Python);
        editor.key(key("End"), 3);
        assert!(editor.offer(&completions(0, 4, &["x.append"])));
        assert_eq!(editor.text(), "x.append");
    }

    #[test]
    fn cursor_never_stops_inside_a_grapheme_cluster() {
        check(&[
            ("|e\u{301}x", "Right", "e\u{301}|x"),
            ("👩🏽‍🚀|x", "Left", "|👩🏽‍🚀x"),
            ("🇩🇪🇫🇷|", "Backspace", "🇩🇪|"),
            ("|e\u{301}x", "Delete", "|x"),
        ]);
    }

    #[test]
    fn text_put_in_place_keeps_every_byte() {
        let mut editor = Editor::new(0, "a", Language::Other);
        editor.put("b\r\nc");
        assert_eq!(editor.text(), "b\r\nc");
        editor.key(key("C-z"), 3);
        assert_eq!(editor.text(), "a");
    }
}
