//! The run that is under way, and its end.
//!
//! Owns the facts about the run. The machine decides what follows from them.

use std::time::Instant;

use inkcell_kernel::{Death, DeathCause, Outcome, PyError};

use super::climb::Climb;
use super::words::ExecRequest;
use crate::session::end::CellEnd;
use crate::types::{CallNote, KernelFate};

/// The exception name with which Python code fails if it asks for input that the kernel cannot
/// request.
const REFUSED: &str = "StdinNotImplementedError";

/// The signal of an interrupt.
const SIGINT: i32 = 2;

/// Returns whether code ends with this exception when it is interrupted. Each language names it differently; code that
/// awaits is cancelled.
fn is_interrupt(error: &PyError) -> bool {
    let is_named = error.name.contains("Interrupt") || error.name == "CancelledError";
    // Python's name for a system call that a signal interrupted.
    is_named && error.name != "InterruptedError"
}

/// The run that is under way.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) request: ExecRequest,
    /// True if the kernel has the run's code.
    pub(super) is_sent: bool,
    pub(super) has_started: bool,
    /// True if the run must be interrupted as soon as the kernel has it.
    pub(super) is_interrupted: bool,
    /// True if an interrupt of the session was meant for this run.
    pub(super) was_interrupted: bool,
    /// True if this is the second attempt: the kernel died during the first.
    pub(super) is_second: bool,
    /// The death of the kernel in which the code had begun, if the code is run again.
    pub(super) begun: Option<Death>,
    /// True if the code asked for input and was refused.
    pub(super) wanted_input: bool,
    /// True if the code asked for a line that has not come yet.
    pub(super) waits_for_line: bool,
    pub(super) deadline: Option<Instant>,
    pub(super) climb: Option<Climb>,
    pub(super) notes: Vec<CallNote>,
}

impl Run {
    pub(super) fn new(request: ExecRequest, deadline: Option<Instant>) -> Run {
        Run {
            request,
            is_sent: false,
            has_started: false,
            is_interrupted: false,
            was_interrupted: false,
            is_second: false,
            begun: None,
            wanted_input: false,
            waits_for_line: false,
            deadline,
            climb: None,
            notes: Vec::new(),
        }
    }

    /// When the run's time passes or the next rung is due.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.climb {
            Some(climb) => climb.next(),
            None => self.deadline,
        }
    }

    /// Returns whether the run ended by an interrupt of the session. Its own caller had not cancelled it.
    pub(super) fn ended_by_interrupt(&self, end: &CellEnd) -> bool {
        let is_by_interrupt = match end {
            CellEnd::PythonError(error) => is_interrupt(error),
            CellEnd::KernelDied(death) => death.cause == DeathCause::Signal { signal: SIGINT },
            // A kernel that drops interrupted code without an exception.
            CellEnd::Cancelled { fate: KernelFate::Kept, .. } => true,
            _ => false,
        };
        self.was_interrupted && self.is_sent && self.climb.is_none() && is_by_interrupt
    }

    /// The end of a run that the kernel finished.
    pub(super) fn end_of(&self, outcome: Outcome) -> CellEnd {
        if let Some(climb) = &self.climb {
            // The code may have finished by itself at that very moment, but it still counts as
            // stopped.
            let stopped = match outcome {
                Outcome::Error(error) => Some(error),
                Outcome::Ok | Outcome::Aborted => None,
            };
            return climb.end(KernelFate::Kept, stopped);
        }
        match outcome {
            Outcome::Error(error) if self.wanted_input || error.name == REFUSED => {
                CellEnd::InputRefused(Some(error))
            }
            _ if self.wanted_input => CellEnd::InputRefused(None),
            Outcome::Ok => CellEnd::Ok,
            Outcome::Error(error) => CellEnd::PythonError(error),
            Outcome::Aborted => CellEnd::taken_back(KernelFate::Kept),
        }
    }
}
