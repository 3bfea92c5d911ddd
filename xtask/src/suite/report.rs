//! Times of tests: reads them from the reports of test runners, and formats the table of the
//! slowest.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::rules;

/// One test and its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestTime {
    pub(crate) name: String,
    pub(crate) took: Duration,
}

/// The time beyond which a test is marked as slow, unless the rules give it more.
const SLOW: Duration = Duration::from_secs(20);

/// Reads a report in JUnit's format, which nextest and pytest write.
pub(crate) fn read(report: &Path) -> Result<Vec<TestTime>> {
    let text = std::fs::read_to_string(report).with_context(|| report.display().to_string())?;
    Ok(times(&text))
}

fn times(report: &str) -> Vec<TestTime> {
    let cases = report.split("<testcase ").skip(1).filter_map(|case| {
        let tag = case.split('>').next()?;
        let attribute = |name: &str| {
            let (_, rest) = tag
                .split_once(&format!(" {name}=\""))
                .or_else(|| tag.strip_prefix(&format!("{name}=\"")).map(|rest| ("", rest)))?;
            rest.split_once('"').map(|(value, _)| value)
        };
        let seconds: f64 = attribute("time")?.parse().ok()?;
        // nextest names the binary as the class; pytest names the module.
        let name = format!("{}::{}", attribute("classname")?, attribute("name")?);
        let name = name.replace("crates.kernel.python.tests.", "");
        Some(TestTime { name, took: Duration::try_from_secs_f64(seconds).ok()? })
    });
    cases.collect()
}

/// Formats the slowest tests, the slowest first.
pub(crate) fn slowest(mut times: Vec<TestTime>, count: usize) -> String {
    times.sort_by_key(|time| std::cmp::Reverse(time.took));
    let sum: Duration = times.iter().map(|time| time.took).sum();
    let mut table = String::from(" seconds  slowest tests\n");
    for TestTime { name, took } in times.iter().take(count) {
        let is_too_slow = *took > SLOW && !rules::may_be_slow(name);
        let mark = if is_too_slow { "  (above 20 s: make it quicker)" } else { "" };
        // A write into a String cannot fail.
        let _ = writeln!(table, "{:>8.1}  {name}{mark}", took.as_secs_f64());
    }
    let _ =
        writeln!(table, "{:>8.1}  all {} tests, one after another", sum.as_secs_f64(), times.len());
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<testsuites><testsuite name="inkcell::it">
        <testcase name="one::passes" classname="inkcell::it" timestamp="x" time="1.5"></testcase>
        <testcase name="two::fails" classname="inkcell::it" time="0.25"><failure type="x">said</failure></testcase>
        </testsuite><testsuite name="pytest"><testcase classname="crates.kernel.python.tests.test_names" name="test_a[x]" time="21.000" />
        </testsuite></testsuites>"#;

    #[test]
    fn reports_of_both_runners_are_read() {
        let read: Vec<_> =
            times(REPORT).into_iter().map(|time| (time.name, time.took.as_millis())).collect();
        let expected = [
            ("inkcell::it::one::passes", 1500),
            ("inkcell::it::two::fails", 250),
            ("test_names::test_a[x]", 21000),
        ];
        assert_eq!(read, expected.map(|(name, ms)| (name.to_owned(), ms)));
    }

    #[test]
    fn slowest_tests_come_first_and_the_sum_last() {
        let table = slowest(times(REPORT), 2);
        let lines: Vec<&str> = table.lines().skip(1).map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "21.0  test_names::test_a[x]  (above 20 s: make it quicker)",
                "1.5  inkcell::it::one::passes",
                "22.8  all 3 tests, one after another"
            ]
        );
    }
}
