//! The contract of every backend: a caller posts commands and receives events.
//!
//! No method here waits for Python, so a caller that drives a kernel cannot deadlock against a full pipe.
//! The conformance suite checks each of these rules:
//!
//! 1. After [`Kernel::execute`] succeeds, either one `Finished` for that id or one `Died` follows.
//! 2. Finished is final: output that the code wrote before its end has been delivered.
//! 3. Nothing follows `Died`; dropping the [`Kernel`] kills its process group and ends the stream.
//! 4. [`Kernel::interrupt`] while idle is harmless, and never leaks into the next execution. It also
//!    interrupts a posted cell that has not begun.
//! 5. Stream data holds the bytes as the code wrote them, in order.
//! 6. The backend itself watches that the kernel is alive. The only report of its end is `Died`.
//! 7. After [`Kernel::ask`] succeeds, either one `Answer` for that id or one `Died` follows: at once if
//!    the backend can answer, else `Busy`. A question never changes the count or the history.
//! 8. Code that may ask for input waits after `InputRequested` for an answer or an interrupt. The backend
//!    itself refuses input to all other code, and the event only reports that.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::event::{Death, ExecId, KernelEvent};
use crate::question::{AskId, Question};

/// Starts kernels of one kind.
pub trait Backend: Send + Sync {
    /// The kind of its kernels.
    fn kind(&self) -> BackendKind;

    /// Starts a kernel, which is ready to execute on return. A cancelled launch leaves nothing behind.
    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>>;

    /// Ends and reaps the processes that were started ahead of time, such as a fork server.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The three kinds of backend.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// The embedded runner, a child process that needs only Python.
    Runner,
    /// A Jupyter kernel over ZeroMQ.
    Zmq,
    /// A kernel on a Jupyter gateway or server.
    Gateway,
}

impl BackendKind {
    /// All backends, in the order in which messages list them.
    pub const ALL: [BackendKind; 3] = [BackendKind::Runner, BackendKind::Zmq, BackendKind::Gateway];

    /// The names of all backends, in the same order.
    pub const NAMES: [&'static str; 3] =
        [BackendKind::Runner.name(), BackendKind::Zmq.name(), BackendKind::Gateway.name()];

    /// The name for users: `runner`, `zmq` or `gateway`.
    pub const fn name(self) -> &'static str {
        match self {
            BackendKind::Runner => "runner",
            BackendKind::Zmq => "zmq",
            BackendKind::Gateway => "gateway",
        }
    }

    /// The backend with this name; none for any other text.
    pub fn from_name(name: &str) -> Option<BackendKind> {
        BackendKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The properties of a kernel to start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSpec {
    /// Path of the interpreter.
    pub python: PathBuf,
    /// The working folder at the start.
    pub cwd: PathBuf,
    /// The whole environment; the kernel inherits nothing else.
    pub env: BTreeMap<String, String>,
    /// The time until the kernel must be ready.
    pub start_timeout: Duration,
    /// The shell, helpers and modules of the kernel.
    pub startup: Startup,
}

/// The shell, helpers and modules of a new kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Startup {
    /// The rules that its cells follow.
    pub shell: Shell,
    /// The helpers that its namespace starts with.
    pub prelude: Prelude,
    /// Extension modules to load, by name and path, in order.
    pub modules: Vec<(String, PathBuf)>,
    /// Modules to import before the first cell, if that costs the cell no time.
    pub preload: Vec<String>,
}

/// The rules that cells follow, such as which magics exist.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shell {
    /// The runner's own rules, which need only Python.
    Lite,
    /// The interpreter's own IPython, with every magic and extension.
    IPython,
}

impl Shell {
    /// The name in settings: `lite` or `ipython`.
    pub fn name(self) -> &'static str {
        match self {
            Shell::Lite => "lite",
            Shell::IPython => "ipython",
        }
    }
}

/// The helpers that a kernel's namespace starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prelude {
    /// All helpers of the prelude.
    Full,
    /// Only helpers for the shell and for displays.
    Minimal,
    /// No helpers at all.
    Off,
}

impl Prelude {
    /// The name in settings: `full`, `minimal` or `off`.
    pub fn name(self) -> &'static str {
        match self {
            Prelude::Full => "full",
            Prelude::Minimal => "minimal",
            Prelude::Off => "off",
        }
    }
}

/// A kernel that just started: the handle that commands it and the stream of its events.
pub struct LaunchedKernel {
    /// The handle that takes commands.
    pub kernel: Box<dyn Kernel>,
    /// The events of the kernel, up to its death.
    pub events: KernelEvents,
}

/// A live interpreter that runs at most one request at a time. One session owns it.
pub trait Kernel: Send {
    /// The facts known from its start.
    fn info(&self) -> &KernelInfo;

    /// Posts code to run. At most one request is open at a time.
    fn execute(&mut self, request: CodeRequest) -> Result<(), KernelGone>;

    /// Answers the input request of an execution that may ask. Has no effect if the execution does not wait for input.
    fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Result<(), KernelGone>;

    /// Posts a question about the user's names. A kernel that runs code may answer that it is busy. A caller can
    /// interrupt a slow one as it can a cell.
    fn ask(&mut self, id: AskId, question: Question) -> Result<(), KernelGone>;

