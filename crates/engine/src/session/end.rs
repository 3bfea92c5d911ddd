//! How a run of a cell ended, as a value: what user code does is no error of ours.
//!
//! Owns the vocabulary of ends. How they are worded is for the faces.

use std::time::Duration;

use inkcell_kernel::{Death, DeathCause, LaunchError, PyError, Rung};
use serde::{Deserialize, Serialize};

use super::machine::CloseReason;
use crate::registry::SessionName;

/// A run and what its reader must know besides.
#[derive(Debug)]
pub struct RunEnd {
    /// How it ended.
    pub end: CellEnd,
    /// In the order they happened.
    pub notes: Vec<Note>,
}

impl From<CellEnd> for RunEnd {
    /// An end about which there is nothing more to say.
    fn from(end: CellEnd) -> RunEnd {
        RunEnd { end, notes: Vec::new() }
    }
}

/// How a run of a cell ended.
#[derive(Debug)]
pub enum CellEnd {
    /// Without an exception.
    Ok,
    /// With one.
    PythonError(PyError),
    /// Its time was up.
    TimedOut {
        /// The limit.
        after: Duration,
        /// What became of the kernel.
        fate: KernelFate,
        /// Where the code was, when it said so.
        stopped: Option<PyError>,
    },
    /// Somebody took it back.
    Cancelled {
        /// What became of the kernel.
        fate: KernelFate,
        /// Where the code was, when it said so.
        stopped: Option<PyError>,
    },
    /// It wanted input, which nobody could give; the exception, where that ended it.
    InputRefused(Option<PyError>),
    /// The kernel died in it.
    KernelDied(Death),
    /// Kernels of this session died again and again; the last of them in this run, if it got that far.
    TooManyRestarts(Option<Death>),
    /// It never began.
    NotRun(NotRun),
}

impl CellEnd {
    /// Whether the code did not end by itself.
    pub fn had_to_stop(&self) -> bool {
        matches!(self, CellEnd::TimedOut { .. } | CellEnd::Cancelled { .. })
    }

    /// It was cancelled, and the code did not get to say where it was.
    pub(crate) fn taken_back(fate: KernelFate) -> CellEnd {
        CellEnd::Cancelled { fate, stopped: None }
    }
}

/// What became of the kernel when code had to be stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelFate {
    /// The code had not begun, or listened: the kernel and its variables are there.
    Kept,
    /// It was taken away: by a reset, or by the end of the session.
    TakenAway,
    /// It had to be ended, at this rung of the ladder.
    Ended {
        /// The last one climbed.
        by: Rung,
        /// Its end; none when it was not seen to end in time.
        death: Option<Death>,
    },
}

/// Why code never began.
#[derive(Debug)]
pub enum NotRun {
    /// There is no kernel to be had.
    Launch(LaunchError),
    /// There was no kernel yet when the time it was given had passed.
    Late(Duration),
    /// The session was closed.
    Closed,
    /// Its turn was taken back before it came.
    Cancelled,
}

/// The cause of a kernel's end as what follows "the kernel" in a sentence. A cause by itself is a heading.
pub fn what_it_did(cause: &DeathCause) -> String {
    match cause {
        DeathCause::Signal { .. } | DeathCause::OutOfMemory | DeathCause::IgnoredInterrupt => {
            format!("was {cause}")
        }
        _ => cause.to_string(),
    }
}

/// What a reader must know about a run besides its end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The kernel is new and what earlier calls left is gone.
    StateLost(Loss),
    /// The kernel died in it once, and the code was run again from the start.
    RanTwice(Death),
    /// The kernel itself said so.
    Kernel(String),
    /// An idle session was closed to make room for this one.
    MadeRoom {
        /// The name of the closed session.
        session: SessionName,
        /// The limit that made it necessary.
        reason: CloseReason,
    },
}

/// Why a session's variables are gone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The kernel died.
    Died(Death),
    /// It did not listen when code had to be stopped.
    Killed {
        /// The last rung climbed.
        by: Rung,
    },
    /// The session was closed, and is another one now.
    Closed {
        /// Why.
        reason: CloseReason,
        /// How long before there was another one.
        #[serde(with = "crate::encoding::seconds")]
        ago: Duration,
    },
}
