//! The Python environment the tests use: made once, reused while it fits, remade when broken.
//!
//! Owns `target/test-env`, and how any such environment is made. Must not touch any other environment of the person who runs it,
//! and must not know which tests want it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::child;
use crate::workspace::Workspace;

pub(crate) const ENV_DIR: &str = "target/test-env";
const REQUIREMENTS: &str = "xtask/requirements-test.txt";
/// Written last, so that an environment whose making was cut short is never taken for a whole one.
const STAMP: &str = "inkcell-stamp";
/// Fails when the environment lost its interpreter or its packages. matplotlib lists the fonts of the machine when it
/// is first used, and says so where a test does not expect it.
const PROBE: &str =
    "import matplotlib.font_manager, nbformat; nbformat.validate(nbformat.v4.new_notebook())";

/// Makes sure of the environment and returns its interpreter's absolute path.
pub(crate) fn prepare(workspace: &Workspace) -> Result<PathBuf> {
    let dir = workspace.path(ENV_DIR);
    let requirements = workspace.path(REQUIREMENTS);
    let wanted = std::fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {REQUIREMENTS}"))?;
    let python = interpreter(&dir);
    if stamp_matches(&dir, &wanted) && answers(&python) {
        println!("{ENV_DIR} fits {REQUIREMENTS}");
        return Ok(python);
    }
    make(&dir, &requirements)?;
    if !answers(&python) {
        bail!("{ENV_DIR} was made, but its packages do not work");
    }
    stamp(&dir, &wanted)?;
    Ok(python)
}

pub(crate) fn interpreter(dir: &Path) -> PathBuf {
    if cfg!(windows) { dir.join("Scripts/python.exe") } else { dir.join("bin/python") }
}

/// The stamp holds the requirements themselves: as good as their hash, and readable.
pub(crate) fn stamp_matches(dir: &Path, wanted: &str) -> bool {
    std::fs::read_to_string(dir.join(STAMP)).is_ok_and(|stamp| stamp == wanted)
}

fn answers(python: &Path) -> bool {
    child::succeeds(Command::new(python).args(["-c", PROBE]))
}

fn make(dir: &Path, requirements: &Path) -> Result<()> {
    let base = child::on_path("python3")
        .context("python3 is not on PATH: the tests need CPython 3.9 or later")?;
    install(&base, dir, requirements)?;
    // The package does not bring its kernelspec along.
    let install = ["-m", "bash_kernel.install", "--sys-prefix"];
    child::stream(Command::new(interpreter(dir)).args(install))
}

/// Makes an environment of this Python, in the place of what is there, with these packages.
pub(crate) fn install(base: &Path, dir: &Path, requirements: &Path) -> Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    ensure_pip_bootstrap(base)?;
    child::stream(Command::new(base).args(["-m", "venv"]).arg(dir))?;
    child::stream(
        Command::new(interpreter(dir))
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--requirement"])
            .arg(requirements),
    )
}

/// Says that an environment is whole.
pub(crate) fn stamp(dir: &Path, wanted: &str) -> Result<()> {
    std::fs::write(dir.join(STAMP), wanted).context("cannot write the stamp")
}

/// Debian and its kin ship python3 without the module that puts pip into a new environment.
pub(crate) fn ensure_pip_bootstrap(base: &Path) -> Result<()> {
    let present = || child::succeeds(Command::new(base).args(["-c", "import ensurepip"]));
    if present() {
        return Ok(());
    }
    println!("python3 has no ensurepip; the package python3-venv brings it");
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
        let text = include_str!("../requirements-test.txt");
        let loose: Vec<_> = text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
            .filter(|line| line.split("==").count() != 2)
            .collect();
        assert!(loose.is_empty(), "{loose:?}");
    }

    #[test]
    fn a_stamp_fits_only_the_same_requirements() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!stamp_matches(dir.path(), "a==1\n"));
        std::fs::write(dir.path().join(STAMP), "a==1\n").unwrap();
        assert!(stamp_matches(dir.path(), "a==1\n"));
        assert!(!stamp_matches(dir.path(), "a==2\n"));
    }
}
