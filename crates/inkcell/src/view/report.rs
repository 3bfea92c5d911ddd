//! The result of an edit: each cell by position and id, its neighbours, and the new version.

use std::io;

use inkcell_engine::notebook::{
    Action, CellChange, CellDiff, Compare, EditNote, EditReport, Notebook, diff, first_line,
};
use inkcell_engine::{FileEffect, OpenNotebook, SavedChange};
use serde_json::{Value, json};

use crate::output::Output;
use crate::view::diff as render_diff;
use crate::words::{self, run::recovered};

/// Changes listed one by one. Further ones are only counted.
const MAX_LISTED: usize = 50;

/// Characters of a neighbour's first line, as in an outline.
const FIRST_LINE_CHARS: usize = 80;

pub(crate) fn write(output: &mut Output, saved: &SavedChange<EditReport>) -> io::Result<()> {
    if output.is_json() {
        return output.json(&as_json(saved));
    }
    lines(saved).iter().try_for_each(|line| output.line(line))
}

/// The differences that a change makes, or would make.
fn differences(saved: &SavedChange<EditReport>) -> Vec<CellDiff> {
    let empty = Notebook::empty();
    diff(saved.before.as_ref().unwrap_or(&empty), &saved.after, Compare::All)
}

/// The changes, then the new state of the file, or what would change in it. A single change is described in full.
pub(crate) fn lines(saved: &SavedChange<EditReport>) -> Vec<String> {
    // A copy is written even if no cell needed a change.
    let is_copy =
        saved.effect == FileEffect::Written && saved.value.changes.iter().all(is_unchanged);
    let changes = if is_copy { &[][..] } else { &saved.value.changes[..] };
    let mut lines = match changes {
        [] => Vec::new(),
        [only] => block(only, saved),
        several => rows(several, saved),
    };
    if saved.effect == FileEffect::WouldWrite {
        lines.push(words::edit::NOT_WRITTEN.to_owned());
        lines.extend(render_diff::lines(&differences(saved)));
        return lines;
    }
    if changes.is_empty() {
        let title = match saved.effect {
            FileEffect::Nothing => words::edit::UNCHANGED,
            _ => words::edit::WRITTEN,
        };
        lines.extend([title.to_owned(), format!("  Notebook: {}", saved.path)]);
    }
    lines.push(format!("  Version: {}", saved.version));
    lines.extend(file_notes(saved).into_iter().map(|note| format!("  Note: {note}")));
    if let Some(backup) = &saved.backup {
        lines.push(format!("  Backup: {}", backup.display()));
    }
    lines
}

/// Several changes with a line for each. The notebook is named once.
fn rows(changes: &[CellChange], saved: &SavedChange<EditReport>) -> Vec<String> {
    let title = match changes.iter().all(is_unchanged) {
        true => words::edit::UNCHANGED.to_owned(),
        false => words::edit::changes(changes.len()),
    };
    let mut lines = vec![title, format!("  Notebook: {}", saved.path)];
    lines.extend(changes.iter().take(MAX_LISTED).map(row));
    if changes.len() > MAX_LISTED {
        lines.push(format!("… and {} more changes", changes.len() - MAX_LISTED));
    }
    lines
}

fn row(change: &CellChange) -> String {
    let title = title(change);
    let title = title.trim_start_matches(['✓', '=', ' ']);
    let cell = match (change.action, change.index, &change.id) {
        (_, None, _) => String::new(),
        (Action::Deleted, Some(index), _) => format!(": {} (was at {index})", name(change)),
        (_, Some(index), Some(id)) => format!(": {index} {id}"),
        (_, Some(index), None) => format!(": {index}"),
    };
    let notes = notes(change).map(|note| format!("; {note}"));
    format!("  {title}{cell}{}", notes.collect::<String>())
}

fn is_unchanged(change: &CellChange) -> bool {
    change.notes.contains(&EditNote::Unchanged)
}

fn title(change: &CellChange) -> String {
    match change.action {
        _ if is_unchanged(change) => words::edit::UNCHANGED.to_owned(),
        action => words::edit::title(action),
    }
}

/// The id of a changed cell, or its position.
fn name(change: &CellChange) -> String {
    match (&change.id, change.index) {
        (Some(id), _) => id.clone(),
        (None, Some(index)) => index.to_string(),
        (None, None) => "all".to_owned(),
    }
}

fn notes(change: &CellChange) -> impl Iterator<Item = String> {
    change.notes.iter().filter_map(|note| words::edit::note(*note))
}

