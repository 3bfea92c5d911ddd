//! A Python interpreter as a stream of events.
//!
//! One contract ([`Backend`], [`Kernel`], [`KernelEvents`]) and the ways to fulfil it. This crate knows
//! processes and protocols; it must not know notebooks, sessions or the user's files.

mod cwd;
mod encoding;
mod environ;
mod error;
mod event;
mod gateway;
mod input;
mod jupyter;
mod kernel;
mod ladder;
mod modules;
mod names;
mod process;
mod python;
mod question;
mod runner;
mod startup;
mod trace;
mod turn;
mod widgets;
mod zmq;

pub use cwd::check_cwd;
pub use environ::{
    ChildEnv, EnvMode, EnvRules, MANAGED, ParentEnv, Pattern, PatternError, child_environment,
    withheld_hint, withheld_hint_for,
};
pub use error::LaunchError;
pub use event::{
    Death, DeathCause, DisplayId, ExecEvent, ExecId, Fate, KernelEvent, MimeBundle, MimeData,
    Outcome, PyError, Stray, StreamName,
};
pub use gateway::{
    Collaboration, ContentsError, ContentsPath, GatewayBackend, GatewayConfig, GatewayError,
    GatewayUrl, LeftBehind, LocalConfig, LocalGatewayBackend, Named, Open, Overwrite, Place,
    PlainHttp, Refused, RemoteKernel, RemoteKernels, ServerContents, ServerNotebook, SharedConfig,
    SharedGateway, SharedStatus, Sharing, Token, TokenFileError, TokenSent, UrlError, Whose,
    kernel_environment, left_behind, user_of,
};
pub use input::{InputMode, InputReply};
pub use jupyter::kernelspec::{
    InterruptMode, Kernelspec, KernelspecError, KernelspecSearch, Kernelspecs, PrefixKind,
    PythonPrefix,
};
pub use kernel::{
    Backend, BackendKind, CodeRequest, Force, Gone, History, Kernel, KernelEvents, KernelInfo,
    KernelSpec, Launched, NoCopies, Origin,
};
pub use ladder::{Ladder, Rung};
pub use modules::{ModuleError, ModuleSearch, ProjectModules, find_modules};
pub use names::{BodyNames, CodeNames, FileRead, Name, NamesWanted};
pub use process::{reap_ended, return_large_blocks, spawn_detached};
pub use python::{
    Candidate, Candidates, DEFAULT_PROBE_TIMEOUT, EnvSetup, Existing, FindError, Finder,
    Interpreter, ManagedEnv, OLDEST, Probed, Reason, Search, SetupDone, SetupError, SetupEvent,
    SetupStep, SetupTool, Sighted, Skipped, Unasked, Version, Why, Workspace, candidates, probe,
    set_up_environment,
};
pub use question::{Answer, AskId, Question};
pub use runner::{ForkServer, RunnerBackend, RunnerConfig, ZygoteState};
pub use startup::{Prelude, Shell, Startup};
pub use trace::{Direction, Message, MessageId, Messages, Trace};
pub use widgets::WidgetStates;
pub use zmq::{Program, Transport, ZmqBackend, ZmqConfig};
