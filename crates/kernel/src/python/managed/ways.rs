//! The ways to create and fill an environment: uv if it exists, else Python's own modules.
//!
//! Owns the programs to call and their arguments. If one way fails, the next is tried: the `uv` on
//! `PATH` may be a version manager's stub, or may not know the index that pip is configured for.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::error::SetupError;
use super::place::UnfinishedEnv;
use super::tools::{StepFailure, Tools};
use super::{SetupStep, SetupTool};
use crate::environ::ParentEnv;
use crate::python::candidate::{Search, on_path};
use crate::python::interpreter::{PythonVersion, bin_folder};

/// Succeeds if every distribution named in the arguments is installed.
const ALL_INSTALLED: &str = "import sys\nfrom importlib.metadata import distribution\n\
                             for name in sys.argv[1:]:\n    distribution(name)\n";

/// The folder for a wheel of pip while an environment gets it.
const WHEELS: &str = "inkcell-wheels";

/// The interpreter from which environments are created.
pub(super) struct Base {
    pub(super) python: PathBuf,
    pub(super) version: PythonVersion,
}

/// The first `uv` on the tools' `PATH`.
fn uv(tools: &Tools<'_>) -> Option<PathBuf> {
    let env = ParentEnv::from(tools.env().clone());
    on_path("uv", &Search { env, ..Search::default() }).into_iter().next()
}

/// Path of the interpreter of an environment.
pub(super) fn python_in(folder: &Path) -> PathBuf {
    bin_folder(folder).join("python")
}

/// Creates a virtual environment, with or without pip.
pub(super) async fn create(
    tools: &mut Tools<'_>,
    base: &Base,
    made: &UnfinishedEnv,
) -> Result<(), SetupError> {
    let folder = made.folder();
    if let Some(uv) = uv(tools) {
        let step = SetupStep::Create { tool: SetupTool::Uv };
        let args = ["venv", "--quiet", "--no-project", "--python"].map(OsStr::new);
        let args = args.into_iter().chain([base.python.as_os_str(), folder.as_os_str()]);
        if went_well(tools.step(step, &uv, args).await)?.is_ok() {
            return Ok(());
        }
        made.clear()?;
    }
    // Isolated, so that no `venv.py` from another folder runs in place of the real module.
    let step = SetupStep::Create { tool: SetupTool::Venv };
    let args = ["-I", "-m", "venv"].map(OsStr::new).into_iter().chain([folder.as_os_str()]);
    let Err(said) = went_well(tools.step(step, &base.python, args).await)? else { return Ok(()) };
    made.clear()?;
    // Debian has `ensurepip` in a package of its own; the rest works without it.
    let step = SetupStep::Create { tool: SetupTool::VenvWithoutPip };
    let args = ["-I", "-m", "venv", "--without-pip"].map(OsStr::new);
    let args = args.into_iter().chain([folder.as_os_str()]);
    match went_well(tools.step(step, &base.python, args).await)? {
        Ok(()) => Ok(()),
        // The output of the plain way is closer to the cause.
        Err(_) => {
            let Base { python, version } = base;
            Err(SetupError::NoVenv { python: python.clone(), version: *version, said })
        }
    }
}

/// Checks that all these packages are installed. False for anything but plain names, which an installer must judge.
pub(super) async fn has_all(
    tools: &mut Tools<'_>,
    python: &Path,
    packages: &[String],
) -> Result<bool, SetupError> {
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !packages.iter().all(|package| package.chars().all(is_name_char)) {
        return Ok(false);
    }
    let args = ["-I", "-c", ALL_INSTALLED].into_iter().chain(packages.iter().map(String::as_str));
    Ok(went_well(tools.succeeds(python, args).await)?.is_ok())
}

