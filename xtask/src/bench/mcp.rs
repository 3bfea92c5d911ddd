//! The family `mcp`: the server for agents, its start, a call, and its memory, beside the peers.
//!
//! Owns its command line, the tables and the goals. Everything is measured by a process from a dist build, in
//! which what is compared takes turns. Must not know how a figure is taken.

mod client;
mod host;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::Value;

pub(super) use self::client::Client;
pub(super) use self::host::run as run_host;
use self::host::{Task, Who};
use super::family::{Family, Options, Report, ask_host, is_wanted};
use super::notebook::load;
use super::peers;
use super::report::Goal;
use super::row::Row;
use super::table::{Column, Shown, Table};
use crate::python_env::Environment;
use crate::workspace::Workspace;

const FAMILY: Family = Family { name: "mcp", title: "The server for agents", notes: NOTES };

const NOTES: &[&str] = &[
    "Medians inside one table. Servers take turns within a round, each round begins with another one, one round before the first warms up. One client asks all of them, message by message over pipes; a time ends when the line of the answer has been read.",
    "start: a new process, `initialize`, `tools/list`. The Jupyter server that jupyter-mcp-server needs is running already, and its own start is not in any ratio; no kernel is started for it. inkcell has been started before, so that it remembers which Python there is; the row with the empty state folder has not.",
    "start, memory: of the server's own process when it has listed its tools, and again after a first call, which starts a Python.",
    "call: a warm session. The bare server's tool does nothing, inkcell's runs `1+1` in a Python of its own. jupyter-mcp-server looks once a second whether the code has ended (its progress_interval of 5 s, divided by 5), so that a call takes a second whatever the code: read its row as that, not as work.",
    "ends: from the client's going to the end of the process; a dash where it was still there after 3 s and had to be ended.",
    "The bare server has an environment of its own, so that nothing else that is installed can weigh on it.",
];

const FAMILIES: [&str; 2] = ["start", "call"];
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
/// Not a contender: what one of them cannot do without.
const SERVER: &str = "(the Jupyter server, once)";
const ROWS: [&str; 5] = [INKCELL, Who::InkcellFirst.name(), BARE, JUPYTER, SERVER];

