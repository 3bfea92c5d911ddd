//! A call in the form for programs of the compatible tools: cells, structured outputs, truncation (B:X-09,
//! B:X-09b).
//!
//! Owns the names of the fields, which are those of the source documents. The text for a model is in `answer.rs`.

use inkcell_engine::api::{CellReport, PythonReport, State};
use inkcell_engine::artifact::{ArtifactError, Scope};
use inkcell_engine::output::{ModelOutput, Notice, RichKind};
use serde_json::{Map, Value, json};

use super::facts::{Facts, TruncationFacts, leave_out_cells};
use super::{Desk, weight};
use crate::view::fold::cell::Status;
use crate::view::reply::{Room, cut};

/// The most bytes of the form for programs.
const MOST_BYTES: usize = 100 << 10;

/// How much of a truncated output is in the details themselves.
const MAX_FULL_BYTES: u64 = MOST_BYTES as u64;

/// The least that is left of the output and of the code of a cell.
const LEAST_CELL_BYTES: usize = 128;

/// A tool's name for the language of its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Language(pub(crate) &'static str);

/// The details of a call: its facts, and the other fields of the source documents.
pub(crate) fn of(desk: &Desk, report: &PythonReport, facts: &Facts, language: Language) -> Value {
    let outputs = || report.cells.iter().map(|cell| &cell.output);
    let mut details = json!(facts);
    if let Some(Value::Array(records)) = details.get_mut("cells") {
        for (record, cell) in records.iter_mut().zip(&report.cells) {
            if let Value::Object(record) = record {
                complete(record, cell, language);
            }
        }
    }
    if let Value::Object(details) = &mut details {
        let lists: [(&str, Vec<Value>); 3] = [
            ("jsonOutputs", outputs().flat_map(json_outputs).collect()),
            ("images", outputs().flat_map(images).collect()),
            ("statusEvents", outputs().flat_map(status_events).collect()),
        ];
        details.extend(lists.map(|(name, list)| (name.to_owned(), list.into())));
    }
    // The last truncated cell is the one whose text is cut at the end of the answer.
    let truncated = outputs().rfind(|output| output.is_truncated);
    if let (Some(output), Value::Object(details)) = (truncated, &mut details) {
        add_truncation(desk, output, details);
    }
    bounded(&mut details);
    details
}

/// Makes the form as small as the text of a call may be, and says what is left out.
fn bounded(details: &mut Value) {
    let Value::Object(fields) = details else { return };
    let name = "jsonOutputs";
    if weight::of_json(fields) > MOST_BYTES && fields.shift_remove(name).is_some() {
        note_left_out(fields, name);
    }
    let cells = details["cells"].as_array().map_or(0, Vec::len);
    let mut each = MOST_BYTES / cells.max(1);
    while weight::of_json(details) > MOST_BYTES && each > LEAST_CELL_BYTES {
        let records = details["cells"].as_array_mut().into_iter().flatten();
        for text in records.flat_map(|record| record.as_object_mut()).flat_map(texts) {
            *text = cut(std::mem::take(text), Room { max_bytes: each, is_end: false });
        }
        each /= 2;
    }
    if let Some(left_out) = leave_out_cells(details, MOST_BYTES) {
        details["cellsLeftOut"] = json!({"count": left_out.count});
    }
}

/// The texts of a cell's record that may be long.
fn texts(record: &mut Map<String, Value>) -> impl Iterator<Item = &mut String> {
    let is_long = |name: &str| matches!(name, "output" | "code");
    record.iter_mut().filter(move |(name, _)| is_long(name)).filter_map(|(_, value)| match value {
        Value::String(text) => Some(text),
        _ => None,
    })
}

fn note_left_out(fields: &mut Map<String, Value>, name: &str) {
    match fields.get_mut("leftOut") {
        Some(Value::Array(names)) => names.push(name.into()),
        _ => drop(fields.insert("leftOut".to_owned(), json!([name]))),
    }
}

