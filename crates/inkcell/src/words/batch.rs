//! Sentences about a batch of notebooks.

use std::fmt::Display;

pub(crate) const NOT_RUN: &str = "not run";

pub(crate) const SECOND_TRY: &str = " at the second try";

/// A note about one or more notebooks.
pub(crate) fn note(notebooks: &[&str], text: &str) -> String {
    match notebooks {
        [] => format!("note: {text}"),
        [one] => format!("note: {one}: {text}"),
        [first, more @ ..] => format!("note: {first} and {} more: {text}", more.len()),
    }
}

/// The note about more notebooks at once than memory allows.
pub(crate) fn too_wide(jobs: &dyn Display, megabytes: &dyn Display, room: &dyn Display) -> String {
    format!(
        "{jobs} notebooks run at once, as you asked, with {megabytes} MB of memory free; if \
         that is too little, use -j {room}"
    )
}

/// The refusal of two names, of which the second may be the output of the first.
pub(crate) fn unclear(other: &str) -> String {
    format!("'{other}' is either the output file or a second notebook to run")
}

pub(crate) fn one_or_both(one: &str, other: &str) -> String {
    format!(
        "to write the result to that file, use 'inkcell run {one} -o {other}'; to run both notebooks, \
         use 'inkcell run --in-place {one} {other}'"
    )
}

pub(crate) fn would_write_all(one: &str, last: &str) -> String {
    format!("this would write outputs into every notebook from {one} to {last}")
}

pub(crate) const ADD_IN_PLACE: &str =
    "if you mean that, add --in-place; to write copies, use a template such as -o 'out/{name}'";

pub(crate) const NO_SESSION: &str =
    "a batch keeps no session; remove --keep, --session and --detach, or run one notebook";

pub(crate) const TAKES_FILES: &str = "a batch takes files; give their names";

pub(crate) const WRITES_FILES: &str = "a batch writes files; give a template";

pub(crate) const OF_THIS_MACHINE: &str =
    "a batch runs notebooks of this machine; run a server's notebook alone";

pub(crate) const PARAMETERS_OF_ONE: &str =
    "name one notebook: parameters are listed for one at a time";

pub(crate) const OUTPUTS_OF_ONE: &str =
    "the outputs of several notebooks would mix; run one notebook at a time";

pub(crate) const KERNEL_FOR_ONE: &str = "a kernel that runs already is for one notebook at a time";

pub(crate) const NOTHING_DONE: &str = "no notebook of this batch is done yet; all of them run";

/// Why the rows of a notebook do not share their first cells.
pub(crate) const ENDS_RUN: &str = "its code ends the run";

pub(crate) const ENDED_BADLY: &str = "a cell did not end well";

/// The note about a notebook whose rows share nothing.
pub(crate) fn not_shared(input: &str, why: &str) -> String {
    format!("the rows of {input} do not share their first cells; each row runs them: {why}")
}

/// The note about a row for which no copy could be made.
pub(crate) fn not_copied(row: &str, why: &str) -> String {
    format!("{row} runs the first cells itself, because the kernel could not be copied: {why}")
}

pub(crate) fn report_not_written(report: &dyn Display, error: &dyn Display) -> String {
    format!("the report {report} cannot be written: {error}")
}

pub(crate) const WRITE_REPORT_AGAIN: &str = "the notebooks are done; to write the report, repeat \
     the command with --resume and another file";

pub(crate) const RUNS_ALREADY: &str = "another inkcell runs the same batch";

pub(crate) fn junit_file(file: &dyn Display) -> String {
    format!("--junit writes to {file}; name another file")
}

pub(crate) fn no_report_folder(folder: &dyn Display) -> String {
    format!("the folder {folder} does not exist; create it, or name another file")
}

pub(crate) fn is_folder(shown: &dyn Display) -> String {
    format!("{shown} is a folder; name a file")
}

pub(crate) fn is_notebook(shown: &dyn Display) -> String {
    format!("{shown} is a notebook of the batch; name another file")
}

pub(crate) fn no_place(error: &dyn Display) -> String {
    format!("cannot create a folder for it: {error}")
}

pub(crate) const NOTHING_BEFORE: &str = "no cell comes before the values; tag one with parameters";

pub(crate) const NOTHING_AFTER: &str = "no cell comes after the values";
