//! `cargo xtask test`: the one test command. Owns the order of the stages, and the environment variables of each
//! test process.
//!
//! Must not know how a stage's tool works, and must not soften a failure: a test runs once, and a failed stage
//! fails the run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::busy::Busy;
use crate::stages::Stages;
use crate::suite::{Selection, TestTime};
use crate::system::Tracing;
use crate::workspace::Workspace;
use crate::{
    child, docs, fuzz, gremlin, laws, package, pytest, python_env, pythons, release, servers, site,
    spec, suite, system,
};

/// The extent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Fewer cases for each test, and nothing that needs a release build, a server or another Python.
    Quick,
    /// Everything a change must pass.
    Full,
    /// The soak and matrix runs too.
    All,
}

/// Tests to run, and the conditions.
pub(crate) struct Options {
    pub(crate) depth: Depth,
    /// Texts of which a test's name must contain one; if set, no other stage runs.
    pub(crate) names: Vec<String>,
    /// The number of runs of each named test.
    pub(crate) repeat: u32,
    pub(crate) partition: Option<String>,
    /// Keep every core busy during the tests.
    pub(crate) busy: bool,
}

/// The first command in README.md, word for word after `cargo run --release --`.
const README_COMMAND: &str = "run examples/tour.ipynb -o target/tour.ipynb";

/// Notebooks by other people. They are not part of the project, so a missing folder does not fail the run.
const CORPUS: &str = "../shared/corpus";

/// Path of the list of skipped tests, one a line.
const SKIPPED: &str = "target/skipped";

/// The number of slow tests that the end lists.
const SLOWEST: usize = 30;

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let mut stages = Stages::default();
    let mut times = Vec::new();
    // A list of an earlier run would be mistaken for this one's.
    let _ = std::fs::remove_file(workspace.path(SKIPPED));
    let outcome = if options.names.is_empty() {
        run_stages(&mut stages, &mut times, workspace, options)
    } else {
        run_named(&mut stages, &mut times, workspace, options)
    };
    let skipped = std::fs::read_to_string(workspace.path(SKIPPED)).unwrap_or_default();
    let skipped: BTreeSet<&str> = skipped.lines().collect();
    skipped.into_iter().for_each(|line| stages.warn(format!("SKIPPED: {line}")));
    println!("\n{}\n{}", suite::slowest(times, SLOWEST), stages.table());
    outcome?;
    let is_whole = options.names.is_empty() && options.partition.is_none();
    if is_whole && options.depth != Depth::Quick {
        release::note_passed(workspace)?;
    }
    Ok(())
}

/// Parts that tests need from outside this checkout.
struct Surroundings {
    python: PathBuf,
    uv: PathBuf,
    libraries: Option<PathBuf>,
    servers: servers::ServerSetup,
    tracing: Tracing,
    can_mount: bool,
    skipped: PathBuf,
}

impl Surroundings {
    fn prepare(workspace: &Workspace, depth: Depth) -> Result<Surroundings> {
        let python = python_env::prepare(workspace)?;
        let uv = python_env::uv(workspace)?;
        let libraries = match depth {
            Depth::Quick | Depth::Full => None,
            Depth::All => Some(python_env::prepare_libraries(workspace)?),
        };
        let servers = match depth {
            Depth::Quick => servers::none(),
            Depth::Full | Depth::All => servers::prepare(workspace)?,
        };
        let skipped = workspace.path(SKIPPED);
        let can_mount = system::can_mount();
        let tracing = system::prepare();
        Ok(Surroundings { python, uv, libraries, servers, tracing, can_mount, skipped })
    }

    /// Repeats the warnings that must not be overlooked.
    fn warn(&self, stages: &mut Stages) {
        self.servers.loud.iter().for_each(|line| stages.warn(line.clone()));
        if let Tracing::Missing(why) = self.tracing {
            stages.warn(format!("{why}: the crash enumeration of a save (F-060) will NOT run"));
        }
        if !self.can_mount {
            stages.warn(
                "file systems cannot be mounted here: tests of a full disk will NOT run".into(),
            );
        }
    }

    fn tell(&self, command: &mut Command, depth: Depth) {
        tell(command, &self.python, &self.tracing, depth);
        command.env("INKCELL_TEST_SKIPPED", &self.skipped).env("INKCELL_TEST_UV", &self.uv);
        if !self.can_mount {
            command.env("INKCELL_TEST_NO_MOUNTS", "1");
        }
        match &self.libraries {
            Some(python) => command.env("INKCELL_TEST_LIBRARIES_PYTHON", python),
            None => command.env("INKCELL_TEST_NO_LIBRARIES", "1"),
        };
        command.envs(self.servers.told.iter().map(|(variable, value)| (*variable, value)));
    }
}

