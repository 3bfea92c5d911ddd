//! Sentences about files that were written, and about those that were not.

use inkcell_engine::FileNote;
use inkcell_engine::api::{Problem, UnsavedFate};

use crate::words::run;

/// Why the outputs of a run are not in the file.
pub(crate) fn not_in_file(problem: &Problem) -> String {
    format!("the outputs are not in the file: {}", problem.message)
}

/// What becomes of those outputs.
pub(crate) fn unsaved(outputs: UnsavedFate) -> &'static str {
    match outputs {
        UnsavedFate::Kept => "they are kept and go into it with the next command on it",
        UnsavedFate::Lost => {
            "they could not be kept either; when that is mended, run it again with --resume"
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
