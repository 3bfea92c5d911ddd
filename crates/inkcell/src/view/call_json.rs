//! A finished call as one JSON object.
//!
//! Owns the object. Outputs have their format from notebooks. They are collected here and not by `fold`, which keeps the
//! end of an output in the form of a screen; a program gets all of it, up to a bound. States come from the report.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_engine::api::CellReport;
use inkcell_engine::kernel::{ExecEvent, MimeBundle, MimeData, PyError};
use serde_json::{Map, Value, json};

use super::bounded_outputs::BoundedOutputs;
use super::display;
use super::ending::{Summary, exception, status};
use super::fold::CallNews;
use super::live::Show;
use crate::output::{Stream, plain_json};
use crate::words;
use crate::words::step::Audience;

/// The outputs of a call's cells so far.
#[derive(Default)]
pub(crate) struct CallOutputs {
    cells: Vec<RecordedCell>,
    notices: Vec<String>,
}

#[derive(Default)]
struct RecordedCell {
    outputs: BoundedOutputs,
    /// The next output clears all earlier ones.
    is_to_be_cleared: bool,
}

impl RecordedCell {
    /// Starts another output, after a pending clear.
    fn next(&mut self) -> &mut BoundedOutputs {
        if std::mem::take(&mut self.is_to_be_cleared) {
            self.outputs.clear();
        }
        &mut self.outputs
    }

    fn exec(&mut self, event: &ExecEvent) {
        match event {
            ExecEvent::Stream { name, data } => self.next().stream(*name, data),
            // A helper's message to a watching program is not output of the cell.
            ExecEvent::Display { data, .. } if display::is_status(data) => {}
            ExecEvent::Display { id, data } => {
                self.next().display(id.clone(), bundle("display_data", data), size(data));
            }
            // An update may concern a display in any cell, so it is handled elsewhere.
            ExecEvent::UpdateDisplay { .. } => {}
            ExecEvent::Result { count, id, data } => {
                let mut value = bundle("execute_result", data);
                value["execution_count"] = json!(count);
                self.next().display(id.clone(), value, size(data));
            }
            ExecEvent::ClearOutput { wait: true } => self.is_to_be_cleared = true,
            ExecEvent::ClearOutput { wait: false } => self.outputs.clear(),
            ExecEvent::Started { .. }
            | ExecEvent::Names(_)
            | ExecEvent::Widgets(_)
            | ExecEvent::InputRequested { .. }
            | ExecEvent::Finished(_) => {}
        }
    }
}

impl CallOutputs {
    fn cell(&mut self, number: usize) -> &mut RecordedCell {
        if self.cells.len() <= number {
            self.cells.resize_with(number + 1, RecordedCell::default);
        }
        &mut self.cells[number]
    }

    fn to_json(&self, summary: &Summary) -> Value {
        let mut notes = [self.notices.clone(), summary.notes()].concat();
        let left_out: u64 = self.cells.iter().map(|cell| cell.outputs.left_out()).sum();
        if left_out > 0 {
            notes.push(words::output::middle_left_out(left_out));
        }
        let none = RecordedCell::default();
        let cells = summary.report.cells.iter().enumerate().map(|(number, report)| {
            cell_json(report, &self.cells.get(number).unwrap_or(&none).outputs)
        });
        json!({
            "status": summary.status(),
            "message": summary.message(),
            "hint": Audience::Person.about_missed(&summary.report),
            "notes": notes,
            "cells": cells.collect::<Vec<_>>(),
            "duration_seconds": summary.took.as_secs_f64(),
            "timeout_seconds": summary.timeout_seconds(),
            "python": summary.python,
            "death": summary.death_json(),
        })
    }
}

