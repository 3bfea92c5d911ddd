//! The family `gateway`: compares our client of gateways with Python's websocket clients, on the same server.
//!
//! Owns its command line, the contenders of each table, and the goals. Every contender is a separate process, ours
//! from a dist build; they take turns within a round. Must not know how a figure is taken.

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;

use super::arena::Arena;
use super::client::{Backend, Client, ClientKind, Job, Task};
use super::family::Family;
use super::jupyter::{Jupyter, Sort};
use super::measure::Size;
use super::peers;
use super::table::{CLIENT_MEMORY, Column, Goal, MS, MS_P99, Statistic, Table, US_P99};
use crate::servers;

const NOTES: &[&str] = &[
    "Medians inside one table; compare nothing across tables. Clients take turns within a round, each round begins with another one, one round before the first warms up (not for `clients`).",
    "Every client has a kernel of its own on the same server, on loopback. websocket-client is what jupyter_server's GatewayKernelClient stands on, tornado what its proxy of a gateway does. Both are used bare, in the quickest form of messages that servers speak and with TCP_NODELAY. With QUICKACK: TCP_QUICKACK is set again after every receive. Goals compare with the quicker of the two.",
    "trip, output: to the reply and the idle status. A client's CPU is that of its own process: the figure to look at where the machine is busy.",
    "output: bytes of standard output are counted. Servers run with their limits on output lifted, as the gateway that inkcell starts does; the rows \"limits as they come\" are on one that was told nothing. On a server that drops output, \"told\" counts the notices that came of it.",
    "start: from asking for a kernel to the first value. The peers ask for nothing else; ours looks which kernels there are, waits until the kernel's output is heard, and has the prelude in it; so there is no goal.",
    "clients: the gateway is a stand-in whose kernels do nothing, the same for all; each has run a cell. A new process for each sample. The first kernel brings in code and libraries, so the growth is that of the further ones alone.",
];

/// Pinned packages on which figures depend.
const VERSIONS: [&str; 6] = [
    "ipykernel",
    "jupyter-kernel-gateway",
    "jupyter_server",
    "pyzmq",
    "tornado",
    "websocket-client",
];

type Measure = fn(&Arena, &Size) -> Result<Vec<Table>>;

static FAMILY: Family<Measure> = Family {
    name: "gateway",
    title: "Kernels on gateways and Jupyter servers",
    parts: &[("trip", trip), ("output", output), ("start", start), ("clients", clients)],
    notes: NOTES,
};

const PEER: &str = "gateway_client.py";
const OURS: &str = "inkcell";
const USUAL: [&str; 2] = ["websocket-client", "tornado"];
const QUICK: [&str; 2] = ["websocket-client, QUICKACK", "tornado, QUICKACK"];
const OURS_LIMITED: &str = "inkcell, limits as they come";
const LIMITED: [&str; 2] =
    ["websocket-client, limits as they come", "tornado, limits as they come"];
const CLIENTS: [ClientKind; 2] = [ClientKind::Blocking, ClientKind::Async];

const SERVERS: [(Sort, &str); 2] =
    [(Sort::Gateway, "kernel gateway"), (Sort::Server, "Jupyter server")];

/// The option that lifts a server's limits on output; inkcell passes the same to the gateway that it starts.
const LIFTED: [&str; 1] = ["--ZMQChannelsWebsocketConnection.limit_rate=False"];

