//! Measurements of starting kernels: the first value, a whole process, many at once.
//!
//! Owns their contenders and goals. Must not know how a sample is taken.

use anyhow::Result;

use super::{DIRECT, FORKED, IPYKERNEL, runner};
use crate::bench::arena::Arena;
use crate::bench::client::{Backend, Client, Job, Shell, Start, Task};
use crate::bench::measure::{Rounds, Size};
use crate::bench::table::{Column, Goal, MS_P99, Statistic, Table};

const PYTHON_C: &str = "python3 -c";
const FORKED_IPYTHON: &str = "inkcell, fork server, IPython shell";
const DIRECT_IPYTHON: &str = "inkcell, direct, IPython shell";
const PY: &str = "inkcell py --fresh";
const JUPYTER: &str = "kernel_jupyter.py";

const LIBRARIES: [&str; 3] = ["numpy", "pandas", "matplotlib.pyplot"];

/// Uses all three libraries without drawing, because a figure costs the same everywhere.
const USE_LIBRARIES: &str = "import numpy as np, pandas as pd, matplotlib.pyplot as plt\n\
     frame = pd.DataFrame({'a': np.arange(12.0)})\n\
     float(frame['a'].sum()) + len(plt.get_fignums())";

/// Measures from before the request for a kernel to the first value that it shows; the host and its fork
/// server are warm.
pub(super) fn start(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let rounds = size.rounds(15, 3);
    let title = "a new kernel to the value of `1+1`, host warm";
    let mut table = first_value(arena, "start", title, "1+1", &[], rounds)?;
    let forked = table.times("ms", IPYKERNEL, FORKED);
    let ipython = table.times("ms", IPYKERNEL, FORKED_IPYTHON);
    table.goals = vec![
        Goal::at_least("fork server, quicker than ipykernel", forked, 100.0),
        Goal::at_least("fork server with IPython's shell, quicker than ipykernel", ipython, 8.0),
    ];
    Ok(vec![table])
}

/// The same measurement with libraries that take long to import.
pub(super) fn libraries(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let rounds = size.rounds(9, 2);
    let title = "a new kernel to a value made with numpy, pandas and matplotlib, preloaded";
    let mut table = first_value(arena, "libraries", title, USE_LIBRARIES, &LIBRARIES, rounds)?;
    let times = table.times("ms", IPYKERNEL, FORKED);
    let text = "fork server with the libraries, quicker than ipykernel";
    table.goals = vec![Goal::at_least(text, times, 150.0)];
    Ok(vec![table])
}

fn first_value(
    arena: &Arena,
    part: &'static str,
    title: &str,
    code: &str,
    preload: &[&str],
    rounds: Rounds,
) -> Result<Table> {
    // A program does not show a value by itself.
    let shown = match code.rsplit_once('\n') {
        Some((before, last)) => format!("{before}\nprint({last})"),
        None => format!("print({code})"),
    };
    let ours = |name, start, whose| {
        let mut task = runner(arena, Job::Start, code, start, preload);
        if let Backend::Runner { shell, .. } = &mut task.backend {
            *shell = whose;
        }
        Client::ours(name, task)
    };
    let clients = [
        Client::peer(IPYKERNEL, JUPYTER, arena.task(Job::Start, code, Backend::PYTHON)),
        Client::ours(PYTHON_C, arena.task(Job::Start, shown, Backend::PYTHON)),
        ours(DIRECT, Start::Direct, Shell::Lite),
        ours(FORKED, Start::Forked, Shell::Lite),
        ours(DIRECT_IPYTHON, Start::Direct, Shell::IPython),
        ours(FORKED_IPYTHON, Start::Forked, Shell::IPython),
    ];
    let mut columns = MS_P99.to_vec();
    columns.extend([
        Column("of that ready ms", Statistic::Median("ready_ms")),
        Column("quicker than ipykernel", Statistic::Under("ms", IPYKERNEL)),
        Column("times python3 -c", Statistic::Times("ms", PYTHON_C)),
    ]);
    Table::measure(part, title, columns, || arena.ask_in_turn(&clients, rounds))
}

