//! The tools a measurement compares: where each comes from, and the command line that does the job.
//!
//! Owns the environments `target/bench-env*` and `target/bench-tools`. A tool that cannot be had is reported and left
//! out, never silently. Must not know how a command is timed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::notebook_file::{SOURCE_AFTER, SOURCE_BEFORE};
use crate::child;
use crate::python_env::{self, Environment};
use crate::workspace::Workspace;

const NB_CLI_VERSION: &str = "0.0.10";
const REQUIREMENTS: &str = "xtask/requirements-bench.txt";
pub(super) const SCRIPTS: &str = "xtask/src/bench/peers";

pub(super) const FLOOR: &str = "floor";
pub(super) const INKCELL: &str = "inkcell";
pub(super) const NBFORMAT: &str = "nbformat";

/// One contender of one table.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) command: Vec<OsString>,
    /// Quick ones are sampled more often in a round: their noise weighs more and costs less.
    pub(super) quick: bool,
}

/// Everything that has to be there before the first figure is taken.
pub(super) struct Tools {
    scripts: PathBuf,
    /// This binary from a dist build: the floors and the stop watch.
    pub(super) xtask: PathBuf,
    inkcell: PathBuf,
    python: PathBuf,
    node: Option<PathBuf>,
    nb: Option<PathBuf>,
    /// What is missing and why, for the notes under the tables.
    pub(super) missing: Vec<String>,
    pub(super) versions: Vec<String>,
}

impl Tools {
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self> {
        let mut missing = build(workspace)?;
        let python = python_env(workspace)?;
        let nb = nb_cli(workspace, &mut missing);
        let node = child::on_path("node");
        if node.is_none() {
            missing.push("node is not on PATH, no row for its JSON".to_owned());
        }
        let mut versions = vec![first_line(Command::new(&python).arg("--version"))];
        versions.extend(
            node.as_ref()
                .map(|node| "Node ".to_owned() + &first_line(Command::new(node).arg("--version"))),
        );
        versions.extend(pinned(workspace)?);
        versions.push(nb_cli_version());
        let built = |name: &str| built(workspace, name);
        Ok(Self {
            scripts: workspace.path(SCRIPTS),
            xtask: built("xtask"),
            inkcell: built("inkcell"),
            python,
            node,
            nb,
            missing,
            versions,
        })
    }

    /// The contenders for changing the source of one cell, the floor first.
    pub(super) fn edits(&self, file_of: impl Fn(&str) -> PathBuf, cell: usize) -> Vec<Peer> {
        let index = OsString::from(cell.to_string());
        let scripted = |name, interpreter: &Path, script: &str, before: &str| Peer {
            name,
            quick: false,
            command: vec![
                interpreter.into(),
                self.scripts.join(script).into(),
                file_of(name).into(),
                before.into(),
                SOURCE_AFTER.into(),
            ],
        };
        let number = cell.to_string();
        let mut peers = vec![
            self.floor("copy", file_of(FLOOR)),
            Peer {
                name: INKCELL,
                quick: true,
                command: vec![
                    self.inkcell.clone().into(),
                    "edit".into(),
                    file_of(INKCELL).into(),
                    "replace".into(),
                    index.clone(),
                    "--source".into(),
                    SOURCE_AFTER.into(),
                ],
            },
            scripted(NBFORMAT, &self.python, "edit_nbformat.py", &number),
            scripted("python json", &self.python, "edit_json.py", &number),
            scripted("jupytext", &self.python, "edit_jupytext.py", SOURCE_BEFORE),
        ];
        peers.extend(
            self.node.iter().map(|node| scripted("node json", node, "edit_json.js", &number)),
        );
        peers.extend(self.nb.iter().map(|nb| Peer {
            name: "nb-cli",
            quick: false,
            command: vec![
                nb.into(),
                "cell".into(),
                "update".into(),
                file_of("nb-cli").into(),
                "--cell-index".into(),
                index.clone(),
                "--source".into(),
                SOURCE_AFTER.into(),
            ],
        }));
        peers
    }

