//! A Python interpreter as a stream of events.
//!
//! One contract ([`Backend`], [`Kernel`], [`KernelEvents`]) and the ways to fulfil it. This crate knows
//! processes and protocols; it must not know notebooks, sessions or the user's files.

mod cwd;
mod environ;
mod error;
mod event;
mod kernel;
mod process;
mod python;
mod runner;

pub use cwd::check_cwd;
pub use environ::{
    ChildEnv, EnvMode, EnvRules, MANAGED, ParentEnv, Pattern, PatternError, child_environment,
    withheld_hint, withheld_hint_for,
};
pub use error::LaunchError;
pub use event::{
    Death, DeathCause, DisplayId, ExecEvent, ExecId, KernelEvent, MimeBundle, MimeData, Outcome,
    PyError, StreamName,
};
pub use kernel::{
    Backend, BackendKind, CodeRequest, Gone, History, Kernel, KernelEvents, KernelInfo, KernelSpec,
    Launched,
};
pub use python::{
    Candidate, Candidates, DEFAULT_PROBE_TIMEOUT, FindError, Finder, Interpreter, OLDEST, Probed,
    Reason, Search, Skipped, Version, Why, candidates, probe,
};
pub use runner::{ForkServer, Prelude, RunnerBackend, RunnerConfig, ZygoteState};
