//! Families about kernels that are not there yet: the first value, a whole process, many at once.
//!
//! Owns who takes part in them and their goals. Must not know how a sample is taken.

use anyhow::Result;

use super::Size;
use super::contender::{Arena, Contender, Program, Rounds};
use super::task::{Job, Shell, Start, Task};
use crate::bench::notebook::load;
use crate::bench::report::Goal;
use crate::bench::table::{Column, Shown, Table};

pub(super) const IPYKERNEL: &str = "ipykernel, jupyter_client";
pub(super) const FORKED: &str = "inkcell, fork server";
pub(super) const DIRECT: &str = "inkcell, direct";
const PYTHON_C: &str = "python3 -c";
const FORKED_IPYTHON: &str = "inkcell, fork server, IPython shell";
const DIRECT_IPYTHON: &str = "inkcell, direct, IPython shell";
const PY: &str = "inkcell py --fresh";

pub(super) const LIBRARIES: [&str; 3] = ["numpy", "pandas", "matplotlib.pyplot"];

/// Touches all three libraries without drawing: a figure costs the same everywhere.
const USE_LIBRARIES: &str = "import numpy as np, pandas as pd, matplotlib.pyplot as plt\n\
     frame = pd.DataFrame({'a': np.arange(12.0)})\n\
     float(frame['a'].sum()) + len(plt.get_fignums())";

/// A task of ours with everything that differs between our rows.
fn ours(arena: &Arena, job: Job, code: &str, start: Start, preload: &[&str]) -> Task {
    let mut task = arena.task(job);
    task.code = code.to_owned();
    task.start = start;
    task.preload = preload.iter().map(|&name| name.to_owned()).collect();
    task
}

/// From before a kernel is asked for to the first value it shows; the host and its fork server are warm.
pub(super) fn start(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let rounds = size.rounds(15, 3);
    let title = "a new kernel to the value of `1+1`, host warm";
    let mut table = first_value(arena, "start", title, "1+1", &[], rounds)?;
    table.goals = vec![
        Goal::at_least(
            "fork server, quicker than ipykernel",
            table.times("ms", IPYKERNEL, FORKED),
            100.0,
        ),
        Goal::at_least(
            "fork server with IPython's shell, quicker than ipykernel",
            table.times("ms", IPYKERNEL, FORKED_IPYTHON),
            8.0,
        ),
    ];
    Ok(vec![table])
}

/// The same with libraries that take long to import.
pub(super) fn libraries(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let rounds = size.rounds(9, 2);
    let title = "a new kernel to a value made with numpy, pandas and matplotlib, preloaded";
    let mut table = first_value(arena, "libraries", title, USE_LIBRARIES, &LIBRARIES, rounds)?;
    table.goals = vec![Goal::at_least(
        "fork server with the libraries, quicker than ipykernel",
        table.times("ms", IPYKERNEL, FORKED),
        150.0,
    )];
    Ok(vec![table])
}

