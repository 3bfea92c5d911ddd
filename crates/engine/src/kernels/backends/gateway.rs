//! The gateway of an engine: an external one from the settings, or the shared one of this machine.
//!
//! Owns when it is created, and the list of its kernels in the form of installed ones. The kernel crate
//! implements the gateway itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use inkcell_kernel::{
    Backend, GatewayBackend, GatewayConfig, GatewayError, KernelSpec, KernelTrace, Kernelspec,
    KernelspecError, Kernelspecs, LaunchError, LocalConfig, LocalGatewayBackend, RemoteKernel,
    RemoteKernels, ServerContents,
};

use crate::error::EngineError;

/// The gateway that kernels come from.
#[derive(Clone, Debug)]
pub enum GatewayChoice {
    /// An external gateway that already runs. None of its files are on this machine.
    External(Box<GatewayConfig>),
    /// A gateway that is shared on this machine, and started when it is needed.
    Local(LocalConfig),
}

/// A gateway that is ready for requests.
#[derive(Clone)]
pub(crate) enum MadeGateway {
    External(GatewayBackend),
    Local(LocalGatewayBackend),
}

impl MadeGateway {
    pub(super) fn of(choice: GatewayChoice, trace: Option<Arc<dyn KernelTrace>>) -> MadeGateway {
        match choice {
            GatewayChoice::External(config) => {
                MadeGateway::External(GatewayBackend::traced(*config, trace))
            }
            GatewayChoice::Local(config) => {
                MadeGateway::Local(LocalGatewayBackend::traced(config, trace))
            }
        }
    }

    /// Waits a while for open requests to finish.
    pub(super) async fn close(&self) {
        match self {
            MadeGateway::External(gateway) => gateway.close().await,
            MadeGateway::Local(gateway) => gateway.close().await,
        }
    }

    /// Returns whether the gateway is on this machine, and so runs the interpreter that is chosen here.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, MadeGateway::Local(_))
    }

    /// The files of the server, if it is external.
    pub(crate) fn documents(&self) -> Option<ServerContents> {
        match self {
            MadeGateway::External(gateway) => Some(gateway.contents()),
            MadeGateway::Local(_) => None,
        }
    }

    /// Rewords an error about the gateway's kernels, so that it names the gateway.
    pub(crate) fn of_it(&self, problem: EngineError) -> EngineError {
        match (self, problem) {
            (
                MadeGateway::External(gateway),
                EngineError::Kernelspec(KernelspecError::NotFound { name, known: names }),
            ) => {
                let at = gateway.named();
                LaunchError::from(GatewayError::NoSuchKernel { at, name, names }).into()
            }
            (_, problem) => problem,
        }
    }

    /// The backend that starts the kernel of this name on the gateway, or a Python without a name.
    pub(crate) fn running(&self, kernel: Option<String>) -> Arc<dyn Backend> {
        match self {
            MadeGateway::External(gateway) => Arc::new(gateway.running(kernel)),
            MadeGateway::Local(gateway) => Arc::new(gateway.running(kernel)),
        }
    }

    /// The kernels of the gateway, in the form of installed ones. Starts the gateway if it is the local one.
    pub(crate) async fn kernelspecs(&self, spec: &KernelSpec) -> Result<Kernelspecs, EngineError> {
        let asked = match self {
            MadeGateway::External(gateway) => {
                gateway.kernelspecs().await.map_err(LaunchError::from)
            }
            MadeGateway::Local(gateway) => gateway.kernelspecs(spec).await,
        };
        Ok(Kernelspecs { found: as_installed(asked?), broken: Vec::new() })
    }
}

/// The gateway decides how its kernels start, so those fields stay empty.
fn as_installed(kernels: RemoteKernels) -> Vec<Kernelspec> {
    let installed = |(name, kernel): (String, RemoteKernel)| Kernelspec {
        display_name: if kernel.display_name.is_empty() {
            name.clone()
        } else {
            kernel.display_name
        },
        name,
        language: kernel.language,
        interrupt_mode: kernel.interrupt_mode,
        resource_dir: PathBuf::new(),
        argv: Vec::new(),
        env: BTreeMap::new(),
        metadata: String::new(),
    };
    kernels.kernels.into_iter().map(installed).collect()
}
