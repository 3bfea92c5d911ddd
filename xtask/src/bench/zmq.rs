//! The family `zmq`: our client of Jupyter kernels beside `jupyter_client`, on the same kernel.
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
use crate::workspace::Workspace;

const FAMILY: Family = Family { name: "zmq", title: "Jupyter kernels over ZeroMQ", notes: NOTES };

const NOTES: &[&str] = &[
    "Medians inside one table; compare nothing across tables. Clients take turns within a round, each round begins with another one, one round before the first warms up (not for `clients`).",
    "Every client has a kernel of its own: the same ipykernel in the same interpreter and environment, its history in memory, on the transport that the row names, which the kernel itself confirms. Goals compare with the quicker of jupyter_client's two clients.",
    "trip, output: to the reply and the idle status. jupyter_client waits without a time limit, which is how it is quickest. A client's CPU is that of its own process, kernel not included: the figure to look at where the machine is busy.",
    "output: every byte is counted; ours fails if one is missing. ZeroMQ holds a thousand messages at each end and drops the rest, so jupyter_client's end is told to hold all; the row \"as it comes\" is not, and is of no goal. What it loses of the flushed lines all the same is in the table, its time is that to the last it heard, and in that table it waits for each message with a limit.",
    "start: to the first value. jupyter_client does what its start_new_kernel does, which ends with 0.2 s of silence. Ours has the prelude in it. From the pool: one kernel waits, and the next is there before anybody takes another sample.",
    "clients: kernels are light stand-ins, all in one process, the same for both; each has run a cell. A new process for each sample. The first kernel brings in code and libraries, so the growth is that of the further ones alone.",
];

#[derive(Parser)]
#[command(name = "cargo xtask bench zmq", bin_name = "cargo xtask bench zmq")]
pub(super) struct ZmqArgs {
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

pub(super) fn run(args: &ZmqArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut report = Report::begin(&FAMILY, &args.options, &workspace)?;
    let python = peers::python_env(&workspace)?;
    report.head(&python, peers::pinned(&workspace)?);
    let arena = Arena::new(&workspace, python)?;
    let shown: Vec<String> =
        arena.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    println!("Environment of every client and kernel: {}", shown.join(" "));
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
    fn only_families_that_exist_can_be_asked_for() {
        let args = ZmqArgs::try_parse_from(["zmq", "trip", "clients", "--kernels", "4"]).unwrap();
        assert_eq!((args.families.len(), args.kernels), (2, 4));
        assert!(ZmqArgs::try_parse_from(["zmq", "trips"]).is_err());
    }
}
