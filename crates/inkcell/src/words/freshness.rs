//! Freshness of cells, and reasons for their runs, in a few words.

use inkcell_engine::{Because, Freshness, StaleReason};

/// The freshness of a cell in a few words.
pub(crate) fn mark(mark: &Freshness) -> String {
    match mark {
        Freshness::Stale(because) => format!("stale: {}", reason(because)),
        Freshness::OutOfOrder(because) => format!("out of order: {}", reason(because)),
        other => word(other).to_owned(),
    }
}

/// The freshness of a cell in one or two words.
pub(crate) fn word(mark: &Freshness) -> &'static str {
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
    }
}