/// The fields that tell of output that did not fit.
pub(crate) fn add_truncation(desk: &Desk, output: &ModelOutput, details: &mut Map<String, Value>) {
    details.insert("truncation".to_owned(), json!(TruncationFacts::as_counted(output)));
    let notices: Vec<String> = output.notices.iter().map(Notice::to_string).collect();
    details.insert("notice".to_owned(), notices.join("\n").into());
    let Some(stored) = &output.artifact else { return };
    let Ok(found) = desk.engine.artifacts().find_reference(&stored.id, Scope::All) else { return };
    details.insert("fullOutputPath".to_owned(), found.info().path.display().to_string().into());
    if found.info().bytes > MAX_FULL_BYTES {
        return note_left_out(details, "fullOutput");
    }
    let mut text = String::new();
    let read = found.cleaned().pass::<ArtifactError>(&mut |piece| {
        text.push_str(piece);
        Ok(())
    });
    let has_room = weight::of_text(&text) + weight::of_json(details) <= MOST_BYTES;
    match has_room {
        true if read.is_ok() => drop(details.insert("fullOutput".to_owned(), text.into())),
        true => {}
        false => note_left_out(details, "fullOutput"),
    }
}

/// Adds the other fields of a cell's record to its facts.
fn complete(record: &mut Map<String, Value>, cell: &CellReport, language: Language) {
    let status = match Status::of(cell.state) {
        Status::Pending => "pending",
        Status::Running => "running",
        Status::Complete => "complete",
        Status::Error => "error",
    };
    let fields: [(&str, Value); 7] = [
        ("title", cell.source.title.clone().into()),
        ("code", cell.source.code.clone().into()),
        ("language", language.0.into()),
        ("output", cell.output.text().into()),
        ("status", status.into()),
        ("statusEvents", status_events(&cell.output).into()),
        ("hasMarkdown", cell.output.has_markdown.into()),
    ];
    record.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    // A cell that was stopped has no exit code (B:X-20).
    let exit = match cell.state {
        State::Done => Some(0),
        State::Error | State::InputRefused | State::KernelDied => Some(1),
        _ => None,
    };
    if let Some(exit) = exit {
        record.insert("exitCode".to_owned(), exit.into());
    }
    if cell.output.stdin_requested {
        record.insert("stdinRequested".to_owned(), true.into());
    }
}

fn status_events(output: &ModelOutput) -> Vec<Value> {
    let events = output.rich.iter().filter_map(|item| match &item.kind {
        RichKind::Status(text) => serde_json::from_str(text).ok(),
        _ => None,
    });
    events.collect()
}

fn json_outputs(output: &ModelOutput) -> Vec<Value> {
    let values = output.rich.iter().filter_map(|item| match &item.kind {
        RichKind::Json(json) => Some(match json.raw.as_deref().map(serde_json::from_str) {
            Some(Ok(value)) => value,
            // Data that JSON cannot hold, or that is too large, is replaced by the id of its artifact.
            _ => json!({"artifact": json.artifact.as_ref().map(|stored| stored.id.clone())}),
        }),
        _ => None,
    });
    values.collect()
}

fn images(output: &ModelOutput) -> Vec<Value> {
    let images = output.rich.iter().filter_map(|item| match &item.kind {
        RichKind::Image(image) => Some(json!({
            "mimeType": image.mime,
            "artifactId": image.artifact.as_ref().map(|stored| stored.id.clone()),
        })),
        _ => None,
    });
    images.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many cells there are and whatever they wrote, the form is no larger than a call may be.
    #[test]
    fn a_form_that_is_too_large_is_cut() {
        for (cells, bytes) in [(1, 500_000), (30, 50_000), (3000, 100), (20_000, 0)] {
            let text = "x\n".repeat(bytes / 2);
            let cell = json!({"index": 0, "output": text, "code": text, "status": "complete"});
            let mut form = json!({
                "isError": false, "cells": vec![cell; cells], "jsonOutputs": [text],
            });
            bounded(&mut form);
            let size = weight::of_json(&form);
            assert!(size <= MOST_BYTES, "{size} bytes of {cells} cells");
            let kept = form["cells"].as_array().unwrap().len();
            let left_out = form["cellsLeftOut"]["count"].as_u64().unwrap_or_default();
            assert_eq!(kept + left_out as usize, cells);
            assert!(form["cells"][0]["status"] == "complete", "{cells}");
        }
        let mut small = json!({"cells": [{"output": "x"}], "jsonOutputs": [1]});
        bounded(&mut small);
        assert_eq!(small, json!({"cells": [{"output": "x"}], "jsonOutputs": [1]}));
    }
}
