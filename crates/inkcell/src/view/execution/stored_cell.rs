//! A cell of a notebook as rows: its source and its stored outputs, and the same cell while it runs.
//!
//! Owns how much of a file's cell is shown. The code that folds events of a running cell also folds stored outputs,
//! so that a cell looks the same before and after a save. It must not know keys or the position of the rows on a
//! screen.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use inkcell_engine::kernel::{ExecEvent, MimeBundle, MimeData, Outcome, PyError, StreamName};
use inkcell_engine::notebook::{CellKind, OutputView};
use serde_json::Value;

use super::super::image::Gallery;
use super::block::{PREVIEW, remarks};
use super::output::{self, EXPANDS, Layout, more, remark};
use super::{Area, Expansion, highlight, markdown, status};
use crate::output::cleaned;
use crate::view::fold::cell::{CallCell, Page, Status};
use crate::view::fold::lines::Lines;
use crate::view::fold::live_output::{Content, HELD_BYTES, HELD_LINES, Item, LiveOutput};
use crate::view::paint::{Line, Role, Wrap, wrap};
use crate::words;

/// Lines of source in the collapsed view (B:T-03).
const SOURCE_PREVIEW: usize = 6;

/// Bytes folded from the end of a longer stored text. No view ever shows more.
const FOLDED_BYTES: usize = 512 * 1024;

/// Language of a source, for highlighting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    Python,
    Markdown,
    /// Plain text without highlighting.
    Other,
}

impl Language {
    /// The language of a cell of this kind. Code is in the language that the notebook names.
    pub(crate) fn of(kind: Option<CellKind>, notebook: Option<&str>) -> Language {
        match kind {
            Some(CellKind::Markdown) => Language::Markdown,
            Some(CellKind::Code) => match notebook {
                None | Some("python" | "ipython" | "python3") => Language::Python,
                Some(_) => Language::Other,
            },
            Some(CellKind::Raw) | None => Language::Other,
        }
    }
}

/// Highlights text, one line for each line of the source. Markdown stays as written.
pub(crate) fn written(text: &str, language: Language) -> Vec<Line> {
    match language {
        Language::Python => highlight::python(text),
        Language::Markdown | Language::Other => {
            text.split('\n').map(|line| Line::of(Role::Plain, line)).collect()
        }
    }
}

/// Renders a source, cut to its first rows in the collapsed view.
pub(crate) fn source_rows(text: &str, language: Language, area: Area) -> Vec<Line> {
    let width = area.width.max(1);
    if text.trim().is_empty() {
        return remark(Role::Dim, "(empty cell)", width);
    }
    let lines = text.split('\n').count();
    let shown = match area.expansion {
        Expansion::Expanded => text,
        Expansion::Collapsed => first_lines(text, SOURCE_PREVIEW),
    };
    let mut rows: Vec<Line> = Vec::new();
    let (made, how) = match language {
        Language::Markdown => (markdown::lines(Lines::of(shown).iter(), width), Wrap::Words),
        _ => (written(shown, language), Wrap::Anywhere),
    };
    let mut hidden = lines - shown.split('\n').count();
    for line in &made {
        rows.extend(wrap(line, width, how));
        // Long lines wrap, and every row counts against the preview. A line that is cut counts as hidden.
        let is_cut = area.expansion == Expansion::Collapsed && rows.len() > SOURCE_PREVIEW;
        hidden += usize::from(is_cut);
    }
    if area.expansion == Expansion::Collapsed {
        rows.truncate(SOURCE_PREVIEW);
    }
    if hidden > 0 {
        rows.extend(more(hidden as u64, EXPANDS, width));
    }
    rows
}

fn first_lines(text: &str, count: usize) -> &str {
    text.match_indices('\n').nth(count - 1).map_or(text, |(at, _)| &text[..at])
}

/// Settings for the rendering of outputs.
#[derive(Clone, Copy)]
pub(crate) struct Showing<'a> {
    pub(crate) area: Area,
    /// Draws pictures. `None` for a terminal without pictures.
    pub(crate) gallery: Option<&'a Gallery>,
    /// A page of a long text, shown in place of the text in the expanded view (B:T-11).
    pub(crate) page: Option<&'a Page>,
}

