//! Cells with their outputs, for reading. The text starts with a line that is not a cell marker, so it
//! can never be written back by mistake.

use std::io;

use inkcell_engine::OpenNotebook;
use inkcell_engine::notebook::{CellKind, CellView, Outputs};
use serde_json::{Value, json};

use super::answer::{self, Shape};
use super::paint::Role;
use crate::output::{Output, cleaned};
use crate::view::{outline, source};

pub(crate) fn write(
    output: &mut Output,
    path: &str,
    opened: &OpenNotebook,
    cells: &[usize],
    outputs: Outputs,
) -> io::Result<()> {
    if output.is_json() {
        let cells = cells.iter().filter_map(|&index| opened.notebook.cell(index));
        let rows: Vec<Value> = cells.map(|cell| json_cell(cell, outputs)).collect();
        let version = opened.version.to_string();
        return output.json(&json!({"path": path, "version": version, "cells": rows}));
    }
    if !answer::is_painted(output) {
        output.line(&outline::head(path, opened))?;
        return lines(opened, cells, outputs).iter().try_for_each(|line| output.line(line));
    }
    answer::write(output, Shape::Sentence, &[(Role::Plain, &outline::head(path, opened))])?;
    let is_python = opened.notebook.language().is_none_or(|language| language == "python");
    parts(opened, cells, outputs).iter().try_for_each(|part| paint(output, part, is_python))
}

/// Writes a part of an answer with its looks.
fn paint(output: &mut Output, part: &Part, is_python: bool) -> io::Result<()> {
    match part {
        Part::Head(head) => {
            answer::write(output, Shape::Text, &[])?;
            answer::write(output, Shape::Sentence, &[(Role::Title, head)])
        }
        Part::Source(kind, text) => {
            let body: Vec<&str> = text.lines().collect();
            answer::paint(output, Shape::Text, &source::cell(*kind, &body, is_python))
        }
        Part::Digest(line) => answer::write(output, Shape::Sentence, &[(Role::Dim, line)]),
        Part::Output(line) => {
            answer::write(output, Shape::Text, &[(Role::Dim, MARGIN), (Role::Plain, line)])
        }
    }
}

/// The margin of an output.
const MARGIN: &str = "   │ ";

/// A part of a cell.
enum Part {
    Head(String),
    Source(Option<CellKind>, String),
    Digest(String),
    Output(String),
}

/// The cells, with a blank line before each.
pub(crate) fn lines(opened: &OpenNotebook, cells: &[usize], outputs: Outputs) -> Vec<String> {
    let mut lines = Vec::new();
    for part in parts(opened, cells, outputs) {
        match part {
            Part::Head(head) => lines.extend([String::new(), head]),
            Part::Source(_, text) => lines.extend(text.lines().map(str::to_owned)),
            Part::Digest(line) => lines.push(line),
            Part::Output(line) => lines.push(format!("{MARGIN}{line}")),
        }
    }
    lines
}

fn parts(opened: &OpenNotebook, cells: &[usize], outputs: Outputs) -> Vec<Part> {
    let mut parts = Vec::new();
    for cell in cells.iter().filter_map(|&index| opened.notebook.cell(index)) {
        let id = cell.id().map(|id| format!(" id:{id}")).unwrap_or_default();
        let count = cell.execution_count().map(|count| format!(" [{count}]")).unwrap_or_default();
        let head = format!("── cell {} {}{id}{count}", cell.index(), cell.kind_name());
        parts.push(Part::Head(head));
        parts.push(Part::Source(cell.kind(), cell.source().text.into_owned()));
        for (at, view) in cell.outputs().into_iter().enumerate() {
            parts.push(Part::Digest(format!("   → output {at}: {}", view.digest())));
            let text = view.text().filter(|_| outputs == Outputs::Full).unwrap_or_default();
            let text = cleaned(&text);
            parts.extend(text.lines().map(|line| Part::Output(line.to_owned())));
        }
    }
    parts
}

fn json_cell(cell: CellView<'_>, outputs: Outputs) -> Value {
    let rows: Vec<Value> = cell
        .outputs()
        .into_iter()
        .map(|view| {
            let mut value = outline::digest_json(&view.digest());
            if outputs == Outputs::Full {
                value["text"] = view.text().map(|text| text.into_owned()).into();
            }
            value
        })
        .collect();
    json!({
        "index": cell.index(),
        "id": cell.id(),
        "type": cell.kind_name(),
        "execution_count": cell.execution_count(),
        "source": cell.source().text,
        "outputs": rows,
    })
}
