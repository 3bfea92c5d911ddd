//! The result of a call for programs, in one shape for every tool that runs code.
//!
//! Owns the names of the fields. `details.rs` adds what the source documents want besides, and `answer.rs` decides
//! where an answer has them.

use inkcell_engine::api::{CellReport, NotebookReport, OutputChange, PythonReport, State};
use inkcell_engine::kernel::PyError;
use inkcell_engine::output::{ModelOutput, Notice};
use serde::Serialize;
use serde_json::Value;

use super::result::pieces::error_id;
use super::weight;
use crate::view::ending::{exception, status};
use crate::view::reply::without_colours;
use crate::words::reply::is_interrupted;

/// The most bytes of the text of an exception and of a line of its traceback: both may be as long as the data.
const TEXT_BYTES: usize = 2 << 10;

/// Bytes for the remark about cells that are left out.
const CELLS_LEFT_OUT_BYTES: usize = 128;

/// The most bytes of a traceback. Its end says more than its beginning.
const TRACEBACK_BYTES: usize = 8 << 10;

// Fields without a value are left out, except the id of an artifact: null says that nothing is stored.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    session: String,
    execution: String,
    state: &'static str,
    /// The same value as in the answer itself.
    is_error: bool,
    #[serde(flatten)]
    stop: StopFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    notebook: Option<NotebookFacts>,
    cells: Vec<CellFacts>,
}

#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
struct CellFacts {
    /// The position in the call, from 0.
    index: usize,
    /// The position in the notebook and the id there.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell_id: Option<String>,
    state: &'static str,
    #[serde(flatten)]
    stop: StopFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_count: Option<u32>,
    duration_ms: u64,
    /// The outputs of a notebook's cell in comparison with those before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<OutputChange>,
    #[serde(flatten)]
    error: Option<ErrorFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncation: Option<TruncationFacts>,
}

#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
struct StopFacts {
    /// It was stopped before its end, by a caller or by its time limit.
    cancelled: bool,
    /// It was the time limit.
    timed_out: bool,
}

#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
struct ErrorFacts {
    ename: String,
    evalue: String,
    traceback: Vec<String>,
    /// Set if not all of it is here: the id with which it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_id: Option<String>,
}

/// The place of the outputs of a notebook's cells.
#[derive(Serialize, Debug)]
struct NotebookFacts {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// Output that does not fit into an answer, with the artifact that has all of it.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TruncationFacts {
    truncated: bool,
    total_lines: u64,
    total_bytes: u64,
    output_lines: u64,
    output_bytes: u64,
    artifact_id: Option<String>,
}

impl Facts {
    /// The facts of a call, without the first `told` cells, which an earlier answer had.
    pub(crate) fn of(report: &PythonReport, told: usize, is_error: bool) -> Facts {
        let cells = report.cells.iter().enumerate();
        Facts {
            session: report.session.0.clone(),
            execution: report.execution.0.clone(),
            state: status(report.state),
            is_error,
            stop: match report.cells.iter().find(|cell| is_interrupted(cell)) {
                Some(cell) => StopFacts::of_cell(cell),
                None => StopFacts::of(report.state),
            },
            notebook: report.notebook.as_ref().map(NotebookFacts::of),
            cells: cells.skip(told).map(|cell| CellFacts::of(cell, &report.execution.0)).collect(),
        }
    }
}

/// Cells whose facts an answer has no room for.
pub(crate) struct CellsLeftOut {
    pub(crate) count: usize,
    /// The position of the first of them in the list.
    pub(crate) first: usize,
}

/// Leaves facts of cells out of a form that is larger than this: the last cells first, and cells that failed only if
/// that is not enough. The first cells stay, as many as half of the room holds, so that a caller who goes on from the
/// first missing cell gets to the end.
pub(crate) fn leave_out_cells(form: &mut Value, most: usize) -> Option<CellsLeftOut> {
    let bytes = weight::of_json(form);
    let records = form.get_mut("cells")?.as_array_mut().filter(|_| bytes > most)?;
    let mut over = bytes + CELLS_LEFT_OUT_BYTES - most;
    let plain = [State::Done, State::NeverRun, State::Queued].map(status);
    let is_plain = |record: &Value| plain.iter().any(|state| record["state"] == **state);
    let mut room = most / 2;
    let stays = |record: &&Value| {
        let bytes = weight::of_json(*record) + 1;
        let has_room = bytes <= room;
        room = room.saturating_sub(bytes);
        has_room
    };
    let staying = records.iter().take_while(stays).count();
    let (mut count, mut first) = (0, records.len());
    for is_last_resort in [false, true] {
        for (at, record) in records.iter_mut().enumerate().skip(staying).rev() {
            if over > 0 && !record.is_null() && (is_last_resort || is_plain(record)) {
                over = over.saturating_sub(weight::of_json(record) + 1);
                *record = Value::Null;
                (count, first) = (count + 1, first.min(at));
            }
        }
    }
    records.retain(|record| !record.is_null());
    Some(CellsLeftOut { count, first })
}

