//! Why a kernel could not be had.
//!
//! Owns the errors of launching. What goes wrong afterwards is an event, not an error.

use std::io;

/// Why a kernel did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The working folder is not there.
    #[error("Working directory does not exist: {cwd}")]
    NoCwd {
        /// The folder.
        cwd: String,
    },
    /// The working folder is something else.
    #[error("Working directory is not a directory: {cwd}")]
    CwdNotAFolder {
        /// The folder.
        cwd: String,
    },
    /// The interpreter could not be started.
    #[error("{python} could not be started: {source}")]
    Spawn {
        /// The interpreter.
        python: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended before it was ready.
    #[error("{python} ended before it was ready ({cause}){}", tail(.stderr_tail))]
    EndedEarly {
        /// The interpreter.
        python: String,
        /// How.
        cause: crate::event::DeathCause,
        /// The last it wrote to standard error.
        stderr_tail: String,
    },
    /// Something it should begin with could not be loaded.
    #[error("{reason}")]
    Startup {
        /// What and why, as the runner said it.
        reason: String,
    },
    /// It was not ready in time.
    #[error("{python} was not ready within {seconds} s{}", tail(.stderr_tail))]
    TimedOut {
        /// The interpreter.
        python: String,
        /// The limit.
        seconds: f64,
        /// The last it wrote to standard error.
        stderr_tail: String,
    },
    /// The caller gave up.
    #[error("the start was cancelled")]
    Cancelled,
    /// The runner's own files cannot be where state is kept.
    #[error("cannot lay out the runner's files in the state folder, {folder}: {source}")]
    StateFolder {
        /// The folder.
        folder: String,
        /// What the system said.
        source: io::Error,
    },
    /// A gateway did not do what it was asked.
    #[error(transparent)]
    Gateway(#[from] crate::gateway::GatewayError),
    /// The machine could not provide what a kernel needs.
    #[error("cannot {what}: {source}")]
    Resources {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl LaunchError {
    /// Gateways on this machine are disabled, and no other one is set.
    pub fn no_local_gateway() -> LaunchError {
        let reason = "Shared Python gateway required; local gateways are disabled";
        LaunchError::Startup { reason: reason.to_owned() }
    }

    /// The interpreter has no ipykernel.
    pub fn without_ipykernel(python: &str) -> LaunchError {
        let reason = format!(
            "ipykernel is not installed in {python}: install it there with `{python} -m pip install ipykernel`, or \
             make an environment that has it with `inkcell env setup`"
        );
        LaunchError::Startup { reason }
    }
}

fn tail(stderr: &str) -> String {
    let stderr = stderr.trim_end();
    if stderr.is_empty() { String::new() } else { format!("; it said:\n{stderr}") }
}
