//! The chosen interpreter, the reason, and the candidates skipped before it.
//!
//! Owns the vocabulary of the choice, and the changes that a chosen interpreter makes to an environment.
//! It must not know how candidates are found or probed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The version of a Python, such as 3.11.7.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PythonVersion {
    /// The 3 in 3.11.7.
    pub major: u32,
    /// The 11 in 3.11.7.
    pub minor: u32,
    /// The 7 in 3.11.7.
    pub micro: u32,
}

/// The oldest Python that a kernel can use.
pub const OLDEST: PythonVersion = PythonVersion { major: 3, minor: 9, micro: 0 };

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

/// Why an interpreter is a candidate, in the order of the search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
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
    /// It is in the environment that `inkcell env setup` created.
    Managed,
    /// It is in the environment that oh-my-pi created.
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

/// Why a search skipped a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SkipReason {
    /// The folder of the environment has no interpreter.
    NoInterpreter,
    /// The system could not start it.
    CannotStart {
        /// The error of the system, such as `permission denied`.
        problem: String,
    },
    /// It ended with an exit code other than zero.
    ExitCode(i32),
    /// A signal with this number ended it.
    Signal(i32),
    /// It did not end in time.
    NoAnswer {
        /// The time it had.
        within: Duration,
    },
    /// It did not answer as a Python would.
    NotAPython,
    /// It is a Python older than [`OLDEST`].
    TooOld(PythonVersion),
    /// It is a Python so old that it does not know the options of the probe.
    Ancient,
    /// An installer made its environment for inkcell alone, and `PATH` has another Python.
    OwnEnvironment,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PythonVersion { major, minor, .. } = OLDEST;
        match self {
            SkipReason::NoInterpreter => f.write_str("no interpreter in it"),
            SkipReason::CannotStart { problem } => write!(f, "could not be started: {problem}"),
            SkipReason::ExitCode(code) => write!(f, "exit code {code}"),
            SkipReason::Signal(signal) => write!(f, "killed by signal {signal}"),
            SkipReason::NoAnswer { within } => {
                write!(f, "no answer within {} s", within.as_secs_f64())
            }
            SkipReason::NotAPython => f.write_str("answered something that is not Python's"),
            SkipReason::TooOld(version) => {
                write!(f, "Python {version} is older than {major}.{minor}")
            }
            SkipReason::Ancient => write!(f, "its Python is much older than {major}.{minor}"),
            SkipReason::OwnEnvironment => {
                f.write_str("in the environment that was made for inkcell, without your packages")
            }
        }
    }
}

/// A candidate that a search skipped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedCandidate {
    /// The interpreter, or the folder that should have one.
    pub path: PathBuf,
    /// Why it was a candidate.
    pub reason: Reason,
    /// Why it was skipped.
    pub why: SkipReason,
}

impl fmt::Display for SkippedCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.why)
    }
}

/// The Python for a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Interpreter {
    /// The program to start: the interpreter behind a version manager's shim, if it could be found.
    pub path: PathBuf,
    /// The path at which the search found it: `path`, or the shim in front of it.
    pub found_at: PathBuf,
    /// The path of the file behind all links.
    pub real_path: PathBuf,
    /// The version it reported.
    pub version: PythonVersion,
    /// `sys.implementation.name`, such as `cpython` or `pypy`.
    pub implementation: String,
    /// Its `sys.prefix`, the root of the installation or virtual environment.
    pub prefix: PathBuf,
    /// The virtual environment that it belongs to.
    pub venv: Option<PathBuf>,
    /// Why it was chosen.
    pub reason: Reason,
    /// The candidates passed over for it, each with the reason.
    pub skipped: Vec<SkippedCandidate>,
    /// The folders on `PATH` of environments that were made for inkcell alone.
    pub own_folders: Vec<PathBuf>,
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (Python {}; {})", self.path.display(), self.version, self.reason)
    }
}

impl Interpreter {
    /// Whether only `PATH` led to it, and its environment was made for inkcell alone.
    pub fn is_own(&self) -> bool {
        let is_on_path = matches!(self.reason, Reason::PythonOnPath | Reason::Python3OnPath);
        is_on_path && self.own_folders.iter().any(|own| Some(&**own) == self.found_at.parent())
    }

    /// Adapts an environment: the interpreter's virtual environment becomes the active one, and no other is.
    ///
    /// Undoes the activation of another environment, as its `deactivate` would, and moves inkcell's own environment to
    /// the end of `PATH`, so that `!pip` and `import` use the same Python.
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
        let (own, rest): (Vec<_>, Vec<_>) =
            rest.partition(|entry| self.own_folders.contains(entry));
        let joined = std::env::join_paths(bin.clone().into_iter().chain(rest).chain(own));
        // `PATH` cannot hold a folder with a colon in its name; then it stays unchanged.
        if let Some(path) = joined.ok().and_then(|path| path.into_string().ok())
            && !path.is_empty()
        {
            env.insert("PATH".to_owned(), path);
        }
        if let Some(venv) = venv.and_then(Path::to_str) {
            env.insert("VIRTUAL_ENV".to_owned(), venv.to_owned());
            // It would give the environment's interpreter another library; activation unsets it too.
            env.remove("PYTHONHOME");
        }
    }
}

/// The folder of an environment's programs.
pub(super) fn bin_folder(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" })
}
