//! Every decision about running code in one session.
//!
//! No clock, no channels, no tasks: what happened comes in, what is to be done goes out. A *call* asks for
//! its turn and keeps it for all its cells, so the queue is of calls; in its turn it runs one cell after
//! the other. The promises, held by the tests beside this file:
//!
//! - every request for a turn, every run, every reset and every question is answered exactly once;
//! - one run at a time, and a kernel is asked for a run only when it is idle;
//! - code that has begun is run again only where the policy says so, and never more than once;
//! - a run that must stop is answered within the ladder's time, whatever the kernel does.

mod asking;
mod climb;
#[cfg(test)]
mod model;
mod run;
#[cfg(test)]
mod tests;
mod typing;
mod words;

use std::collections::VecDeque;
use std::time::Instant;

use inkcell_kernel::{Death, ExecId, Force, LaunchError, Rung};

use super::end::{CellEnd, KernelFate, Loss, NotRun, Note, RunEnd};
use asking::Ask;
pub use asking::{AskEnd, AskRequest};
use climb::{Climb, Why};
use run::Run;
pub use words::{CloseReason, Effect, Fact, Input, Policy, ResetEnd, Retry, RunRequest, Ticket};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kernel {
    Absent,
    Starting,
    /// It starts, and is shut down as soon as it is there.
    Unwanted,
    Ready,
    /// It was told to end.
    Ending,
}

/// The session, as decisions.
#[derive(Debug)]
pub struct Machine {
    policy: Policy,
    kernel: Kernel,
    queue: VecDeque<Ticket>,
    holder: Option<Ticket>,
    /// Set when the holder was taken back while it ran nothing: what became of the kernel. The holder runs no more code.
    taken_back: Option<KernelFate>,
    /// The call that was interrupted while it ran no code. The next code that it runs is interrupted.
    interrupted: Option<Ticket>,
    run: Option<Run>,
    asks: Vec<Ask>,
    /// Kernels that were started since the last run that succeeded, without the first.
    restarts: u32,
    had_kernel: bool,
    resets: u32,
    loss: Option<Loss>,
    closing: Option<CloseReason>,
    is_stopped: bool,
    woken_at: Option<Instant>,
}

impl Machine {
    /// A session without a kernel yet; `loss` is what became of an earlier one of the same name.
    pub fn new(policy: Policy, loss: Option<Loss>) -> Machine {
        Machine {
            policy,
            kernel: Kernel::Absent,
            queue: VecDeque::new(),
            holder: None,
            taken_back: None,
            interrupted: None,
            run: None,
            asks: Vec::new(),
            restarts: 0,
            had_kernel: false,
            resets: 0,
            loss,
            closing: None,
            is_stopped: false,
            woken_at: None,
        }
    }

    /// Whether no call has or waits for its turn, and nobody asks anything.
    pub fn is_idle(&self) -> bool {
        self.holder.is_none() && self.queue.is_empty() && self.asks.is_empty()
    }

