//! Every decision about running code in one session.
//!
//! It has no clock, no channels and no tasks: inputs come in, effects go out. A *call* asks for its turn and
//! keeps it for all its cells, so the queue is of calls; in its turn it runs one cell after the other. The
//! promises, held by the tests beside this file:
//!
//! - every request for a turn, every run, every reset and every question is answered exactly once;
//! - one run at a time, and a kernel is asked for a run only when it is idle;
//! - code that has begun is run again only where the policy says so, and never more than once;
//! - a run that must stop is answered within the ladder's time, whatever the kernel does.

mod asking;
mod climb;
mod run;
#[cfg(test)]
mod tests;
mod typing;
mod words;

use std::collections::VecDeque;
use std::time::Instant;

use inkcell_kernel::{Death, ExecId, LaunchError, Rung, StopSignal};

use super::end::{CellEnd, NotRun, RunEnd};
use crate::types::{CallNote, CloseReason, KernelFate, Loss};
use asking::Ask;
pub use asking::AskEnd;
pub(crate) use asking::AskRequest;
use climb::{Climb, Why};
use run::Run;
pub(crate) use words::{ExecRequest, Fact, Input, MachineEffect, Ticket};
pub use words::{Policy, ResetEnd, Retry};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kernel {
    Absent,
    Starting,
    /// The kernel is starting, and is shut down as soon as it is ready.
    Unwanted,
    Ready,
    /// The kernel was told to end.
    Ending,
}

/// The decisions of one session.
#[derive(Debug)]
pub(crate) struct Machine {
    policy: Policy,
    kernel: Kernel,
    queue: VecDeque<Ticket>,
    holder: Option<Ticket>,
    /// Set when the holder was cancelled while it ran nothing: the kernel's fate. The holder runs no more code.
    taken_back: Option<KernelFate>,
    /// The call that was interrupted while it ran no code. The next code that it runs is interrupted.
    interrupted: Option<Ticket>,
    run: Option<Run>,
    asks: Vec<Ask>,
    /// Restarts since the last run that left its kernel alive. The first start does not count.
    restarts: u32,
    had_kernel: bool,
    resets: u32,
    loss: Option<Loss>,
    closing: Option<CloseReason>,
    is_stopped: bool,
    woken_at: Option<Instant>,
}

impl Machine {
    /// A session without a kernel yet; `loss` is the fate of an earlier session of the same name.
    pub(crate) fn new(policy: Policy, loss: Option<Loss>) -> Machine {
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

    /// Returns whether no call has its turn or waits for one, and no question is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.holder.is_none() && self.queue.is_empty() && self.asks.is_empty()
    }

