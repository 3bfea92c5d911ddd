//! The contract every backend keeps: commands are posted, facts are received.
//!
//! No method here waits for Python, so nothing that drives a kernel can deadlock against a full pipe.
//! The rules, each held by the conformance suite:
//!
//! 1. After [`Kernel::execute`] succeeds, either one `Finished` for that id or one `Died` follows.
//! 2. Finished means finished: output that the code wrote before its end has been delivered.
//! 3. Nothing follows `Died`; dropping the [`Kernel`] kills its process group and ends the stream.
//! 4. [`Kernel::interrupt`] while idle is harmless, and never leaks into the next execution. A cell that was
//!    posted is interrupted even if it has not begun.
//! 5. Stream data is the bytes as written, in order.
//! 6. Liveness is the backend's duty and has one result: `Died`.
//! 7. After [`Kernel::ask`] succeeds, either one `Answer` for that id or one `Died` follows: at once where
//!    the backend can, else `Busy`. A question never changes the count or the history.
//! 8. Code that may ask for input waits after `InputRequested` until it is answered or interrupted; code that
//!    may not is refused by the backend itself, and the event only tells of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::event::{Death, ExecId, KernelEvent};
use crate::input::{InputMode, InputReply};
use crate::names::NamesWanted;
use crate::question::{AskId, Question};
use crate::startup::Startup;

/// Makes kernels.
pub trait Backend: Send + Sync {
    /// Which one it is.
    fn kind(&self) -> BackendKind;

    /// Starts a kernel; ready to execute when it returns. Cancelling leaves nothing behind.
    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Launched, LaunchError>>;

    /// Ends the processes that were started ahead of time, such as a fork server, and reaps them.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The three ways to get a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// The embedded runner.
    Runner,
    /// A Jupyter kernel over ZeroMQ.
    Zmq,
    /// A kernel on a Jupyter gateway or server.
    Gateway,
}

impl BackendKind {
    /// The name everybody gives and is shown.
    pub fn name(self) -> &'static str {
        match self {
            BackendKind::Runner => "runner",
            BackendKind::Zmq => "zmq",
            BackendKind::Gateway => "gateway",
        }
    }
}

/// What a kernel is to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSpec {
    /// The interpreter.
    pub python: PathBuf,
    /// Where it works.
    pub cwd: PathBuf,
    /// Its whole environment; nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// How long it may take to be ready.
    pub start_timeout: Duration,
    /// What it begins with.
    pub startup: Startup,
}

/// A kernel that was just started: the handle to command it and the stream of what it reports.
pub struct Launched {
    /// Commands go here.
    pub kernel: Box<dyn Kernel>,
    /// Facts come from here.
    pub events: KernelEvents,
}

/// A live interpreter that runs at most one request at a time. One session owns it.
pub trait Kernel: Send {
    /// What is known about it.
    fn info(&self) -> &KernelInfo;

    /// Posts code to run. At most one request is open at a time.
    fn execute(&mut self, request: CodeRequest) -> Result<(), Gone>;

    /// Answers the input request of an execution that may ask. One that waits for no line is not concerned.
    fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Result<(), Gone>;

    /// Posts a question about the user's names. A kernel that runs code may answer that it is busy; one that
    /// takes long to answer can be interrupted as a cell can.
    fn ask(&mut self, id: AskId, question: Question) -> Result<(), Gone>;

    /// Interrupts what is running.
    fn interrupt(&mut self) -> Result<(), Gone>;

    /// Ends the kernel because it did not listen to interrupts. Its death has that cause.
    fn force(&mut self, force: Force) -> Result<(), Gone>;

    /// What makes copies of it: kernels that have run what it has, each a process of its own. Only of an idle kernel, which
    /// runs nothing any more from then on. Most kernels have none.
    fn copies(&mut self) -> BoxFuture<'static, Result<Arc<dyn Backend>, NoCopies>> {
        let backend = self.info().backend.name();
        let reason = format!("a kernel of the backend {backend} cannot be copied");
        Box::pin(std::future::ready(Err(NoCopies { reason })))
    }

    /// Ends the kernel: politely, then by force, in at most about `grace` and two seconds.
    fn shutdown(self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death>;
}

/// Why a kernel cannot be copied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NoCopies {
    /// In words, for whoever wanted a copy.
    pub reason: String,
}

/// How hard a kernel is ended that does not listen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Force {
    /// By a signal it can catch, to clean up.
    Terminate,
    /// By one it cannot.
    Kill,
}

/// What is known about a kernel from its start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Which backend made it.
    pub backend: BackendKind,
    /// Its process, when it is on this machine.
    pub pid: Option<u32>,
    /// The language of its cells, as the kernel calls it: `python`.
    pub language: String,
    /// The version of the language, such as `3.11.7`.
    pub version: String,
    /// The interpreter.
    pub executable: String,
    /// How it came to be.
    pub origin: Origin,
}

impl KernelInfo {
    /// The language of inkcell's own kernels, as it is written in kernelspecs.
    pub const PYTHON: &str = "python";

    /// Whether its cells are in Python.
    pub fn is_python(&self) -> bool {
        self.language.eq_ignore_ascii_case(KernelInfo::PYTHON)
    }
}

/// How a kernel came to be, as its status shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is a copy of a fork server.
    Forked,
    /// It was started ahead of time and waited, because of this.
    Spare {
        /// Why it is no copy of a fork server.
        reason: String,
    },
    /// Somebody else has started it.
    Joined {
        /// Where it was found.
        reason: String,
    },
    /// It was started when it was asked for, because of this.
    Started {
        /// Why it is no copy of a fork server.
        reason: String,
    },
}

/// The kernel is gone; its last event says why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the kernel is gone")]
pub struct Gone;

/// Code to run.
#[derive(Clone, PartialEq, Eq)]
pub struct CodeRequest {
    /// Its name in events.
    pub exec: ExecId,
    /// The code.
    pub code: String,
    /// Whether it counts and is remembered.
    pub history: History,
    /// Managed variables to set (`Some`) or remove (`None`) first.
    pub env: Vec<(String, Option<String>)>,
    /// Where to go first.
    pub cwd: Option<PathBuf>,
    /// Whether it may ask for lines of input.
    pub input: InputMode,
    /// Whether its names are wanted.
    pub names: NamesWanted,
}

/// Of variables only the names: their values are secrets.
impl std::fmt::Debug for CodeRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("CodeRequest")
            .field("code", &self.code)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Whether an execution is a cell of the user's or something done on the side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum History {
    /// It has a number and is remembered.
    Store,
    /// It has none and shows no result.
    Silent,
}

/// The stream of what a kernel reports.
#[derive(Debug)]
pub struct KernelEvents {
    /// An event that comes before all others.
    first: Option<KernelEvent>,
    rest: mpsc::Receiver<KernelEvent>,
}

impl KernelEvents {
    /// A bounded stream and the end that feeds it.
    pub fn channel(capacity: usize) -> (mpsc::Sender<KernelEvent>, KernelEvents) {
        let (sender, receiver) = mpsc::channel(capacity);
        (sender, KernelEvents { first: None, rest: receiver })
    }

    /// The same stream, with this event first.
    pub fn after(self, first: KernelEvent) -> KernelEvents {
        KernelEvents { first: Some(first), ..self }
    }

    /// The next event; none after `Died` was taken. Cancel-safe.
    pub async fn next(&mut self) -> Option<KernelEvent> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.rest.recv().await,
        }
    }
}
