//! Freshness of cells as JSON for programs.

use inkcell_engine::{Because, Freshness, StaleReason};
use serde_json::{Value, json};

use crate::words::freshness::freshness_name;

pub(crate) fn json(mark: &Freshness) -> Value {
    let (name, cell, file) = match mark {
        Freshness::Stale(because) | Freshness::OutOfOrder(because) => match because {
            Because::Name { name, cell } => (Some(name), *cell, None),
            Because::Cell(cell) => (None, Some(*cell), None),
            Because::File(path) => (None, None, Some(path)),
        },
        _ => (None, None, None),
    };
    let mut value = json!({"mark": freshness_name(mark).replace(' ', "_")});
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
        StaleReason::Blocked { name, by } => json!({"mark": "blocked", "name": name, "by": by}),
        StaleReason::Chosen => json!({"mark": "chosen"}),
        StaleReason::Unneeded => json!({"mark": "unneeded"}),
    }
}
