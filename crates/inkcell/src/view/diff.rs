//! Differences between notebooks, cell by cell.

use inkcell_engine::notebook::{
    CellCandidate, CellDiff, Compare, Notebook, diff, notebook_changes,
};
use serde_json::{Value, json};

use crate::words;

/// The differences between two notebooks.
pub(crate) struct Differences {
    pub(crate) cells: Vec<CellDiff>,
    /// Lines about the rest of the notebook.
    pub(crate) around: Vec<String>,
    /// The words for files that differ in their layout only.
    pub(crate) about: Option<&'static str>,
}

impl Differences {
    pub(crate) fn between(old: &Notebook, new: &Notebook, compare: Compare) -> Differences {
        let cells = diff(old, new, compare);
        if compare == Compare::Sources {
            return Differences { cells, around: Vec::new(), about: None };
        }
        let around = notebook_changes(old, new);
        let is_layout =
            cells.is_empty() && around.is_empty() && old.original_bytes() != new.original_bytes();
        let about = is_layout.then_some(words::file::SAME_CELLS);
        Differences { cells, around, about }
    }

    /// Leaves out differences that are not in these cells of the new notebook.
    pub(crate) fn only_in(&mut self, cells: &[usize]) {
        self.around.clear();
        self.cells.retain(|difference| match difference {
            CellDiff::Added { new, .. } | CellDiff::Changed { new, .. } => {
                cells.contains(&new.index)
            }
            CellDiff::Removed { .. } => false,
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.around.is_empty() && self.about.is_none()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let around = self.around.iter().map(|line| format!("~ {line}"));
        let about = self.about.map(str::to_owned);
        around.chain(lines(&self.cells)).chain(about).collect()
    }
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
