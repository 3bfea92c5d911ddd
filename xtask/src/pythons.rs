//! Tests the runner on every CPython of this machine: finds one interpreter for each minor version, and runs the
//! runner's own tests and the conformance suite under each.
//!
//! Owns the range of supported versions, the search for interpreters, and `target/test-env-3.X`. Must not know what
//! the suites check.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::python_env::Environment;
use crate::suite::Selection;
use crate::test::Depth;
use crate::workspace::Workspace;
use crate::{child, pytest, python_env, suite};

/// The minor versions of CPython 3 on which the runner promises to work.
const SUPPORTED: RangeInclusive<u32> = 9..=14;
const REQUIREMENTS: &str = "xtask/requirements-runner.txt";
/// Modules of the conformance suite that a full run tries: those that depend on the interpreter. The rest tests
/// processes, independent of the Python in them, and takes longest.
const TIERS: [&str; 4] = ["basic", "output", "interrupt", "fork_server"];
/// An ordinary run tries every third of the runner's own tests on each version, and others on the next one.
const SAMPLE: usize = 3;
/// Prints one line: implementation, major, minor, micro.
const WHO: &str = "import sys; print(sys.implementation.name, *sys.version_info[:3])";

/// An interpreter that reported its version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundPython {
    path: PathBuf,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    minor: u32,
    micro: u32,
}

/// Runs the suites; returns warnings that must not be overlooked. Tries all versions before it returns the failure of
/// one, because the other versions show whether one version alone fails.
pub(crate) fn run(workspace: &Workspace, depth: Depth) -> Result<Vec<String>> {
    let mut loud = Vec::new();
    let mut found = one_of_each(places());
    for one in found.values() {
        println!("3.{}.{}: {}", one.version.minor, one.version.micro, one.path.display());
    }
    let missing: Vec<String> = SUPPORTED
        .filter(|minor| !found.contains_key(minor))
        .map(|minor| format!("3.{minor}"))
        .collect();
    if !missing.is_empty() {
        loud.push(format!("the runner is NOT tried on CPython {}: not found", missing.join(", ")));
    }
    if found.len() < 2 {
        loud.push(format!("only {} CPython was found to try the runner on", found.len()));
    }
    if depth != Depth::All {
        // A mistake shows first on the oldest or on the newest version.
        let ends = [found.keys().next().copied(), found.keys().next_back().copied()];
        found.retain(|minor, _| ends.contains(&Some(*minor)));
        println!(
            "only the oldest and the newest, of the runner's tests one of {SAMPLE}, and of the conformance suite \
             {TIERS:?}; --all runs all of it"
        );
    }
    let known = ask(&python_env::interpreter(&workspace.path(python_env::ENV_DIR)));
    let mut failed = Vec::new();
    for (at, one) in found.values().enumerate() {
        let name = format!("3.{}", one.version.minor);
        if known.is_some_and(|known| known.minor == one.version.minor) {
            println!("\n-- CPython {name} is the one of the stages before");
            continue;
        }
        println!("\n-- CPython {name}");
        let tests =
            environment(workspace, one).map(|python| runner_tests(workspace, &python, depth, at));
        match tests {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failed.push(format!("{name}: {error}")),
            Err(error) => loud.push(format!(
                "the runner's own tests did NOT run on CPython {name}: no environment with pytest ({error:#})"
            )),
        }
        if let Err(error) = conformance(workspace, one, depth) {
            failed.push(format!("{name}: {error}"));
        }
    }
    if !failed.is_empty() {
        bail!("the runner does not work on every CPython:\n{}", failed.join("\n"));
    }
    Ok(loud)
}

/// Finds one interpreter of each of these minor versions, the newest first.
pub(crate) fn newest_first(minors: &RangeInclusive<u32>) -> Vec<PathBuf> {
    let found = one_of_each(places()).into_values().rev();
    found.filter(|one| minors.contains(&one.version.minor)).map(|one| one.path).collect()
}

/// Runs the runner's own tests. Only pytest is installed, so tests that compare with IPython or a library skip
/// themselves with a message; the stage with the full environment runs them.
fn runner_tests(workspace: &Workspace, python: &Path, depth: Depth, at: usize) -> Result<()> {
    println!(
        "what needs IPython or a library is SKIPPED here; the stage with all packages runs it"
    );
    let tell = |tests: &mut Command| {
        tests.env_remove("INKCELL_TEST_REQUIRE");
        tell_depth(tests, depth);
        if depth != Depth::All {
            tests.env("INKCELL_TEST_SAMPLE", format!("{SAMPLE}/{}", at % SAMPLE));
        }
    };
    pytest::run(workspace, python, &[], tell, &mut Vec::new())
}

