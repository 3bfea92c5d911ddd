//! The inkcell engine: it changes notebooks on disk safely, and runs code to its end.
//!
//! This is the library behind the tools and the command line. It prints nothing, reads no
//! environment variable and holds no global state: its settings come in [`EngineConfig`] and [`FilesConfig`].
//!
//! [`Notebooks`] changes files: it locks, merges with changes by others, and replaces by rename. [`Engine`] runs code
//! in sessions; each has a kernel, a queue and a name. A run of a notebook needs both:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime};
//!
//! use inkcell_engine::api::{RunRequest, State};
//! use inkcell_engine::artifact::{ArtifactLimits, ArtifactsConfig};
//! use inkcell_engine::kernel::{
//!     EnvMode, EnvRules, ForkServer, ParentEnv, Prelude, ProjectModules, RunnerBackend, RunnerConfig, Shell,
//! };
//! use inkcell_engine::notebook::OutputsAfter;
//! use inkcell_engine::output::{OutputLimits, SizePolicy};
//! use inkcell_engine::registry::{IdleRule, Limits, OwnerId};
//! use inkcell_engine::session::{Policy, Retry};
//! use inkcell_engine::{
//!     Backends, CHEAP_SAVE, CallOptions, Engine, EngineConfig, FilesConfig, KernelsConfig, Notebooks, PathBase, Roots,
//!     RunFiles, SaveOptions, opened_run, parse_ops, prepared, system_random,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let state_dir = folder.path().join("state");
//! # let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
//! let engine = Engine::new(
//!     EngineConfig {
//!         kernels: KernelsConfig {
//!             state_dir: state_dir.clone(),
//!             home: None,
//!             interpreter: Some(python),
//!             parent_env: ParentEnv::from_os(std::env::vars_os()),
//!             program: None,
//!             env_rules: EnvRules { mode: EnvMode::Filtered, pass: Vec::new() },
//!             start_timeout: Duration::from_secs(30),
//!             shell: Shell::Lite,
//!             prelude: Prelude::Off,
//!             preload: Vec::new(),
//!             project_modules: ProjectModules::Off,
//!             project: None,
//!         },
//!         policy: Policy {
//!             retry: Retry::IfNotStarted,
//!             interrupt_grace: Duration::from_secs(3),
//!             max_restarts: 1,
//!         },
//!         limits: Limits { sessions: 8, idle: IdleRule::Never, sweep: Duration::from_secs(30) },
//!         artifacts: ArtifactsConfig {
//!             state_dir: state_dir.clone(),
//!             limits: ArtifactLimits::STANDARD,
//!             random: system_random,
//!             now: SystemTime::now,
//!         },
//!         output: OutputLimits::head_and_tail(),
//!         call_bytes: 200 << 10,
//!         keep_results: Duration::from_secs(600),
//!         random: system_random,
//!     },
//!     Backends::only(Arc::new(RunnerBackend::new(RunnerConfig {
//!         state_dir: state_dir.clone(),
//!         fork_server: ForkServer::Off,
//!         spares: 0,
//!     })?)),
//! );
//! let files = RunFiles {
//!     notebooks: Notebooks::new(FilesConfig {
//!         state_dir,
//!         path_base: PathBase { cwd: folder.path().into(), home: None },
//!         roots: Roots::Only(vec![folder.path().into()]),
//!         max_bytes: 1 << 30,
//!         lock_wait: Duration::from_secs(20),
//!         random: system_random,
//!     }),
//!     outputs: SizePolicy::Whole,
//!     clock: SystemTime::now,
//!     cheap_save: CHEAP_SAVE,
//! };
//!
//! files.notebooks.create("a.ipynb", None)?;
//! let ops = parse_ops(r#"{"op": "insert", "at": "end", "source": "1 + 1"}"#, OutputsAfter::ClearIfChanged)?;
//! let options = SaveOptions::in_place();
//! files.notebooks.change("a.ipynb", &options, |notebook, base| base.apply(notebook, &ops))?;
//!
//! let request = RunRequest { path: "a.ipynb".to_owned(), ..RunRequest::default() };
//! let opened = opened_run(request, &files).await?;
//! let resolved = engine.resolve(&opened.session_ref(), opened.mode()).await?;
//! let run = prepared(opened, &resolved.chosen, &files).await?;
//! let call = engine.submit(run.on(&resolved.chosen), CallOptions::of(OwnerId(1))).await?;
//! let report = call.settled().await;
//! assert_eq!(report.state, State::Done);
//! assert_eq!(report.cells[0].output.text(), "2\n");
//!
//! let saved = files.notebooks.read("a.ipynb")?;
//! let cell = saved.notebook.cell(0).ok_or("the cell that ran")?;
//! assert_eq!(cell.outputs()[0].text().as_deref(), Some("2"));
//! engine.shutdown().await;
//! # Ok(())
//! # }
//! ```

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

pub use call::{AnswerHandle, CallEvent, CallExtras, CallHandle, RunningRun, TapEvent};
pub use edit::operations;
pub use edit::{
    Backup, Base, Cleaning, FileEffect, FilesConfig, IdEditPart, IdEditRequest, IdEditResult,
    IdEdited, IfMissing, IndexEditRequest, IndexEditResult, KernelDefaults, KernelMetadata, Mode,
    Notebooks, OpenNotebook, SaveOptions, SavedBytes, SavedChange, parse_notebook, parse_ops,
};
pub use engine::{
    Assignment, CallOptions, Engine, EngineConfig, Request, Resolution, part_of_text,
};
pub use error::{
    CellDifference, CellFate, EngineError, InspectError, MissingName, NextStep, SessionError,
};
pub use files::{FileNote, Force, PathBase, Roots, is_notebook_path};
pub use inkcell_kernel as kernel;
pub use inkcell_notebook as notebook;
pub use kernels::{
    BackendNeeds, Backends, Check, ChosenKernel, GatewayChoice, KernelsConfig, Preflight,
    ProjectKernels, ResolvedKernel,
};
pub use run::{
    CHEAP_SAVE, CellFilter, ExecutionTrace, LastRuns, OpenCell, OpenedRun, PreparedRun, RanCell,
    Records, RunClock, RunFiles, forget_runs, notebook_kernel, opened_run, outlined, prepared,
    read_with_runs,
};
pub use session::{feeds, journal, registry};
pub use store as artifact;
pub use types::{Because, Freshness, Generation, Kind, StaleReason, Version, system_random};
