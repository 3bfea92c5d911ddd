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
    let rows =
        cells.iter().filter_map(|&index| opened.notebook.cell(index)).map(|cell| cell.outline());
    if output.is_json() {
        let rows: Vec<Value> = rows.map(|row| json_row(&row)).collect();
        let mut answer = head_json(path, opened);
        answer["cells"] = rows.into();
        return output.json(&answer);
    }
    output.line(&head(path, opened))?;
    let rows: Vec<OutlineCell> = rows.collect();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let ids = width(&mut rows.iter().map(|row| row.id.as_deref().unwrap_or("-").chars().count()));
    let kinds = width(&mut rows.iter().map(|row| row.kind.chars().count()));
    let digits = width(&mut rows.iter().map(|row| row.index.to_string().len()));
    for row in &rows {
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
        output.line(line.trim_end())?;
    }
    Ok(())
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
    let id = |hit: &Hit| {
        opened.notebook.cell(hit.cell).and_then(|cell| cell.id()).map(|id| id.into_owned())
    };
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
    for hit in hits {
        let place = match hit.output {
            Some(at) => format!(" output {at}"),
            None => String::new(),
        };
        let id = id(hit).map(|id| format!(" {id}")).unwrap_or_default();
        output.line(&format!("cell {}{id}{place} line {}: {}", hit.cell, hit.line, hit.text))?;
    }
    output.flush()?;
    let found = count(hits.len(), "line");
    output.aside(&format!("{path}: version {}, {found} found", opened.version));
    Ok(())
}
