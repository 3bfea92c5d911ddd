//! Which Python a kernel is: the candidates in order, what each answers, and the choice with its reason.
//!
//! Nothing here runs unless a kernel is wanted: reading and editing notebooks never come this way, and a mere look
//! runs nothing from the workspace.

mod cache;
mod candidate;
mod files;
mod find;
mod interpreter;
mod managed;
mod probe;
mod shim;
#[cfg(test)]
mod tests;
mod workspace;

pub use candidate::{Candidate, Candidates, Search, candidates};
pub use files::Unasked;
pub use find::{FindError, Finder, Sighted};
pub use interpreter::{Interpreter, OLDEST, Reason, Skipped, Version, Why};
pub use managed::{
    EnvSetup, Existing, ManagedEnv, SetupDone, SetupError, SetupEvent, SetupStep, SetupTool,
    set_up_environment,
};
pub use probe::{DEFAULT_PROBE_TIMEOUT, Probed, probe};
pub use workspace::Workspace;
