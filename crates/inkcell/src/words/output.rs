//! Marks in place of what is left out of an output, and sentences about parts of one.

use std::fmt::Display;

use crate::output::count;

/// The mark in place of the end of a long line.
pub(crate) fn chars_omitted(chars: u64) -> String {
    format!("… [{chars} chars omitted]")
}

/// How far a path into JSON led, and what is there instead of its next step.
pub(crate) fn leads_nowhere(followed: usize, kind: &str, entries: Option<u64>) -> String {
    let place = match followed {
        0 => "at its beginning".to_owned(),
        steps => format!("after {}", count(steps, "step")),
    };
    format!("leads nowhere: {place} there is {kind}{}", with_entries(entries))
}

/// How many entries a value of JSON has, if it can have any.
pub(crate) fn with_entries(entries: Option<u64>) -> String {
    match entries {
        None => String::new(),
        Some(1) => " with 1 entry".to_owned(),
        Some(entries) => format!(" with {entries} entries"),
    }
}

/// The mark in place of the middle of a stream, on a line of its own.
pub(crate) fn bytes_left_out(bytes: u64) -> String {
    format!("\n[... {bytes} bytes of output left out ...]\n")
}

/// The note about such marks in the outputs of a call.
pub(crate) fn middle_left_out(bytes: u64) -> String {
    format!("{bytes} bytes from the middle of the output were left out")
}

/// The note about output that was thrown away, since its reader had stopped.
pub(crate) fn undelivered(bytes: u64) -> String {
    format!("{bytes} bytes of output were dropped because nothing read them")
}

/// The mark in place of a part of an answer. `left_out` is its size.
pub(crate) fn left_out(left_out: &str) -> String {
    format!("[… {left_out} left out …]")
}

/// The mark in place of whole parts of an answer.
pub(crate) fn blocks_left_out(number: usize) -> String {
    format!("[… {} of the answer left out …]", count(number, "part"))
}

/// Where a model finds all of a value that is shown in part.
pub(crate) fn read_artifact(id: &str) -> String {
    format!("Read artifact://{id} for all of it")
}

/// The heading of output that came after the last cell.
pub(crate) const AFTER_LAST_CELL: &str = "[after the last cell]";

/// The hint for a view without keys and without stored output.
pub(crate) const STREAMS: &str = "show everything with --view stream";

/// The text in place of a stored picture whose data is damaged.
pub(crate) const BAD_PICTURE: &str = "an unreadable picture";

/// The hint of a view that ends before its call.
pub(crate) fn result_shows(id: &str) -> String {
    format!("show them with 'inkcell result {id}'")
}

/// The last line of a call whose output was not taken in time.
pub(crate) const NOT_READ: &str = "error: the output was not read in time; the rest was dropped\n";

pub(crate) fn not_shown(digest: &str, file: Option<&str>) -> String {
    let file = file.map(|path| format!(". Its file: {path}")).unwrap_or_default();
    format!("[{digest} is not shown, the answer would be too large{file}]")
}

pub(crate) fn images_not_shown(left_out: &dyn Display) -> String {
    format!("[{left_out} more images are not shown; their artifacts are named above]")
}

/// Pictures of a notebook's file after those that have a line of their own.
pub(crate) fn images_beyond(number: usize) -> String {
    format!("[{} not shown; read their cells alone]", count(number, "more image"))
}

/// Where a stored output is in its notebook.
pub(crate) fn output_place(cell: usize, output: usize) -> String {
    format!("cell {cell}, output {output}")
}

/// A stored picture that the answer shows, or that cannot be shown.
pub(crate) fn stored_image(place: &str, digest: &str) -> String {
    format!("[image of {place}: {digest}]")
}

/// A stored picture that another answer can show.
pub(crate) fn stored_image_elsewhere(place: &str, digest: &str, id: &str) -> String {
    format!("[image of {place} is not shown: {digest}, artifact://{id}]")
}

pub(crate) fn stored_image_not_shown(place: &str, digest: &str) -> String {
    format!("[image of {place} is not shown: {digest}]")
}

pub(crate) fn image_file(path: &str) -> String {
    format!("[image file: {path}]")
}

/// Follows a drawing, which is text.
pub(crate) const TEXT_OF_DRAWING: &str = "[lines, grep and raw give its text]";

pub(crate) const TOO_LARGE: &str = "[not shown, the answer would be too large]";

pub(crate) fn log_lines_dropped(lines: &dyn Display) -> String {
    format!("({lines} lines of the log were dropped)\n")
}