impl CellFacts {
    fn of((index, cell): (usize, &CellReport), execution: &str) -> CellFacts {
        let place = cell.notebook.as_ref();
        CellFacts {
            index,
            cell_index: place.map(|place| place.index),
            cell_id: place.and_then(|place| place.id.clone()),
            state: status(cell.state),
            stop: StopFacts::of_cell(cell),
            execution_count: cell.count,
            duration_ms: u64::try_from(cell.duration.as_millis()).unwrap_or(u64::MAX),
            change: place.and_then(|place| place.change),
            error: exception(cell).map(|error| ErrorFacts::of(error, execution)),
            truncation: cell.output.is_truncated.then(|| TruncationFacts::of(&cell.output)),
        }
    }
}

impl StopFacts {
    fn of_cell(cell: &CellReport) -> StopFacts {
        let facts = StopFacts::of(cell.state);
        StopFacts { cancelled: facts.cancelled || is_interrupted(cell), ..facts }
    }

    fn of(state: State) -> StopFacts {
        let timed_out = state == State::TimedOut;
        StopFacts { cancelled: timed_out || state == State::Cancelled, timed_out }
    }
}

impl ErrorFacts {
    fn of(error: &PyError, execution: &str) -> ErrorFacts {
        let text = without_colours(error);
        let mut room = TRACEBACK_BYTES;
        let kept = text.lines().rev().map_while(|line| {
            let line = beginning(line);
            room = room.checked_sub(line.len())?;
            Some(line)
        });
        let mut traceback: Vec<String> = kept.collect();
        traceback.reverse();
        let (ename, evalue) = (beginning(&error.name), beginning(&error.value));
        let shown: usize = traceback.iter().map(|line| line.len() + 1).sum();
        let is_cut = evalue.len() < error.value.len() || shown < text.trim_end().len();
        let error_id = is_cut.then(|| error_id(execution));
        ErrorFacts { ename, evalue, traceback, error_id }
    }
}

fn beginning(text: &str) -> String {
    weight::beginning(text, TEXT_BYTES).to_owned()
}

impl NotebookFacts {
    fn of(run: &NotebookReport) -> NotebookFacts {
        NotebookFacts { path: run.written.clone(), version: run.version.clone() }
    }
}

impl TruncationFacts {
    /// With the number of lines as the source documents count them (B:O-04).
    pub(crate) fn as_counted(output: &ModelOutput) -> TruncationFacts {
        let total_lines = output.counts.total_lines;
        TruncationFacts { total_lines, ..TruncationFacts::of(output) }
    }

