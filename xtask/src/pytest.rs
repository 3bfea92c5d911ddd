//! Runs the Python tests of the embedded runner under one interpreter.
//!
//! Owns the call of pytest. Must not know which interpreter it is, nor the contents of its environment.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::child;
use crate::suite::{self, TestTime};
use crate::workspace::Workspace;

const TESTS: &str = "crates/kernel/python/tests";

/// Runs the tests and adds the time of each to `times`, even if one fails.
pub(crate) fn run(
    workspace: &Workspace,
    python: &Path,
    names: &[String],
    tell: impl Fn(&mut Command),
    times: &mut Vec<TestTime>,
) -> Result<()> {
    let environment = python.parent().and_then(Path::parent).and_then(Path::file_name);
    let environment = environment.unwrap_or_default().to_string_lossy().into_owned();
    let report = workspace.path(&format!("target/pytest/{environment}.xml"));
    // A report of an earlier run would be mistaken for this one's.
    let _ = std::fs::remove_file(&report);
    let mut tests = Command::new(python);
    // Print the names of failed tests last, where people see them. Write nothing into the source tree.
    tests.args(["-B", "-m", "pytest", "-q", "-rEf", "-p", "no:cacheprovider"]);
    tests.args(["-n", &suite::threads().to_string(), "--dist", "worksteal"]);
    tests.arg(format!("--junit-xml={}", report.display()));
    if !names.is_empty() {
        tests.args(["-k", &names.join(" or ")]);
    }
    tests.arg(TESTS).current_dir(workspace.root());
    tell(&mut tests);
    let outcome = child::stream_to_stdout(&mut tests);
    times.extend(suite::read_times(&report));
    outcome
}
