//! The tables of the family: who takes part in each, and the goals.
//!
//! Must not know how a sample is taken.

use anyhow::Result;

use super::arena::{Arena, Contender, Who};
use super::task::{Carrier, Client, Job, Queue, Task};
use crate::bench::notebook::load;
use crate::bench::report::Goal;
use crate::bench::table::{Column, Shown, Table};
use crate::bench::turns::Size;

const OURS: [&str; 2] = ["inkcell, ipc", "inkcell, tcp"];
const BLOCKING: [&str; 2] = ["jupyter_client, ipc", "jupyter_client, tcp"];
const AWAITING: [&str; 2] = ["async jupyter_client, ipc", "async jupyter_client, tcp"];
const POOLED: &str = "inkcell, ipc, from the pool";
const BOUNDED: &str = "jupyter_client, ipc, queue as it comes";

/// Which way of printing: what it is called, the code, and how much comes of it.
struct Printing {
    title: String,
    code: String,
    bytes: usize,
    /// Set where so many messages come that the peer may lose some.
    silence_s: Option<u64>,
}

fn blocking(task: &Task, carrier: usize) -> Contender {
    let task = Task { transport: Carrier::ALL[carrier], ..task.clone() };
    Contender { name: BLOCKING[carrier], who: Who::Peer, task }
}

fn awaiting(task: &Task, carrier: usize) -> Contender {
    let task = Task { client: Client::Awaiting, ..blocking(task, carrier).task };
    Contender { name: AWAITING[carrier], who: Who::Peer, task }
}

fn ours(task: &Task, carrier: usize) -> Contender {
    Contender { name: OURS[carrier], who: Who::Ours, task: blocking(task, carrier).task }
}

/// Everybody on every carrier.
fn all(task: &Task) -> Vec<Contender> {
    (0..Carrier::ALL.len())
        .flat_map(|carrier| [blocking(task, carrier), awaiting(task, carrier), ours(task, carrier)])
        .collect()
}

/// No slower than the quicker client of the peer, on each carrier.
fn no_slower(table: &mut Table, figure: &str, what: &str) {
    for (carrier, name) in OURS.iter().enumerate() {
        let ratio = table.to_best(figure, name, &[BLOCKING[carrier], AWAITING[carrier]]);
        let text = format!("{what}, {}: time to jupyter_client's", Carrier::ALL[carrier].name());
        table.goals.push(Goal::at_most(&text, ratio, 1.0));
    }
}

/// A cell that does next to nothing, until its end is known.
pub(super) fn trip(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for code in ["pass", "1+1"] {
        let mut task = arena.task(Job::Trip, code);
        // Few at a time, so that what else the machine does meets all of them.
        task.count = 10;
        let before = load();
        let rows = arena.interleave(&all(&task), size.rounds(60, 4))?;
        let mut table = Table {
            family: "trip",
            title: format!("round trip of `{code}` in a warm kernel, to the end of the cell"),
            columns: vec![
                Column("n", Shown::Count("us")),
                Column("median µs", Shown::Median("us")),
                Column("min µs", Shown::Least("us")),
                Column("p99 µs", Shown::P99("us")),
                Column("client's CPU µs", Shown::Median("cpu_us")),
                Column("times jupyter_client, ipc", Shown::Times("us", BLOCKING[0])),
                Column("times jupyter_client, tcp", Shown::Times("us", BLOCKING[1])),
            ],
            rows,
            goals: Vec::new(),
            load: [before, load()],
        };
        no_slower(&mut table, "us", &format!("`{code}`"));
        tables.push(table);
    }
    Ok(tables)
}

/// Much output: as many messages, as many lines, and as one of them.
pub(super) fn output(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let (lines, megabytes) = (size.pick(20_000, 2_000), size.pick(50, 5));
    let count = megabytes * 10_000;
    let printings = [
        Printing {
            title: format!("{lines} lines, each flushed"),
            code: format!("for i in range({lines}): print(f\"{{i:09d}}\", flush=True)"),
            bytes: lines * 10,
            silence_s: Some(10),
        },
        Printing {
            title: format!("{lines} displays"),
            code: format!(
                "for i in range({lines}): display({{\"text/plain\": f\"{{i:010d}}\"}}, raw=True)"
            ),
            bytes: lines * 10,
            silence_s: Some(10),
        },
        Printing {
            title: format!("{megabytes} MB in {count} lines"),
            code: format!("for i in range({count}): print(f\"{{i:099d}}\")"),
            bytes: count * 100,
            silence_s: None,
        },
        Printing {
            title: format!("{megabytes} MB in one call of print"),
            code: format!("print('x' * {})", count * 100 - 1),
            bytes: count * 100,
            silence_s: None,
        },
    ];
    let mut tables = Vec::new();
    for printing in printings {
        let mut task = arena.task(Job::Output, &printing.code);
        (task.bytes, task.silence_s) = (printing.bytes, printing.silence_s);
        let mut contenders = all(&task);
        if printing.silence_s.is_some() {
            let task = Task { queue: Queue::Usual, ..task };
            contenders.push(Contender { name: BOUNDED, ..blocking(&task, 0) });
        }
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
                Column("most bytes lost", Shown::Most("lost")),
                Column("times jupyter_client, ipc", Shown::Times("ms", BLOCKING[0])),
                Column("times jupyter_client, tcp", Shown::Times("ms", BLOCKING[1])),
            ],
            rows,
            goals: Vec::new(),
            load: [before, load()],
            title: printing.title,
        };
        let what = table.title.clone();
        no_slower(&mut table, "ms", &what);
        tables.push(table);
    }
    Ok(tables)
}

