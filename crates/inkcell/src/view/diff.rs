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
    lines(differences).iter().try_for_each(|line| output.line(line))?;
    about.map_or(Ok(()), |about| output.line(about))
}

/// The differences, cell by cell.
pub(crate) fn lines(differences: &[CellDiff]) -> Vec<String> {
    differences.iter().flat_map(cell_lines).collect()
}

fn cell_lines(difference: &CellDiff) -> Vec<String> {
    let whole = |sign: char, cell: &CellCandidate, kind: &str, change: &str, source: &str| {
        let head = format!("{sign} {cell} [{kind}] {change}");
        let source = source.lines().map(|line| format!("  {sign}{line}"));
        std::iter::once(head).chain(source).collect()
    };
    match difference {
        CellDiff::Added { new, kind, source } => whole('+', new, kind, "added", source),
        CellDiff::Removed { old, kind, source } => whole('-', old, kind, "removed", source),
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
            let mut lines = vec![format!("~ {new} [{kind}]{}", summary(old, new, *moved))];
            lines.extend(old_kind.iter().map(|old| format!("  type: {old} → {kind}")));
            let source = source.iter().flat_map(|source| source.lines());
            lines.extend(source.map(|line| format!("  {line}")));
            lines.extend(outputs.iter().map(|(before, after)| {
                format!("  outputs: {} → {}", listed(before), listed(after))
            }));
            let rest =
                [(count, "execution count"), (metadata, "metadata"), (attachments, "attachments")];
            let changed = rest.into_iter().filter(|(is_changed, _)| **is_changed);
            lines.extend(changed.map(|(_, what)| format!("  {what} changed")));
            lines
        }
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
