//! How a run of a cell ended, as a value: a failure of user code is not an error of inkcell.
//!
//! Owns the vocabulary of ends. The frontends choose the wording.

use std::time::Duration;

use inkcell_kernel::{Death, LaunchError, PyError};

use crate::types::{CallNote, KernelFate};

/// The end of a run, with the notes for its reader.
#[derive(Debug)]
pub struct RunEnd {
    /// What became of the code.
    pub end: CellEnd,
    /// In the order in which they happened.
    pub notes: Vec<CallNote>,
}

impl From<CellEnd> for RunEnd {
    /// An end without notes.
    fn from(end: CellEnd) -> RunEnd {
        RunEnd { end, notes: Vec::new() }
    }
}

/// How a run of a cell ended.
#[derive(Debug)]
pub enum CellEnd {
    /// The code ended without an exception.
    Ok,
    /// The code raised an exception that nothing caught.
    PythonError(PyError),
    /// The time limit passed.
    TimedOut {
        /// The time limit that was exceeded.
        after: Duration,
        /// The kernel's fate: it survived, or variables are gone.
        fate: KernelFate,
        /// The exception with which the stopped code ended, if it reported one.
        stopped: Option<PyError>,
    },
    /// A caller cancelled the run.
    Cancelled {
        /// The kernel's fate: it survived, or variables are gone.
        fate: KernelFate,
        /// The exception with which the stopped code ended, if it reported one.
        stopped: Option<PyError>,
    },
    /// The code asked for input and was refused. The value is the exception that ended the code, if
    /// one did.
    InputRefused(Option<PyError>),
    /// The kernel died during the run.
    KernelDied(Death),
    /// The session's kernels died too often in a row.
    TooManyRestarts {
        /// The death of the last of them.
        death: Option<Death>,
        /// True if one of them had begun this code.
        has_begun: bool,
    },
    /// The code never began, for this reason.
    NotRun(NotRun),
}

impl CellEnd {
    /// Returns whether the code was made to stop.
    pub fn had_to_stop(&self) -> bool {
        matches!(self, CellEnd::TimedOut { .. } | CellEnd::Cancelled { .. })
    }

    /// A cancelled run whose code did not report where it stopped.
    pub(crate) fn taken_back(fate: KernelFate) -> CellEnd {
        CellEnd::Cancelled { fate, stopped: None }
    }
}

/// Why code never began.
#[derive(Debug)]
pub enum NotRun {
    /// The kernel could not be started.
    Launch(LaunchError),
    /// The kernel was not ready when the call's time had passed.
    Late(Duration),
    /// The session was closed before the call's turn came.
    Closed,
    /// The call was cancelled before its turn came.
    Cancelled,
}
