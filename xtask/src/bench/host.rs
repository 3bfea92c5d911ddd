//! The family `host`: compares commands at a running host with the least that could do the same, and with the peers.
//!
//! Owns its command line, the tables and the goals. Must not know how a host is started or a command is timed.

mod first_frame;
mod recorded;
mod warm;
mod watcher;

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use self::warm::{RUNTIME, Warm};
use self::watcher::Watcher;
use super::arena::Arena;
use super::client::printing;
use super::contender::{Contender, NBCLIENT, RUN_KEPT};
use super::family::{Family, RoundsArg};
use super::measure::{Process, Row, Rows, Size, Turn, interleave};
use super::notebook_file::write_pair;
use super::peers;
use super::run::{LIBRARIES, Subject};
use super::table::{Column, Goal, PROCESS, Statistic, Table};
use crate::workspace::Workspace;

const NOTES: &[&str] = &[
    "Whole processes, from before the start to after the end; medians inside one table. They take turns within a round, each round begins with another one, one round before the first warms up. Goals go by the medians; where others keep the machine busy, time spent waiting for a processor is in all rows and draws the ratios together, and the least of each tells more.",
    "Every table has a host of its own, with a state folder of its own, started before and ended afterwards. Everybody uses the same interpreter and sees the same environment, made from a list.",
    "py: the session's Python is up. The bare client is a program of a page that connects to the same socket, sends the bytes that `inkcell py 1` sends, recorded once, and reads lines until the last: it starts as quickly as any small program, reads no settings and shows nothing.",
    "notebook: 50 cells with numpy, pandas and two plots, as in the family run. Each run has a new kernel, a copy of the fork server, whose imports come before. inkcell fsyncs file and folder, nbclient does not.",
    "attach: a million lines of 100 bytes, one print for each; what inkcell py shows goes nowhere. Somebody who attaches has been shown all that is remembered before the code begins. Who watches is not sent everything of a flood, and is told how much was left out: `seen MB` is what it wrote, as JSON. The third row is the first once more: how far it is from 1 is the noise.",
    "tui: a notebook of 10 MB on a terminal of 50 rows, from before the start of the process until the last row of the first frame is there, beside a whole process that reads the same file and shows one cell of it. No host is asked for anything before that frame.",
];

type Measure = fn(&Setting, &Size) -> Result<Table>;

static FAMILY: Family<Measure> = Family {
    name: "host",
    title: "At a host that is there",
    parts: &[("py", py), ("notebook", notebook), ("attach", attach), ("tui", tui)],
    notes: NOTES,
};

const BARE_CLIENT: &str = "bare_host_client";
/// The smallest client: a program, a socket and a call.
const BARE: Contender = Contender::quick("bare client of the socket", &["{1}", "{2}", "{3}"]);
const PY: Contender = Contender::quick("inkcell py 1, warm host", &["{inkcell}", "py", "1"]);
const PY_ALONE: Contender =
    Contender::quick("inkcell py --no-host 1", &["{inkcell}", "py", "--no-host", "1"]);
const PYTHON: Contender = Contender::quick("python3 -c print(1)", &["{python}", "-c", "print(1)"]);

/// Code that prints much, without and with an attached watcher.
const ALONE: Contender = Contender::quick("nobody attached", &["{inkcell}", "py", "{1}"]);
const WATCHED: Contender = ALONE.called("one attached");
const ALONE_AGAIN: Contender = ALONE.called("nobody attached, again");

const READ: Contender =
    Contender::quick("inkcell read, one cell", &["{inkcell}", "read", "nb.ipynb", "--cells", "0"]);
const FRAME: Contender =
    Contender::quick("inkcell tui, first frame", &["{inkcell}", "tui", "nb.ipynb", "--no-host"]);

/// Bytes in a line of the flood.
const WIDTH: usize = 100;