    /// Interrupts the code or question that runs.
    fn interrupt(&mut self) -> Result<(), KernelGone>;

    /// Ends a kernel that ignored interrupts. Its death has that cause.
    fn force(&mut self, force: StopSignal) -> Result<(), KernelGone>;

    /// Makes a backend whose kernels are copies of this one: each has its state, in a process of its own. The
    /// kernel must be idle, and runs nothing from then on. Most kernels cannot be copied.
    fn copies(&mut self) -> BoxFuture<'static, Result<Arc<dyn Backend>, NoCopies>> {
        let backend = self.info().backend.name();
        let reason = format!("a kernel of the backend {backend} cannot be copied");
        Box::pin(std::future::ready(Err(NoCopies { reason })))
    }

    /// Ends the kernel, politely and then by force, within about `grace` plus two seconds.
    fn shutdown(self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death>;
}

/// Why a kernel cannot be copied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NoCopies {
    /// The reason, in words for the caller that wanted a copy.
    pub reason: String,
}

/// The signal against a kernel that ignores interrupts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopSignal {
    /// One that the kernel can catch, to clean up.
    Terminate,
    /// One that the kernel cannot catch.
    Kill,
}

/// Facts about a kernel that its start reveals.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KernelInfo {
    /// The backend that started it.
    pub backend: BackendKind,
    /// Its process id, if it runs on this machine.
    pub pid: Option<u32>,
    /// The language of its cells, as the kernel calls it: `python`.
    pub language: String,
    /// The version of the language, such as `3.11.7`.
    pub version: String,
    /// Path of the interpreter.
    pub executable: String,
    /// The way it was started.
    pub origin: Origin,
}

impl KernelInfo {
    /// The language of inkcell's own kernels, in the spelling of kernelspecs.
    pub const PYTHON: &str = "python";

    /// True if its cells are Python code.
    pub fn is_python(&self) -> bool {
        self.language.eq_ignore_ascii_case(KernelInfo::PYTHON)
    }
}

/// The way a kernel was started, for its status.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is a copy of a fork server, or of another kernel.
    Forked,
    /// The backend started it ahead of time, without a fork server.
    Spare {
        /// Why the fork server did not make it.
        reason: String,
    },
    /// Another program started it, and this host joined it.
    Joined {
        /// The place where the host found it.
        reason: String,
    },
    /// The backend started it on request, without a fork server.
    Started {
        /// Why the fork server did not make it.
        reason: String,
    },
}

/// The error of a command to a kernel that has ended. Its last event gives the cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the kernel is gone")]
pub struct KernelGone;

/// A request to run code.
#[derive(Clone, PartialEq, Eq)]
pub struct CodeRequest {
    /// The id of the execution in events.
    pub exec: ExecId,
    /// The source text of the cell.
    pub code: String,
    /// Whether the code gets a number and enters the history.
    pub history: History,
    /// Managed variables to set (`Some`) or remove (`None`) before the code runs.
    pub env: Vec<(String, Option<String>)>,
    /// The folder to change to before the code runs.
    pub cwd: Option<PathBuf>,
    /// Permission to ask for lines of input.
    pub input: InputMode,
    /// Whether the caller wants the names that the code uses and makes.
    pub names: NamesWanted,
}

/// Prints only the names of variables: their values are secrets.
impl fmt::Debug for CodeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("CodeRequest")
            .field("code", &self.code)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Marks code as a cell of the user's, or as code that inkcell runs on the side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum History {
    /// The cell gets a number and enters the history.
    Store,
    /// The code gets no number and shows no result.
    Silent,
}

/// Whether a caller wants the names that code uses and makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NamesWanted {
    /// The backend does not look for names.
    #[default]
    No,
    /// The backend reports names if it can.
    Yes,
}

/// Permission of code to ask for lines of input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputMode {
    /// The backend refuses at once.
    #[default]
    Refuse,
    /// The code waits for an answer.
    Ask,
}

/// The answer to code that asked for a line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputReply {
    /// A line, without its line end.
    Line(String),
    /// The end of all input: `EOFError` in Python.
    End,
    /// A refusal: no user can type.
    Refused,
}

/// Hides the line, which may be a password.
impl fmt::Debug for InputReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InputReply::Line(_) => "Line",
            InputReply::End => "End",
            InputReply::Refused => "Refused",
        })
    }
}

/// The events of a kernel, in order.
#[derive(Debug)]
pub struct KernelEvents {
    /// An event that precedes all others.
    first: Option<KernelEvent>,
    rest: mpsc::Receiver<KernelEvent>,
}

impl KernelEvents {
    /// Makes a stream that holds at most `capacity` unread events, and its sending end.
    pub fn channel(capacity: usize) -> (mpsc::Sender<KernelEvent>, KernelEvents) {
        let (sender, receiver) = mpsc::channel(capacity);
        (sender, KernelEvents { first: None, rest: receiver })
    }

    /// Prepends an event to the stream.
    pub fn after(self, first: KernelEvent) -> KernelEvents {
        KernelEvents { first: Some(first), ..self }
    }

    /// Waits for the next event; `None` after `Died` was taken. Cancel-safe.
    pub async fn next(&mut self) -> Option<KernelEvent> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.rest.recv().await,
        }
    }
}
