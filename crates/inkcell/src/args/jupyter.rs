//! The arguments of `inkcell kernel` and `inkcell gateway`: Jupyter kernels, and the servers they run on.
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
    /// List the Jupyter kernels of this machine or of the gateway
    Specs(Specs),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Specs {
    /// List the kernels of this backend [default: python.backend]
    ///
    /// With gateway, lists the kernels of the server of gateway.url.
    #[arg(long, value_enum, help_heading = "Python and kernel")]
    pub(crate) backend: Option<BackendArg>,
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Kernels run on a gateway with --backend gateway, or if python.backend is gateway. gateway.url names \
        the gateway or Jupyter server. Without it, inkcell starts one gateway per Python on this machine and shares it \
        between commands."
)]
pub(crate) struct Gateway {
    #[command(subcommand)]
    pub(crate) command: GatewayCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum GatewayCommand {
    /// Start the shared gateway of a Python if none is running
    Start(GatewayStart),
    /// Stop the shared gateways of this machine and their kernels
    Stop,
    /// List gateways and check gateway.url
    Status,
    /// Remove kernels that killed commands left on gateways
    Gc,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct GatewayStart {
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}
