//! Compares two notebooks cell by cell.
//!
//! Owns the pairing of cells and the differences of each pair. It must not know colours or terminals.

use similar::TextDiff;

use crate::document::{CellView, Indent, Notebook, Style, format_value, read_digests};
use crate::error::CellCandidate;
use crate::json;
use crate::matching::{Alignment, align, longest_rising};

/// The change of one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellDiff {
    /// The cell exists only in the new notebook.
    Added {
        /// Position and id in the new notebook.
        new: CellCandidate,
        /// Kind of the cell, as the file names it.
        kind: String,
        /// Whole source of the new cell, as one text.
        source: String,
    },
    /// The cell exists only in the old notebook.
    Removed {
        /// Position and id in the old notebook.
        old: CellCandidate,
        /// Kind of the cell, as the file names it.
        kind: String,
        /// Whole source of the removed cell, as one text.
        source: String,
    },
    /// The cell exists in both notebooks, with differences.
    Changed {
        /// The cell in the old notebook.
        old: CellCandidate,
        /// The cell in the new notebook.
        new: CellCandidate,
        /// Kind of the cell in the new notebook.
        kind: String,
        /// Kind of the cell in the old notebook, if it differs.
        old_kind: Option<String>,
        /// The source as a unified diff, if it differs.
        source: Option<String>,
        /// True if the metadata differs.
        metadata: bool,
        /// True if the attachments differ.
        attachments: bool,
        /// Digests of the old and new outputs, if they differ.
        outputs: Option<(Vec<String>, Vec<String>)>,
        /// True if the execution count differs.
        count: bool,
        /// True if the cell moved among the cells that both notebooks have.
        moved: bool,
    },
}

/// The parts of cells that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// Sources, kinds, metadata, attachments, outputs and counts.
    All,
    /// Kinds and sources only.
    Sources,
}

/// Lists the differences between two notebooks in the order of the new one, with removed cells at their old
/// place.
pub fn diff(old: &Notebook, new: &Notebook, compare: Compare) -> Vec<CellDiff> {
    let pairs = pairs(old, new);
    let mut is_paired = vec![false; old.len()];
    for &index in pairs.iter().flatten() {
        is_paired[index] = true;
    }
    let mut out = Vec::new();
    let mut next_old = 0;
    let stays = longest_rising(&pairs);
    let mut removed_up_to = |limit: usize, out: &mut Vec<CellDiff>| {
        while next_old < limit {
            if !is_paired[next_old] {
                let cell = old.view(next_old);
                let (kind, source) =
                    (cell.kind_name().into_owned(), cell.source().text.into_owned());
                out.push(CellDiff::Removed { old: cell.name(), kind, source });
            }
            next_old += 1;
        }
    };
    for (at, cell) in new.cells().enumerate() {
        match pairs[at] {
            None => {
                let (kind, source) =
                    (cell.kind_name().into_owned(), cell.source().text.into_owned());
                out.push(CellDiff::Added { new: cell.name(), kind, source });
            }
            Some(index) => {
                if stays[at] {
                    removed_up_to(index, &mut out);
                }
                out.extend(diff_cell(old.view(index), cell, !stays[at], compare));
            }
        }
    }
    removed_up_to(old.len(), &mut out);
    out
}

/// Finds, for each new cell, the position of the same cell in the old notebook: by unique id, then in order by
/// kind and source.
pub fn pairs(old: &Notebook, new: &Notebook) -> Vec<Option<usize>> {
    let content = |book: &Notebook, at: usize| {
        let cell = book.view(at);
        (cell.kind(), cell.source().text.into_owned())
    };
    let Alignment { mut pairs, replaced } =
        align((&old.ids(), |index| content(old, index)), (&new.ids(), |at| content(new, at)));
    // A run of cells replaced another run: pair them in order.
    for (olds, news) in replaced {
        for (index, at) in olds.into_iter().zip(news) {
            if old.view(index).kind() == new.view(at).kind() {
                pairs[at] = Some(index);
            }
        }
    }
    pairs
}

fn diff_cell<'a>(
    old: CellView<'a>,
    new: CellView<'a>,
    moved: bool,
    compare: Compare,
) -> Option<CellDiff> {
    if old.json() == new.json() && !moved {
        return None;
    }
    let (before, after) = (old.source().text, new.source().text);
    let source = (before != after).then(|| render_unified(&before, &after));
    let kind = new.kind_name().into_owned();
    let old_kind = Some(old.kind_name().into_owned()).filter(|old| *old != kind);
    let all = compare == Compare::All;
    let properties = |cell: CellView<'a>| {
        cell.properties().map(|value| if value.is_empty() { &b"{}"[..] } else { value })
    };
    let (was, is) = (properties(old), properties(new));
    let [metadata, attachments] = [0, 1].map(|at| all && !is_same_value(was[at], is[at]));
    let lists = [old, new].map(|cell| cell.outputs_json().unwrap_or(b"[]"));
    let outputs = (all && !is_same_value(lists[0], lists[1])).then(|| {
        let [before, after] =
            lists.map(|list| read_digests(list).iter().map(|digest| digest.to_string()).collect());
        (before, after)
    });
    let count = all && old.execution_count() != new.execution_count();
    let is_same = source.is_none() && old_kind.is_none() && outputs.is_none();
    if is_same && !(metadata || attachments || count || moved) {
        return None;
    }
    let (old, new) = (old.name(), new.name());
    Some(CellDiff::Changed {
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
    })
}

/// True if two values are equal or differ only in layout.
fn is_same_value(one: &[u8], other: &[u8]) -> bool {
    let plain = |value: &[u8]| {
        let mut out = Vec::with_capacity(value.len());
        format_value(&mut out, value, &Indent::Inline, &Style::jupyter());
        out
    };
    one == other || plain(one) == plain(other)
}

/// Renders the changed lines as a unified diff with three lines of context.
fn render_unified(before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .missing_newline_hint(false)
        .to_string()
}

/// Lists the differences outside the cells, one line each.
pub fn notebook_changes(old: &Notebook, new: &Notebook) -> Vec<String> {
    let mut lines = Vec::new();
    let version = |notebook: &Notebook| {
        let part = |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
        format!("{}.{}", part(notebook.version().major), part(notebook.version().minor))
    };
    if version(old) != version(new) {
        lines.push(format!("nbformat: {} → {}", version(old), version(new)));
    }
    let (before, after) = (old.metadata_json(), new.metadata_json());
    let keys = |object: &[u8]| -> Vec<String> {
        let name = |member: json::Member| json::decode(member.key.of(object)).text.into_owned();
        json::members(object).into_iter().map(name).collect()
    };
    let mut names = keys(before);
    names.extend(keys(after));
    names.sort();
    names.dedup();
    for name in names {
        match (json::get(before, &name), json::get(after, &name)) {
            (None, Some(_)) => lines.push(format!("metadata {name}: added")),
            (Some(_), None) => lines.push(format!("metadata {name}: removed")),
            (Some(one), Some(other)) if !is_same_value(one, other) => {
                lines.push(format!("metadata {name}: changed"));
            }
            _ => {}
        }
    }
    lines
}
