//! The family `agent`: counts the calls and bytes that ten tasks of an agent take, beside those of an earlier edition.
//!
//! Owns its command line, the record of the earlier edition, the tables and the goals. A script with the official
//! client does the tasks. Must not know how a task is done.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arena::Arena;
use super::family::Family;
use super::measure::{Row, Rows};
use super::peers;
use super::table::{Column, Goal, Statistic, Table};
use crate::child;
use crate::python_env;
use crate::workspace::Workspace;

const NOTES: &[&str] = &[
    "Each task has a server and a folder of its own, and is checked at its end: files, answers, pictures. A task that does not reach its end has no figures.",
    "The script reads what an answer says and asks for what it leaves out, so an edition whose answer has it needs one call less. It is the same script for every edition.",
    "bytes: the arguments of all calls as JSON, and the text and links of all answers. A picture counts as one, whatever its size. Durations and ids in the answers move the bytes by a few from run to run.",
    "before: the recorded edition, of which `--record EDITION --binary PATH` takes the figures.",
    "target/bench/agent.txt has every call with its answer.",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Tasks,
    Told,
}

static FAMILY: Family<Part> = Family {
    name: "agent",
    title: "What an agent reads and writes",
    parts: &[("tasks", Part::Tasks), ("told", Part::Told)],
    notes: NOTES,
};

/// Names of the tasks, as the script has them.
const TASKS: [&str; 10] = [
    "create", "change", "long", "flood", "others", "pictures", "death", "clients", "inside",
    "slips",
];

/// The row with the sums.
const ALL: &str = "all tasks";

/// Figures that are summed.
const SUMMED: [&str; 7] =
    ["calls", "asked", "answered", "bytes", "pictures", "calls_before", "bytes_before"];

const SCRIPT: &str = "xtask/src/bench/agent/tasks.py";
const RECORD: &str = "xtask/src/bench/agent/recorded.json";
const REQUIREMENTS: &str = "xtask/requirements-test.txt";

#[derive(Args)]
struct Extra {
    /// Do only this task; give it again for another one.
    #[arg(long = "task", value_name = "NAME", value_parser = TASKS)]
    tasks: Vec<String>,
    /// Measure this inkcell; with --no-build, nothing is built.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Store the figures of the tasks as those of this edition, which later runs are compared with.
    #[arg(long, value_name = "EDITION")]
    record: Option<String>,
}

/// The figures of an earlier edition.
#[derive(Default, Serialize, Deserialize)]
struct Record {
    edition: String,
    tasks: BTreeMap<String, TaskRecord>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct TaskRecord {
    calls: u64,
    bytes: u64,
}

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<Extra>(args)?;
    let workspace = Workspace::find()?;
    let python = python_env::prepare(&workspace)?;
    let mut arena = Arena::new(&workspace, FAMILY.name, &python)?;
    if let Some(binary) = &report.extra.binary {
        arena.inkcell = binary.canonicalize().context("--binary names no program")?;
    }
    let client = peers::pinned_in(&workspace, REQUIREMENTS)?;
    let mut versions = vec![peers::first_line(Command::new(&arena.inkcell).arg("--version"))];
    versions.extend(client.into_iter().filter(|line| line.starts_with("mcp ")));
    report.head(&python, versions);
    arena.set("BENCH_INKCELL", arena.inkcell.clone());
    arena.set("INKCELL_HOST_USE", "on");
    arena.set("INKCELL_PYTHON_INTERPRETER", &python);
    // Paths appear in answers. In this folder their length does not depend on where the checkout is.
    arena.set("INKCELL_STATE_DIR", arena.runtime().join("state"));
    arena.set("XDG_RUNTIME_DIR", arena.runtime().to_owned());
    let record: Record = serde_json::from_slice(&std::fs::read(workspace.path(RECORD))?)
        .context("the figures of the earlier edition")?;
    let (tasks, edition) = (report.extra.tasks.clone(), report.extra.record.clone());
    if edition.is_some() && (!tasks.is_empty() || report.is_quick()) {
        bail!("only a whole run is recorded: leave out --task and --quick");
    }
    let task = json!({"tasks": tasks, "quick": report.is_quick(),
        "log": workspace.path("target/bench/agent.txt")});
    let mut figures = Value::Null;
    report.measure(|_, part| {
        let take = |part: &str| ask(&arena, &workspace, &task, part);
        Ok(vec![match part {
            Part::Tasks => tasks_table(&record, || {
                figures = take("tasks")?;
                Ok(figures.clone())
            })?,
            Part::Told => told_table(|| take("told"))?,
        }])
    })?;
    if let Some(edition) = edition {
        let text = serde_json::to_string_pretty(&recorded(edition, &figures)?)? + "\n";
        std::fs::write(workspace.path(RECORD), text)?;
    }
    report.close()
}

