//! The inkcell engine: notebooks on disk that are changed safely, and code that is run to its end.
//!
//! This is the library behind the tools and the command line. It prints nothing, reads no
//! environment variable and holds no global state: what it needs to know comes in [`FilesConfig`].

pub mod api;
pub mod artifact;
mod backends;
mod call;
mod change;
mod clean;
mod compat;
mod encoding;
mod engine;
mod error;
mod executions;
pub mod feeds;
mod files;
mod inspect;
pub mod journal;
mod kernels;
mod keys;
mod lent;
mod merge;
mod notebooks;
mod ops;
pub mod output;
mod preflight;
pub mod registry;
mod results;
mod run;
pub mod session;
mod session_file;
mod staleness;
mod tap;
mod verbs;
mod weight;

pub use backends::{Backends, GatewayChoice};
pub use change::{Backup, Base, Effect, IfMissing, Mode, SaveOptions, Saved};
pub use clean::Cleaning;
pub use compat::{
    IdEditPart, IdEditRequest, IdEditResult, IdEdited, IndexEditRequest, IndexEditResult,
};
pub use engine::{Engine, EngineConfig};
pub use error::{Difference, EngineError, Fate, Kind, NextStep, SessionError};
pub use executions::CallEvent;
pub use files::{FileNote, Force, PathBase, Roots, Version, is_notebook_path};
pub use inkcell_kernel as kernel;
pub use inkcell_notebook as notebook;
pub use inspect::InspectError;
pub use kernels::{Chosen, ChosenKernel, KernelsConfig, ProjectKernels};
pub use lent::Lent;
pub use notebooks::{
    FilesConfig, KernelDefaults, KernelMetadata, Notebooks, Opened, SavedBytes, parse_notebook,
    system_random,
};
pub use ops::parse_ops;
pub use preflight::{Check, Needed, Preflight};
pub use run::{
    CHEAP_SAVE, LastRuns, OpenCell, OpenedRun, PreparedRun, RanCell, Records, RunClock, RunFiles,
    RunningRun, forget_runs, notebook_kernel, opened_run, outlined, prepared, read_with_runs,
};
pub use staleness::{Because, Freshness, Generation, Trace, Why};
pub use tap::Tapped;