/// A cell as JSON: its outputs in notebook format, and the bounded text that a model or a log would get.
fn cell_json(report: &CellReport, outputs: &BoundedOutputs) -> Value {
    let mut outputs = outputs.to_json();
    outputs.extend(exception(report).map(error));
    let output = &report.output;
    let counts = &output.counts;
    json!({
        "title": report.source.title,
        "status": status(report.state),
        "execution_count": report.count,
        "duration_seconds": report.duration.as_secs_f64(),
        "outputs": outputs,
        "text": output.text(),
        "is_truncated": output.is_truncated,
        "counts": {
            "bytes": counts.total_bytes,
            "lines": counts.total_lines,
            "shown_bytes": counts.output_bytes,
            "shown_lines": counts.output_lines,
        },
        "artifact": output.artifact.as_ref().map(|stored| format!("artifact://{}", stored.id)),
        "notices": output.notices.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

impl Show for CallOutputs {
    fn news(&mut self, news: CallNews<'_>) -> io::Result<()> {
        match news {
            CallNews::Event(_, ExecEvent::UpdateDisplay { id, data }) => {
                let new = bundle("display_data", data);
                self.cells.iter_mut().for_each(|cell| cell.outputs.update(id, &new));
            }
            CallNews::Event(cell, event) => self.cell(cell).exec(event),
            CallNews::Notice(text) => self.notices.push(text.to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, summary: &Summary) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&self.to_json(summary))?;
        Stream::stdout().write_all(format!("{}\n", plain_json(&text)).as_bytes())
    }
}

/// Approximate size of a bundle in bytes.
fn size(bundle: &MimeBundle) -> usize {
    let content = |(mime, content): &(String, MimeData)| {
        mime.len()
            + match content {
                MimeData::Text(text) | MimeData::Json(text) => text.len(),
                MimeData::Binary(bytes) => bytes.len() / 3 * 4,
            }
    };
    bundle.metadata.len() + bundle.data.iter().map(content).sum::<usize>()
}

fn bundle(kind: &str, bundle: &MimeBundle) -> Value {
    let mut data = Map::new();
    for (mime, content) in &bundle.data {
        let value = match content {
            MimeData::Text(text) => json!(text),
            MimeData::Binary(bytes) => json!(STANDARD.encode(bytes)),
            // Invalid JSON is kept as a string.
            MimeData::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        };
        data.insert(mime.clone(), value);
    }
    let metadata = serde_json::from_str(&bundle.metadata).unwrap_or_else(|_| json!({}));
    json!({"output_type": kind, "data": data, "metadata": metadata})
}

fn error(error: &PyError) -> Value {
    json!({
        "output_type": "error",
        "ename": error.name,
        "evalue": error.value,
        "traceback": error.traceback,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkcell_engine::kernel::{DisplayId, StreamName};
    use std::sync::Arc;

    fn stream(name: StreamName, bytes: &'static [u8]) -> ExecEvent {
        ExecEvent::Stream { name, data: bytes.into() }
    }

    fn plain(text: &str) -> MimeBundle {
        let data = vec![("text/plain".to_owned(), MimeData::Text(text.to_owned()))];
        MimeBundle { data, metadata: String::new() }
    }

    fn outputs(events: &[ExecEvent]) -> Vec<Value> {
        let mut recorded = CallOutputs::default();
        for event in events {
            recorded.news(CallNews::Event(0, event)).unwrap();
        }
        recorded.cells.first().map_or_else(Vec::new, |cell| cell.outputs.to_json())
    }

    #[test]
    fn outputs_have_the_shape_of_a_notebook() {
        let id = DisplayId(Arc::from("d"));
        let mut picture = plain("pic");
        picture.data.push(("image/png".to_owned(), MimeData::Binary(b"\x89PN".as_slice().into())));
        picture.data.push(("application/json".to_owned(), MimeData::Json("{\"b\": 1}".to_owned())));
        let found = outputs(&[
            stream(StreamName::Stdout, b"a\xc3"),
            stream(StreamName::Stdout, b"\xa9\n"),
            stream(StreamName::Stderr, b"b"),
            ExecEvent::Display { id: Some(id.clone()), data: plain("old") },
            ExecEvent::UpdateDisplay { id, data: plain("new") },
            ExecEvent::Result { count: 3, id: None, data: picture },
        ]);
        let wanted = json!([
            {"output_type": "stream", "name": "stdout", "text": "aé\n"},
            {"output_type": "stream", "name": "stderr", "text": "b"},
            {"output_type": "display_data", "data": {"text/plain": "new"}, "metadata": {}},
            {"output_type": "execute_result", "execution_count": 3, "metadata": {},
             "data": {"text/plain": "pic", "image/png": "iVBO", "application/json": {"b": 1}}},
        ]);
        assert_eq!(json!(found), wanted);
    }

    /// An update changes a display of an earlier cell in place.
    #[test]
    fn an_update_reaches_earlier_cells() {
        let id = DisplayId(Arc::from("d"));
        let mut recorded = CallOutputs::default();
        let first = ExecEvent::Display { id: Some(id.clone()), data: plain("old") };
        recorded.news(CallNews::Event(0, &first)).unwrap();
        let update = ExecEvent::UpdateDisplay { id, data: plain("new") };
        recorded.news(CallNews::Event(1, &update)).unwrap();
        let found = recorded.cells[0].outputs.to_json();
        assert_eq!(found[0]["data"]["text/plain"], "new");
        assert_eq!(recorded.cells.len(), 1, "the cell with the update shows nothing itself");
    }

    #[test]
    fn cleared_outputs_are_gone_at_once_or_with_the_next() {
        let one = || stream(StreamName::Stdout, b"1");
        let two = || stream(StreamName::Stdout, b"2");
        let clear = |wait| ExecEvent::ClearOutput { wait };
        let table = [
            (vec![one(), clear(false)], vec![]),
            (vec![one(), clear(true)], vec!["1"]),
            (vec![one(), clear(true), two()], vec!["2"]),
            (vec![one(), clear(false), two()], vec!["2"]),
        ];
        for (events, wanted) in table {
            let texts: Vec<Value> =
                outputs(&events).into_iter().map(|output| output["text"].clone()).collect();
            assert_eq!(texts, wanted);
        }
    }
}
