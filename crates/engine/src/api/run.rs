//! Running the cells of a notebook: what is asked, and what is told besides what a call always tells.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_notebook::Parameters;
use serde::{Deserialize, Serialize};

use super::{CellKernel, KernelMode, KernelName, Problem, Reading, Wanted};
use crate::registry::SessionName;
use crate::staleness::Why;

/// Cells of a notebook to run, with their outputs written back.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The notebook.
    pub path: String,
    /// Where to write instead of in place.
    #[serde(default)]
    pub output: Option<String>,
    /// Which cells.
    #[serde(default)]
    pub cells: CellChoice,
    /// Values that are put into a cell of the notebook, which is run with the others; none leave it as it is.
    #[serde(default, with = "super::parameters")]
    pub parameters: Parameters,
    /// Whether the run begins with a new kernel.
    #[serde(default)]
    pub kernel: CellKernel,
    /// What happens after a cell that failed.
    #[serde(default)]
    pub on_error: OnError,
    /// How long all cells together may take.
    #[serde(default, with = "crate::encoding::seconds_option")]
    pub timeout: Option<Duration>,
    /// How long each cell may take.
    #[serde(default, with = "crate::encoding::seconds_option")]
    pub cell_timeout: Option<Duration>,
    /// How long the caller waits for the answer.
    #[serde(default, with = "crate::encoding::seconds_option")]
    pub wait: Option<Duration>,
    /// The working folder; the notebook's own when none is named.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Which session; the notebook's own when none is named.
    #[serde(default)]
    pub session: Option<SessionName>,
    /// Which kernel; what the notebook says counts where this says nothing.
    #[serde(default)]
    pub wanted: Wanted,
    /// Whether the kernel outlives the run.
    #[serde(default)]
    pub mode: KernelMode,
    /// Whether the report holds the output.
    #[serde(default)]
    pub reading: Reading,
    /// Where to begin.
    #[serde(default)]
    pub start: RunStart,
    /// What is noted in the file besides outputs and counts.
    #[serde(default)]
    pub stamps: Stamps,
    /// What happens where others have the file open on the server that runs it.
    #[serde(default)]
    pub on_open: OnOpen,
}

impl RunRequest {
    /// All cells of a notebook, in place, in its own session.
    pub fn of(path: String) -> RunRequest {
        RunRequest { path, ..RunRequest::default() }
    }
}

/// Which cells of a notebook. What is left out does not restrict.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellChoice {
    /// A list such as `0,3-5,ab12`; `all`, or `stale`: those that are not fresh, and what they need.
    #[serde(default)]
    pub list: Option<String>,
    /// From this cell on.
    #[serde(default)]
    pub from: Option<String>,
    /// Up to this cell, with it.
    #[serde(default)]
    pub to: Option<String>,
    /// On one side of a cell that is known by its position: as text it might be the id of another.
    #[serde(default)]
    pub side: Option<CellSide>,
}

/// One side of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellSide {
    /// Up to the cell at this position, with it.
    UpTo(usize),
    /// After the cell at this position.
    After(usize),
}

impl CellSide {
    /// Whether a cell at this position is there.
    pub(crate) fn has(self, index: usize) -> bool {
        match self {
            CellSide::UpTo(last) => index <= last,
            CellSide::After(last) => index > last,
        }
    }
}

impl CellChoice {
    /// All cells that are not fresh, and what they need.
    pub fn stale() -> CellChoice {
        CellChoice { list: Some(Self::STALE.to_owned()), ..CellChoice::default() }
    }

    const STALE: &str = "stale";

    /// Whether those are meant.
    pub fn is_stale(&self) -> bool {
        self.list.as_deref() == Some(Self::STALE)
    }
}

/// What happens after a cell that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The run stops.
    #[default]
    Stop,
    /// It goes on, as long as there is a kernel.
    GoOn,
}

/// What happens where others have the file open on the server that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOpen {
    /// Nothing is run.
    #[default]
    Refuse,
    /// It is written whatever becomes of what they do.
    Write,
}

/// Where a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStart {
    /// With the first cell that was chosen.
    #[default]
    First,
    /// With the first that the last run did not finish.
    Resume,
    /// With the first cell that was chosen, in a copy of the kernel that has run others of the notebook that is read: what
    /// is known about them counts for the file that is written, as if this run had run them.
    Copied,
}

/// What a run notes in the file besides outputs and counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamps {
    /// Nothing.
    #[default]
    Nothing,
    /// The times that nbclient and JupyterLab note with each cell.
    Jupyter,
    /// What papermill notes: times, states, and a cell that says where it failed.
    Papermill,
    /// What is on record about each cell, so that whoever gets the file knows what is stale.
    Inkcell,
}

