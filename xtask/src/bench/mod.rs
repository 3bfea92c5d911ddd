//! Measurements: `cargo xtask bench <family>`.
//!
//! Owns the list of families and their command lines. Nothing here is a test: a missed goal is
//! printed, and only `--check` turns it into a failure. Must not know how a figure is taken.

mod batch;
mod build;
mod cells;
mod engine;
mod family;
mod floor;
mod gateway;
mod host;
mod jupyter;
mod kernel;
mod mcp;
mod memory;
mod notebook;
mod notebook_file;
mod orders;
mod peers;
mod report;
mod row;
mod run;
mod sample;
mod stale;
mod table;
mod turns;
mod wide;
mod zmq;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;

const FAMILIES: &[(&str, &str)] = &[
    ("notebook", "one-cell edit and outline of 1, 10 and 100 MB notebooks, beside the peers"),
    ("kernel", "starts, round trips, output and memory of kernels, beside the peers"),
    ("engine", "a cell's way, output through sink and artifact, many sessions"),
    ("mcp", "start, a call and memory of the server for agents, beside the peers"),
    ("run", "notebooks that are run, from the command line and by an agent, beside the peers"),
    ("zmq", "our client of Jupyter kernels beside jupyter_client, on the same kernel"),
    ("gateway", "our client of gateways beside Python's websocket clients, on the same server"),
    ("batch", "many notebooks in one command, beside one command for each; which cells are stale"),
    ("build", "clean builds, the slowest crates, and a build after one changed line"),
    ("host", "commands at a host that is there, beside a bare client of its socket and nbclient"),
];

#[derive(Parser)]
#[command(name = "cargo xtask bench notebook", bin_name = "cargo xtask bench notebook")]
struct NotebookArgs {
    /// Sizes of the notebooks in MB.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100])]
    sizes: Vec<usize>,
    /// Rounds for each size [default: fewer for larger files].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Write all figures to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// End with a failure when a goal is missed.
    #[arg(long)]
    check: bool,
}

pub fn run(args: &[String]) -> Result<()> {
    match args.split_first() {
        None => {
            println!("Families of `cargo xtask bench`:");
            for (name, about) in FAMILIES {
                println!("  {name:<10} {about}");
            }
            Ok(())
        }
        Some((family, _)) if family == "notebook" => {
            let args = NotebookArgs::parse_from(args);
            notebook::run(&args)
        }
        Some((family, _)) if family == "kernel" => {
            kernel::run(&kernel::KernelArgs::parse_from(args))
        }
        Some((family, _)) if family == "engine" => {
            engine::run(&engine::EngineArgs::parse_from(args))
        }
        Some((family, _)) if family == "mcp" => mcp::run(&mcp::McpArgs::parse_from(args)),
        Some((family, _)) if family == "run" => run::run(&run::RunArgs::parse_from(args)),
        Some((family, _)) if family == "zmq" => zmq::run(&zmq::ZmqArgs::parse_from(args)),
        Some((family, _)) if family == "gateway" => {
            gateway::run(&gateway::GatewayArgs::parse_from(args))
        }
        Some((family, _)) if family == "batch" => batch::run(&batch::BatchArgs::parse_from(args)),
        Some((family, _)) if family == "build" => build::run(&build::BuildArgs::parse_from(args)),
        Some((family, _)) if family == "host" => host::run(&host::HostArgs::parse_from(args)),
        // Not families: what the families start as processes of their own, from a dist build.
        Some((hidden, rest)) if hidden == "floor" => floor::run(rest),
        Some((hidden, rest)) if hidden == "kernel-host" => kernel::run_host(rest),
        Some((hidden, rest)) if hidden == "engine-host" => engine::run_host(rest),
        Some((hidden, rest)) if hidden == "mcp-host" => mcp::run_host(rest),
        Some((hidden, rest)) if hidden == "zmq-host" => zmq::run_host(rest),
        Some((hidden, rest)) if hidden == "gateway-host" => gateway::run_host(rest),
        Some((other, _)) => {
            let names: Vec<_> = FAMILIES.iter().map(|(name, _)| *name).collect();
            bail!("no family of measurements is called {other:?}; there are: {}", names.join(", "))
        }
    }
}
