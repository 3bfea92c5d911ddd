//! What can be seen of a session from outside.
//!
//! Owns the form, and when it counts as changed. It must not know how a session works.

use std::sync::Arc;
use std::time::Instant;

use inkcell_kernel::{CodeRequest, ExecId, KernelInfo, Prelude};

use super::end::Loss;
use crate::staleness::Generation;

/// What can be seen of a session at any time.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionState {
    /// The kernel, when there is one.
    pub kernel: Option<KernelInfo>,
    /// Which of all kernels there ever were it is.
    pub generation: Option<Generation>,
    /// Which helpers its kernels start with.
    pub prelude: Prelude,
    /// Whether there ever was one.
    pub has_begun: bool,
    /// Whether a call has its turn.
    pub is_busy: bool,
    /// Calls that wait.
    pub waiting: usize,
    /// What runs, when something does.
    pub running: Option<Running>,
    /// What became of the kernel before, when no run was told yet.
    pub loss: Option<Loss>,
    /// When it last did something for somebody.
    pub used: Instant,
    /// Whether it has ended.
    pub is_over: bool,
}

/// A run that is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    /// Which.
    pub exec: ExecId,
    /// Its code.
    pub code: Arc<str>,
    /// Since when.
    pub since: Instant,
}

/// What there is to be seen, without a copy of it.
pub(super) struct Seen<'a> {
    pub(super) kernel: Option<(&'a KernelInfo, &'a Generation)>,
    pub(super) code: Option<&'a CodeRequest>,
    pub(super) loss: Option<&'a Loss>,
    pub(super) is_busy: bool,
    pub(super) waiting: usize,
    pub(super) is_over: bool,
}

impl Seen<'_> {
    /// Puts what is different into what is shown, and says whether anything was.
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
