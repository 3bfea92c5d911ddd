//! Questions to the kernel: which of them it gets, and how each is answered.
//!
//! Owns the open questions. A question starts no kernel and waits for no run, so it is always answered
//! soon; and a run that wants the kernel waits for a question a moment at most. Only a kernel without a
//! run is interrupted for a question: a question must not harm running code.

use std::time::{Duration, Instant};

use inkcell_kernel::{Answer, AskId, Death, ExecId};

use super::{Kernel, Machine, MachineEffect};
use crate::types::Loss;

/// How long a question may still take when a run wants the kernel.
const HURRY: Duration = Duration::from_secs(1);

/// How long a kernel may take to drop an interrupted question before it gets a run.
const SETTLE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AskRequest {
    pub(crate) id: AskId,
    /// How long the answer may take.
    pub(crate) limit: Duration,
}

/// The result of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskEnd {
    /// The answer is an object, as the text that the kernel sent.
    Answered(String),
    /// The question failed. The text says why, for the user.
    Failed(String),
    /// The kernel runs code, this run if it is known, and cannot look now.
    Busy(Option<ExecId>),
    /// The kernel is still starting, or is ending.
    NotReady,
    /// The answer took longer than this limit.
    TimedOut(Duration),
    /// The session has no kernel: it never had one, or lost it to this.
    NoKernel(Option<Loss>),
    /// The kernel died of the question, or during it.
    Died(Death),
    /// A reset took the kernel away, or the kernel had to be ended.
    TakenAway,
    /// The session is over, so no kernel can answer.
    Closed,
}

/// A question that the kernel has.
#[derive(Debug)]
pub(super) struct Ask {
    request: AskRequest,
    /// When the question is given up. After that, when the kernel is no longer given time to drop it.
    due: Instant,
    is_told: bool,
    is_repeated: bool,
}

impl Machine {
    pub(super) fn ask(&mut self, now: Instant, request: AskRequest, out: &mut Vec<MachineEffect>) {
        let waiting = self.run.as_ref().filter(|run| !run.is_sent).map(|run| run.request.exec);
        let refused = match self.kernel {
            _ if self.closing.is_some() => AskEnd::Closed,
            Kernel::Absent => AskEnd::NoKernel(self.loss.clone()),
            Kernel::Starting | Kernel::Unwanted | Kernel::Ending => AskEnd::NotReady,
            // A run that waits comes first, or questions could keep it waiting.
            Kernel::Ready if waiting.is_some() => AskEnd::Busy(waiting),
            Kernel::Ready => {
                let due = now.checked_add(request.limit).unwrap_or(now);
                self.asks.push(Ask { request, due, is_told: false, is_repeated: false });
                out.push(MachineEffect::Ask(request.id));
                return;
            }
        };
        out.push(MachineEffect::Answer(request.id, Box::new(refused)));
    }

    pub(super) fn answered(&mut self, id: AskId, answer: Answer, out: &mut Vec<MachineEffect>) {
        let Some(at) = self.asks.iter().position(|ask| ask.request.id == id) else { return };
        let running = self.run.as_ref().map(|run| run.request.exec);
        let ask = &mut self.asks[at];
        // The kernel was busy with a run that has ended in the meantime.
        if answer == Answer::Busy && running.is_none() && !ask.is_told && !ask.is_repeated {
            ask.is_repeated = true;
            out.push(MachineEffect::Ask(id));
            return;
        }
        let ask = self.asks.remove(at);
        ask.tell(
            match answer {
                Answer::Json(text) => AskEnd::Answered(text),
                Answer::Failed(problem) => AskEnd::Failed(problem),
                Answer::Busy => AskEnd::Busy(running),
            },
            out,
        );
    }

    /// Returns whether the kernel can take a run now. If not, hurries the questions in its way.
    pub(super) fn is_free_of_questions(&mut self, now: Instant) -> bool {
        for ask in self.asks.iter_mut().filter(|ask| !ask.is_told) {
            ask.due = ask.due.min(now + HURRY);
        }
        self.asks.is_empty()
    }

    /// Answers all questions because the kernel is gone.
    pub(super) fn drop_asks(&mut self, end: &AskEnd, out: &mut Vec<MachineEffect>) {
        for ask in self.asks.drain(..) {
            ask.tell(end.clone(), out);
        }
    }

    /// Gives up questions that took too long, and gives a waiting run to the kernel.
    pub(super) fn tick_asks(&mut self, now: Instant, out: &mut Vec<MachineEffect>) {
        let running = self.run.as_ref().filter(|run| run.is_sent).map(|run| run.request.exec);
        let mut open = Vec::new();
        for mut ask in self.asks.drain(..) {
            if ask.due > now {
                open.push(ask);
            } else if running.is_some() {
                ask.tell(AskEnd::Busy(running), out);
            } else if !ask.is_told {
                out.push(MachineEffect::Interrupt);
                let end = AskEnd::TimedOut(ask.request.limit);
                out.push(MachineEffect::Answer(ask.request.id, Box::new(end)));
                (ask.due, ask.is_told) = (now + SETTLE, true);
                open.push(ask);
            }
        }
        self.asks = open;
        let waits = self.run.as_ref().is_some_and(|run| !run.is_sent);
        if waits && self.kernel == Kernel::Ready && self.asks.is_empty() {
            self.execute(now, out);
        }
    }

    /// When the next question is due.
    pub(super) fn next_ask(&self) -> Option<Instant> {
        self.asks.iter().map(|ask| ask.due).min()
    }
}

impl Ask {
    fn tell(self, end: AskEnd, out: &mut Vec<MachineEffect>) {
        if !self.is_told {
            out.push(MachineEffect::Answer(self.request.id, Box::new(end)));
        }
    }
}
