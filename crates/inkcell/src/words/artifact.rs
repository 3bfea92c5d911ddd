//! Sentences about stored output, and about parts of it.

use std::fmt::Display;

/// The remark below an empty list. `others` names the sessions that have some.
pub(crate) fn none_of(session: &str, others: &str) -> String {
    format!("session {session} has no artifacts{others}")
}

pub(crate) fn some_of(sessions: &str) -> String {
    format!("; sessions with artifacts: {sessions}")
}

/// The refusal to remove what a session does not have.
pub(crate) fn nothing_to_remove_of(session: &str, others: &str) -> String {
    format!("session {session} has no artifacts{others}")
}

/// Why an artifact was removed.
pub(crate) const OVER_SESSION_LIMIT: &str = "over the limit for a session";

pub(crate) const OVER_TOTAL_LIMIT: &str = "over the limit for all sessions";

pub(crate) fn still_written(ids: &str) -> String {
    format!("not deleted, because they are still being written: {ids}")
}

pub(crate) const LINES_CHOSEN: &str = "the ID already names lines";

pub(crate) fn not_lines(given: &str) -> String {
    format!("{given:?} is not a range of lines")
}

pub(crate) const WRITE_LINES: &str = "write 10-20, 3+4, 50- or 1-9,40-50";

pub(crate) const BEING_WRITTEN: &str =
    "note: the output is still being written; this is all so far";

pub(crate) fn not_for_terminal(id: &dyn Display, kind: &dyn Display) -> String {
    format!("artifact {id} is {kind}, which a terminal cannot show")
}

/// What to do with an artifact that no terminal can show.
pub(crate) fn open_it(path: &dyn Display, id: &dyn Display) -> String {
    format!("open {path}, or save it with 'inkcell result {id} > FILE'")
}

/// The mark below the beginning of a long text. `rest` says how to read on.
pub(crate) fn first_part(part: &str, all: &str, rest: &str) -> String {
    format!("[… showing the first {part} of {all}; for the rest: {rest} …]")
}

pub(crate) const STILL_WRITTEN: &str = "[The output is still being written]";

/// The answer for a range of lines that the text does not have.
pub(crate) fn lines_of_text(lines: u64) -> String {
    format!("[The text has {lines} lines]")
}

pub(crate) fn part_of_line(part: &str, line: &dyn Display, all: &str) -> String {
    format!("[Showing the first {part} of line {line} ({all})]")
}

pub(crate) fn lines_of(first: u64, last: u64, total: u64, next: u64) -> String {
    format!("[Showing lines {first}-{last} of {total}. Use :{next} to continue]")
}

/// The mark in place of a last line that is longer than a page.
pub(crate) fn line_too_long(line: usize) -> String {
    format!("[Line {line}, the last one, is too long; max_bytes shows more]")
}

/// What is said of an answer that should be an artifact.
pub(crate) const NO_ARTIFACT: &str =
    "internal error: the answer is not an artifact (please report this)";

pub(crate) const MORE_THAN_ONE_PART: &str = "only one part can be asked for at a time";

pub(crate) const ONE_PART: &str = "give one of: lines and grep, json_path, offset";

pub(crate) const CONTEXT_OF_GREP: &str =
    "context: give grep too; context shows the lines around its matches";

/// The remark below the first of several values.
pub(crate) fn first_values(shown: u64, count: u64) -> String {
    format!("[Showing the first {shown} of {count}; take fewer, as with [100:200]]")
}

/// How to read on, at the end of a remark about a part.
pub(crate) fn use_lines(next: &dyn Display) -> String {
    format!(" Use lines \"{next}-\" to continue")
}

pub(crate) fn use_offset(at: &dyn Display) -> String {
    format!(" Use offset {at} to continue")
}

pub(crate) const USE_RAW: &str = " Use raw to get an offset to continue at";

pub(crate) fn line_cut(line: &dyn Display, part: &str, all: &str, go_on: &str) -> String {
    format!("[Line {line} is cut: {part} of {all} are shown.{go_on}]")
}

pub(crate) fn first_shown(shown: &dyn Display) -> String {
    format!("; the first {shown} are shown")
}

pub(crate) fn part_of_value(
    part: &str,
    all: &str,
    kind: &dyn Display,
    entries: &str,
    at: &dyn Display,
) -> String {
    format!(
        "[{part} of {all} are shown of this {kind}{entries}. Use offset {at} to continue, or a \
         longer json_path]"
    )
}