/// Measures whole processes, as a user at a terminal waits for them.
pub(super) fn process(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let (inkcell, python) =
        (arena.inkcell.display().to_string(), arena.python.display().to_string());
    let (inkcell, python) = (inkcell.as_str(), python.as_str());
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let client = |name, command: &[&str], check: &[&str]| {
        let backend = Backend::Plain { command: words(command), check: words(check) };
        Client::ours(name, arena.task(Job::Process, "", backend))
    };
    let check = [inkcell, "py", "--fresh", "import sys; print(sys.prefix)"];
    let clients = [
        client(PYTHON_C, &[python, "-c", "print(1+1)"], &[]),
        client(PY, &[inkcell, "py", "--fresh", "1+1"], &check),
    ];
    let mut columns = MS_P99.to_vec();
    columns.push(Column("times python3 -c", Statistic::Times("ms", PYTHON_C)));
    let title = "`inkcell py --fresh '1+1'`, whole process, nothing running before";
    let mut table = Table::measure("process", title, columns, || {
        arena.ask_in_turn(&clients, size.rounds(40, 5))
    })?;
    let ratio = table.times("ms", PY, PYTHON_C);
    table.goals = vec![Goal::at_most("inkcell py --fresh, time to python3 -c", ratio, 2.5)];
    Ok(vec![table])
}

/// Measures many kernels at once: the time until all have answered, and their memory.
pub(super) fn many(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let kernels = size.kernels.unwrap_or(size.pick(50, 8));
    let together = |each: &str, code: &str, preload: &[&str]| {
        let task =
            Task { count: kernels, ..runner(arena, Job::Many, code, Start::Forked, preload) };
        let clients = [Client::peer(IPYKERNEL, JUPYTER, task.clone()), Client::ours(FORKED, task)];
        let title = format!("{kernels} kernels at once, each {each}");
        // A peer takes half a minute for this; beside that, the cost of a first run is small.
        at_once(arena, "many", title, &clients, size.rounds(2, 1).cold())
    };
    let mut bare = together("`1+1`", "1+1", &[])?;
    let memory = |table: &Table| table.times("pss_mib", IPYKERNEL, FORKED);
    let sooner = bare.times("ms", IPYKERNEL, FORKED);
    bare.goals = vec![
        Goal::at_least("ipykernel's memory to ours", memory(&bare), 12.0),
        Goal::at_least("all ready, sooner than ipykernel", sooner, 40.0),
    ];
    let mut full = together("using numpy, pandas and matplotlib", USE_LIBRARIES, &LIBRARIES)?;
    let text = "ipykernel's memory to ours, with the libraries";
    full.goals = vec![Goal::at_least(text, memory(&full), 15.0)];
    Ok(vec![bare, full])
}

/// Issue 21, 22: measures kernels with a library that loads the driver of a GPU. ipykernel would need
/// tens of gigabytes for it.
pub(super) fn torch(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let code = "import torch\nfloat(torch.ones(3).sum())";
    let count = size.kernels.unwrap_or(size.pick(200, 8));
    let task = Task { count, ..runner(arena, Job::Many, code, Start::Forked, &["torch"]) };
    let title = format!("{count} kernels at once, each using torch, preloaded");
    let clients = [Client::ours(FORKED, task)];
    let mut table = at_once(arena, "torch", title, &clients, size.rounds(3, 1))?;
    let median = |what| table.row(FORKED).and_then(|row| row.median(what));
    table.goals = vec![
        Goal::at_most("torch, all answered, ms", median("ms"), 3000.0),
        Goal::at_most("torch, PSS of all, MiB", median("pss_mib"), 8192.0),
    ];
    Ok(vec![table])
}

fn at_once(
    arena: &Arena,
    part: &'static str,
    title: String,
    clients: &[Client],
    rounds: Rounds,
) -> Result<Table> {
    let columns = vec![
        Column("n", Statistic::Count("ms")),
        Column("all answered, median ms", Statistic::Median("ms")),
        Column("min ms", Statistic::Least("ms")),
        Column("sooner than ipykernel", Statistic::Under("ms", IPYKERNEL)),
        Column("PSS of all MiB", Statistic::Median("pss_mib")),
        Column("fork server's of that", Statistic::Median("server_mib")),
        Column("less than ipykernel", Statistic::Under("pss_mib", IPYKERNEL)),
        Column("client's RSS MiB", Statistic::Median("client_mib")),
    ];
    Table::measure(part, title, columns, || arena.ask_in_turn(clients, rounds))
}
