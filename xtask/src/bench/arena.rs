//! The arena of a measurement: an empty folder, the programs to compare, and their environment.
//!
//! Owns the folder, which is removed at the end, and the environment of every measured process. Must not know what a
//! family measures.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::iter::once;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

use super::contender::Programs;
use super::jupyter::{Jupyter, Sort};
use super::measure::Speaker;
use super::peers;
use crate::workspace::Workspace;

/// The variables that a measured process inherits. This lists variables to keep instead of variables to strip: once,
/// PYTHONUNBUFFERED from a user's shell made a floor five times slower than the program above it.
const INHERITED: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT"];

type Environment = BTreeMap<&'static str, OsString>;

pub(super) struct Arena {
    pub(super) root: PathBuf,
    /// A folder for sockets, whose paths must be short even if the workspace's path is long.
    runtime: TempDir,
    env: Environment,
    pub(super) python: PathBuf,
    pub(super) inkcell: PathBuf,
    /// This binary from a dist build: the floors, the stop watch and our clients.
    pub(super) xtask: PathBuf,
    pub(super) programs: Programs,
    scripts: PathBuf,
}

impl Arena {
    /// Makes an empty arena in the folder of this family. Programs find this Python first, and a home of their own,
    /// so that they read and write no other files of the user.
    pub(super) fn new(workspace: &Workspace, family: &str, python: &Path) -> Result<Arena> {
        let root = workspace.path("target/bench").join(family);
        make_root(&root)?;
        let mut env = environment(python, &root)?;
        env.insert("INKCELL_STATE_DIR", root.join("state").into());
        Ok(Arena {
            runtime: tempfile::Builder::new().prefix("inkcell-bench-").tempdir()?,
            env,
            python: python.to_owned(),
            inkcell: peers::built(workspace, "inkcell"),
            xtask: peers::built(workspace, "xtask"),
            programs: Programs::default(),
            scripts: workspace.path(peers::SCRIPTS),
            root,
        })
    }

    pub(super) fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.env.insert(name, value.into());
    }

    /// The environment of measured processes, as text.
    pub(super) fn environment(&self) -> BTreeMap<&str, String> {
        let text = |value: &OsString| value.to_string_lossy().into_owned();
        self.env.iter().map(|(name, value)| (*name, text(value))).collect()
    }

    /// Prints the environment; every figure depends on it.
    pub(super) fn print_environment(&self, who: &str) {
        let shown = self.environment();
        let shown: Vec<String> =
            shown.iter().map(|(name, value)| format!("{name}={value}")).collect();
        println!("Environment of every {who} and kernel: {}", shown.join(" "));
    }

    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    pub(super) fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    /// Path of the file for the errors of measured processes.
    pub(super) fn stderr(&self) -> PathBuf {
        self.root.join("stderr.txt")
    }

    /// Path of the folder in which one contender works.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.work().join(name.replace([' ', ','], "-"))
    }

    /// Empties the folder of a contender and makes these folders in it.
    pub(super) fn empty_folder(&self, name: &str, within: &[&str]) -> Result<PathBuf> {
        let dir = self.folder(name);
        remove(&dir)?;
        std::fs::create_dir_all(&dir)?;
        for name in within {
            std::fs::create_dir(dir.join(name))?;
        }
        Ok(dir)
    }

    /// Prepares a program with the environment of measured processes.
    pub(super) fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.env).current_dir(dir);
        command
    }

    /// Prepares a Python program of the peers.
    pub(super) fn script(&self, name: &str) -> Command {
        let mut command = self.command(&self.python, &self.work());
        command.arg(self.scripts.join(name));
        command
    }

    /// The path of a program of the peers.
    pub(super) fn script_path(&self, name: &str) -> PathBuf {
        self.scripts.join(name)
    }

    /// Starts a server and waits until it is ready.
    pub(super) fn server(&self, sort: Sort, arguments: &[&str]) -> Result<Jupyter> {
        let command = self.command(&self.python, &self.work());
        Jupyter::start(sort, command, arguments, &self.root.join("stderr-server.txt"))
    }

    /// Starts idle kernels in one process; returns the process and its message when they were ready.
    pub(super) fn stand_ins(&self, script: &str, args: &[&OsStr]) -> Result<(Speaker, Value)> {
        let stderr = self.root.join("stderr-kernels.txt");
        Speaker::start(self.script(script).args(args), &stderr)?
            .map_err(|failure| anyhow::anyhow!("the kernels that do nothing: {failure}"))
    }

    /// Describes a failure, with the last line on standard error.
    pub(super) fn explain(&self, failure: &anyhow::Error) -> String {
        explain(failure, &self.stderr())
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // A folder that cannot be removed does not spoil the figures.
        let _ = remove(&self.root);
    }
}

/// Describes a failure, with the last line in this file.
pub(super) fn explain(failure: &anyhow::Error, stderr: &Path) -> String {
    let said = std::fs::read_to_string(stderr).unwrap_or_default();
    let last = said.trim().lines().last().unwrap_or_default();
    format!("{failure:#} {last}").trim_end().to_owned()
}

/// Makes the environment of measured processes: a few of our variables, this Python first, and a home below this
/// folder.
pub(super) fn environment(python: &Path, root: &Path) -> Result<Environment> {
    let mut env = inherited();
    let bin = python.parent().context("an interpreter is in a folder")?.to_owned();
    let path = env.remove("PATH").unwrap_or_default();
    env.insert("PATH", std::env::join_paths(once(bin).chain(std::env::split_paths(&path)))?);
    env.insert("HOME", root.join("home").into());
    Ok(env)
}

fn inherited() -> Environment {
    INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect()
}

/// Makes an empty folder with a home, a working folder and a state folder.
fn make_root(root: &Path) -> Result<()> {
    remove(root)?;
    for dir in ["home", "work", "state"] {
        std::fs::create_dir_all(root.join(dir))?;
    }
    Ok(())
}

/// Removes a folder with its contents, if it exists.
pub(super) fn remove(dir: &Path) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}

/// Runs a process of the dist build that returns figures. Its folder is empty at the start and removed at the end.
pub(super) fn ask_host(
    workspace: &Workspace,
    host: &str,
    root: &Path,
    task: &impl Serialize,
) -> Result<Value> {
    make_root(root)?;
    let host = Command::new(peers::built(workspace, "xtask"))
        .args(["bench", host, &serde_json::to_string(task)?])
        .env_clear()
        .envs(inherited())
        .env("HOME", root.join("home"))
        .current_dir(root.join("work"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start the host")?;
    if !host.status.success() {
        bail!("the host failed: {}", host.status);
    }
    let found = serde_json::from_slice(&host.stdout).context("the host's figures")?;
    remove(root)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_family_is_empty_at_its_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("family");
        make_root(&root).unwrap();
        std::fs::write(root.join("work/left"), "").unwrap();
        make_root(&root).unwrap();
        assert!(root.join("home").is_dir() && !root.join("work/left").exists());
        remove(&root).unwrap();
        assert!(!root.exists());
        remove(&root).unwrap();
    }

    #[test]
    fn processes_find_the_interpreter_first_and_a_home_of_their_own() {
        let env = environment(Path::new("/env/bin/python"), Path::new("/root")).unwrap();
        assert!(env["PATH"].to_string_lossy().starts_with("/env/bin"));
        assert_eq!(env["HOME"], "/root/home");
        assert!(env.keys().all(|name| INHERITED.contains(name)));
    }
}