/// The text of stored outputs, if it is longer than any single view shows.
pub(crate) fn long_text(outputs: &[OutputView<'_>]) -> Option<String> {
    // Cheap first test: JSON escapes make a text longer in the file, never shorter.
    if outputs.iter().map(|output| output.json().len()).sum::<usize>() <= HELD_LINES {
        return None;
    }
    let mut text = String::new();
    for event in outputs.iter().flat_map(events) {
        if let ExecEvent::Stream { data, .. } = event {
            text.push_str(&String::from_utf8_lossy(&data));
        }
    }
    let text = cleaned(&text);
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    (text.len() > HELD_BYTES || lines > HELD_LINES).then_some(text)
}

/// Renders stored outputs, and finds out whether one is an exception. Returns an empty list if there are none.
pub(crate) fn output_rows(outputs: &[OutputView<'_>], showing: Showing<'_>) -> (Vec<Line>, Status) {
    let mut live = LiveOutput::default();
    let mut status = Status::Complete;
    for output in outputs {
        for event in events(output) {
            if matches!(event, ExecEvent::Finished(Outcome::Error(_))) {
                status = Status::Error;
            }
            match event {
                ExecEvent::Stream { name, data } => stream(name, &data, &mut live),
                event => live.event(&event),
            }
        }
    }
    (content_rows(live.content(), status, showing), status)
}

fn content_rows(mut content: Content, status: Status, showing: Showing<'_>) -> Vec<Line> {
    let area = showing.area.at_least_one_wide();
    let layout = Layout { area, preview: PREVIEW, gallery: showing.gallery, more: EXPANDS };
    let mut rows = Vec::new();
    if let Some(page) = showing.page.filter(|_| area.expansion == Expansion::Expanded) {
        rows.extend(output::page_rows(page, status, layout));
        content.items.retain(|item| matches!(item, Item::Rich(_) | Item::Traceback(_)));
    }
    rows.extend(output::rows(&content, status, layout));
    rows.extend(status::lines(&content.statuses, area.expansion, area.width));
    rows
}

/// Converts a stored output into the events that produced it.
fn events(output: &OutputView<'_>) -> Vec<ExecEvent> {
    // Python accepts JSON that serde rejects. Use only the text of such an output.
    let Ok(value) = serde_json::from_slice::<Value>(output.json()) else {
        let text = output.text().map(std::borrow::Cow::into_owned);
        let text = text.unwrap_or_else(|| output.digest().to_string());
        return vec![written_to(StreamName::Stdout, text)];
    };
    match value["output_type"].as_str().unwrap_or_default() {
        "stream" => {
            let name = match value["name"].as_str() {
                Some("stderr") => StreamName::Stderr,
                _ => StreamName::Stdout,
            };
            vec![written_to(name, joined(&value["text"]))]
        }
        "display_data" | "execute_result" => {
            vec![ExecEvent::Display { id: None, data: bundle(&value["data"]) }]
        }
        "error" => {
            let lines = value["traceback"].as_array().map(Vec::as_slice).unwrap_or_default();
            let traceback = lines.iter().map(joined).collect();
            vec![ExecEvent::Finished(Outcome::Error(PyError {
                name: joined(&value["ename"]),
                value: joined(&value["evalue"]),
                traceback,
                plain: Vec::new(),
            }))]
        }
        _ => vec![written_to(StreamName::Stdout, output.digest().to_string())],
    }
}

fn written_to(name: StreamName, text: String) -> ExecEvent {
    ExecEvent::Stream { name, data: text.into() }
}

/// Folds the text of a stream. Of a long text only the end is folded; the rest is counted.
fn stream(name: StreamName, data: &Bytes, live: &mut LiveOutput) {
    let far = data.len().saturating_sub(FOLDED_BYTES);
    let line_end = data[far..].iter().position(|byte| *byte == b'\n');
    let cut = if far == 0 { 0 } else { line_end.map_or(0, |at| far + at + 1) };
    live.left_out(&data[..cut]);
    live.event(&ExecEvent::Stream { name, data: data.slice(cut..) });
}

/// A string, or the concatenation of a list of strings.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().map(joined).collect(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The forms of a stored display, as a kernel sends them.
pub(crate) fn bundle(data: &Value) -> MimeBundle {
    let forms = data.as_object().into_iter().flatten().map(|(mime, value)| {
        let is_picture = mime.starts_with("image/") && mime != "image/svg+xml";
        let form = match value {
            Value::String(_) | Value::Array(_) if is_picture => {
                let text: String = joined(value).split_whitespace().collect();
                match BASE64_STANDARD.decode(text) {
                    Ok(bytes) => MimeData::Binary(bytes.into()),
                    Err(_) => MimeData::Text(words::output::BAD_PICTURE.to_owned()),
                }
            }
            value if mime == "application/json" || mime.ends_with("+json") => {
                MimeData::Json(value.to_string())
            }
            value => MimeData::Text(joined(value)),
        };
        (mime.clone(), form)
    });
    MimeBundle { data: forms.collect(), metadata: String::new() }
}

/// Renders the output of a cell that runs or has just finished, then the remarks about it.
pub(crate) fn live_rows(cell: &CallCell, showing: Showing<'_>) -> Vec<Line> {
    let mut rows = content_rows(cell.content(), cell.status(), showing);
    rows.extend(remarks(cell, showing.area.width.max(1)));
    rows
}

#[cfg(test)]
#[path = "stored_cell/tests.rs"]
mod tests;
