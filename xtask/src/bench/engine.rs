//! The family `engine`: a cell's way through the engine, output through sink and artifact, many sessions.
//!
//! Owns its command line, the tables and the goals. Everything is measured by a process from a release
//! build, in which what is compared takes turns. Must not know how a figure is taken.

mod host;
mod many;
mod output;
mod trip;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::{Value, json};

pub(super) use self::host::run as run_host;
use super::family::{Family, Options, Report, ask_host, is_wanted};
use super::peers;
use super::report::{Goal, cell};
use crate::workspace::Workspace;

const FAMILY: Family = Family { name: "engine", title: "Engine", notes: NOTES };

const NOTES: &[&str] = &[
    "Ratios are of medians inside one run; what is compared takes turns in one process.",
    "trip: the same kernel code `1`; bare is the backend alone, engine is a request to its report.",
    "output: bytes in memory, in chunks of 64 KiB; copy writes them to a new file, sink cleans, counts, keeps both ends and stores all of it. Nothing is synced in either.",
    "sessions: real kernels of a fork server; the host's own memory, descriptors and threads after 10,000 cells and after 10,000 more. Reports are kept for a second.",
];

const FAMILIES: [&str; 3] = ["trip", "output", "sessions"];

#[derive(Parser)]
#[command(name = "cargo xtask bench engine", bin_name = "cargo xtask bench engine")]
pub(super) struct EngineArgs {
    /// What to measure [default: all].
    #[arg(value_parser = FAMILIES)]
    families: Vec<String>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(args: &EngineArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut report = Report::begin(&FAMILY, &args.options, &workspace)?;
    let python = peers::python_env(&workspace)?;
    report.head(&python, Vec::new());
    let mut figures = serde_json::Map::new();
    let mut goals = Vec::new();
    for family in FAMILIES {
        if !is_wanted(&args.families, family) {
            continue;
        }
        let root = workspace.path("target/bench/engine");
        let task = host::Task {
            family: family.to_owned(),
            python: python.clone(),
            root: root.clone(),
            is_quick: args.options.quick,
        };
        let found = ask_host(&workspace, "engine-host", &root, &task)
            .with_context(|| format!("the family {family}"))?;
        goals.extend(show(family, &found));
        figures.insert(family.to_owned(), found);
    }
    report.close_with(&goals.iter().collect::<Vec<_>>(), &json!({"figures": figures}))
}

/// Prints what was found and says which goals it concerns.
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

    #[test]
    fn only_families_that_exist_can_be_asked_for() {
        assert!(EngineArgs::try_parse_from(["engine", "trip", "--quick"]).is_ok());
        assert!(EngineArgs::try_parse_from(["engine", "trips"]).is_err());
    }
}
