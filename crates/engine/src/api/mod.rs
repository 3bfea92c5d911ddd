//! Requests to an engine and its answers: the vocabulary that all frontends share.
//!
//! Owns the shapes. Paths here are absolute. The frontends choose the wording of an answer.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use inkcell_kernel::{Death, InputMode, KernelInfo, PyError};
use serde::{Deserialize, Serialize};

use crate::output::ModelOutput;
use crate::types::{CallNote, KernelFate, Kind, SessionName, StaleReason};

pub use crate::output::Excerpt;
pub use crate::types::{ExecutionId, KernelName, State};

mod inspect;
mod kernel;
mod kernel_wishes;
mod parameters;
mod result;
mod run;

pub use inspect::{
    Column, Completion, Completions, Help, Helper, HelperList, Inspect, InspectReport,
    InspectRequest, InspectionAnswer, RowLabels, TableDigest, ValuePart, Variable, VariableDigest,
    VariableList,
};
pub use kernel::{
    InterruptFate, KernelReport, KernelRequest, RunningReport, SessionPhase, SessionRef,
    SessionReport,
};
pub use kernel_wishes::{Helpers, KernelChoice, KernelWishes};
pub use parameters::{MAX_PARAMETER_DEPTH, json_parameters};
pub use result::{
    ArtifactForm, ArtifactFound, ArtifactPart, ArtifactReport, LineCut, LineHit, LinesPiece,
    ResultReport, ResultRequest,
};
pub use run::{
    CellChoice, CellSide, NeededCells, NotebookCell, NotebookReport, OnError, OnOpen, OutputChange,
    RunExtent, RunNote, RunRequest, RunStart, SourceDisplay, Stamps, UnsavedFate, WriteBack,
};

/// Code to run in a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonRequest {
    /// The cells, in order. The first that fails stops the call.
    pub cells: Vec<CellSource>,
    /// The name of the session; the default is the session of the folder.
    #[serde(default)]
    pub session: Option<SessionName>,
    /// The working folder, absolute.
    #[serde(with = "crate::types::encoding::path")]
    pub cwd: PathBuf,
    /// The kernel as the caller asks for it; by default, whatever the settings choose.
    #[serde(default)]
    pub wanted: KernelWishes,
    /// Whether the kernel outlives the call.
    #[serde(default)]
    pub mode: KernelMode,
    /// The time limit for all cells together.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub timeout: Option<Duration>,
    /// How long the caller waits for the answer.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub wait: Option<Duration>,
    /// Whether the report holds the output.
    #[serde(default)]
    pub reading: Reading,
    /// The permission to ask for lines of input, which [`CallHandle::reply_input`](crate::CallHandle::reply_input)
    /// answers. Only a caller that reads the events as they come can be asked.
    #[serde(default)]
    pub input: InputMode,
}

impl PythonRequest {
    /// The session that the request is for.
    pub fn session_ref(&self) -> SessionRef {
        let PythonRequest { session, cwd, wanted, .. } = self;
        SessionRef { session: session.clone(), cwd: cwd.clone(), wanted: wanted.clone() }
    }
}

/// Whether a report holds the output of its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The report holds the output within limits; the rest is stored.
    Bounded(Excerpt),
    /// The caller reads all output as it comes, so nothing is kept or stored.
    Elsewhere,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading::Bounded(Excerpt::default())
    }
}

/// One cell of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSource {
    /// The Python code of the cell, magics included.
    pub code: String,
    /// The title of the cell, for people.
    #[serde(default)]
    pub title: Option<String>,
    /// The time limit of the cell, within the call's own limit.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub timeout: Option<Duration>,
    /// Whether the cell begins with a new kernel.
    #[serde(default)]
    pub kernel: CellKernel,
}

/// The kernel that a cell begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKernel {
    /// The kernel that the session has, with its variables.
    #[default]
    Same,
    /// A new one: the session's kernel is ended first.
    Fresh,
}

/// Whether a kernel outlives the call it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelMode {
    /// The kernel stays in its session, with all variables.
    #[default]
    Session,
    /// The kernel ends with the call.
    PerCall,
}

/// One cell of a call, in its current state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CellReport {
    /// The cell as it was requested.
    pub source: CellSource,
    /// Progress so far; it changes no more once the cell has ended.
    pub state: State,
    /// The execution count in the kernel.
    pub count: Option<u32>,
    /// How long the cell took, or has taken so far.
    #[serde(with = "crate::types::encoding::seconds")]
    pub duration: Duration,
    /// The output of the cell.
    pub output: ModelOutput,
    /// The details of the end, beyond the state.
    pub end: Option<EndReport>,
    /// Facts that a reader of the cell must know in addition.
    pub notes: Vec<CallNote>,
    /// The cell of a notebook that this is, if it is one.
    #[serde(default)]
    pub notebook: Option<NotebookCell>,
}

impl CellReport {
    /// The status that the code gave to `exit`; empty if it gave none or 0.
    pub fn exit_status(&self) -> Option<&str> {
        match &self.end {
            Some(EndReport::Exception(error)) if error.name == "SystemExit" => {
                Some(if matches!(&*error.value, "0" | "None") { "" } else { &error.value })
            }
            _ => None,
        }
    }

