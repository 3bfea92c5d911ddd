//! The family `host`: commands at a host that is there, beside the least that could do the same and beside the peers.
//!
//! Owns its command line, the tables and the goals. Must not know how a host is started or a command is timed.

mod first_frame;
mod recorded;
mod warm;
mod watcher;

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::json;

use self::warm::{RUNTIME, Warm};
use self::watcher::Watcher;
use super::family::{Family, Options, Report, forget, measured};
use super::kernel::printing;
use super::notebook_file::write_pair;
use super::peers::{self, Peer};
use super::report::Goal;
use super::row::Row;
use super::run::{Arena, LIBRARIES, Runner, Size, Subject};
use super::sample::interleave_named;
use super::table::{Column, Shown, Table};
use crate::workspace::Workspace;

const FAMILY: Family = Family { name: "host", title: "At a host that is there", notes: NOTES };

const NOTES: &[&str] = &[
    "Whole processes, from before the start to after the end; medians inside one table. They take turns within a round, each round begins with another one, one round before the first warms up. Goals go by the medians; where others keep the machine busy, time spent waiting for a processor is in all rows and draws the ratios together, and the least of each tells more.",
    "Every table has a host of its own, with a state folder of its own, started before and ended afterwards. Everybody uses the same interpreter and sees the same environment, made from a list.",
    "py: the session's Python is up. The bare client is a program of a page that connects to the same socket, sends the bytes that `inkcell py 1` sends, recorded once, and reads lines until the last: it starts as quickly as any small program, reads no settings and shows nothing.",
    "notebook: 50 cells with numpy, pandas and two plots, as in the family run. Each run has a new kernel, a copy of the fork server, whose imports come before. inkcell fsyncs file and folder, nbclient does not.",
    "attach: a million lines of 100 bytes, one print for each; what inkcell py shows goes nowhere. Somebody who attaches has been shown all that is remembered before the code begins. Who watches is not sent everything of a flood, and is told how much was left out: `seen MB` is what it wrote, as JSON. The third row is the first once more: how far it is from 1 is the noise.",
    "tui: a notebook of 10 MB on a terminal of 50 rows, from before the start of the process until the last row of the first frame is there, beside a whole process that reads the same file and shows one cell of it. No host is asked for anything before that frame.",
];

const FAMILIES: [(&str, Measure); 4] =
    [("py", py), ("notebook", notebook), ("attach", attach), ("tui", tui)];

type Measure = fn(&Setting, &Size) -> Result<Table>;

const BARE_CLIENT: &str = "bare_host_client";
const BARE: &str = "bare client of the socket";
const PY: &str = "inkcell py 1, warm host";
const PY_ALONE: &str = "inkcell py --no-host 1";
const PYTHON: &str = "python3 -c print(1)";

const KEPT: &str = Runner::Kept.name();
const NBCLIENT: &str = Runner::Nbclient.name();

const ALONE: &str = "nobody attached";
const WATCHED: &str = "one attached";
const ALONE_AGAIN: &str = "nobody attached, again";

const READ: &str = "inkcell read, one cell";
const FRAME: &str = "inkcell tui, first frame";

/// How wide a line of the flood is.
const WIDTH: usize = 100;

#[derive(Parser)]
#[command(name = "cargo xtask bench host", bin_name = "cargo xtask bench host")]
pub(super) struct HostArgs {
    /// What to measure [default: all].
    #[arg(value_parser = FAMILIES.map(|family| family.0))]
    families: Vec<String>,
    /// Rounds for each table [default: its own].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    #[command(flatten)]
    options: Options,
}

/// What every table begins with.
struct Setting<'a> {
    workspace: &'a Workspace,
    python: PathBuf,
    bare: PathBuf,
}

pub(super) fn run(args: &HostArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut report = Report::begin(&FAMILY, &args.options, &workspace)?;
    let bare = report.example(BARE_CLIENT)?;
    let python = peers::python_env(&workspace)?;
    report.head(&python, peers::pinned(&workspace)?);
    let setting = Setting { workspace: &workspace, python, bare };
    let size = Size { is_quick: args.options.quick, rounds: args.rounds };
    let tables = measured(&args.families, &FAMILIES, |measure| measure(&setting, &size))?;
    report.close(&tables)
}

