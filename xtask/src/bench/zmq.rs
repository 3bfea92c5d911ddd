//! The family `zmq`: compares our client of Jupyter kernels with `jupyter_client`, on the same kernel.
//!
//! Owns its command line, the contenders of each table, and the goals. Every contender is a separate process, ours
//! from a dist build; they take turns within a round. Must not know how a figure is taken.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::arena::{Arena, remove};
use super::client::{Backend, Carrier, Client, ClientKind, Job, Queue, Task};
use super::family::Family;
use super::gateway::ClientArgs;
use super::measure::{Size, Speaker};
use super::peers;
use super::table::{CLIENT_MEMORY, Column, Goal, MS, MS_P99, Statistic, Table, US_P99};

const NOTES: &[&str] = &[
    "Medians inside one table; compare nothing across tables. Clients take turns within a round, each round begins with another one, one round before the first warms up (not for `clients`).",
    "Every client has a kernel of its own: the same ipykernel in the same interpreter and environment, its history in memory, on the transport that the row names, which the kernel itself confirms. Goals compare with the quicker of jupyter_client's two clients.",
    "trip, output: to the reply and the idle status. jupyter_client waits without a time limit, which is how it is quickest. A client's CPU is that of its own process, kernel not included: the figure to look at where the machine is busy.",
    "output: every byte is counted; ours fails if one is missing. ZeroMQ holds a thousand messages at each end and drops the rest, so jupyter_client's end is told to hold all; the row \"as it comes\" is not, and is of no goal. What it loses of the flushed lines all the same is in the table, its time is that to the last it heard, and in that table it waits for each message with a limit.",
    "start: to the first value. jupyter_client does what its start_new_kernel does, which ends with 0.2 s of silence. Ours has the prelude in it. From the pool: one kernel waits, and the next is there before anybody takes another sample.",
    "clients: kernels are light stand-ins, all in one process, the same for both; each has run a cell. A new process for each sample. The first kernel brings in code and libraries, so the growth is that of the further ones alone.",
];

type Measure = fn(&Arena, &Size) -> Result<Vec<Table>>;

static FAMILY: Family<Measure> = Family {
    name: "zmq",
    title: "Jupyter kernels over ZeroMQ",
    parts: &[("trip", trip), ("output", output), ("start", start), ("clients", clients)],
    notes: NOTES,
};

const PEER: &str = "zmq_client.py";
const OURS: [&str; 2] = ["inkcell, ipc", "inkcell, tcp"];
const BLOCKING: [&str; 2] = ["jupyter_client, ipc", "jupyter_client, tcp"];
const AWAITING: [&str; 2] = ["async jupyter_client, ipc", "async jupyter_client, tcp"];
const POOLED: &str = "inkcell, ipc, from the pool";
const BOUNDED: &str = "jupyter_client, ipc, queue as it comes";

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<ClientArgs>(args)?;
    let python = peers::python_env(&report.workspace)?;
    report.head(&python, peers::pinned(&report.workspace)?);
    let mut arena = Arena::new(&report.workspace, FAMILY.name, &python)?;
    arena.set("JUPYTER_RUNTIME_DIR", arena.runtime().join("jupyter"));
    report.note("environment", json!(arena.environment()));
    arena.print_environment("client");
    let size = report.size(report.extra.rounds, Some(report.extra.kernels));
    report.measure(|_, measure| measure(&arena, &size))?;
    report.close()
}

/// The backend of our kernels on this carrier.
fn backend(arena: &Arena, carrier: usize, pool: usize, connections: Vec<PathBuf>) -> Backend {
    let (transport, runtime_dir) = (Carrier::ALL[carrier], arena.runtime().join("k"));
    Backend::Zmq { transport, pool, connections, runtime_dir }
}

fn carried_by(arena: &Arena, task: &Task, carrier: usize) -> Task {
    Task { backend: backend(arena, carrier, 0, Vec::new()), ..task.clone() }
}

