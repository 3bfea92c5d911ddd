//! What is asked of an engine and what it answers: the vocabulary shared by all faces.
//!
//! Owns the shapes. Paths here are absolute. How an answer is worded is for the faces.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_kernel::{Death, KernelInfo, PyError};

use crate::output::ModelOutput;
use crate::registry::SessionName;
use crate::session::{KernelFate, Note};

/// Names one call, as long as it is remembered.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExecutionId(pub String);

/// Code to run in a session.
#[derive(Clone, PartialEq, Debug)]
pub struct PythonRequest {
    /// The cells, in order; the first that fails stops the call.
    pub cells: Vec<CellSource>,
    /// Which session; the one of the folder when none is named.
    pub session: Option<SessionName>,
    /// The working folder.
    pub cwd: PathBuf,
    /// The interpreter, when it is not to be chosen.
    pub interpreter: Option<PathBuf>,
    /// Whether the kernel outlives the call.
    pub mode: KernelMode,
    /// How long all cells together may take.
    pub timeout: Option<Duration>,
    /// How long the caller waits for the answer.
    pub wait: Option<Duration>,
}

/// One cell of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct CellSource {
    /// The code.
    pub code: String,
    /// What it is called.
    pub title: Option<String>,
    /// How long it may take, inside the call's own limit.
    pub timeout: Option<Duration>,
    /// Whether it begins with a new kernel.
    pub kernel: CellKernel,
}

/// Which kernel a cell begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellKernel {
    /// The session's.
    Same,
    /// A new one.
    Fresh,
}

/// Whether a kernel outlives the call it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelMode {
    /// It does.
    Session,
    /// It ends with the call.
    PerCall,
}

/// Where a call or a cell is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
#[derive(Clone, PartialEq, Debug)]
pub struct CellReport {
    /// What was asked.
    pub source: CellSource,
    /// Where it is.
    pub state: State,
    /// Its number in the kernel.
    pub count: Option<u32>,
    /// How long it took, or has taken.
    pub duration: Duration,
    /// What it wrote and showed.
    pub output: ModelOutput,
    /// Why it ended as it did.
    pub end: Option<EndReport>,
    /// What its reader must know besides.
    pub notes: Vec<Note>,
}

/// Why a cell ended as it did, where that is more than its state.
#[derive(Clone, PartialEq, Debug)]
pub enum EndReport {
    /// An exception.
    Exception(PyError),
    /// It had to stop: after its time, if it had one; and where it was, if it said so.
    Stopped {
        /// The limit.
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
    NoKernel(String),
}

/// A call, as far as it has come.
#[derive(Clone, PartialEq, Debug)]
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
    /// Names that were withheld from the kernel's environment, for the hint where one is missed.
    pub withheld_hint: Option<String>,
}
