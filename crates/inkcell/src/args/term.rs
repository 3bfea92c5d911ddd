//! The arguments of `inkcell repl` and `inkcell tui`, which take a terminal.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::path::Path;

use clap::Args as ClapArgs;

use super::hosts::HostArgs;
use super::python::{KernelArgs, PythonArgs};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Cells are typed, run and shown in the session of the folder, the one inkcell py uses, too. An empty \
        line ends a block and a %% cell. Ctrl-C or esc interrupts the cell that runs, Ctrl-D leaves; the session stays. \
        :help lists what else can be typed, :save FILE.ipynb writes what was run as a notebook. Where standard input is \
        no terminal, cells are read from it.\n\n\
        Examples:\n  \
        inkcell repl\n  \
        inkcell repl --session report.ipynb\n  \
        echo 'print(6 * 7)' | inkcell repl"
)]
pub(crate) struct Repl {
    /// Go on in this session: its name, or a notebook's path for the one of the notebook. Also one of an agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Say which Python is used and why.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

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
