//! A user who has nothing but a package: an empty home, an empty folder, and python3.
//!
//! Ends the host that commands share, and with it every session. Must not know any package.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::{child, python_env};

/// The folders of a system's own programs.
const SYSTEM: [&str; 5] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/opt/homebrew/bin"];

pub(crate) struct Sandbox {
    dir: TempDir,
    path: OsString,
    pub(crate) python: PathBuf,
}

impl Sandbox {
    /// Puts these folders first on `PATH`.
    pub(crate) fn new(programs: &[&Path]) -> Result<Sandbox> {
        let dir = tempfile::Builder::new().prefix("inkcell-").tempdir()?;
        for name in ["home", "work"] {
            std::fs::create_dir(dir.path().join(name))?;
        }
        // A shim on PATH may need the real home.
        let mut ask = Command::new(python_env::base_python()?);
        let python = child::capture(ask.args(["-c", "import sys; print(sys.executable)"]))?;
        let python = PathBuf::from(python.trim());
        let home = python.parent().context("python3 is in a folder")?;
        let system = SYSTEM.iter().map(Path::new);
        let path = std::env::join_paths(programs.iter().copied().chain([home]).chain(system))?;
        Ok(Sandbox { dir, path, python })
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The folder in which commands start.
    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// A command with no variable of ours.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", &self.path).env("HOME", self.home()).env("LANG", "C.UTF-8");
        command.current_dir(self.folder()).process_group(0);
        command
    }

    /// A command line, as a user types it.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let mut command = self.command("bash");
        command.args(["-euo", "pipefail", "-c", line]);
        command
    }

    /// Checks that `--version` prints what it must.
    pub(crate) fn expect_version(&self, command: &mut Command, version: &str) -> Result<()> {
        let said = child::capture(command)?;
        ensure!(said.trim() == format!("inkcell {version}"), "it says {said:?}, not {version}");
        println!("it says: {}", said.trim());
        Ok(())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // There may be no inkcell, and no host.
        child::succeeds(&mut self.shell("inkcell host stop"));
    }
}
