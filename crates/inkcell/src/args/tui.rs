//! The arguments of `inkcell tui`.
//!
//! Owns their names and help, as `args.rs` does for the others.

use std::path::Path;

use clap::Args as ClapArgs;

use super::python::{KernelArgs, PythonArgs};
use crate::cli::hosts::HostArgs;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Keys are those of Jupyter where it has any; ? shows them. What is changed goes into the file at \
        once, beside what others change in it meanwhile, and z undoes it.\n\n\
        Examples:\n  \
        inkcell tui report.ipynb"
)]
pub(crate) struct Tui {
    /// The notebook.
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

impl Tui {
    /// The notebook's own folder.
    pub(crate) fn folder(&self) -> Option<&Path> {
        Path::new(&self.path).parent().filter(|folder| !folder.as_os_str().is_empty())
    }
}
