//! Events of a kernel: of an execution, its end, and the death of the kernel.
//!
//! Owns the vocabulary that every backend speaks. It must not know sessions, notebooks or how a
//! surface renders an event.

pub mod encoding;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::question::{Answer, AskId};

/// Identifies one execution of one piece of code in one kernel. The engine makes these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExecId(pub u64);

/// Identifies a display that the code may update later, as Jupyter's `display_id`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct DisplayId(pub Arc<str>);

/// A report of a kernel. Reports arrive in the order of what happened.
#[derive(Clone, PartialEq, Debug)]
pub enum KernelEvent {
    /// An event of one execution.
    Exec {
        /// The execution, as the caller named it.
        exec: ExecId,
        /// The event of that execution.
        event: ExecEvent,
    },
    /// Output of no running execution: from a thread that went on, or a child that the code left behind.
    Orphan(ExecEvent),
    /// The answer to a question: exactly one for each question, unless the kernel dies.
    Answer {
        /// The question, as the caller named it.
        id: AskId,
        /// The answer, or why the kernel gave none.
        answer: Answer,
    },
    /// A text about something odd that the kernel survives.
    Notice(String),
    /// The kernel has ended. Always the last event, exactly once.
    Died(Death),
}

/// Events while code runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecEvent {
    /// The kernel has begun; from here on the code may have effects.
    Started {
        /// The number of the cell, if it has one.
        count: Option<u32>,
    },
    /// Bytes that the code wrote to a stream. The reader decodes them.
    Stream {
        /// Standard output or standard error.
        name: StreamName,
        /// The bytes exactly as the code wrote them, perhaps cut within a character.
        #[serde(with = "encoding::bytes")]
        data: Bytes,
    },
    /// The code displayed an object.
    Display {
        /// The name under which the code can update the display.
        id: Option<DisplayId>,
        /// The same content once per MIME type.
        data: MimeBundle,
    },
    /// The code replaced the content of an earlier display.
    UpdateDisplay {
        /// The display to replace.
        id: DisplayId,
        /// The new content, once per MIME type.
        data: MimeBundle,
    },
    /// The value of the last expression of a cell.
    Result {
        /// The number of the cell, as in `Out[3]`.
        count: u32,
        /// The name under which the code can update the result; most results have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<DisplayId>,
        /// The value, once per MIME type.
        data: MimeBundle,
    },
    /// The code asked to remove the outputs so far.
    ClearOutput {
        /// Whether to remove them only when the next output arrives.
        wait: bool,
    },
    /// The code asked for a line of input.
    InputRequested {
        /// The text that the code shows before the input.
        prompt: String,
        /// Whether the code asked to hide the input.
        password: bool,
    },
    /// All widgets of the kernel: at most once, right before the end, if one has changed since the last time.
    Widgets(Box<WidgetStates>),
    /// The names that the code uses and makes: at most once, right before the end, if the caller wanted them and the
    /// kernel knows them.
    Names(Box<CodeNames>),
    /// The end: exactly once for each execution, unless the kernel dies.
    Finished(Outcome),
}

/// The two output streams of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// Descriptor 1, standard output.
    Stdout,
    /// Descriptor 2, standard error.
    Stderr,
}

impl StreamName {
    /// The name that Jupyter uses: `stdout` or `stderr`.
    pub fn as_str(self) -> &'static str {
        match self {
            StreamName::Stdout => "stdout",
            StreamName::Stderr => "stderr",
        }
    }
}

/// The content of an output in one MIME type.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MimeData {
    /// Text as valid UTF-8.
    Text(String),
    /// Bytes of a binary kind such as `image/png`; the writer of a file or a protocol encodes them as base64.
    Binary(#[serde(with = "encoding::base64")] Bytes),
    /// A JSON value, as the text the kernel sent.
    Json(String),
}

impl MimeData {
    /// The length of the content in bytes, before any base64.
    pub fn len_bytes(&self) -> usize {
        match self {
            MimeData::Text(text) | MimeData::Json(text) => text.len(),
            MimeData::Binary(bytes) => bytes.len(),
        }
    }
}

/// An output once per MIME type, in the kernel's order, with metadata as JSON text.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MimeBundle {
    /// Pairs of MIME type and content.
    pub data: Vec<(String, MimeData)>,
    /// A JSON object; empty means `{}`.
    pub metadata: String,
}

impl MimeBundle {
    /// The content of one MIME type, such as `text/plain`.
    pub fn get(&self, mime: &str) -> Option<&MimeData> {
        self.data.iter().find(|(name, _)| name == mime).map(|(_, data)| data)
    }
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The code ended without an exception.
    Ok,
    /// The code raised an exception and did not catch it.
    Error(PyError),
    /// The code never began, because something before it failed.
    Aborted,
}

