//! An interpreter that was chosen, why it was, and what was passed over.
//!
//! Owns the vocabulary of the choice and what a chosen interpreter changes in an environment. It must not
//! know how candidates are found or asked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The version of a Python.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Version {
    /// The 3 of 3.11.7.
    pub major: u32,
    /// The 11.
    pub minor: u32,
    /// The 7.
    pub micro: u32,
}

/// The oldest Python a kernel can be.
pub const OLDEST: Version = Version { major: 3, minor: 9, micro: 0 };

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

/// Why an interpreter is a candidate, in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The setting `python.interpreter` names it.
    Setting,
    /// `VIRTUAL_ENV` names its environment.
    VirtualEnv,
    /// `CONDA_PREFIX` names its environment.
    CondaPrefix,
    /// It is in `.venv` of the working folder.
    DotVenv,
    /// It is in `venv` of the working folder.
    Venv,
    /// It is in the environment `inkcell env setup` made.
    Managed,
    /// It is in the environment oh-my-pi made.
    ManagedByOmp,
    /// It is `python` on `PATH`.
    PythonOnPath,
    /// It is `python3` on `PATH`.
    Python3OnPath,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Setting => "python.interpreter is set",
            Reason::VirtualEnv => "VIRTUAL_ENV is set",
            Reason::CondaPrefix => "CONDA_PREFIX is set",
            Reason::DotVenv => "found .venv in the working directory",
            Reason::Venv => "found venv in the working directory",
            Reason::Managed => "found the managed environment",
            Reason::ManagedByOmp => "found ~/.omp/python-env",
            Reason::PythonOnPath => "found python on PATH",
            Reason::Python3OnPath => "found python3 on PATH",
        })
    }
}

/// Why a candidate was passed over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// The folder of an environment has no interpreter in it.
    NoInterpreter,
    /// The system did not start it.
    CannotStart {
        /// What the system said.
        problem: String,
    },
    /// It ended with a code that is not zero.
    ExitCode(i32),
    /// A signal ended it.
    Signal(i32),
    /// It did not end in time.
    NoAnswer {
        /// The limit.
        within: Duration,
    },
    /// It wrote something that no Python would.
    NotAPython,
    /// It is a Python, but too old.
    TooOld(Version),
    /// It is a Python so old that it does not know the options of the question.
    Ancient,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version { major, minor, .. } = OLDEST;
        match self {
            Why::NoInterpreter => f.write_str("no interpreter in it"),
            Why::CannotStart { problem } => write!(f, "could not be started: {problem}"),
            Why::ExitCode(code) => write!(f, "exit code {code}"),
            Why::Signal(signal) => write!(f, "killed by signal {signal}"),
            Why::NoAnswer { within } => write!(f, "no answer within {} s", within.as_secs_f64()),
            Why::NotAPython => f.write_str("answered something that is not Python's"),
            Why::TooOld(version) => write!(f, "Python {version} is older than {major}.{minor}"),
            Why::Ancient => write!(f, "its Python is much older than {major}.{minor}"),
        }
    }
}

/// A candidate that was passed over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The interpreter, or the folder that should have one.
    pub path: PathBuf,
    /// Why it was a candidate.
    pub reason: Reason,
    /// Why it was not taken.
    pub why: Why,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.why)
    }
}

/// The Python a kernel will be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interpreter {
    /// What to start: never a version manager's shim when the interpreter behind it could be found.
    pub path: PathBuf,
    /// Where it was found, which is `path` unless that was a shim.
    pub found_at: PathBuf,
    /// The file behind all links.
    pub real_path: PathBuf,
    /// Its version.
    pub version: Version,
    /// Such as `cpython` or `pypy`.
    pub implementation: String,
    /// Its `sys.prefix`.
    pub prefix: PathBuf,
    /// The virtual environment it belongs to.
    pub venv: Option<PathBuf>,
    /// Why it was chosen.
    pub reason: Reason,
    /// What was tried before it and why that was not taken.
    pub skipped: Vec<Skipped>,
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (Python {}; {})", self.path.display(), self.version, self.reason)
    }
}

impl Interpreter {
    /// Makes an environment fit: a virtual environment is the active one, and no other is.
    ///
    /// What another environment's activation did is undone, as its `deactivate` would, so that `!pip`
    /// and `import` speak of the same Python.
    pub fn apply_to(&self, env: &mut BTreeMap<String, String>) {
        let venv = self.venv.as_deref().filter(|venv| venv.to_str().is_some());
        let stale = env.remove("VIRTUAL_ENV").filter(|stale| !stale.is_empty());
        let stale = stale.map(|stale| bin_folder(Path::new(&stale)));
        let bin = venv.map(bin_folder);
        let old = env.get("PATH").map(String::as_str).unwrap_or_default();
        let rest = std::env::split_paths(old).filter(|entry| {
            // An empty `PATH` splits into one empty entry, which would mean the working folder.
            let of_nothing = old.is_empty();
            !of_nothing && Some(entry) != stale.as_ref() && Some(entry) != bin.as_ref()
        });
        let joined = std::env::join_paths(bin.clone().into_iter().chain(rest));
        // A folder with a colon in its name cannot be on PATH; then it stays as it was.
        if let Some(path) = joined.ok().and_then(|path| path.into_string().ok())
            && !path.is_empty()
        {
            env.insert("PATH".to_owned(), path);
        }
        if let Some(venv) = venv.and_then(Path::to_str) {
            env.insert("VIRTUAL_ENV".to_owned(), venv.to_owned());
            // It would point the environment's interpreter at another library; activation unsets it too.
            env.remove("PYTHONHOME");
        }
    }
}

/// Where an environment keeps its programs.
pub(super) fn bin_folder(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" })
}
