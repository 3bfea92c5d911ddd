//! A run for programs: a JSON object for each event and one for the end.
//!
//! Owns the keys.

use std::time::Duration;

use inkcell_engine::api::{CellReport, PythonReport};
use inkcell_engine::notebook::first_line;
use serde_json::{Value, json};

use crate::view::ending::{exception, status};
use crate::view::freshness;
use crate::words;

/// The event for the start of a cell. Its result comes with the end event.
pub(super) fn started(number: usize, all: usize, cell: &CellReport) -> Value {
    let place = cell.notebook.as_ref();
    let expected = place.and_then(|place| place.last_took);
    json!({
        "event": "cell_started",
        "number": number,
        "of": all,
        "index": place.map(|place| place.index),
        "id": place.and_then(|place| place.id.clone()),
        "first_line": first_line(&cell.source.code, 80),
        "why": place.and_then(|place| place.why.as_ref()).map(freshness::why_json),
        "expected_seconds": expected.map(|expected| expected.as_secs_f64()),
    })
}

/// The event for a finished cell.
pub(super) fn finished(number: usize, all: usize, report: &CellReport) -> Value {
    let mut value = json!({"event": "cell_finished", "number": number, "of": all});
    if let (Value::Object(value), Value::Object(more)) = (&mut value, cell(report)) {
        value.extend(more);
    }
    value
}

fn cell(cell: &CellReport) -> Value {
    let place = cell.notebook.as_ref();
    let error = exception(cell);
    json!({
        "index": place.map(|place| place.index),
        "id": place.and_then(|place| place.id.clone()),
        "status": status(cell.state),
        "why": place.and_then(|place| place.why.as_ref()).map(freshness::why_json),
        "seconds": cell.duration.as_secs_f64(),
        "count": cell.count,
        "outputs": place.map(|place| place.outputs),
        "change": place.and_then(|place| place.change),
        "written": place.map(|place| place.written),
        "error": error.map(|error| json!({"name": error.name, "value": error.value, "traceback": error.plain})),
        "message": words::call::sentence(cell.state, cell.end.as_ref()),
    })
}

/// The event for the end of the run.
pub(super) fn end(
    (told, parameters): (&PythonReport, &Value),
    took: Duration,
    (notes, hint): (&[String], Option<&str>),
) -> Value {
    let notebook = told.notebook.as_ref();
    json!({
        "event": "run_finished",
        "status": status(told.state),
        "seconds": took.as_secs_f64(),
        "path": notebook.map(|notebook| notebook.path.clone()),
        "written": notebook.map(|notebook| notebook.written.clone()),
        "version": notebook.and_then(|notebook| notebook.version.clone()),
        "cells": told.cells.iter().map(cell).collect::<Vec<_>>(),
        "skipped": notebook.map(|notebook| notebook.skipped.clone()),
        "fresh": notebook.map(|notebook| notebook.fresh.clone()),
        "resumed": notebook.map(|notebook| notebook.resumed.clone()),
        "parameters": parameters,
        "notes": notes,
        "hint": hint,
    })
}