    /// Returns whether the cell was given up before its code reached a kernel.
    pub fn never_began(&self) -> bool {
        matches!(self.end, Some(EndReport::GivenUp { has_begun: false, .. }))
    }

    /// Returns whether a run that chooses its cells left this one out, because it need not run.
    pub fn is_left_out(&self) -> bool {
        let why = self.notebook.as_ref().and_then(|cell| cell.why.as_ref());
        why.is_some_and(StaleReason::is_left_out)
    }

    /// Returns whether the cell ended well and its notebook had the same outputs before.
    pub fn is_as_before(&self) -> bool {
        let change = self.notebook.as_ref().and_then(|cell| cell.change);
        self.state == State::Done && change == Some(OutputChange::Same)
    }

    /// Returns whether the caller chose the cell. The others are stale, or another cell needs them.
    fn is_chosen(&self) -> bool {
        let why = self.notebook.as_ref().and_then(|cell| cell.why.as_ref());
        matches!(why, None | Some(StaleReason::Chosen))
    }
}

/// The details of a cell's end, beyond its state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReport {
    /// The code raised an exception that nothing caught.
    Exception(PyError),
    /// The code was stopped. `after` is its time limit, if that was the reason.
    Stopped {
        /// The time limit that was exceeded; none if the call was cancelled.
        #[serde(with = "crate::types::encoding::seconds_option")]
        after: Option<Duration>,
        /// The kernel's fate: it survived, or variables are gone.
        fate: KernelFate,
        /// The exception that the code ended with, if it reported one.
        exception: Option<PyError>,
    },
    /// The kernel ended while the code ran.
    Died(Death),
    /// The session's kernels died too often in a row. The next call starts a new one.
    GivenUp {
        /// The death of the last of them.
        death: Option<Death>,
        /// True if one of them had begun this code. Otherwise the code was not run.
        has_begun: bool,
    },
    /// Nothing was run: the kernel could not be started or lacks what the cells need, or inkcell itself failed.
    NoKernel(Problem),
    /// inkcell itself failed while the code ran, or after it.
    Fault(Problem),
}

/// The reason why a resource was not available, with a step that may help.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// The kind of the failure.
    pub kind: Kind,
    /// The cause in one line, for people.
    pub message: String,
    /// A step that may help.
    pub step: Option<KernelStep>,
}

/// A step to take when a kernel could not be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelStep {
    /// Check which Python is used, and name another one.
    NameOtherPython,
    /// Create the folder, or choose another working folder.
    ChooseCwd,
    /// Give a kernel more time to start.
    RaiseStartTimeout,
    /// Choose another folder for state.
    ChooseState,
    /// Allow more open files.
    RaiseOpenFiles,
    /// Give the call more time.
    RaiseTimeout,
    /// Try again when the other caller or program has finished.
    TryLater,
    /// Give the token of a gateway.
    GiveToken,
    /// Give another token: the gateway does not accept this one.
    RenewToken,
    /// Check that the gateway runs and that the address is right.
    CheckGateway,
    /// Run the cells first that make what is missing, or run without them.
    RunNeeded,
}

/// A call, in its current state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PythonReport {
    /// The id with which a caller can ask for the call again.
    pub execution: ExecutionId,
    /// The session that runs the call.
    pub session: SessionName,
    /// Progress of the call as a whole.
    pub state: State,
    /// All cells of the call, also those that have not begun.
    pub cells: Vec<CellReport>,
    /// The kernel of the call, once it had one.
    pub kernel: Option<KernelInfo>,
    /// The variable that the code missed, if it is set where inkcell was started and withheld from the kernel.
    pub missed_variable: Option<String>,
    /// The death of a kernel that ended with its call.
    pub death: Option<Death>,
    /// The output of a kernel that ended with its call, after the last cell.
    pub after: ModelOutput,
    /// Bytes of output that did not reach their reader.
    pub undelivered_bytes: u64,
    /// The notebook whose cells these are.
    #[serde(default)]
    pub notebook: Option<NotebookReport>,
}

impl PythonReport {
    /// The report without cells that were left out because they need not run. Their notes go to the next cell.
    pub fn without_left_out(&self) -> Cow<'_, PythonReport> {
        if !self.cells.iter().any(CellReport::is_left_out) {
            return Cow::Borrowed(self);
        }
        let mut report = self.clone();
        let left_out = report.cells.extract_if(.., |cell| cell.is_left_out());
        let notes: Vec<CallNote> = left_out.flat_map(|cell| cell.notes).collect();
        if let Some(first) = report.cells.first_mut() {
            drop(first.notes.splice(..0, notes));
        }
        Cow::Owned(report)
    }

    /// Returns whether a caller can do without the output of this cell, which is as before. A caller that chose one
    /// cell alone wants to see it.
    pub fn can_spare(&self, cell: &CellReport) -> bool {
        let is_alone = || self.cells.iter().filter(|cell| cell.is_chosen()).nth(1).is_none();
        cell.is_as_before() && !(cell.is_chosen() && is_alone())
    }
}

#[cfg(test)]
mod tests;