impl Setting<'_> {
    /// An empty folder, and an environment in which commands use a host of their own.
    fn arena(&self) -> Result<Arena> {
        let python = self.python.clone();
        let mut arena = Arena::new(self.workspace, FAMILY.name, python.clone(), None)?;
        arena.watch.env.extend([
            ("INKCELL_HOST_USE", "on".into()),
            ("INKCELL_PYTHON_INTERPRETER", python.into()),
            ("XDG_RUNTIME_DIR", arena.root.join(RUNTIME).into()),
        ]);
        Ok(arena)
    }
}

fn py(setting: &Setting, size: &Size) -> Result<Table> {
    let arena = setting.arena()?;
    let dir = arena.root.join("work");
    let warm = Warm::start(&arena)?;
    warm.open_session(&dir)?;
    let socket = warm.socket()?;
    let call = recorded::call_of(&socket, warm.command(&dir).args(["py", "1"]))?;
    let quick = |name, program: &Path, args: &[&str]| {
        let args = args.iter().map(OsString::from);
        Peer { name, command: [program.into()].into_iter().chain(args).collect(), quick: true }
    };
    let socket = socket.to_str().context("the path of the workspace is no text")?;
    let inkcell = &arena.programs.inkcell;
    let peers = [
        quick(BARE, &setting.bare, &[socket, &call]),
        quick(PY, inkcell, &["py", "1"]),
        quick(PY_ALONE, inkcell, &["py", "--no-host", "1"]),
        quick(PYTHON, &setting.python, &["-c", "print(1)"]),
    ];
    let here = |_: &Peer| Ok(dir.clone());
    let rows = interleave_named(&peers, size.rounds(60), &arena.watch, here, |_| Ok(Ok(())))?;
    drop(warm);
    forget(&arena.root)?;
    let mut table = processes("py", "one expression", rows, ("times the bare client", BARE));
    table.goals = vec![py_goal(&table)];
    Ok(table)
}

