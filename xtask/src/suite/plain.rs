//! Runs tests without nextest: one process for each test, several at once, by the same rules.
//!
//! Owns the search for test binaries and their tests, and the order of their processes. Must not know the
//! tests.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;

use super::rules::{self, Need};
use super::{Selection, TestTime};
use crate::child;
use crate::interrupts::with_usual_signals;
use crate::workspace::Workspace;

/// The time limit of a test; only a hang takes longer.
const LIMIT: Duration = Duration::from_secs(600);

/// The time limit of a test that needs time.
const LONG_LIMIT: Duration = Duration::from_secs(1200);

/// Variables that are set or removed for a test.
type Environment = [(OsString, Option<OsString>)];

/// A line of cargo's messages about its build.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

struct Binary {
    name: String,
    executable: PathBuf,
    /// Tests start in the folder of their package, as with cargo.
    folder: PathBuf,
}

#[derive(Clone)]
struct Test<'a> {
    binary: &'a Binary,
    name: String,
}

struct Outcome {
    time: TestTime,
    /// Output of the test, if it failed.
    failure: Option<String>,
}

/// Runs the selected tests; see [`super::run`].
pub(super) fn run(
    workspace: &Workspace,
    selection: &Selection,
    tell: impl Fn(&mut Command),
    times: &mut Vec<TestTime>,
) -> Result<()> {
    let binaries = binaries(workspace)?;
    let environment = told(tell);
    let tests = select(&binaries, selection, &environment)?;
    let has = |need: Need| move |test: &Test| rules::needs(&test.binary.name, &test.name, need);
    let (alone, mut beside): (Vec<_>, Vec<_>) = tests.into_iter().partition(has(Need::Machine));
    // Slow tests start first, so that none runs alone at the end.
    beside.sort_by_key(|test| !has(Need::Time)(test));
    let mut outcomes = run_tests(beside, super::threads(), &environment);
    outcomes.extend(run_tests(alone, 1, &environment));
    let failed: Vec<&Outcome> = outcomes.iter().filter(|one| one.failure.is_some()).collect();
    for one in &failed {
        println!("FAIL {}\n{}", one.time.name, one.failure.as_deref().unwrap_or_default());
    }
    println!("{} passed, {} failed", outcomes.len() - failed.len(), failed.len());
    let names: Vec<String> = failed.iter().map(|one| one.time.name.clone()).collect();
    times.extend(outcomes.into_iter().map(|one| one.time));
    if !names.is_empty() {
        bail!("{} tests failed:\n{}", names.len(), names.join("\n"));
    }
    Ok(())
}

/// Collects the variables that the caller sets for a test.
fn told(tell: impl Fn(&mut Command)) -> Vec<(OsString, Option<OsString>)> {
    let mut command = Command::new("true");
    tell(&mut command);
    let owned =
        |(name, value): (&OsStr, Option<&OsStr>)| (name.to_owned(), value.map(OsStr::to_owned));
    command.get_envs().map(owned).collect()
}

/// Builds and lists the test binaries of the workspace.
fn binaries(workspace: &Workspace) -> Result<Vec<Binary>> {
    let mut build = workspace.linting_cargo(["test", "--workspace", "--lib", "--bins", "--tests"]);
    build.args(["--no-run", "--quiet", "--message-format", "json"]);
    let printed = child::capture(&mut build)?;
    let mut binaries = Vec::new();
    for line in printed.lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line).context("a message of cargo")?;
        let is_test = message.profile.is_some_and(|profile| profile.test);
        let (Some(target), Some(executable), Some(manifest)) =
            (message.target, message.executable, message.manifest_path)
        else {
            continue;
        };
        if message.reason == "compiler-artifact" && is_test {
            let folder = manifest.parent().unwrap_or(Path::new(".")).to_owned();
            binaries.push(Binary { name: target.name, executable, folder });
        }
    }
    if binaries.is_empty() {
        bail!("cargo built no test");
    }
    Ok(binaries)
}

