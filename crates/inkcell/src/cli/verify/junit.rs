//! Checked notebooks as JUnit XML: a suite for each notebook, a test case for each cell.
//!
//! Owns the elements. The sentences are those of the report for people.

use super::report::{cell_name, reasons, sentence};
use super::{CheckedCell, Outcome, VerifiedNotebook};
use crate::batch::{escaped, seconds};
use crate::exit::Exit;
use crate::words;

/// What became of a test case.
enum Case {
    Passed,
    Skipped,
    Failure {
        kind: String,
        details: String,
    },
    /// It says nothing about the outputs.
    Error(String),
}

pub(super) fn junit(all: &[VerifiedNotebook]) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for checked in all {
        let cases = cases(checked);
        let of = |wanted: fn(&Case) -> bool| cases.iter().filter(|(_, case)| wanted(case)).count();
        let counts = [
            cases.len(),
            of(|case| matches!(case, Case::Failure { .. })),
            of(|case| matches!(case, Case::Error(_))),
            of(|case| matches!(case, Case::Skipped)),
        ];
        let name = escaped(&checked.path);
        let sums = sums(counts, &seconds(checked.took));
        suites.push_str(&format!("  <testsuite name=\"{name}\" {sums}>\n"));
        for (cell, case) in &cases {
            write_case(&checked.path, *cell, case, &mut suites);
        }
        suites.push_str("  </testsuite>\n");
        tests += counts[0];
        failures += counts[1];
        errors += counts[2];
        skipped += counts[3];
    }
    let took = seconds(all.iter().map(|checked| checked.took).sum());
    let sums = sums([tests, failures, errors, skipped], &took);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"inkcell\" {sums}>\n\
         {suites}</testsuites>\n"
    )
}

fn sums([tests, failures, errors, skipped]: [usize; 4], time: &str) -> String {
    format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" \
         time=\"{time}\""
    )
}

/// The test cases of a notebook, each with its cell. A notebook that was not compared is one case.
fn cases(checked: &VerifiedNotebook) -> Vec<(Option<&CheckedCell>, Case)> {
    match &checked.outcome {
        Outcome::NeverRun => {
            let details = words::verify::NEVER_RUN.to_owned();
            vec![(None, Case::Failure { kind: "never run".to_owned(), details })]
        }
        Outcome::Failed(refusal) => vec![(None, Case::Error(sentence(refusal)))],
        Outcome::Compared { cells, .. } => {
            let case = |cell: &CheckedCell| match (cell.is_good(), cell.is_skipped()) {
                (true, true) => Case::Skipped,
                (true, false) => Case::Passed,
                (false, _) => {
                    let lines = reasons(cell);
                    let kind = lines.first().map(|line| line.trim().to_owned()).unwrap_or_default();
                    Case::Failure { kind, details: lines.join("\n") }
                }
            };
            let mut cases: Vec<_> = cells.iter().map(|cell| (Some(cell), case(cell))).collect();
            if checked.exit() == Exit::KernelDied {
                cases.push((None, Case::Error(words::verify::KERNEL_DIED.to_owned())));
            }
            cases
        }
    }
}

fn write_case(path: &str, cell: Option<&CheckedCell>, case: &Case, out: &mut String) {
    let name = cell.map_or_else(|| "notebook".to_owned(), cell_name);
    let time = cell.map(|cell| format!(" time=\"{}\"", seconds(cell.took))).unwrap_or_default();
    let (path, name) = (escaped(path), escaped(&name));
    let head = format!("    <testcase classname=\"{path}\" name=\"{name}\" file=\"{path}\"{time}");
    let body = match case {
        Case::Passed => return out.push_str(&format!("{head}/>\n")),
        Case::Skipped => "<skipped/>".to_owned(),
        Case::Failure { kind, details } => {
            let (kind, details) = (escaped(kind), escaped(details));
            format!("<failure message=\"{kind}\">{details}</failure>")
        }
        Case::Error(message) => format!("<error message=\"{}\"/>", escaped(message)),
    };
    out.push_str(&format!("{head}>\n      {body}\n    </testcase>\n"));
}
