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
        let cells = count(resumed.len(), "cell");
        let (were, their) = if resumed.len() == 1 { ("was", "its") } else { ("were", "their") };
        said.push(format!(
            "{cells} that an earlier run had finished {were} not run again; {their} variables are \
             not there"
        ));
    }
    said.extend(missing(told));
    said
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
            format!(
                "the notebook names the kernel {named}; it was run by the Python that is used here"
            )
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
                "the notebook asks for another kernel than before; the one it had ({had}) was ended"
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
                "the last run was cut off while cell {index} ran; what that cell showed is lost"
            )
        }
        RunNote::Recovered { cells } => recovered(*cells),
        RunNote::Overwritten { name, index } => format!(
            "cell {index} overwrites the parameter {name}: below it the given value does not count"
        ),
    }
}

/// The remark after inkcell wrote outputs of an interrupted run into the file.
pub(crate) fn recovered(cells: usize) -> String {
    let cells = count(cells, "cell");
    format!(
        "a run had ended before its time; the outputs of {cells} that it had kept are in the \
         file now"
    )
}

/// A cell's position and id.
pub(crate) fn cell_name(cell: &CellReport) -> String {
    match &cell.notebook {
        Some(NotebookCell { index, id: Some(id), .. }) => format!("cell {index} ({id})"),
        Some(NotebookCell { index, id: None, .. }) => format!("cell {index}"),
        None => String::from("cell"),
    }
}

/// Where the outputs are, and how to see them. `name` is the path as a shell takes it.
pub(crate) fn outputs_are_in(path: &str, name: &str) -> String {
    format!("Outputs are in {path}; see them with: {}", see(name))
}

/// What a user may do after a run that ended well. `last` is the cell to run again.
pub(crate) fn next_steps(path: &str, name: &str, last: usize) -> Vec<String> {
    vec![
        format!(
            "Outputs are in {path}. To see them, to run its last cell again, to let an agent \
             do both:"
        ),
        format!("  {}", see(name)),
        format!("  inkcell run {name} --cells {last}"),
        "  inkcell setup claude-code   (or cursor, vscode, codex, zed, goose)".to_owned(),
    ]
}

fn see(name: &str) -> String {
    format!("inkcell read {name} --outputs full")
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
pub(crate) const ASKED_FOR_INPUT: &str = ": it asked for input, and nobody can answer in a run; \
     give values with -p, or type its code at a prompt: inkcell repl";

pub(crate) const NOTHING_TO_RUN: &str = "there was nothing to run";

/// A part of the summary of a run that ended well all the same.
pub(crate) fn failed_as_allowed(cells: usize) -> String {
    format!("{cells} of them failed, as allowed")
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

pub(crate) const TRY_WHEN_DONE: &str = "try again when it is done";

/// What to do about a notebook that its modes protect.
pub(crate) fn make_writable(path: &dyn Display) -> String {
    format!("make it writable (chmod u+w {path}), or write to another file with -o")
}

pub(crate) const RUN_AS_OWNER: &str =
    "run as the owner of the file, or write to another file with -o";

pub(crate) const DASH_IS_PIPED: &str = "- is for a notebook that was piped in; name a file";

pub(crate) const NOTEBOOK_ON_STDOUT: &str =
    "the notebook itself is written to standard output; give -o FILE";

pub(crate) const PIPE_IT_IN: &str = "it is a terminal; pipe a notebook in (inkcell run - < \
     a.ipynb), or type code at a prompt with inkcell repl";
