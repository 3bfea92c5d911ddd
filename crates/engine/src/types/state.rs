//! The progress of calls and cells, the freshness of cells, and the kinds of failures.
//!
//! Owns the closed lists. Other modules decide which state applies.

use serde::{Deserialize, Serialize};

/// Progress of a call or a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits for its turn.
    Queued,
    /// Its code runs now, or its kernel is starting.
    Running,
    /// It ended without an exception.
    Done,
    /// Ended with an exception.
    Error,
    /// Stopped at its time limit.
    TimedOut,
    /// Cancelled by a caller.
    Cancelled,
    /// The code asked for a line of input, and the caller allows none.
    InputRefused,
    /// Ended by the death of its kernel.
    KernelDied,
    /// A cell before it ended the call, or its kernel did not start.
    NeverRun,
}

impl State {
    /// The name that every frontend shows.
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

    /// Returns whether the state is final.
    pub fn is_end(self) -> bool {
        !matches!(self, State::Queued | State::Running)
    }
}

/// The kind of a failure. Frontends decide by the kind alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request or the file is not valid.
    Invalid,
    /// Something named does not exist.
    NotFound,
    /// Another writer changed the same thing.
    Conflict,
    /// A needed resource is missing: space, a permission of the system, a program.
    Unavailable,
    /// Another caller or program is using it; later it may work.
    Busy,
    /// The caller cancelled the request.
    Cancelled,
    /// A fault of inkcell or of the machine.
    Internal,
}

impl Kind {
    /// The kind as answers for programs name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Invalid => "invalid",
            Kind::NotFound => "not_found",
            Kind::Conflict => "conflict",
            Kind::Unavailable => "unavailable",
            Kind::Busy => "busy",
            Kind::Cancelled => "cancelled",
            Kind::Internal => "internal",
        }
    }
}

/// The freshness of a cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// The cell ran as it is, on the results of the cells above it.
    Fresh,
    /// The file shows no run of the cell.
    NeverRun,
    /// The file shows a run of which nothing is known.
    Unknown,
    /// The source has changed since the run.
    Changed,
    /// The last run failed or was stopped.
    Failed,
    /// A run now would use other values than the cell used.
    Stale(Because),
    /// The cell used a value from a cell other than the one above it that makes it now.
    OutOfOrder(Because),
}

/// The cause that makes a cell stale.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// A name that the cell uses has another value by now, or none.
    Name {
        /// The name, as the cell spells it.
        name: String,
        /// The cell that defines the name; none if no cell does any more.
        cell: Option<usize>,
    },
    /// The cell at this position, whatever it defines.
    Cell(usize),
    /// A file that the cell read and that has changed since.
    File(String),
}

/// Why a run that chooses its cells ran a cell or left it out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StaleReason {
    /// The cell's own freshness. A fresh cell was left out.
    Marked(Freshness),
    /// The cell defines a name that another cell needs, and the kernel does not hold it as the
    /// notebook defines it.
    Needed {
        /// The name, if it is known.
        name: Option<String>,
        /// The position of the cell that needs the name, from 0.
        by: usize,
    },
    /// The cell did not run, because it depends on a cell that failed.
    Blocked {
        /// The name that it uses, if it is known.
        name: Option<String>,
        /// The position of the cell that defines the name, and that failed or did not run either.
        by: usize,
    },
    /// The caller chose the cell.
    Chosen,
    /// The caller did not choose the cell, and no chosen cell needs it. It was left out.
    Unneeded,
}

impl StaleReason {
    /// Returns whether the cell was left out because it need not run.
    pub fn is_left_out(&self) -> bool {
        matches!(self, StaleReason::Marked(Freshness::Fresh) | StaleReason::Unneeded)
    }

    /// Returns whether the cell runs.
    pub fn runs(&self) -> bool {
        !self.is_left_out() && !matches!(self, StaleReason::Blocked { .. })
    }
}
