//! The keys of the notebook view, the same as in Jupyter if Jupyter has one.
//!
//! Owns the meaning of keys and the help text for them: both come from one table.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use inkcell_engine::notebook::CellKind;

use crate::term::screen::Turn;

/// The command of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Command {
    Down,
    Up,
    First,
    Last,
    PageDown,
    PageUp,
    Edit,
    EditOutside,
    InsertAbove,
    InsertBelow,
    Delete,
    Kind(CellKind),
    MoveDown,
    MoveUp,
    Undo,
    Redo,
    ClearOutputs,
    Run,
    RunAndGoOn,
    RunFromHere,
    RunAll,
    Interrupt,
    Restart,
    Expand,
    ExpandAll,
    Turn(Turn),
    Search,
    NextHit,
    PreviousHit,
    Messages,
    Help,
    Suspend,
    Quit,
}

/// A way to call a command with keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Press {
    Key(char),
    Control(char),
    Alt(KeyCode),
    Shift(KeyCode),
    ControlWith(KeyCode),
    Code(KeyCode),
    /// The same key twice in a row.
    Twice(char),
}

/// A command, its keys and its description.
struct Row {
    command: Command,
    presses: &'static [Press],
    help: &'static str,
}

use Press::{Alt, Code, Control, ControlWith, Key, Shift, Twice};

const fn row(command: Command, presses: &'static [Press], help: &'static str) -> Row {
    Row { command, presses, help }
}

static ROWS: [Row; 36] = [
    row(Command::Down, &[Key('j'), Code(KeyCode::Down)], "next cell"),
    row(Command::Up, &[Key('k'), Code(KeyCode::Up)], "previous cell"),
    row(Command::First, &[Key('g'), Code(KeyCode::Home)], "first cell"),
    row(Command::Last, &[Key('G'), Code(KeyCode::End)], "last cell"),
    row(Command::PageDown, &[Code(KeyCode::PageDown), Key(' ')], "a page down"),
    row(Command::PageUp, &[Code(KeyCode::PageUp)], "a page up"),
    row(Command::Edit, &[Code(KeyCode::Enter)], "edit the cell here (Esc when done)"),
    row(Command::EditOutside, &[Key('e')], "edit it in $EDITOR"),
    row(Command::InsertAbove, &[Key('a')], "new cell above"),
    row(Command::InsertBelow, &[Key('b')], "new cell below"),
    row(Command::Delete, &[Twice('d')], "delete the cell"),
    row(Command::Kind(CellKind::Code), &[Key('y')], "make it code"),
    row(Command::Kind(CellKind::Markdown), &[Key('m')], "make it Markdown"),
    row(Command::Kind(CellKind::Raw), &[Key('r')], "make it raw text"),
    row(Command::MoveDown, &[Key('J'), Alt(KeyCode::Down)], "move the cell down"),
    row(Command::MoveUp, &[Key('K'), Alt(KeyCode::Up)], "move the cell up"),
    row(Command::Undo, &[Key('z'), Key('u')], "undo the last change"),
    row(Command::Redo, &[Key('Z')], "do it again"),
    row(Command::ClearOutputs, &[Key('c')], "clear the outputs of the cell"),
    row(Command::Run, &[Key('x'), ControlWith(KeyCode::Enter)], "run the cell"),
    row(Command::RunAndGoOn, &[Key('R'), Shift(KeyCode::Enter)], "run it and go on"),
    row(Command::RunFromHere, &[Key('F')], "run from here to the end"),
    row(Command::RunAll, &[Key('A')], "run all cells"),
    row(Command::Interrupt, &[Twice('i'), Control('c')], "interrupt what runs"),
    row(Command::Restart, &[Twice('0')], "restart the kernel"),
    row(Command::Expand, &[Key('o'), Control('o')], "show all of the cell, or less"),
    row(Command::ExpandAll, &[Key('O')], "show all of every cell, or less"),
    row(Command::Turn(Turn::Back), &[Key('[')], "earlier lines of a long output"),
    row(Command::Turn(Turn::On), &[Key(']')], "later lines of it"),
    row(Command::Search, &[Key('/')], "search"),
    row(Command::NextHit, &[Key('n')], "next hit"),
    row(Command::PreviousHit, &[Key('N')], "previous hit"),
    row(Command::Messages, &[Key('M')], "what was said so far"),
    row(Command::Help, &[Key('?'), Key('h')], "these keys"),
    row(Command::Suspend, &[Control('z')], "back to the shell; fg returns"),
    row(Command::Quit, &[Key('q')], "quit"),
];

