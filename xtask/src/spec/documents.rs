//! Parses the statements in the source documents, and the reasons in the project's own page about
//! them.
//!
//! Works on text alone. Must not know tests or which parts are finished.

use std::collections::BTreeMap;

use super::id::Id;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) id: Id,
    pub(super) text: String,
}

/// The reason why a statement has no test.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) kind: ReasonKind,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasonKind {
    /// The product does something else on purpose.
    Difference,
    /// The statement belongs to a part that is not finished.
    Later,
    /// Something other than a test of this workspace shows it.
    Elsewhere,
}

impl ReasonKind {
    fn parse(word: &str) -> Option<Self> {
        [Self::Difference, Self::Later, Self::Elsewhere].into_iter().find(|k| k.word() == word)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Difference => "difference",
            Self::Later => "later",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// Parses lines of the form `- N-12 text`.
pub(super) fn parse_behaviour(text: &str) -> Vec<Statement> {
    text.lines()
        .filter_map(|line| {
            let (id, text) = line.strip_prefix("- ")?.split_once(' ')?;
            Some(Statement { id: Id::parse(id)?, text: text.trim().to_owned() })
        })
        .collect()
}

/// Parses table rows of the form `| F-060 | P0 | what | how | expected |`. The text omits the
/// priority.
pub(super) fn parse_reliability(text: &str) -> Vec<Statement> {
    text.lines()
        .filter_map(|line| {
            let cells = cells(line)?;
            let id = Id::parse(cells.first()?).filter(Id::is_reliability)?;
            let is_priority = |cell: &&str| matches!(*cell, "P0" | "P1" | "P2");
            let text = cells[1..].iter().find(|cell| !is_priority(cell))?;
            Some(Statement { id, text: (*text).to_owned() })
        })
        .collect()
}

/// Parses table rows of the form `| N-04, N-05 | difference | why |`. A malformed row is a fault:
/// if it were skipped silently, its reason would seem to be missing.
pub(super) fn parse_reasons(text: &str, faults: &mut Vec<String>) -> BTreeMap<Id, Reason> {
    let mut reasons = BTreeMap::new();
    for line in text.lines() {
        let Some(cells) = cells(line) else { continue };
        let [first, second, rest @ ..] = cells.as_slice() else { continue };
        let names: Vec<_> = first.split(',').map(|name| Id::parse(unquote(name))).collect();
        let kind = ReasonKind::parse(unquote(second));
        if kind.is_none() && names.contains(&None) {
            // A header, a rule, or a row of another table.
            continue;
        }
        let reason = rest.join(" | ");
        let (Some(kind), Some(ids)) = (kind, names.into_iter().collect::<Option<Vec<_>>>()) else {
            faults.push(format!("not readable: {}", line.trim()));
            continue;
        };
        if reason.is_empty() {
            faults.push(format!("no reason given: {}", line.trim()));
        }
        for id in ids {
            if let Some(earlier) = reasons.insert(id.clone(), Reason { kind, text: reason.clone() })
            {
                faults.push(format!("{id} has two reasons, the first: {}", earlier.text));
            }
        }
    }
    reasons
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(str::trim).collect())
}

fn unquote(cell: &str) -> &str {
    cell.trim().trim_matches('`')
}
