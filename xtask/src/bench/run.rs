//! The family `run`: compares runs of notebooks, from the command line and by an agent, with the
//! peers.
//!
//! Owns its command line, the tables and the goals. Must not know the command line of any contender.

mod file;
mod served;
mod written;

use anyhow::{Context as _, Result};
use serde_json::json;

pub(super) use self::file::{LIBRARIES, Subject};
use super::arena::Arena;
use super::contender::{
    Contender, DRAWS, EXECUTE, NB_CLI, NBCLIENT, NOTEBOOK, PAPERMILL, PLAIN, RAW, RUN, RUN_GATEWAY,
    RUN_ZMQ,
};
use super::family::{Family, RoundsArg};
use super::measure::{Row, Rows, Size};
use super::peers;
use super::table::{Column, Goal, PROCESS, Statistic, Table};
use crate::system::{self, Tracing};
use crate::workspace::Workspace;
use crate::{child, servers};

const NOTES: &[&str] = &[
    "Whole processes, from before the start to after the end; medians inside one table. Runners take turns within a round, each round begins with another one, one round before the first warms up.",
    "Everybody uses the same interpreter and sees the same environment, made from a list. Each starts from a fresh copy of the notebook and must leave all cells run, without an error, and the pictures in it; otherwise it has no figures. inkcell fsyncs file and folder, the others do not.",
    "analysis: 50 cells with numpy, pandas and two plots. The plain script has the same code; without a screen its plt.show() draws nothing, so that the runners draw two figures more. The other script draws them as files.",
    "served: a call of the tool with a new kernel, from the question to the answer, beside a whole process of nbclient. The server's start and its imports come before.",
    "durable: papermill and inkcell as they are set: both save after each cell. A cell's share is the median for 200 cells less the median for one, divided by 199.",
    "written: every byte handed to the system for the notebook's folder and the state folder, counted by strace, which makes the run a little slower. A run again finds the outputs of the first in the file. Cells that take a while take 0.3 s each, so that time alone would allow many saves.",
    "flood: a cell with 20,000 displays and one with 20,000 flushed lines, by kernels of Jupyter, in the environment that has a server. The raw reader takes what the same kernel sends and stores nothing. The gateway runs before the first round. Of inkcell all displays are counted. nbclient may lose some and is timed all the same: a kernel drops messages that are not read in time.",
];

type Measure = fn(&Arena, &Size) -> Result<Table>;

static FAMILY: Family<Measure> = Family {
    name: "run",
    title: "Notebooks that are run",
    parts: &[
        ("analysis", analysis),
        ("served", serve),
        ("trivial", trivial),
        ("durable", durable),
        ("written", written),
        ("flood", flood),
    ],
    notes: NOTES,
};

/// The number of cells in the table `durable`.
const MANY: usize = 200;
const RUN_ONE: Contender = RUN.called("inkcell run, one cell");
const PAPERMILL_ONE: Contender = PAPERMILL.called("papermill, one cell");

const FIRST: &str = "first run";
const SLOW: &str = "first run, cells take a while";
const AGAIN: &str = "run again";

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<RoundsArg>(args)?;
    let python = peers::python_env(&report.workspace)?;
    let nb = peers::nb_cli(&report.workspace, &mut report.missing);
    let mut versions = peers::pinned(&report.workspace)?;
    versions.extend(nb.is_some().then(peers::nb_cli_version));
    report.head(&python, versions);
    let mut arena = Arena::new(&report.workspace, FAMILY.name, &python)?;
    arena.programs.nb = nb;
    let size = report.size(report.extra.rounds, None);
    report.measure(|_, measure| Ok(vec![measure(&arena, &size)?]))?;
    report.close()
}

/// A table of contenders that all run the same notebook, compared with one of them.
fn compare(
    arena: &Arena,
    size: &Size,
    part: &'static str,
    title: &str,
    contenders: &[(Contender, &Subject)],
    rounds: usize,
) -> Result<Table> {
    let columns = [&PROCESS[..], &[TIMES_RUN]].concat();
    Table::measure(part, title, columns, || arena.run_notebooks(contenders, size.rounds(rounds, 1)))
}

const TIMES_RUN: Column = Column("times inkcell run", Statistic::Times("ms", RUN.name));

