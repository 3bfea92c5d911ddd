//! Why the managed environment could not be made, and what to do about it.
//!
//! Owns the errors of a setup and their next steps.

use std::io;
use std::path::PathBuf;

use super::SetupStep;
use crate::python::interpreter::{OLDEST, Version, Why};

/// Why there is no managed environment. What was there before is still there.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Something that is no package was asked for.
    #[error("{package:?} is not the name of a package")]
    Package {
        /// As it was asked for.
        package: String,
    },
    /// The interpreter to start from does not work.
    #[error("{} cannot be the base of an environment: {why}", .python.display())]
    Base {
        /// The interpreter.
        python: PathBuf,
        /// What is wrong with it.
        why: Why,
    },
    /// Nothing here can make a virtual environment.
    #[error("{} cannot make a virtual environment{}", .python.display(), last_words(.said))]
    NoVenv {
        /// The interpreter to start from.
        python: PathBuf,
        /// Its version.
        version: Version,
        /// The last that was said.
        said: String,
    },
    /// There is no way to get pip into the environment.
    #[error("{} has no way to put pip into an environment{}", .python.display(), last_words(.said))]
    NoPip {
        /// The interpreter to start from.
        python: PathBuf,
        /// Its version.
        version: Version,
        /// The last that was said.
        said: String,
    },
    /// The packages could not be installed.
    #[error("{} could not be installed{}", .packages.join(", "), last_words(.said))]
    Install {
        /// Those asked for.
        packages: Vec<String>,
        /// The last that was said.
        said: String,
    },
    /// Everything was done and the result does not work.
    #[error("the new environment does not work: {why}")]
    Broken {
        /// What is wrong with its interpreter.
        why: Why,
    },
    /// A step took too long.
    #[error("{step} did not end within {seconds} s{}", last_words(.said))]
    TimedOut {
        /// Which one.
        step: SetupStep,
        /// The limit.
        seconds: u64,
        /// The last that was said.
        said: String,
    },
    /// Another setup is at it.
    #[error("another setup was still running after {seconds} s")]
    Busy {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The caller gave up.
    #[error("the setup was cancelled")]
    Cancelled,
    /// The machine could not provide what a setup needs.
    #[error("cannot {what} {}: {source}", .path.display())]
    State {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SetupError {
    /// What a person can do.
    pub fn next_step(&self) -> Option<String> {
        const AGAIN: &str = "and run `inkcell env setup` again";
        let Version { major, minor, .. } = OLDEST;
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
                    "Install the package `{package}` (Debian, Ubuntu: `sudo apt install {package}`; \
                     `python3-venv` is the one of the system's own Python), or uv, {AGAIN}."
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
