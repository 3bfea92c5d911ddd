//! What a client is told to do, in the form in which it travels to the process that does it.
//!
//! Owns the vocabulary that the coordinator, our client and the peer's Python program share. Must not know who
//! takes part in which table.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) job: Job,
    /// The interpreter of every kernel, and of the peer.
    pub(super) python: PathBuf,
    /// Where kernels work, where our files for them lie, and where sockets are.
    pub(super) cwd: PathBuf,
    pub(super) state_dir: PathBuf,
    pub(super) runtime_dir: PathBuf,
    pub(super) transport: Carrier,
    /// Which of the peer's clients; ours is always the same.
    pub(super) client: Client,
    pub(super) queue: Queue,
    /// Where the peer may lose messages: how long a silence is taken for the end, of which word may be lost too.
    pub(super) silence_s: Option<u64>,
    /// The Python that is run in each sample.
    pub(super) code: String,
    /// Trips in a sample.
    pub(super) count: usize,
    /// How much the code prints.
    pub(super) bytes: usize,
    /// How many of our kernels wait, started ahead of time.
    pub(super) pool: usize,
    /// Connection files of kernels that are there.
    pub(super) connections: Vec<PathBuf>,
}

/// What a sample is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Job {
    /// A new kernel, until it has shown the value of the code.
    Start,
    /// The code, many times, in a kernel that is there.
    Trip,
    /// All that the code prints, in a kernel that is there.
    Output,
    /// What clients of many kernels hold.
    Clients,
}

/// What carries messages.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Carrier {
    Ipc,
    Tcp,
}

impl Carrier {
    pub(super) const ALL: [Carrier; 2] = [Carrier::Ipc, Carrier::Tcp];

    pub(super) fn name(self) -> &'static str {
        match self {
            Carrier::Ipc => "ipc",
            Carrier::Tcp => "tcp",
        }
    }
}

/// The two clients of `jupyter_client`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Client {
    Blocking,
    Awaiting,
}

/// How much output the peer's socket holds for it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Queue {
    /// A thousand messages, as `jupyter_client` comes; more than that may be lost in a burst.
    Usual,
    /// All that comes. What the kernel cannot send in time is lost still.
    Endless,
}
