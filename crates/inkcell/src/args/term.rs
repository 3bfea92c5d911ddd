//! The arguments of `inkcell repl` and `inkcell tui`, which take a terminal.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::path::Path;

use clap::Args as ClapArgs;

use super::hosts::HostArgs;
use super::python::{KernelArgs, PythonArgs};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Runs cells in the session of the folder, which 'inkcell py' also uses. An empty line ends a block or a \
        %% cell. Ctrl-C or Esc interrupts the running cell. Ctrl-D leaves the prompt and keeps the session. Type :help \
        for the commands of the prompt, and :save FILE.ipynb to save the session as a notebook. In a pipe, the prompt \
        reads cells from standard input.\n\n\
        Examples:\n  \
        inkcell repl\n  \
        inkcell repl --session report.ipynb\n  \
        echo 'print(6 * 7)' | inkcell repl"
)]
pub(crate) struct Repl {
    /// Session to use: a name, or a notebook for its session
    ///
    /// Sessions of coding agents work too.
    #[arg(long, value_name = "NAME", help_heading = "Python and kernel")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Show which Python is used and why
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Keys are the same as in Jupyter. Press ? to list them. Edits are saved immediately and merged with \
        changes made elsewhere. Press z to undo.\n\n\
        Examples:\n  \
        inkcell tui report.ipynb"
)]
pub(crate) struct Tui {
    /// Notebook to open
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