/// All contenders on every carrier.
fn all(arena: &Arena, task: &Task) -> Vec<Client> {
    let each = |carrier| {
        let task = carried_by(arena, task, carrier);
        let awaiting = Task { client: ClientKind::Async, ..task.clone() };
        [
            Client::peer(BLOCKING[carrier], PEER, task.clone()),
            Client::peer(AWAITING[carrier], PEER, awaiting),
            Client::ours(OURS[carrier], task),
        ]
    };
    (0..Carrier::ALL.len()).flat_map(each).collect()
}

/// A task on the first carrier of [`Carrier::ALL`].
fn task(arena: &Arena, job: Job, code: &str) -> Task {
    arena.task(job, code, backend(arena, 0, 0, Vec::new()))
}

/// Adds the goal to be no slower than the peer's faster client, on each carrier.
fn no_slower(table: &mut Table, figure: &str, what: &str) {
    for (carrier, name) in OURS.iter().enumerate() {
        let ratio = table.to_best(figure, name, &[BLOCKING[carrier], AWAITING[carrier]]);
        let text = format!("{what}, {}: time to jupyter_client's", Carrier::ALL[carrier].name());
        table.goals.push(Goal::at_most(text, ratio, 1.0));
    }
}

/// Measures a trivial cell until its end is known.
fn trip(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for code in ["pass", "1+1"] {
        // Few trips in a sample, so that other load on the machine affects all contenders.
        let clients = all(arena, &Task { count: 10, ..task(arena, Job::Trip, code) });
        let mut columns = US_P99.to_vec();
        columns.extend([
            Column("client's CPU µs", Statistic::Median("cpu_us")),
            Column("times jupyter_client, ipc", Statistic::Times("us", BLOCKING[0])),
            Column("times jupyter_client, tcp", Statistic::Times("us", BLOCKING[1])),
        ]);
        let title = format!("round trip of `{code}` in a warm kernel, to the end of the cell");
        let mut table = Table::measure("trip", title, columns, || {
            arena.ask_in_turn(&clients, size.rounds(60, 4))
        })?;
        no_slower(&mut table, "us", &format!("`{code}`"));
        tables.push(table);
    }
    Ok(tables)
}

/// Measures much output: as many messages, as many lines, and as one line.
fn output(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let (lines, megabytes) = (size.pick(20_000, 2_000), size.pick(50, 5));
    let count = megabytes * 10_000;
    // For each way of printing: title, code, number and width of the lines, and the seconds of silence that count as
    // the end if the peer may lose some of the messages.
    let printings = [
        (
            format!("{lines} lines, each flushed"),
            format!("for i in range({lines}): print(f\"{{i:09d}}\", flush=True)"),
            (lines, 10),
            Some(10),
        ),
        (
            format!("{lines} displays"),
            format!(
                "for i in range({lines}): display({{\"text/plain\": f\"{{i:010d}}\"}}, raw=True)"
            ),
            (lines, 10),
            Some(10),
        ),
        (
            format!("{megabytes} MB in {count} lines"),
            format!("for i in range({count}): print(f\"{{i:099d}}\")"),
            (count, 100),
            None,
        ),
        (
            format!("{megabytes} MB in one call of print"),
            format!("print('x' * {})", count * 100 - 1),
            (1, count * 100),
            None,
        ),
    ];
    let mut tables = Vec::new();
    for (title, code, (count, width), silence_s) in printings {
        let task = Task { count, width, silence_s, ..task(arena, Job::Output, &code) };
        let mut clients = all(arena, &task);
        if silence_s.is_some() {
            clients.push(Client::peer(BOUNDED, PEER, Task { queue: Queue::Usual, ..task }));
        }
        let mut columns = MS.to_vec();
        columns.extend([
            Column("MB/s", Statistic::Median("mb_s")),
            Column("client's CPU ms", Statistic::Median("cpu_ms")),
            Column("parts", Statistic::Median("messages")),
            Column("most bytes lost", Statistic::Most("lost")),
            Column("times jupyter_client, ipc", Statistic::Times("ms", BLOCKING[0])),
            Column("times jupyter_client, tcp", Statistic::Times("ms", BLOCKING[1])),
        ]);
        let what = title.clone();
        let mut table = Table::measure("output", title, columns, || {
            arena.ask_in_turn(&clients, size.rounds(3, 1))
        })?;
        no_slower(&mut table, "ms", &what);
        tables.push(table);
    }
    Ok(tables)
}

