//! The run that is under way, and its end.
//!
//! Owns what is known of it. What is to be done about it is decided by the machine.

use std::time::Instant;

use inkcell_kernel::{Death, Outcome};

use super::climb::Climb;
use super::words::RunRequest;
use crate::session::end::{CellEnd, KernelFate, Note};

/// What Python code that wanted input fails with where kernels do not ask.
const REFUSED: &str = "StdinNotImplementedError";

/// The run that is under way.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) request: RunRequest,
    /// The kernel has it.
    pub(super) is_sent: bool,
    pub(super) has_started: bool,
    /// Whether to interrupt it as soon as the kernel has it.
    pub(super) is_interrupted: bool,
    /// It was given to a kernel that died, and is to be run by another.
    pub(super) is_second: bool,
    /// The death in which it had begun, when it is to be run again.
    pub(super) begun: Option<Death>,
    /// It wanted input, and was refused.
    pub(super) wanted_input: bool,
    /// It asked for a line, and has no answer yet.
    pub(super) waits_for_line: bool,
    pub(super) deadline: Option<Instant>,
    pub(super) climb: Option<Climb>,
    pub(super) notes: Vec<Note>,
}

impl Run {
    pub(super) fn new(request: RunRequest, deadline: Option<Instant>) -> Run {
        Run {
            request,
            is_sent: false,
            has_started: false,
            is_interrupted: false,
            is_second: false,
            begun: None,
            wanted_input: false,
            waits_for_line: false,
            deadline,
            climb: None,
            notes: Vec::new(),
        }
    }

    /// When something is to be done about it.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.climb {
            Some(climb) => climb.next(),
            None => self.deadline,
        }
    }

    /// The end of a run that the kernel finished.
    pub(super) fn end_of(&self, outcome: Outcome) -> CellEnd {
        if let Some(climb) = &self.climb {
            // It may have finished by itself in the very moment; the time was up all the same.
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
