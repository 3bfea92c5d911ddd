//! The tables of the family: who takes part in each, and the goals.
//!
//! Must not know how a sample is taken.

use anyhow::Result;

use super::arena::{Arena, Contender, Limits, Who};
use super::task::{Client, Job, Task};
use crate::bench::jupyter::{Jupyter, Sort};
use crate::bench::notebook::load;
use crate::bench::report::Goal;
use crate::bench::table::{Column, Shown, Table};
use crate::bench::turns::Size;

const OURS: &str = "inkcell";
const USUAL: [&str; 2] = ["websocket-client", "tornado"];
const QUICK: [&str; 2] = ["websocket-client, QUICKACK", "tornado, QUICKACK"];
const OURS_LIMITED: &str = "inkcell, limits as they come";
const LIMITED: [&str; 2] =
    ["websocket-client, limits as they come", "tornado, limits as they come"];

const SERVERS: [(Sort, &str); 2] =
    [(Sort::Gateway, "kernel gateway"), (Sort::Server, "Jupyter server")];

fn peer(name: &'static str, client: usize, task: &Task) -> Contender {
    let client = [Client::Waiting, Client::Awaiting][client];
    Contender { name, who: Who::Peer, task: Task { client, ..task.clone() } }
}

fn ours(name: &'static str, task: &Task) -> Contender {
    Contender { name, who: Who::Ours, task: task.clone() }
}

/// Everybody, on one server.
fn all(task: &Task) -> Vec<Contender> {
    let quick = Task { quick: true, ..task.clone() };
    let peers = (0..2).flat_map(|client| {
        [peer(USUAL[client], client, task), peer(QUICK[client], client, &quick)]
    });
    peers.chain([ours(OURS, task)]).collect()
}

/// How many times quicker we were than the quickest of some others.
fn quicker(table: &Table, figure: &str, others: &[&str]) -> Option<f64> {
    table.to_best(figure, OURS, others).map(|part| 1.0 / part)
}

/// A cell that does next to nothing, until its end is known.
pub(super) fn trip(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for (sort, server_name) in SERVERS {
        let server = arena.server(sort, Limits::Lifted)?;
        for code in ["pass", "1+1"] {
            let mut task = arena.task(Job::Trip, code, Some(&server));
            // Few at a time, so that what else the machine does meets all of them.
            task.count = 10;
            let before = load();
            let rows = arena.interleave(&all(&task), size.rounds(40, 4))?;
            let mut table = Table {
                family: "trip",
                title: format!("round trip of `{code}` in a warm kernel, {server_name}"),
                columns: vec![
                    Column("n", Shown::Count("us")),
                    Column("median µs", Shown::Median("us")),
                    Column("min µs", Shown::Least("us")),
                    Column("p99 µs", Shown::P99("us")),
                    Column("client's CPU µs", Shown::Median("cpu_us")),
                    Column("quicker than websocket-client", Shown::Under("us", USUAL[0])),
                    Column("quicker than it with QUICKACK", Shown::Under("us", QUICK[0])),
                ],
                rows,
                goals: Vec::new(),
                load: [before, load()],
            };
            let text = |than: &str| format!("`{code}`, {server_name}: quicker than {than}");
            let usual = quicker(&table, "us", &USUAL);
            table.goals.push(Goal::at_least(&text("without QUICKACK"), usual, 4.0));
            let quick = quicker(&table, "us", &QUICK);
            table.goals.push(Goal::at_least(&text("with it"), quick, 1.0));
            tables.push(table);
        }
    }
    Ok(tables)
}

