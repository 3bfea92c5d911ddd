//! A change of a notebook on a screen (B:T-01 to B:T-05): what was asked, what became of it, the cell.
//!
//! Owns the words and how much of a source is shown. It must not know files or how edits are made.

use std::path::Path;

use inkcell_engine::feeds::{self, EditAction};
use inkcell_engine::notebook::CellKind;

use super::execution::cache::Cache;
use super::execution::frame::{Frame, Line, Role};
use super::execution::lines::{Lines, TextLine};
use super::execution::output::{EXPANDS, more};
use super::execution::width::{Wrap, indented, wrap};
use super::execution::{Area, Expansion, markdown, plural};
use super::place;

/// Rows of a source when collapsed.
const PREVIEW: usize = 6;

/// Characters of a path that are shown.
const PATH_CHARS: usize = 400;

/// Columns left of a source, so that none can pass itself off as what is said about it.
const MARGIN: usize = 2;

/// What is known of a change; a call may come with less than it should have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Edit {
    pub(crate) action: Option<EditAction>,
    /// The notebook, as it is to be shown.
    pub(crate) path: Option<String>,
    pub(crate) index: Option<usize>,
    pub(crate) kind: Option<CellKind>,
    pub(crate) outcome: Outcome,
}

/// What became of a change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Outcome {
    /// Not known yet.
    #[default]
    Pending,
    /// The cell as it is now, or was before it was deleted, and how many there are.
    Done { source: String, total: usize },
    /// Why it was not made.
    Failed(String),
}

impl Edit {
    /// A change as it is published, seen from a session's folder.
    pub(crate) fn of(edit: &feeds::NotebookEdit, session: &Path) -> Edit {
        Edit {
            action: Some(edit.action),
            path: Some(place::shown_path(&edit.path, session)),
            index: Some(edit.index),
            kind: edit.kind,
            outcome: Outcome::Done { source: edit.source.clone(), total: edit.total },
        }
    }

    /// A change that failed, as it is published, seen from a session's folder.
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

/// Shows a change.
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

    pub(in crate::render) fn rows(&mut self, area: Area) -> &[Line] {
        let area = area.at_least_one_wide();
        let edit = &self.edit;
        // The outcome of a change is known when it is published, and stays the same.
        self.cache.rows(area, 0, || rows(edit, area))
    }

    /// How often rows were made: once for a width and a state of expansion (B:T-04).
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

/// What was asked (B:T-01).
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

/// What was done (B:T-02).
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

/// The cell, of which a preview shows the beginning (B:T-03). Only prose has a language here: what a cell of
/// code is written in, the notebook's kernel knows.
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
        _ => (lines.iter().map(plain_line).collect(), Wrap::Anywhere),
    };
    let rows: Vec<Line> = shown.iter().flat_map(|line| wrap(line, width, how)).collect();
    let mut rows = indented(rows, margin);
    if area.expansion == Expansion::Collapsed && rows.len() > PREVIEW {
        let hidden = rows.split_off(PREVIEW).len();
        rows.extend(more(hidden, EXPANDS, area.width));
    }
    rows
}

fn plain_line(text: &TextLine) -> Line {
    let mut line = Line::of(Role::Plain, text.text());
    if let Some(omitted) = text.omitted() {
        line.push(Role::Dim, &omitted);
    }
    line
}

/// Why nothing was done (B:T-05).
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
