//! A call in the form for programs of the compatible tools: cells, structured outputs, truncation (B:X-09,
//! B:X-09b).
//!
//! Owns the names of the fields, which are those of the source documents. The text for a model is in `answer.rs`.

use inkcell_engine::api::{CellReport, PythonReport, State};
use inkcell_engine::artifact::{ArtifactError, Scope};
use inkcell_engine::output::{ModelOutput, Notice, RichKind};
use serde_json::{Map, Value, json};

use super::Desk;
use super::facts::{Facts, TruncationFacts};
use crate::view::fold::cell::Status;

/// How much of a truncated output is in the details themselves.
const MAX_FULL_BYTES: u64 = 256 << 10;

/// What a tool calls the language of its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Language(pub(crate) &'static str);

/// The details of a call: its facts, and what the documents want besides.
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
    details
}

/// The fields that tell of output that did not fit.
pub(crate) fn add_truncation(desk: &Desk, output: &ModelOutput, details: &mut Map<String, Value>) {
    details.insert("truncation".to_owned(), json!(TruncationFacts::of(output)));
    let notices: Vec<String> = output.notices.iter().map(Notice::to_string).collect();
    details.insert("notice".to_owned(), notices.join("\n").into());
    let Some(stored) = &output.artifact else { return };
    let Ok(found) = desk.engine.artifacts().find_reference(&stored.id, Scope::All) else { return };
    details.insert("fullOutputPath".to_owned(), found.info().path.display().to_string().into());
    if found.info().bytes > MAX_FULL_BYTES {
        return;
    }
    let mut text = String::new();
    let read = found.cleaned().pass::<ArtifactError>(&mut |piece| {
        text.push_str(piece);
        Ok(())
    });
    if read.is_ok() {
        details.insert("fullOutput".to_owned(), text.into());
    }
}

/// Adds to the facts of a cell what else a record of it has.
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
