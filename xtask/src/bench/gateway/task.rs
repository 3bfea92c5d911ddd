//! What a client is told to do, in the form in which it travels to the process that does it.
//!
//! Owns the vocabulary that the coordinator, our client and the peers' Python program share. Must not know who
//! takes part in which table.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) job: Job,
    /// Where the server listens on this machine, and what opens it.
    pub(super) port: u16,
    pub(super) token: String,
    /// Which of the peers; ours is always the same.
    pub(super) client: Client,
    /// Whether the peer has acknowledgements go at once; ours always does.
    pub(super) quick: bool,
    /// The Python that is run in each sample.
    pub(super) code: String,
    /// Trips in a sample, or further kernels.
    pub(super) count: usize,
    /// How much the code prints.
    pub(super) bytes: usize,
    /// What our client is told besides: an interpreter, where kernels work, and where its files are.
    pub(super) python: PathBuf,
    pub(super) cwd: PathBuf,
    pub(super) state_dir: PathBuf,
    pub(super) runtime_dir: PathBuf,
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

/// The clients of Python.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Client {
    /// websocket-client, which waits by itself.
    Waiting,
    /// tornado, which is awaited.
    Awaiting,
}
