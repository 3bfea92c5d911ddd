//! Actions of the gremlin as data: the plan makes them, the log stores them and reads them back.
//!
//! Must not know how an action is executed, nor what a run has seen: an action refers to results of a run by
//! position.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Action {
    /// Start a server with these tools in a folder of its own.
    Start {
        tools: String,
    },
    /// Call a tool without waiting for the answer.
    Call {
        tool: String,
        arguments: Value,
        progress: Progress,
    },
    /// Send any other request.
    Ask {
        method: String,
        params: Value,
    },
    /// Call `result` for the latest id in a reply, or for a made-up id.
    Fetch {
        what: FetchTarget,
        arguments: Value,
    },
    /// Cancel the request this far before the last.
    Cancel {
        back: usize,
    },
    /// Send bytes that may not be a message, one for each character, with a line end.
    Raw {
        bytes: String,
    },
    /// Send a signal to one of the processes that the server started.
    Signal {
        nth: usize,
        signal: Blow,
    },
    /// Damage or replace a notebook file.
    File {
        name: String,
        fault: FileFault,
    },
    Wait {
        millis: u64,
    },
    /// Wait for all answers and check everything.
    Settle,
    /// End the server in this way.
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
pub(crate) enum FetchTarget {
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
    /// Cut the file in the middle, in place.
    Cut,
    Garbage,
    /// Rename another valid notebook over it, as another program saves.
    Replace,
    ReadOnly,
    /// Put a folder at that path.
    Folder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// Close standard input between two messages.
    Leave,
    /// Close standard input after half a line.
    HalfLine,
    /// Close both pipes at once.
    Vanish,
    Terminate,
    Kill,
}
