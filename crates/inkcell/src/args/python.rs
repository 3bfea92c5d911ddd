//! The arguments of the commands that have to do with Python.
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
pub(crate) struct PythonArgs {
    /// Work in this folder; its project's settings and environments count.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The Python: a path, the folder of an environment, or a name on PATH.
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
}

/// Which kernel.
#[derive(ClapArgs, Debug, Default)]
pub(crate) struct WhichKernel {
    /// What makes the kernel; python.backend when left out, or what the notebook's kernel needs.
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendArg>,
    /// An installed Jupyter kernel, or one of the gateway, by its name; see inkcell kernel specs.
    #[arg(long, value_name = "NAME", conflicts_with = "existing")]
    pub(crate) kernel: Option<String>,
    /// A Jupyter kernel that runs already, by its connection file. It is not ended.
    #[arg(long, value_name = "FILE")]
    pub(crate) existing: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackendArg {
    /// inkcell's own, which needs nothing but Python.
    Runner,
    /// A Jupyter kernel of this machine.
    Zmq,
    /// A kernel on a Jupyter gateway or server: that of gateway.url, or one of this machine that is shared.
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
pub(crate) struct KernelArgs {
    #[command(flatten)]
    pub(crate) which: WhichKernel,
    /// Whose rules the code follows; python.shell when left out.
    #[arg(long, value_enum)]
    pub(crate) shell: Option<ShellArg>,
    /// Let this variable reach the code: NAME, NAME=VALUE, or a glob such as 'AWS_*' (may be repeated).
    #[arg(long = "env", value_name = "NAME", value_parser = pattern)]
    pub(crate) env: Vec<EnvPattern>,
    /// Let every variable reach the code, whatever env.mode says; inkcell's own secrets do not.
    #[arg(long)]
    pub(crate) env_all: bool,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "inkcell py [OPTIONS] CODE...\n       inkcell py [OPTIONS] -f FILE\n       \
                      inkcell py [OPTIONS] -",
    after_help = "The value of the last expression is shown, as at a prompt. Each CODE is a cell of its own; the \
        first that fails is the last that runs. The Python of a folder remembers what was run in it, for the next \
        command of any shell; inkcell sessions shows those there are, inkcell stop ends one. Where CI is set, or with \
        --no-host, each command has a Python of its own, which ends with it.\n\n\
        Examples:\n  \
        inkcell py '1 + 1'\n  \
        inkcell py 'x = 20' 'x + 22'\n  \
        inkcell py 'x * 2'\n  \
        inkcell py --fresh -f job.py\n  \
        inkcell py --timeout 60 -f job.py\n  \
        echo 'print(6 * 7)' | inkcell py -"
)]
pub(crate) struct Py {
    /// The code, one argument a cell; - reads standard input, and so does leaving it out.
    #[arg(conflicts_with = "file")]
    pub(crate) code: Vec<String>,
    /// Run the code of this file; - for standard input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// The code has several cells, each after a line that begins with # %%; the rest of that line is its title.
    #[arg(long)]
    pub(crate) cells: bool,
    /// Run in a kernel of its own, which ends with the command.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Begin with a new kernel; what the session remembers is gone.
    #[arg(long)]
    pub(crate) reset: bool,
    /// Run in this session: its name, or a notebook's path for the one of the notebook. Also one of an agent.
    #[arg(long, value_name = "NAME", conflicts_with = "fresh")]
    pub(crate) session: Option<String>,
    /// Come back at once; the code goes on in its session, see inkcell result.
    #[arg(long, conflicts_with = "fresh")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    /// Stop the code after this many seconds, all cells together, 0 for never; python.timeout when left out.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    /// How much is shown, and how. When left out, a terminal shows it as at a prompt: the code, the last lines of its
    /// output, growing in place; anything else gets the stream.
    #[arg(long, value_enum)]
    pub(crate) view: Option<View>,
    /// Say which Python is used and why.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// Everything the code writes, as it comes.
    Stream,
    /// At the end, within bounds, as an agent gets it; what does not fit is stored, see inkcell artifacts.
    Reply,
    /// At the end, within bounds, one block a cell: its state, its code, its output.
    Blocks,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShellArg {
    /// inkcell's own, which needs nothing.
    Lite,
    /// The interpreter's own IPython.
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
    /// Make the managed environment, a Python of inkcell's own, or add packages to it.
    Setup(EnvSetup),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct EnvSetup {
    /// What to install beside ipykernel, as pip takes it.
    #[arg(value_name = "PACKAGE")]
    pub(crate) packages: Vec<String>,
    /// Put a new environment in the place of the one that is there.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// The Python to make it from.
    #[arg(long, value_name = "BASE")]
    pub(crate) python: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ShowSettings {
    /// Only settings whose name begins with this, such as python.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// A week; longer times are slips.
const MAX_SECONDS: f64 = 604_800.0;

pub(super) fn seconds(given: &str) -> Result<Duration, String> {
    match given.parse::<f64>() {
        Ok(number) if (0.0..=MAX_SECONDS).contains(&number) => Ok(Duration::from_secs_f64(number)),
        _ => Err(format!("it is a number of seconds from 0 to {MAX_SECONDS}, such as 30 or 0.5")),
    }
}

fn pattern(given: &str) -> Result<EnvPattern, String> {
    given.parse().map_err(|error: inkcell_engine::kernel::PatternError| error.to_string())
}
