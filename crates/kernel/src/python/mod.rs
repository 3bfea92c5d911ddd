//! Finds the Python for a kernel: the candidates in order, the answer of each, and the choice with its reason.
//!
//! Only a request for a kernel runs this code. Reading and editing notebooks never do, and an inspection runs no
//! program of the workspace.

mod cache;
mod candidate;
mod files;
mod find;
mod interpreter;
mod managed;
mod modules;
mod own;
pub(crate) mod package;
mod probe;
mod shim;
#[cfg(test)]
mod tests;
mod workspace;

pub use candidate::{Candidates, PythonCandidate, Search, candidates};
pub use files::{UnrunPython, environment_version};
pub use find::{FindError, Finder, FoundInterpreter};
pub use interpreter::{Interpreter, OLDEST, PythonVersion, Reason, SkipReason, SkippedCandidate};
pub use managed::{
    EnvSetup, Existing, ManagedEnv, SetupDone, SetupError, SetupEvent, SetupStep, SetupTool,
    set_up_environment,
};
pub use modules::{ModuleError, ModuleSearch, ProjectModules, find_modules};
pub use probe::{DEFAULT_PROBE_TIMEOUT, PythonFacts, probe};
pub use workspace::Workspace;
