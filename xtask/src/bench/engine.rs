//! The family `engine`: a cell's path through the engine, output through sink and artifact, many
//! sessions.
//!
//! Owns its command line, the tables and the goals. A process from a release build measures everything,
//! and the contenders take turns in it. Must not know how a figure is taken.

mod host;
mod many;
mod output;
mod trip;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use self::host::Task;
pub(super) use self::host::run as run_host;
use super::arena::ask_host;
use super::family::{Family, NoArgs};
use super::peers;
use super::table::{Goal, cell};

static FAMILY: Family<()> = Family {
    name: "engine",
    title: "Engine",
    parts: &[("trip", ()), ("output", ()), ("sessions", ())],
    notes: NOTES,
};

const NOTES: &[&str] = &[
    "Ratios are of medians inside one run; what is compared takes turns in one process.",
    "trip: the same kernel code `1`; bare is the backend alone, engine is a request to its report.",
    "output: bytes in memory, in chunks of 64 KiB; copy writes them to a new file, sink cleans, counts, keeps both ends and stores all of it. Nothing is synced in either.",
    "sessions: real kernels of a fork server; the host's own memory, descriptors and threads after 10,000 cells and after 10,000 more. Reports are kept for a second.",
];

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<NoArgs>(args)?;
    let python = peers::python_env(&report.workspace)?;
    report.head(&python, Vec::new());
    let root = report.workspace.path("target/bench/engine");
    let mut figures = Map::new();
    let wanted: Vec<_> = report.wanted().collect();
    for (part, ()) in wanted {
        let family = (*part).to_owned();
        let is_quick = report.is_quick();
        let task = Task { family, python: python.clone(), root: root.clone(), is_quick };
        let found = ask_host(&report.workspace, "engine-host", &root, &task)
            .with_context(|| format!("the family {part}"))?;
        report.add_goals(show(part, &found));
        figures.insert((*part).to_owned(), found);
    }
    report.note("figures", json!(figures));
    report.close()
}

/// Prints the figures and returns the goals that they concern.
fn show(family: &str, found: &Value) -> Vec<Goal> {
    println!("\n### {family}\n\n| figure | value |\n| --- | ---: |");
    for (name, value) in found.as_object().into_iter().flatten() {
        println!("| {name} | {} |", cell(value.as_f64(), ""));
    }
    let figure = |name: &str| found[name].as_f64();
    let ratio = |one: &str, other: &str| Some(figure(one)? / figure(other)?);
    let grown = |name: &str| {
        Some(figure(&format!("{name} at the end"))? - figure(&format!("{name} after half"))?)
    };
    match family {
        "trip" => {
            vec![Goal::at_most("trivial cell, engine to bare", ratio("engine us", "bare us"), 3.0)]
        }
        "output" => vec![
            Goal::at_least(
                "text without escapes, speed to a copy",
                ratio("plain MB/s", "copy MB/s"),
                0.5,
            ),
            Goal::at_least("text full of escapes", figure("escapes MB/s"), 80.0)
                .counted_in(" MB/s"),
        ],
        _ => vec![
            Goal::at_most("100 sessions, memory grown by", grown("MiB"), 4.0).counted_in(" MiB"),
            Goal::at_most("100 sessions, descriptors grown by", grown("descriptors"), 0.0)
                .counted_in(""),
            Goal::at_most("100 sessions, threads grown by", grown("threads"), 0.0).counted_in(""),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_made_of_the_figures() {
        let goals = show("trip", &json!({"bare us": 100.0, "engine us": 250.0}));
        assert!(goals.iter().all(Goal::passed));
        let goals = show("output", &json!({"copy MB/s": 900.0, "plain MB/s": 400.0}));
        assert_eq!(goals.iter().filter(|goal| goal.passed()).count(), 0);
        let flat = json!({"MiB after half": 30.0, "MiB at the end": 31.5,
            "descriptors after half": 600, "descriptors at the end": 601});
        let passed: Vec<bool> = show("sessions", &flat).iter().map(Goal::passed).collect();
        assert_eq!(passed, [true, false, false]);
    }
}