fn run_stages(
    stages: &mut Stages,
    times: &mut Vec<TestTime>,
    workspace: &Workspace,
    options: &Options,
) -> Result<()> {
    let depth = options.depth;
    // Environments need the network and builds need the processor, so both run at once.
    let surroundings = std::thread::scope(|scope| {
        let preparing = scope.spawn(|| Surroundings::prepare(workspace, depth));
        stages
            .run("format", || child::stream(&mut workspace.cargo(["fmt", "--all", "--check"])))?;
        stages.run("lints and build", || suite::build(workspace))?;
        stages.run("environments", || match preparing.join() {
            Ok(surroundings) => surroundings,
            Err(_) => bail!("preparing the environments panicked"),
        })
    })?;
    surroundings.warn(stages);
    let _busy = options.busy.then(Busy::on_every_core);
    let tell = |command: &mut Command| surroundings.tell(command, depth);

    let selection = Selection {
        leave_out: match depth {
            Depth::Quick => suite::rules::NOT_QUICK,
            Depth::Full => suite::rules::MATRIX,
            Depth::All => &[],
        },
        partition: options.partition.clone(),
        ..Selection::default()
    };
    // The runner's tests run even if these fail, so that one run reports every failure.
    let tests = stages.run("tests", || suite::run(workspace, &selection, tell, times));
    let runner =
        stages.run("runner", || pytest::run(workspace, &surroundings.python, &[], tell, times));
    tests.and(runner)?;
    if depth == Depth::Quick {
        return run_checks(stages, workspace, depth, &tell);
    }
    // The release build can use every core, and most of these stages use one: at once they take less time.
    std::thread::scope(|scope| {
        let building = scope.spawn(|| build_release(workspace));
        let checks = run_checks(stages, workspace, depth, &tell);
        let release = stages.run("release build", || match building.join() {
            Ok(release) => release,
            Err(_) => bail!("the release build panicked"),
        });
        checks.and(release)
    })?;
    stages.run("readme", || readme(workspace))?;
    if depth == Depth::All {
        stages.run("wheel", || package::trial::run(workspace))?;
        stages.run("features", || suite::check_features(workspace))?;
        stages.run("fuzz", || fuzz::run(workspace, 60, None))?;
        stages.run("packages", || package::run(workspace, package::Options::default()))?;
    }
    Ok(())
}

/// Runs the stages after the tests.
fn run_checks(
    stages: &mut Stages,
    workspace: &Workspace,
    depth: Depth,
    tell: &impl Fn(&mut Command),
) -> Result<()> {
    stages.run("doc tests", || {
        let mut tests = workspace.linting_cargo(["test", "--quiet", "--doc", "--workspace"]);
        tell(&mut tests);
        child::stream_to_stdout(&mut tests)
    })?;
    stages.run("pages", || docs::run(workspace, docs::Mode::Check))?;
    let statements = workspace.path(spec::DEFAULT_DIR);
    if statements.is_dir() {
        stages
            .run("statements", || spec::run(workspace, &statements, spec::Listing::FaultsOnly))?;
    } else {
        stages.warn(format!("{} is not here: tests are NOT compared with it", spec::DEFAULT_DIR));
    }
    stages.run("gremlin", || {
        let seconds = match depth {
            Depth::Quick => 10,
            Depth::Full => 15,
            Depth::All => 600,
        };
        // The seed is fixed, so that a failure comes from the change under test; `cargo xtask gremlin` tries other
        // seeds.
        gremlin::run(workspace, &gremlin::Options { seconds, seed: Some(151), replay: None })
    })?;
    if depth == Depth::Quick {
        return Ok(());
    }
    stages.run("site", || site::run(workspace))?;
    let corpus = workspace.path(CORPUS);
    if corpus.is_dir() {
        stages.run("laws", || laws::run(&corpus))?;
    } else {
        stages.warn(format!("{CORPUS} is not here: the laws are NOT tried on it"));
    }
    let missing = stages.run("pythons", || pythons::run(workspace, depth))?;
    missing.into_iter().for_each(|line| stages.warn(line));
    Ok(())
}

/// Builds what README's first command uses.
fn build_release(workspace: &Workspace) -> Result<()> {
    let start = Instant::now();
    child::stream(&mut workspace.cargo(["build", "--quiet", "--release"]))?;
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    println!("the release build took {minutes:.2} minutes beside other stages");
    Ok(())
}

/// Runs tests by name alone, in Rust and in Python.
fn run_named(
    stages: &mut Stages,
    times: &mut Vec<TestTime>,
    workspace: &Workspace,
    options: &Options,
) -> Result<()> {
    stages.run("lints and build", || suite::build(workspace))?;
    let surroundings =
        stages.run("environments", || Surroundings::prepare(workspace, options.depth))?;
    surroundings.warn(stages);
    let _busy = options.busy.then(Busy::on_every_core);
    let tell = |command: &mut Command| surroundings.tell(command, options.depth);
    let is_python = |name: &String| name.starts_with("test_");
    let (python, rust): (Vec<_>, Vec<_>) = options.names.iter().cloned().partition(is_python);
    if !rust.is_empty() {
        let selection = Selection {
            names: rust,
            partition: options.partition.clone(),
            repeat: options.repeat,
            ..Selection::default()
        };
        stages.run("tests", || suite::run(workspace, &selection, tell, times))?;
    }
    if !python.is_empty() {
        stages.run("runner", || {
            for _ in 0..options.repeat.max(1) {
                pytest::run(workspace, &surroundings.python, &python, tell, times)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Sets the variables of a test process. With `INKCELL_TEST_REQUIRE` a test fails instead of skipping, so each
/// missing tool must be excused by name.
fn tell(command: &mut Command, python: &Path, tracing: &Tracing, depth: Depth) {
    command.env("INKCELL_TEST_PYTHON", python).env("INKCELL_TEST_REQUIRE", "1");
    if *tracing != Tracing::Works {
        command.env("INKCELL_TEST_NO_STRACE", "1");
    }
    match depth {
        Depth::Quick => command.env("INKCELL_TEST_QUICK", "1"),
        Depth::All => command.env("INKCELL_TEST_ALL", "1"),
        Depth::Full => command,
    };
}

/// Runs the first command of README.md, which must work as written.
fn readme(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo(["run", "--quiet", "--release", "--"]);
    let printed = child::capture(command.args(README_COMMAND.split(' ')))?;
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

    #[test]
    fn readme_shows_both_commands_that_the_test_runs() {
        let readme = include_str!("../../README.md");
        assert!(readme.contains(&format!("cargo run --release -- {README_COMMAND}")));
        assert!(readme.contains("cargo xtask test"));
    }
}