/// The notebook of a call that runs one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NotebookReport {
    /// The notebook, as the caller named it.
    pub path: String,
    /// The file that has the outputs, as the caller named it.
    pub written: String,
    /// How many cells it has.
    pub cells: usize,
    /// The version of the file after the last save.
    pub version: Option<String>,
    /// Cells that were chosen and are not for running: their tags say so.
    pub skipped: Vec<usize>,
    /// Cells that were asked for if they are stale, and are not.
    #[serde(default)]
    pub fresh: Vec<usize>,
    /// Cells that a run before this one had finished.
    pub resumed: Vec<usize>,
    /// What its reader must know besides.
    pub notes: Vec<RunNote>,
}

impl NotebookReport {
    /// Why the file does not have all outputs.
    pub fn unsaved(&self) -> Option<(Unsaved, &Problem)> {
        self.notes.iter().find_map(RunNote::unsaved)
    }
}

impl RunNote {
    /// Why the file does not have all outputs, if this says so.
    pub fn unsaved(&self) -> Option<(Unsaved, &Problem)> {
        match self {
            RunNote::NotSaved(problem) => Some((Unsaved::Kept, problem)),
            RunNote::NotKept(problem) => Some((Unsaved::Lost, problem)),
            _ => None,
        }
    }
}

/// Where outputs are that are not in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsaved {
    /// They go into it with the next command on it.
    Kept,
    /// Nowhere.
    Lost,
}

/// Something about a run that its caller would want to know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunNote {
    /// The notebook names a kernel that is not the one that ran it.
    OtherKernel {
        /// The name in the file.
        named: String,
    },
    /// The notebook's own words chose an installed kernel.
    InstalledKernel {
        /// Its name.
        name: KernelName,
        /// Its name for people.
        display_name: String,
        /// The one that the notebook names and that is not installed.
        instead_of: Option<KernelName>,
    },
    /// The notebook's session had a kernel of another kind, which was ended.
    ReplacedKernel {
        /// What that one was.
        had: String,
    },
    /// The session's kernel was started with helper functions that Jupyter does not have.
    Helpers,
    /// Values were given, and no cell of the notebook has the tag for defaults.
    NoDefaults,
    /// Values were given that the cell with the defaults does not name.
    UnknownParameters {
        /// Their names.
        names: Vec<String>,
    },
    /// The run stopped at a `SystemExit`.
    Exited {
        /// The cell.
        index: usize,
        /// What the code gave as its status; empty when it had nothing to complain about.
        status: String,
    },
    /// The outputs could not be saved; they are kept and go into the file with the next command on it.
    NotSaved(Problem),
    /// The outputs could not be saved, and not be kept either: the cells must be run again.
    NotKept(Problem),
    /// Outputs that the run had saved were taken out of the file by another program, and are in it again.
    PutAgain {
        /// Of how many cells.
        cells: usize,
    },
    /// The host of the last run died while this cell ran; what the cell showed is lost.
    CutOff {
        /// Where the cell was.
        index: usize,
    },
    /// Outputs of an earlier run that had ended before its time were put into the file.
    Recovered {
        /// Of how many cells.
        cells: usize,
    },
}

/// A cell of a call, as a cell of a notebook.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotebookCell {
    /// Its position when it began.
    pub index: usize,
    /// Its id.
    pub id: Option<String>,
    /// How many outputs it has shown.
    pub outputs: usize,
    /// Whether they are in the file.
    pub written: WriteBack,
    /// Whether the cell is tagged as one that may fail.
    #[serde(default)]
    pub may_fail: bool,
    /// How long it took the last time.
    #[serde(default, with = "crate::encoding::seconds_option")]
    pub last_took: Option<Duration>,
    /// Why it was run or left out, where stale cells were asked for.
    #[serde(default)]
    pub why: Option<Why>,
}

impl NotebookCell {
    /// Whether it need not run and was left out.
    pub fn is_left_out(&self) -> bool {
        self.why.as_ref().is_some_and(Why::is_left_out)
    }
}

/// Whether what a cell showed is in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteBack {
    /// Not yet: it has not ended, or its outputs could not be kept anywhere.
    NotYet,
    /// It is safe, and goes into the file with the next save.
    Kept,
    /// It is in the file.
    Saved,
    /// Somebody changed the source meanwhile, so the file was left as it is.
    SourceChanged,
    /// The cell is not in the file any more.
    Gone,
}
