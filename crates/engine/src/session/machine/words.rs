//! The vocabulary of the machine: inputs, effects, and the policy.

use std::time::{Duration, Instant};

use inkcell_kernel::{
    Answer, AskId, Death, ExecId, InputMode, InputReply, LaunchError, Outcome, StopSignal,
};

use super::asking::{AskEnd, AskRequest};
use crate::session::end::{CellEnd, NotRun, RunEnd};
use crate::types::CloseReason;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Ticket(pub(crate) u64);

/// The choices that a session leaves to its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// The rule for code whose kernel died.
    pub retry: Retry,
    /// How long code may take to react to an interrupt.
    pub interrupt_grace: Duration,
    /// How many restarts are allowed in a row. A run that leaves its kernel alive ends the row.
    pub max_restarts: u32,
}

/// The rule for code whose kernel died: run it again or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// Run it again only if it had not begun.
    IfNotStarted,
    /// Run it again once, even if it had begun.
    Once,
    /// Never run code again whose kernel died.
    Never,
}

/// A cell to run, without its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExecRequest {
    pub(crate) exec: ExecId,
    /// The time limit of the cell, counted from when the kernel gets it.
    pub(crate) timeout: Option<Duration>,
    /// How long the kernel may take to start.
    pub(crate) patience: Option<Duration>,
    /// The permission to ask for lines of input.
    pub(crate) input: InputMode,
    /// True if the code is empty: the run only starts a kernel.
    pub(crate) is_empty: bool,
}

#[derive(Debug)]
pub(crate) enum Input {
    /// A call asks for its turn.
    Enter(Ticket),
    /// The call whose turn it is asks for this run.
    Run(Ticket, ExecRequest),
    /// A call is over.
    Leave(Ticket),
    /// A caller cancels its call. A second cancel hurries the stop.
    Cancel(Ticket),
    /// The answer to a cell of this call that asked for a line.
    Reply(Ticket, InputReply),
    /// A request for a new kernel: from the call whose turn it is, or from outside.
    Reset(Option<Ticket>),
    /// A caller has a question to the kernel.
    Ask(AskRequest),
    /// A caller interrupts the running code, and nothing else.
    Interrupt,
    /// The session must end.
    Close(CloseReason),
    /// The kernel is ready.
    Launched,
    /// The kernel could not be started.
    LaunchFailed(LaunchError),
    /// The kernel reports a fact.
    Kernel(Fact),
    /// The time of the last [`MachineEffect::Wake`] has come.
    Deadline,
}

impl Input {
    /// Answers an input of a session that is over.
    pub(super) fn refuse(&self, out: &mut Vec<MachineEffect>) {
        match self {
            Input::Enter(ticket) => out.push(MachineEffect::Refuse(*ticket, NotRun::Closed)),
            Input::Run(_, request) => {
                let end = CellEnd::NotRun(NotRun::Closed);
                out.push(MachineEffect::Resolve(request.exec, Box::new(end.into())));
            }
            Input::Reset(_) => out.push(MachineEffect::ResetDone(ResetEnd::Refused)),
            Input::Ask(request) => {
                out.push(MachineEffect::Answer(request.id, Box::new(AskEnd::Closed)));
            }
            _ => {}
        }
    }
}

/// A report of the kernel that matters to decisions. Outputs do not pass through here.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Fact {
    Started(ExecId),
    InputRequested(ExecId),
    Finished(ExecId, Outcome),
    /// The kernel answers a question.
    Answered(AskId, Answer),
    /// The kernel is gone, by itself or because it was shut down.
    Died(Death),
}

/// An action for the actor. Actions are carried out in order.
#[derive(Debug)]
pub(crate) enum MachineEffect {
    /// It is this call's turn.
    Grant(Ticket),
    /// It will never be this call's turn.
    Refuse(Ticket, NotRun),
    Launch,
    /// The starting kernel is no longer wanted. Its launch still ends, with success or failure.
    AbortLaunch,
    /// Give this code to the kernel.
    Execute(ExecId),
    /// Give this reply to the code that asked for input.
    ReplyInput(ExecId, InputReply),
    Interrupt,
    /// End the running code with this force because it ignored the interrupt.
    Force(StopSignal),
    /// Shut the kernel down, and await its death.
    Shutdown,
    /// Drop the kernel without awaiting its death.
    Abandon,
    /// A run is over.
    Resolve(ExecId, Box<RunEnd>),
    /// Put this question to the kernel.
    Ask(AskId),
    /// A question is answered.
    Answer(AskId, Box<AskEnd>),
    /// A reset is done, or refused because another one is under way.
    ResetDone(ResetEnd),
    /// Wake the machine at this time only; earlier wakeup times are void.
    Wake(Option<Instant>),
    /// The session is over, and no effect follows.
    Stop,
}

/// The result of a reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResetEnd {
    /// The kernel is gone; the next run starts another.
    Done,
    /// The session refused the reset, for example because another reset is under way.
    Refused,
}