/// A table of whole processes, against one of them.
fn processes(
    family: &'static str,
    title: &str,
    rows: Vec<(&'static str, Row)>,
    (heading, base): (&'static str, &'static str),
) -> Table {
    let against = Column(heading, Shown::Times("ms", base));
    let mut table = Table::of_processes(family, title, rows, against);
    table.columns.push(Column("by the least", Shown::LeastTimes("ms", base)));
    table
}

fn py_goal(table: &Table) -> Goal {
    let ratio = table.times("ms", PY, BARE);
    Goal::at_most("inkcell py 1 at a warm host, time to a bare client of its socket", ratio, 3.0)
}

fn notebook(setting: &Setting, size: &Size) -> Result<Table> {
    let mut arena = setting.arena()?;
    arena.watch.env.push(("INKCELL_PYTHON_PRELOAD", LIBRARIES.into()));
    let warm = Warm::start(&arena)?;
    let subject = Subject::analysis();
    let contenders = [(Runner::Kept, KEPT, &subject), (Runner::Nbclient, NBCLIENT, &subject)];
    let rows = arena.rows(&contenders, size.rounds(9))?;
    drop(warm);
    forget(&arena.root)?;
    let title = "50 cells: imports, pandas, two plots";
    let mut table = processes("notebook", title, rows, ("times inkcell run", KEPT));
    table.goals = vec![notebook_goal(&table)];
    Ok(table)
}

fn notebook_goal(table: &Table) -> Goal {
    let ratio = table.times("ms", NBCLIENT, KEPT);
    Goal::at_least("inkcell run at a warm host with preload, quicker than nbclient", ratio, 5.0)
}

fn attach(setting: &Setting, size: &Size) -> Result<Table> {
    let megabytes = if size.is_quick { 5 } else { 100 };
    let arena = setting.arena()?;
    let dir = arena.root.join("work");
    let warm = Warm::start(&arena)?;
    warm.open_session(&dir)?;
    let code = printing(megabytes * 1_000_000 / WIDTH, WIDTH);
    let command = vec![arena.programs.inkcell.clone().into(), "py".into(), code.into()];
    let peers = [ALONE, WATCHED, ALONE_AGAIN].map(|name| Peer {
        name,
        command: command.clone(),
        quick: true,
    });
    let watcher = RefCell::new(None);
    let mut seen = Row::default();
    let before = |peer: &Peer| {
        // One that is left of a sample that failed must not be there for the next.
        watcher.replace(None);
        warm.until_clients(0)?;
        if peer.name == WATCHED {
            watcher.replace(Some(Watcher::attach(&warm, &dir)?));
        }
        Ok(dir.clone())
    };
    let after = |_: &Peer| {
        let Some(watcher) = watcher.take() else { return Ok(Ok(())) };
        let megabytes = watcher.end()?;
        seen.add(&json!({"seen_mb": megabytes}));
        Ok(if megabytes > 0.0 { Ok(()) } else { Err("who watched saw nothing".to_owned()) })
    };
    let mut rows = interleave_named(&peers, size.rounds(9), &arena.watch, before, after)?;
    drop(watcher);
    drop(warm);
    forget(&arena.root)?;
    if let Some((_, row)) = rows.iter_mut().find(|(name, _)| *name == WATCHED) {
        row.add(&serde_json::to_value(seen.figures())?);
    }
    let title = format!("code that prints {megabytes} MB");
    let mut table = processes("attach", &title, rows, ("times nobody attached", ALONE));
    table.columns.push(Column("seen MB", Shown::Median("seen_mb")));
    table.goals = vec![attach_goal(&table)];
    Ok(table)
}

fn attach_goal(table: &Table) -> Goal {
    let ratio = table.times("ms", WATCHED, ALONE);
    Goal::at_most("printing while somebody is attached, time to nobody's being so", ratio, 1.05)
}

fn tui(setting: &Setting, size: &Size) -> Result<Table> {
    let megabytes = if size.is_quick { 1 } else { 10 };
    let arena = setting.arena()?;
    let dir = arena.root.join("work");
    std::fs::create_dir_all(&dir)?;
    write_pair(&dir.join("nb.ipynb"), &dir.join("other.ipynb"), megabytes)?;
    let command = |args: &[&str]| -> Vec<OsString> {
        let program = arena.programs.inkcell.clone().into_os_string();
        [program].into_iter().chain(args.iter().map(OsString::from)).collect()
    };
    let read = command(&["read", "nb.ipynb", "--cells", "0"]);
    let shown = command(&["tui", "nb.ipynb", "--no-host"]);
    let (mut read_row, mut frame_row) = (Row::default(), Row::default());
    let rounds = size.rounds(15);
    for round in 0..=rounds {
        let reading = first_frame::of_command(&arena.watch, &read, &dir)?;
        let frame = first_frame::of_terminal(&arena.watch, &shown, &dir)?;
        // The first of each warms up.
        if round > 0 {
            read_row.add(&json!({"ms": reading}));
            frame_row.add(&json!({"ms": frame}));
        }
    }
    forget(&arena.root)?;
    let rows = vec![(READ, read_row), (FRAME, frame_row)];
    let title = format!("a notebook of {megabytes} MB at a terminal");
    let mut table = processes("tui", &title, rows, ("times reading it", READ));
    table.goals = vec![tui_goal(&table)];
    Ok(table)
}

fn tui_goal(table: &Table) -> Goal {
    let ratio = table.times("ms", FRAME, READ);
    Goal::at_most("the first frame of a notebook at a terminal, time to reading it", ratio, 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(goal: fn(&Table) -> Goal, figures: [(&'static str, f64); 2]) -> bool {
        let rows = figures.map(|(name, ms)| {
            let mut row = Row::default();
            row.add(&json!({"ms": ms}));
            (name, row)
        });
        goal(&processes("test", "", rows.into(), ("", figures[1].0))).passed()
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        assert!(passed(py_goal, [(PY, 3.0), (BARE, 1.0)]));
        assert!(!passed(py_goal, [(PY, 3.1), (BARE, 1.0)]));
        assert!(passed(notebook_goal, [(KEPT, 1.0), (NBCLIENT, 5.0)]));
        assert!(!passed(notebook_goal, [(KEPT, 1.0), (NBCLIENT, 4.9)]));
        assert!(passed(attach_goal, [(ALONE, 100.0), (WATCHED, 105.0)]));
        assert!(!passed(attach_goal, [(ALONE, 100.0), (WATCHED, 106.0)]));
        assert!(passed(tui_goal, [(FRAME, 3.0), (READ, 1.0)]));
        assert!(!passed(tui_goal, [(FRAME, 3.1), (READ, 1.0)]));
        // Being held against oneself once more meets nothing.
        assert!(!passed(attach_goal, [(ALONE, 100.0), (ALONE_AGAIN, 100.0)]));
    }

    #[test]
    fn only_families_that_exist_can_be_asked_for() {
        assert!(HostArgs::try_parse_from(["host", "py", "attach", "--quick"]).is_ok());
        assert!(HostArgs::try_parse_from(["host", "pys"]).is_err());
    }
}
