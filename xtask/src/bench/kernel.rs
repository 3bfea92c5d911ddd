//! The family `kernel`: starting kernels, round trips, output and memory, beside the peers.
//!
//! Owns its command line and the list of what is measured. Every contender is a host process of its
//! own, ours from a dist build; they take turns within a round. Must not know how a figure is taken.

mod contender;
mod host;
mod lines;
mod ours;
mod plain;
mod running;
mod starting;
mod task;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::json;

use self::contender::{Arena, Rounds};
pub(super) use self::host::run as run_host;
pub(super) use self::lines::printing;
use self::task::{Job, Task};
use super::family::{Family, Options, Report, is_wanted};
use super::peers;
use super::table::Table;
use crate::workspace::Workspace;

const FAMILY: Family = Family { name: "kernel", title: "Kernels", notes: NOTES };

const NOTES: &[&str] = &[
    "Medians inside one table; compare nothing across tables. Hosts take turns within a round, each round begins with another one, one round before the first warms up (not for `many` and `gigabyte`).",
    "All hosts and kernels use the same interpreter and see the same environment, printed above; it is made from a list, so PYTHONUNBUFFERED and its like reach nobody.",
    "start, libraries: the host is warm, the fork server ready with one copy ahead, the prelude full. Time to the value: ours to the result event, ipykernel to execute_result, python3 -c to its end. wait_for_ready of jupyter_client ends with 0.2 s of silence, which its users pay too.",
    "trip: to the end of the cell, which is an event of ours, the reply and the idle status of ipykernel, the next prompt of python3 -i.",
    "output: kernels are there before; python3 -c pays its start. Every sample is counted, the warm-up (in gigabyte every sample) hashed. Our host and the pipe's drop what they have read, nbclient keeps it.",
    "many: PSS of all kernels, fork server included, clients not.",
    "torch: as `many`, with torch preloaded, by the interpreter that was named. The goals are for 200 kernels on 16 cores.",
    "matmul: a new process for each sample, whose first product is not in the median. A runner has two threads of its own.",
];

#[derive(Parser)]
#[command(name = "cargo xtask bench kernel", bin_name = "cargo xtask bench kernel")]
pub(super) struct KernelArgs {
    /// What to measure [default: all].
    #[arg(value_parser = FAMILIES.map(|family| family.0))]
    families: Vec<String>,
    /// Rounds for each family [default: its own].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Kernels at once in `many` [default: 50] and in `torch` [default: 200].
    #[arg(long, value_name = "N")]
    kernels: Option<usize>,
    /// An interpreter that has torch, for `torch`, which runs only if it is named.
    #[arg(long, value_name = "PATH", required_if_eq("families", TORCH))]
    python: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

type Measure = fn(&Arena, &Size) -> Result<Vec<Table>>;

const TORCH: &str = "torch";

const FAMILIES: [(&str, Measure); 9] = [
    ("start", starting::start),
    ("libraries", starting::libraries),
    ("process", starting::process),
    ("trip", running::trip),
    ("output", running::output),
    ("gigabyte", running::gigabyte),
    ("many", starting::many),
    ("matmul", running::matmul),
    (TORCH, starting::torch),
];

/// How much is done.
struct Size {
    is_quick: bool,
    rounds: Option<usize>,
    kernels: Option<usize>,
}

impl Size {
    fn kernels(&self, full: usize) -> usize {
        self.kernels.unwrap_or(self.pick(full, 8))
    }

    fn pick(&self, full: usize, quick: usize) -> usize {
        if self.is_quick { quick } else { full }
    }

    fn rounds(&self, full: usize, quick: usize) -> Rounds {
        Rounds { count: self.rounds.unwrap_or(self.pick(full, quick)), warm_up: 1 }
    }
}

impl Arena {
    fn task(&self, job: Job) -> Task {
        Task::new(job, self.python.clone(), self.root.join("work"), self.root.join("state"))
    }
}

pub(super) fn run(args: &KernelArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut report = Report::begin(&FAMILY, &args.options, &workspace)?;
    let python = match &args.python {
        Some(python) => std::path::absolute(python)?,
        None => peers::python_env(&workspace)?,
    };
    report.head(&python, peers::pinned(&workspace)?);
    let arena = Arena::new(&workspace, python)?;
    let shown: Vec<String> =
        arena.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    println!("Environment of every host and kernel: {}", shown.join(" "));
    let size = Size { is_quick: args.options.quick, rounds: args.rounds, kernels: args.kernels };
    let mut tables = Vec::new();
    for (name, measure) in FAMILIES {
        if !is_wanted(&args.families, name) || (name == TORCH && args.families.is_empty()) {
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
        let args = KernelArgs::try_parse_from(["kernel", "trip", "many", "--kernels", "4"]);
        let args = args.unwrap();
        assert_eq!((args.families.len(), args.kernels), (2, Some(4)));
        assert!(KernelArgs::try_parse_from(["kernel", "trips"]).is_err());
        assert!(KernelArgs::try_parse_from(["kernel", "torch"]).is_err());
        assert!(KernelArgs::try_parse_from(["kernel", "torch", "--python", "python3"]).is_ok());
    }
}
