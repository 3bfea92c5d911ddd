//! Tools that a measurement compares: the source of each, and its version.
//!
//! Owns the builds of ours, the environments `target/bench-env*`, and `target/bench-tools`. A tool that is not
//! available is reported and left out, never silently. Must not know how a tool is called or timed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::child;
use crate::python_env::{self, Environment};
use crate::workspace::Workspace;

const NB_CLI_VERSION: &str = "0.0.10";
const REQUIREMENTS: &str = "xtask/requirements-bench.txt";
pub(super) const SCRIPTS: &str = "xtask/src/bench/peers";

/// Makes the measured builds, with the profile that ships; returns notes about builds that failed.
pub(super) fn build(workspace: &Workspace) -> Result<Vec<String>> {
    // Build both at once, so that their common crates are compiled once.
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

/// The path of a program of that build.
pub(super) fn built(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.path(&format!("target/dist/{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The pinned versions of the Python peers.
pub(super) fn pinned(workspace: &Workspace) -> Result<Vec<String>> {
    pinned_in(workspace, REQUIREMENTS)
}

/// The versions in a list of requirements.
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

/// Prepares an environment of peers; returns its interpreter.
pub(super) fn environment(workspace: &Workspace, wanted: &Environment<'_>) -> Result<PathBuf> {
    wanted.ensure(workspace, &python_env::base_python()?).map(|(python, _)| python)
}

pub(super) fn nb_cli_version() -> String {
    format!("nb-cli {NB_CLI_VERSION}")
}

/// Installs the Rust program of that name; if that fails, adds it to `missing`.
pub(super) fn nb_cli(workspace: &Workspace, missing: &mut Vec<String>) -> Option<PathBuf> {
    let built = install_nb_cli(workspace);
    built
        .map_err(|error| {
            missing.push(format!("{} could not be built, no row: {error:#}", nb_cli_version()));
        })
        .ok()
}

/// Cargo does nothing if this version is installed already.
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