#[derive(Parser)]
#[command(name = "cargo xtask bench mcp", bin_name = "cargo xtask bench mcp")]
pub(super) struct McpArgs {
    /// What to measure [default: all].
    #[arg(value_parser = FAMILIES)]
    families: Vec<String>,
    /// Rounds for each family [default: 9].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Leave jupyter-mcp-server and its Jupyter server out; the goals about it are then missed.
    #[arg(long)]
    no_jupyter: bool,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(args: &McpArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut report = Report::begin(&FAMILY, &args.options, &workspace)?;
    let bare_python = peers::environment(&workspace, &BARE_ENV)?;
    let mut versions = peers::pinned_in(&workspace, BARE_ENV.requirements)?;
    let jupyter_python = if args.no_jupyter {
        None
    } else {
        let more = peers::pinned_in(&workspace, JUPYTER_ENV.requirements)?;
        let more: Vec<_> = more.into_iter().filter(|one| !versions.contains(one)).collect();
        versions.extend(more);
        Some(peers::environment(&workspace, &JUPYTER_ENV)?)
    };
    report.head(&bare_python, versions);
    let mut tables = Vec::new();
    for family in FAMILIES {
        if !is_wanted(&args.families, family) {
            continue;
        }
        let task = Task {
            family: family.to_owned(),
            inkcell: peers::built(&workspace, "inkcell"),
            bare: workspace.path(peers::SCRIPTS).join("mcp_bare.py"),
            bare_python: bare_python.clone(),
            jupyter_python: jupyter_python.clone(),
            root: workspace.path("target/bench/mcp"),
            rounds: args.rounds.unwrap_or(if args.options.quick { 1 } else { 9 }),
            calls: if args.options.quick { 20 } else { 200 },
        };
        let before = load();
        let found = ask_host(&workspace, "mcp-host", &task.root, &task)
            .with_context(|| format!("the family {family}"))?;
        let table = table(family, &found, [before, load()])?;
        table.print();
        tables.push(table);
    }
    report.close(&tables)
}

/// What was found, as a table with the goals it concerns.
fn table(family: &str, found: &Value, load: [String; 2]) -> Result<Table> {
    let mut rows = Vec::new();
    for name in ROWS {
        if let Some(row) = found.get(name) {
            let row: Row = serde_json::from_value(row.clone())
                .with_context(|| format!("the figures of {name}"))?;
            rows.push((name, row));
        }
    }
    let mut columns = vec![
        Column("n", Shown::Count("ms")),
        Column("median ms", Shown::Median("ms")),
        Column("min ms", Shown::Least("ms")),
        Column("p99 ms", Shown::P99("ms")),
        Column("times inkcell", Shown::Times("ms", INKCELL)),
    ];
    let (name, title) = match family {
        "start" => ("start", "a new server until it has listed its tools"),
        _ => ("call", "a call of a server that is there"),
    };
    if family == "start" {
        columns.extend([
            Column("RSS MiB", Shown::Most("rss_mib")),
            Column("PSS MiB", Shown::Most("pss_mib")),
            Column("first call ms", Shown::Median("first_call_ms")),
            Column("RSS then MiB", Shown::Most("called_mib")),
            Column("ends ms", Shown::Median("end_ms")),
        ]);
    } else {
        columns.extend([
            Column("RSS at the end MiB", Shown::Most("rss_mib")),
            Column("PSS MiB", Shown::Most("pss_mib")),
        ]);
    }
    let title = title.to_owned();
    let mut table = Table { family: name, title, columns, rows, goals: Vec::new(), load };
    table.goals = goals(&table);
    Ok(table)
}

fn goals(table: &Table) -> Vec<Goal> {
    if table.family == "call" {
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
    use super::*;
    use serde_json::json;

    fn row(figures: &Value) -> Value {
        let mut row = Row::default();
        row.add(figures);
        serde_json::to_value(&row).unwrap()
    }

    fn passed(family: &str, found: &Value) -> Vec<bool> {
        let table = table(family, found, [String::new(), String::new()]).unwrap();
        table.goals.iter().map(Goal::passed).collect()
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        let mut found = json!({
            INKCELL: row(&json!({"ms": [4.0, 5.0, 6.0], "rss_mib": [10.0, 11.0]})),
            BARE: row(&json!({"ms": 100.0})),
            JUPYTER: row(&json!({"ms": 499.0})),
        });
        assert_eq!(passed("start", &found), [false, true, true]);
        found[JUPYTER] = row(&json!({"ms": 500.0}));
        // The most that any of them held counts.
        found[INKCELL] = row(&json!({"ms": 5.0, "rss_mib": [10.0, 25.5]}));
        assert_eq!(passed("start", &found), [true, true, false]);
        let equal = json!({INKCELL: row(&json!({"ms": 0.4})), BARE: row(&json!({"ms": 0.4}))});
        assert_eq!(passed("call", &equal), [true]);
        let slower = json!({INKCELL: row(&json!({"ms": 0.5})), BARE: row(&json!({"ms": 0.4}))});
        assert_eq!(passed("call", &slower), [false]);
    }

    #[test]
    fn a_row_that_failed_or_is_missing_meets_no_goal() {
        let failed = json!({"figures": {"ms": [900.0]}, "failure": "gone"});
        let ours = row(&json!({"ms": 1.0, "rss_mib": 9.0}));
        assert_eq!(passed("start", &json!({INKCELL: ours, BARE: failed})), [false, false, true]);
    }

    #[test]
    fn only_families_that_exist_can_be_asked_for() {
        assert!(McpArgs::try_parse_from(["mcp", "call", "--quick", "--no-jupyter"]).is_ok());
        assert!(McpArgs::try_parse_from(["mcp", "calls"]).is_err());
    }
}
