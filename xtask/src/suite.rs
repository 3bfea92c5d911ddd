//! Runs the tests of the workspace: selects them, limits how many run at once, and measures each.
//!
//! Owns the call of the test runner: nextest if installed, else `plain`, with the same rules. A failed test fails
//! the run: no test is tried twice. Must not know what the tests check.

mod plain;
mod report;
pub(crate) mod rules;

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::child;
use crate::workspace::Workspace;

pub(crate) use report::{TestTime, slowest};

/// Tests for each core. Most of them wait for other processes most of the time.
const PER_CORE: usize = 2;

/// Path of nextest's report with the outcome and the time of each test.
const REPORT: &str = "target/nextest/default/junit.xml";

const NEXTEST_HINT: &str = "cargo-nextest is not installed: xtask runs the tests itself. \
                            For better reports: cargo install --locked cargo-nextest";

/// Criteria for tests to run; a test must meet all that are set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// The only test binary to run.
    pub(crate) binary: Option<&'static str>,
    /// The modules to run; empty for all.
    pub(crate) modules: Vec<&'static str>,
    /// Texts of which a test's name must contain one; empty for all names.
    pub(crate) names: Vec<String>,
    /// Places to leave out: a test binary, and a module or the beginning of a name in it, at any depth.
    pub(crate) leave_out: &'static [(&'static str, &'static str)],
    /// `K/N` runs part K of N, for machines that share the work.
    pub(crate) partition: Option<String>,
    /// The number of runs of each test; 0 means one.
    pub(crate) repeat: u32,
}

impl Selection {
    fn includes(&self, binary: &str, test: &str) -> bool {
        let in_module =
            |module: &&str| test.strip_prefix(*module).is_some_and(|rest| rest.starts_with("::"));
        let path = format!("::{test}");
        let left_out =
            |(place, part): &(&str, &str)| *place == binary && path.contains(&format!("::{part}"));
        self.binary.is_none_or(|wanted| wanted == binary)
            && !self.leave_out.iter().any(left_out)
            && (self.modules.is_empty() || self.modules.iter().any(in_module))
            && (self.names.is_empty() || self.names.iter().any(|name| test.contains(name)))
    }

    /// The selection as an expression of nextest.
    fn filter(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.binary.map(|binary| format!("binary({binary})")));
        if !self.modules.is_empty() {
            parts.push(format!("test(/^({})::/)", self.modules.join("|")));
        }
        if !self.names.is_empty() {
            let names: Vec<String> =
                self.names.iter().map(|name| format!("test({name})")).collect();
            parts.push(format!("({})", names.join(" | ")));
        }
        for (binary, part) in self.leave_out {
            parts.push(format!("!(binary({binary}) & test(/(^|::){part}/))"));
        }
        if parts.is_empty() { "all()".to_owned() } else { parts.join(" & ") }
    }
}

/// Runs the selected tests and adds the time of each to `times`, even if one fails. `tell` adds to each command the
/// variables that tests read.
pub(crate) fn run(
    workspace: &Workspace,
    selection: &Selection,
    tell: impl Fn(&mut Command),
    times: &mut Vec<TestTime>,
) -> Result<()> {
    if !has_nextest(workspace) {
        println!("!! {NEXTEST_HINT}");
        return plain::run(workspace, selection, tell, times);
    }
    let report = workspace.path(REPORT);
    // A report of an earlier run would be mistaken for this one's.
    let _ = std::fs::remove_file(&report);
    // Name the whole workspace: for a single package, cargo would build everything again with other features.
    let mut tests = workspace.linting_cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
    // The caller's configuration or variables must not enable retries.
    tests.args(["--retries", "0"]);
    tests.args(["--test-threads", &threads().to_string(), "-E", &selection.filter()]);
    if let Some(partition) = &selection.partition {
        tests.args(["--partition", &format!("slice:{partition}")]);
    }
    if selection.repeat > 1 {
        tests.args(["--stress-count", &selection.repeat.to_string()]);
    }
    tell(&mut tests);
    let outcome = child::stream_to_stdout(&mut tests);
    times.extend(read_times(&report));
    outcome
}

/// Reads the times of a report. A runner that failed early leaves no report.
pub(crate) fn read_times(report: &Path) -> Vec<TestTime> {
    report::read(report).unwrap_or_default()
}

/// Builds the tests and the executable that they start. A lint of clippy fails the build.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let args = ["build", "--quiet", "--workspace", "--bins", "--tests", "--examples"];
    child::stream(&mut workspace.linting_cargo(args))
}

/// Compiles the kernel crate with fewer features than the workspace uses.
pub(crate) fn check_features(workspace: &Workspace) -> Result<()> {
    ["", "gateway", "zmq"].iter().try_for_each(|features| {
        let args = ["check", "--quiet", "--package", "inkcell-kernel", "--no-default-features"];
        child::stream(workspace.linting_cargo(args).args(["--features", features]))
    })
}

fn has_nextest(workspace: &Workspace) -> bool {
    child::succeeds(&mut workspace.cargo(["nextest", "--version"]))
}

/// The number of tests that run at once.
pub(crate) fn threads() -> usize {
    PER_CORE * std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection_by_binary_module_and_name_means_the_same_to_both_runners() {
        let all = Selection::default();
        assert_eq!(all.filter(), "all()");
        assert!(all.includes("it", "hosts::a"));
        let some = Selection {
            binary: Some("conformance"),
            modules: vec!["basic", "output"],
            names: vec!["utf8".to_owned()],
            leave_out: &[("conformance", "forked::")],
            ..Selection::default()
        };
        assert_eq!(
            some.filter(),
            "binary(conformance) & test(/^(basic|output)::/) & (test(utf8)) \
             & !(binary(conformance) & test(/(^|::)forked::/))"
        );
        assert!(some.includes("conformance", "output::direct::utf8_is_kept"));
        assert!(!some.includes("conformance", "output::forked::utf8_is_kept"));
        assert!(some.includes("conformance", "output::not_forked::utf8_is_kept"));
        assert!(!some.includes("it", "output::direct::utf8_is_kept"));
        assert!(!some.includes("conformance", "outputs::utf8"));
        assert!(!some.includes("conformance", "output::direct::bytes"));
    }

    /// A failed test fails the run: the configuration retries none, and CI runs the whole command.
    #[test]
    fn failed_tests_are_never_tried_again() {
        let config = include_str!("../../.config/nextest.toml");
        assert!(config.contains("retries = 0"), "{config}");
        let kept = config.lines().filter(|line| line.contains("retries")).count();
        assert_eq!(kept, 1, "an override brings retries back:\n{config}");
        let ci = include_str!("../../.ci/run");
        let command = ci.lines().rfind(|line| !line.starts_with('#')).unwrap_or_default();
        assert_eq!(command, "exec cargo xtask test");
    }
}
