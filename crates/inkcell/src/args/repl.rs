//! The arguments of the prompt.
//!
//! Owns their names and help, as `args.rs` does for the others.

use clap::Args as ClapArgs;

use super::python::{KernelArgs, PythonArgs};
use crate::cli::hosts::HostArgs;

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
