//! Sentences of the prompt: its commands, its greeting, its refusals.

use std::fmt::Display;

/// The commands and keys at the prompt, and what they do.
pub(crate) const HELP: [(&str, &str); 13] = [
    (":save FILE.ipynb", "Save the cells you ran as a notebook; :save! overwrites a file"),
    (":restart", "Restart the kernel and lose its variables"),
    (":interrupt", "Interrupt the running cell, even if another client runs it"),
    (":sessions", "List running sessions"),
    (":attach NAME", "Switch to another session: its name, notebook or process ID"),
    (":quit", "Leave the prompt, like Ctrl-D"),
    ("name?  name??", "Show the documentation of a name; ?? adds its source"),
    ("Enter", "Run the cell, or continue it with an indented line"),
    ("empty line", "End a block, or a cell that begins with %%"),
    ("Alt-Enter", "Run the cell as it is"),
    ("Tab  Backspace", "Complete a name; at the start of a line, indent or dedent"),
    ("Ctrl-O", "Show the whole last output"),
    ("Ctrl-C  Esc", "Interrupt the running cell; press again to kill its kernel"),
];

/// The refusal of words behind a command that takes none.
pub(crate) fn takes_nothing(word: &str, rest: &str) -> String {
    format!(":{word} takes no argument, got '{rest}'")
}

/// The refusal of a command that was typed without its word.
pub(crate) fn needs(word: &str, what: &str, hint: &str) -> String {
    format!(":{word} needs {what}\nhint: {hint}")
}

/// What `:attach` needs, and where to find it.
pub(crate) const A_SESSION: (&str, &str) = ("the name of a session", "list them with ':sessions'");

/// What `:save` needs, and an example.
pub(crate) const A_FILE: (&str, &str) = ("a file name", "try ':save work.ipynb'");

pub(crate) fn no_command(word: &str) -> String {
    format!("unknown command ':{word}'\nhint: list the commands with ':help'")
}

/// The answer to a move to another session.
pub(crate) fn moved_to(session: &dyn Display, folder: &dyn Display) -> String {
    format!("Switched to session '{session}' in {folder}.")
}

pub(crate) fn exists(path: &str) -> String {
    format!("'{path}' already exists")
}

/// What to do about a file that exists.
pub(crate) fn save_over(path: &str) -> String {
    format!("overwrite it with ':save! {path}', or choose another name")
}

/// The note for a terminal that shows only text.
pub(crate) const NO_DRAWING: &str = "note: TERM names a terminal that shows only text, so the prompt \
     has no line editing, completion or pictures. Change TERM or the terminal to get them, or run \
     one cell with 'inkcell py CODE'.";

pub(crate) const FOR_PEOPLE: &str = "the prompt cannot print JSON; use 'inkcell py --json CODE'";

/// What becomes of the session, as a part of the greeting.
pub(crate) const STAYS: &str = "The session stays when you leave";

pub(crate) const ENDS: &str = "Its variables are lost when you leave";

pub(crate) fn greeting(version: &str, folder: &dyn Display, kept: &str) -> String {
    format!("inkcell {version}, Python in {folder}\n{kept}. List the commands with ':help'.")
}

/// The last words of a prompt whose session stays.
pub(crate) const LEAVING: &str =
    "The session stays. Return with 'inkcell repl', end it with 'inkcell stop'.";