    /// The contenders for listing the cells, the floor first. They only read, so they share a file.
    pub(super) fn outlines(&self, file: &Path) -> Vec<Peer> {
        let scripted = |name, script: &str| Peer {
            name,
            quick: false,
            command: vec![
                self.python.clone().into(),
                self.scripts.join(script).into(),
                file.into(),
            ],
        };
        let mut peers = vec![
            self.floor("hash", file.to_path_buf()),
            Peer {
                name: INKCELL,
                quick: true,
                command: vec![
                    self.inkcell.clone().into(),
                    "read".into(),
                    file.into(),
                    "--outline".into(),
                ],
            },
            scripted(NBFORMAT, "outline_nbformat.py"),
            scripted("python json", "outline_json.py"),
        ];
        peers.extend(self.nb.iter().map(|nb| Peer {
            name: "nb-cli",
            quick: false,
            command: vec![nb.into(), "read".into(), file.into(), "--no-output".into()],
        }));
        peers
    }

    fn floor(&self, program: &str, file: PathBuf) -> Peer {
        Peer {
            name: FLOOR,
            quick: true,
            command: vec![
                self.xtask.clone().into(),
                "bench".into(),
                "floor".into(),
                program.into(),
                file.into(),
            ],
        }
    }
}

/// Makes the builds that are measured, with the profile that ships; gives what could not be built, in words for the notes.
pub(super) fn build(workspace: &Workspace) -> Result<Vec<String>> {
    // Together, so that the crates that both use are compiled once.
    let args = ["build", "--profile", "dist", "-p", "xtask", "-p", "inkcell"];
    let inkcell = child::stream(&mut workspace.cargo(args));
    Ok(inkcell
        .err()
        .map(|error| {
            format!("inkcell could not be built, its row is an OLD binary or none: {error:#}")
        })
        .into_iter()
        .collect())
}

/// A program of that build.
pub(super) fn built(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.path(&format!("target/dist/{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The versions the Python peers are held at.
pub(super) fn pinned(workspace: &Workspace) -> Result<Vec<String>> {
    pinned_in(workspace, REQUIREMENTS)
}

/// The versions that a list of requirements names.
pub(super) fn pinned_in(workspace: &Workspace, requirements: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(workspace.path(requirements))?;
    Ok(text
        .lines()
        .filter(|line| line.contains("=="))
        .map(|line| line.replace("==", " "))
        .collect())
}

pub(super) fn python_env(workspace: &Workspace) -> Result<PathBuf> {
    let modules = "nbformat, nbclient, ipykernel, papermill";
    environment(
        workspace,
        &Environment { dir: "target/bench-env", requirements: REQUIREMENTS, modules },
    )
}

/// Makes an environment of peers unless it is there as it should be; gives its interpreter.
pub(super) fn environment(workspace: &Workspace, wanted: &Environment<'_>) -> Result<PathBuf> {
    wanted.ensure(workspace, &python_env::base_python()?).map(|(python, _)| python)
}

pub(super) fn nb_cli_version() -> String {
    format!("nb-cli {NB_CLI_VERSION}")
}

/// The Rust program of that name; where it cannot be had, that is added to what is missing.
pub(super) fn nb_cli(workspace: &Workspace, missing: &mut Vec<String>) -> Option<PathBuf> {
    let built = install_nb_cli(workspace);
    built
        .map_err(|error| {
            missing.push(format!("{} could not be built, no row: {error:#}", nb_cli_version()));
        })
        .ok()
}

/// Cargo does nothing when this very version is there already.
fn install_nb_cli(workspace: &Workspace) -> Result<PathBuf> {
    let root = workspace.path("target/bench-tools");
    let mut install =
        workspace.cargo(["install", "nb-cli", "--version", NB_CLI_VERSION, "--locked"]);
    install.arg("--root").arg(&root);
    child::stream(&mut install)?;
    Ok(root.join(format!("bin/nb{}", std::env::consts::EXE_SUFFIX)))
}

pub(super) fn first_line(command: &mut Command) -> String {
    child::capture(command).map_or_else(
        |_| "version unknown".to_owned(),
        |text| text.lines().next().unwrap_or_default().to_owned(),
    )
}
