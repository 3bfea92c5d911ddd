//! The messages between a host and its clients: one JSON object a line.
//!
//! Owns the shapes. The host greets; the client makes one call, may cancel it or answer what its code asks, and
//! gets events until the call is done. It must not know who is at which end.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_engine::Kind;
use inkcell_engine::api::{
    CellReport, ExecutionId, InspectReport, InspectRequest, KernelReport, KernelRequest,
    PythonReport, PythonRequest, ResultReport, ResultRequest, RunRequest, SessionRef,
};
use inkcell_engine::feeds::{FailedEdit, NotebookEdit, SessionEvent};
use inkcell_engine::kernel::{Death, EnvPattern, ExecEvent, InputReply, KernelEvent};
use inkcell_engine::registry::SessionName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::{KernelArgs, ShellArg};
use crate::exit::{Exit, Failure};
use crate::mcp::exposure::ToolSet;
use crate::settings::Surroundings;
use crate::view::fold::CallNews;
use crate::words;
use crate::words::step::Audience;

/// A message of a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToHost {
    /// The call, sent once.
    Call {
        /// The caller, whose settings and environment count.
        caller: Box<Surroundings>,
        ask: Box<Ask>,
    },
    /// Instead of a call: notebooks were changed, and this host may have sessions of them. It gets no answer.
    Edited(Vec<NotebookEdit>),
    /// Instead of a call: a change of a notebook failed. It gets no answer.
    EditFailed(FailedEdit),
    /// Cancels the call; the second time by force.
    Cancel,
    /// The input that the code asked for.
    Reply(InputReply),
    /// This many more events of code were shown, and there is room for as many new ones.
    Room(usize),
}

/// How many events of code a client has room for at first. A client that does not show them holds the code up, as a
/// full pipe would, and still learns of its end.
pub(crate) const WINDOW: usize = 64;

/// A message of a host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromHost {
    Hello(Hello),
    Event(Box<HostEvent>),
    Done(Result<Box<Answer>, Refusal>),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: String,
    pub(crate) pid: u32,
}

impl Hello {
    pub(crate) fn own() -> Hello {
        Hello { version: env!("CARGO_PKG_VERSION").to_owned(), pid: std::process::id() }
    }
}

/// The requests that a client can make.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    Python(PythonAsk),
    /// Run cells of a notebook.
    Run(Box<RunAsk>),
    /// Report whether the kernel of a session can be copied. The session runs nothing more from then on.
    Copies(SessionName),
    /// Inspect the names of a session.
    Inspect(InspectRequest),
    /// List or change sessions.
    Kernel(KernelRequest),
    /// Return an existing result.
    Result(ResultRequest),
    /// Follow the events of a session.
    Watch {
        session: SessionRef,
        from: Option<u64>,
        /// End after the events that are remembered.
        #[serde(default)]
        only_past: bool,
    },
    /// Speak the Model Context Protocol from here on.
    Mcp(McpAsk),
    /// Report the state of the host.
    Status,
    /// End the host and everything in it.
    Shutdown,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PythonAsk {
    pub(crate) request: PythonRequest,
    pub(crate) kernel: KernelOptions,
    /// The argument or setting that set the time limit.
    pub(crate) limit_from: String,
    pub(crate) attention: Attention,
    pub(crate) detached: Detachment,
}

/// Cells of a notebook to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunAsk {
    pub(crate) request: RunRequest,
    pub(crate) kernel: KernelOptions,
    /// The folder for records about the notebook, if it is not the state folder.
    pub(crate) state: Option<PathBuf>,
    /// The user's name for the notebook, if the file is a copy of ours.
    pub(crate) copy_of: Option<String>,
    pub(crate) attention: Attention,
    pub(crate) detached: Detachment,
    /// The session whose kernel is copied for it, instead of a new kernel.
    #[serde(default)]
    pub(crate) copied_from: Option<SessionName>,
    /// Set if the caller shows the outputs as they come.
    #[serde(default)]
    pub(crate) shows_outputs: bool,
}

