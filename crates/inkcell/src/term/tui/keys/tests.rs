use super::*;

/// How a shortcut of Jupyter's command mode fares here.
enum Fate {
    /// The same key calls this command.
    Same(Command),
    /// The key does something else, and the command is on other keys, for this reason.
    OtherKey(&'static str, Command, &'static str),
    /// Jupyter's command is not here, for this reason. The key does nothing, or names what to do instead.
    NotHere(&'static str),
}

use Fate::{NotHere, OtherKey, Same};

/// The command-mode shortcuts of the classic notebook (6) and of JupyterLab (4), with the names of their help pages.
const JUPYTER: [(&str, &str, Fate); 66] = [
    ("Enter", "enter edit mode", Same(Command::Edit)),
    ("Shift-Enter", "run cell, select below", Same(Command::RunAndGoOn)),
    ("Ctrl-Enter", "run selected cells", Same(Command::Run)),
    ("Alt-Enter", "run cell and insert below", Same(Command::RunAndInsert)),
    ("Y", "change cell to code", Same(Command::Kind(CellKind::Code))),
    ("M", "change cell to markdown", Same(Command::Kind(CellKind::Markdown))),
    ("R", "change cell to raw", Same(Command::Kind(CellKind::Raw))),
    ("1", "change cell to heading 1", Same(Command::Heading(1))),
    ("2", "change cell to heading 2", Same(Command::Heading(2))),
    ("3", "change cell to heading 3", Same(Command::Heading(3))),
    ("4", "change cell to heading 4", Same(Command::Heading(4))),
    ("5", "change cell to heading 5", Same(Command::Heading(5))),
    ("6", "change cell to heading 6", Same(Command::Heading(6))),
    ("K", "select cell above", Same(Command::Up)),
    ("Up", "select cell above", Same(Command::Up)),
    ("J", "select cell below", Same(Command::Down)),
    ("Down", "select cell below", Same(Command::Down)),
    ("Shift-K", "extend selected cells above", NotHere("one cell is selected at a time")),
    ("Shift-Up", "extend selected cells above", NotHere("one cell is selected at a time")),
    ("Shift-J", "extend selected cells below", NotHere("one cell is selected at a time")),
    ("Shift-Down", "extend selected cells below", NotHere("one cell is selected at a time")),
    ("Shift-Home", "extend selection to top", NotHere("one cell is selected at a time")),
    ("Shift-End", "extend selection to bottom", NotHere("one cell is selected at a time")),
    ("Ctrl-A", "select all cells", NotHere("one cell is selected at a time")),
    ("Ctrl-Shift-Up", "move cell up", Same(Command::MoveUp)),
    ("Ctrl-Shift-Down", "move cell down", Same(Command::MoveDown)),
    ("A", "insert cell above", Same(Command::InsertAbove)),
    ("B", "insert cell below", Same(Command::InsertBelow)),
    ("Shift-A", "insert heading above", NotHere("a and 1 to 6 do it")),
    ("Shift-B", "insert heading below", NotHere("b and 1 to 6 do it")),
    ("X", "cut selected cells", Same(Command::Cut)),
    ("C", "copy selected cells", Same(Command::Copy)),
    ("V", "paste cells below", Same(Command::PasteBelow)),
    ("Shift-V", "paste cells above", Same(Command::PasteAbove)),
    ("Z", "undo cell deletion", Same(Command::Undo)),
    ("Shift-Z", "redo cell operation", Same(Command::Redo)),
    ("D D", "delete selected cells", Same(Command::Delete)),
    ("Shift-M", "merge with cell below", Same(Command::Merge)),
    ("S", "save and checkpoint", NotHere("every change is saved at once")),
    ("Ctrl-S", "save and checkpoint", NotHere("every change is saved at once")),
    ("L", "toggle line numbers", NotHere("lines have no numbers")),
    ("Shift-L", "toggle all line numbers", NotHere("lines have no numbers")),
    ("O", "toggle output", Same(Command::ToggleOutput)),
    ("Shift-O", "toggle output scrolling", Same(Command::Expand)),
    ("H", "show keyboard shortcuts", Same(Command::Help)),
    ("I I", "interrupt the kernel", Same(Command::Interrupt)),
    ("0 0", "restart the kernel", Same(Command::Restart)),
    ("Space", "scroll down", Same(Command::PageDown)),
    ("Shift-Space", "scroll up", Same(Command::PageUp)),
    ("F", "find and replace", Same(Command::Search)),
    ("Ctrl-F", "find", Same(Command::Search)),
    ("P", "command palette", NotHere("h lists every key")),
    ("Ctrl-Shift-F", "command palette", NotHere("terminals keep the key")),
    ("Ctrl-Shift-P", "command palette", NotHere("terminals keep the key")),
    ("Ctrl-Shift-C", "command palette", NotHere("terminals keep the key")),
    ("Esc", "close the pager", NotHere("any key closes a page")),
    ("Q", "close the pager", OtherKey("Esc", Command::Quit, "any key closes a page; q ends")),
    ("Left", "collapse heading", NotHere("headings do not collapse")),
    ("Right", "expand heading", NotHere("headings do not collapse")),
    ("Ctrl-B", "toggle left sidebar", NotHere("the screen has no sidebar")),
    ("Ctrl-M", "command mode", NotHere("a terminal cannot tell it from Enter")),
    ("Ctrl-Z", "undo", OtherKey("z", Command::Suspend, "it suspends programs in a terminal")),
    ("Ctrl-Shift-Z", "redo", NotHere("Z does it")),
    ("Ctrl-Shift-D", "single-document mode", NotHere("one notebook is open")),
    ("Ctrl-Shift-Q", "close and shut down", NotHere("q quits")),
    ("Ctrl-Shift-S", "save notebook as", NotHere("inkcell to and cp do it")),
];

/// The key events of a shortcut as Jupyter writes it: letters are upper case, with or without Shift.
fn events(shortcut: &str) -> Vec<KeyEvent> {
    shortcut.split(' ').map(event).collect()
}

fn event(shortcut: &str) -> KeyEvent {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = shortcut;
    for (prefix, modifier) in [
        ("Ctrl-", KeyModifiers::CONTROL),
        ("Alt-", KeyModifiers::ALT),
        ("Shift-", KeyModifiers::SHIFT),
    ] {
        if let Some(after) = rest.strip_prefix(prefix) {
            (modifiers, rest) = (modifiers | modifier, after);
        }
    }
    let code = match rest {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "Space" => KeyCode::Char(' '),
        letter => {
            let letter: char = letter.parse().unwrap();
            let is_capital = modifiers == KeyModifiers::SHIFT;
            KeyCode::Char(if is_capital { letter } else { letter.to_ascii_lowercase() })
        }
    };
    KeyEvent::new(code, modifiers)
}

/// What the keys of a shortcut mean together.
fn meaning(shortcut: &str) -> KeyMeaning {
    let mut first = None;
    let mut last = KeyMeaning::Nothing;
    for event in events(shortcut) {
        last = pressed(first, event);
        first = match last {
            KeyMeaning::First(key) => Some(key),
            _ => None,
        };
    }
    last
}

/// Issue 24, 12: a user of Jupyter can rely on its keys, and no key of Jupyter does something else unnoticed.
#[test]
fn keys_of_jupyter_mean_what_they_mean_there() {
    for (shortcut, action, fate) in &JUPYTER {
        let found = meaning(shortcut);
        match fate {
            Same(command) => {
                assert_eq!(found, KeyMeaning::Command(*command), "{shortcut}: {action}");
            }
            OtherKey(other, command, why) => {
                assert_eq!(found, KeyMeaning::Command(*command), "{shortcut}: {action}, {why}");
                assert_ne!(meaning(other), found, "{shortcut}: {action}");
            }
            NotHere(why) => assert!(
                matches!(found, KeyMeaning::Absent(_) | KeyMeaning::Nothing),
                "{shortcut}: {action} is not here ({why}), but the key means {found:?}"
            ),
        }
    }
}

/// Every answer to an absent key is about a key of Jupyter that the table says is not here.
#[test]
fn absent_keys_are_keys_of_jupyter() {
    for (press, instead) in &ABSENT {
        let is_in_table = JUPYTER.iter().any(|(shortcut, _, fate)| {
            matches!(fate, NotHere(_)) && meaning(shortcut) == KeyMeaning::Absent(instead)
        });
        assert!(is_in_table, "{press:?}");
    }
}

/// Every command has a key that every terminal can send, except one that only combines two others.
#[test]
fn every_command_has_a_plain_key() {
    for row in ROWS.iter().filter(|row| row.command != Command::RunAndInsert) {
        let is_plain =
            |press: &Press| !matches!(press, Shift(_) | ControlWith(_) | ControlShift(_) | Alt(_));
        assert!(row.presses.iter().any(is_plain), "{:?}", row.command);
    }
}

#[test]
fn no_key_means_two_things() {
    let all: Vec<Press> = ROWS.iter().flat_map(|row| row.presses).copied().collect();
    let all: Vec<Press> = all.into_iter().chain(ABSENT.iter().map(|(press, _)| *press)).collect();
    for (at, press) in all.iter().enumerate() {
        let same = |other: &Press| match (press, other) {
            (Twice(one), Key(other)) | (Key(one), Twice(other)) => one == other,
            (one, other) => one == other,
        };
        assert!(!all[at + 1..].iter().any(same), "{press:?}");
    }
}
