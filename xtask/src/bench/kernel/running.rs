//! Families about kernels that are there: round trips, much output, arithmetic.
//!
//! Owns who takes part in them and their goals. Must not know how a sample is taken.

use anyhow::Result;

use super::Size;
use super::contender::{Arena, Contender, Program, Rounds};
use super::lines;
use super::starting::{DIRECT, FORKED, IPYKERNEL};
use super::task::{Hashing, Job, Start, Task};
use crate::bench::notebook::load;
use crate::bench::report::Goal;
use crate::bench::table::{Column, Shown, Table};

const INTERACTIVE: &str = "python3 -i on a pipe";
const PIPE: &str = "python3 -c into a pipe";
const NBCLIENT: &str = "nbclient";
const PLAIN: &str = "python3";

fn with(task: &Task, start: Start) -> Task {
    Task { start, ..task.clone() }
}

/// A cell that does nothing, until its end is known.
pub(super) fn trip(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let mut task = arena.task(Job::Trip);
    task.code = "1".to_owned();
    task.count = size.pick(300, 100);
    let contenders = [
        Contender {
            name: IPYKERNEL,
            program: Program::Peer("kernel_jupyter.py"),
            task: task.clone(),
        },
        Contender { name: INTERACTIVE, program: Program::Plain, task: task.clone() },
        Contender { name: DIRECT, program: Program::Ours, task: with(&task, Start::Direct) },
        Contender { name: FORKED, program: Program::Ours, task: with(&task, Start::Forked) },
    ];
    let before = load();
    let rows = arena.interleave(&contenders, size.rounds(3, 1))?;
    let mut table = Table {
        family: "trip",
        title: "round trip of `1` in a warm kernel, to the end of the cell".to_owned(),
        columns: vec![
            Column("n", Shown::Count("us")),
            Column("median µs", Shown::Median("us")),
            Column("min µs", Shown::Least("us")),
            Column("p99 µs", Shown::P99("us")),
            Column("times python3 -i", Shown::Times("us", INTERACTIVE)),
            Column("quicker than ipykernel", Shown::Under("us", IPYKERNEL)),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    };
    for (name, what) in [(DIRECT, "direct"), (FORKED, "forked")] {
        table.goals.push(Goal::at_most(
            &format!("{what}, time to python3 -i"),
            table.times("us", name, INTERACTIVE),
            2.0,
        ));
        table.goals.push(Goal::at_least(
            &format!("{what}, quicker than ipykernel"),
            table.times("us", IPYKERNEL, name),
            30.0,
        ));
    }
    Ok(vec![table])
}

/// Much output, in short lines and in long ones.
pub(super) fn output(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let count = size.pick(1_000_000, 100_000);
    let printed = format!("{count} printed lines, {} MB", count / 100_000);
    let written = format!("{} MB in {count} writes of 100 bytes", count / 10_000);
    let mut tables = Vec::new();
    for (title, width, code) in
        [(printed, 10, lines::printing(count, 10)), (written, 100, lines::writing(count, 100))]
    {
        let mut task = arena.task(Job::Output);
        (task.code, task.count, task.width) = (code, count, width);
        let contenders = [
            Contender { name: PIPE, program: Program::Plain, task: task.clone() },
            Contender {
                name: NBCLIENT,
                program: Program::Peer("kernel_nbclient.py"),
                task: task.clone(),
            },
            Contender { name: DIRECT, program: Program::Ours, task: with(&task, Start::Direct) },
            Contender { name: FORKED, program: Program::Ours, task: with(&task, Start::Forked) },
        ];
        let before = load();
        let rows = arena.interleave(&contenders, size.rounds(5, 1))?;
        let mut table = output_table("output", title, rows, before);
        for (name, what) in [(DIRECT, "direct"), (FORKED, "forked")] {
            let (to_pipe, to_peer) =
                (table.times("ms", name, PIPE), table.times("ms", NBCLIENT, name));
            let text = format!("{what}, {}: time to the pipe", table.title);
            table.goals.push(Goal::at_most(&text, to_pipe, 1.5));
            let text = format!("{what}, {}: quicker than nbclient", table.title);
            table.goals.push(Goal::at_least(&text, to_peer, 6.0));
        }
        tables.push(table);
    }
    Ok(tables)
}

fn output_table(
    family: &'static str,
    title: String,
    rows: Vec<(&'static str, crate::bench::row::Row)>,
    before: String,
) -> Table {
    Table {
        family,
        title,
        columns: vec![
            Column("n", Shown::Count("ms")),
            Column("median ms", Shown::Median("ms")),
            Column("min ms", Shown::Least("ms")),
            Column("MB/s", Shown::Median("mb_s")),
            Column("times the pipe", Shown::Times("ms", PIPE)),
            Column("quicker than nbclient", Shown::Under("ms", NBCLIENT)),
            Column("host's RSS idle MiB", Shown::Median("idle_mib")),
            Column("most it grew MiB", Shown::Most("grown_mib")),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    }
}

/// A gigabyte, every byte compared, and what the host holds meanwhile.
pub(super) fn gigabyte(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let count = size.pick(10_000_000, 1_000_000);
    let mut task = arena.task(Job::Output);
    task.code = lines::printing(count, 100);
    (task.count, task.width, task.hashing) = (count, 100, Hashing::Always);
    let contenders = [
        Contender { name: PIPE, program: Program::Plain, task: task.clone() },
        Contender { name: FORKED, program: Program::Ours, task: with(&task, Start::Forked) },
    ];
    let before = load();
    let rounds = Rounds { warm_up: 0, ..size.rounds(1, 1) };
    let rows = arena.interleave(&contenders, rounds)?;
    let title = format!("{} MB of lines, every byte hashed on arrival", count / 10_000);
    let mut table = output_table("gigabyte", title, rows, before);
    let grown = table.row(FORKED).and_then(|row| row.most("grown_mib"));
    table.goals = vec![Goal::at_most("host memory over idle", grown, 64.0).counted_in(" MiB")];
    Ok(vec![table])
}

/// A product of matrices in a copy of a process whose threads are gone.
pub(super) fn matmul(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let mut task = arena.task(Job::Report);
    let repeats = size.pick(10, 3);
    task.preload = vec!["numpy".to_owned()];
    task.code = format!(
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
    let contenders = [
        Contender { name: PLAIN, program: Program::Plain, task: task.clone() },
        Contender { name: DIRECT, program: Program::Ours, task: with(&task, Start::Direct) },
        Contender { name: FORKED, program: Program::Ours, task: with(&task, Start::Forked) },
    ];
    let before = load();
    let rows = arena.interleave(&contenders, size.rounds(7, 2))?;
    let mut table = Table {
        family: "matmul",
        title: "2000 x 2000 matmul with numpy, timed inside".to_owned(),
        columns: vec![
            Column("n", Shown::Count("ms")),
            Column("median ms", Shown::Median("ms")),
            Column("min ms", Shown::Least("ms")),
            Column("first ms", Shown::Median("first_ms")),
            Column("times python3", Shown::Times("ms", PLAIN)),
            Column("threads after", Shown::Median("threads")),
            Column("thread limits set", Shown::Most("limits")),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    };
    table.goals = vec![Goal::at_most(
        "forked runner, time to python3",
        table.times("ms", FORKED, PLAIN),
        1.1,
    )];
    Ok(vec![table])
}
