//! Remarks about a run, apart from the results of its cells: sentences for users.
//!
//! Owns the words. `view/run` decides where they appear.

use std::fmt::Display;

use inkcell_engine::api::{
    CellReport, NotebookCell, NotebookReport, PythonReport, RunNote, State, WriteBack,
};
use inkcell_engine::session::CallNote;

use crate::output::{count, visible};
use crate::words;

/// All remarks about a run, as sentences.
pub(crate) fn notes(told: &PythonReport) -> Vec<String> {
    notes_if(told, |_| true)
}

/// The remarks that no error of this run already says.
pub(crate) fn notes_beside_errors(told: &PythonReport) -> Vec<String> {
    let is_done = told.state == State::Done;
    let is_error = |note: &RunNote| match note {
        RunNote::Exited { .. } => !is_done,
        note => note.unsaved().is_some(),
    };
    notes_if(told, |note| !is_error(note)).into_iter().chain(said_beside(told)).collect()
}

fn notes_if(told: &PythonReport, is_wanted: impl Fn(&RunNote) -> bool) -> Vec<String> {
    let Some(NotebookReport { notes, resumed, .. }) = &told.notebook else { return Vec::new() };
    let mut said: Vec<String> = notes.iter().filter(|note| is_wanted(note)).map(note).collect();
    if !resumed.is_empty() {
        said.push(finished_before(told, resumed));
    }
    said.extend(missing(told));
    said
}

/// What became of the cells at these positions, which an earlier run had finished.
fn finished_before(told: &PythonReport, resumed: &[usize]) -> String {
    let ran = |cell: &&NotebookCell| resumed.contains(&cell.index);
    let begun = told.cells.iter().filter(|cell| cell.count.is_some());
    let again = begun.filter_map(|cell| cell.notebook.as_ref()).filter(ran).count();
    let cells = count(resumed.len(), "cell");
    if again > 0 {
        let (were, them) = if again == 1 { ("was", "it") } else { ("were", "them") };
        return format!(
            "of {cells} that an earlier run had finished, {again} {were} run again, because later \
             cells need {them}"
        );
    }
    let (were, their) = if resumed.len() == 1 { ("was", "its") } else { ("were", "their") };
    let chooses = |cell: &NotebookCell| cell.why.is_some();
    let missing = match told.cells.iter().filter_map(|cell| cell.notebook.as_ref()).any(chooses) {
        true => String::new(),
        false => format!("; {their} variables are not there"),
    };
    format!("{cells} that an earlier run had finished {were} not run again{missing}")
}

