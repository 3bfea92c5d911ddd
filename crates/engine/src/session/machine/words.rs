//! The words of the machine: what happened, what is to be done, and where there is a choice.

use std::time::{Duration, Instant};

use inkcell_kernel::{
    Answer, AskId, Death, ExecId, Force, InputMode, InputReply, LaunchError, Outcome,
};
use serde::{Deserialize, Serialize};

use super::asking::{AskEnd, AskRequest};
use crate::session::end::{CellEnd, NotRun, RunEnd};

/// Names one call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket(pub u64);

/// What a session does where there is a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Whether code is run again after the kernel died in it.
    pub retry: Retry,
    /// How long code may take to listen to interrupts.
    pub interrupt_grace: Duration,
    /// How many kernels may be started in a row without a run that succeeds, after the first.
    pub max_restarts: u32,
}

/// Whether code is run again after the kernel died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// Only when it had not begun.
    IfNotStarted,
    /// Once, also when it had.
    Once,
    /// Not at all.
    Never,
}

/// Why a session ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// It was asked to.
    Asked,
    /// Nobody used it for too long.
    Idle,
    /// Another session needed its place.
    Evicted,
    /// Another session needed its descriptors: the system had no more.
    OpenFiles,
    /// Another session needed its processes: the system had no more.
    Processes,
    /// Everything ends.
    Shutdown,
}

/// A cell to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunRequest {
    /// Its name.
    pub exec: ExecId,
    /// How long it may take, from when the kernel gets it.
    pub timeout: Option<Duration>,
    /// How long its kernel may take to come.
    pub patience: Option<Duration>,
    /// Whether it may ask for lines of input.
    pub input: InputMode,
    /// Whether it has no code: it only has a kernel started.
    pub is_empty: bool,
}

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// A call wants its turn.
    Enter(Ticket),
    /// The call whose turn it is wants this run.
    Run(Ticket, RunRequest),
    /// A call is over.
    Leave(Ticket),
    /// A call was taken back: by whoever made it, the second time with impatience.
    Cancel(Ticket),
    /// Somebody answers the cell of this call, which asked for a line.
    Reply(Ticket, InputReply),
    /// The call whose turn it is wants a new kernel, or somebody from outside does.
    Reset(Option<Ticket>),
    /// Somebody has a question to the kernel.
    Ask(AskRequest),
    /// Somebody wants the running code to be interrupted, and no more.
    Interrupt,
    /// The session is to end.
    Close(CloseReason),
    /// A kernel is there.
    Launched,
    /// There is none to be had.
    LaunchFailed(LaunchError),
    /// The kernel reports something.
    Kernel(Fact),
    /// The time that was asked for has come.
    Deadline,
}

impl Input {
    /// Answers it: a session that is over still does.
    pub(super) fn refuse(&self, out: &mut Vec<Effect>) {
        match self {
            Input::Enter(ticket) => out.push(Effect::Refuse(*ticket, NotRun::Closed)),
            Input::Run(_, request) => {
                let end = CellEnd::NotRun(NotRun::Closed);
                out.push(Effect::Resolve(request.exec, Box::new(end.into())));
            }
            Input::Reset(_) => out.push(Effect::ResetDone(ResetEnd::Refused)),
            Input::Ask(request) => out.push(Effect::Answer(request.id, Box::new(AskEnd::Closed))),
            _ => {}
        }
    }
}

/// What a kernel reports that matters to decisions. Outputs do not pass through here.
#[derive(Clone, PartialEq, Debug)]
pub enum Fact {
    /// The code has begun.
    Started(ExecId),
    /// It wants input.
    InputRequested(ExecId),
    /// It is over.
    Finished(ExecId, Outcome),
    /// It answers a question.
    Answered(AskId, Answer),
    /// The kernel is gone, by itself or because it was shut down.
    Died(Death),
}

/// What is to be done, in order.
#[derive(Debug)]
pub enum Effect {
    /// It is this call's turn.
    Grant(Ticket),
    /// It will never be this call's turn.
    Refuse(Ticket, NotRun),
    /// Start a kernel.
    Launch,
    /// Nobody will want the kernel that is being started; its launch still ends, one way or the other.
    AbortLaunch,
    /// Give this code to the kernel.
    Execute(ExecId),
    /// Give this to code that wants input.
    ReplyInput(ExecId, InputReply),
    /// Interrupt it.
    Interrupt,
    /// End it because it did not listen.
    Force(Force),
    /// Shut it down; its death is awaited.
    Shutdown,
    /// Let go of it; its death is not awaited.
    Abandon,
    /// A run is over.
    Resolve(ExecId, Box<RunEnd>),
    /// Put this question to the kernel.
    Ask(AskId),
    /// A question is answered.
    Answer(AskId, Box<AskEnd>),
    /// A reset is done, or refused because another one is under way.
    ResetDone(ResetEnd),
    /// Wake this machine then, and at no other time that was asked for before.
    Wake(Option<Instant>),
    /// Nothing more will happen.
    Stop,
}

/// How a reset ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResetEnd {
    /// The kernel is gone; the next run starts another.
    Done,
    /// Another reset is under way.
    Refused,
}