/// An exception as the kernel describes it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PyError {
    /// The name of the class, such as `ValueError`.
    pub name: String,
    /// The text of the exception.
    pub value: String,
    /// Lines for the file, coloured as the kernel colours them.
    pub traceback: Vec<String>,
    /// The same lines without colours, for a reader; empty where the kernel gives only one form.
    pub plain: Vec<String>,
}

/// The end of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Death {
    /// How the process ended, as far as known.
    pub cause: DeathCause,
    /// The end of what its process wrote to standard error outside of any execution.
    pub stderr_tail: String,
    /// Processes that it started and that left its group. The host has tried to end each of them.
    pub strays: Vec<Stray>,
}

impl Death {
    /// A death with no known cause.
    pub fn unknown() -> Death {
        Death { cause: DeathCause::Unknown, stderr_tail: String::new(), strays: Vec::new() }
    }
}

/// A process that a cell started and that left the kernel's group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stray {
    /// The process id on this machine.
    pub pid: u32,
    /// The name of its program, as `ps` prints it; empty if the system no longer tells.
    pub program: String,
    /// Whether it ended with the kernel.
    pub fate: StrayFate,
}

/// The fate of a stray process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StrayFate {
    /// The host ended it with the kernel.
    Ended,
    /// It still runs, although the host tried to end it.
    Alive,
}

/// Why a kernel ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeathCause {
    /// The host asked it to end.
    Shutdown,
    /// The process exited by itself.
    Exit {
        /// The exit code, as the system reports it.
        code: i32,
    },
    /// A signal ended the process.
    Signal {
        /// The number of the signal, such as 9 for SIGKILL.
        signal: i32,
    },
    /// The system ended it because memory ran out.
    OutOfMemory,
    /// The kernel ignored an interrupt, and the host killed it.
    IgnoredInterrupt,
    /// Another program owns the kernel; it lives on without this host.
    LeftAlone,
    /// The kernel broke the protocol.
    Protocol {
        /// The fault, as a phrase such as `a payload of 5000000000 bytes`.
        problem: String,
    },
    /// The kernel ran on a gateway, which tells no more than this.
    Remote {
        /// A phrase that follows "the kernel" in a sentence.
        problem: String,
    },
    /// The host could not find out.
    Unknown,
}

impl fmt::Display for DeathCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeathCause::Shutdown => f.write_str("was shut down"),
            DeathCause::Exit { code } => write!(f, "exited with code {code}"),
            DeathCause::Signal { signal } => write!(f, "killed by signal {signal}"),
            DeathCause::OutOfMemory => f.write_str("killed because memory ran out"),
            DeathCause::IgnoredInterrupt => f.write_str("killed because it ignored the interrupt"),
            DeathCause::LeftAlone => f.write_str("is not inkcell's to end, and was left alone"),
            DeathCause::Protocol { problem } => write!(f, "ended after a broken frame: {problem}"),
            DeathCause::Remote { problem } => f.write_str(problem),
            DeathCause::Unknown => f.write_str("ended for an unknown reason"),
        }
    }
}

/// A name in code. Most are short and need no allocation: the record of a long notebook has thousands of them.
pub type Name = compact_str::CompactString;

/// The names that one execution uses and makes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CodeNames {
    /// Names whose values come from before the execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Name>,
    /// Names that it bound, deleted or changed in place. A name that it changed is also in `uses`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makes: Vec<Name>,
    /// Names in `uses` that it may not need from before: it binds them itself on some path, or only the bodies of its
    /// functions use them, and those may not have been called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Name>,
    /// Names in `uses` that it deletes and does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deletes: Vec<Name>,
    /// Names in `uses` that it needs on every path and that the kernel does not hold. Only code that has not run has
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Name>,
    /// The names in the bodies of its functions. They count for any code that uses the function.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub later: BTreeMap<Name, BodyNames>,
    /// The files it is known to have read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRead>,
}

/// The names of the body of a function or class.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BodyNames {
    /// Names that the body takes from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Name>,
    /// Outside names that the body binds or changes. A name that it binds without needing an earlier value is not in
    /// `uses`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makes: Vec<Name>,
}

/// A file that code read: its path, its size in bytes, and its last change in nanoseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileRead(pub String, pub u64, pub i64);

/// All widgets of a kernel, by id. Each value is the JSON object of the widget in a notebook.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WidgetStates(pub BTreeMap<String, Arc<str>>);
