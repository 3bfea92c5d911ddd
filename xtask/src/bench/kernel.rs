//! The family `kernel`: compares starts of kernels, round trips, output and memory with the peers.
//!
//! Owns its command line and the list of measurements. Every contender is a separate process, ours from a dist
//! build; they take turns within a round. Must not know how a figure is taken.

mod running;
mod starting;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::arena::Arena;
use super::client::{Backend, Client, Job, Shell, Start, Task};
use super::family::Family;
use super::measure::Size;
use super::peers;
use super::table::Table;

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

type Measure = fn(&Arena, &Size) -> Result<Vec<Table>>;

const TORCH: &str = "torch";

static FAMILY: Family<Measure> = Family {
    name: "kernel",
    title: "Kernels",
    parts: &[
        ("start", starting::start),
        ("libraries", starting::libraries),
        ("process", starting::process),
        ("trip", running::trip),
        ("output", running::output),
        ("gigabyte", running::gigabyte),
        ("many", starting::many),
        ("matmul", running::matmul),
        (TORCH, starting::torch),
    ],
    notes: NOTES,
};

const IPYKERNEL: &str = "ipykernel, jupyter_client";
const FORKED: &str = "inkcell, fork server";
const DIRECT: &str = "inkcell, direct";

#[derive(Args)]
struct Extra {
    /// Rounds for each table [default: depends on the table].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Kernels at once in `many` [default: 50] and in `torch` [default: 200].
    #[arg(long, value_name = "N")]
    kernels: Option<usize>,
    /// An interpreter that has torch, for `torch`, which runs only if it is named.
    #[arg(long, value_name = "PATH", required_if_eq("parts", TORCH))]
    python: Option<PathBuf>,
}

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<Extra>(args)?;
    let python = match &report.extra.python {
        Some(python) => std::path::absolute(python)?,
        None => peers::python_env(&report.workspace)?,
    };
    report.head(&python, peers::pinned(&report.workspace)?);
    let arena = Arena::new(&report.workspace, FAMILY.name, &python)?;
    report.note("environment", json!(arena.environment()));
    arena.print_environment("host");
    let size = report.size(report.extra.rounds, report.extra.kernels);
    let has_torch = report.is_asked_for(TORCH);
    report.measure(|name, measure| {
        if name == TORCH && !has_torch { Ok(Vec::new()) } else { measure(&arena, &size) }
    })?;
    report.close()
}

/// A task for the runner, our own kernel.
fn runner(arena: &Arena, job: Job, code: &str, start: Start, preload: &[&str]) -> Task {
    let preload = preload.iter().map(|&name| name.to_owned()).collect();
    arena.task(job, code, Backend::Runner { start, shell: Shell::Lite, preload })
}

/// The same task for our kernels, started in both ways.
fn both(arena: &Arena, task: &Task, preload: &[&str]) -> [Client; 2] {
    [(DIRECT, Start::Direct), (FORKED, Start::Forked)].map(|(name, start)| {
        let backend = runner(arena, task.job, "", start, preload).backend;
        Client::ours(name, Task { backend, ..task.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torch_needs_an_interpreter() {
        assert!(FAMILY.accepts::<Extra>(&["trip", "many", "--kernels", "4"]));
        assert!(!FAMILY.accepts::<Extra>(&["torch"]));
        assert!(FAMILY.accepts::<Extra>(&["torch", "--python", "python3"]));
    }
}
