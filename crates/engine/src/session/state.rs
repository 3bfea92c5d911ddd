//! The visible state of a session.
//!
//! Owns the form, and when it counts as changed. It must not know how a session works.

use std::sync::Arc;
use std::time::Instant;

use inkcell_kernel::{CodeRequest, ExecId, KernelInfo, Prelude};

use crate::types::{Generation, Loss};

/// The state of a session as other modules see it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct SessionState {
    /// The current kernel, if there is one.
    pub kernel: Option<KernelInfo>,
    /// The generation of the current kernel.
    pub generation: Option<Generation>,
    /// The helpers with which the session's kernels start.
    pub prelude: Prelude,
    /// Whether the session ever had a kernel.
    pub has_begun: bool,
    /// True if a call has its turn or waits for one, or a question is open.
    pub is_busy: bool,
    /// The number of calls that wait for their turn.
    pub waiting: usize,
    /// The running code, if any.
    pub running: Option<Running>,
    /// The loss of the previous kernel, until a run reports it.
    pub loss: Option<Loss>,
    /// When the session last did work.
    pub used: Instant,
    /// The session is closed for good; its handles only refuse.
    pub is_over: bool,
}

/// A run in progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    /// The number of the run in this session.
    pub exec: ExecId,
    /// The code that runs.
    pub code: Arc<str>,
    /// When the kernel got the code.
    pub since: Instant,
}

/// The state of a session as borrowed values, to compare before copying.
pub(super) struct StateView<'a> {
    pub(super) kernel: Option<(&'a KernelInfo, &'a Generation)>,
    pub(super) code: Option<&'a CodeRequest>,
    pub(super) loss: Option<&'a Loss>,
    pub(super) is_busy: bool,
    pub(super) waiting: usize,
    pub(super) is_over: bool,
}

impl StateView<'_> {
    /// Updates `shown` if it differs. Returns whether it did.
    pub(super) fn put_into(&self, shown: &mut SessionState, now: Instant) -> bool {
        let exec = self.code.map(|code| code.exec);
        let is_same_run = shown.running.as_ref().map(|run| run.exec) == exec;
        let is_same = shown.is_busy == self.is_busy
            && shown.waiting == self.waiting
            && shown.is_over == self.is_over
            && shown.generation.as_ref() == self.kernel.map(|(_, generation)| generation)
            && is_same_run
            && shown.loss.as_ref() == self.loss;
        if is_same {
            return false;
        }
        if self.is_busy || shown.is_busy {
            shown.used = now;
        }
        if !is_same_run {
            let run = |code: &CodeRequest| Running {
                exec: code.exec,
                code: code.code.as_str().into(),
                since: now,
            };
            shown.running = self.code.map(run);
        }
        shown.has_begun |= self.kernel.is_some();
        shown.kernel = self.kernel.map(|(info, _)| info.clone());
        shown.generation = self.kernel.map(|(_, generation)| generation.clone());
        shown.loss = self.loss.cloned();
        (shown.is_busy, shown.waiting, shown.is_over) = (self.is_busy, self.waiting, self.is_over);
        true
    }
}
