//! Which cells of a notebook run, and under which rules.
//!
//! Owns the meaning of tags and metadata for a run. It is pure: a notebook in, a plan out.

use std::collections::BTreeSet;
use std::time::Duration;

use inkcell_notebook::{CellKind, CellRef, CellView, Notebook};
pub(super) use inkcell_notebook::{MAY_FAIL_TAG as MAY_FAIL, SKIP_TAG as SKIP};
use serde_json::Value;

use super::cell_identity::KnownCell;
use super::cell_records::can_run;
use super::stamps;
use crate::api::{CellChoice, KernelChoice, OnError};
use crate::edit::OpenNotebook;
use crate::error::EngineError;
use crate::kernels::is_python;
use crate::types::KernelName;

/// The cells of a run and their rules.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    pub(crate) cells: Vec<PlannedCell>,
    /// Positions of chosen code cells that their tags exclude from running.
    pub(crate) skipped: Vec<usize>,
    /// Error policy that the notebook itself sets.
    pub(crate) on_error: OnError,
}

/// One cell of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PlannedCell {
    pub(crate) cell: KnownCell,
    /// Says if the run goes on after an error in this cell.
    pub(crate) on_error: OnError,
    /// True if a tag says that the cell may fail.
    pub(crate) may_fail: bool,
    /// Time limit that the notebook sets.
    pub(crate) timeout: Option<Duration>,
    /// Duration of its last run.
    pub(crate) last_took: Option<Duration>,
}

/// Plans the chosen cells that can run.
pub(crate) fn plan(opened: &OpenNotebook, choice: &CellChoice) -> Result<Plan, EngineError> {
    plan_of(opened, chosen(opened, choice)?)
}

/// Plans cells given by position.
pub(crate) fn plan_of(opened: &OpenNotebook, chosen: Vec<usize>) -> Result<Plan, EngineError> {
    let notebook = &opened.notebook;
    if let Some(reason) = notebook.read_only() {
        let error = inkcell_notebook::EditError::ReadOnly(reason.clone());
        return Err(EngineError::Edit { path: opened.shown.clone(), error, batch: 0 });
    }
    let notebook_says = metadata(notebook.metadata_json());
    let rules = Rules::of(&notebook_says);
    let (mut cells, mut skipped) = (Vec::new(), Vec::new());
    for index in chosen {
        let Some(cell) = notebook.cell(index) else { continue };
        // As everywhere, a cell without code keeps its outputs.
        if cell.kind() != Some(CellKind::Code) || cell.source().text.trim().is_empty() {
            continue;
        }
        let tags = cell.tags();
        if tags.iter().any(|tag| tag == SKIP) {
            skipped.push(index);
            continue;
        }
        let own = Rules::of(&metadata(cell.metadata_json()));
        let may_fail = tags.iter().any(|tag| tag == MAY_FAIL);
        let goes_on = may_fail || rules.on_error == OnError::GoOn;
        cells.push(PlannedCell {
            cell: KnownCell { planned: Some(index), ..KnownCell::of(&cell) },
            on_error: if goes_on { OnError::GoOn } else { own.on_error },
            may_fail,
            timeout: own.timeout.or(rules.timeout),
            last_took: noted(&metadata(cell.metadata_json())),
        });
    }
    Ok(Plan { cells, skipped, on_error: rules.on_error })
}

/// Adds the cells above the last chosen one, which run if a chosen one needs them. Returns the numbers of the chosen
/// cells in the new plan.
pub(crate) fn with_cells_above(
    opened: &OpenNotebook,
    plan: Plan,
) -> Result<(Plan, BTreeSet<usize>), EngineError> {
    let chosen: BTreeSet<usize> = plan.cells.iter().map(|planned| planned.cell.index).collect();
    let end = chosen.last().map_or(0, |last| last + 1);
    let all = plan_of(opened, (0..end).collect())?;
    let is_chosen = |(_, planned): &(usize, &PlannedCell)| chosen.contains(&planned.cell.index);
    let numbers = all.cells.iter().enumerate().filter(is_chosen).map(|(number, _)| number);
    let numbers = numbers.collect();
    Ok((Plan { skipped: plan.skipped, ..all }, numbers))
}

