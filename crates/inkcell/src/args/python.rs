//! The arguments of the commands about Python.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use inkcell_engine::kernel::{BackendKind, EnvPattern, Shell};
use serde::{Deserialize, Serialize};

use super::hosts::HostArgs;

/// Which Python, and where it works.
#[derive(ClapArgs, Debug)]
#[command(next_help_heading = "Python and kernel")]
pub(crate) struct PythonArgs {
    /// Run in DIR, with the settings of its project
    ///
    /// inkcell also looks there for environments.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Python to use: a path, an environment or a name
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
}

/// Which kernel.
#[derive(ClapArgs, Debug, Default)]
#[command(next_help_heading = "Python and kernel")]
pub(crate) struct WhichKernel {
    /// Backend that runs the code [default: python.backend, or what the notebook needs]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendArg>,
    /// Jupyter kernel to use; see 'inkcell kernel specs'
    #[arg(long, value_name = "NAME", conflicts_with = "existing")]
    pub(crate) kernel: Option<String>,
    /// Use a running Jupyter kernel by its connection file
    ///
    /// inkcell does not end that kernel.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) existing: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackendArg {
    /// Runner of inkcell, which needs only Python
    Runner,
    /// Jupyter kernel on this machine
    Zmq,
    /// Jupyter kernel on the server of gateway.url, or on a shared local gateway
    Gateway,
}

impl From<BackendArg> for BackendKind {
    fn from(given: BackendArg) -> BackendKind {
        match given {
            BackendArg::Runner => BackendKind::Runner,
            BackendArg::Zmq => BackendKind::Zmq,
            BackendArg::Gateway => BackendKind::Gateway,
        }
    }
}

/// Which kernel, and how it begins.
#[derive(ClapArgs, Debug)]
#[command(next_help_heading = "Python and kernel")]
pub(crate) struct KernelArgs {
    #[command(flatten)]
    pub(crate) which: WhichKernel,
    /// Shell that interprets the code [default: python.shell]
    #[arg(long, value_enum, hide_short_help = true)]
    pub(crate) shell: Option<ShellArg>,
    /// Pass an environment variable (repeatable)
    ///
    /// NAME, NAME=VALUE, or a pattern such as 'AWS_*'.
    #[arg(long = "env", value_name = "NAME", value_parser = pattern)]
    pub(crate) env: Vec<EnvPattern>,
    /// Pass every environment variable
    ///
    /// Overrides env.mode. Secrets of inkcell are never passed.
    #[arg(long, hide_short_help = true)]
    pub(crate) env_all: bool,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "inkcell py [OPTIONS] CODE...\n       inkcell py [OPTIONS] -f FILE\n       \
                      inkcell py [OPTIONS] -",
    after_help = "Prints the value of the last expression, as a prompt does. Each CODE is a cell, and the first cell \
        that fails is the last one to run. Each folder has a session, which keeps its variables for the next command, \
        also from another shell. 'inkcell sessions' lists sessions and 'inkcell stop' ends one. With --no-host, or if \
        CI is set, the session ends with the command.\n\n\
        Examples:\n  \
        inkcell py '1 + 1'\n  \
        inkcell py 'x = 20' 'x + 22'\n  \
        inkcell py 'x * 2'\n  \
        inkcell py --fresh -f job.py\n  \
        inkcell py --timeout 60 -f job.py\n  \
        echo 'print(6 * 7)' | inkcell py -"
)]
pub(crate) struct Py {
    /// Code to run, one argument per cell [default: -, standard input]
    #[arg(conflicts_with = "file")]
    pub(crate) code: Vec<String>,
    /// Run the code in FILE; - reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// Split the code into cells at lines with # %%
    ///
    /// The rest of such a line is the title of the cell.
    #[arg(long)]
    pub(crate) cells: bool,
    /// Use a new kernel that ends with this command
    #[arg(long, help_heading = "Python and kernel")]
    pub(crate) fresh: bool,
    /// Restart the session with a fresh kernel first
    #[arg(long, help_heading = "Python and kernel")]
    pub(crate) reset: bool,
    /// Session to use: a name, or a notebook for its session
    ///
    /// Sessions of coding agents work too.
    #[arg(long, value_name = "NAME", conflicts_with = "fresh", help_heading = "Python and kernel")]
    pub(crate) session: Option<String>,
    /// Run in the background and print an ID for 'inkcell result'
    #[arg(long, conflicts_with = "fresh", help_heading = "Output")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    /// Stop the code after SECONDS [default: python.timeout]
    ///
    /// The limit counts for all cells together. 0 means never.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// Show output as a stream, a reply or blocks
    ///
    /// By default, a terminal shows the code and the last lines of its output, updated in place. Pipes and files get
    /// the stream.
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) view: Option<View>,
    /// Show which Python is used and why
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// Everything, as the code writes it
    Stream,
    /// Shortened, at the end, as an agent gets it; 'inkcell artifacts' has the rest
    Reply,
    /// Shortened, at the end, in one block per cell: state, code and output
    Blocks,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShellArg {
    /// Shell of inkcell, which needs no packages
    Lite,
    /// IPython of the interpreter
    Ipython,
}

impl From<ShellArg> for Shell {
    fn from(given: ShellArg) -> Shell {
        match given {
            ShellArg::Lite => Shell::Lite,
            ShellArg::Ipython => Shell::IPython,
        }
    }
}

#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Env {
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(subcommand)]
    pub(crate) command: Option<EnvCommand>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum EnvCommand {
    /// Create the managed environment, or add packages to it
    Setup(EnvSetup),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct EnvSetup {
    /// Packages to install beside ipykernel, as for pip
    #[arg(value_name = "PACKAGE")]
    pub(crate) packages: Vec<String>,
    /// Replace the existing environment
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Python to create the environment from
    #[arg(long, value_name = "BASE")]
    pub(crate) python: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ShowSettings {
    /// Show only settings that start with NAME, such as python
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// A week; longer times are slips.
const MAX_SECONDS: f64 = 604_800.0;

pub(super) fn seconds(given: &str) -> Result<Duration, String> {
    match given.parse::<f64>() {
        Ok(number) if (0.0..=MAX_SECONDS).contains(&number) => Ok(Duration::from_secs_f64(number)),
        _ => Err(format!("give seconds from 0 to {MAX_SECONDS}, such as 30 or 0.5")),
    }
}

fn pattern(given: &str) -> Result<EnvPattern, String> {
    given.parse().map_err(|error: inkcell_engine::kernel::PatternError| error.to_string())
}
