//! What is asked of an engine and what it answers: the vocabulary shared by all faces.
//!
//! Owns the shapes. Paths here are absolute. How an answer is worded is for the faces.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use inkcell_kernel::{Death, InputMode, KernelInfo, PyError};
use serde::{Deserialize, Serialize};

use crate::error::Kind;
use crate::output::ModelOutput;
use crate::registry::SessionName;
use crate::session::{KernelFate, Note};

mod inspect;
mod kernel;
mod parameters;
mod result;
mod run;
mod wanted;

pub use inspect::{
    Column, Completion, Completions, Help, Helper, HelperList, Inspect, InspectReport,
    InspectRequest, Inspected, Item, RowLabels, TableDigest, Variable, VariableDigest,
    VariableList,
};
pub use kernel::{
    InterruptFate, KernelReport, KernelRequest, RunningReport, SessionPhase, SessionRef,
    SessionReport,
};
pub use parameters::{MAX_PARAMETER_DEPTH, json_parameters};
pub use result::{
    ArtifactForm, ArtifactFound, ArtifactPart, ArtifactReport, LineCut, LineHit, LinesPiece,
    ResultReport, ResultRequest,
};
pub use run::{
    CellChoice, CellSide, NotebookCell, NotebookReport, OnError, OnOpen, RunNote, RunRequest,
    RunStart, Stamps, Unsaved, WriteBack,
};
pub use wanted::{Helpers, KernelChoice, KernelName, Wanted};

/// Anything that can be asked of an engine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To run code.
    Python(PythonRequest),
    /// To look at names.
    Inspect(InspectRequest),
    /// To do something with sessions.
    Kernel(KernelRequest),
    /// To have what there already is.
    Result(ResultRequest),
    /// To take a call back; the second time by force.
    Cancel(ExecutionId),
}

/// The answer, by what was asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// The call, as far as it has come.
    Python(Box<PythonReport>),
    /// What was seen.
    Inspect(InspectReport),
    /// What became of the sessions.
    Kernel(KernelReport),
    /// What there is.
    Result(ResultReport),
    /// The call will stop.
    Cancelled(ExecutionId),
}

/// Names one call, as long as it is remembered.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ExecutionId(pub String);

/// Code to run in a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonRequest {
    /// The cells, in order; the first that fails stops the call.
    pub cells: Vec<CellSource>,
    /// Which session; the one of the folder when none is named.
    #[serde(default)]
    pub session: Option<SessionName>,
    /// The working folder.
    #[serde(with = "crate::encoding::path")]
    pub cwd: PathBuf,
    /// Which kernel.
    #[serde(default)]
    pub wanted: Wanted,
    /// Whether the kernel outlives the call.
    #[serde(default)]
    pub mode: KernelMode,
    /// How long all cells together may take.
    #[serde(default, with = "crate::encoding::seconds_option")]
    pub timeout: Option<Duration>,
    /// How long the caller waits for the answer.
    #[serde(default, with = "crate::encoding::seconds_option")]
    pub wait: Option<Duration>,
    /// Whether the report holds the output.
    #[serde(default)]
    pub reading: Reading,
    /// Whether its cells may ask for lines of input, which [`Engine::reply_input`](crate::Engine::reply_input)
    /// answers. Only a caller that takes what they say as it comes can be asked.
    #[serde(default)]
    pub input: InputMode,
}

/// Whether a report holds what its cells wrote and showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Within limits; what does not fit is stored.
    #[default]
    Bounded,
    /// Somebody takes all of it as it comes, so nothing is kept or stored.
    Elsewhere,
}

/// One cell of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSource {
    /// The code.
    pub code: String,
    /// What it is called.
    #[serde(default)]
    pub title: Option<String>,
    /// How long it may take, inside the call's own limit.
    #[serde(default, with = "crate::encoding::seconds_option")]
    pub timeout: Option<Duration>,
    /// Whether it begins with a new kernel.
    #[serde(default)]
    pub kernel: CellKernel,
}

/// Which kernel a cell begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellKernel {
    /// The session's.
    #[default]
    Same,
    /// A new one.
    Fresh,
}

/// Whether a kernel outlives the call it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelMode {
    /// It does.
    #[default]
    Session,
    /// It ends with the call.
    PerCall,
}

/// Where a call or a cell is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for its turn.
    Queued,
    /// It runs.
    Running,
    /// It ended well.
    Done,
    /// It ended with an exception.
    Error,
    /// Its time was up.
    TimedOut,
    /// It was taken back.
    Cancelled,
    /// It wanted input.
    InputRefused,
    /// The kernel died in it.
    KernelDied,
    /// It never began.
    NeverRun,
}

