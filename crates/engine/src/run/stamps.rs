//! Notes that other runners write into a notebook besides outputs and counts: times, states, and the place of a
//! failure.
//!
//! Owns the form of these notes. A run writes none of them unless asked.

use std::time::{Duration, SystemTime};

use inkcell_kernel::utc_text;
use inkcell_notebook::{
    CellKind, CellPlace, CellRef, CellView, EditOp, MetaChange, Notebook, Parameters,
};
use serde_json::{Map, Value, json};

use super::record::{RanCell, SourceDigest};
use crate::api::Stamps;
use crate::run::staleness::ExecutionTrace;
use crate::types::State;

/// Tag by which papermill recognizes cells that it inserted.
const MARKER_TAG: &str = "papermill-error-cell-tag";

/// Metadata key for the notes of inkcell itself.
const OWN: &str = "inkcell";

/// Marker at the top of a notebook whose run failed, around the count of the cell.
const TOP: (&str, &str) = (
    "<span style=\"color:red\">The run stopped at an exception: \
     <a href=\"#papermill-error-cell\">In [",
    "]</a></span>",
);

/// Marker before the cell that failed.
const HERE: &str = "<span id=\"papermill-error-cell\" style=\"color:red\">The exception came from the cell \
                    below:</span>";

/// The time of a cell's run, and how it ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Span {
    pub(crate) began: SystemTime,
    pub(crate) ended: SystemTime,
    pub(crate) state: State,
}

/// The notes about one cell.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct CellStamps(Option<(&'static str, Value)>);

impl CellStamps {
    pub(crate) fn of(stamps: Stamps, span: Span) -> CellStamps {
        let Span { began, ended, state } = span;
        match stamps {
            Stamps::Nothing | Stamps::Inkcell => CellStamps(None),
            Stamps::Jupyter => CellStamps(Some((
                "execution",
                json!({
                    "iopub.execute_input": zulu(began),
                    "iopub.status.busy": zulu(began),
                    "iopub.status.idle": zulu(ended),
                    "shell.execute_reply": zulu(ended),
                }),
            ))),
            Stamps::Papermill => {
                let failed = state != State::Done;
                CellStamps(Some((
                    "papermill",
                    json!({
                        "duration": seconds(span.duration()),
                        "end_time": utc_text(ended),
                        "exception": failed,
                        "start_time": utc_text(began),
                        "status": if failed { "failed" } else { "completed" },
                    }),
                )))
            }
        }
    }

    /// The record of a cell, for readers of the file.
    pub(crate) fn record(ran: &RanCell) -> CellStamps {
        let RanCell { source, count, state, trace, .. } = ran;
        let record = json!({"source": source, "count": count, "state": state, "trace": trace});
        CellStamps(Some((OWN, record)))
    }

    /// Returns these stamps, or the others if these are empty.
    pub(crate) fn or(self, others: Option<CellStamps>) -> CellStamps {
        CellStamps(self.0.or_else(|| others?.0))
    }

    /// The change of a cell's metadata. Other entries under the same key stay.
    pub(crate) fn op(&self, cell: CellRef, notebook: &Notebook) -> Option<EditOp> {
        let (key, Value::Object(new)) = self.0.as_ref()? else { return None };
        let index = notebook.find(&cell).ok()?;
        let old = metadata(notebook.cell(index)?.metadata_json());
        let mut merged = old.get(*key).and_then(Value::as_object).cloned().unwrap_or_default();
        // A value that the format forbids stays as it is, so that outputs are not lost over it.
        let is_odd = |value: &Value| *key == "execution" && !value.is_string();
        if merged.values().any(is_odd) {
            return None;
        }
        merged.extend(new.clone());
        Some(set(Some(cell), key, &Value::Object(merged)))
    }
}

/// The notes of a cell about its own last run; `None` if they cannot be read.
pub(crate) fn recorded(cell: &CellView<'_>) -> Option<RanCell> {
    #[derive(serde::Deserialize)]
    struct CellNote {
        source: SourceDigest,
        count: Option<u32>,
        state: State,
        trace: Option<ExecutionTrace>,
    }
    let json = cell.metadata_json();
    memchr::memmem::find(json, b"\"inkcell\"")?;
    let noted = metadata(json).remove(OWN)?;
    let CellNote { source, count, state, trace } = serde_json::from_value(noted).ok()?;
    if trace.as_ref().is_some_and(|trace| !trace.is_possible()) {
        return None;
    }
    let id = cell.id();
    let ran = RanCell::unknown(id.as_deref(), cell.index(), state);
    Some(RanCell { source, count, trace, ..ran })
}

impl Span {
    pub(crate) fn duration(&self) -> Duration {
        self.ended.duration_since(self.began).unwrap_or_default()
    }
}

/// The notes about a whole run.
pub(crate) struct Whole<'a> {
    pub(crate) input: &'a str,
    pub(crate) output: &'a str,
    pub(crate) span: Span,
    /// The cell that stopped it, with its count.
    pub(crate) failed: Option<(usize, Option<u32>)>,
}

/// Removes the failure markers of an earlier run.
pub(crate) fn without_markers(stamps: Stamps, notebook: &Notebook) -> Vec<EditOp> {
    if stamps != Stamps::Papermill {
        return Vec::new();
    }
    let marked = |tags: Vec<String>| tags.iter().any(|tag| tag == MARKER_TAG);
    let cells = notebook.cells().filter(|cell| marked(cell.tags()));
    cells.map(|cell| EditOp::Delete { cell: CellRef::Index(cell.index() as i64) }).collect()
}

