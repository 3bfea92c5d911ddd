//! The Python tests of the embedded runner, under one interpreter.
//!
//! Owns how pytest is called, and that what failed is tried once more by itself. Must not know which interpreter is
//! meant, nor what its environment holds.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::child;
use crate::workspace::Workspace;

const TESTS: &str = "crates/kernel/python/tests";

/// Runs them; gives what must not be overlooked.
pub(crate) fn run(
    workspace: &Workspace,
    python: &Path,
    told: impl Fn(&mut Command),
) -> Result<Option<String>> {
    let name = python.parent().and_then(Path::parent).and_then(Path::file_name);
    let name = name.unwrap_or_default().to_string_lossy().into_owned();
    // What failed is remembered outside of the source tree, by each interpreter for itself.
    let remembered = workspace.path(&format!("target/pytest/{name}"));
    // What failed in an earlier run must not stand in for what failed in one that crashed.
    let _ = std::fs::remove_dir_all(&remembered);
    let cache = format!("cache_dir={}", remembered.display());
    let run = |more: &[&str]| {
        let mut tests = Command::new(python);
        // The names of what failed come last, where they are seen.
        tests.args(["-B", "-m", "pytest", "-q", "-rEf", "-o", &cache]).args(more);
        tests.arg(TESTS).current_dir(workspace.root());
        told(&mut tests);
        child::stream_to_stdout(&mut tests)
    };
    if run(&[]).is_ok() {
        return Ok(None);
    }
    println!("\n-- what failed is tried again");
    run(&["--last-failed", "--last-failed-no-failures", "none"])?;
    Ok(Some(format!("tests of the runner in {name} passed only when tried again, look why")))
}