/// Installs pip and these packages into an environment. `%pip` in a cell needs pip, so it is always included.
pub(super) async fn install(
    tools: &mut Tools<'_>,
    base: &Path,
    folder: &Path,
    packages: &[String],
) -> Result<(), SetupError> {
    let python = python_in(folder);
    if let Some(uv) = uv(tools) {
        let packages = std::iter::once("pip").chain(packages.iter().map(String::as_str));
        let packages: Vec<OsString> = packages.map(OsString::from).collect();
        let named = packages.iter().map(|package| package.to_string_lossy().into_owned());
        let step = SetupStep::Install { tool: SetupTool::Uv, packages: named.collect() };
        let args = ["pip", "install", "--python"].map(OsString::from).into_iter();
        let args = args.chain([python.clone().into_os_string()]).chain(packages);
        if went_well(tools.step(step, &uv, args).await)?.is_ok() {
            return Ok(());
        }
    }
    if went_well(tools.succeeds(&python, ["-I", "-c", "import pip"]).await)?.is_err() {
        bring_pip(tools, base, folder).await?;
    }
    if packages.is_empty() {
        return Ok(());
    }
    let step = SetupStep::Install { tool: SetupTool::Pip, packages: packages.to_vec() };
    let args = ["-I", "-m", "pip", "install", "--progress-bar", "off"].into_iter();
    let args = args.chain(packages.iter().map(String::as_str));
    went_well(tools.step(step, &python, args).await)?
        .map_err(|said| SetupError::Install { packages: packages.to_vec(), said })
}

/// Puts pip into an environment that lacks it: from Python's bundled copy, else by the base interpreter's pip,
/// which fetches a wheel of pip that the environment's interpreter can run directly. `pip --python` would do
/// this in one step, but many systems without `ensurepip` have a pip too old for it.
async fn bring_pip(tools: &mut Tools<'_>, base: &Path, folder: &Path) -> Result<(), SetupError> {
    let python = python_in(folder);
    let step = SetupStep::Pip { tool: SetupTool::Ensurepip };
    if went_well(tools.step(step, &python, ["-I", "-m", "ensurepip"]).await)?.is_ok() {
        return Ok(());
    }
    let wheels = folder.join(WHEELS);
    let brought = fetch_pip(tools, base, &python, &wheels).await;
    let _not_there = fs::remove_dir_all(&wheels);
    let Err(said) = brought? else { return Ok(()) };
    match tools.probe(base).await? {
        Ok(probed) => {
            Err(SetupError::NoPip { python: base.to_owned(), version: probed.version, said })
        }
        Err(why) => Err(SetupError::Base { python: base.to_owned(), why }),
    }
}

async fn fetch_pip(
    tools: &mut Tools<'_>,
    base: &Path,
    python: &Path,
    wheels: &Path,
) -> Result<Result<(), String>, SetupError> {
    let step = SetupStep::Pip { tool: SetupTool::Pip };
    let args = ["-I", "-m", "pip", "download", "--progress-bar", "off", "--no-deps"];
    let args = args.into_iter().chain(["--only-binary", ":all:", "--dest"]).map(OsStr::new);
    let args = args.chain([wheels.as_os_str(), OsStr::new("pip")]);
    if let Err(said) = went_well(tools.step(step, base, args).await)? {
        return Ok(Err(said));
    }
    let Some(wheel) = only_file(wheels) else {
        return Ok(Err("pip download fetched nothing".to_owned()));
    };
    let step = SetupStep::Install { tool: SetupTool::Pip, packages: vec!["pip".to_owned()] };
    let program = wheel.join("pip");
    let args = ["install", "--no-index", "--no-deps"].map(OsStr::new);
    let args = [OsStr::new("-I"), program.as_os_str()].into_iter().chain(args);
    let args = args.chain([wheel.as_os_str()]);
    went_well(tools.step(step, python, args).await)
}

fn only_file(folder: &Path) -> Option<PathBuf> {
    Some(fs::read_dir(folder).ok()?.next()?.ok()?.path())
}

/// Separates an error that ends the setup from one that only ends this way: the inner error is the tool's last lines.
fn went_well(done: Result<(), StepFailure>) -> Result<Result<(), String>, SetupError> {
    match done {
        Ok(()) => Ok(Ok(())),
        Err(StepFailure::Way { said }) => Ok(Err(said)),
        Err(StepFailure::Stop(error)) => Err(error),
    }
}