/// From before a kernel is asked for to the first value it shows.
pub(super) fn start(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let task = arena.task(Job::Start, "1+1");
    let mut contenders: Vec<Contender> =
        (0..2).flat_map(|carrier| [blocking(&task, carrier), ours(&task, carrier)]).collect();
    let pooled = Task { pool: 1, ..ours(&task, 0).task };
    contenders.push(Contender { name: POOLED, who: Who::Ours, task: pooled });
    let before = load();
    let rows = arena.interleave(&contenders, size.rounds(9, 2))?;
    let mut table = Table {
        family: "start",
        title: "a new kernel to the value of `1+1`".to_owned(),
        columns: vec![
            Column("n", Shown::Count("ms")),
            Column("median ms", Shown::Median("ms")),
            Column("min ms", Shown::Least("ms")),
            Column("p99 ms", Shown::P99("ms")),
            Column("of that ready ms", Shown::Median("ready_ms")),
            Column("quicker than jupyter_client, ipc", Shown::Under("ms", BLOCKING[0])),
            Column("quicker than jupyter_client, tcp", Shown::Under("ms", BLOCKING[1])),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    };
    for (carrier, name) in OURS.iter().enumerate() {
        let text = format!("{}: quicker than jupyter_client", Carrier::ALL[carrier].name());
        let ratio = table.times("ms", BLOCKING[carrier], name);
        table.goals.push(Goal::at_least(&text, ratio, 1.3));
    }
    // The quicker of the peer's is the one that is harder to beat by so much.
    let part = table.to_best("ms", POOLED, &BLOCKING);
    let text = "from the pool: quicker than jupyter_client";
    table.goals.push(Goal::at_least(text, part.map(|part| 1.0 / part), 20.0));
    Ok(vec![table])
}

/// What a client's process holds for kernels that it is connected to.
pub(super) fn clients(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let (kernels, connections) = arena.idle_kernels(size.kernels + 1)?;
    let task = Task { connections, ..arena.task(Job::Clients, "1+1") };
    let contenders = [blocking(&task, 0), ours(&task, 0)];
    let before = load();
    let rows = arena.each_anew(&contenders, size.rounds(3, 1).count)?;
    drop(kernels);
    let count = size.kernels;
    let mut table = Table {
        family: "clients",
        title: format!("memory of a client's process with one kernel, and with {count} more"),
        columns: vec![
            Column("n", Shown::Count("mib")),
            Column("RSS with one MiB", Shown::Median("before_mib")),
            Column("RSS with all MiB", Shown::Median("mib")),
            Column("grown by MiB", Shown::Median("grown_mib")),
            Column("all, times jupyter_client", Shown::Times("mib", BLOCKING[0])),
            Column("growth, times jupyter_client", Shown::Times("grown_mib", BLOCKING[0])),
        ],
        rows,
        goals: Vec::new(),
        load: [before, load()],
    };
    let ratio = |figure| table.times(figure, OURS[0], BLOCKING[0]);
    table.goals = vec![Goal::at_most(
        &format!("{count} kernels, growth to jupyter_client's"),
        ratio("grown_mib"),
        0.1,
    )];
    Ok(vec![table])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::Row;
    use serde_json::json;

    fn table(figures: &[(&'static str, f64)]) -> Table {
        let rows = figures.iter().map(|(name, ms)| {
            let mut row = Row::default();
            row.add(&json!({"ms": ms}));
            (*name, row)
        });
        Table {
            family: "test",
            title: String::new(),
            columns: Vec::new(),
            rows: rows.collect(),
            goals: Vec::new(),
            load: [String::new(), String::new()],
        }
    }

    #[test]
    fn each_carrier_has_a_goal_of_its_own() {
        let mut found = table(&[
            (OURS[0], 3.0),
            (BLOCKING[0], 4.0),
            (AWAITING[0], 5.0),
            (OURS[1], 3.0),
            (BLOCKING[1], 4.0),
            (AWAITING[1], 2.0),
        ]);
        no_slower(&mut found, "ms", "a cell");
        let passed: Vec<bool> = found.goals.iter().map(Goal::passed).collect();
        assert_eq!(passed, [true, false]);
    }
}
