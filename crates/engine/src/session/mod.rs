//! A session: one kernel and the calls that wait for it. The machine decides, the actor does, the handle
//! asks.

mod actor;
mod end;
mod handle;
mod machine;
mod orphans;
mod outbox;
mod state;
mod waiting;

pub use actor::Ran;
pub use end::{CellEnd, KernelFate, Loss, NotRun, Note, RunEnd, what_it_did};
pub use handle::{Canceller, CellRequest, Closing, Replier, Session, Turn, Waiting};
pub use machine::{
    AskEnd, AskRequest, CloseReason, Effect, Fact, Input, Machine, Policy, ResetEnd, Retry,
    RunRequest, Ticket,
};
pub(crate) use orphans::shown_bytes;
pub(crate) use outbox::{STUCK, written_bytes};
pub use state::{Running, SessionState};
