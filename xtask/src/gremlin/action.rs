//! What the gremlin can do, as data: made by the plan, written to the log, read back from it.
//!
//! Must not know how anything is done, nor what a run has seen: what only a run can know is named by its place.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Action {
    /// A server with these tools is started in a folder of its own.
    Start {
        tools: String,
    },
    /// A tool is called; the answer is not waited for.
    Call {
        tool: String,
        arguments: Value,
        progress: Progress,
    },
    /// Any other request.
    Ask {
        method: String,
        params: Value,
    },
    /// `result` of what a reply named last, or of an id that was made up.
    Fetch {
        what: Fetched,
        arguments: Value,
    },
    /// The request so many before the last is taken back.
    Cancel {
        back: usize,
    },
    /// Bytes that may be no message, each a character, with a line end.
    Raw {
        bytes: String,
    },
    /// A signal for one of the processes that the server started.
    Signal {
        nth: usize,
        signal: Blow,
    },
    /// Something happens to a notebook.
    File {
        name: String,
        fault: FileFault,
    },
    Wait {
        millis: u64,
    },
    /// Everything is waited for and everything is looked at.
    Settle,
    /// The server comes to its end.
    End {
        how: Ending,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Progress {
    Wanted,
    Unwanted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fetched {
    Execution,
    Artifact,
    Resource,
    MadeUp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Blow {
    Kill,
    Stop,
    Interrupt,
    Terminate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileFault {
    Delete,
    /// Cut in the middle, in place.
    Cut,
    Garbage,
    /// Another sound notebook, by rename, as another program would save it.
    Replace,
    ReadOnly,
    /// A folder of that name.
    Folder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// Standard input is closed.
    Leave,
    /// After half a line.
    HalfLine,
    /// Both pipes are closed at once.
    Vanish,
    Terminate,
    Kill,
}
