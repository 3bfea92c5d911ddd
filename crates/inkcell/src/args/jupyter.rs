//! The arguments of `inkcell kernel` and `inkcell gateway`: the Jupyter kernels there are, and the servers they run on.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use clap::{Args as ClapArgs, Subcommand};

use super::python::{BackendArg, PythonArgs};

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

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Kernels come from a gateway with --backend gateway, or where python.backend is gateway. With \
        gateway.url it is the\ngateway or Jupyter server there; without, one that inkcell starts on this machine, \
        one for each Python,\nwhich everything that needs one shares."
)]
pub(crate) struct Gateway {
    #[command(subcommand)]
    pub(crate) command: GatewayCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum GatewayCommand {
    /// Have the shared gateway of a Python running.
    Start(GatewayStart),
    /// End the shared gateways of this machine, and their kernels.
    Stop,
    /// Say which gateways there are, and whether the one of gateway.url answers.
    Status,
    /// Remove the kernels that killed inkcells left on gateways.
    Gc,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct GatewayStart {
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}
