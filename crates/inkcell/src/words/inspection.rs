//! Remarks about the names of a session.

pub(crate) const NO_VARIABLES: &str = "There are no variables.";

pub(crate) fn some_variables(shown: u64, all: u64) -> String {
    format!("[{shown} of {all} variables are shown]")
}

pub(crate) const NO_TIME: &str = "[there was no time to look at each of them]";

/// The remark about figures that leave out some rows of a table.
pub(crate) fn sampled(rows: u64) -> String {
    format!("[figures are of {rows} rows]")
}

pub(crate) const COLUMNS_LEFT_OUT: &str = "[not every column could be described]";

/// The mark of a helper function that the session lacks.
pub(crate) const NOT_INSTALLED: &str = " [not in this session]";

pub(crate) const NO_COMPLETIONS: &str = "There are no completions.";

/// The line above completions: what each of them replaces.
pub(crate) fn replaces(start: u64, end: u64) -> String {
    format!("in place of characters {start} to {end}:")
}