    /// Returns whether the kernel has the code of a run.
    pub(crate) fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.is_sent)
    }

    /// Whether the running code must stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.climb.is_some())
    }

    /// The loss of the previous kernel, until a run reports it.
    pub(crate) fn loss(&self) -> Option<&Loss> {
        self.loss.as_ref()
    }

    /// Takes an input and returns the effects to carry out, in order.
    pub(crate) fn step(&mut self, now: Instant, input: Input) -> Vec<MachineEffect> {
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

    fn interrupt(&mut self, out: &mut Vec<MachineEffect>) {
        // The start of a kernel is not the target of an interrupt.
        let run = self.run.as_mut().filter(|run| !run.request.is_empty);
        if run.as_ref().is_some_and(|run| run.is_sent) || !self.asks.is_empty() {
            out.push(MachineEffect::Interrupt);
        }
        match run {
            Some(run) => (run.is_interrupted, run.was_interrupted) = (!run.is_sent, true),
            None => self.interrupted = self.holder.or(self.queue.front().copied()),
        }
    }

    fn enter(&mut self, ticket: Ticket, out: &mut Vec<MachineEffect>) {
        if self.closing.is_some() {
            out.push(MachineEffect::Refuse(ticket, NotRun::Closed));
        } else {
            self.queue.push_back(ticket);
        }
    }

    fn next_turn(&mut self, out: &mut Vec<MachineEffect>) {
        // A reset from outside is done before the next call begins.
        let is_free = self.holder.is_none() && self.run.is_none();
        if is_free && self.resets == 0 && self.closing.is_none() {
            self.holder = self.queue.pop_front();
            self.taken_back = None;
            out.extend(self.holder.map(MachineEffect::Grant));
        }
        if self.closing.is_some() && self.kernel == Kernel::Absent && self.run.is_none() {
            self.is_stopped = true;
            out.push(MachineEffect::Stop);
        }
    }

    fn leave(&mut self, ticket: Ticket, out: &mut Vec<MachineEffect>) {
        if let Some(at) = self.queue.iter().position(|waiting| *waiting == ticket) {
            self.queue.remove(at);
            out.push(MachineEffect::Refuse(ticket, NotRun::Cancelled));
        }
        if self.holder != Some(ticket) {
            return;
        }
        self.holder = None;
        self.interrupted = None;
        // A caller that goes away during a run has no use for its end.
        if let Some(run) = &mut self.run
            && run.is_sent
        {
            run.climb.get_or_insert_with(|| Climb::new(Why::Left, self.policy.interrupt_grace));
        } else {
            self.resolve(CellEnd::taken_back(KernelFate::Kept), out);
        }
    }

    fn begin(
        &mut self,
        now: Instant,
        ticket: Ticket,
        request: ExecRequest,
        out: &mut Vec<MachineEffect>,
    ) {
        let is_allowed = self.holder == Some(ticket) && self.run.is_none();
        let refused = if !is_allowed || self.closing.is_some() {
            Some(CellEnd::NotRun(NotRun::Closed))
        } else {
            self.taken_back.clone().map(CellEnd::taken_back)
        };
        if let Some(end) = refused {
            out.push(MachineEffect::Resolve(request.exec, Box::new(end.into())));
            return;
        }
        // The wait for a kernel is bounded by the time of the whole call.
        let deadline = request.patience.and_then(|patience| now.checked_add(patience));
        let is_interrupted =
            !request.is_empty && self.interrupted.take_if(|it| *it == ticket).is_some();
        let was_interrupted = is_interrupted;
        let run = Run::new(request, deadline);
        self.run = Some(Run { is_interrupted, was_interrupted, ..run });
        self.provide(now, out);
    }

    /// Gets a kernel for the run: the current one, or a new one.
    fn provide(&mut self, now: Instant, out: &mut Vec<MachineEffect>) {
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
                    let begun = self.run.as_ref().and_then(|run| run.begun.clone());
                    let has_begun = begun.is_some();
                    self.give_up(begun, has_begun, out);
                    return;
                }
                self.kernel = Kernel::Starting;
                out.push(MachineEffect::Launch);
            }
        }
    }

    /// Ends the run, as its kernels died again and again; `death` is the last one in this run.
    fn give_up(&mut self, death: Option<Death>, has_begun: bool, out: &mut Vec<MachineEffect>) {
        // The next call starts with a fresh count of restarts, and hears of the loss.
        (self.restarts, self.had_kernel) = (0, false);
        self.loss = death.map(Loss::Died).or(self.loss.take());
        let death = match &self.loss {
            Some(Loss::Died(death)) => Some(death.clone()),
            _ => None,
        };
        self.resolve(CellEnd::TooManyRestarts { death, has_begun }, out);
    }

    fn execute(&mut self, now: Instant, out: &mut Vec<MachineEffect>) {
        let Some(run) = &mut self.run else { return };
        run.is_sent = true;
        run.deadline = run.request.timeout.and_then(|timeout| now.checked_add(timeout));
        run.notes.extend(self.loss.take().map(CallNote::StateLost));
        out.push(MachineEffect::Execute(run.request.exec));
        if std::mem::take(&mut run.is_interrupted) {
            out.push(MachineEffect::Interrupt);
        }
    }

    fn launched(&mut self, now: Instant, out: &mut Vec<MachineEffect>) {
        if self.kernel == Kernel::Unwanted {
            self.kernel = Kernel::Ending;
            out.push(MachineEffect::Shutdown);
            return;
        }
        self.had_kernel = true;
        self.kernel = Kernel::Ready;
        self.execute(now, out);
    }

    fn launch_failed(&mut self, error: LaunchError, out: &mut Vec<MachineEffect>) {
        self.kernel = Kernel::Absent;
        // A kernel that could not be started does not count as a restart.
        self.restarts = self.restarts.saturating_sub(1);
        self.finish_resets(out);
        if self.closing.is_some() {
            self.resolve(CellEnd::NotRun(NotRun::Closed), out);
        } else {
            self.resolve(CellEnd::NotRun(NotRun::Launch(error)), out);
        }
    }

    fn cancel(&mut self, now: Instant, ticket: Ticket, out: &mut Vec<MachineEffect>) {
        if let Some(at) = self.queue.iter().position(|waiting| *waiting == ticket) {
            self.queue.remove(at);
            out.push(MachineEffect::Refuse(ticket, NotRun::Cancelled));
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

    fn reset(&mut self, by: Option<Ticket>, out: &mut Vec<MachineEffect>) {
        let is_allowed = by.is_none_or(|ticket| self.holder == Some(ticket) && self.run.is_none());
        if self.resets > 0 || !is_allowed || self.closing.is_some() {
            out.push(MachineEffect::ResetDone(ResetEnd::Refused));
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

    /// Cancels what was requested before a reset from outside: it must not run in the new kernel.
    fn take_all_back(&mut self, out: &mut Vec<MachineEffect>) {
        for ticket in self.queue.drain(..) {
            out.push(MachineEffect::Refuse(ticket, NotRun::Cancelled));
        }
        self.taken_back = self.holder.map(|_| KernelFate::TakenAway);
        // Code that the kernel has ends with the kernel.
        if self.run.as_ref().is_some_and(|run| !run.is_sent) {
            self.resolve(CellEnd::taken_back(KernelFate::TakenAway), out);
        }
    }

    fn finish_resets(&mut self, out: &mut Vec<MachineEffect>) {
        for _ in 0..std::mem::take(&mut self.resets) {
            out.push(MachineEffect::ResetDone(ResetEnd::Done));
        }
    }

    fn end_kernel(&mut self, out: &mut Vec<MachineEffect>) {
        match self.kernel {
            Kernel::Absent | Kernel::Unwanted | Kernel::Ending => {}
            Kernel::Starting => self.kernel = Kernel::Unwanted,
            Kernel::Ready => {
                self.kernel = Kernel::Ending;
                self.drop_asks(&AskEnd::TakenAway, out);
                out.push(MachineEffect::Shutdown);
            }
        }
    }

    fn close(&mut self, reason: CloseReason, out: &mut Vec<MachineEffect>) {
        if self.closing.is_some() {
            return;
        }
        self.closing = Some(reason);
        for ticket in self.queue.drain(..) {
            out.push(MachineEffect::Refuse(ticket, NotRun::Closed));
        }
        // Also abort a launch that a reset made unwanted: it may wait for room that only the end of this session makes.
        if matches!(self.kernel, Kernel::Starting | Kernel::Unwanted) {
            out.push(MachineEffect::AbortLaunch);
        }
        self.end_kernel(out);
        if self.run.as_ref().is_some_and(|run| !run.is_sent) {
            self.resolve(CellEnd::NotRun(NotRun::Closed), out);
        }
    }

    fn hear(&mut self, now: Instant, fact: Fact, out: &mut Vec<MachineEffect>) {
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
                    // The kernel has survived a run, so the row of restarts ends.
                    self.restarts = 0;
                    self.resolve(end, out);
                }
            }
            Fact::Answered(id, answer) => self.answered(id, answer, out),
            Fact::Died(death) => self.died(now, death, out),
        }
    }

    fn died(&mut self, now: Instant, death: Death, out: &mut Vec<MachineEffect>) {
        let was_ending = self.kernel == Kernel::Ending;
        self.kernel = Kernel::Absent;
        self.drop_asks(&AskEnd::Died(death.clone()), out);
        self.finish_resets(out);
        let Some(run) = self.run.as_mut().filter(|run| run.is_sent) else {
            // An end that a caller requested is not a loss. The run that waited for it goes on with a new kernel.
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
                run.notes.push(CallNote::RanTwice(death));
            } else {
                // Nothing of the run was executed; only the earlier state is lost.
                self.loss = Some(Loss::Died(death));
            }
            (run.is_sent, run.has_started, run.deadline) = (false, false, None);
            run.waits_for_line = false;
            self.provide(now, out);
        } else {
            let has_begun = run.has_started || run.begun.is_some();
            if is_rerun && self.restarts >= self.policy.max_restarts {
                self.give_up(Some(death), has_begun, out);
            } else {
                self.loss = Some(Loss::Died(death.clone()));
                self.resolve(CellEnd::KernelDied(death), out);
            }
        }
    }

    /// Handles a passed deadline and the rungs that are due.
    fn tick(&mut self, now: Instant, out: &mut Vec<MachineEffect>) {
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
                Rung::Interrupt => out.push(MachineEffect::Interrupt),
                Rung::Terminate => out.push(MachineEffect::Force(StopSignal::Terminate)),
                Rung::Kill => out.push(MachineEffect::Force(StopSignal::Kill)),
                Rung::Answer => {
                    let end = climb.end(KernelFate::Ended { by: Rung::Answer, death: None }, None);
                    self.kernel = Kernel::Absent;
                    self.had_kernel = false;
                    self.loss = Some(Loss::Killed { by: Rung::Answer });
                    self.drop_asks(&AskEnd::TakenAway, out);
                    out.push(MachineEffect::Abandon);
                    self.finish_resets(out);
                    self.resolve(end, out);
                    return;
                }
            }
        }
    }

    fn resolve(&mut self, end: CellEnd, out: &mut Vec<MachineEffect>) {
        if let Some(mut run) = self.run.take() {
            if run.begun.is_some() && !run.is_sent {
                run.notes.retain(|note| !matches!(note, CallNote::RanTwice(_)));
            }
            let end = match (end, run.begun.take()) {
                // The run had begun in a kernel that died, and was not run again after all.
                (CellEnd::NotRun(_), Some(death)) => {
                    self.loss = Some(Loss::Died(death.clone()));
                    CellEnd::KernelDied(death)
                }
                (end, _) => end,
            };
            run.notes.extend(run.ended_by_interrupt(&end).then_some(CallNote::Interrupted));
            let end = RunEnd { end, notes: run.notes };
            out.push(MachineEffect::Resolve(run.request.exec, Box::new(end)));
        }
    }

    /// Asks for a wakeup when the next deadline changed.
    fn arm(&mut self, out: &mut Vec<MachineEffect>) {
        let wake = self.run.as_ref().and_then(Run::due).into_iter().chain(self.next_ask()).min();
        if wake != self.woken_at {
            self.woken_at = wake;
            out.push(MachineEffect::Wake(wake));
        }
    }
}
