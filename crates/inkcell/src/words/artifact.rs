//! Sentences about stored output, and about parts of it.

use std::fmt::Display;

/// The remark below an empty list. `others` names the sessions that have some.
pub(crate) fn none_of(session: &str, others: &str) -> String {
    format!("no artifacts of a session {session}{others}")
}

pub(crate) fn some_of(sessions: &str) -> String {
    format!("; there are some of {sessions}")
}

/// The refusal to remove what a session does not have.
pub(crate) fn nothing_to_remove_of(session: &str, others: &str) -> String {
    format!("there are no artifacts of a session {session}{others}")
}

/// Why an artifact was removed.
pub(crate) const OVER_SESSION_LIMIT: &str = "over the limit of a session";

pub(crate) const OVER_TOTAL_LIMIT: &str = "over the limit in all";

pub(crate) fn still_written(ids: &str) -> String {
    format!("still being written, so they stay: {ids}")
}

pub(crate) const LINES_CHOSEN: &str = "lines are chosen behind the id already";

pub(crate) fn no_choice_of_lines(given: &str) -> String {
    format!("{given:?} is no choice of lines; use 10-20, 3+4, 50- or 1-9,40-50")
}

pub(crate) const BEING_WRITTEN: &str = "note: it is being written; this is as far as it is";

pub(crate) fn not_for_terminal(id: &dyn Display, kind: &dyn Display) -> String {
    format!("artifact {id} is {kind}, which a terminal cannot show")
}

/// What to do with an artifact that no terminal can show.
pub(crate) fn open_it(path: &dyn Display, id: &dyn Display) -> String {
    format!("open {path}, or: inkcell result {id} > FILE")
}

/// The mark below the beginning of a long text. `rest` says how to read on.
pub(crate) fn first_part(part: &str, all: &str, rest: &str) -> String {
    format!("[… the first {part} of {all} are here; for the rest: {rest} …]")
}

pub(crate) const STILL_WRITTEN: &str = "[It is still being written]";

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

pub(crate) fn is_execution(name: &str, id: &str) -> String {
    format!("{name}: {id} is an execution; parts are of artifacts")
}

pub(crate) const LEAVE_PART_OUT: &str = "leave it out; a truncated output names its artifact";

pub(crate) const MORE_THAN_ONE_PART: &str = "more than one part is asked for";

pub(crate) const ONE_PART: &str = "give one of: lines, grep, json_path, offset";

pub(crate) fn no_choice(lines: &str) -> String {
    format!("lines: {lines:?} is no choice of lines")
}

pub(crate) const WRITE_LINES: &str = "write 10-20, 3+4, 50- or 1-9,40-50";

/// How to read on, at the end of a remark about a part.
pub(crate) fn use_lines(next: &dyn Display) -> String {
    format!(" Use lines \"{next}-\" to continue")
}

pub(crate) fn use_offset(at: &dyn Display) -> String {
    format!(" Use offset {at} to continue")
}

pub(crate) const USE_RAW: &str = " Use raw to get a place to go on";

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
