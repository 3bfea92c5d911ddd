//! What a contender is told to do, in the form in which it travels to the process that does it.
//!
//! Owns the vocabulary that the coordinator, our hosts and the peers' Python programs share. Must not
//! know who takes part in which family.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) job: Job,
    /// The interpreter everybody uses.
    pub(super) python: PathBuf,
    /// Where kernels work, and where our runner's files are.
    pub(super) cwd: PathBuf,
    pub(super) state_dir: PathBuf,
    /// The Python that is run in each sample.
    pub(super) code: String,
    /// Trips in a sample, kernels at once, or lines of output.
    pub(super) count: usize,
    /// Bytes in a line of output, its end included.
    pub(super) width: usize,
    pub(super) hashing: Hashing,
    pub(super) start: Start,
    pub(super) shell: Shell,
    pub(super) preload: Vec<String>,
    /// A whole command line, and one whose output must name the interpreter's folder.
    pub(super) command: Vec<String>,
    pub(super) check: Vec<String>,
}

/// What a sample is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Job {
    /// A new kernel, until it has shown the value of the code.
    Start,
    /// A whole process.
    Process,
    /// The code, many times, in a kernel that is there.
    Trip,
    /// All that the code prints, in a kernel that is there.
    Output,
    /// Many new kernels at once, until all have shown the value.
    Many,
    /// What the code says about itself, as JSON on standard output.
    Report,
}

/// In which samples the output is compared byte by byte and not only counted.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Hashing {
    First,
    Always,
}

/// How our kernels are started.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Start {
    Direct,
    Forked,
}

/// Whose rules our cells follow.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Shell {
    Lite,
    IPython,
}

impl Task {
    /// What every contender of a family shares; the rest is set where it differs.
    pub(super) fn new(job: Job, python: PathBuf, cwd: PathBuf, state_dir: PathBuf) -> Task {
        Task {
            job,
            python,
            cwd,
            state_dir,
            code: String::new(),
            count: 1,
            width: 0,
            hashing: Hashing::First,
            start: Start::Direct,
            shell: Shell::Lite,
            preload: Vec::new(),
            command: Vec::new(),
            check: Vec::new(),
        }
    }
}
