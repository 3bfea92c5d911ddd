//! Freshness of cells, and reasons for their runs, in a few words.

use inkcell_engine::{Because, Freshness, StaleReason};

/// The freshness of a cell in a few words.
pub(crate) fn mark(mark: &Freshness) -> String {
    match mark {
        Freshness::Stale(because) => format!("stale: {}", reason(because)),
        Freshness::OutOfOrder(because) => format!("out of order: {}", reason(because)),
        other => freshness_name(other).to_owned(),
    }
}

/// The freshness of a cell in one or two words.
pub(crate) fn freshness_name(mark: &Freshness) -> &'static str {
    match mark {
        Freshness::Fresh => "fresh",
        Freshness::NeverRun => "never run",
        Freshness::Unknown => "run elsewhere",
        Freshness::Changed => "changed",
        Freshness::Failed => "failed",
        Freshness::Stale(_) => "stale",
        Freshness::OutOfOrder(_) => "out of order",
    }
}

fn reason(because: &Because) -> String {
    match because {
        Because::Name { name, cell: Some(cell) } => format!("{name} of cell {cell}"),
        Because::Name { name, cell: None } => format!("{name}, which no cell above makes"),
        Because::Cell(cell) => format!("cell {cell}"),
        Because::File(path) => format!("the file {path}"),
    }
}

/// The reason why a cell ran.
pub(crate) fn why(why: &StaleReason) -> String {
    match why {
        StaleReason::Marked(mark) => self::mark(mark),
        StaleReason::Needed { name: Some(name), by } => format!("makes {name} for cell {by}"),
        StaleReason::Needed { name: None, by } => format!("needed for cell {by}"),
        StaleReason::Blocked { name: Some(name), by } => format!("needs {name} of cell {by}"),
        StaleReason::Blocked { name: None, by } => format!("needs cell {by}"),
        StaleReason::Chosen => "chosen".to_owned(),
        StaleReason::Unneeded => "not needed".to_owned(),
    }
}

/// The remark on the first line of an outline: which cells the kernel of the notebook's session has run. `cells` is a
/// list of positions; `None` without a kernel. Another kernel has run the `older` ones since.
pub(crate) fn in_kernel(cells: Option<&str>, older: &str) -> String {
    match cells {
        Some("") if !older.is_empty() => format!(
            "  (its kernel ran earlier versions of cells {older}: its variables are older than the file)"
        ),
        Some(cells) if !older.is_empty() => format!(
            "  (its kernel has the variables of cells {cells}; it ran earlier versions of cells {older}, so their \
             variables are older than the file)"
        ),
        None => "  (no kernel: the marks are about outputs, no variables are there)".to_owned(),
        Some("") => "  (its kernel has run none of these cells: no variables are there)".to_owned(),
        Some(cells) => format!("  (its kernel has the variables of cells {cells})"),
    }
}
