//! Why a kernel did not start.
//!
//! Owns the errors of launching. A failure after the launch is an event, not an error.

pub(crate) mod gateway;

use std::io;

/// Why a kernel did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The working folder does not exist.
    #[error("Working directory does not exist: {cwd}", cwd = visible(.cwd))]
    NoCwd {
        /// The folder that the caller asked for.
        cwd: String,
    },
    /// The path of the working folder leads to something other than a folder.
    #[error("Working directory is not a directory: {cwd}", cwd = visible(.cwd))]
    CwdNotAFolder {
        /// The path that the caller asked for.
        cwd: String,
    },
    /// The system could not start the interpreter.
    #[error("{python} could not be started: {source}")]
    Spawn {
        /// Path of the interpreter.
        python: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// The kernel ended before it was ready.
    #[error("{python} ended before it was ready ({cause}){}", tail(.stderr_tail))]
    EndedEarly {
        /// Path of the interpreter.
        python: String,
        /// Exit code or signal of the kernel.
        cause: crate::event::DeathCause,
        /// The end of its output to standard error.
        stderr_tail: String,
    },
    /// The kernel could not load a part of its startup.
    #[error("{reason}")]
    Startup {
        /// The part that failed, and why, in words for the user.
        reason: String,
    },
    /// The kernel was not ready in time.
    #[error("{python} was not ready within {seconds} s{}", tail(.stderr_tail))]
    TimedOut {
        /// Path of the interpreter.
        python: String,
        /// The limit, in seconds.
        seconds: f64,
        /// The end of its output to standard error.
        stderr_tail: String,
    },
    /// The caller cancelled the launch.
    #[error("the start was cancelled")]
    Cancelled,
    /// The runner's own files could not be written to the state folder.
    #[error("cannot lay out the runner's files in the state folder, {folder}: {source}")]
    StateFolder {
        /// Path of the state folder.
        folder: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// A gateway did not fulfil a request.
    #[error(transparent)]
    Gateway(#[from] gateway::GatewayError),
    /// The machine could not provide what a kernel needs.
    #[error("cannot {what}: {source}")]
    Resources {
        /// The step that failed, as the end of a sentence that begins with "cannot".
        what: &'static str,
        /// The error of the system call.
        source: io::Error,
    },
}

impl LaunchError {
    /// Local gateways are disabled, and no other gateway is set.
    pub fn no_local_gateway() -> LaunchError {
        let reason = "Shared Python gateway required; local gateways are disabled";
        LaunchError::Startup { reason: reason.to_owned() }
    }

    /// The machine could not provide what this step needs.
    pub(crate) fn resources(what: &'static str) -> impl Fn(io::Error) -> LaunchError + Copy {
        move |source| LaunchError::Resources { what, source }
    }

    /// The interpreter lacks ipykernel.
    pub fn without_ipykernel(python: &str) -> LaunchError {
        let reason = format!(
            "ipykernel is not installed in {python}: install it with `{python} -m pip install ipykernel`; a user \
             can also create an environment with `inkcell env setup`"
        );
        LaunchError::Startup { reason }
    }
}

/// A path on one line: control characters become pictures or numbers.
fn visible(path: &str) -> String {
    let shown = |c: char| match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('?').to_string(),
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    path.chars().map(shown).collect()
}

fn tail(stderr: &str) -> String {
    let stderr = stderr.trim_end();
    if stderr.is_empty() { String::new() } else { format!("; it said:\n{stderr}") }
}
