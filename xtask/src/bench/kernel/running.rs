//! Measurements of running kernels: round trips, much output, arithmetic.
//!
//! Owns their contenders and goals. Must not know how a sample is taken.

use anyhow::Result;

use super::{DIRECT, FORKED, IPYKERNEL, both};
use crate::bench::arena::Arena;
use crate::bench::client::{Backend, Client, Hashing, Job, Task, printing, writing};
use crate::bench::measure::{Rows, Size};
use crate::bench::table::{Column, Goal, MS, Statistic, Table, US_P99};

const INTERACTIVE: &str = "python3 -i on a pipe";
const LOOP: &str = "a minimal loop in Python";
const PIPE: &str = "python3 -c into a pipe";
const NBCLIENT: &str = "nbclient";
const PLAIN: &str = "python3";
const OURS: [(&str, &str); 2] = [(DIRECT, "direct"), (FORKED, "forked")];

/// Measures an empty cell until its end is known.
pub(super) fn trip(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let count = size.pick(300, 100);
    let task = Task { count, ..arena.task(Job::Trip, "1", Backend::PYTHON) };
    let [direct, forked] = both(arena, &task, &[]);
    let words = [arena.python.clone(), arena.script_path("cell_loop.py")];
    let command = words.iter().map(|word| word.display().to_string()).collect();
    let least = Backend::Plain { command, check: Vec::new() };
    let clients = [
        Client::peer(IPYKERNEL, "kernel_jupyter.py", task.clone()),
        Client::ours(LOOP, Task { backend: least, ..task.clone() }),
        Client::ours(INTERACTIVE, task),
        direct,
        forked,
    ];
    let title = "round trip of `1` in a warm kernel, to the end of the cell";
    let mut columns = US_P99.to_vec();
    columns.extend([
        Column("times python3 -i", Statistic::Times("us", INTERACTIVE)),
        Column("times a minimal loop", Statistic::Times("us", LOOP)),
        Column("quicker than ipykernel", Statistic::Under("us", IPYKERNEL)),
    ]);
    let mut table =
        Table::measure("trip", title, columns, || arena.ask_in_turn(&clients, size.rounds(3, 1)))?;
    for (name, what) in OURS {
        let (to_loop, to_peer) =
            (table.times("us", name, LOOP), table.times("us", IPYKERNEL, name));
        table.goals.extend([
            Goal::at_most(format!("{what}, time to a minimal loop"), to_loop, 3.0),
            Goal::at_least(format!("{what}, quicker than ipykernel"), to_peer, 30.0),
        ]);
    }
    Ok(vec![table])
}

/// Measures much output, in short lines and in long ones.
pub(super) fn output(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let count = size.pick(1_000_000, 100_000);
    let printed = format!("{count} printed lines, {} MB", count / 100_000);
    let written = format!("{} MB in {count} writes of 100 bytes", count / 10_000);
    let mut tables = Vec::new();
    for (title, width, code) in
        [(printed, 10, printing(count, 10)), (written, 100, writing(count, 100))]
    {
        let task = flood(arena, code, count, width, Hashing::First);
        let [direct, forked] = both(arena, &task, &[]);
        let clients = [
            Client::ours(PIPE, task.clone()),
            Client::peer(NBCLIENT, "kernel_nbclient.py", task),
            direct,
            forked,
        ];
        let mut table =
            output_table("output", title, || arena.ask_in_turn(&clients, size.rounds(5, 1)))?;
        for (name, what) in OURS {
            let (to_pipe, to_peer) =
                (table.times("ms", name, PIPE), table.times("ms", NBCLIENT, name));
            let what = format!("{what}, {}", table.title);
            table.goals.extend([
                Goal::at_most(format!("{what}: time to the pipe"), to_pipe, 1.5),
                Goal::at_least(format!("{what}: quicker than nbclient"), to_peer, 6.0),
            ]);
        }
        tables.push(table);
    }
    Ok(tables)
}

/// A task that prints this many lines of one width, compared byte by byte in some samples.
fn flood(arena: &Arena, code: String, count: usize, width: usize, hashing: Hashing) -> Task {
    Task { count, width, hashing, ..arena.task(Job::Output, code, Backend::PYTHON) }
}

fn output_table(
    part: &'static str,
    title: String,
    take: impl FnOnce() -> Result<Rows>,
) -> Result<Table> {
    let mut columns = MS.to_vec();
    columns.extend([
        Column("MB/s", Statistic::Median("mb_s")),
        Column("times the pipe", Statistic::Times("ms", PIPE)),
        Column("quicker than nbclient", Statistic::Under("ms", NBCLIENT)),
        Column("host's RSS idle MiB", Statistic::Median("idle_mib")),
        Column("most it grew MiB", Statistic::Most("grown_mib")),
    ]);
    Table::measure(part, title, columns, take)
}

/// Measures a gigabyte of output, every byte compared, and the host's memory meanwhile.
pub(super) fn gigabyte(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let count = size.pick(10_000_000, 1_000_000);
    let task = flood(arena, printing(count, 100), count, 100, Hashing::Always);
    let [_, forked] = both(arena, &task, &[]);
    let clients = [Client::ours(PIPE, task), forked];
    let title = format!("{} MB of lines, every byte hashed on arrival", count / 10_000);
    let mut table =
        output_table("gigabyte", title, || arena.ask_in_turn(&clients, size.rounds(1, 1).cold()))?;
    let grown = table.row(FORKED).and_then(|row| row.most("grown_mib"));
    table.goals = vec![Goal::at_most("host memory over idle", grown, 64.0).counted_in(" MiB")];
    Ok(vec![table])
}

/// Measures a product of matrices in a forked process, which has lost its parent's threads.
pub(super) fn matmul(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let repeats = size.pick(10, 3);
    let code = format!(
        "import json, os, time\n\
         import numpy as np\n\
         random = np.random.default_rng(7)\n\
         a, b = random.random((2000, 2000)), random.random((2000, 2000))\n\
         times = []\n\
         for _ in range(1 + {repeats}):\n    \
             begin = time.perf_counter()\n    \
             c = a @ b\n    \
             times.append((time.perf_counter() - begin) * 1e3)\n\
         limits = [name for name in os.environ if name.endswith('_NUM_THREADS')]\n\
         print(json.dumps({{'first_ms': times[0], 'ms': times[1:], 'limits': len(limits),\n    \
             'threads': len(os.listdir('/proc/self/task'))}}))"
    );
    let task = arena.task(Job::Report, code, Backend::PYTHON);
    let [direct, forked] = both(arena, &task, &["numpy"]);
    let clients = [Client::ours(PLAIN, task), direct, forked];
    let mut columns = MS.to_vec();
    columns.extend([
        Column("first ms", Statistic::Median("first_ms")),
        Column("times python3", Statistic::Times("ms", PLAIN)),
        Column("threads after", Statistic::Median("threads")),
        Column("thread limits set", Statistic::Most("limits")),
    ]);
    let title = "2000 x 2000 matmul with numpy, timed inside";
    let mut table = Table::measure("matmul", title, columns, || {
        arena.ask_in_turn(&clients, size.rounds(7, 2))
    })?;
    let ratio = table.times("ms", FORKED, PLAIN);
    table.goals = vec![Goal::at_most("forked runner, time to python3", ratio, 1.1)];
    Ok(vec![table])
}
