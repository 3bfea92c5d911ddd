//! The tests of the workspace: in groups, what is most basic first, each group only while there is time for it.
//!
//! Owns the groups, how many run at once, and what is done about a test that fails: it is tried again by itself,
//! since a busy machine fails tests that a quiet one does not, and whoever reads the end of the output is told its
//! name. Must not know what is tested.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::child;
use crate::deadline::Deadline;
use crate::workspace::Workspace;

/// The groups in their order: a name, and which tests are in it that were in none before.
const GROUPS: [(&str, &str); 5] = [
    ("pure", "package(inkcell-notebook) | package(xtask) | kind(lib) | kind(bin)"),
    ("engine", "package(inkcell-engine) | package(inkcell-testkit)"),
    ("program", "package(inkcell)"),
    ("kernels", "package(inkcell-kernel) & !binary(gateway)"),
    ("gateways", "package(inkcell-kernel)"),
];

/// More failures than these are no accident of a busy machine.
const FEW: usize = 25;

/// Tests that share a core. Most of them wait for other processes most of the time, and where the machine is shared
/// with others an idle core is slow to come back: 107 of them took 186 and 154 s by twos, 50, 67 and 41 s by fours.
const PER_CORE: usize = 2;

/// Where nextest writes what became of each.
const REPORT: &str = "target/nextest/default/junit.xml";

/// Runs all of them; `told` says to each command what tests are told. Gives what must not be overlooked.
pub(crate) fn run(
    workspace: &Workspace,
    deadline: Deadline,
    told: impl Fn(&mut Command),
) -> Result<Vec<String>> {
    if !has_nextest(workspace) {
        let mut tests = workspace.cargo(["test", "--workspace", "--all-targets"]);
        told(&mut tests);
        child::stream_to_stdout(&mut tests)?;
        return Ok(Vec::new());
    }
    let mut loud = Vec::new();
    for (at, (name, _)) in GROUPS.into_iter().enumerate() {
        if deadline.is_over() {
            loud.push(format!("the tests of the group `{name}` did NOT run: no time was left"));
            continue;
        }
        println!("\n-- {name}");
        loud.extend(some(workspace, name, &filter(at), &told)?);
    }
    Ok(loud)
}

/// Runs the tests that a filter names, under a name of their own. Gives what must not be overlooked.
pub(crate) fn some(
    workspace: &Workspace,
    name: &str,
    filter: &str,
    told: impl Fn(&mut Command),
) -> Result<Option<String>> {
    group(workspace, name, filter, |threads, filter| {
        // The whole workspace is named: for one package everything would be built again, with other features.
        let mut tests = workspace.cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
        tests.args(["--test-threads", &threads.to_string(), "-E", filter]);
        told(&mut tests);
        child::stream_to_stdout(&mut tests)
    })
}

/// One group, and those of it that failed once more.
fn group(
    workspace: &Workspace,
    name: &str,
    filter: &str,
    run: impl Fn(usize, &str) -> Result<()>,
) -> Result<Option<String>> {
    let report = workspace.path(REPORT);
    // A report of before would be taken for this one's.
    let _ = std::fs::remove_file(&report);
    let Err(error) = run(threads(), filter) else { return Ok(None) };
    let failed = failures(&report).unwrap_or_default();
    if failed.is_empty() || failed.len() > FEW {
        return Err(error.context(format!("group {name}: {} tests failed", failed.len())));
    }
    println!("\n-- {name}: {} failed, and are tried again one by one", failed.len());
    let again: Vec<String> = failed.iter().map(|test| format!("test(={test})")).collect();
    let again = format!("({filter}) & ({})", again.join(" | "));
    let passed = run(1, &again).or_else(|_| {
        let still = failures(&report).unwrap_or_default();
        println!("\n-- {name}: tried a last time: {}", still.join(", "));
        run(1, &again)
    });
    passed.with_context(|| format!("group {name}"))?;
    Ok(Some(format!("passed only when tried again, look why: {}", failed.join(", "))))
}

/// The tests of a group: those that were in none before it.
fn filter(at: usize) -> String {
    let before: String = GROUPS[..at].iter().map(|(_, tests)| format!(" & !({tests})")).collect();
    format!("({}){before}", GROUPS[at].1)
}

/// Builds what the tests are and what they start: the executable that they build is the one that they try. Whoever
/// else builds it the same way has it already.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    child::stream(&mut workspace.cargo(["build", "--quiet", "--workspace", "--bins", "--tests"]))
}

pub(crate) fn has_nextest(workspace: &Workspace) -> bool {
    child::succeeds(&mut workspace.cargo(["nextest", "--version"]))
}

/// How many tests run at once.
fn threads() -> usize {
    PER_CORE * std::thread::available_parallelism().map_or(1, usize::from)
}

/// The names of the tests that a report says have failed.
fn failures(report: &Path) -> Result<Vec<String>> {
    let report = std::fs::read_to_string(report)?;
    let mut failed = Vec::new();
    for case in report.split("<testcase ").skip(1) {
        let case = case.split("</testcase>").next().unwrap_or_default();
        if case.contains("<failure") || case.contains("<error") {
            let name = case.split_once("name=\"").and_then(|(_, rest)| rest.split_once('"'));
            match name {
                Some((name, _)) => failed.push(name.to_owned()),
                None => bail!("a test without a name in {REPORT}"),
            }
        }
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_in_one_group_only() {
        assert_eq!(filter(0), format!("({})", GROUPS[0].1));
        let last = filter(GROUPS.len() - 1);
        for (_, tests) in &GROUPS[..GROUPS.len() - 1] {
            assert!(last.contains(&format!("& !({tests})")), "{last}");
        }
    }

    #[test]
    fn failed_tests_are_read_from_the_report() {
        let dir = tempfile::tempdir().unwrap();
        let report = dir.path().join("junit.xml");
        let text = r#"<testsuites><testsuite name="a::it">
            <testcase name="one::passes" classname="a::it" time="1.0"></testcase>
            <testcase name="two::fails" classname="a::it"><failure type="x">said</failure></testcase>
            <testcase name="three" classname="b"><flakyFailure type="x"/></testcase>
            </testsuite></testsuites>"#;
        std::fs::write(&report, text).unwrap();
        assert_eq!(failures(&report).unwrap(), ["two::fails"]);
    }

    /// What failed for good fails the run; what passed when it was tried again is told by its name.
    #[test]
    fn a_test_that_fails_is_tried_again_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(dir.path());
        let report = dir.path().join(REPORT);
        std::fs::create_dir_all(report.parent().unwrap()).unwrap();
        let runs = std::cell::RefCell::new(Vec::new());
        let fails_so_often = |times: usize| {
            runs.borrow_mut().clear();
            let (runs, report) = (&runs, &report);
            move |threads: usize, filter: &str| {
                runs.borrow_mut().push((threads, filter.to_owned()));
                if runs.borrow().len() > times {
                    return Ok(());
                }
                std::fs::write(report, r#"<testcase name="a::b"><failure/></testcase>"#)?;
                bail!("failed")
            }
        };
        assert_eq!(group(&workspace, "g", "all()", fails_so_often(0)).unwrap(), None);
        let told = group(&workspace, "g", "all()", fails_so_often(1)).unwrap().unwrap();
        assert!(told.contains("a::b"), "{told}");
        assert_eq!(runs.borrow()[1], (1, "(all()) & (test(=a::b))".to_owned()));
        assert!(group(&workspace, "g", "all()", fails_so_often(2)).unwrap().is_some());
        assert!(group(&workspace, "g", "all()", fails_so_often(3)).is_err());
    }
}
