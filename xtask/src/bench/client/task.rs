//! The task of a client, in the form in which the coordinator sends it to the client's process.
//!
//! Owns the vocabulary that the coordinator, our client and the peers' Python programs share. Must not know which
//! contenders are in which table.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::lines;

#[derive(Clone, Serialize, Deserialize)]
pub(in crate::bench) struct Task {
    pub(in crate::bench) job: Job,
    pub(in crate::bench) backend: Backend,
    /// The interpreter of every kernel, and of the peers.
    pub(in crate::bench) python: PathBuf,
    /// Working folder of kernels; the next field is the folder for our files about them.
    pub(in crate::bench) cwd: PathBuf,
    pub(in crate::bench) state_dir: PathBuf,
    /// Python code that each sample runs.
    pub(in crate::bench) code: String,
    /// The number of trips in a sample, of kernels at once, of further kernels, or of lines of output, depending on
    /// the job.
    pub(in crate::bench) count: usize,
    /// Bytes in a line of output, its end included.
    pub(in crate::bench) width: usize,
    pub(in crate::bench) hashing: Hashing,
    /// Settings for peers only: the client to use, the size of its socket's queue, the seconds of silence that count
    /// as the end if messages may be lost, and immediate acknowledgements, which ours always sends.
    pub(in crate::bench) client: ClientKind,
    pub(in crate::bench) queue: Queue,
    pub(in crate::bench) silence_s: Option<u64>,
    pub(in crate::bench) quick: bool,
}

impl Task {
    /// Bytes of output that the code prints.
    pub(super) fn bytes(&self) -> usize {
        self.count * self.width
    }

    /// The digest of the expected output, if it is compared byte by byte.
    pub(super) fn digest(&self) -> anyhow::Result<Option<blake3::Hash>> {
        let is_hashed = self.job == Job::Output && self.hashing != Hashing::Never;
        is_hashed.then(|| lines::digest(self.count, self.width)).transpose()
    }

    /// The expected digest for the sample of this number, from 1.
    pub(super) fn digest_for(
        &self,
        sample: usize,
        digest: Option<blake3::Hash>,
    ) -> Option<blake3::Hash> {
        digest.filter(|_| self.hashing == Hashing::Always || sample == 1)
    }
}

/// The kind of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::bench) enum Job {
    /// Start a kernel and wait until it shows the value of the code.
    Start,
    /// Run a whole process from start to end.
    Process,
    /// Run the code many times in an existing kernel.
    Trip,
    /// Read all output of the code in an existing kernel.
    Output,
    /// Start many kernels at once and wait until all have shown the value.
    Many,
    /// Run code that prints a report about itself, as JSON on standard output.
    Report,
    /// Measure the memory of a client with many kernels.
    Clients,
}

/// The source of our kernels.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::bench) enum Backend {
    /// Plain processes instead of kernels: a whole command line, and one whose output must name the interpreter's
    /// folder.
    Plain {
        command: Vec<String>,
        check: Vec<String>,
    },
    Runner {
        start: Start,
        shell: Shell,
        preload: Vec<String>,
    },
    Zmq {
        transport: Carrier,
        /// Number of our kernels that wait, started in advance.
        pool: usize,
        /// Connection files of existing kernels.
        connections: Vec<PathBuf>,
        runtime_dir: PathBuf,
    },
    /// Port of the server on this machine, and the token that it requires.
    Gateway {
        port: u16,
        token: String,
        runtime_dir: PathBuf,
    },
}

impl Backend {
    pub(in crate::bench) const PYTHON: Backend =
        Backend::Plain { command: Vec::new(), check: Vec::new() };
}

/// The samples whose output is compared byte by byte instead of only counted.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::bench) enum Hashing {
    Never,
    First,
    Always,
}

/// The way in which our kernels are started.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::bench) enum Start {
    Direct,
    Forked,
}

/// The language rules of our cells: the runner's own, or IPython's.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::bench) enum Shell {
    Lite,
    IPython,
}

/// The transport of messages: sockets in a folder, or ports.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::bench) enum Carrier {
    Ipc,
    Tcp,
}

impl Carrier {
    pub(in crate::bench) const ALL: [Carrier; 2] = [Carrier::Ipc, Carrier::Tcp];

    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Carrier::Ipc => "ipc",
            Carrier::Tcp => "tcp",
        }
    }
}

/// The two clients of each peer.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::bench) enum ClientKind {
    Blocking,
    Async,
}

/// The amount of output that the peer's socket queues for it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::bench) enum Queue {
    /// A thousand messages, the default of `jupyter_client`; a burst may lose more than that.
    Usual,
    /// Every message that arrives. Messages that the kernel cannot send in time are still lost.
    Endless,
}
