//! Sentences about settings: where they are read from, and which values they take.

use std::fmt::Display;

/// The problem with a file of the user's own settings.
pub(crate) fn unreadable(problem: &dyn Display) -> String {
    format!(
        "cannot be read: {problem}; make it readable, or name another file with \
         INKCELL_CONFIG=FILE (/dev/null for none)"
    )
}

pub(crate) fn unreadable_in_project(problem: &dyn Display) -> String {
    format!("cannot be read: {problem}; fix it or remove it")
}

pub(crate) fn not_settings_file(bytes: u64) -> String {
    format!("is not a settings file: a regular file of at most {bytes} bytes")
}

pub(crate) const NOT_TEXT: &str = "is not UTF-8 text";

pub(crate) fn twice(name: &str) -> String {
    format!("{name} is given twice, in two spellings")
}

pub(crate) fn not_from_project(place: &dyn Display, name: &str) -> String {
    format!("{place}: {name} cannot be set in a project's file; set it in your own settings")
}

pub(crate) fn unknown_near(name: &str, near: &str) -> String {
    format!("no setting named '{name}'; did you mean {near}?")
}

pub(crate) fn unknown(name: &str) -> String {
    format!("no setting named '{name}'; list them with 'INKCELL_CONFIG=/dev/null inkcell settings'")
}

pub(crate) const VARIABLE_NOT_TEXT: &str = "is not UTF-8 text; set it again, or unset it";

pub(crate) fn file_not_there(path: &dyn Display) -> String {
    format!("names {path}, which does not exist")
}

pub(crate) fn sets_nothing(name: &str, near: &str) -> String {
    format!("{name} sets nothing; did you mean {near}?")
}

/// The problem with a value that may hold a secret, and is not repeated.
pub(crate) fn is_something_else(allowed: &str) -> String {
    format!("has a wrong value; it takes {allowed}")
}

pub(crate) fn is_wrong(shown: &dyn Display, allowed: &str) -> String {
    format!("is {shown}; it takes {allowed}")
}

pub(crate) fn wrong_entry(error: &dyn Display) -> String {
    format!("has an entry that {error}")
}

pub(crate) fn has_entry(word: &str, allowed: &str) -> String {
    format!("has the entry {word:?}; it takes {allowed}")
}