/// Returns true if a cell above one of these can run and was not chosen.
pub(crate) fn leaves_out_some(notebook: &Notebook, cells: &[PlannedCell]) -> bool {
    let Some(last) = cells.iter().map(|planned| planned.cell.index).max() else { return false };
    let can_run = |cell: &CellView<'_>| can_run(cell) && cell.index() <= last;
    notebook.cells().filter(can_run).count() > cells.len()
}

/// The chosen positions, in the order of the file.
pub(crate) fn chosen(
    opened: &OpenNotebook,
    choice: &CellChoice,
) -> Result<Vec<usize>, EngineError> {
    let count = opened.notebook.len();
    if choice.is_stale() && (choice.from.is_some() || choice.to.is_some()) {
        let problem = "stale cells are found in the whole notebook; remove from and to";
        return Err(EngineError::Argument {
            argument: "cells".to_owned(),
            problem: problem.to_owned(),
        });
    }
    let named = |name: &String| {
        let found = opened.notebook.find(&CellRef::Text(name.clone()));
        found.map_err(|error| EngineError::Ref { path: opened.shown.clone(), error })
    };
    let from = choice.from.as_ref().map(named).transpose()?.unwrap_or(0);
    let to = choice.to.as_ref().map(named).transpose()?.unwrap_or(count);
    if let (Some(first), Some(last)) = (&choice.from, &choice.to)
        && to < from
    {
        let problem = format!(
            "{last} is cell {to}, which stands before cell {from} ({first}), the first to run"
        );
        return Err(EngineError::Argument { argument: "to".to_owned(), problem });
    }
    let picked = match choice.list.as_deref() {
        None | Some("all") => (0..count).collect(),
        // Staleness is decided when the turn of each cell comes.
        Some(_) if choice.is_stale() => (0..count).collect(),
        Some(list) => opened.pick_cells(list)?,
    };
    let is_meant = |index: &usize| {
        (from..=to).contains(index) && choice.side.is_none_or(|side| side.has(*index))
    };
    Ok(picked.into_iter().filter(is_meant).collect())
}

/// Settings under `execution` in the metadata of a notebook or a cell.
struct Rules {
    on_error: OnError,
    timeout: Option<Duration>,
}

impl Rules {
    fn of(metadata: &Value) -> Rules {
        let says = &metadata["execution"];
        let on_error = match says["allow_errors"].as_bool() {
            Some(true) => OnError::GoOn,
            _ => OnError::Stop,
        };
        // Accept numbers in strings, too: the notebook format requires strings for this key in a
        // cell.
        let said = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
        let seconds = said(&says["timeout"]).filter(|seconds| *seconds > 0.0);
        let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Rules { on_error, timeout }
    }
}

/// Duration of a cell that another program ran and noted in the file.
fn noted(metadata: &Value) -> Option<Duration> {
    let papermill = metadata["papermill"]["duration"].as_f64();
    match papermill.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        None => stamps::noted(&metadata["execution"]),
        took => took,
    }
}

/// The kernel that a notebook names, or `None`.
pub(crate) fn kernel(notebook: &Notebook) -> Option<KernelChoice> {
    let says = metadata(notebook.metadata_json());
    let spec = &says["kernelspec"];
    let name = spec["name"].as_str().filter(|name| !name.is_empty());
    let languages = [spec["language"].as_str(), says["language_info"]["name"].as_str()];
    let languages = || languages.into_iter().flatten().filter(|language| !language.is_empty());
    // If two languages differ, the one that is not Python says more.
    let language = languages().find(|language| !is_python(language)).or(languages().next());
    // Metadata without a language may still have a telling name.
    let called = [name, spec["display_name"].as_str()].into_iter().flatten();
    let is_called_python = called.map(str::to_lowercase).any(|name| name.contains("python"));
    let language = language.or(is_called_python.then_some("python"));
    (name.is_some() || language.is_some()).then(|| KernelChoice::OfNotebook {
        name: name.map(|name| KernelName(name.to_owned())),
        language: language.map(str::to_owned),
    })
}

/// Metadata that cannot be parsed counts as empty.
fn metadata(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}

#[cfg(test)]
mod tests;
