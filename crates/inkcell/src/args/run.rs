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
    after_help = "Saves outputs and execution counts after each cell and changes nothing else in the file. The run stops \
        at the first cell that fails. Each notebook has at most one run at a time.\n\n\
        Tags of cells change the run: raises-exception lets a cell fail, and skip-execution does not run it. Parameters \
        go into a new cell after the one tagged parameters.\n\n\
        Examples:\n  \
        inkcell run report.ipynb\n  \
        inkcell run report.ipynb -o done.ipynb --allow-errors\n  \
        inkcell run report.ipynb --cells 0,4-7,ab12\n  \
        inkcell run report.ipynb -o 2024.ipynb -p year 2024 -p region=north\n  \
        inkcell run report.ipynb --inspect\n  \
        inkcell run report.ipynb --cells 4 --with-needed\n  \
        inkcell run report.ipynb --cells stale\n  \
        inkcell run - < report.ipynb > done.ipynb\n  \
        inkcell run --keep nb.ipynb && inkcell py --session nb.ipynb 'df.head()'\n  \
        inkcell run --backend gateway report.ipynb\n  \
        inkcell run --in-place a.ipynb b.ipynb\n  \
        inkcell run 'nb/*.ipynb' -j 4 -o 'out/{stem}.ipynb' --junit report.xml\n  \
        inkcell run nb.ipynb --matrix year=2022,2023 region=a,b -o 'out/{index}.ipynb'\n  \
        inkcell run --on-server work/report.ipynb\n  \
        inkcell run http://localhost:8888/lab/tree/work/report.ipynb"
)]
pub(crate) struct Run {
    /// Notebook to run; - reads standard input
    ///
    /// A notebook from standard input goes to standard output, unless you give -o. The address of a notebook on a
    /// Jupyter server, as the browser shows it, runs that notebook there.
    pub(crate) path: String,
    /// More notebooks or patterns, run as one batch
    ///
    /// Patterns such as 'nb/*.ipynb' are expanded. Several named notebooks need -o or --in-place.
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<String>,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    /// Run a notebook on the Jupyter server of gateway.url
    ///
    /// PATH is a path on that server. One of its kernels runs the notebook, and inkcell saves the notebook there when
    /// the run ends.
    #[arg(long, help_heading = "Python and kernel")]
    pub(crate) on_server: bool,
    /// Write to OUT and leave the notebook unchanged
    ///
    /// In a batch, OUT is a template with the fields {stem}, {name}, {parent}, {index} and the parameters.
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub(crate) output: Option<String>,
    /// Save the outputs of a batch in its notebooks
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    pub(crate) in_place: bool,
    /// Run only these cells, such as 0,4-7,ab12, or stale
    ///
    /// A list of positions, ranges and IDs; see 'inkcell help cells'. The word stale runs the stale cells and the cells
    /// that they need.
    #[arg(long, value_name = "CELLS", allow_hyphen_values = true, help_heading = "Which cells")]
    pub(crate) cells: Option<String>,
    /// Start at this cell
    #[arg(long, value_name = "CELL", allow_hyphen_values = true, help_heading = "Which cells")]
    pub(crate) from: Option<String>,
    /// Stop after this cell
    #[arg(long, value_name = "CELL", allow_hyphen_values = true, help_heading = "Which cells")]
    pub(crate) to: Option<String>,
    /// First run the cells that define missing names
    #[arg(long, conflicts_with = "resume", help_heading = "Which cells")]
    pub(crate) with_needed: bool,
    /// Run the cells even if names from cells above are missing
    ///
    /// Without this option, inkcell runs nothing in that case.
    #[arg(
        long,
        conflicts_with = "with_needed",
        help_heading = "Which cells",
        hide_short_help = true
    )]
    pub(crate) without_needed: bool,
    /// List parameters, defaults and types; run nothing
    #[arg(long, conflicts_with_all = ["output", "cells", "from", "to", "resume", "detach", "keep", "session"],
          help_heading = "Parameters")]
    pub(crate) inspect: bool,
    /// Save even if the notebook is open or changed on the server
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) force: bool,
    /// Continue after a cell fails
    #[arg(long, help_heading = "Limits")]
    pub(crate) allow_errors: bool,
    /// Stop at the first stale cell that fails
    ///
    /// Without this option, the stale cells that do not depend on the failed cell still run.
    #[arg(long, conflicts_with = "allow_errors", help_heading = "Limits", hide_short_help = true)]
    pub(crate) stop_on_error: bool,
    /// Continue where the last run stopped, in a new kernel
    ///
    /// Starts at the first cell that the last run did not finish. A batch re-runs every notebook that failed, has failed
    /// cells or changed.
    #[arg(long, help_heading = "Which cells")]
    pub(crate) resume: bool,
    /// Stop a cell after SECONDS [default: notebook's limit]
    ///
    /// 0 means never. The limit of a notebook is execution.timeout in its metadata.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,
    /// Stop the run after SECONDS; 0 means never
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, help_heading = "Limits",
          hide_short_help = true)]
    pub(crate) total_timeout: Option<Duration>,
    /// Run in the notebook's session and keep its variables
    ///
    /// The session lives in the background host. You can use its variables afterwards, for example with
    /// 'inkcell py --session report.ipynb'.
    #[arg(long, conflicts_with_all = ["on_server", "resume"], help_heading = "Python and kernel")]
    pub(crate) keep: bool,
    /// Run in this session and keep its variables
    ///
    /// A session of the background host or of a coding agent.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["on_server", "resume"], help_heading = "Python and kernel")]
    pub(crate) session: Option<String>,
    /// Restart the session with a fresh kernel first
    ///
    /// A run without a session always has a fresh kernel.
    #[arg(long, help_heading = "Python and kernel")]
    pub(crate) fresh: bool,
    /// Run in the background and print an ID for 'inkcell result'
    #[arg(long, help_heading = "Output")]
    pub(crate) detach: bool,
    /// Record times, states or dependencies in the file
    #[arg(long, value_enum, value_name = "LIKE", help_heading = "Output", hide_short_help = true)]
    pub(crate) record: Option<RecordArg>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Print only errors
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Show which Python is used and why
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// Print cell outputs to standard error as they come
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
    #[arg(long, help_heading = "Output", conflicts_with = "inspect", hide_short_help = true)]
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
    /// Times of each cell, as in JupyterLab and nbclient
    Jupyter,
    /// Times and states of cells and the run, and a mark at the failed cell
    Papermill,
    /// Names that each cell uses and defines, so that others know which cells are stale
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
    /// Notebooks to run in parallel [default: number of cores, fewer if memory is short]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Run with every combination of values (repeatable)
    ///
    /// For example: --matrix year=2022,2023 region=a,b. Each combination needs its own output.
    #[arg(long, value_name = "NAME=VALUES")]
    pub(crate) matrix: Vec<String>,
    /// Run the cells up to the parameters only once
    ///
    /// Each combination continues in a copy of the kernel. Needs Linux and the backend runner.
    #[arg(long, conflicts_with_all = ["record", "cells", "from", "to"], hide_short_help = true)]
    pub(crate) share_prefix: bool,
    /// Start no more notebooks after one fails
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Run failed notebooks once more
    #[arg(long, hide_short_help = true)]
    pub(crate) retry_failed: bool,
    /// Write a JUnit XML report to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a JSON report to FILE
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
        _ => Err(format!("give a number from 1 to {MOST}")),
    }
}