/// Shared inputs of all tables.
struct Setting {
    workspace: Workspace,
    python: PathBuf,
    bare: PathBuf,
}

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<RoundsArg>(args)?;
    let bare = report.example(BARE_CLIENT)?;
    let python = peers::python_env(&report.workspace)?;
    report.head(&python, peers::pinned(&report.workspace)?);
    let setting = Setting { workspace: Workspace::find()?, python, bare };
    let size = report.size(report.extra.rounds, None);
    report.measure(|_, measure| Ok(vec![measure(&setting, &size)?]))?;
    report.close()
}

impl Setting {
    /// Makes an empty arena in which commands use a host of their own.
    fn arena(&self) -> Result<Arena> {
        let mut arena = Arena::new(&self.workspace, FAMILY.name, &self.python)?;
        arena.set("INKCELL_HOST_USE", "on");
        arena.set("INKCELL_PYTHON_INTERPRETER", &self.python);
        arena.set("XDG_RUNTIME_DIR", arena.root.join(RUNTIME));
        Ok(arena)
    }
}

/// Columns of whole processes, with their time as a multiple of one contender.
fn against(heading: &'static str, base: Contender) -> Vec<Column> {
    let mut columns = PROCESS.to_vec();
    columns.extend([
        Column(heading, Statistic::Times("ms", base.name)),
        Column("by the least", Statistic::LeastTimes("ms", base.name)),
    ]);
    columns
}

fn py(setting: &Setting, size: &Size) -> Result<Table> {
    let arena = setting.arena()?;
    let dir = arena.work();
    let warm = Warm::start(&arena)?;
    warm.open_session(&dir)?;
    let socket = warm.socket()?;
    let call = recorded::call_of(&socket, warm.command(&dir).args(["py", "1"]))?;
    socket.to_str().context("the path of the workspace is no text")?;
    let values: [OsString; 3] = [setting.bare.clone().into(), socket.into(), call.into()];
    let all = [BARE, PY, PY_ALONE, PYTHON];
    let processes: Vec<_> = all.iter().filter_map(|row| arena.process(row, &values)).collect();
    let columns = against("times the bare client", BARE);
    let mut table = Table::measure("py", "one expression", columns, || {
        arena.run_in_turn(&processes, size.rounds(60, 1), |_| Ok(dir.clone()), |_| Ok(Ok(())))
    })?;
    table.goals = vec![py_goal(&table)];
    Ok(table)
}

fn py_goal(table: &Table) -> Goal {
    let ratio = table.times("ms", PY.name, BARE.name);
    Goal::at_most("inkcell py 1 at a warm host, time to a bare client of its socket", ratio, 3.0)
}

fn notebook(setting: &Setting, size: &Size) -> Result<Table> {
    let mut arena = setting.arena()?;
    arena.set("INKCELL_PYTHON_PRELOAD", LIBRARIES);
    let _warm = Warm::start(&arena)?;
    let subject = Subject::analysis();
    let contenders = [RUN_KEPT, NBCLIENT].map(|contender| (contender, &subject));
    let columns = against("times inkcell run", RUN_KEPT);
    let title = "50 cells: imports, pandas, two plots";
    let mut table = Table::measure("notebook", title, columns, || {
        arena.run_notebooks(&contenders, size.rounds(9, 1))
    })?;
    table.goals = vec![notebook_goal(&table)];
    Ok(table)
}

fn notebook_goal(table: &Table) -> Goal {
    let ratio = table.times("ms", NBCLIENT.name, RUN_KEPT.name);
    Goal::at_least("inkcell run at a warm host with preload, quicker than nbclient", ratio, 5.0)
}

