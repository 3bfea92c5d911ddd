//! Python environments: made once, reused while they fit, remade when broken.
//!
//! Owns how an environment is made, `target/test-env`, which most tests use, and `target/test-env-libraries`. uv makes
//! them in seconds; pip takes minutes. Must not touch any other environment of the user, and must not know which tests
//! want one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};

use crate::child;
use crate::workspace::Workspace;

pub(crate) const ENV_DIR: &str = "target/test-env";
/// The package of uv, and the environment that contains it.
const UV: &str = "uv==0.13.8";
const UV_DIR: &str = "target/uv";
/// Written last, so that an unfinished environment never looks complete.
const STAMP: &str = "inkcell-stamp";

/// An environment that tests or benchmarks need.
pub(crate) struct Environment<'a> {
    pub(crate) dir: &'a str,
    /// Path of the file that lists its packages.
    pub(crate) requirements: &'a str,
    /// Modules that must be importable in it, separated by commas.
    pub(crate) modules: &'a str,
}

/// matplotlib lists the fonts of the machine on first use, and prints a message that tests do not expect.
const TEST_ENV: Environment<'_> = Environment {
    dir: ENV_DIR,
    requirements: "xtask/requirements-test.txt",
    modules: "matplotlib.font_manager, matplotlib.pyplot, nbformat, nbclient, nbval, pandas, papermill, \
              ipykernel.kernelapp, IPython, mcp.client.stdio, pytest, xdist",
};

/// Libraries with threads of their own, large ones: tests compute with them in copies of a kernel.
const LIBRARIES: Environment<'_> = Environment {
    dir: "target/test-env-libraries",
    requirements: "xtask/requirements-libraries.txt",
    modules: "numexpr, pandas, pyarrow, sklearn",
};

/// Prepares the environment that most tests use. Returns its interpreter.
pub(crate) fn prepare(workspace: &Workspace) -> Result<PathBuf> {
    let base = base_python()?;
    let (python, is_new) = TEST_ENV.ensure(workspace, &base)?;
    if is_new {
        // The package does not install its kernelspec.
        let install = ["-m", "bash_kernel.install", "--sys-prefix"];
        child::stream(Command::new(&python).args(install))?;
    }
    Ok(python)
}

/// Prepares the environment with libraries that have threads. Returns its interpreter.
pub(crate) fn prepare_libraries(workspace: &Workspace) -> Result<PathBuf> {
    LIBRARIES.ensure(workspace, &base_python()?).map(|(python, _)| python)
}

/// Finds the user's Python, which is `python3` on `PATH`.
pub(crate) fn base_python() -> Result<PathBuf> {
    child::on_path("python3").context("python3 is not on PATH: the tests need CPython 3.9 or later")
}

pub(crate) fn interpreter(dir: &Path) -> PathBuf {
    if cfg!(windows) { dir.join("Scripts/python.exe") } else { dir.join("bin/python") }
}

impl Environment<'_> {
    /// Makes the environment from this Python unless a fitting one exists. Returns its interpreter's absolute
    /// path, and true if it was made now.
    pub(crate) fn ensure(&self, workspace: &Workspace, base: &Path) -> Result<(PathBuf, bool)> {
        let Environment { dir: name, requirements, modules } = self;
        let dir = workspace.path(name);
        let packages = std::fs::read_to_string(workspace.path(requirements))
            .with_context(|| format!("cannot read {requirements}"))?;
        let stamp = stamp(base, &packages);
        let python = interpreter(&dir);
        if stamp_matches(&dir, &stamp) && has_modules(&python, modules) {
            println!("{name} fits {requirements}");
            return Ok((python, false));
        }
        let uv = uv(workspace)?;
        if dir.exists() {
            std::fs::remove_dir_all(&dir)
                .with_context(|| format!("cannot remove {}", dir.display()))?;
        }
        let mut make = command(&uv, workspace);
        child::stream(make.args(["venv", "--quiet", "--seed", "--python"]).arg(base).arg(&dir))?;
        let mut install = command(&uv, workspace);
        install.args(["pip", "install", "--quiet", "--python"]).arg(&python);
        child::stream(install.arg("--requirement").arg(workspace.path(requirements)))?;
        if !has_modules(&python, modules) {
            bail!("{name} was made of {}, but `import {modules}` fails in it", base.display());
        }
        std::fs::write(dir.join(STAMP), &stamp).context("cannot write the stamp")?;
        Ok((python, true))
    }
}