/// With `--all`, every case of a long test runs on every interpreter.
fn tell_depth(tests: &mut Command, depth: Depth) {
    if depth == Depth::All {
        tests.env("INKCELL_TEST_ALL", "1");
    }
}

/// Runs the conformance suite with kernels of this interpreter as found.
fn conformance(workspace: &Workspace, one: &FoundPython, depth: Depth) -> Result<()> {
    let modules = if depth == Depth::All { Vec::new() } else { TIERS.to_vec() };
    let selection = Selection { binary: Some("conformance"), modules, ..Selection::default() };
    let tell = |tests: &mut Command| {
        tests.env("INKCELL_TEST_PYTHON", &one.path).env_remove("INKCELL_TEST_REQUIRE");
        tell_depth(tests, depth);
    };
    suite::run(workspace, &selection, tell, &mut Vec::new())
}

/// Finds the first interpreter of each supported minor version.
fn one_of_each(candidates: impl IntoIterator<Item = PathBuf>) -> BTreeMap<u32, FoundPython> {
    let mut found = BTreeMap::new();
    for path in candidates {
        if let Some(version) = ask(&path).filter(|version| SUPPORTED.contains(&version.minor)) {
            found.entry(version.minor).or_insert(FoundPython { path, version });
        }
    }
    found
}

fn ask(path: &Path) -> Option<Version> {
    version(&child::capture(Command::new(path).args(["-I", "-c", WHO])).ok()?)
}

/// Parses the answer to [`WHO`]; none for an implementation other than CPython.
fn version(answer: &str) -> Option<Version> {
    let mut words = answer.split_whitespace();
    if words.next()? != "cpython" || words.next()? != "3" {
        return None;
    }
    Some(Version { minor: words.next()?.parse().ok()?, micro: words.next()?.parse().ok()? })
}

/// Paths of possible interpreters, nearest first. Most of them do not exist.
fn places() -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let set = |name: &str, usual: &str| {
        std::env::var_os(name).map_or_else(|| home.join(usual), PathBuf::from)
    };
    let mut places: Vec<PathBuf> =
        SUPPORTED.filter_map(|minor| child::on_path(&format!("python3.{minor}"))).collect();
    for root in [
        set("PYENV_ROOT", ".pyenv").join("versions"),
        set("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"),
        PathBuf::from("/opt"),
        PathBuf::from("/opt/python"),
    ] {
        places.extend(children(&root).into_iter().map(|version| version.join("bin/python3")));
    }
    for bin in ["/usr/bin", "/usr/local/bin"] {
        places.extend(SUPPORTED.map(|minor| Path::new(bin).join(format!("python3.{minor}"))));
    }
    places.retain(|place| place.is_file());
    places
}

/// Lists a folder in a fixed order; empty if it cannot be read.
fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Prepares an environment of this interpreter with pytest.
fn environment(workspace: &Workspace, base: &FoundPython) -> Result<PathBuf> {
    let dir = format!("target/test-env-3.{}", base.version.minor);
    let environment =
        Environment { dir: &dir, requirements: REQUIREMENTS, modules: "pytest, xdist" };
    environment.ensure(workspace, &base.path).map(|(python, _)| python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpython_3_has_a_version_here() {
        assert_eq!(version("cpython 3 9 18\n"), Some(Version { minor: 9, micro: 18 }));
        assert_eq!(version("pypy 3 10 14\n"), None);
        assert_eq!(version("cpython 2 7 18\n"), None);
        assert_eq!(version("pyenv: python3.9: command not found\n"), None);
        assert_eq!(version(""), None);
    }

    /// The nearest interpreter of a minor version wins; broken and unsupported ones are skipped.
    #[cfg(unix)]
    #[test]
    fn one_interpreter_of_each_supported_version_is_found() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let fake = |name: &str, script: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let first = fake("a", "echo cpython 3 9 18");
        let candidates = [
            fake("shim", "echo 'not installed' >&2; exit 127"),
            first.clone(),
            fake("b", "echo cpython 3 9 19"),
            fake("old", "echo cpython 3 8 18"),
            fake("new", "echo cpython 3 15 0"),
            dir.path().join("absent"),
        ];
        let found = one_of_each(candidates);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[&9],
            FoundPython { path: first, version: Version { minor: 9, micro: 18 } }
        );
    }

    #[test]
    fn every_requirement_is_pinned() {
        let text = include_str!("../requirements-runner.txt");
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let requirement = line.split(';').next().unwrap_or_default();
            assert_eq!(requirement.split("==").count(), 2, "{line}");
        }
    }
}
