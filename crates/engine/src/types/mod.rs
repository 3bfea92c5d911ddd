//! The vocabulary of the engine: ids, names, keys, states and causes, which all other modules share.
//!
//! Owns plain values and their JSON form. It imports no other module of the crate.

pub(crate) mod encoding;
mod ids;
mod session;
mod slips;
mod state;
mod suggestion;

pub use ids::{
    ExecutionId, Generation, KernelName, OwnerId, SessionKey, SessionName, Version, system_random,
};
pub use session::{CallNote, CloseReason, Keep, KernelFate, Loss, what_it_did};
pub use slips::meant_field;
pub use state::{Because, Freshness, Kind, StaleReason, State};
pub(crate) use suggestion::SUGGESTIONS;
pub use suggestion::Suggestion;
