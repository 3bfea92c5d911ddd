//! The family `mcp`: compares the server for agents, its start, a call and its memory, with the peers.
//!
//! Owns its command line, the tables and the goals. A process from a dist build measures everything, and the
//! contenders take turns in it. Must not know how a figure is taken.

mod client;
mod host;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;

pub(super) use self::client::Client;
pub(super) use self::host::run as run_host;
use self::host::{Job, Task, Who};
use super::arena::ask_host;
use super::family::Family;
use super::measure::Rows;
use super::peers;
use super::table::{Column, Goal, MS_P99, Statistic, Table};
use crate::python_env::Environment;
use crate::workspace::Workspace;

static FAMILY: Family<Job> = Family {
    name: "mcp",
    title: "The server for agents",
    parts: &[("start", Job::Start), ("call", Job::Call)],
    notes: NOTES,
};

const NOTES: &[&str] = &[
    "Medians inside one table. Servers take turns within a round, each round begins with another one, one round before the first warms up. One client asks all of them, message by message over pipes; a time ends when the line of the answer has been read.",
    "start: a new process, `initialize`, `tools/list`. The Jupyter server that jupyter-mcp-server needs is running already, and its own start is not in any ratio; no kernel is started for it. inkcell has been started before, so that it remembers which Python there is; the row with the empty state folder has not.",
    "start, memory: of the server's own process when it has listed its tools, and again after a first call, which starts a Python.",
    "call: a warm session. The bare server's tool does nothing, inkcell's runs `1+1` in a Python of its own. jupyter-mcp-server looks once a second whether the code has ended (its progress_interval of 5 s, divided by 5), so that a call takes a second whatever the code: read its row as that, not as work.",
    "ends: from the client's going to the end of the process; a dash where it was still there after 3 s and had to be ended.",
    "The bare server has an environment of its own, so that nothing else that is installed can weigh on it.",
];

const BARE_ENV: Environment<'_> = Environment {
    dir: "target/bench-env-mcp",
    requirements: "xtask/requirements-bench-mcp.txt",
    modules: "mcp",
};
const JUPYTER_ENV: Environment<'_> = Environment {
    dir: "target/bench-env-jupyter-mcp",
    requirements: "xtask/requirements-bench-jupyter-mcp.txt",
    modules: "jupyter_mcp_server, ipykernel",
};

const INKCELL: &str = Who::Inkcell.name();
const BARE: &str = Who::Bare.name();
const JUPYTER: &str = Who::Jupyter.name();
/// Not a contender: a server that one of them needs.
const SERVER: &str = "(the Jupyter server, once)";
const ROWS: [&str; 5] = [INKCELL, Who::InkcellFirst.name(), BARE, JUPYTER, SERVER];

#[derive(Args)]
struct Extra {
    /// Rounds for each table [default: 9].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Leave out jupyter-mcp-server and its Jupyter server; goals about it are then missed.
    #[arg(long)]
    no_jupyter: bool,
}

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<Extra>(args)?;
    let bare_python = peers::environment(&report.workspace, &BARE_ENV)?;
    let mut versions = peers::pinned_in(&report.workspace, BARE_ENV.requirements)?;
    let jupyter_python = if report.extra.no_jupyter {
        None
    } else {
        let more = peers::pinned_in(&report.workspace, JUPYTER_ENV.requirements)?;
        let more: Vec<_> = more.into_iter().filter(|one| !versions.contains(one)).collect();
        versions.extend(more);
        Some(peers::environment(&report.workspace, &JUPYTER_ENV)?)
    };
    report.head(&bare_python, versions);
    let size = report.size(report.extra.rounds, None);
    let workspace = Workspace::find()?;
    let mut task = Task {
        job: Job::Start,
        inkcell: peers::built(&workspace, "inkcell"),
        bare: workspace.path(peers::SCRIPTS).join("mcp_bare.py"),
        bare_python,
        jupyter_python,
        root: workspace.path("target/bench/mcp"),
        rounds: size.rounds(9, 1).count,
        calls: size.pick(200, 20),
    };
    report.measure(|_, job| {
        task.job = *job;
        let take = || rows(&ask_host(&workspace, "mcp-host", &task.root, &task)?);
        Ok(vec![table(*job, take)?])
    })?;
    report.close()
}