fn analysis(arena: &Arena, size: &Size) -> Result<Table> {
    let subject = Subject::analysis();
    let contenders =
        [PLAIN, DRAWS, RUN, NBCLIENT, PAPERMILL, NB_CLI].map(|contender| (contender, &subject));
    let title = "50 cells: imports, pandas, two plots";
    let mut table = compare(arena, size, "analysis", title, &contenders, 9)?;
    table.goals = analysis_goals(&table);
    Ok(table)
}

fn analysis_goals(table: &Table) -> Vec<Goal> {
    let to = |base: Contender| table.times("ms", RUN.name, base.name);
    let quicker = |than: Contender| table.times("ms", than.name, RUN.name);
    vec![
        Goal::at_most("analysis, time to the same code as a plain script", to(PLAIN), 1.15),
        Goal::at_most("analysis, time to the script that draws its figures", to(DRAWS), 1.15),
        Goal::at_least("analysis, quicker than nbclient", quicker(NBCLIENT), 1.8),
        Goal::at_least("analysis, quicker than papermill", quicker(PAPERMILL), 2.5),
        Goal::at_least("analysis, quicker than nb-cli", quicker(NB_CLI), 1.0),
    ]
}

fn serve(arena: &Arena, size: &Size) -> Result<Table> {
    let times = Column("times the tool", Statistic::Times("ms", served::SERVED));
    let columns = [&PROCESS[..3], &[times]].concat();
    let title = "the same by a server that is there";
    let mut table = Table::measure("served", title, columns, || {
        served::rows(arena, &Subject::analysis(), size.rounds(9, 1))
    })?;
    let ratio = table.times("ms", NBCLIENT.name, served::SERVED);
    table.goals = vec![Goal::at_least("notebook_run, quicker than nbclient", ratio, 5.0)];
    Ok(table)
}

fn trivial(arena: &Arena, size: &Size) -> Result<Table> {
    let subject = Subject::trivial(50);
    let contenders = [RUN, NB_CLI, EXECUTE].map(|contender| (contender, &subject));
    let title = "50 cells that do nothing";
    let mut table = compare(arena, size, "trivial", title, &contenders, 9)?;
    let quicker = |than: Contender| table.times("ms", than.name, RUN.name);
    table.goals = vec![
        Goal::at_least("50 trivial cells, quicker than nb-cli", quicker(NB_CLI), 5.0),
        Goal::at_least("50 trivial cells, quicker than jupyter execute", quicker(EXECUTE), 20.0),
    ];
    Ok(table)
}

fn durable(arena: &Arena, size: &Size) -> Result<Table> {
    let (many, one) = (Subject::trivial(MANY), Subject::trivial(1));
    let contenders = [(RUN_ONE, &one), (PAPERMILL_ONE, &one), (RUN, &many), (PAPERMILL, &many)];
    let title = "200 cells that do nothing, saved after each";
    let mut table = compare(arena, size, "durable", title, &contenders, 3)?;
    for (one, all) in [(RUN_ONE, RUN), (PAPERMILL_ONE, PAPERMILL)] {
        let median = |name: &str| table.row(name)?.median("ms");
        if let (Some(first), Some(whole)) = (median(one.name), median(all.name)) {
            let share = (whole - first) / (MANY - 1) as f64;
            table.add(all.name, &json!({"cell_ms": share}));
        }
    }
    table.columns.truncate(3);
    table.columns.push(Column("a cell ms", Statistic::Median("cell_ms")));
    let ratio = table.times("cell_ms", PAPERMILL.name, RUN.name);
    table.goals = vec![Goal::at_least("200 cells, less for each than papermill", ratio, 20.0)];
    Ok(table)
}

fn written(arena: &Arena, size: &Size) -> Result<Table> {
    let megabytes = size.pick(50, 5);
    let title = format!("100 cells that print {megabytes} MB");
    let columns = vec![
        Column("size in the end MB", Statistic::Median("size")),
        Column("to its folder MB", Statistic::Median("beside")),
        Column("to the state folder MB", Statistic::Median("state")),
        Column("times the size", Statistic::Median("times")),
    ];
    let mut table =
        Table::measure("written", title, columns, || written_rows(arena, size, megabytes))?;
    table.goals = written_goals(&table);
    Ok(table)
}