/// A client that speaks the Model Context Protocol.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct McpAsk {
    pub(crate) tools: ToolSet,
}

/// How a new kernel begins, besides the settings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KernelOptions {
    pub(crate) shell: Option<ShellArg>,
    pub(crate) env: Vec<EnvPattern>,
    /// Set if every environment variable reaches the code.
    pub(crate) env_all: bool,
}

impl From<&KernelArgs> for KernelOptions {
    fn from(args: &KernelArgs) -> KernelOptions {
        KernelOptions { shell: args.shell, env: args.env.clone(), env_all: args.env_all }
    }
}

/// How much the caller wants to know about the choice of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Attention {
    Quiet,
    /// Only what the code lacks.
    Usual,
    /// The kernel, and the reason for the choice.
    Verbose,
}

/// Whether the caller stays until the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Detachment {
    No,
    /// The call goes on by itself, and its id gives access to it.
    Yes,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostEvent {
    /// A remark for the caller.
    Aside(String),
    /// A call has begun, with the report so far.
    Began(Box<PythonReport>),
    /// An event in a cell of code.
    Exec { cell: usize, event: ExecEvent },
    /// An event of a cell, outside of any execution.
    Orphan { cell: usize, event: ExecEvent },
    /// A notice of the kernel.
    Notice { cell: usize, text: String },
    /// The kernel has died.
    Died { cell: usize, death: Death },
    /// Cells of a notebook, by their indices, that have changed since the last such message. They come together,
    /// because the end of one can decide about the next.
    Cells(Vec<(usize, CellReport)>),
    /// The last line that the running cell wrote.
    Line(String),
    /// An event of a session.
    Session { seq: u64, event: SessionEvent },
    /// The number of events of a session that were dropped.
    Missed(u64),
    /// From here on the connection is the client's own.
    Serving,
}

impl HostEvent {
    /// An event of a kernel, for the client that made the call.
    pub(crate) fn of(cell: usize, event: KernelEvent) -> Option<HostEvent> {
        Some(match event {
            KernelEvent::Exec { event, .. } => HostEvent::Exec { cell, event },
            KernelEvent::Orphan(event) => HostEvent::Orphan { cell, event },
            KernelEvent::Notice(text) => HostEvent::Notice { cell, text },
            KernelEvent::Died(death) => HostEvent::Died { cell, death },
            KernelEvent::Answer { .. } => return None,
        })
    }

    /// What this message says about the state of its call.
    pub(crate) fn news(&self) -> Option<CallNews<'_>> {
        Some(match self {
            HostEvent::Began(report) => CallNews::Report(report),
            HostEvent::Exec { cell, event } | HostEvent::Orphan { cell, event } => {
                CallNews::Event(*cell, event)
            }
            HostEvent::Cells(changed) => CallNews::Cells(changed),
            HostEvent::Line(line) => CallNews::Line(line),
            HostEvent::Notice { text, .. } => CallNews::Notice(text),
            _ => return None,
        })
    }

    /// Returns true for events that count against the host's limit of unshown events.
    pub(crate) fn takes_room(&self) -> bool {
        matches!(
            self,
            HostEvent::Exec { .. }
                | HostEvent::Orphan { .. }
                | HostEvent::Notice { .. }
                | HostEvent::Died { .. }
        )
    }
}

/// The result of a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Python(Box<PythonDone>),
    Inspect(InspectReport),
    /// The sessions after the request.
    Kernel(KernelReport),
    Result(ResultReport),
    Status(HostStatus),
    /// The request has no result to report.
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

/// The state of a host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct HostStatus {
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// The age of the host, in seconds.
    pub(crate) age_seconds: u64,
    pub(crate) sessions: usize,
    /// The number of connected clients besides this one.
    pub(crate) clients: usize,
    /// The calls under way.
    pub(crate) running: Vec<ExecutionId>,
}

/// The reason why a request was refused.
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
                let (kind, hint) = (error.kind(), Audience::Person.step_after(&error));
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
                message: words::host::WITHDRAWN.to_owned(),
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
