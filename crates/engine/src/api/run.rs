//! Runs of the cells of a notebook: the request, and the parts of the report that other calls do not have.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_notebook::Parameters;
use serde::{Deserialize, Serialize};

use super::{CellKernel, KernelMode, KernelWishes, Problem, Reading};
use crate::types::{KernelName, SessionName, StaleReason};

/// A request to run cells of a notebook, with their outputs written back.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The path of the notebook, in the caller's terms.
    pub path: String,
    /// The file to write; the default is the notebook itself.
    #[serde(default)]
    pub output: Option<String>,
    /// The cells to run; the default is all code cells.
    #[serde(default)]
    pub cells: CellChoice,
    /// Values for a new cell of the notebook, which runs with the others. Without values, no cell is added.
    #[serde(default, with = "super::parameters")]
    pub parameters: Parameters,
    /// Whether the run begins with a new kernel.
    #[serde(default)]
    pub kernel: CellKernel,
    /// The reaction to a cell that failed.
    #[serde(default)]
    pub on_error: OnError,
    /// The reaction to a kernel that lacks names of cells that were not chosen.
    #[serde(default)]
    pub needed: NeededCells,
    /// The time limit for all cells together.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub timeout: Option<Duration>,
    /// The time limit for each cell.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub cell_timeout: Option<Duration>,
    /// How long the caller waits for the answer.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub wait: Option<Duration>,
    /// The working folder; the default is the notebook's own folder.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The name of the session; the default is the notebook's own session.
    #[serde(default)]
    pub session: Option<SessionName>,
    /// The kernel. A field that is not given follows the notebook's metadata.
    #[serde(default)]
    pub wanted: KernelWishes,
    /// Whether the kernel outlives the run.
    #[serde(default)]
    pub mode: KernelMode,
    /// Whether the report holds the output.
    #[serde(default)]
    pub reading: Reading,
    /// The cell with which the run begins.
    #[serde(default)]
    pub start: RunStart,
    /// The marks of the run in the file, in addition to outputs and counts.
    #[serde(default)]
    pub stamps: Stamps,
    /// The reaction to a file that others have open on the server that runs it.
    #[serde(default)]
    pub on_open: OnOpen,
    /// Whether cells run at all.
    #[serde(default)]
    pub extent: RunExtent,
    /// Whether the written notebook shows the sources of its code cells.
    #[serde(default)]
    pub sources: SourceDisplay,
}

impl RunRequest {
    /// A request for all cells of a notebook, in place, in its own session.
    pub fn of(path: String) -> RunRequest {
        RunRequest { path, ..RunRequest::default() }
    }
}

/// A choice of a notebook's cells. A field that is not given does not restrict it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellChoice {
    /// A list such as `0,3-5,ab12`; `all`; or `stale`: the cells that are not fresh, and the cells that they need.
    #[serde(default)]
    pub list: Option<String>,
    /// The first cell of the choice, by position or id.
    #[serde(default)]
    pub from: Option<String>,
    /// The last cell of the choice, by position or id.
    #[serde(default)]
    pub to: Option<String>,
    /// One side of a cell, given by its position: as text, a position might be the id of another cell.
    #[serde(default)]
    pub side: Option<CellSide>,
}

/// The cells on one side of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellSide {
    /// The cells up to this position, with the cell itself.
    UpTo(usize),
    /// The cells after this position.
    After(usize),
}

impl CellSide {
    /// Whether the side contains the cell at this position.
    pub(crate) fn has(self, index: usize) -> bool {
        match self {
            CellSide::UpTo(last) => index <= last,
            CellSide::After(last) => index > last,
        }
    }
}

impl CellChoice {
    /// A choice of all cells that are not fresh, and the cells that they need.
    pub fn stale() -> CellChoice {
        CellChoice { list: Some(Self::STALE.to_owned()), ..CellChoice::default() }
    }

    const STALE: &str = "stale";

    /// Returns whether the choice is [`CellChoice::stale`].
    pub fn is_stale(&self) -> bool {
        self.list.as_deref() == Some(Self::STALE)
    }
}

/// The reaction to a cell that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The run ends there. A run of stale cells goes on with those that do not depend on the cell.
    #[default]
    Usual,
    /// The run ends there, and later cells do not run.
    Stop,
    /// The run goes on, as long as there is a kernel.
    GoOn,
}

/// The reaction to a kernel that lacks names that chosen cells need and other cells above them make.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeededCells {
    /// The run does not begin, and all outputs stay. A resumed run begins.
    #[default]
    MustHaveRun,
    /// The cells that make what the kernel does not hold run first.
    RunFirst,
    /// The chosen cells run without them.
    LeaveOut,
}

/// The reaction to a file that others have open on the server that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOpen {
    /// The run does not begin, and the file stays as it is.
    #[default]
    Refuse,
    /// The file is written, even if the work of the others is lost.
    Write,
}

/// Whether cells run at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunExtent {
    /// The chosen cells run.
    #[default]
    Cells,
    /// No cell runs: the file is written as a run would write it before its first cell.
    Preparation,
}

/// Whether a notebook shows the sources of its code cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceDisplay {
    /// The metadata of the cells stays as it is.
    #[default]
    AsBefore,
    /// The metadata of every code cell tells Jupyter to hide its source.
    Hidden,
}

/// The starting point of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStart {
    /// The first chosen cell.
    #[default]
    First,
    /// The first chosen cell that the last run did not finish.
    Resume,
    /// The first chosen cell, in a copy of a kernel that has run other cells of the notebook that is read. The records
    /// of those cells count for the file that is written, as if this run had run them.
    Copied,
}

