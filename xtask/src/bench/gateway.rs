//! The family `gateway`: our client of gateways beside Python's websocket clients, on the same server.
//!
//! Owns its command line and the list of what is measured. Every contender is a process of its own, ours from a
//! dist build; they take turns within a round. Must not know how a figure is taken.

mod arena;
mod measure;
mod ours;
mod task;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::json;

use self::arena::Arena;
use super::family::{Family, Options, Report, is_wanted};
use super::table::Table;
use super::turns::Size;
use super::{orders, peers};
use crate::servers;
use crate::workspace::Workspace;

const FAMILY: Family =
    Family { name: "gateway", title: "Kernels on gateways and Jupyter servers", notes: NOTES };

const NOTES: &[&str] = &[
    "Medians inside one table; compare nothing across tables. Clients take turns within a round, each round begins with another one, one round before the first warms up (not for `clients`).",
    "Every client has a kernel of its own on the same server, on loopback. websocket-client is what jupyter_server's GatewayKernelClient stands on, tornado what its proxy of a gateway does. Both are used bare, in the quickest form of messages that servers speak and with TCP_NODELAY. With QUICKACK: TCP_QUICKACK is set again after every receive. Goals compare with the quicker of the two.",
    "trip, output: to the reply and the idle status. A client's CPU is that of its own process: the figure to look at where the machine is busy.",
    "output: bytes of standard output are counted. Servers run with their limits on output lifted, as the gateway that inkcell starts does; the rows \"limits as they come\" are on one that was told nothing. On a server that drops output, \"told\" counts the notices that came of it.",
    "start: from asking for a kernel to the first value. The peers ask for nothing else; ours looks which kernels there are, waits until the kernel's output is heard, and has the prelude in it; so there is no goal.",
    "clients: the gateway is a stand-in whose kernels do nothing, the same for all; each has run a cell. A new process for each sample. The first kernel brings in code and libraries, so the growth is that of the further ones alone.",
];

/// What figures depend on, of all that is pinned.
const VERSIONS: [&str; 6] = [
    "ipykernel",
    "jupyter-kernel-gateway",
    "jupyter_server",
    "pyzmq",
    "tornado",
    "websocket-client",
];

#[derive(Parser)]
#[command(name = "cargo xtask bench gateway", bin_name = "cargo xtask bench gateway")]
pub(super) struct GatewayArgs {
    /// What to measure [default: all].
    #[arg(value_parser = FAMILIES.map(|family| family.0))]
    families: Vec<String>,
    /// Rounds for each family [default: its own].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Kernels of one client in `clients` [default: 50].
    #[arg(long, value_name = "N", default_value_t = 50)]
    kernels: usize,
    #[command(flatten)]
    options: Options,
}

type Measure = fn(&Arena, &Size) -> Result<Vec<Table>>;

const FAMILIES: [(&str, Measure); 4] = [
    ("trip", measure::trip),
    ("output", measure::output),
    ("start", measure::start),
    ("clients", measure::clients),
];

/// Our client, in a process that the family started.
pub(super) fn run_host(args: &[String]) -> Result<()> {
    orders::run::<ours::Ours>(args)
}

pub(super) fn run(args: &GatewayArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut report = Report::begin(&FAMILY, &args.options, &workspace)?;
    let python = servers::jupyter(&workspace)?;
    let mut versions = peers::pinned_in(&workspace, servers::JUPYTER_REQUIREMENTS)?;
    versions.retain(|version| VERSIONS.iter().any(|name| version.split(' ').next() == Some(name)));
    report.head(&python, versions);
    let arena = Arena::new(&workspace, python)?;
    let size = Size { is_quick: args.options.quick, rounds: args.rounds, kernels: args.kernels };
    let mut tables = Vec::new();
    for (name, measure) in FAMILIES {
        if !is_wanted(&args.families, name) {
            continue;
        }
        for table in measure(&arena, &size).with_context(|| format!("the family {name}"))? {
            table.print();
            tables.push(table);
        }
    }
    let goals: Vec<_> = tables.iter().flat_map(|table| &table.goals).collect();
    let all: Vec<_> = tables.iter().map(Table::to_json).collect();
    report.close_with(&goals, &json!({"environment": arena.env, "tables": all}))
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
    fn only_families_that_exist_can_be_asked_for() {
        let args = GatewayArgs::try_parse_from(["gateway", "trip", "--kernels", "4"]).unwrap();
        assert_eq!((args.families.len(), args.kernels), (1, 4));
        assert!(GatewayArgs::try_parse_from(["gateway", "trips"]).is_err());
    }
}
