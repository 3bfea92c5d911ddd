//! The keys of the notebook view. A key that Jupyter has in command mode means the same here.
//!
//! Owns the meaning of keys and the help text for them: both come from one table. It also owns the answers to keys of
//! Jupyter that have no meaning here.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use inkcell_engine::notebook::CellKind;

use crate::term::screen::Turn;
use crate::words::notebook_screen as words;

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
    Cut,
    Copy,
    PasteBelow,
    PasteAbove,
    Delete,
    Kind(CellKind),
    /// Makes the cell a Markdown heading of this level.
    Heading(u8),
    /// Joins the cell with the one below.
    Merge,
    MoveDown,
    MoveUp,
    Undo,
    Redo,
    ClearOutputs,
    Run,
    RunAndGoOn,
    RunAndInsert,
    RunFromHere,
    RunAll,
    Interrupt,
    Restart,
    ToggleOutput,
    Expand,
    ExpandAll,
    Turn(Turn),
    OpenPicture,
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
    ControlShift(KeyCode),
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

use Press::{Alt, Code, Control, ControlShift, ControlWith, Key, Shift, Twice};

const fn row(command: Command, presses: &'static [Press], help: &'static str) -> Row {
    Row { command, presses, help }
}

static ROWS: [Row; 50] = [
    row(Command::Down, &[Key('j'), Code(KeyCode::Down)], "select next cell"),
    row(Command::Up, &[Key('k'), Code(KeyCode::Up)], "select previous cell"),
    row(Command::First, &[Twice('g'), Code(KeyCode::Home)], "select first cell"),
    row(Command::Last, &[Key('G'), Code(KeyCode::End)], "select last cell"),
    row(Command::PageUp, &[Code(KeyCode::PageUp), Shift(KeyCode::Char(' '))], "scroll up"),
    row(Command::PageDown, &[Code(KeyCode::PageDown), Key(' ')], "scroll down"),
    row(Command::Edit, &[Code(KeyCode::Enter)], "edit the cell"),
    row(Command::EditOutside, &[Key('e')], "edit in $EDITOR"),
    row(Command::RunAndGoOn, &[Key('R'), Shift(KeyCode::Enter)], "run, select next"),
    row(Command::Run, &[Control('r'), ControlWith(KeyCode::Enter)], "run the cell"),
    row(Command::RunAndInsert, &[Alt(KeyCode::Enter)], "run, insert below"),
    row(Command::RunFromHere, &[Key('F')], "run from here"),
    row(Command::RunAll, &[Key('T')], "run all cells"),
    row(Command::Interrupt, &[Twice('i'), Control('c')], "interrupt the kernel"),
    row(Command::Restart, &[Twice('0')], "restart the kernel"),
    row(Command::InsertAbove, &[Key('a')], "insert cell above"),
    row(Command::InsertBelow, &[Key('b')], "insert cell below"),
    row(Command::Cut, &[Key('x')], "cut the cell"),
    row(Command::Copy, &[Key('c')], "copy the cell"),
    row(Command::PasteBelow, &[Key('v')], "paste below"),
    row(Command::PasteAbove, &[Key('V')], "paste above"),
    row(Command::Delete, &[Twice('d')], "delete the cell"),
    row(Command::Undo, &[Key('z'), Key('u')], "undo last change"),
    row(Command::Redo, &[Key('Z')], "redo it"),
    row(Command::Kind(CellKind::Code), &[Key('y')], "change to code"),
    row(Command::Kind(CellKind::Markdown), &[Key('m')], "change to Markdown"),
    row(Command::Kind(CellKind::Raw), &[Key('r')], "change to raw"),
    row(Command::Heading(1), &[Key('1')], "change to heading"),
    row(Command::Heading(2), &[Key('2')], "change to heading"),
    row(Command::Heading(3), &[Key('3')], "change to heading"),
    row(Command::Heading(4), &[Key('4')], "change to heading"),
    row(Command::Heading(5), &[Key('5')], "change to heading"),
    row(Command::Heading(6), &[Key('6')], "change to heading"),
    row(
        Command::MoveDown,
        &[Key('>'), Alt(KeyCode::Down), ControlShift(KeyCode::Down)],
        "move cell down",
    ),
    row(Command::MoveUp, &[Key('<'), Alt(KeyCode::Up), ControlShift(KeyCode::Up)], "move cell up"),
    row(Command::Merge, &[Key('M')], "merge with below"),
    row(Command::ClearOutputs, &[Key('C')], "clear its outputs"),
    row(Command::ToggleOutput, &[Key('o')], "show/hide output"),
    row(Command::Expand, &[Key('O'), Control('o')], "all lines, fewer"),
    row(Command::ExpandAll, &[Key('E')], "in every cell"),
    row(Command::Turn(Turn::Back), &[Key('[')], "earlier output lines"),
    row(Command::Turn(Turn::On), &[Key(']')], "later output lines"),
    row(Command::OpenPicture, &[Key('w')], "open its picture"),
    row(Command::Search, &[Key('/'), Key('f'), Control('f')], "search"),
    row(Command::NextHit, &[Key('n')], "next hit"),
    row(Command::PreviousHit, &[Key('N')], "previous hit"),
    row(Command::Messages, &[Key('P')], "past messages"),
    row(Command::Help, &[Key('h'), Key('?')], "show these keys"),
    row(Command::Suspend, &[Control('z')], "suspend (fg returns)"),
    row(Command::Quit, &[Key('q')], "quit"),
];

