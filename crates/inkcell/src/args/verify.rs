//! The arguments of `inkcell verify`.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::python::{KernelArgs, PythonArgs, seconds};
use super::run::jobs;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Runs a copy of each notebook in a new kernel and never changes the notebook. Text must match exactly, \
        pictures pixel by pixel. Execution counts, tracebacks and metadata are not compared.\n\n\
        Tags change the check: nbval-ignore-output runs a cell without comparing it. nbval-skip does not run the cell, \
        and raises-exception lets it fail. Comments such as # NBVAL_IGNORE_OUTPUT mean the same.\n\n\
        Examples:\n  \
        inkcell verify report.ipynb\n  \
        inkcell verify *.ipynb --rtol 1e-6 --ignore '0x[0-9a-f]+' --skip stderr\n  \
        inkcell verify *.ipynb --lax --images size --json"
)]
pub(crate) struct Verify {
    /// Notebooks to check
    #[arg(required = true)]
    pub(crate) paths: Vec<String>,
    /// Relative tolerance for numbers
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) rtol: Option<f64>,
    /// Absolute tolerance for numbers
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) atol: Option<f64>,
    /// Compare pictures by bytes, pixels or size
    #[arg(long, value_enum, default_value_t = ImagesArg::Pixels)]
    pub(crate) images: ImagesArg,
    /// Ignore text that matches REGEX (repeatable)
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    pub(crate) ignore: Vec<String>,
    /// Skip stdout, stderr, error or a media type (repeatable)
    ///
    /// A media type is, for example, text/html.
    #[arg(long, value_name = "PART")]
    pub(crate) skip: Vec<String>,
    /// Compare only cells tagged nbval-check-output
    ///
    /// The other cells must run without errors.
    #[arg(long, help_heading = "Which cells")]
    pub(crate) lax: bool,
    /// Stop a cell after SECONDS [default: notebook's limit]
    ///
    /// 0 means never. The limit of a notebook is execution.timeout in its metadata.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Print only differences
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Check N notebooks in parallel [default: 1]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Write a JUnit XML report to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

impl Verify {
    /// The folder of the first notebook.
    pub(crate) fn folder(&self) -> Option<&Path> {
        let folder = Path::new(self.paths.first()?).parent();
        folder.filter(|folder| !folder.as_os_str().is_empty())
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImagesArg {
    /// Same bytes
    Exact,
    /// Same pixels
    Pixels,
    /// Same width and height
    Size,
    /// Not compared
    Ignore,
}

fn tolerance(given: &str) -> Result<f64, String> {
    let number = given.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "give a number from 0 up, such as 1e-6".to_owned())
}
