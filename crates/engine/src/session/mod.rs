//! A session: one kernel and the calls that wait for it. The machine decides, the actor carries out, the
//! handle sends requests.

mod actor;
mod end;
pub mod feeds;
mod handle;
pub mod journal;
mod machine;
mod orphans;
mod outbox;
pub mod registry;
mod state;
mod waiting;
pub(crate) mod weight;

pub use crate::types::{CallNote, CloseReason, KernelFate, Loss, what_it_did};
pub use actor::RunOutcome;
pub use end::{CellEnd, NotRun, RunEnd};
pub use handle::{Canceller, CellRequest, Session, Turn, Waiting};
pub(crate) use handle::{Closing, Replier};
pub use machine::{AskEnd, Policy, ResetEnd, Retry};
pub(crate) use orphans::shown_bytes;
pub(crate) use outbox::{STUCK, written_bytes};
pub use state::{Running, SessionState};