fn written_rows(arena: &Arena, size: &Size, megabytes: usize) -> Result<Rows> {
    let quick = Subject::printing(megabytes, 0.0);
    let slow = Subject::printing(megabytes, if size.is_quick { 0.01 } else { 0.3 });
    let command = arena.process(&RUN, &[]).context("inkcell has a command")?.command;
    let tracing = system::prepare();
    let mut rows = Rows::new();
    for (name, subject) in [(FIRST, &quick), (AGAIN, &quick), (SLOW, &slow)] {
        let mut row = Row::default();
        // The second run uses the notebook of the first, which has outputs already.
        let dir = match name {
            AGAIN => arena.folder(FIRST),
            _ => arena.fresh(name, subject)?,
        };
        let file = dir.join(NOTEBOOK);
        let counted = match &tracing {
            Tracing::Works => written::count(arena, &command, &dir),
            Tracing::Missing(why) => Err(anyhow::Error::msg(*why)),
        };
        let checked = counted.and_then(|written| {
            subject.check(&file).map_err(anyhow::Error::msg)?;
            Ok(written)
        });
        match checked {
            Ok(written) => {
                let (size, mega) = (file.metadata()?.len() as f64, 1e6);
                row.add(&json!({"size": size / mega, "beside": written.beside as f64 / mega,
                    "state": written.state as f64 / mega, "times": written.all() as f64 / size}));
            }
            Err(failure) => row.failure = Some(format!("{failure:#}")),
        }
        rows.push((name, row));
    }
    Ok(rows)
}

fn flood(_arena: &Arena, size: &Size) -> Result<Table> {
    let workspace = Workspace::find()?;
    let arena = Arena::new(&workspace, "run-flood", &servers::jupyter(&workspace)?)?;
    let subject = Subject::flood(size.pick(20_000, 2_000));
    let mut lossy = subject.clone();
    lossy.displays = None;
    let contenders =
        [(RAW, &subject), (NBCLIENT, &lossy), (RUN_ZMQ, &subject), (RUN_GATEWAY, &subject)];
    let title = "20,000 displays, 20,000 lines";
    let table = compare(&arena, size, "flood", title, &contenders, 3);
    child::capture(arena.command(&arena.inkcell, &arena.work()).args(["gateway", "stop"]))?;
    let mut table = table?;
    table.columns.pop();
    table.columns.push(Column("times nbclient", Statistic::Times("ms", NBCLIENT.name)));
    table.goals = flood_goals(&table);
    Ok(table)
}

/// Issue 21, 19: no slower than nbclient, and at most 1.3 times a raw reader of the same kernel.
fn flood_goals(table: &Table) -> Vec<Goal> {
    let goal = |ours: Contender, other: Contender, limit: f64| {
        let text = format!("flood, {}, time to {}", ours.name, other.name);
        Goal::at_most(text, table.times("ms", ours.name, other.name), limit)
    };
    let each = [RUN_ZMQ, RUN_GATEWAY].map(|ours| [goal(ours, NBCLIENT, 1.0), goal(ours, RAW, 1.3)]);
    each.into_iter().flatten().collect()
}

fn written_goals(table: &Table) -> Vec<Goal> {
    let goal = |name: &str| {
        let times = table.row(name).and_then(|row| row.median("times"));
        Goal::at_most(format!("written to the size in the end, {name}"), times, 4.0)
    };
    [FIRST, AGAIN, SLOW].map(goal).into()
}

#[cfg(test)]
mod tests {
    use super::super::table::table_of;
    use super::*;

    fn passed(goals: &[Goal]) -> Vec<bool> {
        goals.iter().map(Goal::passed).collect()
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        let table = table_of(&[
            (PLAIN.name, 100.0),
            (DRAWS.name, 101.0),
            (RUN.name, 116.0),
            (NBCLIENT.name, 116.0 * 1.8),
            (PAPERMILL.name, 116.0 * 2.4),
        ]);
        // The figures lack a row that the last goal needs, so that goal is missed.
        assert_eq!(passed(&analysis_goals(&table)), [false, true, true, false, false]);
        let mut table = table_of(&[(FIRST, 1.0), (AGAIN, 1.0)]);
        table.add(FIRST, &json!({"times": 4.0}));
        table.add(AGAIN, &json!({"times": 4.1}));
        assert_eq!(passed(&written_goals(&table)), [true, false, false]);
        let table = table_of(&[
            (RAW.name, 100.0),
            (NBCLIENT.name, 125.0),
            (RUN_ZMQ.name, 120.0),
            (RUN_GATEWAY.name, 128.0),
        ]);
        assert_eq!(passed(&flood_goals(&table)), [true, true, false, true]);
    }
}