    pub(crate) fn of(output: &ModelOutput) -> TruncationFacts {
        let counts = &output.counts;
        // The same number as in the notice: a line end at the end of the text begins no other line.
        let told = output.notices.iter().find_map(|notice| match notice {
            Notice::Truncated { truncation, .. } => Some(truncation.total_lines),
            _ => None,
        });
        TruncationFacts {
            truncated: true,
            total_lines: told.unwrap_or(counts.total_lines),
            total_bytes: counts.total_bytes,
            output_lines: counts.output_lines,
            output_bytes: counts.output_bytes,
            artifact_id: output.artifact.as_ref().map(|stored| stored.id.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use inkcell_engine::api::EndReport;
    use inkcell_engine::output::ArtifactRef;
    use inkcell_engine::session::KernelFate;
    use serde_json::json;

    use super::*;
    use crate::view::tests::samples;

    fn facts(state: State, cells: Vec<CellReport>) -> Value {
        json!(Facts::of(&samples::call(state, cells), 0, state != State::Done))
    }

    fn cell(state: State, end: Option<EndReport>) -> CellReport {
        let duration = Duration::from_millis(20);
        CellReport { end, count: Some(7), duration, ..samples::cell(samples::source("x"), state) }
    }

    fn error(name: &str, value: &str, plain: &[&str]) -> PyError {
        let plain = plain.iter().map(ToString::to_string).collect();
        PyError { name: name.to_owned(), value: value.to_owned(), plain, ..PyError::default() }
    }

    #[test]
    fn a_failed_cell_has_its_exception_and_a_cut_one_its_artifact() {
        let mut long = cell(State::Done, None);
        long.output.is_truncated = true;
        long.output.counts.total_lines = 9;
        long.output.artifact = Some(ArtifactRef { id: "0123".to_owned(), bytes: 90 });
        let error = error("ValueError", "no", &["Traceback:", "ValueError: no"]);
        let failed = cell(State::Error, Some(EndReport::Exception(error)));
        let never = samples::cell(samples::source("y"), State::NeverRun);
        let wanted = json!({
            "session": "default", "execution": "x1", "state": "error", "isError": true,
            "cancelled": false, "timedOut": false,
            "cells": [
                {"index": 0, "state": "ok", "cancelled": false, "timedOut": false, "executionCount": 7,
                 "durationMs": 20, "truncation": {"truncated": true, "totalLines": 9, "totalBytes": 0,
                     "outputLines": 0, "outputBytes": 0, "artifactId": "0123"}},
                {"index": 1, "state": "error", "cancelled": false, "timedOut": false, "executionCount": 7,
                 "durationMs": 20, "ename": "ValueError", "evalue": "no",
                 "traceback": ["Traceback:", "ValueError: no"]},
                {"index": 2, "state": "never_run", "cancelled": false, "timedOut": false, "durationMs": 0},
            ],
        });
        assert_eq!(facts(State::Error, vec![long, failed, never]), wanted);
    }

    #[test]
    fn a_time_limit_is_told_apart_from_a_caller() {
        for (state, cancelled, timed_out) in [
            (State::Done, false, false),
            (State::TimedOut, true, true),
            (State::Cancelled, true, false),
            (State::KernelDied, false, false),
        ] {
            let exception = Some(error("KeyboardInterrupt", "", &[]));
            let end = EndReport::Stopped { after: None, fate: KernelFate::Kept, exception };
            let end = cancelled.then_some(end);
            let facts = facts(state, vec![cell(state, end)]);
            for part in [&facts, &facts["cells"][0]] {
                assert_eq!(part["cancelled"], cancelled, "{part}");
                assert_eq!(part["timedOut"], timed_out, "{part}");
            }
            let ename = facts["cells"][0].get("ename");
            assert_eq!(ename, cancelled.then(|| json!("KeyboardInterrupt")).as_ref());
        }
    }

    /// However many cells there are, their facts fit; those of a failed cell are the last to go.
    #[test]
    fn facts_of_too_many_cells_are_counted() {
        let mut cells: Vec<CellReport> = (0..5000).map(|_| cell(State::Done, None)).collect();
        cells[4000].state = State::Error;
        cells[4001..].iter_mut().for_each(|cell| cell.state = State::NeverRun);
        let mut form = facts(State::Error, cells);
        let (all, most) = (weight::of_json(&form), 20_000);
        assert!(leave_out_cells(&mut form, all).is_none());
        let CellsLeftOut { count, first } = leave_out_cells(&mut form, most).unwrap();
        assert!(weight::of_json(&form) <= most && weight::of_json(&form) > most - 500);
        let indexes: Vec<u64> = form["cells"].as_array().unwrap().iter().map(index).collect();
        assert_eq!(indexes.len() + count, 5000);
        let kept = (0..first as u64).chain([4000]).collect::<Vec<_>>();
        assert_eq!(indexes, kept);

        // However many cells failed, the first cells are there.
        let states = [State::Error, State::Done].into_iter().cycle().take(3000);
        let mut form = facts(State::Error, states.map(|state| cell(state, None)).collect());
        let CellsLeftOut { first, .. } = leave_out_cells(&mut form, most).unwrap();
        assert!(weight::of_json(&form) <= most && first > 50, "{first}");

        let line = "z".repeat(1000);
        let end = EndReport::Exception(error("ValueError", &line, &[line.as_str(); 9]));
        let failed = vec![cell(State::Error, Some(end)); 10];
        let mut form = facts(State::Error, failed);
        leave_out_cells(&mut form, most).unwrap();
        assert!(weight::of_json(&form) <= most);
        assert_eq!(index(&form["cells"][0]), 0);
    }

    fn index(record: &Value) -> u64 {
        record["index"].as_u64().unwrap()
    }

    /// The end of a traceback is kept, and a coloured one has no escape sequences.
    #[test]
    fn a_long_exception_is_cut() {
        let line = "z".repeat(50_000);
        let lines = vec!["first"; 10_000];
        let mut error = error("ValueError", &line, &lines);
        error.plain.push(line);
        let end = EndReport::Exception(error.clone());
        let facts = facts(State::Error, vec![cell(State::Error, Some(end))]);
        assert!(weight::of_json(&facts) < 40 << 10, "{}", weight::of_json(&facts));
        let told = &facts["cells"][0];
        assert_eq!(told["errorId"], "x1/error");
        assert!(told["evalue"].as_str().unwrap().starts_with("zzz"));
        let traceback = told["traceback"].as_array().unwrap();
        assert!(traceback.last().unwrap().as_str().unwrap().starts_with("zzz"));
        error.traceback = vec!["\u{1b}[31mValueError\u{1b}[0m: no".to_owned()];
        error.plain.clear();
        assert_eq!(ErrorFacts::of(&error, "x1").traceback, ["ValueError: no"]);
    }
}
