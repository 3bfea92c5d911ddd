//! The managed environment: inkcell's own Python environment in the state folder, for machines whose
//! Pythons lack the packages of a kernel or are read-only.
//!
//! Owns the input of a setup, its reports and the order of its steps. The parts: `place` (the folders,
//! and when an environment counts), `ways` (the programs that make it), `tools` (running them), `error`.
//! It must not know who receives the reports, or how.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::interpreter::PythonVersion;

mod error;
mod place;
mod tools;
mod ways;

pub use error::SetupError;
use place::{Lock, Place};
use tools::Tools;
use ways::Base;

/// The input of a setup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnvSetup {
    /// The state folder; the environment is `python-env` in it.
    pub state: PathBuf,
    /// The absolute path of the interpreter to make it from.
    pub base: PathBuf,
    /// The packages to install, as pip takes them; files by absolute path.
    pub packages: Vec<String>,
    /// Whether to keep or replace an environment that exists.
    pub existing: Existing,
    /// The whole environment of the programs that create it; `uv` is searched on its `PATH`.
    pub env: BTreeMap<String, String>,
    /// The time limit for each of those programs, and for the wait for another setup.
    pub step_timeout: Duration,
}

/// The treatment of an environment that exists and works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// Keep it, and add missing packages.
    Keep,
    /// Replace it once the new one is complete.
    Replace,
}

/// The managed environment after a setup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManagedEnv {
    /// Path of its interpreter, through the link that stays when the environment is replaced.
    pub python: PathBuf,
    /// The version of its Python.
    pub version: PythonVersion,
    /// The change that the setup made.
    pub done: SetupDone,
}

/// The change that a setup made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetupDone {
    /// It created a new environment.
    Made,
    /// It added packages to the existing environment.
    Extended,
    /// It found the environment complete and changed nothing.
    Nothing,
}

/// A report about the progress of a setup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupEvent {
    /// The step begins now.
    Began(SetupStep),
    /// A program wrote this line.
    Line(String),
    /// The step ended with success.
    Done(SetupStep),
    /// The step failed; another way may follow.
    Failed(SetupStep),
}

/// One step of a setup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupStep {
    /// Waiting for another setup.
    Wait,
    /// Inspecting what exists; never reported as an event.
    Look,
    /// Creating the virtual environment.
    Create {
        /// The means of this attempt.
        tool: SetupTool,
    },
    /// Putting pip into the environment.
    Pip {
        /// The means of this attempt.
        tool: SetupTool,
    },
    /// Installing packages into the environment.
    Install {
        /// The means of this attempt.
        tool: SetupTool,
        /// The packages, as pip takes them.
        packages: Vec<String>,
    },
}

/// The means of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetupTool {
    /// The program `uv` on `PATH`.
    Uv,
    /// Python's own module `venv`.
    Venv,
    /// The module `venv` without pip, where `ensurepip` is missing.
    VenvWithoutPip,
    /// Python's bundled copy of pip, through `ensurepip`.
    Ensurepip,
    /// Pip of the environment or of the base interpreter.
    Pip,
}

impl fmt::Display for SetupTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetupTool::Uv => "uv",
            SetupTool::Venv => "python -m venv",
            SetupTool::VenvWithoutPip => "python -m venv --without-pip",
            SetupTool::Ensurepip => "ensurepip",
            SetupTool::Pip => "pip",
        })
    }
}

impl fmt::Display for SetupStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupStep::Wait => f.write_str("waiting for another setup"),
            SetupStep::Look => f.write_str("checking what is installed"),
            SetupStep::Create { tool } => write!(f, "making the environment with {tool}"),
            SetupStep::Pip { tool } => write!(f, "getting pip with {tool}"),
            SetupStep::Install { tool, packages } => {
                write!(f, "installing {} with {tool}", packages.join(", "))
            }
        }
    }
}

/// Creates the managed environment, or adds packages to the existing one.
///
/// A new environment becomes the managed one in one step, when it is complete. A setup that fails, is
/// cancelled or dropped changes nothing and leaves no process. A second setup waits for the first.
pub async fn set_up_environment(
    setup: &EnvSetup,
    cancel: &CancellationToken,
    report: &mut (dyn FnMut(SetupEvent) + Send),
) -> Result<ManagedEnv, SetupError> {
    // The installer would read a text that begins with a dash as an option.
    let is_none = |package: &&String| package.trim().is_empty() || package.starts_with('-');
    if let Some(package) = setup.packages.iter().find(is_none) {
        return Err(SetupError::Package { package: package.clone() });
    }
    let place = Place::new(&setup.state)?;
    let mut tools = Tools::new(place.state(), &setup.env, setup.step_timeout, cancel, report)
        .map_err(|source| SetupError::State {
            what: "start programs in",
            path: setup.state.clone(),
            source,
        })?;
    let lock = place.lock(&mut tools).await?;
    place.sweep(&lock)?;
    let scratch = place.scratch(&lock)?;
    tools.keep_temporary_files_in(scratch.folder());
    if setup.existing == Existing::Keep
        && let Some(folder) = place.current()
        && let Ok(probed) = tools.probe(&ways::python_in(&folder)).await?
    {
        let done = complete(&mut tools, setup, &folder).await?;
        return Ok(managed(&place, probed.version, done));
    }
    let version = make(&mut tools, setup, &place, &lock).await?;
    Ok(managed(&place, version, SetupDone::Made))
}

fn managed(place: &Place, version: PythonVersion, done: SetupDone) -> ManagedEnv {
    ManagedEnv { python: ways::python_in(&place.link()), version, done }
}

/// Adds missing packages. The tools get the environment's real folder, as when it was created.
async fn complete(
    tools: &mut Tools<'_>,
    setup: &EnvSetup,
    folder: &Path,
) -> Result<SetupDone, SetupError> {
    if ways::has_all(tools, &ways::python_in(folder), &setup.packages).await? {
        return Ok(SetupDone::Nothing);
    }
    ways::install(tools, &setup.base, folder, &setup.packages).await?;
    Ok(SetupDone::Extended)
}

async fn make(
    tools: &mut Tools<'_>,
    setup: &EnvSetup,
    place: &Place,
    lock: &Lock,
) -> Result<PythonVersion, SetupError> {
    let python = setup.base.clone();
    let version = match tools.probe(&python).await? {
        Ok(probed) => probed.version,
        Err(why) => return Err(SetupError::Base { python, why }),
    };
    let base = Base { python, version };
    let made = place.fresh(lock);
    ways::create(tools, &base, &made).await?;
    ways::install(tools, &base.python, made.folder(), &setup.packages).await?;
    let probed = tools.probe(&ways::python_in(made.folder())).await?;
    let version = probed.map_err(|why| SetupError::Broken { why })?.version;
    place.finish(made)?;
    // The link has left the replaced environment; the next setup removes what cannot be removed now.
    let _swept_later = place.sweep(lock);
    Ok(version)
}
