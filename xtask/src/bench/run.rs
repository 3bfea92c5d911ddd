//! The family `run`: notebooks that are run, from the command line and by an agent, beside the peers.
//!
//! Owns its command line, the tables and the goals. Must not know the command line of any runner.

mod arena;
mod file;
mod runner;
mod served;
mod written;

use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::json;

pub(super) use self::arena::{Arena, Size};
pub(super) use self::file::{LIBRARIES, Subject};
use self::runner::NOTEBOOK;
pub(super) use self::runner::{Runner, folder};
use super::family::{Family, Options, Report, forget, measured};
use super::peers;
use super::report::Goal;
use super::row::Row;
use super::table::{Column, Shown, Table};
use crate::system::{self, Tracing};
use crate::workspace::Workspace;
use crate::{child, servers};

const FAMILY: Family = Family { name: "run", title: "Notebooks that are run", notes: NOTES };

const NOTES: &[&str] = &[
    "Whole processes, from before the start to after the end; medians inside one table. Runners take turns within a round, each round begins with another one, one round before the first warms up.",
    "Everybody uses the same interpreter and sees the same environment, made from a list. Each starts from a fresh copy of the notebook and must leave all cells run, without an error, and the pictures in it; otherwise it has no figures. inkcell fsyncs file and folder, the others do not.",
    "analysis: 50 cells with numpy, pandas and two plots. The plain script has the same code; without a screen its plt.show() draws nothing, so that the runners draw two figures more. The other script draws them as files.",
    "served: a call of the tool with a new kernel, from the question to the answer, beside a whole process of nbclient. The server's start and its imports come before.",
    "durable: papermill and inkcell as they are set: both save after each cell. A cell's share is the median for 200 cells less the median for one, divided by 199.",
    "written: every byte handed to the system for the notebook's folder and the state folder, counted by strace, which makes the run a little slower. A run again finds the outputs of the first in the file. Cells that take a while take 0.3 s each, so that time alone would allow many saves.",
    "flood: a cell with 20,000 displays and one with 20,000 flushed lines, by kernels of Jupyter, in the environment that has a server. The raw reader takes what the same kernel sends and stores nothing. The gateway runs before the first round. Of inkcell all displays are counted. nbclient may lose some and is timed all the same: a kernel drops messages that are not read in time.",
];

const FAMILIES: [(&str, Measure); 6] = [
    ("analysis", analysis),
    ("served", serve),
    ("trivial", trivial),
    ("durable", durable),
    ("written", written),
    ("flood", flood),
];

type Measure = fn(&Arena, &Size) -> Result<Table>;

/// Of the cells of the table `durable`.
const MANY: usize = 200;
const ONE_CELL: [(Runner, &str); 2] =
    [(Runner::Inkcell, "inkcell run, one cell"), (Runner::Papermill, "papermill, one cell")];

const FIRST: &str = "first run";
const SLOW: &str = "first run, cells take a while";
const AGAIN: &str = "run again";

#[derive(Parser)]
#[command(name = "cargo xtask bench run", bin_name = "cargo xtask bench run")]
pub(super) struct RunArgs {
    /// What to measure [default: all].
    #[arg(value_parser = FAMILIES.map(|family| family.0))]
    families: Vec<String>,
    /// Rounds for each table [default: its own].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(args: &RunArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut report = Report::begin(&FAMILY, &args.options, &workspace)?;
    let python = peers::python_env(&workspace)?;
    let nb = peers::nb_cli(&workspace, &mut report.missing);
    let mut versions = peers::pinned(&workspace)?;
    versions.extend(nb.is_some().then(peers::nb_cli_version));
    report.head(&python, versions);
    let arena = Arena::new(&workspace, FAMILY.name, python, nb)?;
    let size = Size { is_quick: args.options.quick, rounds: args.rounds };
    let measure = |measure: &Measure| measure(&arena, &size);
    let tables = measured(&args.families, &FAMILIES, measure)?;
    forget(&arena.root)?;
    report.close(&tables)
}

/// A table of whole processes, against ours.
fn processes(family: &'static str, title: &str, rows: Vec<(&'static str, Row)>) -> Table {
    let against = Column("times inkcell run", Shown::Times("ms", INKCELL));
    Table::of_processes(family, title, rows, against)
}

const INKCELL: &str = Runner::Inkcell.name();