fn block(change: &CellChange, saved: &SavedChange<EditReport>) -> Vec<String> {
    let name = name(change);
    let index = change.index.map_or("-".to_owned(), |index| index.to_string());
    let kind = change.kind.map_or("?", |kind| kind.name());
    let mut lines = vec![title(change), format!("  Notebook: {}", saved.path)];
    match change.action {
        Action::Deleted => lines.push(format!("  {}", words::edit::removed(&name, &index))),
        Action::Inserted => {
            lines.push(format!("  New cell: {name} (index {index})"));
            lines.push(format!("  Type: {kind}"));
            lines.push(match neighbour(&saved.after, change.index, -1) {
                Some((above, id, _)) => {
                    format!("  Inserted after: {}", id.unwrap_or(above.to_string()))
                }
                None => "  Inserted at: start".to_owned(),
            });
        }
        _ if change.index.is_some() => {
            lines.push(format!("  Cell: {name} (index {index})"));
            lines.push(format!("  Type: {kind}"));
        }
        _ => {}
    }
    lines.extend(notes(change).map(|note| format!("  Note: {note}")));
    lines.extend(neighbours(change, &saved.after).into_iter().map(|(word, (at, id, first))| {
        let id = id.map(|id| format!(" {id}")).unwrap_or_default();
        format!("  {word}: {at}{id} {first}").trim_end().to_owned()
    }));
    lines
}

type Neighbour = (usize, Option<String>, String);

/// The cell next to a position: its own position, id and first line.
fn neighbour(notebook: &Notebook, index: Option<usize>, step: i64) -> Option<Neighbour> {
    let at = usize::try_from(i64::try_from(index?).ok()? + step).ok()?;
    let cell = notebook.cell(at)?;
    let first = first_line(&cell.source().text, FIRST_LINE_CHARS);
    Some((at, cell.id().map(|id| id.into_owned()), first))
}

/// The cells above and below. For a deleted cell, the cells now at that place.
fn neighbours(change: &CellChange, notebook: &Notebook) -> Vec<(&'static str, Neighbour)> {
    let below = if change.action == Action::Deleted { 0 } else { 1 };
    let found = [
        ("Above", neighbour(notebook, change.index, -1)),
        ("Below", neighbour(notebook, change.index, below)),
    ];
    found.into_iter().filter_map(|(word, cell)| Some((word, cell?))).collect()
}

/// Remarks about the file as a whole, as opposed to its cells.
fn file_notes(saved: &SavedChange<EditReport>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(version) = saved.merged {
        notes.push(words::edit::merged(&version.to_string()));
    }
    notes.extend(saved.notes.iter().map(words::file::note));
    notes
}

/// Prints that remark beside the answer, for a command that reads a notebook.
pub(crate) fn tell_recovered(opened: &OpenNotebook, output: &mut Output) {
    if let Some(cells) = opened.recovered {
        output.aside(&format!("note: {}", recovered(cells)));
    }
}

fn as_json(saved: &SavedChange<EditReport>) -> Value {
    let cell = |neighbour: Neighbour| json!({"index": neighbour.0, "id": neighbour.1, "first_line": neighbour.2});
    let changes: Vec<Value> = saved
        .value
        .changes
        .iter()
        .map(|change| {
            let mut row = json!({
                "op": change.op,
                "action": action_name(change.action),
                "index": change.index,
                "id": change.id,
                "type": change.kind.map(|kind| kind.name()),
                "unchanged": is_unchanged(change),
                "notes": notes(change).collect::<Vec<_>>(),
            });
            for (word, neighbour) in neighbours(change, &saved.after) {
                row[word.to_lowercase()] = cell(neighbour);
            }
            row
        })
        .collect();
    let mut answer = json!({
        "path": saved.path,
        "version": saved.version.to_string(),
        "written": saved.effect == FileEffect::Written,
        "merged_from": saved.merged.map(|version| version.to_string()),
        "cells": saved.after.len(),
        "changes": changes,
        "notes": file_notes(saved),
        "backup": saved.backup.as_ref().map(|path| path.display().to_string()),
    });
    if saved.effect == FileEffect::WouldWrite {
        answer["diff"] = render_diff::as_json(&differences(saved));
    }
    answer
}

/// The short form: the changed cells and the new version.
pub(crate) fn brief_json(saved: &SavedChange<EditReport>) -> Value {
    let changes = saved.value.changes.iter().take(MAX_LISTED).map(|change| {
        let action = action_name(change.action);
        let mut row = json!({"action": action, "index": change.index, "id": change.id});
        if is_unchanged(change) {
            row["unchanged"] = true.into();
        }
        row
    });
    let mut answer = json!({
        "path": saved.path,
        "version": saved.version.to_string(),
        "written": saved.effect == FileEffect::Written,
        "cells": saved.after.len(),
        "changes": changes.collect::<Vec<_>>(),
    });
    let notes = file_notes(saved);
    if !notes.is_empty() {
        answer["notes"] = notes.into();
    }
    if let Some(backup) = &saved.backup {
        answer["backup"] = backup.display().to_string().into();
    }
    answer
}

fn action_name(action: Action) -> &'static str {
    match action {
        Action::Replaced => "replaced",
        Action::Inserted => "inserted",
        Action::Deleted => "deleted",
        Action::Moved => "moved",
        Action::Retyped => "type changed",
        Action::Substituted { .. } => "substituted",
        Action::Renamed { .. } => "renamed",
        Action::Cleared => "cleared",
        Action::MetaChanged => "metadata changed",
        Action::OutputsSet => "outputs set",
    }
}