/// Runs the script; returns what it prints.
fn ask(arena: &Arena, workspace: &Workspace, task: &Value, part: &str) -> Result<Value> {
    let mut task = task.clone();
    task["part"] = part.into();
    let folder = arena.runtime().join(part);
    std::fs::create_dir_all(&folder)?;
    let mut command = arena.command(&arena.python, &folder);
    command.arg("-B").arg(workspace.path(SCRIPT)).arg(task.to_string());
    serde_json::from_str(&child::capture(&mut command)?).context("the script printed no figures")
}

/// The record of a run in which every task has reached its end.
fn recorded(edition: String, figures: &Value) -> Result<Record> {
    let task = |name: &str| -> Result<(String, TaskRecord)> {
        let figures = figures.get(name).unwrap_or(&Value::Null).clone();
        let task: TaskRecord = serde_json::from_value(figures)
            .with_context(|| format!("nothing is recorded: {name} has no figures"))?;
        Ok((name.to_owned(), task))
    };
    Ok(Record { edition, tasks: TASKS.into_iter().map(task).collect::<Result<_>>()? })
}

fn tasks_table(record: &Record, take: impl FnOnce() -> Result<Value>) -> Result<Table> {
    let columns = vec![
        Column("calls", Statistic::Whole("calls")),
        Column("before", Statistic::Whole("calls_before")),
        Column("bytes asked", Statistic::Whole("asked")),
        Column("answered", Statistic::Whole("answered")),
        Column("bytes", Statistic::Whole("bytes")),
        Column("before", Statistic::Whole("bytes_before")),
        Column("share", Statistic::MostShare("share")),
        Column("pictures", Statistic::Whole("pictures")),
        Column("s", Statistic::Whole("seconds")),
    ];
    let title = format!("beside edition {}", record.edition);
    let mut table = Table::measure("tasks", title, columns, || Ok(rows(&take()?, record)))?;
    table.goals = goals(&table);
    Ok(table)
}

/// A row for each task that was done, and one with the sums if all were.
fn rows(figures: &Value, record: &Record) -> Rows {
    let row = |name: &'static str| {
        let told = figures.get(name)?;
        let mut row = Row::default();
        row.add(told);
        row.failure = told["error"].as_str().map(str::to_owned);
        if let Some(TaskRecord { calls, bytes }) = record.tasks.get(name) {
            row.add(&json!({"calls_before": calls, "bytes_before": bytes}));
        }
        Some((name, row))
    };
    let mut rows: Rows = TASKS.into_iter().filter_map(row).collect();
    if rows.len() == TASKS.len() {
        let mut all = Row::default();
        for name in SUMMED {
            let sum: Option<f64> = rows.iter().map(|(_, row)| row.median(name)).sum();
            all.add(&json!({name: sum}));
        }
        rows.push((ALL, all));
    }
    for (_, row) in &mut rows {
        if let (Some(bytes), Some(before)) = (row.median("bytes"), row.median("bytes_before")) {
            row.add(&json!({"share": bytes / before}));
        }
    }
    rows
}