fn analysis(arena: &Arena, size: &Size) -> Result<Table> {
    let subject = Subject::analysis();
    let all = [
        Runner::Script,
        Runner::Drawing,
        Runner::Inkcell,
        Runner::Nbclient,
        Runner::Papermill,
        Runner::NbCli,
    ];
    let contenders = all.map(|runner| (runner, runner.name(), &subject));
    let rows = arena.rows(&contenders, size.rounds(9))?;
    let mut table = processes("analysis", "50 cells: imports, pandas, two plots", rows);
    table.goals = analysis_goals(&table);
    Ok(table)
}

fn analysis_goals(table: &Table) -> Vec<Goal> {
    let times = |runner: Runner| table.times("ms", runner.name(), INKCELL);
    let script = table.times("ms", INKCELL, Runner::Script.name());
    let drawing = table.times("ms", INKCELL, Runner::Drawing.name());
    vec![
        Goal::at_most("analysis, time to the same code as a plain script", script, 1.15),
        Goal::at_most("analysis, time to the script that draws its figures", drawing, 1.15),
        Goal::at_least("analysis, quicker than nbclient", times(Runner::Nbclient), 1.8),
        Goal::at_least("analysis, quicker than papermill", times(Runner::Papermill), 2.5),
        Goal::at_least("analysis, quicker than nb-cli", times(Runner::NbCli), 1.0),
    ]
}

fn serve(arena: &Arena, size: &Size) -> Result<Table> {
    let rows = served::rows(arena, &Subject::analysis(), size.rounds(9))?;
    let mut table = processes("served", "the same by a server that is there", rows);
    table.columns.truncate(3);
    table.columns.push(Column("times the tool", Shown::Times("ms", served::SERVED)));
    let ratio = table.times("ms", Runner::Nbclient.name(), served::SERVED);
    table.goals = vec![Goal::at_least("notebook_run, quicker than nbclient", ratio, 5.0)];
    Ok(table)
}

fn trivial(arena: &Arena, size: &Size) -> Result<Table> {
    let subject = Subject::trivial(50);
    let all = [Runner::Inkcell, Runner::NbCli, Runner::Execute];
    let contenders = all.map(|runner| (runner, runner.name(), &subject));
    let rows = arena.rows(&contenders, size.rounds(9))?;
    let mut table = processes("trivial", "50 cells that do nothing", rows);
    let times = |runner: Runner| table.times("ms", runner.name(), INKCELL);
    table.goals = vec![
        Goal::at_least("50 trivial cells, quicker than nb-cli", times(Runner::NbCli), 5.0),
        Goal::at_least(
            "50 trivial cells, quicker than jupyter execute",
            times(Runner::Execute),
            20.0,
        ),
    ];
    Ok(table)
}

fn durable(arena: &Arena, size: &Size) -> Result<Table> {
    let (many, one) = (Subject::trivial(MANY), Subject::trivial(1));
    let mut contenders: Vec<_> =
        ONE_CELL.iter().map(|(runner, name)| (*runner, *name, &one)).collect();
    contenders.extend(ONE_CELL.iter().map(|(runner, _)| (*runner, runner.name(), &many)));
    let mut rows = arena.rows(&contenders, size.rounds(3))?;
    for (runner, one) in ONE_CELL {
        let median = |name: &str| rows.iter().find(|(of, _)| *of == name)?.1.median("ms");
        if let (Some(all), Some(first)) = (median(runner.name()), median(one)) {
            let share = (all - first) / (MANY - 1) as f64;
            let row = rows.iter_mut().find(|(of, _)| *of == runner.name());
            row.context("a row that has a median")?.1.add(&json!({"cell_ms": share}));
        }
    }
    let mut table = processes("durable", "200 cells that do nothing, saved after each", rows);
    table.columns.truncate(3);
    table.columns.push(Column("a cell ms", Shown::Median("cell_ms")));
    let ratio = table.times("cell_ms", Runner::Papermill.name(), INKCELL);
    table.goals = vec![Goal::at_least("200 cells, less for each than papermill", ratio, 20.0)];
    Ok(table)
}