/// Measures from before the request for a kernel to the first value that it shows.
fn start(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let task = task(arena, Job::Start, "1+1");
    let mut clients = Vec::new();
    for carrier in 0..Carrier::ALL.len() {
        let task = carried_by(arena, &task, carrier);
        clients.push(Client::peer(BLOCKING[carrier], PEER, task.clone()));
        clients.push(Client::ours(OURS[carrier], task));
    }
    let pooled = Task { backend: backend(arena, 0, 1, Vec::new()), ..task };
    clients.push(Client::ours(POOLED, pooled));
    let mut columns = MS_P99.to_vec();
    columns.extend([
        Column("of that ready ms", Statistic::Median("ready_ms")),
        Column("quicker than jupyter_client, ipc", Statistic::Under("ms", BLOCKING[0])),
        Column("quicker than jupyter_client, tcp", Statistic::Under("ms", BLOCKING[1])),
    ]);
    let title = "a new kernel to the value of `1+1`";
    let mut table =
        Table::measure("start", title, columns, || arena.ask_in_turn(&clients, size.rounds(9, 2)))?;
    for (carrier, name) in OURS.iter().enumerate() {
        let text = format!("{}: quicker than jupyter_client", Carrier::ALL[carrier].name());
        let ratio = table.times("ms", BLOCKING[carrier], name);
        table.goals.push(Goal::at_least(text, ratio, 1.3));
    }
    // The faster of the peer's clients is the harder one to beat by this factor.
    let times = table.quicker("ms", POOLED, &BLOCKING);
    table.goals.push(Goal::at_least("from the pool: quicker than jupyter_client", times, 20.0));
    Ok(vec![table])
}

/// Measures the memory of a client's process for each kernel that it is connected to.
fn clients(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let count = size.kernels.unwrap_or_default();
    let (kernels, connections) = idle_kernels(arena, count + 1)?;
    let backend = backend(arena, 0, 0, connections);
    let task = Task { count, ..arena.task(Job::Clients, "1+1", backend) };
    let clients = [Client::peer(BLOCKING[0], PEER, task.clone()), Client::ours(OURS[0], task)];
    let mut columns = CLIENT_MEMORY.to_vec();
    columns.extend([
        Column("all, times jupyter_client", Statistic::Times("mib", BLOCKING[0])),
        Column("growth, times jupyter_client", Statistic::Times("grown_mib", BLOCKING[0])),
    ]);
    let title = format!("memory of a client's process with one kernel, and with {count} more");
    let mut table =
        Table::measure("clients", title, columns, || arena.ask_anew(&clients, size.rounds(3, 1)))?;
    drop(kernels);
    let ratio = table.times("grown_mib", OURS[0], BLOCKING[0]);
    let text = format!("{count} kernels, growth to jupyter_client's");
    table.goals = vec![Goal::at_most(text, ratio, 0.1)];
    Ok(vec![table])
}

/// Starts idle kernels in one process; returns the process and their connection files.
fn idle_kernels(arena: &Arena, count: usize) -> Result<(Speaker, Vec<PathBuf>)> {
    let folder = arena.runtime().join("idle");
    remove(&folder)?;
    std::fs::create_dir(&folder)?;
    let number = count.to_string();
    let args = [folder.as_os_str(), OsStr::new(&number)];
    let (kernels, _) = arena.stand_ins("zmq_kernels.py", &args)?;
    Ok((kernels, (0..count).map(|number| folder.join(format!("{number}.json"))).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::table::table_of;
    use super::*;

    #[test]
    fn each_carrier_has_a_goal_of_its_own() {
        let mut found = table_of(&[
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

    #[test]
    fn kernels_of_one_client_can_be_chosen() {
        assert!(FAMILY.accepts::<ClientArgs>(&["trip", "clients", "--kernels", "4"]));
    }
}
