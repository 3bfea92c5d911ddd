//! The managed environment: a Python of inkcell's own in the state folder, for machines whose Pythons lack
//! what a kernel needs or may not be written to.
//!
//! Owns what a setup is asked, what it reports and the order of its steps. The parts: `place` (where it is
//! and when it counts), `ways` (which programs make it), `tools` (how they are run), `error`. It must not
//! know who is told about the progress or how.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::interpreter::Version;

mod error;
mod place;
mod tools;
mod ways;

pub use error::SetupError;
use place::{Lock, Place};
use tools::Tools;
use ways::Base;

/// What the managed environment is to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnvSetup {
    /// The state folder it is in, as `python-env`.
    pub state: PathBuf,
    /// The interpreter it is made from, by its absolute path.
    pub base: PathBuf,
    /// What is to be installed, as pip takes it; files by their absolute path.
    pub packages: Vec<String>,
    /// What is to become of one that is there.
    pub existing: Existing,
    /// The whole environment of the programs that make it; `uv` is looked for on its `PATH`.
    pub env: BTreeMap<String, String>,
    /// How long each of those programs may take, and how long another setup is waited for.
    pub step_timeout: Duration,
}

/// What is to become of an environment that is there and works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// It stays, and gets the packages it lacks.
    Keep,
    /// Another one takes its place, once that is complete.
    Replace,
}

/// The managed environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManagedEnv {
    /// Its interpreter, by the name that stays when the environment is replaced.
    pub python: PathBuf,
    /// The version of its Python.
    pub version: Version,
    /// What was done.
    pub done: SetupDone,
}

/// What a setup did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetupDone {
    /// There is a new environment.
    Made,
    /// Packages were added to the one that was there.
    Extended,
    /// Nothing was to be done.
    Nothing,
}

/// What happens during a setup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupEvent {
    /// A step begins.
    Began(SetupStep),
    /// A line that a program wrote.
    Line(String),
    /// The step succeeded.
    Done(SetupStep),
    /// It did not; another way may follow.
    Failed(SetupStep),
}

/// A part of a setup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupStep {
    /// Another setup is running.
    Wait,
    /// Something is looked at; never reported as an event.
    Look,
    /// The environment is made.
    Create {
        /// By which means.
        tool: SetupTool,
    },
    /// It gets pip.
    Pip {
        /// By which means.
        tool: SetupTool,
    },
    /// It gets packages.
    Install {
        /// By which means.
        tool: SetupTool,
        /// Which ones.
        packages: Vec<String>,
    },
}

/// What a step is done with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetupTool {
    /// The program of that name.
    Uv,
    /// Python's own module.
    Venv,
    /// The same where `ensurepip` is missing.
    VenvWithoutPip,
    /// Python's own copy of pip.
    Ensurepip,
    /// Pip.
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
            SetupStep::Look => f.write_str("looking at what is there"),
            SetupStep::Create { tool } => write!(f, "making the environment with {tool}"),
            SetupStep::Pip { tool } => write!(f, "getting pip with {tool}"),
            SetupStep::Install { tool, packages } => {
                write!(f, "installing {} with {tool}", packages.join(", "))
            }
        }
    }
}

/// Makes the managed environment, or adds to the one that is there.
///
/// It becomes the managed one in one moment, when it is complete; a setup that fails, is cancelled or
/// dropped leaves what was there before, and no process. Of two at once the second waits for the first.
pub async fn set_up_environment(
    setup: &EnvSetup,
    cancel: &CancellationToken,
    report: &mut (dyn FnMut(SetupEvent) + Send),
) -> Result<ManagedEnv, SetupError> {
    // What begins with a dash would be an option of the installer.
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

fn managed(place: &Place, version: Version, done: SetupDone) -> ManagedEnv {
    ManagedEnv { python: ways::python_in(&place.link()), version, done }
}

/// Adds what an environment lacks. It is named by its own folder, as when it was made.
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
) -> Result<Version, SetupError> {
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
    // The one that was replaced is gone from its name; what cannot be removed now is swept the next time.
    let _swept_later = place.sweep(lock);
    Ok(version)
}
