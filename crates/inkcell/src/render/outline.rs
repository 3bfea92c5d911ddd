//! The outline and the hits of a search.

use std::io;

use inkcell_engine::Opened;
use inkcell_engine::notebook::{Hit, OutlineCell, OutputDigest};
use serde_json::{Value, json};

use crate::output::{Output, count};

pub(crate) fn write(
    output: &mut Output,
    path: &str,
    opened: &Opened,
    cells: &[usize],
) -> io::Result<()> {
    if output.is_json() {
        let rows: Vec<Value> = rows(opened, cells).iter().map(json_row).collect();
        let mut answer = head_json(path, opened);
        answer["cells"] = rows.into();
        return output.json(&answer);
    }
    output.line(&head(path, opened))?;
    lines(opened, cells).iter().try_for_each(|line| output.line(line))
}

fn rows(opened: &Opened, cells: &[usize]) -> Vec<OutlineCell> {
    let cells = cells.iter().filter_map(|&index| opened.notebook.cell(index));
    cells.map(|cell| cell.outline()).collect()
}

/// One line a cell.
pub(crate) fn lines(opened: &Opened, cells: &[usize]) -> Vec<String> {
    let rows = rows(opened, cells);
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let ids = width(&mut rows.iter().map(|row| row.id.as_deref().unwrap_or("-").chars().count()));
    let kinds = width(&mut rows.iter().map(|row| row.kind.chars().count()));
    let digits = width(&mut rows.iter().map(|row| row.index.to_string().len()));
    let line = |row: &OutlineCell| {
        let id = row.id.as_deref().unwrap_or("-");
        let number = match (row.execution_count, row.kind.as_str()) {
            (Some(count), _) => format!("[{count}]"),
            (None, "code") => "[ ]".to_owned(),
            (None, _) => String::new(),
        };
        let unit = if row.lines == 1 { "line " } else { "lines" };
        let mut line = format!(
            "{:>digits$}  {id:<ids$}  {:<kinds$} {number:<5} {:>3} {unit}  {}",
            row.index, row.kind, row.lines, row.first_line
        );
        if !row.tags.is_empty() {
            line.push_str(&format!("  #{}", row.tags.join(" #")));
        }
        for digest in &row.outputs {
            line.push_str(&format!("  → {digest}"));
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The first line of an answer about a whole notebook.
pub(crate) fn head(path: &str, opened: &Opened) -> String {
    let version = opened.notebook.version();
    let part = |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
    let format = format!("{}.{}", part(version.major), part(version.minor));
    let cells = count(opened.notebook.len(), "cell");
    let mut line = format!("{path}  version {}  {cells}  nbformat {format}", opened.version);
    if let Some(language) = opened.notebook.language() {
        line.push_str(&format!("  {language}"));
    }
    if opened.notebook.read_only().is_some() {
        line.push_str("  (can be read, not edited)");
    }
    line
}

fn head_json(path: &str, opened: &Opened) -> Value {
    let version = opened.notebook.version();
    json!({
        "path": path,
        "version": opened.version.to_string(),
        "nbformat": version.major,
        "nbformat_minor": version.minor,
        "language": opened.notebook.language(),
        "editable": opened.notebook.read_only().is_none(),
        "count": opened.notebook.len(),
    })
}

fn json_row(row: &OutlineCell) -> Value {
    let outputs: Vec<Value> = row.outputs.iter().map(digest_json).collect();
    json!({
        "index": row.index,
        "id": row.id,
        "type": row.kind,
        "execution_count": row.execution_count,
        "lines": row.lines,
        "first_line": row.first_line,
        "tags": row.tags,
        "outputs": outputs,
    })
}

pub(crate) fn digest_json(digest: &OutputDigest) -> Value {
    match digest {
        OutputDigest::Stream { name, lines, bytes } => {
            json!({"kind": "stream", "name": name, "lines": lines, "bytes": bytes})
        }
        OutputDigest::Data { forms, is_result } => {
            let forms: Vec<Value> =
                forms.iter().map(|(mime, bytes)| json!({"mime": mime, "bytes": bytes})).collect();
            json!({"kind": if *is_result { "result" } else { "display" }, "forms": forms})
        }
        OutputDigest::Error { name, value } => {
            json!({"kind": "error", "name": name, "value": value})
        }
        OutputDigest::Other { kind } => json!({"kind": kind}),
    }
}

pub(crate) fn write_hits(
    output: &mut Output,
    path: &str,
    opened: &Opened,
    hits: &[Hit],
) -> io::Result<()> {
    let id = |hit: &Hit| hit_id(opened, hit);
    if output.is_json() {
        let rows: Vec<Value> = hits
            .iter()
            .map(|hit| {
                json!({"index": hit.cell, "id": id(hit), "output": hit.output, "line": hit.line, "text": hit.text})
            })
            .collect();
        let mut answer = head_json(path, opened);
        answer["hits"] = rows.into();
        return output.json(&answer);
    }
    hit_lines(opened, hits).iter().try_for_each(|line| output.line(line))?;
    output.flush()?;
    let found = count(hits.len(), "line");
    output.aside(&format!("{path}: version {}, {found} found", opened.version));
    Ok(())
}

fn hit_id(opened: &Opened, hit: &Hit) -> Option<String> {
    opened.notebook.cell(hit.cell).and_then(|cell| cell.id()).map(|id| id.into_owned())
}

/// One line a hit.
pub(crate) fn hit_lines(opened: &Opened, hits: &[Hit]) -> Vec<String> {
    let line = |hit: &Hit| {
        let place = hit.output.map(|at| format!(" output {at}")).unwrap_or_default();
        let id = hit_id(opened, hit).map(|id| format!(" {id}")).unwrap_or_default();
        format!("cell {}{id}{place} line {}: {}", hit.cell, hit.line, hit.text)
    };
    hits.iter().map(line).collect()
}
