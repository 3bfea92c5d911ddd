//! Remarks about the names of a session.

pub(crate) const NO_VARIABLES: &str = "No variables are defined.";

pub(crate) fn some_variables(shown: u64, all: u64) -> String {
    format!("[showing {shown} of {all} variables]")
}

pub(crate) const NO_TIME: &str = "[some could not be examined in time]";

/// The remark about figures that leave out some rows of a table.
pub(crate) fn sampled(rows: u64) -> String {
    format!("[figures cover {rows} rows]")
}

pub(crate) const COLUMNS_LEFT_OUT: &str = "[some columns could not be described]";

/// The mark of a helper function that the session lacks.
pub(crate) const NOT_INSTALLED: &str = " [not in this session]";

pub(crate) const NO_COMPLETIONS: &str = "No completions.";

/// The line above completions: what each of them replaces.
pub(crate) fn replaces(start: u64, end: u64) -> String {
    format!("in place of characters {start} to {end}:")
}
