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
    after_help = "Each notebook is run in a new kernel, into a copy that is thrown away; the notebook itself is never \
        changed. Outputs must be what is stored: text to the letter, pictures by their pixels. Counts, tracebacks and \
        metadata are not compared. A cell with the tag nbval-ignore-output is run and not compared, nbval-skip is not \
        run, raises-exception may fail; comments such as # NBVAL_IGNORE_OUTPUT mean the same.\n\n\
        Examples:\n  \
        inkcell verify report.ipynb\n  \
        inkcell verify *.ipynb --rtol 1e-6 --ignore '0x[0-9a-f]+' --skip stderr\n  \
        inkcell verify *.ipynb --lax --images size --json"
)]
pub(crate) struct Verify {
    /// The notebooks.
    #[arg(required = true)]
    pub(crate) paths: Vec<String>,
    /// Numbers may be apart by this part of the larger one.
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) rtol: Option<f64>,
    /// Numbers may be apart by so much.
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) atol: Option<f64>,
    /// How pictures are compared.
    #[arg(long, value_enum, default_value_t = ImagesArg::Pixels)]
    pub(crate) images: ImagesArg,
    /// What this pattern finds in texts is not compared (may be repeated).
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    pub(crate) ignore: Vec<String>,
    /// Leave out a part: stdout, stderr, error, or a type such as text/html (may be repeated).
    #[arg(long, value_name = "PART")]
    pub(crate) skip: Vec<String>,
    /// Compare only cells with the tag nbval-check-output; the others must run.
    #[arg(long)]
    pub(crate) lax: bool,
    /// Stop a cell after this many seconds, 0 for never; what the notebook says when left out.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Say nothing but what differs.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Check N notebooks in parallel [default: 1]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<usize>,
    /// Write the results to FILE as JUnit XML, one test case for each cell
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
    /// The files must be the same.
    Exact,
    /// Every pixel must be the same.
    Pixels,
    /// They must be as wide and as high.
    Size,
    /// Not at all.
    Ignore,
}

fn tolerance(given: &str) -> Result<f64, String> {
    let number = given.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "give a number that is not below 0, such as 1e-6".to_owned())
}
