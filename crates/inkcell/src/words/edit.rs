//! Sentences about edits of a notebook.

use std::fmt::Display;

use inkcell_engine::notebook::{Action, EditNote};

/// The title of an edit that found everything as it should be.
pub(crate) const UNCHANGED: &str = "= Nothing to change";

/// The title of a copy, and of an edit that changed no cell.
pub(crate) const WRITTEN: &str = "✓ Notebook written";

/// The line above the differences that an edit would make.
pub(crate) const NOT_WRITTEN: &str = "Nothing was written. The change by cell:";

/// The title of a change of one cell.
pub(crate) fn title(action: Action) -> String {
    let title = match action {
        Action::Replaced => "✓ Cell updated",
        Action::Inserted => "✓ Cell inserted",
        Action::Deleted => "✓ Cell deleted",
        Action::Moved => "✓ Cell moved",
        Action::Retyped => "✓ Cell type changed",
        Action::Substituted { count: 1 } => "✓ Text replaced in 1 place",
        Action::Substituted { count } => return format!("✓ Text replaced in {count} places"),
        Action::Renamed { count: 1 } => "✓ Name replaced in 1 place",
        Action::Renamed { count } => return format!("✓ Name replaced in {count} places"),
        Action::Cleared => "✓ Outputs cleared",
        Action::MetaChanged => "✓ Metadata changed",
        Action::OutputsSet => "✓ Outputs set",
    };
    title.to_owned()
}

/// The title of several changes.
pub(crate) fn changes(number: usize) -> String {
    format!("✓ {number} changes")
}

/// The line for a deleted cell, by its id and its old position.
pub(crate) fn removed(name: &str, index: &str) -> String {
    format!("Removed: {name} (was at index {index})")
}

/// A remark about a changed cell.
pub(crate) fn note(note: EditNote) -> Option<String> {
    Some(match note {
        EditNote::Unchanged => return None,
        EditNote::OutputsCleared(1) => "1 output was cleared".to_owned(),
        EditNote::OutputsCleared(count) => format!("{count} outputs were cleared"),
        EditNote::IdAdded => "the cell had no ID and was given one".to_owned(),
        EditNote::AttachmentsRemoved => {
            "attachments were removed; code cells cannot have any".to_owned()
        }
        EditNote::LeftInCommands(1) => "the old name stays in 1 place inside a magic".to_owned(),
        EditNote::LeftInCommands(count) => {
            format!("the old name stays in {count} places inside magics")
        }
        EditNote::SurrogatesLost => {
            "the old source had unpaired surrogates, which no text can hold; they are now U+FFFD"
                .to_owned()
        }
    })
}

/// The remark about an edit that another change of the file came before.
pub(crate) fn merged(version: &str) -> String {
    format!("merged with changes that others made to other cells since version {version}")
}

pub(crate) fn say_what(ways: &str) -> String {
    format!("no operation given; choose one: {ways}")
}

pub(crate) const ONLY_ONE: &str = "give only one of: an operation, --ops, --old";

/// The operations and the other ways to say what an edit does.
pub(crate) fn ways(others: &str, last: &dyn Display) -> String {
    format!("{others} or {last}; or give --ops FILE, or --old TEXT --new TEXT")
}

pub(crate) const AFTER_DASHES: &str =
    "operations come before --; write a path that begins with a dash as ./-NAME";

pub(crate) fn not_operation(word: &str, hint: &str, ways: &str) -> String {
    format!("{word:?} is not an operation{hint}; use {ways}")
}

pub(crate) fn not_pair(pair: &str) -> String {
    format!("{pair:?} is not KEY=VALUE")
}

pub(crate) const ONE_PLACE: &str = "give only one of a position, --after, --before and --at";

pub(crate) const ONE_SOURCE: &str = "give only one of -, --source and --source-file";

pub(crate) const GIVE_SOURCE: &str =
    "give --source TEXT, --source-file FILE, or - for standard input";

pub(crate) const EMPTY_STDIN: &str = "standard input is empty; to empty a cell, give --source \"\"";

pub(crate) const LEAVE_RUN_OUT: &str = "nothing was changed; remove run";

pub(crate) const DRY_RUN_RUNS_NOTHING: &str = "nothing to run: a dry run changes no cells";

pub(crate) fn created(shown: &dyn Display, version: &dyn Display) -> String {
    format!("✓ Notebook created\n  Notebook: {shown}\n  Version: {version}")
}

pub(crate) fn not_version(given: &str) -> String {
    format!("if_hash: {given:?} is not a version")
}

pub(crate) const GIVE_VERSION: &str = "give the 16 hexadecimal digits that reading shows";

pub(crate) const NOTHING_TO_DO: &str = "nothing to do";

pub(crate) const GIVE_OPERATION: &str = "give one operation (op, cell, source, ...), ops, or text";

pub(crate) const ONLY_ONE_OF: &str = "give only one of: ops, text, an operation";

pub(crate) const ONLY_FOR_ALL: &str =
    "a pattern of paths takes sub and rename without a cell, and no version";

pub(crate) const RUN_OF_ONE: &str = "run: give the path of one notebook";

pub(crate) fn not_field_of_insert(name: &str) -> String {
    format!("`{name}` is not a field of insert: use `before`")
}

pub(crate) const PLACE_OF_INSERT: &str =
    "give before or after with a cell, such as before: 2, or at: \"start\" or \"end\"";

/// The title where none of the notebooks took the edit.
pub(crate) fn all_refused(refused: usize, all: usize) -> String {
    format!("Error: nothing was replaced: {refused} of {all} notebooks refused the edit")
}

/// The title of an edit of several notebooks.
pub(crate) fn replaced_in(places: &str, changed: usize, all: usize) -> String {
    format!("✓ Replaced in {places}, in {changed} of {all} notebooks")
}

pub(crate) const NOTHING_WRITTEN: &str = "Nothing was written.";

pub(crate) const NOTHING_RUN: &str = "[No code was changed, so nothing was run.]";

pub(crate) const NOT_RUN: &str = "[The edit is made; the cells were not run:]";
