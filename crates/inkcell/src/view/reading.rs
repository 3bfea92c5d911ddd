//! Cells with their outputs, for reading. The text starts with a line that is not a cell marker, so it
//! can never be written back by mistake.

use std::io;

use inkcell_engine::OpenNotebook;
use inkcell_engine::notebook::{CellView, Outputs};
use serde_json::{Value, json};

use crate::output::{Output, cleaned};
use crate::view::outline;

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
    output.line(&outline::head(path, opened))?;
    lines(opened, cells, outputs).iter().try_for_each(|line| output.line(line))
}

/// The cells, with a blank line before each.
pub(crate) fn lines(opened: &OpenNotebook, cells: &[usize], outputs: Outputs) -> Vec<String> {
    let mut lines = Vec::new();
    for cell in cells.iter().filter_map(|&index| opened.notebook.cell(index)) {
        let id = cell.id().map(|id| format!(" id:{id}")).unwrap_or_default();
        let count = cell.execution_count().map(|count| format!(" [{count}]")).unwrap_or_default();
        lines.push(String::new());
        lines.push(format!("── cell {} {}{id}{count}", cell.index(), cell.kind_name()));
        lines.extend(cell.source().text.lines().map(str::to_owned));
        for (at, view) in cell.outputs().into_iter().enumerate() {
            lines.push(format!("   → output {at}: {}", view.digest()));
            let text = view.text().filter(|_| outputs == Outputs::Full).unwrap_or_default();
            let text = cleaned(&text);
            lines.extend(text.lines().map(|line| format!("   │ {line}")));
        }
    }
    lines
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
