//! Sentences about notebooks and other files: how they are named, read, compared and written.

use std::fmt::Display;

use inkcell_engine::FileNote;
use inkcell_engine::api::{Problem, UnsavedFate};
use inkcell_engine::types::Suggestion;

use crate::words::run;

/// Why the outputs of a run are not in the file.
pub(crate) fn not_in_file(problem: &Problem) -> String {
    format!("the outputs were not saved: {}", problem.message)
}

/// What becomes of those outputs.
pub(crate) fn unsaved(outputs: UnsavedFate) -> &'static str {
    match outputs {
        UnsavedFate::Kept => "they are kept, and the next command on the notebook saves them",
        UnsavedFate::Lost => {
            "they could not be kept either; fix that, then run the notebook again with --resume"
        }
    }
}

/// What happened to a file as a whole when it was written.
pub(crate) fn note(note: &FileNote) -> String {
    match note {
        FileNote::HardLinks(count) => {
            format!("the file had {count} names; the others still name the old content")
        }
        FileNote::NotKept(what) => format!("{what} was not kept"),
        FileNote::Recovered(cells) => run::recovered(*cells),
    }
}

/// The mark behind the facts about a notebook in a format that inkcell does not write.
pub(crate) const READ_ONLY: &str = "  (can be read, not edited)";

pub(crate) const ONE_NOTEBOOK: &str = "give one notebook, not several";

pub(crate) const FILTER_ALONE: &str =
    "stands for standard input and standard output; give it alone";

pub(crate) const FILTER_WRITES: &str =
    "the filter writes to standard output; redirect it to a file with > OUT";

pub(crate) const FILTER_ANSWERS: &str = "the filter writes the notebook itself; remove --json";

pub(crate) const SAME_CELLS: &str =
    "the cells and metadata are the same; the layout or spelling differs";

/// The answer to a comparison that finds no difference.
pub(crate) const NO_CHANGE: &str = "(no change)";

/// The refusal of arguments that a diff has no use for.
pub(crate) const NOT_IN_DIFF: &str =
    "a diff shows sources, and outputs by their digests; remove this";

/// The refusal to compare with a version whose content is gone; `known` ends the sentence with those that are kept.
pub(crate) fn version_not_kept(given: &str, known: &[Suggestion]) -> String {
    let known: Vec<String> = known.iter().map(|one| format!("{} ({})", one.id, one.what)).collect();
    let kept = match known.is_empty() {
        true => String::new(),
        false => format!("; kept versions: {}", known.join(", ")),
    };
    format!("against: the content of version {given} is not kept here{kept}")
}

/// What a notebook can be compared with instead.
pub(crate) const COMPARE_WITH: &str = "give a version that an answer of this server named, a commit such as HEAD~2, or another notebook";

pub(crate) fn give_second(problem: &dyn Display) -> String {
    format!("{problem}; give a second notebook to compare with")
}

pub(crate) fn git_failed(error: &dyn Display) -> String {
    format!("cannot read the last commit from git: {error}")
}

pub(crate) fn has_no_folder(shown: &str) -> String {
    format!("{shown} is not in a folder")
}

pub(crate) fn in_no_commit(shown: &str, reason: &str) -> String {
    format!("{shown} is in no commit ({reason})")
}

pub(crate) fn not_in_commit(shown: &str, commit: &str, reason: &str) -> String {
    format!("{shown} cannot be read from {commit} ({reason})")
}

pub(crate) const PIPE_TEXT_IN: &str =
    "it is a terminal; pipe the text in, for example with 'inkcell read A | inkcell write B'";

pub(crate) const NOT_TO_STDOUT: &str =
    "a changed notebook goes to a file, not to standard output; name the file";

pub(crate) fn convert_to_utf8(at: usize) -> String {
    format!("it is not UTF-8 text (byte {at}); convert it first")
}

pub(crate) fn not_version(given: &str) -> String {
    format!("{given:?} is not a version (16 hexadecimal digits, as reading the notebook shows)")
}

pub(crate) fn cells_option(problem: &str) -> String {
    format!("{problem} (cells are chosen with --cells)")
}

pub(crate) const ANSWERS_WITH_TEXT: &str = "the answer is text; remove --json";

/// The refusal of another view of the JSON. `argument` is how it was asked for.
pub(crate) fn raw_by_lines(argument: &str) -> String {
    format!("the stored JSON ({argument}) can be read whole or by lines")
}

/// The answer of a check that found nothing.
pub(crate) fn no_such_cells(path: &dyn Display, is_stale: bool) -> String {
    format!("{path}: no {} cells", if is_stale { "stale" } else { "failed" })
}

pub(crate) fn shows_cells(line: &str) -> String {
    format!("this view shows cells, not lines; remove {line}")
}

pub(crate) const SCRIPT_HAS_NONE: &str = "a script has no outputs; remove this";

/// The refusal to replace text in a file that has none.
pub(crate) fn not_text(path: &dyn Display, at: usize) -> String {
    format!("{path} is not UTF-8 text (byte {at}); nothing was written")
}

pub(crate) fn replaced(places: &str, path: &dyn Display) -> String {
    format!("Replaced text in {places} of {path}.")
}

pub(crate) fn holds_that(path: &dyn Display) -> String {
    format!("{path} already has this content; nothing was written.")
}

pub(crate) fn invalid_json(path: &dyn Display) -> String {
    format!("Invalid JSON in notebook: {path}")
}

pub(crate) const CELLS_OF_ONE: &str = "cells: give the path of one notebook, or remove cells";

/// The first line of a search in several notebooks.
pub(crate) fn found_in(lines: &str, with_hits: usize, all: usize) -> String {
    format!("{lines} found in {with_hits} of {all} notebooks")
}

pub(crate) const GIVE_PATH: &str = "give the path of a file";

pub(crate) fn leaves_out(path: &dyn Display, cells: &str) -> String {
    format!("{path}: the text leaves out {cells}; nothing was written")
}

pub(crate) const GIVE_ALL_CELLS: &str = "give the text of all cells that you want to keep";

pub(crate) fn not_pattern(pattern: &str, error: &dyn Display) -> String {
    format!("search: {pattern:?} is not a pattern: {error}")
}
