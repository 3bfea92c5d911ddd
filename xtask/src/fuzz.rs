//! `cargo xtask fuzz`: runs each fuzz target for a limited time, from its committed seeds.
//!
//! Must not know the input of a target; fuzz/Cargo.toml lists the targets.

use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};

use crate::child;
use crate::workspace::Workspace;

const MANIFEST: &str = "fuzz/Cargo.toml";

pub(crate) fn run(workspace: &Workspace, seconds: u64, only: Option<&str>) -> Result<()> {
    let manifest = std::fs::read_to_string(workspace.path(MANIFEST))
        .with_context(|| format!("cannot read {MANIFEST}"))?;
    let targets = choose(&targets(&manifest), only)?;
    install(workspace)?;
    let toolchain = Toolchain::find();
    for target in &targets {
        run_target(workspace, toolchain, target, seconds)?;
    }
    println!("fuzz: {} for {seconds} s each, nothing found", targets.join(", "));
    Ok(())
}

/// A compiler that accepts the unstable flags of the sanitizers.
#[derive(Debug, Clone, Copy)]
enum Toolchain {
    Nightly,
    /// The current compiler, with `RUSTC_BOOTSTRAP` so that it behaves like a nightly one.
    Bootstrap,
}

impl Toolchain {
    fn find() -> Self {
        let listed = child::capture(Command::new("rustup").args(["toolchain", "list"]));
        let nightly = listed.is_ok_and(|list| list.lines().any(|line| line.starts_with("nightly")));
        if nightly { Self::Nightly } else { Self::Bootstrap }
    }

    /// Uses `rustup run` instead of `cargo +nightly`: the cargo that started this binary belongs to
    /// the toolchain and does not know the plus.
    fn cargo(self, workspace: &Workspace) -> Command {
        match self {
            Self::Nightly => {
                let mut command = Command::new("rustup");
                command.args(["run", "nightly", "cargo"]).current_dir(workspace.root());
                command
            }
            Self::Bootstrap => {
                let mut command = workspace.cargo([]);
                command.env("RUSTC_BOOTSTRAP", "1");
                command
            }
        }
    }
}

fn install(workspace: &Workspace) -> Result<()> {
    if child::succeeds(&mut workspace.cargo(["fuzz", "--version"])) {
        return Ok(());
    }
    child::stream(&mut workspace.cargo(["install", "cargo-fuzz", "--locked"]))
}

fn run_target(
    workspace: &Workspace,
    toolchain: Toolchain,
    target: &str,
    seconds: u64,
) -> Result<()> {
    let corpus = workspace.path(&format!("fuzz/corpus/{target}"));
    let seeds = workspace.path(&format!("fuzz/seeds/{target}"));
    let artifacts = workspace.path(&format!("fuzz/artifacts/{target}"));
    std::fs::create_dir_all(&corpus).context("cannot make the corpus folder")?;
    let before = files(&artifacts);

    let mut command = toolchain.cargo(workspace);
    // cargo-fuzz adds to the first folder and only reads the seeds after it.
    command.args(["fuzz", "run", target]).arg(&corpus);
    if seeds.is_dir() {
        command.arg(&seeds);
    }
    command.arg("--").arg(format!("-max_total_time={seconds}"));
    let Err(error) = child::stream(&mut command) else { return Ok(()) };

    let found: Vec<_> =
        files(&artifacts).difference(&before).map(|(path, _)| path.display().to_string()).collect();
    if found.is_empty() {
        return Err(error.context(format!("fuzz target {target} failed and left no artifact")));
    }
    Err(error.context(format!("fuzz target {target} crashed on {}", found.join(", "))))
}

/// Files with the time of their last change: a crash found before is written to the same name.
fn files(dir: &Path) -> BTreeSet<(PathBuf, Option<SystemTime>)> {
    let changed = |entry: &DirEntry| entry.metadata().and_then(|meta| meta.modified()).ok();
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| (entry.path(), changed(&entry))).collect()
}

/// Reads the names of the `[[bin]]` sections.
fn targets(manifest: &str) -> Vec<String> {
    let mut in_bin = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            in_bin = line.starts_with("[[bin]]");
        } else if in_bin
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "name"
        {
            names.extend(value.split('"').nth(1).map(str::to_owned));
        }
    }
    names
}

fn choose(all: &[String], only: Option<&str>) -> Result<Vec<String>> {
    if all.is_empty() {
        bail!("{MANIFEST} has no targets");
    }
    match only {
        None => Ok(all.to_vec()),
        Some(name) if all.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("no fuzz target {name}; there are: {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[package]
name = \"inkcell-fuzz\"

[[bin]]
name = \"scanner\"
path = \"targets/scanner.rs\"

[[bin]] # second
name=\"virtual_text\"

[profile.release]
name = \"no\"
";

    #[test]
    fn targets_are_the_bin_sections() {
        assert_eq!(targets(MANIFEST), ["scanner", "virtual_text"]);
    }

    #[test]
    fn one_target_can_be_chosen_and_a_wrong_name_lists_the_right_ones() {
        let all = targets(MANIFEST);
        assert_eq!(choose(&all, None).unwrap(), all);
        assert_eq!(choose(&all, Some("scanner")).unwrap(), ["scanner"]);
        let error = choose(&all, Some("scaner")).unwrap_err().to_string();
        assert!(error.contains("scanner, virtual_text"), "{error}");
        assert!(choose(&[], None).is_err());
    }
}
