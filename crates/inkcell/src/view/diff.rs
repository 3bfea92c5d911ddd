//! Differences between notebooks, cell by cell.

use std::io;

use inkcell_engine::notebook::{CellCandidate, CellDiff};
use serde_json::{Value, json};

use crate::output::Output;

pub(crate) fn write(
    output: &mut Output,
    differences: &[CellDiff],
    about: Option<&str>,
) -> io::Result<()> {
    for difference in differences {
        match difference {
            CellDiff::Added { new, kind, source } => {
                output.line(&format!("+ {new} [{kind}] added"))?;
                prefixed(output, '+', source)?;
            }
            CellDiff::Removed { old, kind, source } => {
                output.line(&format!("- {old} [{kind}] removed"))?;
                prefixed(output, '-', source)?;
            }
            CellDiff::Changed {
                old,
                new,
                kind,
                old_kind,
                source,
                metadata,
                attachments,
                outputs,
                count,
                moved,
            } => {
                output.line(&format!("~ {new} [{kind}]{}", summary(old, new, *moved)))?;
                if let Some(old_kind) = old_kind {
                    output.line(&format!("  type: {old_kind} → {kind}"))?;
                }
                for line in source.iter().flat_map(|source| source.lines()) {
                    output.line(&format!("  {line}"))?;
                }
                if let Some((before, after)) = outputs {
                    output.line(&format!("  outputs: {} → {}", listed(before), listed(after)))?;
                }
                if *count {
                    output.line("  execution count changed")?;
                }
                if *metadata {
                    output.line("  metadata changed")?;
                }
                if *attachments {
                    output.line("  attachments changed")?;
                }
            }
        }
    }
    match about {
        Some(about) => output.line(about),
        None => Ok(()),
    }
}

fn summary(old: &CellCandidate, new: &CellCandidate, moved: bool) -> String {
    match (moved, old.index == new.index) {
        (true, _) => format!(" moved from {}", old.index),
        (false, true) => String::new(),
        (false, false) => format!(" was {}", old.index),
    }
}

fn listed(digests: &[String]) -> String {
    if digests.is_empty() { "none".to_owned() } else { digests.join(", ") }
}

fn prefixed(output: &mut Output, sign: char, source: &str) -> io::Result<()> {
    source.lines().try_for_each(|line| output.line(&format!("  {sign}{line}")))
}

pub(crate) fn as_json(differences: &[CellDiff]) -> Value {
    let name = |cell: &CellCandidate| json!({"index": cell.index, "id": cell.id});
    let row = |difference: &CellDiff| match difference {
        CellDiff::Added { new, kind, source } => {
            json!({"change": "added", "new": name(new), "type": kind, "source": source})
        }
        CellDiff::Removed { old, kind, source } => {
            json!({"change": "removed", "old": name(old), "type": kind, "source": source})
        }
        CellDiff::Changed {
            old,
            new,
            kind,
            old_kind,
            source,
            metadata,
            attachments,
            outputs,
            count,
            moved,
        } => {
            json!({
                "change": "changed",
                "old": name(old),
                "new": name(new),
                "type": kind,
                "old_type": old_kind,
                "source_diff": source,
                "metadata": metadata,
                "attachments": attachments,
                "outputs": outputs.as_ref().map(|(before, after)| json!({"old": before, "new": after})),
                "execution_count": count,
                "moved": moved,
            })
        }
    };
    differences.iter().map(row).collect()
}
