//! What a host and its clients say to each other: one JSON object a line.
//!
//! Owns the shapes. The host greets; the client makes one call, may take it back or answer what its code asks, and gets
//! events until the call is done. It must not know who is at which end.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_engine::Kind;
use inkcell_engine::api::{
    CellReport, ExecutionId, PythonReport, PythonRequest, Request, Response, RunRequest, SessionRef,
};
use inkcell_engine::feeds::{FailedEdit, NotebookEdit, SessionEvent};
use inkcell_engine::kernel::{Death, ExecEvent, ExecId, InputReply, KernelEvent, Pattern};
use inkcell_engine::registry::SessionName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::ShellArg;
use crate::exit::{Exit, Failure};
use crate::exposure::ToolSet;
use crate::render::hint;
use crate::settings::Surroundings;

/// What a client says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToHost {
    /// What it wants, once.
    Call {
        /// Whose settings and environment count.
        caller: Box<Surroundings>,
        ask: Box<Ask>,
    },
    /// Instead of a call: notebooks were changed, which sessions there may be of. Nothing is answered.
    Edited(Vec<NotebookEdit>),
    /// Instead of a call: a change of a notebook failed. Nothing is answered.
    EditFailed(FailedEdit),
    /// It is not wanted any more; the second time by force.
    Cancel,
    /// What the code asked for.
    Reply(InputReply),
    /// So many more events of code were shown, and there is room for as many.
    Room(usize),
}

/// How many events of code a client has room for at first. Whoever does not show them holds the code up, as a full pipe
/// would, and hears of its end all the same.
pub(crate) const WINDOW: usize = 64;

/// What a host says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromHost {
    /// First of all.
    Hello(Hello),
    /// Something happened.
    Event(Box<HostEvent>),
    /// The last word.
    Done(Result<Box<Answer>, Refusal>),
}

/// Who answers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: String,
    pub(crate) pid: u32,
}

impl Hello {
    /// Ours.
    pub(crate) fn own() -> Hello {
        Hello { version: env!("CARGO_PKG_VERSION").to_owned(), pid: std::process::id() }
    }
}

/// What can be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    /// To run code.
    Python(PythonAsk),
    /// To run cells of a notebook.
    Run(RunAsk),
    /// To say whether the kernel of a session can be copied. It runs nothing any more from then on.
    Copies(SessionName),
    /// What needs no more than one answer.
    Engine(Request),
    /// To see what happens in a session.
    Watch { session: SessionRef, from: Option<u64> },
    /// To speak the Model Context Protocol from here on.
    Mcp(McpAsk),
    /// To see how the host is.
    Status,
    /// To end the host and everything in it.
    Shutdown,
}

/// Code to run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PythonAsk {
    pub(crate) request: PythonRequest,
    pub(crate) kernel: KernelOptions,
    /// Which argument or setting has said how long it may take.
    pub(crate) limit_from: String,
    pub(crate) attention: Attention,
    pub(crate) detached: Detached,
}

/// Cells of a notebook to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunAsk {
    pub(crate) request: RunRequest,
    pub(crate) kernel: KernelOptions,
    /// Where what is noted about the notebook goes, where that is not the state folder.
    pub(crate) state: Option<PathBuf>,
    /// What people call the notebook, where the file is a copy of ours.
    pub(crate) copy_of: Option<String>,
    pub(crate) attention: Attention,
    pub(crate) detached: Detached,
    /// The session whose kernel is copied for it, in the place of a new one.
    #[serde(default)]
    pub(crate) copied_from: Option<SessionName>,
}

/// A client that speaks the Model Context Protocol.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct McpAsk {
    pub(crate) tools: ToolSet,
}

/// How a new kernel begins, beside what the settings say.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KernelOptions {
    pub(crate) shell: Option<ShellArg>,
    pub(crate) env: Vec<Pattern>,
    /// Whether every variable reaches the code.
    pub(crate) env_all: bool,
}

