//! `cargo xtask test`: the one test command. Owns the order of the stages, what may be left out when no time is left,
//! and what each test process is told through its environment.
//!
//! Must not know how a stage's tool works, and must not soften a failure: the first one ends the
//! run.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::deadline::Deadline;
use crate::stages::Stages;
use crate::strace::Tracing;
use crate::workspace::Workspace;
use crate::{
    child, docs, gremlin, laws, pytest, python_env, pythons, servers, spec, strace, suite,
};

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Quick,
    Full,
}

/// The first command README.md shows, as it is written there, after `cargo build --release`. It is
/// kept here and nowhere else; who changes it in README.md changes it here.
const README_COMMAND: &str = "target/release/inkcell run examples/tour.ipynb -o target/tour.ipynb";

/// Notebooks other people wrote. They are not part of the project, so their absence is no failure.
const CORPUS: &str = "../shared/corpus";

pub(crate) fn run(workspace: &Workspace, depth: Depth, deadline: Deadline) -> Result<()> {
    let mut stages = Stages::default();
    let outcome = run_stages(&mut stages, workspace, depth, deadline);
    println!("\n{}", stages.table());
    outcome
}

fn run_stages(
    stages: &mut Stages,
    workspace: &Workspace,
    depth: Depth,
    deadline: Deadline,
) -> Result<()> {
    stages.run("fmt", || child::stream(&mut workspace.cargo(["fmt", "--all", "--check"])))?;
    stages.run("clippy", || {
        let args = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        child::stream(&mut workspace.cargo(args))
    })?;
    let python = stages.run("python", || python_env::prepare(workspace))?;
    let servers = stages.run("servers", || servers::prepare(workspace))?;
    servers.loud.into_iter().for_each(|line| stages.warn(line));
    let tracing = stages.run("strace", || Ok(strace::prepare()))?;
    if let Tracing::Missing(why) = tracing {
        stages.warn(format!("{why}: the crash enumeration of a save (F-060) will NOT run"));
    }
    stages.run("build", || suite::build(workspace))?;

    let told = |command: &mut Command| {
        tell(command, &python, &tracing, depth);
        command.envs(servers.told.iter().map(|(variable, value)| (*variable, value)));
    };
    let loud = stages.run("tests", || suite::run(workspace, deadline, told))?;
    loud.into_iter().for_each(|line| stages.warn(line));
    stages.run("docs", || docs::run(workspace, docs::Mode::Check))?;
    stages.run("spec", || {
        spec::run(workspace, &workspace.path(spec::DEFAULT_DIR), spec::Listing::FaultsOnly)
    })?;
    stages.run_in_time("runner", deadline, || pytest::run(workspace, &python, told))?;
    stages.run_in_time("doc tests", deadline, || {
        let mut tests = workspace.cargo(["test", "--doc", "--workspace"]);
        told(&mut tests);
        child::stream_to_stdout(&mut tests)?;
        Ok(None)
    })?;
    if depth == Depth::Full {
        stages.run_in_time("readme", deadline, || {
            child::stream(&mut workspace.cargo(["build", "--release"]))?;
            readme(workspace)?;
            Ok(None)
        })?;
    }
    stages.run_in_time("pythons", deadline, || pythons::run(workspace, depth, deadline))?;
    stages.run_in_time("gremlin", deadline, || {
        let seconds = if depth == Depth::Quick { 15 } else { 60 };
        // The same each time, so that a change is judged by what it changed; `cargo xtask gremlin` tries others.
        gremlin::run(workspace, &gremlin::Options { seconds, seed: Some(151), replay: None })?;
        Ok(None)
    })?;
    if depth == Depth::Full {
        let corpus = workspace.path(CORPUS);
        if corpus.is_dir() {
            stages.run_in_time("laws", deadline, || laws::run(&corpus).map(|()| None))?;
        } else {
            stages.warn(format!("{CORPUS} is not here: the laws are not tried on it"));
        }
    }
    Ok(())
}

/// What a test process is told. With `INKCELL_TEST_REQUIRE` a test fails where it would otherwise
/// skip, so what could not be prepared has to be taken out of that promise by name.
fn tell(command: &mut Command, python: &Path, tracing: &Tracing, depth: Depth) {
    command.env("INKCELL_TEST_PYTHON", python).env("INKCELL_TEST_REQUIRE", "1");
    if *tracing != Tracing::Works {
        command.env("INKCELL_TEST_NO_STRACE", "1");
    }
    if depth == Depth::Quick {
        command.env("INKCELL_TEST_QUICK", "1");
    }
}

/// The first thing a reader of README.md tries has to work as written.
fn readme(workspace: &Workspace) -> Result<()> {
    println!("$ {README_COMMAND}");
    let mut words = README_COMMAND.split(' ');
    let program = workspace.path(words.next().unwrap_or_default());
    let printed = child::capture(Command::new(program).args(words).current_dir(workspace.root()))?;
    if printed.trim().is_empty() {
        bail!("`{README_COMMAND}` printed nothing");
    }
    println!("{} lines printed", printed.lines().count());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn told(tracing: &Tracing, depth: Depth) -> BTreeMap<String, String> {
        let mut command = Command::new("true");
        tell(&mut command, Path::new("/env/bin/python"), tracing, depth);
        let owned = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        command.get_envs().filter_map(|(k, v)| Some((owned(k), owned(v?)))).collect()
    }

    #[test]
    fn a_full_run_requires_everything() {
        let told = told(&Tracing::Works, Depth::Full);
        assert_eq!(told["INKCELL_TEST_PYTHON"], "/env/bin/python");
        assert_eq!(told["INKCELL_TEST_REQUIRE"], "1");
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn what_is_missing_and_a_quick_run_are_said() {
        let told = told(&Tracing::Missing("gone"), Depth::Quick);
        assert_eq!(told["INKCELL_TEST_NO_STRACE"], "1");
        assert_eq!(told["INKCELL_TEST_QUICK"], "1");
    }
}
