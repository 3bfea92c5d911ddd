//! The arguments of `inkcell run` that make it a batch.
//!
//! Owns their names and help, as `args.rs` does for the others.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(ClapArgs, Debug, Default)]
#[command(next_help_heading = "Batches")]
pub(crate) struct BatchArgs {
    /// Run N notebooks in parallel; by default, as many as cores and memory allow.
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Run every notebook with every combination of these values: year=2022,2023 region=a,b. Each combination needs an
    /// output of its own.
    #[arg(long, value_name = "NAME=VALUES")]
    pub(crate) matrix: Vec<String>,
    /// Run the cells up to the parameters once for all combinations, and go on from there in copies of the kernel (Linux,
    /// backend runner).
    #[arg(long, conflicts_with_all = ["record", "cells", "from", "to"])]
    pub(crate) share_prefix: bool,
    /// Begin no other notebook after one that failed; those that run go on to their end.
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Try those that failed once more.
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Write what became of each notebook to this file, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// The same as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

impl BatchArgs {
    /// Whether any of them was given.
    pub(crate) fn is_wanted(&self) -> bool {
        self.jobs.is_some()
            || !self.matrix.is_empty()
            || self.share_prefix
            || self.fail_fast
            || self.retry_failed
            || self.junit.is_some()
            || self.report.is_some()
    }
}

/// More kernels than this is a slip.
const MOST: usize = 4096;

fn jobs(given: &str) -> Result<usize, String> {
    match given.parse() {
        Ok(jobs @ 1..=MOST) => Ok(jobs),
        _ => Err(format!("it is a number from 1 to {MOST}")),
    }
}