/// Options of the families that measure clients of kernels.
#[derive(Args)]
pub(super) struct ClientArgs {
    /// Rounds for each table [default: depends on the table].
    #[arg(long, value_name = "N")]
    pub(super) rounds: Option<usize>,
    /// Kernels of one client in `clients` [default: 50].
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(super) kernels: usize,
}

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<ClientArgs>(args)?;
    let python = servers::jupyter(&report.workspace)?;
    let mut versions = peers::pinned_in(&report.workspace, servers::JUPYTER_REQUIREMENTS)?;
    versions.retain(|version| VERSIONS.iter().any(|name| version.split(' ').next() == Some(name)));
    report.head(&python, versions);
    let mut arena = Arena::new(&report.workspace, FAMILY.name, &python)?;
    arena.set("JUPYTER_RUNTIME_DIR", arena.root.join("runtime"));
    report.note("environment", json!(arena.environment()));
    let size = report.size(report.extra.rounds, Some(report.extra.kernels));
    report.measure(|_, measure| measure(&arena, &size))?;
    report.close()
}

/// A task on the server at this port.
fn task(arena: &Arena, job: Job, code: &str, port: u16, token: &str) -> Task {
    let (token, runtime_dir) = (token.to_owned(), arena.root.join("spill"));
    arena.task(job, code, Backend::Gateway { port, token, runtime_dir })
}

fn server_task(arena: &Arena, server: &Jupyter, job: Job, code: &str) -> Task {
    task(arena, job, code, server.port(), server.token())
}