    /// Whether the kernel has code to run.
    pub fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_sent)
    }

    /// Whether the code must stop.
    pub fn is_stopping(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.climb.is_some())
    }

    /// What became of the kernel before, when nobody was told yet.
    pub fn loss(&self) -> Option<&Loss> {
        self.loss.as_ref()
    }

    /// Takes in what happened and says what is to be done.
    pub fn step(&mut self, now: Instant, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.is_stopped {
            input.refuse(&mut out);
            return out;
        }
        match input {
            Input::Enter(ticket) => self.enter(ticket, &mut out),
            Input::Run(ticket, request) => self.begin(now, ticket, request, &mut out),
            Input::Leave(ticket) => self.leave(ticket, &mut out),
            Input::Cancel(ticket) => self.cancel(now, ticket, &mut out),
            Input::Reply(ticket, reply) => self.reply(ticket, reply, &mut out),
            Input::Reset(by) => self.reset(by, &mut out),
            Input::Ask(request) => self.ask(now, request, &mut out),
            Input::Interrupt => self.interrupt(&mut out),
            Input::Close(reason) => self.close(reason, &mut out),
            Input::Launched => self.launched(now, &mut out),
            Input::LaunchFailed(error) => self.launch_failed(error, &mut out),
            Input::Kernel(fact) => self.hear(now, fact, &mut out),
            Input::Deadline => {}
        }
        self.tick(now, &mut out);
        self.tick_asks(now, &mut out);
        self.next_turn(&mut out);
        self.arm(&mut out);
        out
    }

    fn interrupt(&mut self, out: &mut Vec<Effect>) {
        // The start of a kernel is not what is meant.
        let run = self.run.as_mut().filter(|run| !run.request.is_empty);
        if run.as_ref().is_some_and(|run| run.is_sent) || !self.asks.is_empty() {
            out.push(Effect::Interrupt);
        }
        match run {
            Some(run) => run.is_interrupted = !run.is_sent,
            None => self.interrupted = self.holder.or(self.queue.front().copied()),
        }
    }

    fn enter(&mut self, ticket: Ticket, out: &mut Vec<Effect>) {
        if self.closing.is_some() {
            out.push(Effect::Refuse(ticket, NotRun::Closed));
        } else {
            self.queue.push_back(ticket);
        }
    }

    fn next_turn(&mut self, out: &mut Vec<Effect>) {
        // A reset from outside is done before the next call begins.
        let is_free = self.holder.is_none() && self.run.is_none();
        if is_free && self.resets == 0 && self.closing.is_none() {
            self.holder = self.queue.pop_front();
            self.taken_back = None;
            out.extend(self.holder.map(Effect::Grant));
        }
        if self.closing.is_some() && self.kernel == Kernel::Absent && self.run.is_none() {
            self.is_stopped = true;
            out.push(Effect::Stop);
        }
    }

    fn leave(&mut self, ticket: Ticket, out: &mut Vec<Effect>) {
        if let Some(at) = self.queue.iter().position(|waiting| *waiting == ticket) {
            self.queue.remove(at);
            out.push(Effect::Refuse(ticket, NotRun::Cancelled));
        }
        if self.holder != Some(ticket) {
            return;
        }
        self.holder = None;
        self.interrupted = None;
        // A caller that goes away in the middle of a run has no use for its end.
        if let Some(run) = &mut self.run
            && run.is_sent
        {
            run.climb.get_or_insert_with(|| Climb::new(Why::Left, self.policy.interrupt_grace));
        } else {
            self.resolve(CellEnd::taken_back(KernelFate::Kept), out);
        }
    }

    fn begin(&mut self, now: Instant, ticket: Ticket, request: RunRequest, out: &mut Vec<Effect>) {
        let is_allowed = self.holder == Some(ticket) && self.run.is_none();
        let refused = if !is_allowed || self.closing.is_some() {
            Some(CellEnd::NotRun(NotRun::Closed))
        } else {
            self.taken_back.clone().map(CellEnd::taken_back)
        };
        if let Some(end) = refused {
            out.push(Effect::Resolve(request.exec, Box::new(end.into())));
            return;
        }
        // Nobody waits longer for a kernel than the whole call may take.
        let deadline = request.patience.and_then(|patience| now.checked_add(patience));
        let is_interrupted =
            !request.is_empty && self.interrupted.take_if(|it| *it == ticket).is_some();
        self.run = Some(Run { is_interrupted, ..Run::new(request, deadline) });
        self.provide(now, out);
    }

    /// Brings the run to a kernel: the one that is there, or a new one.
    fn provide(&mut self, now: Instant, out: &mut Vec<Effect>) {
        match self.kernel {
            Kernel::Ready => {
                if self.is_free_of_questions(now) {
                    self.execute(now, out);
                }
            }
            Kernel::Starting | Kernel::Unwanted | Kernel::Ending => {}
            Kernel::Absent => {
                if self.had_kernel {
                    self.restarts += 1;
                }
                if self.restarts > self.policy.max_restarts {
                    // The next call begins anew.
                    (self.restarts, self.had_kernel) = (0, false);
                    self.resolve(CellEnd::TooManyRestarts(None), out);
                    return;
                }
                self.kernel = Kernel::Starting;
                out.push(Effect::Launch);
            }
        }
    }

    fn execute(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let Some(run) = &mut self.run else { return };
        run.is_sent = true;
        run.deadline = run.request.timeout.and_then(|timeout| now.checked_add(timeout));
        run.notes.extend(self.loss.take().map(Note::StateLost));
        out.push(Effect::Execute(run.request.exec));
        if std::mem::take(&mut run.is_interrupted) {
            out.push(Effect::Interrupt);
        }
    }

    fn launched(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.kernel == Kernel::Unwanted {
            self.kernel = Kernel::Ending;
            out.push(Effect::Shutdown);
            return;
        }
        self.had_kernel = true;
        self.kernel = Kernel::Ready;
        self.execute(now, out);
    }

    fn launch_failed(&mut self, error: LaunchError, out: &mut Vec<Effect>) {
        self.kernel = Kernel::Absent;
        // What could not be started was not restarted.
        self.restarts = self.restarts.saturating_sub(1);
        self.finish_resets(out);
        if self.closing.is_some() {
            self.resolve(CellEnd::NotRun(NotRun::Closed), out);
        } else {
            self.resolve(CellEnd::NotRun(NotRun::Launch(error)), out);
        }
    }

    fn cancel(&mut self, now: Instant, ticket: Ticket, out: &mut Vec<Effect>) {
        if let Some(at) = self.queue.iter().position(|waiting| *waiting == ticket) {
            self.queue.remove(at);
            out.push(Effect::Refuse(ticket, NotRun::Cancelled));
            return;
        }
        if self.holder != Some(ticket) {
            return;
        }
        let grace = self.policy.interrupt_grace;
        match &mut self.run {
            Some(run) if run.is_sent => match &mut run.climb {
                None => run.climb = Some(Climb::new(Why::Cancelled, grace)),
                Some(climb) => climb.hurry(now),
            },
            Some(_) => self.resolve(CellEnd::taken_back(KernelFate::Kept), out),
            None => self.taken_back = Some(KernelFate::Kept),
        }
    }

    fn reset(&mut self, by: Option<Ticket>, out: &mut Vec<Effect>) {
        let is_allowed = by.is_none_or(|ticket| self.holder == Some(ticket) && self.run.is_none());
        if self.resets > 0 || !is_allowed || self.closing.is_some() {
            out.push(Effect::ResetDone(ResetEnd::Refused));
            return;
        }
        self.resets = 1;
        self.loss = None;
        if by.is_none() {
            self.take_all_back(out);
        }
        (self.restarts, self.had_kernel) = (0, false);
        self.end_kernel(out);
        if self.kernel == Kernel::Absent {
            self.finish_resets(out);
        }
    }

    /// What was asked for before a reset from outside must not run in the kernel after it.
    fn take_all_back(&mut self, out: &mut Vec<Effect>) {
        for ticket in self.queue.drain(..) {
            out.push(Effect::Refuse(ticket, NotRun::Cancelled));
        }
        self.taken_back = self.holder.map(|_| KernelFate::TakenAway);
        // Code that the kernel has ends with it.
        if self.run.as_ref().is_some_and(|run| !run.is_sent) {
            self.resolve(CellEnd::taken_back(KernelFate::TakenAway), out);
        }
    }

    fn finish_resets(&mut self, out: &mut Vec<Effect>) {
        for _ in 0..std::mem::take(&mut self.resets) {
            out.push(Effect::ResetDone(ResetEnd::Done));
        }
    }

    fn end_kernel(&mut self, out: &mut Vec<Effect>) {
        match self.kernel {
            Kernel::Absent | Kernel::Unwanted | Kernel::Ending => {}
            Kernel::Starting => self.kernel = Kernel::Unwanted,
            Kernel::Ready => {
                self.kernel = Kernel::Ending;
                self.drop_asks(&AskEnd::TakenAway, out);
                out.push(Effect::Shutdown);
            }
        }
    }

    fn close(&mut self, reason: CloseReason, out: &mut Vec<Effect>) {
        if self.closing.is_some() {
            return;
        }
        self.closing = Some(reason);
        for ticket in self.queue.drain(..) {
            out.push(Effect::Refuse(ticket, NotRun::Closed));
        }
        // Also one that a reset made unwanted: it may wait for room that only the end of this session makes.
        if matches!(self.kernel, Kernel::Starting | Kernel::Unwanted) {
            out.push(Effect::AbortLaunch);
        }
        self.end_kernel(out);
        if self.run.as_ref().is_some_and(|run| !run.is_sent) {
            self.resolve(CellEnd::NotRun(NotRun::Closed), out);
        }
    }

    fn hear(&mut self, now: Instant, fact: Fact, out: &mut Vec<Effect>) {
        let of_run = |run: &Run, exec: ExecId| run.is_sent && run.request.exec == exec;
        match fact {
            Fact::Started(exec) => {
                if let Some(run) = self.run.as_mut().filter(|run| of_run(run, exec)) {
                    run.has_started = true;
                }
            }
            Fact::InputRequested(exec) => {
                if let Some(run) = self.run.as_mut().filter(|run| of_run(run, exec)) {
                    run.wants_line(out);
                }
            }
            Fact::Finished(exec, outcome) => {
                if let Some(run) = self.run.as_ref().filter(|run| of_run(run, exec)) {
                    let end = run.end_of(outcome);
                    if matches!(end, CellEnd::Ok) {
                        self.restarts = 0;
                    }
                    self.resolve(end, out);
                }
            }
            Fact::Answered(id, answer) => self.answered(id, answer, out),
            Fact::Died(death) => self.died(now, death, out),
        }
    }

    fn died(&mut self, now: Instant, death: Death, out: &mut Vec<Effect>) {
        let was_ending = self.kernel == Kernel::Ending;
        self.kernel = Kernel::Absent;
        self.drop_asks(&AskEnd::Died(death.clone()), out);
        self.finish_resets(out);
        let Some(run) = self.run.as_mut().filter(|run| run.is_sent) else {
            // Asked for, it is no loss; the run that waited for the end goes on with a new kernel.
            if !was_ending {
                self.loss = Some(Loss::Died(death));
            } else if self.run.is_some() {
                self.provide(now, out);
            }
            return;
        };
        if let Some(climb) = &run.climb {
            let by = climb.climbed();
            self.loss = Some(Loss::Killed { by });
            // The caller ended this kernel, so it does not count as one that keeps dying.
            self.had_kernel = false;
            let end = climb.end(KernelFate::Ended { by, death: Some(death) }, None);
            self.resolve(end, out);
            return;
        }
        if was_ending {
            self.resolve(CellEnd::taken_back(KernelFate::TakenAway), out);
            return;
        }
        let is_rerun = match self.policy.retry {
            Retry::Never => false,
            Retry::IfNotStarted => !run.has_started,
            Retry::Once => true,
        };
        if is_rerun && !run.is_second {
            run.is_second = true;
            if run.has_started {
                run.begun = Some(death.clone());
                run.notes.push(Note::RanTwice(death));
            } else {
                // Nothing of it was run; only what was there before is lost.
                self.loss = Some(Loss::Died(death));
            }
            (run.is_sent, run.has_started, run.deadline) = (false, false, None);
            run.waits_for_line = false;
            self.provide(now, out);
        } else {
            let is_again = is_rerun && self.restarts >= self.policy.max_restarts;
            self.loss = Some(Loss::Died(death.clone()));
            if is_again {
                (self.restarts, self.had_kernel) = (0, false);
                self.resolve(CellEnd::TooManyRestarts(Some(death)), out);
            } else {
                self.resolve(CellEnd::KernelDied(death), out);
            }
        }
    }

    /// Does what is due.
    fn tick(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let Some(run) = &mut self.run else { return };
        if run.climb.is_none() && run.deadline.is_some_and(|deadline| deadline <= now) {
            if !run.is_sent {
                let after = run.request.patience.unwrap_or_default();
                self.resolve(CellEnd::NotRun(NotRun::Late(after)), out);
                return;
            }
            let after = run.request.timeout.unwrap_or_default();
            run.climb = Some(Climb::new(Why::TimedOut(after), self.policy.interrupt_grace));
        }
        let Some(climb) = &mut run.climb else { return };
        for rung in climb.due(now) {
            match rung {
                Rung::Interrupt => out.push(Effect::Interrupt),
                Rung::Terminate => out.push(Effect::Force(Force::Terminate)),
                Rung::Kill => out.push(Effect::Force(Force::Kill)),
                Rung::Answer => {
                    let end = climb.end(KernelFate::Ended { by: Rung::Answer, death: None }, None);
                    self.kernel = Kernel::Absent;
                    self.had_kernel = false;
                    self.loss = Some(Loss::Killed { by: Rung::Answer });
                    self.drop_asks(&AskEnd::TakenAway, out);
                    out.push(Effect::Abandon);
                    self.finish_resets(out);
                    self.resolve(end, out);
                    return;
                }
            }
        }
    }

    fn resolve(&mut self, end: CellEnd, out: &mut Vec<Effect>) {
        if let Some(mut run) = self.run.take() {
            if run.begun.is_some() && !run.is_sent {
                run.notes.retain(|note| !matches!(note, Note::RanTwice(_)));
            }
            let end = match (end, run.begun.take()) {
                // It had begun in a kernel that died, and was not run again after all.
                (CellEnd::NotRun(_), Some(death)) => {
                    self.loss = Some(Loss::Died(death.clone()));
                    CellEnd::KernelDied(death)
                }
                (end, _) => end,
            };
            let end = RunEnd { end, notes: run.notes };
            out.push(Effect::Resolve(run.request.exec, Box::new(end)));
        }
    }

    /// Asks to be woken when something is due, if that has changed.
    fn arm(&mut self, out: &mut Vec<Effect>) {
        let wake = self.run.as_ref().and_then(Run::due).into_iter().chain(self.next_ask()).min();
        if wake != self.woken_at {
            self.woken_at = wake;
            out.push(Effect::Wake(wake));
        }
    }
}