/// Reads the figures of each contender, in the order of the table.
fn rows(found: &Value) -> Result<Rows> {
    let found_of = |name: &'static str| {
        let row = found.get(name)?;
        let row = serde_json::from_value(row.clone());
        Some(row.with_context(|| format!("the figures of {name}")).map(|row| (name, row)))
    };
    ROWS.into_iter().filter_map(found_of).collect()
}

/// Measures one job and makes a table with its goals.
fn table(job: Job, take: impl FnOnce() -> Result<Rows>) -> Result<Table> {
    let mut columns = MS_P99.to_vec();
    columns.push(Column("times inkcell", Statistic::Times("ms", INKCELL)));
    let (name, title) = match job {
        Job::Start => {
            columns.extend([
                Column("RSS MiB", Statistic::Most("rss_mib")),
                Column("PSS MiB", Statistic::Most("pss_mib")),
                Column("first call ms", Statistic::Median("first_call_ms")),
                Column("RSS then MiB", Statistic::Most("called_mib")),
                Column("ends ms", Statistic::Median("end_ms")),
            ]);
            ("start", "a new server until it has listed its tools")
        }
        Job::Call => {
            columns.extend([
                Column("RSS at the end MiB", Statistic::Most("rss_mib")),
                Column("PSS MiB", Statistic::Most("pss_mib")),
            ]);
            ("call", "a call of a server that is there")
        }
    };
    let mut table = Table::measure(name, title, columns, take)?;
    table.goals = goals(job, &table);
    Ok(table)
}

fn goals(job: Job, table: &Table) -> Vec<Goal> {
    if job == Job::Call {
        let ratio = table.times("ms", INKCELL, BARE);
        let text = "`1+1` by the python tool, time to the bare SDK server's empty tool";
        return vec![Goal::at_most(text, ratio, 1.0)];
    }
    let idle = table.row(INKCELL).and_then(|row| row.most("rss_mib"));
    vec![
        Goal::at_least(
            "start to tools/list, quicker than jupyter-mcp-server",
            table.times("ms", JUPYTER, INKCELL),
            100.0,
        ),
        Goal::at_least(
            "start to tools/list, quicker than the bare SDK server",
            table.times("ms", BARE, INKCELL),
            20.0,
        ),
        Goal::at_most("memory of the idle server, RSS", idle, 25.0).counted_in(" MiB"),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::measure::Row;
    use super::*;

    fn row(figures: &Value) -> Value {
        let mut row = Row::default();
        row.add(figures);
        serde_json::to_value(&row).unwrap()
    }

    fn passed(job: Job, found: &Value) -> Vec<bool> {
        let table = table(job, || rows(found)).unwrap();
        table.goals.iter().map(Goal::passed).collect()
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        let mut found = json!({
            INKCELL: row(&json!({"ms": [4.0, 5.0, 6.0], "rss_mib": [10.0, 11.0]})),
            BARE: row(&json!({"ms": 100.0})),
            JUPYTER: row(&json!({"ms": 499.0})),
        });
        assert_eq!(passed(Job::Start, &found), [false, true, true]);
        found[JUPYTER] = row(&json!({"ms": 500.0}));
        // The largest memory of all samples counts.
        found[INKCELL] = row(&json!({"ms": 5.0, "rss_mib": [10.0, 25.5]}));
        assert_eq!(passed(Job::Start, &found), [true, true, false]);
        let equal = json!({INKCELL: row(&json!({"ms": 0.4})), BARE: row(&json!({"ms": 0.4}))});
        assert_eq!(passed(Job::Call, &equal), [true]);
        let slower = json!({INKCELL: row(&json!({"ms": 0.5})), BARE: row(&json!({"ms": 0.4}))});
        assert_eq!(passed(Job::Call, &slower), [false]);
    }

    #[test]
    fn a_row_that_failed_or_is_missing_meets_no_goal() {
        let failed = json!({"figures": {"ms": [900.0]}, "failure": "gone"});
        let ours = row(&json!({"ms": 1.0, "rss_mib": 9.0}));
        assert_eq!(passed(Job::Start, &json!({INKCELL: ours, BARE: failed})), [false, false, true]);
    }

    #[test]
    fn the_jupyter_server_can_be_left_out() {
        assert!(FAMILY.accepts::<Extra>(&["call", "--quick", "--no-jupyter"]));
    }
}