/// Keys of Jupyter without a meaning here, and what to do instead.
static ABSENT: [(Press, &str); 14] = [
    (Key('s'), words::ALWAYS_SAVED),
    (Control('s'), words::ALWAYS_SAVED),
    (Key('J'), words::ONE_SELECTED),
    (Key('K'), words::ONE_SELECTED),
    (Shift(KeyCode::Down), words::ONE_SELECTED),
    (Shift(KeyCode::Up), words::ONE_SELECTED),
    (Shift(KeyCode::Home), words::ONE_SELECTED),
    (Shift(KeyCode::End), words::ONE_SELECTED),
    (Control('a'), words::ONE_SELECTED),
    (Key('p'), words::NO_PALETTE),
    (Key('l'), words::NO_LINE_NUMBERS),
    (Key('L'), words::NO_LINE_NUMBERS),
    (Key('A'), words::NO_HEADING_KEYS),
    (Key('B'), words::NO_HEADING_KEYS),
];

/// The meaning of a key, given the first key of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyMeaning {
    Command(Command),
    /// The first key of a pair: the same key must follow.
    First(char),
    /// A key of Jupyter that does nothing here. The text says what to do instead.
    Absent(&'static str),
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
    let absent = ABSENT.iter().find(|(press, _)| is(*press, key));
    absent.map_or(KeyMeaning::Nothing, |(_, instead)| KeyMeaning::Absent(instead))
}

fn is(press: Press, key: KeyEvent) -> bool {
    let (control, alt, shift) = (KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
    let is_plain = !key.modifiers.intersects(control | alt);
    // A terminal that tells Shift-Space from Space does so by the modifier.
    let is_plain = is_plain && (key.code != KeyCode::Char(' ') || key.modifiers.is_empty());
    match press {
        // A capital letter already implies Shift.
        Key(wanted) => is_plain && key.code == KeyCode::Char(wanted),
        Control(wanted) => key.modifiers == control && key.code == KeyCode::Char(wanted),
        Alt(wanted) => key.modifiers == alt && key.code == wanted,
        Shift(wanted) => key.modifiers == shift && key.code == wanted,
        ControlWith(wanted) => key.modifiers == control && key.code == wanted,
        ControlShift(wanted) => key.modifiers == control | shift && key.code == wanted,
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
        ControlShift(code) => format!("Ctrl-Shift-{}", name_of(code)),
        Code(code) => name_of(code),
        Twice(c) => format!("{c}{c}"),
    }
}

/// Keys while a text is edited.
const EDITING: [(&str, &str); 12] = [
    ("Esc", "save, end editing"),
    ("Tab", "complete or indent"),
    ("Ctrl-S", "save, continue editing"),
    ("Ctrl-R Ctrl-Enter", "save and run"),
    ("Ctrl-G Shift-Enter", "run, select next"),
    ("Alt-Enter", "run, insert below"),
    ("Alt-S Ctrl-Shift--", "split the cell"),
    ("Ctrl-Q", "discard the changes"),
    ("Ctrl-Z Ctrl-Y", "undo, redo typing"),
    ("Shift-arrows", "select text"),
    ("Ctrl-X Alt-W", "cut, copy it"),
    ("Alt-Y", "paste it"),
];

/// All keys with their descriptions, one pair a line. An empty pair separates the two groups.
pub(super) fn help() -> Vec<(String, &'static str)> {
    // Rows with the same description stand on one line.
    let browsing = ROWS.chunk_by(|one, next| one.help == next.help).map(|rows| {
        let presses = rows.iter().flat_map(|row| row.presses);
        (presses.map(|press| name(*press)).collect::<Vec<_>>().join(" "), rows[0].help)
    });
    let between = [(String::new(), ""), ("While editing:".to_owned(), "")];
    let editing = EDITING.iter().map(|(key, help)| ((*key).to_owned(), *help));
    browsing.chain(between).chain(editing).collect()
}

#[cfg(test)]
#[path = "keys/tests.rs"]
mod tests;