fn written(arena: &Arena, size: &Size) -> Result<Table> {
    let megabytes = if size.is_quick { 5 } else { 50 };
    let quick = Subject::printing(megabytes, 0.0);
    let slow = Subject::printing(megabytes, if size.is_quick { 0.01 } else { 0.3 });
    let command = arena.programs.command(Runner::Inkcell).context("inkcell has a command")?;
    let tracing = system::prepare();
    let mut rows = Vec::new();
    for (name, subject) in [(FIRST, &quick), (AGAIN, &quick), (SLOW, &slow)] {
        let mut row = Row::default();
        // Run again is what was run first: its outputs are there already.
        let dir = match name {
            AGAIN => folder(&arena.root, FIRST),
            _ => arena.fresh(name, subject)?,
        };
        let (file, state) = (dir.join(NOTEBOOK), arena.root.join("state"));
        let counted = match &tracing {
            Tracing::Works => {
                written::count(&arena.watch, &command, &arena.root.join("traces"), &dir, &state)
            }
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
    let title = format!("100 cells that print {megabytes} MB");
    let mut table = processes("written", &title, rows);
    table.columns = vec![
        Column("size in the end MB", Shown::Median("size")),
        Column("to its folder MB", Shown::Median("beside")),
        Column("to the state folder MB", Shown::Median("state")),
        Column("times the size", Shown::Median("times")),
    ];
    table.goals = written_goals(&table);
    Ok(table)
}

fn flood(_arena: &Arena, size: &Size) -> Result<Table> {
    let workspace = Workspace::find()?;
    let arena = Arena::new(&workspace, "run-flood", servers::jupyter(&workspace)?, None)?;
    let subject = Subject::flood(if size.is_quick { 2_000 } else { 20_000 });
    let mut lossy = subject.clone();
    lossy.displays = None;
    let all = [Runner::Raw, Runner::Nbclient, Runner::OverZmq, Runner::OverGateway];
    let contenders = all.map(|runner| {
        let wanted = if runner == Runner::Nbclient { &lossy } else { &subject };
        (runner, runner.name(), wanted)
    });
    let rows = arena.rows(&contenders, size.rounds(3));
    let mut stop = Command::new(&arena.programs.inkcell);
    stop.args(["gateway", "stop"]).envs(arena.watch.env.iter().cloned());
    child::capture(&mut stop)?;
    let against = Column("times nbclient", Shown::Times("ms", Runner::Nbclient.name()));
    let mut table = Table::of_processes("flood", "20,000 displays, 20,000 lines", rows?, against);
    table.goals = flood_goals(&table);
    forget(&arena.root)?;
    Ok(table)
}

fn flood_goals(table: &Table) -> Vec<Goal> {
    let goal = |runner: Runner, other: Runner, limit: f64| {
        let text = format!("flood, {}, time to {}", runner.name(), other.name());
        Goal::at_most(&text, table.times("ms", runner.name(), other.name()), limit)
    };
    let ours = [Runner::OverZmq, Runner::OverGateway];
    let each =
        ours.map(|runner| [goal(runner, Runner::Nbclient, 1.0), goal(runner, Runner::Raw, 1.3)]);
    each.into_iter().flatten().collect()
}

fn written_goals(table: &Table) -> Vec<Goal> {
    let goal = |name: &str| {
        let times = table.row(name).and_then(|row| row.median("times"));
        Goal::at_most(&format!("written to the size in the end, {name}"), times, 4.0)
    };
    [FIRST, AGAIN, SLOW].map(goal).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn row(figures: &Value) -> Row {
        let mut row = Row::default();
        row.add(figures);
        row
    }

    fn passed(goals: &[Goal]) -> Vec<bool> {
        goals.iter().map(Goal::passed).collect()
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        let ms = |ms: f64| row(&json!({"ms": ms}));
        let rows = vec![
            (Runner::Script.name(), ms(100.0)),
            (Runner::Drawing.name(), ms(101.0)),
            (INKCELL, ms(116.0)),
            (Runner::Nbclient.name(), ms(116.0 * 1.8)),
            (Runner::Papermill.name(), ms(116.0 * 2.4)),
        ];
        let table = processes("analysis", "", rows);
        // Nobody was left for the last one, which is then missed.
        assert_eq!(passed(&analysis_goals(&table)), [false, true, true, false, false]);
        let rows = vec![(FIRST, row(&json!({"times": 4.0}))), (AGAIN, row(&json!({"times": 4.1})))];
        assert_eq!(passed(&written_goals(&processes("written", "", rows))), [true, false, false]);
        let rows = vec![
            (Runner::Raw.name(), ms(100.0)),
            (Runner::Nbclient.name(), ms(125.0)),
            (Runner::OverZmq.name(), ms(120.0)),
            (Runner::OverGateway.name(), ms(128.0)),
        ];
        let goals = flood_goals(&processes("flood", "", rows));
        assert_eq!(passed(&goals), [true, true, false, true]);
    }

    #[test]
    fn only_families_that_exist_can_be_asked_for() {
        assert!(RunArgs::try_parse_from(["run", "durable", "--quick", "--no-build"]).is_ok());
        assert!(RunArgs::try_parse_from(["run", "durables"]).is_err());
    }
}
