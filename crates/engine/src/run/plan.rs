//! Which cells of a notebook run, and under which rules.
//!
//! Owns what tags and metadata say about running. It is pure: a notebook in, a plan out.

use std::time::Duration;

use inkcell_notebook::{CellKind, CellRef, Notebook};
pub(super) use inkcell_notebook::{MAY_FAIL_TAG as MAY_FAIL, SKIP_TAG as SKIP};
use serde_json::Value;

use super::known::KnownCell;
use super::stamps;
use crate::api::{CellChoice, KernelChoice, KernelName, OnError};
use crate::error::EngineError;
use crate::kernels::is_python;
use crate::notebooks::Opened;

/// What is to be run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan {
    pub(crate) cells: Vec<Planned>,
    /// Code that was chosen and whose tags say that it is not for running.
    pub(crate) skipped: Vec<usize>,
    /// What the notebook itself says about errors.
    pub(crate) on_error: OnError,
}

/// One cell that is to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Planned {
    pub(crate) cell: KnownCell,
    /// Whether the run goes on when it fails.
    pub(crate) on_error: OnError,
    /// Whether it is tagged as one that may fail.
    pub(crate) may_fail: bool,
    /// How long the notebook lets it take.
    pub(crate) timeout: Option<Duration>,
    /// How long it took the last time.
    pub(crate) last_took: Option<Duration>,
}

/// The cells of a notebook that were chosen and can be run.
pub(crate) fn plan(opened: &Opened, choice: &CellChoice) -> Result<Plan, EngineError> {
    plan_of(opened, chosen(opened, choice)?)
}

/// The same for cells that are known by their positions.
pub(crate) fn plan_of(opened: &Opened, chosen: Vec<usize>) -> Result<Plan, EngineError> {
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
        // As everywhere, a cell without code keeps what it has.
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
        cells.push(Planned {
            cell: KnownCell { planned: Some(index), ..KnownCell::of(&cell) },
            on_error: if goes_on { OnError::GoOn } else { own.on_error },
            may_fail,
            timeout: own.timeout.or(rules.timeout),
            last_took: noted(&metadata(cell.metadata_json())),
        });
    }
    Ok(Plan { cells, skipped, on_error: rules.on_error })
}

/// The positions that were chosen, in the order of the file.
pub(crate) fn chosen(opened: &Opened, choice: &CellChoice) -> Result<Vec<usize>, EngineError> {
    let count = opened.notebook.len();
    if choice.is_stale() && (choice.from.is_some() || choice.to.is_some()) {
        let problem = "stale cells are those of the whole notebook; leave out from and to";
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
        // Which of all is seen when their turn comes.
        Some(_) if choice.is_stale() => (0..count).collect(),
        Some(list) => opened.pick_cells(list)?,
    };
    let is_meant = |index: &usize| {
        (from..=to).contains(index) && choice.side.is_none_or(|side| side.has(*index))
    };
    Ok(picked.into_iter().filter(is_meant).collect())
}

/// What is written about running under `execution`, in a notebook or in a cell.
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
        // What the format wants under this name in a cell is text.
        let said = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
        let seconds = said(&says["timeout"]).filter(|seconds| *seconds > 0.0);
        let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Rules { on_error, timeout }
    }
}

/// How long a cell took when somebody ran it and noted that in the file.
fn noted(metadata: &Value) -> Option<Duration> {
    let papermill = metadata["papermill"]["duration"].as_f64();
    match papermill.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        None => stamps::noted(&metadata["execution"]),
        took => took,
    }
}

/// What a notebook says about the kernel it is for; nothing, where it does not say.
pub(crate) fn kernel(notebook: &Notebook) -> Option<KernelChoice> {
    let says = metadata(notebook.metadata_json());
    let spec = &says["kernelspec"];
    let name = spec["name"].as_str().filter(|name| !name.is_empty());
    let languages = [spec["language"].as_str(), says["language_info"]["name"].as_str()];
    let languages = || languages.into_iter().flatten().filter(|language| !language.is_empty());
    // One that is not Python is the more telling of the two.
    let language = languages().find(|language| !is_python(language)).or(languages().next());
    // Files that say nothing else may still be called what they are.
    let called = [name, spec["display_name"].as_str()].into_iter().flatten();
    let is_called_python = called.map(str::to_lowercase).any(|name| name.contains("python"));
    let language = language.or(is_called_python.then_some("python"));
    (name.is_some() || language.is_some()).then(|| KernelChoice::OfNotebook {
        name: name.map(|name| KernelName(name.to_owned())),
        language: language.map(str::to_owned),
    })
}

/// What nobody can read says nothing.
fn metadata(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}

#[cfg(test)]
mod tests;
