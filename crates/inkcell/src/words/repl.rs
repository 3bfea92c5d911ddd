//! Sentences of the prompt: its commands, its greeting, its refusals.

use std::fmt::Display;

/// The commands and keys at the prompt, and what they do.
pub(crate) const HELP: [(&str, &str); 11] = [
    (
        ":save FILE.ipynb",
        "write what was run here as a notebook; :save! also over one that is there",
    ),
    (":restart", "begin with a new kernel; its variables are gone"),
    (":interrupt", "interrupt what runs in the session, also when somebody else runs it"),
    (":sessions", "list the sessions there are"),
    (":attach NAME", "go on in another session: its name, its notebook or its process"),
    (":quit", "leave, as Ctrl-D does; a session in a host stays"),
    ("name?  name??", "how something is used; ?? shows its source"),
    ("Tab", "complete; at the beginning of a line, indent"),
    ("Alt-Enter", "run the cell as it is; an empty line ends a block or a %% cell"),
    ("Ctrl-O", "show all of the last output that is kept"),
    ("Ctrl-C, esc", "interrupt the cell that runs; again: end its kernel"),
];

/// The refusal of words behind a command that takes none.
pub(crate) fn takes_nothing(word: &str, rest: &str) -> String {
    format!(":{word} takes nothing after it, and here is {rest:?}")
}

/// The refusal of a command that was typed without its word.
pub(crate) fn needs(word: &str, what: &str) -> String {
    format!(":{word} needs {what} after it")
}

pub(crate) const A_SESSION: &str = "the name of a session; :sessions lists them";

pub(crate) const A_FILE: &str = "a file, such as work.ipynb";

pub(crate) fn no_command(word: &str) -> String {
    format!("there is no :{word}; :help lists what there is")
}

/// The answer to a move to another session.
pub(crate) fn moved_to(session: &dyn Display, folder: &dyn Display) -> String {
    format!("Now in session {session} of {folder}.")
}

/// What to do about a file that is there already.
pub(crate) fn save_over(path: &str) -> String {
    format!(":save! {path} writes over it; or choose another name")
}

/// The note for a terminal that shows only text.
pub(crate) const NO_DRAWING: &str = "This terminal (TERM) shows text alone: no editing, no \
     completion, no pictures. For those use another terminal, or set TERM to what this one is; \
     one cell alone is run by inkcell py CODE.";

pub(crate) const FOR_PEOPLE: &str = "a prompt is for people; inkcell py answers in JSON";

/// What becomes of the session, as a part of the greeting.
pub(crate) const STAYS: &str = "its session stays when you leave";

pub(crate) const ENDS: &str = "everything ends with it";

pub(crate) fn greeting(version: &str, folder: &dyn Display, kept: &str) -> String {
    format!("inkcell {version}, Python in {folder}; {kept}. :help shows what can be typed.")
}

/// The last words of a prompt whose session stays.
pub(crate) const LEAVING: &str =
    "The session stays: inkcell repl goes on in it, inkcell stop ends it.";
