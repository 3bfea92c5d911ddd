//! Sentences about a comparison of stored outputs with new ones.

use std::fmt::Display;

pub(crate) fn not_part(part: &str) -> String {
    format!(
        "{part:?} is not a part of an output; give stdout, stderr, error or a type such as \
         text/html"
    )
}

pub(crate) fn not_kept(path: &str, reason: &str) -> String {
    format!("cannot keep the outputs of {path}: {reason}")
}

pub(crate) const SEE_ROOM: &str = "make room in the state folder, and try again";

pub(crate) fn other_bytes(was: usize, is: usize) -> String {
    format!("another file ({was} bytes stored, {is} now)")
}

pub(crate) fn never_run(path: &str, quoted: &dyn Display) -> String {
    format!(
        "{path}: never run, so there is nothing to compare with; run it first: inkcell run {quoted}"
    )
}

/// The same for a report that has the path elsewhere.
pub(crate) const NEVER_RUN: &str = "never run, so there is nothing to compare with";

pub(crate) const KERNEL_DIED: &str = "the kernel died";

/// The progress of one check.
pub(crate) fn cells_done(ended: usize, all: usize) -> String {
    format!("{ended}/{all} cells")
}

/// How many other checks run at the same time.
pub(crate) fn more_at_once(more: usize) -> String {
    format!("and {more} more")
}

pub(crate) const TOOK_TOO_LONG: &str = ", it took too long";

pub(crate) fn differ(
    path: &str,
    bad: usize,
    all: &str,
    are: &str,
    how: &str,
    took: &str,
) -> String {
    format!("{path}: {bad} of {all} {are} not as stored{how} ({took})")
}

pub(crate) fn give_time(path: &dyn Display) -> String {
    format!("  give its cells more time (0 for no limit): inkcell verify {path} --timeout SECONDS")
}

pub(crate) fn see_what_ends(path: &dyn Display) -> String {
    format!("  see what ends it: inkcell run {path} -o FILE.ipynb")
}

pub(crate) fn store_them(path: &dyn Display) -> String {
    format!("  if the new outputs are right, store them: inkcell run {path}")
}

pub(crate) const NOTHING_TO_COMPARE: &str = "nothing to compare: the notebook has no code";

pub(crate) fn not_in_time(name: &str) -> String {
    format!("  {name} did not end in time")
}

/// How a part differs that only one of the two runs has.
pub(crate) const NOT_SHOWN: &str = "stored, and not shown now";

pub(crate) const NOT_STORED: &str = "shown now, and not stored";

pub(crate) fn are_as_stored(good: usize, all: &dyn Display) -> String {
    format!("{good} of {all} are as stored")
}