/// No task may take more calls than before, and all together may take half of the bytes.
fn goals(table: &Table) -> Vec<Goal> {
    let goal = |(name, row): &(&'static str, Row)| {
        if *name == ALL {
            let text = "all tasks, bytes to those of the edition before";
            return Goal::at_most(text, row.median("share"), 0.5);
        }
        let before = row.median("calls_before");
        let calls = before.and_then(|_| row.median("calls"));
        Goal::at_most(format!("{name}, calls"), calls, before.unwrap_or_default()).counted_in("")
    };
    table.rows.iter().map(goal).collect()
}

fn told_table(take: impl FnOnce() -> Result<Value>) -> Result<Table> {
    const NAME: &str = "inkcell mcp";
    let columns = vec![
        Column("tools/list bytes", Statistic::Whole("tools")),
        Column("instructions bytes", Statistic::Whole("instructions")),
    ];
    let take = || -> Result<Rows> {
        let mut row = Row::default();
        row.add(&take()?);
        Ok(vec![(NAME, row)])
    };
    let title = "what a model reads before its first call";
    let mut table = Table::measure("told", title, columns, take)?;
    let figure = |name: &str| table.row(NAME).and_then(|row| row.median(name));
    let tools = figure("tools").map(|bytes| bytes / 1e3);
    table.goals = vec![
        Goal::at_most("tools/list", tools, 12.0).counted_in(" KB"),
        Goal::at_most("instructions", figure("instructions"), 1024.0).counted_in(" bytes"),
    ];
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(calls: u64, bytes: u64) -> Value {
        let task = json!({"calls": calls, "asked": 0, "answered": bytes, "bytes": bytes,
            "pictures": 1, "seconds": 0.5});
        TASKS.into_iter().map(|name| (name.to_owned(), task.clone())).collect()
    }

    fn passed(figures: &Value, record: &Record) -> Vec<bool> {
        let table = tasks_table(record, || Ok(figures.clone())).unwrap();
        table.goals.iter().map(Goal::passed).collect()
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        let record = recorded("a".to_owned(), &figures(4, 1000)).unwrap();
        assert_eq!(passed(&figures(4, 500), &record), [true; 11]);
        let mut found = figures(4, 500);
        found["create"]["calls"] = 5.into();
        found["flood"]["bytes"] = 501.into();
        let missed: Vec<usize> = (0..11).filter(|at| !passed(&found, &record)[*at]).collect();
        assert_eq!(missed, [0, 10]);
    }

    #[test]
    fn a_task_that_failed_meets_no_goal_and_is_not_recorded() {
        let record = recorded("a".to_owned(), &figures(4, 1000)).unwrap();
        let mut found = figures(1, 1);
        found["slips"] = json!({"error": "gone"});
        let passed = passed(&found, &record);
        assert_eq!(passed.iter().filter(|passed| !**passed).count(), 2, "{passed:?}");
        let error = recorded("b".to_owned(), &found).err().unwrap().to_string();
        assert!(error.contains("slips has no figures"), "{error}");
    }

    #[test]
    fn some_tasks_alone_have_no_sum() {
        let mut found = figures(4, 500);
        found.as_object_mut().unwrap().retain(|name, _| name == "death");
        let rows = rows(&found, &Record::default());
        assert_eq!(rows.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["death"]);
        assert_eq!(rows[0].1.median("share"), None);
    }

    /// The script and this table must not differ.
    #[test]
    fn the_script_has_every_task() {
        let script = include_str!("agent/tasks.py");
        for name in TASKS {
            assert!(script.contains(&format!("\n    \"{name}\": ({name}, ")), "{name}");
        }
        let record: Record = serde_json::from_str(include_str!("agent/recorded.json")).unwrap();
        assert!(record.tasks.keys().all(|name| TASKS.contains(&name.as_str())));
    }

    #[test]
    fn one_task_can_be_asked_for() {
        assert!(FAMILY.accepts::<Extra>(&["tasks", "--task", "death", "--quick"]));
        assert!(!FAMILY.accepts::<Extra>(&["--task", "deaths"]));
    }
}