/// Prepares a call of uv: with the certificates of the machine, and a cache inside `target`.
fn command(uv: &Path, workspace: &Workspace) -> Command {
    let mut command = Command::new(uv);
    command
        .env("UV_CACHE_DIR", workspace.path("target/uv-cache"))
        .env("UV_PYTHON_DOWNLOADS", "never")
        .args(["--native-tls", "--no-config", "--no-progress"]);
    command
}

/// Installs uv unless it exists, and returns its path. Environments are made in parallel; one thread installs it and the others wait.
pub(crate) fn uv(workspace: &Workspace) -> Result<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock();
    let dir = workspace.path(UV_DIR);
    let uv = interpreter(&dir).with_file_name(format!("uv{}", std::env::consts::EXE_SUFFIX));
    let base = base_python()?;
    let stamp = stamp(&base, UV);
    if stamp_matches(&dir, &stamp) && child::succeeds(Command::new(&uv).arg("--version")) {
        return Ok(uv);
    }
    if dir.exists() {
        std::fs::remove_dir_all(&dir)
            .with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    ensure_pip_bootstrap(&base)?;
    println!("installing {UV} into {UV_DIR}: it makes the environments of the tests");
    child::stream(Command::new(&base).args(["-m", "venv"]).arg(&dir))?;
    child::stream(
        Command::new(interpreter(&dir))
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", UV]),
    )?;
    std::fs::write(dir.join(STAMP), &stamp).context("cannot write the stamp")?;
    Ok(uv)
}

/// The stamp contains the packages themselves: as precise as a hash, and readable.
fn stamp(base: &Path, packages: &str) -> String {
    format!("{}\n{packages}", base.display())
}

fn stamp_matches(dir: &Path, wanted: &str) -> bool {
    std::fs::read_to_string(dir.join(STAMP)).is_ok_and(|stamp| stamp == wanted)
}

fn has_modules(python: &Path, modules: &str) -> bool {
    child::succeeds(Command::new(python).args(["-c", &format!("import {modules}")]))
}

/// Debian and its derivatives ship python3 without the module that installs pip into a new environment.
fn ensure_pip_bootstrap(base: &Path) -> Result<()> {
    let present = || child::succeeds(Command::new(base).args(["-c", "import ensurepip"]));
    if present() {
        return Ok(());
    }
    println!("python3 has no ensurepip; installing the system package python3-venv, which has it");
    if child::install_system_package("python3-venv") && present() {
        return Ok(());
    }
    bail!(
        "python3 has no ensurepip, so no environment can be made.\n\
         Install it and run again. Debian, Ubuntu: apt-get install -y python3-venv"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_pinned() {
        let texts = [
            include_str!("../requirements-test.txt"),
            include_str!("../requirements-libraries.txt"),
        ];
        let loose: Vec<_> = texts
            .into_iter()
            .flat_map(str::lines)
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
            .filter(|line| line.split("==").count() != 2)
            .collect();
        assert!(loose.is_empty(), "{loose:?}");
    }

    #[test]
    fn stamp_fits_only_the_same_python_and_packages() {
        let dir = tempfile::tempdir().unwrap();
        let one = stamp(Path::new("/usr/bin/python3"), "a==1\n");
        assert!(!stamp_matches(dir.path(), &one));
        std::fs::write(dir.path().join(STAMP), &one).unwrap();
        assert!(stamp_matches(dir.path(), &one));
        assert!(!stamp_matches(dir.path(), &stamp(Path::new("/usr/bin/python3"), "a==2\n")));
        assert!(!stamp_matches(dir.path(), &stamp(Path::new("/opt/python3"), "a==1\n")));
    }
}
