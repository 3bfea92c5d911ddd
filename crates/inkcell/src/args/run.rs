//! The arguments of `inkcell run`, for one notebook and for a batch.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use inkcell_engine::api::Stamps;

use super::parameters::ParameterArgs;
use super::python::{KernelArgs, PythonArgs, seconds};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Outputs and counts go into the file after each cell, and nothing else of it changes. The run \
        stops at the first cell that fails. Cells with the tag raises-exception may fail, those with the tag \
        skip-execution are not run. Values for parameters are put into a cell of their own, after the one with the \
        tag parameters. A notebook that another run has at the moment is refused.\n\n\
        Examples:\n  \
        inkcell run report.ipynb\n  \
        inkcell run report.ipynb -o done.ipynb --allow-errors\n  \
        inkcell run report.ipynb --cells 0,4-7,ab12\n  \
        inkcell run report.ipynb -o 2024.ipynb -p year 2024 -p region=north\n  \
        inkcell run report.ipynb --inspect\n  \
        inkcell run report.ipynb --cells 4 --with-needed\n  \
        inkcell run report.ipynb --cells stale\n  \
        inkcell run - < report.ipynb > done.ipynb\n  \
        inkcell run --keep report.ipynb && inkcell py --session report.ipynb 'df.head()'\n  \
        inkcell run --backend gateway report.ipynb\n  \
        inkcell run --in-place a.ipynb b.ipynb\n  \
        inkcell run 'nb/*.ipynb' -j 4 -o 'out/{stem}.ipynb' --junit report.xml\n  \
        inkcell run report.ipynb --matrix year=2022,2023 region=a,b -o 'out/{stem}-{year}-{region}.ipynb'\n  \
        inkcell run --on-server work/report.ipynb\n  \
        inkcell run http://localhost:8888/lab/tree/work/report.ipynb"
)]
pub(crate) struct Run {
    /// The notebook; - reads one from standard input and, without -o, writes it to standard output. The address of a
    /// notebook on a Jupyter server, as a browser shows it, means the one there.
    pub(crate) path: String,
    /// More notebooks, or patterns such as 'nb/*.ipynb': all run as one batch. Named notebooks need -o or --in-place.
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<String>,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    /// The notebook is one of the Jupyter server of gateway.url, by its path there. It is run by a kernel of that
    /// server and written back when the run is over.
    #[arg(long)]
    pub(crate) on_server: bool,
    /// Write here and leave the notebook alone. In a batch a template: fields are {stem}, {name}, {parent}, {index} and
    /// the parameters.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<String>,
    /// With several notebooks, write the outputs into the notebooks themselves.
    #[arg(long, conflicts_with = "output")]
    pub(crate) in_place: bool,
    /// Run these cells only: a list of positions, ranges and ids, such as 0,4-7,ab12. The word stale means those that
    /// are not fresh, and what they need.
    #[arg(long, value_name = "CELLS", allow_hyphen_values = true)]
    pub(crate) cells: Option<String>,
    /// Begin with this cell.
    #[arg(long, value_name = "CELL", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// End with this cell.
    #[arg(long, value_name = "CELL", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// First run the cells that make what these need, where the kernel does not hold it.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) with_needed: bool,
    /// Run these cells even if the kernel lacks names that cells above them make. Nothing is run then otherwise.
    #[arg(long, conflicts_with = "with_needed")]
    pub(crate) without_needed: bool,
    /// List the parameters of the notebook with their defaults and types, and run nothing.
    #[arg(long, conflicts_with_all = ["output", "cells", "from", "to", "resume", "detach", "keep", "session"])]
    pub(crate) inspect: bool,
    /// Write the notebook also where others have it open on the server, or changed it there during the run.
    #[arg(long)]
    pub(crate) force: bool,
    /// Go on after a cell that failed.
    #[arg(long)]
    pub(crate) allow_errors: bool,
    /// Stop at a stale cell that failed. Otherwise the stale cells that do not depend on it run.
    #[arg(long, conflicts_with = "allow_errors")]
    pub(crate) stop_on_error: bool,
    /// Begin with the first cell that the last run did not finish. The kernel is a new one. A batch runs again every
    /// notebook that failed, has failed cells, or changed.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Stop a cell after this many seconds, 0 for never; what the notebook says when left out.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    /// Stop the run after this many seconds, 0 for never.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) total_timeout: Option<Duration>,
    /// Run it in its own session of the host that commands share, which stays: what it made can be used afterwards.
    #[arg(long, conflicts_with_all = ["on_server", "resume"])]
    pub(crate) keep: bool,
    /// Run it in this session, which stays: of the host that commands share, or of an agent.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["on_server", "resume"])]
    pub(crate) session: Option<String>,
    /// Begin with a new kernel; what the session remembers is gone. It is so without a session, too.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Come back at once; the run goes on in its session, see inkcell result.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Note times and states in the file, as these do, or what inkcell keeps on record about each cell.
    #[arg(long, value_enum, value_name = "LIKE")]
    pub(crate) record: Option<RecordArg>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Say nothing but what went wrong.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Say which Python is used and why.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// Print the outputs of the cells to standard error as they come
    #[arg(long, help_heading = "Output", conflicts_with_all = ["inspect", "detach"])]
    pub(crate) log_output: bool,
    /// Write the notebook with its parameters, and run nothing
    #[arg(
        long,
        help_heading = "Output",
        conflicts_with_all = ["inspect", "resume", "detach", "keep", "session", "share_prefix"]
    )]
    pub(crate) prepare_only: bool,
    /// Hide the code in the written notebook when Jupyter shows it
    #[arg(long, help_heading = "Output", conflicts_with = "inspect")]
    pub(crate) report_mode: bool,
}

impl Run {
    /// Whether it runs in a session that stays.
    pub(crate) fn is_kept(&self) -> bool {
        self.keep || self.session.is_some() || self.detach
    }

    /// Every path that was given.
    pub(crate) fn given(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.path).chain(&self.more).map(String::as_str)
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordArg {
    /// The times of each cell, as JupyterLab and nbclient note them.
    Jupyter,
    /// Times and states of cells and of the run, and a mark where it failed.
    Papermill,
    /// What each cell used and made, so that also others know what is stale.
    Inkcell,
}

impl From<RecordArg> for Stamps {
    fn from(given: RecordArg) -> Stamps {
        match given {
            RecordArg::Jupyter => Stamps::Jupyter,
            RecordArg::Papermill => Stamps::Papermill,
            RecordArg::Inkcell => Stamps::Inkcell,
        }
    }
}

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

pub(super) fn jobs(given: &str) -> Result<usize, String> {
    match given.parse() {
        Ok(jobs @ 1..=MOST) => Ok(jobs),
        _ => Err(format!("it is a number from 1 to {MOST}")),
    }
}