fn first_value(
    arena: &Arena,
    family: &'static str,
    title: &str,
    code: &str,
    preload: &[&str],
    rounds: Rounds,
) -> Result<Table> {
    let with = |start, shell| {
        let mut task = ours(arena, Job::Start, code, start, preload);
        task.shell = shell;
        task
    };
    let mut plain = arena.task(Job::Start);
    // A program shows no value by itself.
    plain.code = match code.rsplit_once('\n') {
        Some((before, last)) => format!("{before}\nprint({last})"),
        None => format!("print({code})"),
    };
    let peer = with(Start::Direct, Shell::Lite);
    let contenders = [
        Contender { name: IPYKERNEL, program: Program::Peer("kernel_jupyter.py"), task: peer },
        Contender { name: PYTHON_C, program: Program::Plain, task: plain },
        Contender { name: DIRECT, program: Program::Ours, task: with(Start::Direct, Shell::Lite) },
        Contender { name: FORKED, program: Program::Ours, task: with(Start::Forked, Shell::Lite) },
        Contender {
            name: DIRECT_IPYTHON,
            program: Program::Ours,
            task: with(Start::Direct, Shell::IPython),
        },
        Contender {
            name: FORKED_IPYTHON,
            program: Program::Ours,
            task: with(Start::Forked, Shell::IPython),
        },
    ];
    let before = load();
    let rows = arena.interleave(&contenders, rounds)?;
    Ok(Table {
        family,
        title: title.to_owned(),
        columns: vec![
            Column("n", Shown::Count("ms")),
            Column("median ms", Shown::Median("ms")),
            Column("min ms", Shown::Least("ms")),
            Column("p99 ms", Shown::P99("ms")),
            Column("of that ready ms", Shown::Median("ready_ms")),
            Column("quicker than ipykernel", Shown::Under("ms", IPYKERNEL)),
            Column("times python3 -c", Shown::Times("ms", PYTHON_C)),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    })
}

/// Whole processes, as somebody at a terminal waits for them.
pub(super) fn process(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let rounds = size.rounds(40, 5);
    let inkcell = arena.inkcell.display().to_string();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let python = arena.python.display().to_string();
    let mut py = arena.task(Job::Process);
    py.command = words(&[&inkcell, "py", "--fresh", "1+1"]);
    py.check = words(&[&inkcell, "py", "--fresh", "import sys; print(sys.prefix)"]);
    let mut plain = arena.task(Job::Process);
    plain.command = words(&[&python, "-c", "print(1+1)"]);
    let contenders = [
        Contender { name: PYTHON_C, program: Program::Plain, task: plain },
        Contender { name: PY, program: Program::Plain, task: py },
    ];
    let before = load();
    let rows = arena.interleave(&contenders, rounds)?;
    let mut table = Table {
        family: "process",
        title: "`inkcell py --fresh '1+1'`, whole process, nothing running before".to_owned(),
        columns: vec![
            Column("n", Shown::Count("ms")),
            Column("median ms", Shown::Median("ms")),
            Column("min ms", Shown::Least("ms")),
            Column("p99 ms", Shown::P99("ms")),
            Column("times python3 -c", Shown::Times("ms", PYTHON_C)),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    };
    table.goals = vec![Goal::at_most(
        "inkcell py --fresh, time to python3 -c",
        table.times("ms", PY, PYTHON_C),
        2.5,
    )];
    Ok(vec![table])
}

/// Many kernels at once: how soon all have answered, and what they hold then.
pub(super) fn many(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let kernels = size.kernels(50);
    let title = format!("{kernels} kernels at once, each `1+1`");
    let mut bare = together(arena, size, title, "1+1", &[])?;
    bare.goals = vec![
        Goal::at_least(
            "ipykernel's memory to ours",
            bare.times("pss_mib", IPYKERNEL, FORKED),
            12.0,
        ),
        Goal::at_least(
            "all ready, sooner than ipykernel",
            bare.times("ms", IPYKERNEL, FORKED),
            40.0,
        ),
    ];
    let title = format!("{kernels} kernels at once, each using numpy, pandas and matplotlib");
    let mut full = together(arena, size, title, USE_LIBRARIES, &LIBRARIES)?;
    full.goals = vec![Goal::at_least(
        "ipykernel's memory to ours, with the libraries",
        full.times("pss_mib", IPYKERNEL, FORKED),
        15.0,
    )];
    Ok(vec![bare, full])
}

fn together(
    arena: &Arena,
    size: &Size,
    title: String,
    code: &str,
    preload: &[&str],
) -> Result<Table> {
    let mut task = ours(arena, Job::Many, code, Start::Forked, preload);
    task.count = size.kernels(50);
    let contenders = [
        Contender {
            name: IPYKERNEL,
            program: Program::Peer("kernel_jupyter.py"),
            task: task.clone(),
        },
        Contender { name: FORKED, program: Program::Ours, task },
    ];
    // A peer takes half a minute for this; what a first time costs is little beside it.
    let rounds = Rounds { warm_up: 0, ..size.rounds(2, 1) };
    at_once(arena, "many", title, &contenders, rounds)
}

/// Kernels with a library that loads the driver of a GPU. ipykernel would take tens of gigabytes for it.
pub(super) fn torch(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let code = "import torch\nfloat(torch.ones(3).sum())";
    let mut task = ours(arena, Job::Many, code, Start::Forked, &["torch"]);
    task.count = size.kernels(200);
    let title = format!("{} kernels at once, each using torch, preloaded", task.count);
    let contenders = [Contender { name: FORKED, program: Program::Ours, task }];
    let mut table = at_once(arena, "torch", title, &contenders, size.rounds(3, 1))?;
    let median = |what| table.row(FORKED).and_then(|row| row.median(what));
    table.goals = vec![
        Goal::at_most("torch, all answered, ms", median("ms"), 3000.0),
        Goal::at_most("torch, PSS of all, MiB", median("pss_mib"), 8192.0),
    ];
    Ok(vec![table])
}

fn at_once(
    arena: &Arena,
    family: &'static str,
    title: String,
    contenders: &[Contender],
    rounds: Rounds,
) -> Result<Table> {
    let before = load();
    let rows = arena.interleave(contenders, rounds)?;
    Ok(Table {
        family,
        title,
        columns: vec![
            Column("n", Shown::Count("ms")),
            Column("all answered, median ms", Shown::Median("ms")),
            Column("min ms", Shown::Least("ms")),
            Column("sooner than ipykernel", Shown::Under("ms", IPYKERNEL)),
            Column("PSS of all MiB", Shown::Median("pss_mib")),
            Column("fork server's of that", Shown::Median("server_mib")),
            Column("less than ipykernel", Shown::Under("pss_mib", IPYKERNEL)),
            Column("client's RSS MiB", Shown::Median("client_mib")),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    })
}