impl State {
    /// The name everybody shows.
    pub fn name(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Running => "running",
            State::Done => "done",
            State::Error => "error",
            State::TimedOut => "timed out",
            State::Cancelled => "cancelled",
            State::InputRefused => "input refused",
            State::KernelDied => "kernel died",
            State::NeverRun => "never run",
        }
    }

    /// Whether nothing more will change.
    pub fn is_end(self) -> bool {
        !matches!(self, State::Queued | State::Running)
    }
}

/// One cell of a call, as far as it has come.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CellReport {
    /// What was asked.
    pub source: CellSource,
    /// Where it is.
    pub state: State,
    /// Its number in the kernel.
    pub count: Option<u32>,
    /// How long it took, or has taken.
    #[serde(with = "crate::encoding::seconds")]
    pub duration: Duration,
    /// What it wrote and showed.
    pub output: ModelOutput,
    /// Why it ended as it did.
    pub end: Option<EndReport>,
    /// What its reader must know besides.
    pub notes: Vec<Note>,
    /// Which cell of a notebook it is.
    #[serde(default)]
    pub notebook: Option<NotebookCell>,
}

impl CellReport {
    /// What the code gave as its status when it called exit; nothing to say is the empty text.
    pub fn exit_status(&self) -> Option<&str> {
        match &self.end {
            Some(EndReport::Exception(error)) if error.name == "SystemExit" => {
                Some(if matches!(&*error.value, "0" | "None") { "" } else { &error.value })
            }
            _ => None,
        }
    }
}

/// Why a cell ended as it did, where that is more than its state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReport {
    /// An exception.
    Exception(PyError),
    /// It had to stop: after its time, if it had one; and where it was, if it said so.
    Stopped {
        /// The limit.
        #[serde(with = "crate::encoding::seconds_option")]
        after: Option<Duration>,
        /// What became of the kernel.
        fate: KernelFate,
        /// The exception it ended with.
        exception: Option<PyError>,
    },
    /// The kernel died.
    Died(Death),
    /// Kernels died again and again.
    GivenUp,
    /// There was no kernel.
    NoKernel(Problem),
}

/// Why something could not be had, with what may help.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// What sort of failure.
    pub kind: Kind,
    /// In a sentence.
    pub message: String,
    /// What to do next.
    pub step: Option<KernelStep>,
}

/// What to do when there is no kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelStep {
    /// See which Python is used and name another one.
    NameOtherPython,
    /// Make the folder, or choose another one to work in.
    ChooseCwd,
    /// Give a kernel more time to start.
    RaiseStartTimeout,
    /// Choose another folder for state.
    ChooseState,
    /// Allow more open files.
    RaiseOpenFiles,
    /// Give the call more time.
    RaiseTimeout,
    /// Wait for somebody else to be done.
    TryLater,
    /// Give the token of a gateway.
    GiveToken,
    /// Give another token: the gateway does not take this one.
    RenewToken,
    /// See whether the gateway runs, and whether the address is its own.
    CheckGateway,
}

/// A call, as far as it has come.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PythonReport {
    /// To ask for it again.
    pub execution: ExecutionId,
    /// The session.
    pub session: SessionName,
    /// Where it is.
    pub state: State,
    /// Its cells, also those that have not begun.
    pub cells: Vec<CellReport>,
    /// The kernel it ran in, once it had one.
    pub kernel: Option<KernelInfo>,
    /// How to let a variable through that the code missed and that was withheld from it.
    pub withheld_hint: Option<String>,
    /// The end of a kernel that ended with its call.
    pub death: Option<Death>,
    /// What a kernel that ended with its call said after the last cell.
    pub after: ModelOutput,
    /// Bytes of output that nobody took.
    pub undelivered_bytes: u64,
    /// The notebook whose cells these are.
    #[serde(default)]
    pub notebook: Option<NotebookReport>,
}

impl PythonReport {
    /// The same without cells that were asked for if they are stale, and are not: the notebook's part names them.
    pub fn without_left_out(&self) -> Cow<'_, PythonReport> {
        let is_left_out =
            |cell: &CellReport| cell.notebook.as_ref().is_some_and(NotebookCell::is_left_out);
        if !self.cells.iter().any(is_left_out) {
            return Cow::Borrowed(self);
        }
        let mut report = self.clone();
        report.cells.retain(|cell| !is_left_out(cell));
        Cow::Owned(report)
    }
}

#[cfg(test)]
mod tests;
