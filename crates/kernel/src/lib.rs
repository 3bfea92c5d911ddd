//! A Python interpreter as a stream of events.
//!
//! One contract ([`Backend`], [`Kernel`], [`KernelEvents`]) and three implementations: [`RunnerBackend`] starts kernels
//! that need only Python, [`ZmqBackend`] starts any Jupyter kernel of this machine, and [`GatewayBackend`] starts
//! kernels on a Jupyter server. This crate knows processes and protocols; it must not know notebooks, sessions or the
//! user's files.
//!
//! Two cargo features, both on by default, add the kernels that speak Jupyter's protocol: `zmq` adds [`ZmqBackend`],
//! and `gateway` adds [`GatewayBackend`] with the files of a server. Without them, the crate needs no cryptography and
//! no HTTP.
//!
//! A backend launches a kernel from a [`KernelSpec`]. The kernel takes one [`CodeRequest`] at a time and reports
//! events:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::time::Duration;
//!
//! use inkcell_kernel::{
//!     Backend as _, CodeRequest, ExecEvent, ExecId, ForkServer, History, InputMode, KernelEvent, KernelSpec,
//!     NamesWanted, Prelude, RunnerBackend, RunnerConfig, Shell, Startup,
//! };
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! # let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
//! let backend = RunnerBackend::new(RunnerConfig {
//!     // The runner's own Python files go here.
//!     state_dir: folder.path().join("state"),
//!     fork_server: ForkServer::Off,
//!     spares: 0,
//! })?;
//! let spec = KernelSpec {
//!     // An interpreter that exists; `Finder` chooses one.
//!     python: python.into(),
//!     cwd: folder.path().into(),
//!     // A kernel gets these variables and no others; see `child_environment`.
//!     env: BTreeMap::new(),
//!     start_timeout: Duration::from_secs(30),
//!     startup: Startup {
//!         shell: Shell::Lite,
//!         prelude: Prelude::Off,
//!         modules: Vec::new(),
//!         preload: Vec::new(),
//!     },
//! };
//! let mut launched = backend.launch(&spec, &CancellationToken::new()).await?;
//! launched.kernel.execute(CodeRequest {
//!     exec: ExecId(1),
//!     code: "print('hello')".to_owned(),
//!     history: History::Store,
//!     env: Vec::new(),
//!     cwd: None,
//!     input: InputMode::Refuse,
//!     names: NamesWanted::No,
//! })?;
//! let mut output = Vec::new();
//! while let Some(event) = launched.events.next().await {
//!     match event {
//!         // Output comes as bytes, cut anywhere.
//!         KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. } => output.extend_from_slice(&data),
//!         KernelEvent::Exec { event: ExecEvent::Finished(_), .. } | KernelEvent::Died(_) => break,
//!         _ => {}
//!     }
//! }
//! assert_eq!(output, b"hello\n");
//! launched.kernel.shutdown(Duration::from_secs(1)).await;
//! # Ok(())
//! # }
//! ```
#![cfg_attr(
    not(all(feature = "gateway", feature = "zmq")),
    allow(dead_code, reason = "one transport alone does not use all that both share")
)]

mod environ;
mod error;
mod event;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(any(feature = "gateway", feature = "zmq"))]
mod jupyter;
mod kernel;
mod kernelspec;
mod ladder;
mod lenient;
mod new_file;
mod private_folder;
mod process;
mod python;
mod question;
mod runner;
mod trace;
mod turn;
mod utc;
mod widgets;
#[cfg(feature = "zmq")]
mod zmq;

pub use environ::{
    ChildEnv, EnvMode, EnvPattern, EnvRules, MANAGED, ParentEnv, PatternError, child_environment,
    missed_variable,
};
pub use error::LaunchError;
pub use error::gateway::{GatewayError, GatewayName, RefusalCause, TokenSent, Whose};
pub use event::encoding;
pub use event::{
    BodyNames, CodeNames, Death, DeathCause, DisplayId, ExecEvent, ExecId, FileRead, KernelEvent,
    MimeBundle, MimeData, Name, Outcome, PyError, Stray, StrayFate, StreamName, WidgetStates,
};
#[cfg(feature = "gateway")]
pub use gateway::{
    Collaboration, ContentsError, ContentsPath, GatewayBackend, GatewayConfig, GatewayLocation,
    GatewayUrl, LeftBehind, LocalConfig, LocalGatewayBackend, Open, Overwrite, PlainHttp,
    RemoteKernel, RemoteKernels, ServerContents, ServerNotebook, SharedConfig, SharedGateway,
    SharedStatus, Sharing, Token, TokenFileError, UrlError, kernel_environment, left_behind,
    user_of,
};
pub use kernel::{
    Backend, BackendKind, CodeRequest, History, InputMode, InputReply, Kernel, KernelEvents,
    KernelGone, KernelInfo, KernelSpec, LaunchedKernel, NamesWanted, NoCopies, Origin, Prelude,
    Shell, Startup, StopSignal,
};
pub use kernelspec::{
    InterruptMode, Kernelspec, KernelspecError, KernelspecSearch, Kernelspecs, PrefixKind,
    PythonPrefix,
};
pub use ladder::{Ladder, Rung};
pub use new_file::{NewFile, replace_file};
pub use private_folder::{make_new_private_folder, make_private_folder, make_private_folder_in};
pub use process::{
    check_cwd, reap_ended, return_free_memory, return_large_blocks, spawn_detached, watch,
};
pub use python::{
    Candidates, DEFAULT_PROBE_TIMEOUT, EnvSetup, Existing, FindError, Finder, FoundInterpreter,
    Interpreter, ManagedEnv, ModuleError, ModuleSearch, OLDEST, ProjectModules, PythonCandidate,
    PythonFacts, PythonVersion, Reason, Search, SetupDone, SetupError, SetupEvent, SetupStep,
    SetupTool, SkipReason, SkippedCandidate, UnrunPython, Workspace, candidates,
    environment_version, find_modules, probe, set_up_environment,
};
pub use question::{Answer, AskId, Question};
pub use runner::{ForkServer, RunnerBackend, RunnerConfig};
pub use trace::{Direction, KernelTrace, Message, MessageId, Messages, ZygoteState};
pub use utc::utc_text;
#[cfg(feature = "zmq")]
pub use zmq::{Program, Transport, ZmqBackend, ZmqConfig};
