//! Freshness of cells, in words for users and as JSON for programs.
//!
//! Owns the words. The engine decides which cells are stale.

use inkcell_engine::{Because, Freshness, StaleReason};
use serde_json::{Value, json};

/// The freshness of a cell in a few words.
pub(crate) fn words(mark: &Freshness) -> String {
    match mark {
        Freshness::Stale(because) => format!("stale: {}", reason(because)),
        Freshness::OutOfOrder(because) => format!("out of order: {}", reason(because)),
        other => word(other).to_owned(),
    }
}

fn word(mark: &Freshness) -> &'static str {
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
        StaleReason::Marked(mark) => words(mark),
        StaleReason::Needed { name: Some(name), by } => format!("makes {name} for cell {by}"),
        StaleReason::Needed { name: None, by } => format!("needed for cell {by}"),
    }
}

pub(crate) fn json(mark: &Freshness) -> Value {
    let (name, cell, file) = match mark {
        Freshness::Stale(because) | Freshness::OutOfOrder(because) => match because {
            Because::Name { name, cell } => (Some(name), *cell, None),
            Because::Cell(cell) => (None, Some(*cell), None),
            Because::File(path) => (None, None, Some(path)),
        },
        _ => (None, None, None),
    };
    let mut value = json!({"mark": word(mark).replace(' ', "_")});
    let parts = [("name", name.map(|name| json!(name))), ("cell", cell.map(|cell| json!(cell)))];
    for (key, part) in parts.into_iter().chain([("file", file.map(|file| json!(file)))]) {
        if let Some(part) = part {
            value[key] = part;
        }
    }
    value
}

pub(crate) fn why_json(why: &StaleReason) -> Value {
    match why {
        StaleReason::Marked(mark) => json(mark),
        StaleReason::Needed { name, by } => json!({"mark": "needed", "name": name, "by": by}),
    }
}
