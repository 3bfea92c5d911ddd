//! Measurements: `cargo xtask bench <family>`.
//!
//! Owns the list of families. Nothing here is a test: a missed goal is printed, and only `--check` turns it into a
//! failure. Must not know how a figure is taken.

mod agent;
mod arena;
mod batch;
mod build;
mod client;
mod contender;
mod engine;
mod family;
mod floor;
mod gateway;
mod host;
mod jupyter;
mod kernel;
mod mcp;
mod measure;
mod notebook;
mod notebook_file;
mod peers;
mod run;
mod stale;
mod table;
mod wide;
mod zmq;

use anyhow::{Result, bail};

/// Name of a family, what it measures, and the function that runs it.
type Row = (&'static str, &'static str, fn(&[String]) -> Result<()>);

const FAMILIES: [Row; 11] = [
    (
        "notebook",
        "one-cell edit and outline of 1, 10 and 100 MB notebooks, beside the peers",
        notebook::run,
    ),
    ("kernel", "starts, round trips, output and memory of kernels, beside the peers", kernel::run),
    ("engine", "a cell's way, output through sink and artifact, many sessions", engine::run),
    ("mcp", "start, a call and memory of the server for agents, beside the peers", mcp::run),
    (
        "agent",
        "calls and bytes that ten tasks of an agent take, beside an earlier edition",
        agent::run,
    ),
    (
        "run",
        "notebooks that are run, from the command line and by an agent, beside the peers",
        run::run,
    ),
    ("zmq", "our client of Jupyter kernels beside jupyter_client, on the same kernel", zmq::run),
    (
        "gateway",
        "our client of gateways beside Python's websocket clients, on the same server",
        gateway::run,
    ),
    (
        "batch",
        "many notebooks in one command, beside one command for each; which cells are stale",
        batch::run,
    ),
    ("build", "clean builds, the slowest crates, and a build after one changed line", build::run),
    (
        "host",
        "commands at a host that is there, beside a bare client of its socket and nbclient",
        host::run,
    ),
];

/// A function that runs a family with its arguments.
type Run = fn(&[String]) -> Result<()>;

/// Not families: programs that families start as separate processes, from a dist build.
const HIDDEN: [(&str, Run); 4] = [
    ("floor", floor::run),
    ("client", client::run),
    ("engine-host", engine::run_host),
    ("mcp-host", mcp::run_host),
];

pub fn run(args: &[String]) -> Result<()> {
    let Some((asked, rest)) = args.split_first() else {
        println!("Families of `cargo xtask bench`:");
        for (name, about, _) in FAMILIES {
            println!("  {name:<10} {about}");
        }
        return Ok(());
    };
    if let Some((_, _, measure)) = FAMILIES.iter().find(|(name, ..)| name == asked) {
        return measure(args);
    }
    if let Some((_, work)) = HIDDEN.iter().find(|(name, _)| name == asked) {
        return work(rest);
    }
    let names = FAMILIES.map(|(name, ..)| name).join(", ");
    bail!("no family of measurements is called {asked:?}; there are: {names}")
}