/// How much somebody wants to know about the choice of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Attention {
    /// Nothing.
    Quiet,
    /// What the code misses.
    Usual,
    /// Which it is, and why.
    Verbose,
}

/// Whether somebody stays to see the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Detached {
    No,
    /// It goes on by itself, and is asked for by its id.
    Yes,
}

/// What happens meanwhile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostEvent {
    /// Something that whoever asked should know.
    Aside(String),
    /// A call has begun, with what is known of it so far.
    Began(Box<PythonReport>),
    /// Something happened in a cell of code.
    Exec { cell: usize, event: ExecEvent },
    /// The same, outside of any execution.
    Orphan { cell: usize, event: ExecEvent },
    /// The kernel has something to say.
    Notice { cell: usize, text: String },
    /// The kernel is gone.
    Died { cell: usize, death: Death },
    /// A cell of a notebook begins, or has come further.
    Cell { index: usize, report: Box<CellReport> },
    /// The last line that the running cell wrote.
    Line(String),
    /// Something happened in a session.
    Session { seq: u64, event: SessionEvent },
    /// Some of what happened there is forgotten.
    Missed(u64),
    /// From here on the connection is the client's own.
    Serving,
}

impl HostEvent {
    /// What a kernel says, for whoever made the call.
    pub(crate) fn of(cell: usize, event: KernelEvent) -> Option<HostEvent> {
        Some(match event {
            KernelEvent::Exec { event, .. } => HostEvent::Exec { cell, event },
            KernelEvent::Orphan(event) => HostEvent::Orphan { cell, event },
            KernelEvent::Notice(text) => HostEvent::Notice { cell, text },
            KernelEvent::Died(death) => HostEvent::Died { cell, death },
            KernelEvent::Answer { .. } => return None,
        })
    }

    /// The same, as the kernel has said it.
    pub(crate) fn into_kernel(self) -> Option<(usize, KernelEvent)> {
        Some(match self {
            HostEvent::Exec { cell, event } => (cell, KernelEvent::Exec { exec: ExecId(0), event }),
            HostEvent::Orphan { cell, event } => (cell, KernelEvent::Orphan(event)),
            HostEvent::Notice { cell, text } => (cell, KernelEvent::Notice(text)),
            HostEvent::Died { cell, death } => (cell, KernelEvent::Died(death)),
            _ => return None,
        })
    }
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Python(Box<PythonDone>),
    Engine(Response),
    Status(HostStatus),
    /// There is nothing to say.
    Nothing,
}

/// A call that is over, or goes on by itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PythonDone {
    pub(crate) report: PythonReport,
    pub(crate) took: Duration,
    /// The interpreter, as JSON answers show it.
    pub(crate) python: Value,
}

/// How a host is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct HostStatus {
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// For how long it is there, in seconds.
    pub(crate) age_seconds: u64,
    pub(crate) sessions: usize,
    /// How many clients it has besides this one.
    pub(crate) clients: usize,
    /// The calls that run.
    pub(crate) running: Vec<ExecutionId>,
}

/// Why something could not be had.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) exit: Exit,
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        match failure {
            Failure::Told { exit, kind, message, hint } => Refusal { exit, kind, message, hint },
            Failure::Engine(error) => {
                let (kind, hint) = (error.kind(), hint::of(&error));
                Refusal { exit: Exit::of_kind(kind), kind, message: error.to_string(), hint }
            }
            Failure::Io(what, error) => Refusal {
                exit: Exit::Internal,
                kind: Kind::Internal,
                message: format!("{what}: {error}"),
                hint: None,
            },
            Failure::Pipe | Failure::Signal(_) => Refusal {
                exit: Exit::Failed,
                kind: Kind::Cancelled,
                message: "it was taken back".to_owned(),
                hint: None,
            },
        }
    }
}

impl From<Refusal> for Failure {
    fn from(Refusal { exit, kind, message, hint }: Refusal) -> Failure {
        Failure::Told { exit, kind, message, hint }
    }
}
