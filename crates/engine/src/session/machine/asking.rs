//! Questions to the kernel: which are put to it, and how each is answered.
//!
//! Owns the questions that are open. A question starts no kernel and waits for no run, so it is always
//! answered soon; and a run that wants the kernel waits for a question a moment at most. Only a kernel
//! without a run is interrupted for a question: whoever asks must not harm what runs.

use std::time::{Duration, Instant};

use inkcell_kernel::{Answer, AskId, Death, ExecId};

use super::{Effect, Kernel, Machine};
use crate::session::end::Loss;

/// How long a question may still take when a run wants the kernel.
const HURRY: Duration = Duration::from_secs(1);

/// How long a kernel may take to let go of a question that was interrupted, before a run is given to it.
const SETTLE: Duration = Duration::from_secs(1);

/// A question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AskRequest {
    /// Its name.
    pub id: AskId,
    /// How long the answer may take.
    pub limit: Duration,
}

/// How a question was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskEnd {
    /// With an object, as the text the kernel sent.
    Answered(String),
    /// There is no answer; the text says why, for the user.
    Failed(String),
    /// The kernel runs something, this where it is known, and cannot look now.
    Busy(Option<ExecId>),
    /// The kernel is only being started, or ended.
    NotReady,
    /// The answer took longer than this.
    TimedOut(Duration),
    /// There is no kernel: not yet, or no more since this happened.
    NoKernel(Option<Loss>),
    /// The kernel died of it, or while it was asked.
    Died(Death),
    /// The kernel was taken away: by a reset, or because it had to be ended.
    TakenAway,
    /// The session is over.
    Closed,
}

/// A question that the kernel has.
#[derive(Debug)]
pub(super) struct Ask {
    request: AskRequest,
    /// When it is given up; once that is done, when it is no longer waited for.
    due: Instant,
    is_told: bool,
    is_repeated: bool,
}

impl Machine {
    pub(super) fn ask(&mut self, now: Instant, request: AskRequest, out: &mut Vec<Effect>) {
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
                out.push(Effect::Ask(request.id));
                return;
            }
        };
        out.push(Effect::Answer(request.id, Box::new(refused)));
    }

    pub(super) fn answered(&mut self, id: AskId, answer: Answer, out: &mut Vec<Effect>) {
        let Some(at) = self.asks.iter().position(|ask| ask.request.id == id) else { return };
        let running = self.run.as_ref().map(|run| run.request.exec);
        let ask = &mut self.asks[at];
        // What it was busy with ended in the meantime.
        if answer == Answer::Busy && running.is_none() && !ask.is_told && !ask.is_repeated {
            ask.is_repeated = true;
            out.push(Effect::Ask(id));
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

    /// Whether a run can be given to the kernel now; else what is in its way is hurried.
    pub(super) fn is_free_of_questions(&mut self, now: Instant) -> bool {
        for ask in self.asks.iter_mut().filter(|ask| !ask.is_told) {
            ask.due = ask.due.min(now + HURRY);
        }
        self.asks.is_empty()
    }

    /// Answers all questions because the kernel is gone.
    pub(super) fn drop_asks(&mut self, end: &AskEnd, out: &mut Vec<Effect>) {
        for ask in self.asks.drain(..) {
            ask.tell(end.clone(), out);
        }
    }

    /// Gives up what took too long, and gives a run that waited to the kernel.
    pub(super) fn tick_asks(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let running = self.run.as_ref().filter(|run| run.is_sent).map(|run| run.request.exec);
        let mut open = Vec::new();
        for mut ask in self.asks.drain(..) {
            if ask.due > now {
                open.push(ask);
            } else if running.is_some() {
                ask.tell(AskEnd::Busy(running), out);
            } else if !ask.is_told {
                out.push(Effect::Interrupt);
                let end = AskEnd::TimedOut(ask.request.limit);
                out.push(Effect::Answer(ask.request.id, Box::new(end)));
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
    fn tell(self, end: AskEnd, out: &mut Vec<Effect>) {
        if !self.is_told {
            out.push(Effect::Answer(self.request.id, Box::new(end)));
        }
    }
}