/// Cells that ran, but whose outputs are missing because another program changed the file.
pub(crate) fn missing(told: &PythonReport) -> Vec<String> {
    let mut said = Vec::new();
    let changed = |wanted: WriteBack| {
        let is_it =
            |cell: &&CellReport| cell.notebook.as_ref().is_some_and(|cell| cell.written == wanted);
        let names: Vec<String> = told.cells.iter().filter(is_it).map(cell_name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    said.extend(changed(WriteBack::SourceChanged).map(|cells| {
        format!(
            "changed by another program while it ran, so its outputs are not in the file: {cells}"
        )
    }));
    said.extend(changed(WriteBack::Gone).map(|cells| format!("no longer in the file: {cells}")));
    said
}

/// Remarks about cells beside their output, such as lost output or code that ran twice.
pub(crate) fn said_beside(told: &PythonReport) -> impl Iterator<Item = String> {
    let notes = told.cells.iter().flat_map(|cell| cell.notes.iter().map(move |note| (cell, note)));
    let is_wanted = |note: &CallNote| !matches!(note, CallNote::StateLost(_));
    let notes = notes.filter(move |(_, note)| is_wanted(note));
    notes.map(|(cell, note)| {
        visible(&format!("{}: {}", cell_name(cell), words::call::note(note))).into_owned()
    })
}

/// The sentence for a note.
fn note(note: &RunNote) -> String {
    match note {
        RunNote::OtherKernel { named } => {
            format!("the notebook names the kernel {named}, but the Python in use here ran it")
        }
        RunNote::InstalledKernel { name, display_name, instead_of: None } => {
            format!(
                "run by the Jupyter kernel {name} ({display_name}), which the notebook asks for"
            )
        }
        RunNote::InstalledKernel { name, display_name, instead_of: Some(named) } => {
            format!(
                "run by the Jupyter kernel {name} ({display_name}), which has the notebook's \
                 language; {named}, which it names, is not installed"
            )
        }
        RunNote::ReplacedKernel { had } => {
            format!(
                "the notebook asks for another kernel than before; its old kernel ({had}) was ended"
            )
        }
        RunNote::Helpers => {
            "this session has inkcell's helper functions, which Jupyter does not have; cells that \
             use them fail in Jupyter"
                .to_owned()
        }
        RunNote::NoDefaults => {
            "no cell has the tag parameters, so the values were put at the top of the notebook"
                .to_owned()
        }
        RunNote::UnknownParameters { names } => {
            format!("the cell with the tag parameters does not set {}", names.join(", "))
        }
        RunNote::Exited { index, status } if status.is_empty() => {
            format!("the run ended at cell {index}, which called exit")
        }
        RunNote::Exited { index, status } => {
            format!("the run ended at cell {index}, which called exit with: {status}")
        }
        RunNote::NotKept(problem) => format!(
            "the outputs could neither be saved nor kept ({}); run those cells again",
            problem.message
        ),
        RunNote::NotSaved(problem) => format!(
            "the outputs could not be saved ({}); they are kept and go into the file with the next \
             command on it",
            problem.message
        ),
        RunNote::NotStored(problem) => format!(
            "the outputs are saved; the state of widgets or the notes about the run could not be \
             stored ({})",
            problem.message
        ),
        RunNote::PutAgain { cells } => format!(
            "another program had taken the outputs of {} out of the file; they are in it again",
            count(*cells, "cell")
        ),
        RunNote::CutOff { index } => {
            format!(
                "the last run was cut off while cell {index} ran; the output of that cell is lost"
            )
        }
        RunNote::Recovered { cells } => recovered(*cells),
        RunNote::Overwritten { name, index } => format!(
            "cell {index} assigns to or deletes the parameter {name}, so cells below may not see the value you gave"
        ),
    }
}

/// The remark after inkcell wrote outputs of an interrupted run into the file.
pub(crate) fn recovered(cells: usize) -> String {
    let cells = count(cells, "cell");
    format!("an earlier run was cut off; the outputs of {cells} that it kept are in the file now")
}

/// A cell's position and id.
pub(crate) fn cell_name(cell: &CellReport) -> String {
    match &cell.notebook {
        Some(NotebookCell { index, id: Some(id), .. }) => format!("cell {index} ({id})"),
        Some(NotebookCell { index, id: None, .. }) => format!("cell {index}"),
        None => String::from("cell"),
    }
}

/// Returns true if a title is the name of a cell of a notebook, as `cell_name` makes it.
pub(crate) fn is_cell_name(title: &str) -> bool {
    title.strip_prefix("cell ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// How to see the outputs. `name` is the path as a shell takes it.
pub(crate) fn see_outputs(name: &str) -> String {
    format!("See the outputs: inkcell read {name} --outputs full")
}

/// How to go on with a run that the user stopped.
pub(crate) fn go_on(command: &str) -> String {
    format!("Continue from here: {command}")
}

/// The command that goes on with a run, if it is too long to be printed.
pub(crate) const SAME_RESUMED: &str = "the same command with --resume";

/// How to go on with a run that a cell has stopped.
pub(crate) fn go_on_when_fixed(command: &str) -> String {
    format!("After the fix, continue from here: {command}")
}

/// Which Python lacks a module, and how to install it there.
pub(crate) fn install(module: &str, python: &dyn Display, command: &str) -> String {
    format!("{python} has no module {module}; install it with: {command}")
}

/// The command for an environment that has no pip. `python` is the path as a shell takes it.
pub(crate) fn install_with_uv(python: &str, package: &str) -> String {
    format!("uv pip install --python {python} {package}")
}

/// A cell that ended the run by `exit` with an error status.
pub(crate) fn called_exit(status: &str) -> String {
    format!("called exit with: {status}")
}

/// The words behind the name of a cell that was not given its turn.
pub(crate) const STOPPED_BEFORE: &str = " was stopped before it began";

/// The words behind the name of a cell that ran out of time.
pub(crate) fn not_ended_within(limit: &str) -> String {
    format!(" did not end within {limit}")
}

/// The words behind the name of a cell that asked for input.
pub(crate) const ASKED_FOR_INPUT: &str = ": it asked for input, which a run does not have; \
     give values with -p, or type its code at a prompt: inkcell repl";

pub(crate) const NOTHING_TO_RUN: &str = "Nothing to run";

pub(crate) const NOTHING_STALE: &str = "Nothing is stale";

/// The first part of the summary of a run.
pub(crate) fn ran(cells: &str, took: &str) -> String {
    format!("Ran {cells} in {took}")
}

/// The summary of a notebook that was written and not run.
pub(crate) fn prepared(path: &str) -> String {
    format!("Prepared {path}; no cell was run")
}

/// The note about outputs that came faster than they could be shown.
pub(crate) fn missed_outputs(events: u64) -> String {
    format!(
        "note: {} came too fast to be shown; the file has them",
        count(usize::try_from(events).unwrap_or(usize::MAX), "output")
    )
}

/// A part of the summary of a run that ended well anyway.
pub(crate) fn failed_as_allowed(cells: usize) -> String {
    format!("{cells} failed (allowed)")
}

/// A cell that had outputs before the run, and has none after it.
pub(crate) const NO_OUTPUT_NOW: &str = "no output now";

/// Outputs that differ from those before the run.
pub(crate) fn changed(outputs: &str) -> String {
    format!("{outputs}, changed")
}

/// The line below a table that leaves out cells. `rest` counts those.
pub(crate) fn cells_not_shown(rest: &str) -> String {
    format!("… and {rest}; the slowest and those that failed are shown")
}

pub(crate) const TRY_WHEN_DONE: &str = "try again when that run has ended";

/// What to do about a notebook that its modes protect.
pub(crate) fn make_writable(path: &dyn Display) -> String {
    format!("make it writable (chmod u+w {path}), or write to another file with -o")
}

pub(crate) const RUN_AS_OWNER: &str =
    "run as the owner of the file, or write to another file with -o";

pub(crate) const DASH_IS_PIPED: &str = "- is for a notebook that was piped in; name a file";

pub(crate) const NOTEBOOK_ON_STDOUT: &str =
    "the notebook itself is written to standard output; give -o FILE";

pub(crate) const PIPE_IT_IN: &str = "it is a terminal; pipe a notebook in with \
     'inkcell run - < a.ipynb', or type code at a prompt with 'inkcell repl'";
