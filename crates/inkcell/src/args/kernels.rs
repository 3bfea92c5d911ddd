//! The arguments of `inkcell kernel`, and those that say which kernel runs code.
//!
//! Owns their names and help, as `args.rs` does for the others.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use inkcell_engine::kernel::BackendKind;

use super::python::PythonArgs;

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

#[derive(ClapArgs, Debug)]
pub(crate) struct Kernel {
    #[command(subcommand)]
    pub(crate) command: KernelCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum KernelCommand {
    /// List the Jupyter kernels that are installed, as Jupyter finds them from here, or those of the gateway.
    Specs(Specs),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Specs {
    /// Whose kernels: with gateway those of the server of gateway.url. python.backend when left out.
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendArg>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}
