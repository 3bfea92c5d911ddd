//! A session: one kernel and the calls that wait for it. The machine decides, the actor does, the handle
//! asks.

mod actor;
mod end;
mod handle;
mod machine;
mod outbox;

pub use actor::{Ran, SessionState};
pub use end::{CellEnd, KernelFate, Loss, NotRun, Note, RunEnd};
pub use handle::{Canceller, CellRequest, Closing, Session, Turn};
pub use machine::{
    CloseReason, Effect, Fact, Input, Machine, Policy, ResetEnd, Retry, RunRequest, Ticket,
};
