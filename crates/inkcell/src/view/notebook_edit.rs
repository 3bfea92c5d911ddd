//! An edit of a notebook on a screen (B:T-01 to B:T-05): the request, its outcome, the cell.
//!
//! Owns the words and the length of a source preview. It must not know files or how edits are made.

use std::path::Path;

use inkcell_engine::feeds::{self, EditAction};
use inkcell_engine::notebook::CellKind;

use super::execution::cache::Cache;
use super::execution::output::{EXPANDS, more, text_line};
use super::execution::{Area, Expansion, markdown, plural};
use super::fold::lines::Lines;
use super::place;
use crate::view::paint::{Frame, Line, Role, Wrap, indented, wrap};

/// Rows of source in the collapsed view.
const PREVIEW: usize = 6;

/// Characters of a path before it is cut.
const PATH_CHARS: usize = 400;

/// Columns left of a source, so that source text cannot pass itself off as a remark.
const MARGIN: usize = 2;

/// The known parts of an edit. A call may lack some of its arguments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Edit {
    pub(crate) action: Option<EditAction>,
    /// The notebook's path, ready for display.
    pub(crate) path: Option<String>,
    pub(crate) index: Option<usize>,
    pub(crate) kind: Option<CellKind>,
    pub(crate) outcome: Outcome,
}

/// The outcome of an edit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Outcome {
    /// The outcome is not known yet.
    #[default]
    Pending,
    /// The cell after the edit, or before its deletion, and the number of cells.
    Done { source: String, total: usize },
    /// The reason for the failure.
    Failed(String),
}

impl Edit {
    /// Reads a published edit. The path becomes relative to the session's folder.
    pub(crate) fn of(edit: &feeds::NotebookEdit, session: &Path) -> Edit {
        Edit {
            action: Some(edit.action),
            path: Some(place::shown_path(&edit.path, session)),
            index: Some(edit.index),
            kind: edit.kind,
            outcome: Outcome::Done { source: edit.source.clone(), total: edit.total },
        }
    }

    /// Reads a published failure. The path becomes relative to the session's folder.
    pub(crate) fn of_failure(failure: &feeds::FailedEdit, session: &Path) -> Edit {
        Edit {
            action: failure.asked.action,
            path: Some(place::shown_path(&failure.path, session)),
            index: failure.asked.index,
            kind: failure.asked.kind,
            outcome: Outcome::Failed(failure.error.clone()),
        }
    }
}

pub(crate) struct NotebookEdit {
    edit: Edit,
    cache: Cache,
}

impl NotebookEdit {
    pub(crate) fn new(edit: Edit) -> NotebookEdit {
        NotebookEdit { edit, cache: Cache::default() }
    }

    pub(crate) fn frame(&mut self, area: Area) -> Frame {
        Frame { lines: self.rows(area).to_vec() }
    }

    pub(in crate::view) fn rows(&mut self, area: Area) -> &[Line] {
        let area = area.at_least_one_wide();
        let edit = &self.edit;
        // The outcome of an edit is final when it is published, so one revision is enough.
        self.cache.rows(area, 0, || rows(edit, area))
    }

    /// Counts renderings: one for each width and expansion (B:T-04).
    #[cfg(test)]
    pub(crate) fn renders(&self) -> u64 {
        self.cache.renders()
    }
}

fn rows(edit: &Edit, area: Area) -> Vec<Line> {
    let mut rows = wrap(&call(edit), area.width, Wrap::Words);
    match &edit.outcome {
        Outcome::Pending => {}
        Outcome::Done { source, total } => {
            rows.extend(wrap(&result(edit, source, *total), area.width, Wrap::Words));
            rows.extend(source_rows(edit.kind, source, area));
        }
        Outcome::Failed(text) => rows.extend(error(text, area.width)),
    }
    rows
}

fn or_unknown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

/// The line with the request (B:T-01).
fn call(edit: &Edit) -> Line {
    let action = edit.action.map(|action| match action {
        EditAction::Edit => "edit",
        EditAction::Insert => "insert",
        EditAction::Delete => "delete",
        EditAction::Move => "move",
    });
    let mut line = Line::of(Role::Title, "Notebook");
    line.push(Role::Plain, &format!(" {}", or_unknown(action)));
    let path = edit.path.as_deref().map(|path| path.chars().take(PATH_CHARS).collect::<String>());
    line.push(Role::Dim, &format!(" in {}", or_unknown(path).replace(['\n', '\r'], " ")));
    line.push(Role::Dim, &format!(" cell:{}", or_unknown(edit.index)));
    line.push(Role::Dim, &format!(" type:{}", or_unknown(edit.kind.map(CellKind::name))));
    line
}

/// The line with the result (B:T-02).
fn result(edit: &Edit, source: &str, total: usize) -> Line {
    let done = match edit.action {
        Some(EditAction::Edit) | None => "Edited",
        Some(EditAction::Insert) => "Inserted",
        Some(EditAction::Delete) => "Deleted",
        Some(EditAction::Move) => "Moved",
    };
    let kind = edit.kind.map_or("cell", CellKind::name);
    let lines = source.lines().count();
    let mut line = Line::of(Role::Success, "✓");
    line.push(Role::Plain, &format!(" {done} {kind} at index {}", or_unknown(edit.index)));
    line.push(Role::Dim, &format!(" · {lines} {} · {total} total", plural(lines, "line")));
    line
}

/// Renders the cell; a preview shows its beginning (B:T-03). Only prose is highlighted, since the language
/// of code is known to the notebook's kernel only.
fn source_rows(kind: Option<CellKind>, source: &str, area: Area) -> Vec<Line> {
    if source.trim().is_empty() {
        let empty = Line::of(Role::Dim, "(empty cell)");
        return wrap(&empty, area.width, Wrap::Words);
    }
    let margin = if area.width > MARGIN * 2 { MARGIN } else { 0 };
    let width = area.width - margin;
    let lines = Lines::of(source);
    let (shown, how) = match kind {
        Some(CellKind::Markdown) => (markdown::lines(lines.iter(), width), Wrap::Words),
        _ => (lines.iter().map(|text| text_line(Role::Plain, text)).collect(), Wrap::Anywhere),
    };
    let mut rows: Vec<Line> = Vec::new();
    let mut hidden = 0;
    for line in &shown {
        rows.extend(wrap(line, width, how));
        // A line that is cut counts as hidden.
        hidden += u64::from(rows.len() > PREVIEW);
    }
    let mut rows = indented(rows, margin);
    if area.expansion == Expansion::Collapsed && hidden > 0 {
        rows.truncate(PREVIEW);
        rows.extend(more(hidden, EXPANDS, area.width));
    }
    rows
}

/// The reason for a failure (B:T-05).
fn error(text: &str, width: usize) -> Vec<Line> {
    let text = text.trim();
    let text = text.strip_prefix("Error:").map_or(text, str::trim_start);
    let text = if text.is_empty() { "Unknown error" } else { text };
    let lines = Lines::of(text);
    let rows = lines.iter().enumerate().flat_map(|(at, text)| {
        let before = if at == 0 { "✗ Error: " } else { "" };
        let mut line = Line::of(Role::Error, before);
        line.push(Role::Error, text.text());
        if let Some(omitted) = text.omitted() {
            line.push(Role::Dim, &omitted);
        }
        wrap(&line, width, Wrap::Words)
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