fn attach(setting: &Setting, size: &Size) -> Result<Table> {
    let megabytes = size.pick(100, 5);
    let arena = setting.arena()?;
    let dir = arena.work();
    let warm = Warm::start(&arena)?;
    warm.open_session(&dir)?;
    let values: [OsString; 1] = [printing(megabytes * 1_000_000 / WIDTH, WIDTH).into()];
    let all = [ALONE, WATCHED, ALONE_AGAIN];
    let processes: Vec<_> = all.iter().filter_map(|row| arena.process(row, &values)).collect();
    let watcher = RefCell::new(None);
    let mut seen = Row::default();
    let before = |process: &Process| {
        // A watcher left over from a failed sample must not affect the next sample.
        watcher.replace(None);
        warm.until_clients(0)?;
        if process.name == WATCHED.name {
            watcher.replace(Some(Watcher::attach(&warm, &dir)?));
        }
        Ok(dir.clone())
    };
    let after = |_: &Process| {
        let Some(watcher) = watcher.take() else { return Ok(Ok(())) };
        let megabytes = watcher.end()?;
        seen.add(&json!({"seen_mb": megabytes}));
        Ok(if megabytes > 0.0 { Ok(()) } else { Err("who watched saw nothing".to_owned()) })
    };
    let mut columns = against("times nobody attached", ALONE);
    columns.push(Column("seen MB", Statistic::Median("seen_mb")));
    let title = format!("code that prints {megabytes} MB");
    let mut table = Table::measure("attach", title, columns, || {
        arena.run_in_turn(&processes, size.rounds(9, 1), before, after)
    })?;
    table.add(WATCHED.name, &serde_json::to_value(seen.figures())?);
    table.goals = vec![attach_goal(&table)];
    Ok(table)
}

fn attach_goal(table: &Table) -> Goal {
    let ratio = table.times("ms", WATCHED.name, ALONE.name);
    Goal::at_most("printing while somebody is attached, time to nobody's being so", ratio, 1.05)
}

fn tui(setting: &Setting, size: &Size) -> Result<Table> {
    let megabytes = size.pick(10, 1);
    let arena = setting.arena()?;
    let dir = arena.work();
    write_pair(&dir.join("nb.ipynb"), &dir.join("other.ipynb"), megabytes)?;
    let columns = against("times reading it", READ);
    let title = format!("a notebook of {megabytes} MB at a terminal");
    let mut table = Table::measure("tui", title, columns, || frames(&arena, size))?;
    table.goals = vec![tui_goal(&table)];
    Ok(table)
}

/// Measures the time of a read, and of the first frame.
fn frames(arena: &Arena, size: &Size) -> Result<Rows> {
    let command = |row: &Contender| Some(arena.process(row, &[])?.command);
    let (read, frame) = (command(&READ), command(&FRAME));
    let (read, frame) = read.zip(frame).context("inkcell has commands")?;
    let turns = [READ, FRAME].map(|row| Turn { name: row.name, is_quick: false });
    interleave(&turns, size.rounds(15, 1), |index| {
        let ms = match index {
            0 => first_frame::of_command(arena, &read)?,
            _ => first_frame::of_terminal(arena, &frame)?,
        };
        Ok(Ok::<Value, String>(json!({"ms": ms})))
    })
}

fn tui_goal(table: &Table) -> Goal {
    let ratio = table.times("ms", FRAME.name, READ.name);
    Goal::at_most("the first frame of a notebook at a terminal, time to reading it", ratio, 3.0)
}

#[cfg(test)]
mod tests {
    use super::super::table::table_of;
    use super::*;

    fn passed(goal: fn(&Table) -> Goal, figures: [(Contender, f64); 2]) -> bool {
        goal(&table_of(&figures.map(|(contender, ms)| (contender.name, ms)))).passed()
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        assert!(passed(py_goal, [(PY, 3.0), (BARE, 1.0)]));
        assert!(!passed(py_goal, [(PY, 3.1), (BARE, 1.0)]));
        assert!(passed(notebook_goal, [(RUN_KEPT, 1.0), (NBCLIENT, 5.0)]));
        assert!(!passed(notebook_goal, [(RUN_KEPT, 1.0), (NBCLIENT, 4.9)]));
        assert!(passed(attach_goal, [(ALONE, 100.0), (WATCHED, 105.0)]));
        assert!(!passed(attach_goal, [(ALONE, 100.0), (WATCHED, 106.0)]));
        assert!(passed(tui_goal, [(FRAME, 3.0), (READ, 1.0)]));
        assert!(!passed(tui_goal, [(FRAME, 3.1), (READ, 1.0)]));
        // A second measurement of the baseline does not meet the goal of another contender.
        assert!(!passed(attach_goal, [(ALONE, 100.0), (ALONE_AGAIN, 100.0)]));
    }
}