/// Much output, as many lines and as one of them, on servers that pass it on and on one that does not.
pub(super) fn output(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let megabytes = size.pick(100, 10);
    let (bytes, lines) = (megabytes * 1_000_000, megabytes * 2_500);
    let printings = [
        (
            format!("{megabytes} MB in {lines} lines"),
            format!("for i in range({lines}): print(f\"{{i:0399d}}\")"),
        ),
        (format!("{megabytes} MB in one call of print"), format!("print('x' * {})", bytes - 1)),
    ];
    let lifted = arena.server(Sort::Gateway, Limits::Lifted)?;
    let limited = arena.server(Sort::Gateway, Limits::AsTheyCome)?;
    let mut tables = Vec::new();
    for (title, code) in printings {
        let task =
            |server: &Jupyter| Task { bytes, ..arena.task(Job::Output, &code, Some(server)) };
        let mut contenders = all(&task(&lifted));
        let held_back = task(&limited);
        contenders.extend((0..2).map(|client| peer(LIMITED[client], client, &held_back)));
        contenders.push(ours(OURS_LIMITED, &held_back));
        let before = load();
        let rows = arena.interleave(&contenders, size.rounds(3, 1))?;
        let mut table = Table {
            family: "output",
            columns: vec![
                Column("n", Shown::Count("ms")),
                Column("median ms", Shown::Median("ms")),
                Column("min ms", Shown::Least("ms")),
                Column("MB/s", Shown::Median("mb_s")),
                Column("client's CPU ms", Shown::Median("cpu_ms")),
                Column("parts", Shown::Median("messages")),
                Column("least bytes lost", Shown::Least("lost")),
                Column("most bytes lost", Shown::Most("lost")),
                Column("told", Shown::Least("notices")),
                Column("times websocket-client", Shown::Times("ms", USUAL[0])),
            ],
            rows,
            goals: Vec::new(),
            load: [before, load()],
            title,
        };
        let what = table.title.clone();
        let lost = table.row(OURS).and_then(|row| row.most("lost"));
        let told = table.row(OURS_LIMITED).and_then(|row| row.least("notices"));
        let time = table.to_best("ms", OURS, &[USUAL, QUICK].concat());
        table.goals = vec![
            Goal::at_most(&format!("{what}, lost"), lost, 0.0).counted_in(" bytes"),
            Goal::at_most(&format!("{what}, time to the quickest other"), time, 1.0),
            Goal::at_least(&format!("{what}, told what a server drops"), told, 1.0)
                .counted_in(" notices"),
        ];
        tables.push(table);
    }
    Ok(tables)
}

/// From before a kernel is asked for to the first value it shows.
pub(super) fn start(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for (sort, server_name) in SERVERS {
        let server = arena.server(sort, Limits::Lifted)?;
        let task = arena.task(Job::Start, "1+1", Some(&server));
        let before = load();
        let rows = arena.interleave(&all(&task), size.rounds(9, 2))?;
        let table = Table {
            family: "start",
            title: format!("a new kernel to the value of `1+1`, {server_name}"),
            columns: vec![
                Column("n", Shown::Count("ms")),
                Column("median ms", Shown::Median("ms")),
                Column("min ms", Shown::Least("ms")),
                Column("p99 ms", Shown::P99("ms")),
                Column("of that ready ms", Shown::Median("ready_ms")),
                Column("times websocket-client", Shown::Times("ms", USUAL[0])),
                Column("times it with QUICKACK", Shown::Times("ms", QUICK[0])),
            ],
            rows,
            goals: Vec::new(),
            load: [before, load()],
        };
        tables.push(table);
    }
    Ok(tables)
}

/// What a client's process holds for kernels that it is connected to.
pub(super) fn clients(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let (stand_in, port) = arena.stand_in()?;
    let count = size.kernels;
    let task = Task { port, count, ..arena.task(Job::Clients, "1+1", None) };
    let contenders = [peer(USUAL[0], 0, &task), peer(USUAL[1], 1, &task), ours(OURS, &task)];
    let before = load();
    let rows = arena.each_anew(&contenders, size.rounds(3, 1).count)?;
    drop(stand_in);
    let mut table = Table {
        family: "clients",
        title: format!("memory of a client's process with one kernel, and with {count} more"),
        columns: vec![
            Column("n", Shown::Count("mib")),
            Column("RSS with one MiB", Shown::Median("before_mib")),
            Column("RSS with all MiB", Shown::Median("mib")),
            Column("grown by MiB", Shown::Median("grown_mib")),
            Column("all, times websocket-client", Shown::Times("mib", USUAL[0])),
            Column("growth, times websocket-client", Shown::Times("grown_mib", USUAL[0])),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    };
    let ratio = table.to_best("mib", OURS, &USUAL);
    let text = format!("{count} kernels, memory to the leanest other's");
    table.goals.push(Goal::at_most(&text, ratio, 1.0));
    Ok(vec![table])
}
