//! The inkcell engine: it changes notebooks on disk safely, and runs code to its end.
//!
//! This is the library behind the tools and the command line. It prints nothing, reads no
//! environment variable and holds no global state: its settings come in [`FilesConfig`].

pub mod api;
mod call;
mod edit;
mod engine;
mod error;
mod files;
mod kernels;
pub mod output;
mod run;
pub mod session;
pub mod store;
pub mod types;

pub use call::{CallEvent, CallHandle, Lent, RunningRun, Tapped};
pub use edit::{
    Backup, Base, Cleaning, FileEffect, FilesConfig, IdEditPart, IdEditRequest, IdEditResult,
    IdEdited, IfMissing, IndexEditRequest, IndexEditResult, KernelDefaults, KernelMetadata, Mode,
    Notebooks, Opened, SaveOptions, Saved, SavedBytes, parse_notebook, parse_ops,
};
pub use engine::{CallOptions, Engine, EngineConfig, Resolution, Work};
pub use error::{CellDifference, CellFate, EngineError, InspectError, NextStep, SessionError};
pub use files::{FileNote, Force, PathBase, Roots, is_notebook_path};
pub use inkcell_kernel as kernel;
pub use inkcell_notebook as notebook;
pub use kernels::{
    Backends, Check, Chosen, ChosenKernel, GatewayChoice, KernelsConfig, Needed, Preflight,
    ProjectKernels,
};
pub use run::{
    CHEAP_SAVE, ExecutionTrace, LastRuns, OpenCell, OpenedRun, PreparedRun, RanCell, Records,
    RunClock, RunFiles, forget_runs, notebook_kernel, opened_run, outlined, prepared,
    read_with_runs,
};
pub use session::{feeds, journal, registry};
pub use store as artifact;
pub use types::{Because, Freshness, Generation, Kind, StaleReason, Version, system_random};