fn select<'a>(
    binaries: &'a [Binary],
    selection: &Selection,
    environment: &Environment,
) -> Result<Vec<Test<'a>>> {
    let mut tests = Vec::new();
    for binary in binaries {
        let mut list = command(binary, environment);
        let listed = child::capture(list.args(["--list", "--format", "terse"]))?;
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        let wanted = names.filter(|name| selection.includes(&binary.name, name));
        tests.extend(wanted.map(|name| Test { binary, name: name.to_owned() }));
    }
    if tests.is_empty() {
        bail!("no test has such a name");
    }
    let times = selection.repeat.max(1) as usize;
    let tests = slice(tests, selection.partition.as_deref())?;
    Ok(std::iter::repeat_n(tests, times).flatten().collect())
}

/// Picks every Nth test, starting with the Kth.
fn slice<T>(tests: Vec<T>, partition: Option<&str>) -> Result<Vec<T>> {
    let Some(partition) = partition else { return Ok(tests) };
    let parsed = partition
        .split_once('/')
        .and_then(|(part, of)| Some((part.parse::<usize>().ok()?, of.parse::<usize>().ok()?)));
    match parsed {
        Some((part, of)) if (1..=of).contains(&part) => {
            Ok(tests.into_iter().skip(part - 1).step_by(of).collect())
        }
        _ => bail!("'{partition}' is not a partition: write K/N, such as 1/4"),
    }
}

fn command(binary: &Binary, environment: &Environment) -> Command {
    let mut command = with_usual_signals(&binary.executable);
    command.current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder);
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn run_tests(tests: Vec<Test<'_>>, threads: usize, environment: &Environment) -> Vec<Outcome> {
    let queue = Mutex::new(VecDeque::from(tests));
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (queue, send) = (&queue, send.clone());
            scope.spawn(move || {
                let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(test) = next() {
                    let _ = send.send(run_one(&test, environment));
                }
            });
        }
        drop(send);
        receive.into_iter().collect()
    })
}

fn run_one(test: &Test<'_>, environment: &Environment) -> Outcome {
    let start = Instant::now();
    let mut command = command(test.binary, environment);
    command.args([test.name.as_str(), "--exact", "--nocapture"]).stdin(Stdio::null());
    let is_long = rules::needs(&test.binary.name, &test.name, Need::Time);
    let limit = if is_long { LONG_LIMIT } else { LIMIT };
    let failure =
        output_within(&mut command, limit).unwrap_or_else(|error| Some(error.to_string()));
    let name = format!("{}::{}", test.binary.name, test.name);
    Outcome { time: TestTime { name, took: start.elapsed() }, failure }
}

/// Runs a command and returns its output if it fails. A command that takes too long is killed with all its
/// children.
fn output_within(command: &mut Command, limit: Duration) -> Result<Option<String>> {
    let mut printed = tempfile::tempfile()?;
    let streams = (printed.try_clone()?, printed.try_clone()?);
    let mut child = command.stdout(streams.0).stderr(streams.1).process_group(0).spawn()?;
    let end = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= end {
            kill_process_group(Pid::from_child(&child), Signal::KILL)?;
            break child.wait()?;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    if status.success() {
        return Ok(None);
    }
    printed.rewind()?;
    let mut bytes = Vec::new();
    printed.read_to_end(&mut bytes)?;
    Ok(Some(format!("{}{status}", String::from_utf8_lossy(&bytes))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_cover_every_test_once() {
        let parts: Vec<Vec<u32>> =
            (1..=3).map(|k| slice((0..10).collect(), Some(&format!("{k}/3"))).unwrap()).collect();
        assert_eq!(parts[0], [0, 3, 6, 9]);
        let mut all: Vec<u32> = parts.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<u32>>());
        for bad in ["0/3", "4/3", "x", "1/"] {
            assert!(slice(vec![1], Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn failing_and_hanging_commands_are_reported() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let long = Duration::from_secs(60);
        assert_eq!(output_within(&mut shell("exit 0"), long).unwrap(), None);
        let said = output_within(&mut shell("echo out; echo err >&2; exit 3"), long).unwrap();
        let said = said.unwrap();
        assert!(said.contains("out\nerr\n") && said.contains('3'), "{said}");
        let killed =
            output_within(&mut shell("sleep 60 & wait"), Duration::from_millis(10)).unwrap();
        assert!(killed.unwrap().contains("signal: 9"));
    }
}