/// The meaning of a key, given the first key of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyMeaning {
    Command(Command),
    /// The first key of a pair: the same key must follow.
    First(char),
    Nothing,
}

pub(super) fn pressed(first: Option<char>, key: KeyEvent) -> KeyMeaning {
    let presses = ROWS.iter().flat_map(|row| row.presses.iter().map(move |press| (*press, row)));
    for (press, row) in presses {
        match press {
            Twice(wanted) if is(Key(wanted), key) => {
                return match first == Some(wanted) {
                    true => KeyMeaning::Command(row.command),
                    false => KeyMeaning::First(wanted),
                };
            }
            press if is(press, key) => return KeyMeaning::Command(row.command),
            _ => {}
        }
    }
    KeyMeaning::Nothing
}

fn is(press: Press, key: KeyEvent) -> bool {
    let (control, alt, shift) = (KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
    let is_plain = !key.modifiers.intersects(control | alt);
    match press {
        // A capital letter already implies Shift.
        Key(wanted) => is_plain && key.code == KeyCode::Char(wanted),
        Control(wanted) => key.modifiers == control && key.code == KeyCode::Char(wanted),
        Alt(wanted) => key.modifiers == alt && key.code == wanted,
        Shift(wanted) => key.modifiers == shift && key.code == wanted,
        ControlWith(wanted) => key.modifiers == control && key.code == wanted,
        Code(wanted) => key.modifiers.is_empty() && key.code == wanted,
        Twice(_) => false,
    }
}

fn name_of(code: KeyCode) -> String {
    match code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        other => other.to_string(),
    }
}

fn name(press: Press) -> String {
    match press {
        Key(c) => name_of(KeyCode::Char(c)),
        Control(c) => format!("Ctrl-{}", c.to_ascii_uppercase()),
        Alt(code) => format!("Alt-{}", name_of(code)),
        Shift(code) => format!("Shift-{}", name_of(code)),
        ControlWith(code) => format!("Ctrl-{}", name_of(code)),
        Code(code) => name_of(code),
        Twice(c) => format!("{c}{c}"),
    }
}

/// Keys while a text is edited.
const EDITING: [(&str, &str); 8] = [
    ("Esc", "done: the text goes into the file"),
    ("Ctrl-S", "save and go on editing"),
    ("Ctrl-R", "save and run (also Ctrl-Enter)"),
    ("Alt-Enter", "save, run and go on (also Shift-Enter)"),
    ("Ctrl-Q", "leave it as it was"),
    ("Ctrl-Z/Y", "undo and redo in the text"),
    ("Ctrl-X Alt-W", "cut or copy what Shift and the arrows select"),
    ("Alt-Y", "paste it"),
];

/// All keys with their descriptions, one pair a line. An empty pair separates the two groups.
pub(super) fn help() -> Vec<(String, &'static str)> {
    let names = |row: &Row| row.presses.iter().map(|press| name(*press)).collect::<Vec<_>>();
    let browsing = ROWS.iter().map(|row| (names(row).join(" "), row.help));
    let between = [(String::new(), ""), ("While editing:".to_owned(), "")];
    let editing = EDITING.iter().map(|(key, help)| ((*key).to_owned(), *help));
    browsing.chain(between).chain(editing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command has a key that every terminal can send.
    #[test]
    fn every_command_has_a_plain_key() {
        for row in &ROWS {
            let is_plain = |press: &Press| !matches!(press, Shift(_) | ControlWith(_) | Alt(_));
            assert!(row.presses.iter().any(is_plain), "{:?}", row.command);
        }
    }

    #[test]
    fn no_key_means_two_things() {
        let all: Vec<Press> = ROWS.iter().flat_map(|row| row.presses).copied().collect();
        for (at, press) in all.iter().enumerate() {
            let same = |other: &Press| match (press, other) {
                (Twice(one), Key(other)) | (Key(one), Twice(other)) => one == other,
                (one, other) => one == other,
            };
            assert!(!all[at + 1..].iter().any(same), "{press:?}");
        }
    }
}
