//! Errors of the setup of the managed environment, with advice for the user.
//!
//! Owns the errors and the next step after each.

use std::io;
use std::path::PathBuf;

use super::SetupStep;
use crate::python::interpreter::{OLDEST, PythonVersion, SkipReason};

/// Why a setup failed. An earlier environment is still in place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The caller asked for a package with an impossible name.
    #[error("{package:?} is not a package name")]
    Package {
        /// The text as the caller wrote it.
        package: String,
    },
    /// The base interpreter does not work.
    #[error("{} cannot be the base of an environment: {why}", .python.display())]
    Base {
        /// Path of the base interpreter.
        python: PathBuf,
        /// The problem that its probe found.
        why: SkipReason,
    },
    /// No tool could create a virtual environment.
    #[error("{} cannot make a virtual environment{}", .python.display(), last_words(.said))]
    NoVenv {
        /// Path of the base interpreter.
        python: PathBuf,
        /// The version of the base interpreter.
        version: PythonVersion,
        /// The last lines of the tool.
        said: String,
    },
    /// No tool could put pip into the environment.
    #[error("{} cannot install pip into an environment{}", .python.display(), last_words(.said))]
    NoPip {
        /// Path of the base interpreter.
        python: PathBuf,
        /// The version of the base interpreter.
        version: PythonVersion,
        /// The last lines of the tool.
        said: String,
    },
    /// The installer did not succeed.
    #[error("{} could not be installed{}", .packages.join(", "), last_words(.said))]
    Install {
        /// The packages that the caller asked for.
        packages: Vec<String>,
        /// The last lines of the installer.
        said: String,
    },
    /// Every step succeeded, but the new environment does not work.
    #[error("the new environment does not work: {why}")]
    Broken {
        /// The problem that the probe of its interpreter found.
        why: SkipReason,
    },
    /// A step exceeded its time limit.
    #[error("{step} did not end within {seconds} s{}", last_words(.said))]
    TimedOut {
        /// The step, displayed as in "installing numpy with pip".
        step: SetupStep,
        /// The time limit, in seconds.
        seconds: u64,
        /// The last lines of the tool.
        said: String,
    },
    /// Another setup was still running at the end of the wait.
    #[error("another setup was still running after {seconds} s")]
    Busy {
        /// The length of the wait, in seconds.
        seconds: u64,
    },
    /// The caller cancelled the setup.
    #[error("the setup was cancelled")]
    Cancelled,
    /// The machine could not provide a resource.
    #[error("cannot {what} {}: {source}", .path.display())]
    State {
        /// The action that failed, as the words after "cannot".
        what: &'static str,
        /// The file or folder of the action.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl SetupError {
    /// Advice for the user; `None` after a cancelled setup.
    pub fn next_step(&self) -> Option<String> {
        const AGAIN: &str = "and run `inkcell env setup` again";
        let PythonVersion { major, minor, .. } = OLDEST;
        Some(match self {
            SetupError::Package { .. } => {
                "Name packages as pip takes them, such as `numpy` or `numpy>=2`; files by their \
                 absolute path."
                    .to_owned()
            }
            SetupError::Base { .. } => format!(
                "Install Python {major}.{minor} or newer, or name one with `python.interpreter`, \
                 {AGAIN}."
            ),
            SetupError::NoVenv { version, .. } | SetupError::NoPip { version, .. } => {
                let package = format!("python{}.{}-venv", version.major, version.minor);
                format!(
                    "Install the package `{package}` (Debian, Ubuntu: `sudo apt install {package}`, or \
                     `python3-venv` for the system's own Python), or uv, {AGAIN}."
                )
            }
            SetupError::Install { .. } => format!(
                "Check the names and that the package index can be reached (`PIP_INDEX_URL` and \
                 `UV_DEFAULT_INDEX` name another one), {AGAIN}."
            ),
            SetupError::Broken { .. } => {
                format!("Name another Python with `python.interpreter`, {AGAIN}.")
            }
            SetupError::TimedOut { .. } => {
                format!("Check that the package index can be reached, {AGAIN}.")
            }
            SetupError::Busy { .. } => format!("Wait until it has ended, {AGAIN}."),
            SetupError::State { .. } => {
                format!("Make room or set the permissions of the state folder right, {AGAIN}.")
            }
            SetupError::Cancelled => return None,
        })
    }
}

fn last_words(said: &str) -> String {
    let said = said.trim_end();
    if said.is_empty() { String::new() } else { format!("; it said:\n{said}") }
}
