//! What a kernel says: the events of an execution, how it ended, and how a kernel dies.
//!
//! Owns the vocabulary every backend speaks. It must not know sessions, notebooks or how an event is
//! shown.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::names::CodeNames;
use crate::question::{Answer, AskId};
use crate::widgets::WidgetStates;

/// Names one execution of one piece of code in one kernel. The engine makes these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExecId(pub u64);

/// Names a display that may be updated later, as Jupyter's `display_id`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct DisplayId(pub Arc<str>);

/// What a kernel reports, in order.
#[derive(Clone, PartialEq, Debug)]
pub enum KernelEvent {
    /// Something about an execution.
    Exec {
        /// Which one.
        exec: ExecId,
        /// What.
        event: ExecEvent,
    },
    /// Output that belongs to no running execution: a thread that went on, a child that was left.
    Orphan(ExecEvent),
    /// The answer to a question: exactly once for each, unless the kernel dies.
    Answer {
        /// To which one.
        id: AskId,
        /// What it is.
        answer: Answer,
    },
    /// Something odd that the kernel survives.
    Notice(String),
    /// The kernel is gone. Always the last event, exactly once.
    Died(Death),
}

/// What happens while code runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecEvent {
    /// The kernel has begun; from here on the code may have had effects.
    Started {
        /// The number of the cell, when it has one.
        count: Option<u32>,
    },
    /// Bytes written to a stream, as written: decoding is the reader's work.
    Stream {
        /// Which stream.
        name: StreamName,
        /// The bytes.
        #[serde(with = "crate::encoding::bytes")]
        data: Bytes,
    },
    /// Something was displayed.
    Display {
        /// By which it can be updated.
        id: Option<DisplayId>,
        /// Its forms.
        data: MimeBundle,
    },
    /// A display that was shown earlier is different now.
    UpdateDisplay {
        /// Which.
        id: DisplayId,
        /// Its new forms.
        data: MimeBundle,
    },
    /// The value of the last expression.
    Result {
        /// The number of the cell.
        count: u32,
        /// The id by which it can be updated; most results have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<DisplayId>,
        /// Its forms.
        data: MimeBundle,
    },
    /// Outputs so far are to be removed.
    ClearOutput {
        /// When the next one comes.
        wait: bool,
    },
    /// The code wanted a line of input.
    InputRequested {
        /// What it asked.
        prompt: String,
        /// Whether it was to be hidden.
        password: bool,
    },
    /// All widgets of the kernel: at most once, right before the end, if one has changed since the last time.
    Widgets(Box<WidgetStates>),
    /// What the code uses and makes: at most once, right before the end, where that was wanted and is known.
    Names(Box<CodeNames>),
    /// The end: exactly once for each execution, unless the kernel dies.
    Finished(Outcome),
}

/// The two streams.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl StreamName {
    /// The name Jupyter uses.
    pub fn as_str(self) -> &'static str {
        match self {
            StreamName::Stdout => "stdout",
            StreamName::Stderr => "stderr",
        }
    }
}

/// One form of an output.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MimeData {
    /// Text, as UTF-8.
    Text(String),
    /// Bytes of a binary kind such as `image/png`; base64 is made where a file or a protocol wants it.
    Binary(#[serde(with = "crate::encoding::base64")] Bytes),
    /// A JSON value, as the text the kernel sent.
    Json(String),
}

impl MimeData {
    /// How many bytes it has.
    pub fn len_bytes(&self) -> usize {
        match self {
            MimeData::Text(text) | MimeData::Json(text) => text.len(),
            MimeData::Binary(bytes) => bytes.len(),
        }
    }
}

/// The forms of an output, in the order the kernel gave them, with their metadata as JSON text.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MimeBundle {
    /// MIME type and content.
    pub data: Vec<(String, MimeData)>,
    /// A JSON object; empty means `{}`.
    pub metadata: String,
}

impl MimeBundle {
    /// The form of this type.
    pub fn get(&self, mime: &str) -> Option<&MimeData> {
        self.data.iter().find(|(name, _)| name == mime).map(|(_, data)| data)
    }
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Without an exception.
    Ok,
    /// With an exception that nobody caught.
    Error(PyError),
    /// It was never begun, because something before it failed.
    Aborted,
}

/// An exception as the kernel describes it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PyError {
    /// The class.
    pub name: String,
    /// The message.
    pub value: String,
    /// Lines for the file, coloured as the kernel colours them.
    pub traceback: Vec<String>,
    /// The same for a reader, without colours; empty where the kernel gives only one form.
    pub plain: Vec<String>,
}

/// The end of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Death {
    /// Why.
    pub cause: DeathCause,
    /// The last of what its process wrote to standard error outside of any execution.
    pub stderr_tail: String,
    /// Processes it started that left its group: those that had to be ended, and those that could not.
    pub strays: Vec<Stray>,
}

impl Death {
    /// An end of which nothing is known.
    pub fn unknown() -> Death {
        Death { cause: DeathCause::Unknown, stderr_tail: String::new(), strays: Vec::new() }
    }
}

/// A process that a cell started and that left the kernel's group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stray {
    /// Its process id.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
    /// What has become of it.
    pub fate: Fate,
}

/// What has become of a stray process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was ended with the kernel.
    Ended,
    /// It is still there.
    Alive,
}

/// Why a kernel is gone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeathCause {
    /// It was asked to end.
    Shutdown,
    /// It ended by itself.
    Exit {
        /// The exit code.
        code: i32,
    },
    /// A signal ended it.
    Signal {
        /// Which.
        signal: i32,
    },
    /// The system ended it because memory ran out.
    OutOfMemory,
    /// It did not listen to an interrupt and was killed.
    IgnoredInterrupt,
    /// It is not ours: it lives on without us.
    LeftAlone,
    /// It sent something that is not of the protocol.
    Protocol {
        /// What.
        problem: String,
    },
    /// It was on a gateway, which tells no more than this.
    Remote {
        /// What follows "the kernel" in a sentence.
        problem: String,
    },
    /// It cannot be told.
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