fn peer(names: [&'static str; 2], client: usize, task: &Task) -> Client {
    Client::peer(names[client], PEER, Task { client: CLIENTS[client], ..task.clone() })
}

/// All contenders, on one server.
fn all(task: &Task) -> Vec<Client> {
    let quick = Task { quick: true, ..task.clone() };
    let peers = (0..2).flat_map(|client| [peer(USUAL, client, task), peer(QUICK, client, &quick)]);
    peers.chain([Client::ours(OURS, task.clone())]).collect()
}

/// Measures a trivial cell until its end is known.
fn trip(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for (sort, server_name) in SERVERS {
        let server = arena.server(sort, &LIFTED)?;
        for code in ["pass", "1+1"] {
            // Few trips in a sample, so that other load on the machine affects all contenders.
            let clients = all(&Task { count: 10, ..server_task(arena, &server, Job::Trip, code) });
            let mut columns = US_P99.to_vec();
            columns.extend([
                Column("client's CPU µs", Statistic::Median("cpu_us")),
                Column("quicker than websocket-client", Statistic::Under("us", USUAL[0])),
                Column("quicker than it with QUICKACK", Statistic::Under("us", QUICK[0])),
            ]);
            let title = format!("round trip of `{code}` in a warm kernel, {server_name}");
            let mut table = Table::measure("trip", title, columns, || {
                arena.ask_in_turn(&clients, size.rounds(40, 4))
            })?;
            let text = |than: &str| format!("`{code}`, {server_name}: quicker than {than}");
            table.goals = vec![
                Goal::at_least(text("without QUICKACK"), table.quicker("us", OURS, &USUAL), 4.0),
                Goal::at_least(text("with it"), table.quicker("us", OURS, &QUICK), 1.0),
            ];
            tables.push(table);
        }
    }
    Ok(tables)
}

/// Measures much output, as many lines and as one line, on servers that pass it on and on one that limits it.
fn output(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let megabytes = size.pick(100, 10);
    let (bytes, lines) = (megabytes * 1_000_000, megabytes * 2_500);
    let printings = [
        (
            format!("{megabytes} MB in {lines} lines"),
            format!("for i in range({lines}): print(f\"{{i:0399d}}\")"),
        ),
        (format!("{megabytes} MB in one call of print"), format!("print('x' * {})", bytes - 1)),
    ];
    let lifted = arena.server(Sort::Gateway, &LIFTED)?;
    let limited = arena.server(Sort::Gateway, &[])?;
    let mut tables = Vec::new();
    for (title, code) in printings {
        let task = |server: &Jupyter| Task {
            width: bytes,
            ..server_task(arena, server, Job::Output, &code)
        };
        let mut clients = all(&task(&lifted));
        let held_back = task(&limited);
        clients.extend((0..2).map(|client| peer(LIMITED, client, &held_back)));
        clients.push(Client::ours(OURS_LIMITED, held_back));
        let mut columns = MS.to_vec();
        columns.extend([
            Column("MB/s", Statistic::Median("mb_s")),
            Column("client's CPU ms", Statistic::Median("cpu_ms")),
            Column("parts", Statistic::Median("messages")),
            Column("least bytes lost", Statistic::Least("lost")),
            Column("most bytes lost", Statistic::Most("lost")),
            Column("told", Statistic::Least("notices")),
            Column("times websocket-client", Statistic::Times("ms", USUAL[0])),
        ]);
        let what = title.clone();
        let mut table = Table::measure("output", title, columns, || {
            arena.ask_in_turn(&clients, size.rounds(3, 1))
        })?;
        let lost = table.row(OURS).and_then(|row| row.most("lost"));
        let told = table.row(OURS_LIMITED).and_then(|row| row.least("notices"));
        let time = table.to_best("ms", OURS, &[USUAL, QUICK].concat());
        table.goals = vec![
            Goal::at_most(format!("{what}, lost"), lost, 0.0).counted_in(" bytes"),
            Goal::at_most(format!("{what}, time to the quickest other"), time, 1.0),
            Goal::at_least(format!("{what}, told what a server drops"), told, 1.0)
                .counted_in(" notices"),
        ];
        tables.push(table);
    }
    Ok(tables)
}

/// Measures from before the request for a kernel to the first value that it shows.
fn start(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for (sort, server_name) in SERVERS {
        let server = arena.server(sort, &LIFTED)?;
        let clients = all(&server_task(arena, &server, Job::Start, "1+1"));
        let mut columns = MS_P99.to_vec();
        columns.extend([
            Column("of that ready ms", Statistic::Median("ready_ms")),
            Column("times websocket-client", Statistic::Times("ms", USUAL[0])),
            Column("times it with QUICKACK", Statistic::Times("ms", QUICK[0])),
        ]);
        let title = format!("a new kernel to the value of `1+1`, {server_name}");
        tables.push(Table::measure("start", title, columns, || {
            arena.ask_in_turn(&clients, size.rounds(9, 2))
        })?);
    }
    Ok(tables)
}

/// Measures the memory of a client's process for each kernel that it is connected to.
fn clients(arena: &Arena, size: &Size) -> Result<Vec<Table>> {
    let (stand_in, said) = arena.stand_ins("gateway_kernels.py", &[])?;
    let port = said["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    let port = port.context("the stand-in said no port")?;
    let count = size.kernels.unwrap_or_default();
    let task = Task { count, ..task(arena, Job::Clients, "1+1", port, "none") };
    let clients = [peer(USUAL, 0, &task), peer(USUAL, 1, &task), Client::ours(OURS, task)];
    let mut columns = CLIENT_MEMORY.to_vec();
    columns.extend([
        Column("all, times websocket-client", Statistic::Times("mib", USUAL[0])),
        Column("growth, times websocket-client", Statistic::Times("grown_mib", USUAL[0])),
    ]);
    let title = format!("memory of a client's process with one kernel, and with {count} more");
    let mut table =
        Table::measure("clients", title, columns, || arena.ask_anew(&clients, size.rounds(3, 1)))?;
    drop(stand_in);
    let ratio = table.to_best("mib", OURS, &USUAL);
    let text = format!("{count} kernels, memory to the leanest other's");
    table.goals = vec![Goal::at_most(text, ratio, 1.0)];
    Ok(vec![table])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_figures_depend_on_is_pinned() {
        let pinned = include_str!("../../requirements-jupyter.txt");
        let is_pinned =
            |name: &&str| pinned.lines().any(|line| line.split("==").next() == Some(*name));
        assert!(VERSIONS.iter().all(is_pinned));
    }

    #[test]
    fn kernels_of_one_client_can_be_chosen() {
        assert!(FAMILY.accepts::<ClientArgs>(&["trip", "--kernels", "4"]));
    }
}