/// Notes the values that a run was given.
pub(crate) fn parameters(
    stamps: Stamps,
    notebook: &Notebook,
    given: &Parameters,
) -> Option<EditOp> {
    if stamps != Stamps::Papermill {
        return None;
    }
    let old = metadata(notebook.metadata_json());
    let mut noted = old.get("papermill").and_then(Value::as_object).cloned().unwrap_or_default();
    let values = serde_json::from_str(&given.to_json()).unwrap_or_default();
    noted.insert("parameters".to_owned(), values);
    Some(set(None, "papermill", &Value::Object(noted)))
}

/// The marks that make Jupyter hide the sources of code cells, for cells that do not have them.
pub(crate) fn hidden_sources(notebook: &Notebook) -> Vec<EditOp> {
    let code = notebook.cells().filter(|cell| cell.kind() == Some(CellKind::Code));
    let hidden = |cell: CellView<'_>| {
        let old = metadata(cell.metadata_json());
        let mut jupyter =
            old.get("jupyter").and_then(Value::as_object).cloned().unwrap_or_default();
        let before = jupyter.insert("source_hidden".to_owned(), json!(true));
        let cell = Some(CellRef::Index(cell.index() as i64));
        (before != Some(json!(true))).then(|| set(cell, "jupyter", &Value::Object(jupyter)))
    };
    code.filter_map(hidden).collect()
}

/// Notes a run in its notebook, and marks the cell that failed.
pub(crate) fn whole(stamps: Stamps, notebook: &Notebook, run: &Whole<'_>) -> Vec<EditOp> {
    if stamps != Stamps::Papermill {
        return Vec::new();
    }
    let old = metadata(notebook.metadata_json());
    let mut noted = old.get("papermill").and_then(Value::as_object).cloned().unwrap_or_default();
    for key in ["default_parameters", "environment_variables", "parameters"] {
        noted.entry(key).or_insert_with(|| json!({}));
    }
    noted.extend(object(json!({
        "duration": seconds(run.span.duration()),
        "end_time": utc_text(run.span.ended),
        "exception": run.failed.map(|_| true),
        "input_path": run.input,
        "output_path": run.output,
        "start_time": utc_text(run.span.began),
        "version": concat!("inkcell ", env!("CARGO_PKG_VERSION")),
    })));
    let mut ops = vec![set(None, "papermill", &Value::Object(noted))];
    if let Some((index, count)) = run.failed {
        let count = count.map_or_else(String::new, |count| count.to_string());
        let top = format!("{}{count}{}", TOP.0, TOP.1);
        ops.push(marker(CellPlace::Start, top));
        ops.push(marker(CellPlace::Before(CellRef::Index(index as i64)), HERE.to_owned()));
    }
    ops
}

/// Tags the markers once they stand in the notebook. Only a marker begins and ends like these.
pub(crate) fn marker_tags(stamps: Stamps, notebook: &Notebook) -> Vec<EditOp> {
    if stamps != Stamps::Papermill {
        return Vec::new();
    }
    let is_marker =
        |source: &str| source == HERE || source.starts_with(TOP.0) && source.ends_with(TOP.1);
    let cells = notebook
        .cells()
        .filter(|cell| cell.kind() == Some(CellKind::Markdown) && is_marker(&cell.source().text));
    let tag = |index: usize| EditOp::SetTags {
        cell: CellRef::Index(index as i64),
        add: vec![MARKER_TAG.to_owned()],
        remove: Vec::new(),
    };
    cells.map(|cell| tag(cell.index())).collect()
}

fn marker(at: CellPlace, source: String) -> EditOp {
    EditOp::Insert { at, kind: CellKind::Markdown, source }
}

fn set(cell: Option<CellRef>, key: &str, value: &Value) -> EditOp {
    let change = MetaChange { set: vec![(key.to_owned(), value.to_string())], unset: Vec::new() };
    EditOp::SetMeta { cell, change }
}

fn metadata(json: &[u8]) -> Map<String, Value> {
    serde_json::from_slice(json).unwrap_or_default()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e6
}

/// Duration of a cell, from the times that JupyterLab and nbclient note.
pub(crate) fn noted(execution: &Value) -> Option<Duration> {
    let time = |names: [&str; 2]| {
        let text = names.iter().find_map(|name| execution[*name].as_str())?;
        instant(text)
    };
    let began = time(["iopub.execute_input", "iopub.status.busy"])?;
    let ended = time(["shell.execute_reply", "iopub.status.idle"])?;
    ended.checked_sub(began)
}

/// A time such as `2023-11-14T22:13:20.123456Z`, as a duration since 1970. Both times of a cell come from one clock, so
/// the zone does not matter and is not read.
fn instant(text: &str) -> Option<Duration> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let fraction = text.get(19..)?.strip_prefix('.').map_or("", |rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        &rest[..end.min(9)]
    });
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    Some(Duration::new(days(year, month, day)? * 86_400 + seconds, nanos))
}

/// Days since 1970-01-01; the inverse of the date in [`utc_text`].
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

fn zulu(time: SystemTime) -> String {
    utc_text(time) + "Z"
}

#[cfg(test)]
mod tests;