/// The marks of a run in the file, in addition to outputs and counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamps {
    /// No marks: the file gets what Jupyter itself would store.
    #[default]
    Nothing,
    /// The times that nbclient and JupyterLab store with each cell.
    Jupyter,
    /// The marks of papermill: times, states, and a cell that says where the run failed.
    Papermill,
    /// The record of each cell, so that a later reader of the file knows which cells are stale.
    Inkcell,
}

/// The notebook part of a report.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NotebookReport {
    /// The notebook, as the caller named it.
    pub path: String,
    /// The file that has the outputs, as the caller named it.
    pub written: String,
    /// The number of cells in the notebook.
    pub cells: usize,
    /// The version of the file after the last save.
    pub version: Option<String>,
    /// Chosen cells that did not run because of their tags.
    pub skipped: Vec<usize>,
    /// Cells that were left out of a run of stale cells because they are fresh.
    #[serde(default)]
    pub fresh: Vec<usize>,
    /// Cells that an earlier run had finished.
    pub resumed: Vec<usize>,
    /// Facts that a reader of the run must know in addition.
    pub notes: Vec<RunNote>,
}

impl NotebookReport {
    /// The reason why the file does not have all outputs, if that is so.
    pub fn unsaved(&self) -> Option<(UnsavedFate, &Problem)> {
        self.notes.iter().find_map(RunNote::unsaved)
    }
}

impl RunNote {
    /// The reason why the file does not have all outputs, if this note has one.
    pub fn unsaved(&self) -> Option<(UnsavedFate, &Problem)> {
        match self {
            RunNote::NotSaved(problem) => Some((UnsavedFate::Kept, problem)),
            RunNote::NotKept(problem) => Some((UnsavedFate::Lost, problem)),
            _ => None,
        }
    }
}

/// The fate of outputs that are not in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnsavedFate {
    /// The outputs are kept. The next command on the file writes them into it.
    Kept,
    /// The outputs could not be kept; run the cells again to get them.
    Lost,
}

/// A fact about a run that its caller must know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunNote {
    /// The notebook names another kernel than the one that ran it.
    OtherKernel {
        /// The name in the file.
        named: String,
    },
    /// The notebook's metadata chose an installed kernel.
    InstalledKernel {
        /// The name under which the kernel is installed.
        name: KernelName,
        /// The kernel's name for people.
        display_name: String,
        /// The kernel that the notebook names, if it is not installed.
        instead_of: Option<KernelName>,
    },
    /// The notebook's session had a kernel of another kind, which was ended.
    ReplacedKernel {
        /// The kernel that was ended, in words.
        had: String,
    },
    /// The session's kernel was started with helper functions that Jupyter does not have.
    Helpers,
    /// The request has values, and no cell of the notebook has the tag for defaults.
    NoDefaults,
    /// The request has values that the cell with the defaults does not name.
    UnknownParameters {
        /// The names that the cell lacks.
        names: Vec<String>,
    },
    /// The run stopped at a `SystemExit`.
    Exited {
        /// The position of the cell, from 0.
        index: usize,
        /// The status that the code gave to `exit`; empty if it gave none or 0.
        status: String,
    },
    /// The outputs could not be saved. They are kept, and the next command on the file writes them into it.
    NotSaved(Problem),
    /// The outputs could neither be saved nor kept: the cells must be run again.
    NotKept(Problem),
    /// The outputs are in the file; the state of widgets, or the notes about the run, could not be stored there.
    NotStored(Problem),
    /// Another program removed outputs that the run had saved; they were put into the file again.
    PutAgain {
        /// The number of cells with such outputs.
        cells: usize,
    },
    /// The host of the last run died while this cell ran; the cell's output is lost.
    CutOff {
        /// The position of the cell.
        index: usize,
    },
    /// Outputs of an earlier run that was cut off were put into the file.
    Recovered {
        /// The number of cells with such outputs.
        cells: usize,
    },
    /// A cell replaced or deleted a value of the caller, below the cell that sets it.
    Overwritten {
        /// The name of the parameter.
        name: String,
        /// The position of the cell.
        index: usize,
    },
}

/// The notebook cell of a cell in a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotebookCell {
    /// The position of the cell when it began, from 0.
    pub index: usize,
    /// The id of the cell; none in files before nbformat 4.5.
    pub id: Option<String>,
    /// The number of outputs so far.
    pub outputs: usize,
    /// Progress of writing the outputs to the file.
    pub written: WriteBack,
    /// True if the cell is tagged as one that may fail.
    #[serde(default)]
    pub may_fail: bool,
    /// The duration of the cell's previous run.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub last_took: Option<Duration>,
    /// Why a run that chooses its cells ran the cell or left it out.
    #[serde(default)]
    pub why: Option<StaleReason>,
    /// How the outputs compare with those that they replace. None until the cell has ended, and if no cell of the
    /// notebook had outputs before the run.
    #[serde(default)]
    pub change: Option<OutputChange>,
}

/// The outputs of a cell in comparison with those that they replace, by the rules of `verify`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputChange {
    /// Equal, or the cell had no outputs and has none now.
    Same,
    /// The cell had outputs, and they were different.
    Changed,
    /// The cell had no outputs, and has some now.
    New,
}

/// Progress of writing a cell's outputs to the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteBack {
    /// Not written: the cell has not ended, or its outputs could not be kept anywhere.
    NotYet,
    /// Safe outside the file. The next save writes it into the file.
    Kept,
    /// The outputs are in the file.
    Saved,
    /// The source was changed during the run, so the file was left as it is.
    SourceChanged,
    /// The cell is no longer in the file.
    Gone,
}
