//! The gateway of an engine: the one that settings name, or the one that is shared on this machine.
//!
//! Owns when it is made, and its kernels as a list like that of installed ones. What a gateway is, is the kernel
//! crate's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use inkcell_kernel::{
    Backend, GatewayBackend, GatewayConfig, GatewayError, KernelSpec, Kernelspec, KernelspecError,
    Kernelspecs, LaunchError, LocalConfig, LocalGatewayBackend, RemoteKernel, RemoteKernels,
    ServerContents, Trace,
};

use crate::error::EngineError;

/// Which gateway kernels come from.
#[derive(Clone, Debug)]
pub enum GatewayChoice {
    /// One that is there already. Nothing of it is on this machine.
    External(Box<GatewayConfig>),
    /// One that is shared on this machine, and started when it is needed.
    Local(LocalConfig),
}

/// What says which it is; asked when the first kernel is wanted from it.
pub(super) type AskGateway = Box<dyn Fn() -> Result<GatewayChoice, EngineError> + Send + Sync>;

pub(super) struct Gateway {
    pub(super) config: AskGateway,
    pub(super) trace: Option<Arc<dyn Trace>>,
    pub(super) made: Mutex<Option<MadeGateway>>,
}

/// A gateway that can be asked.
#[derive(Clone)]
pub(crate) enum MadeGateway {
    External(GatewayBackend),
    Local(LocalGatewayBackend),
}

impl Gateway {
    pub(super) fn made(&self) -> Result<MadeGateway, EngineError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made {
            return Ok(made.clone());
        }
        let trace = self.trace.clone();
        let gateway = match ((self.config)()?, trace) {
            (GatewayChoice::External(config), Some(trace)) => {
                MadeGateway::External(GatewayBackend::traced(*config, trace))
            }
            (GatewayChoice::External(config), None) => {
                MadeGateway::External(GatewayBackend::new(*config))
            }
            (GatewayChoice::Local(config), Some(trace)) => {
                MadeGateway::Local(LocalGatewayBackend::traced(config, trace))
            }
            (GatewayChoice::Local(config), None) => {
                MadeGateway::Local(LocalGatewayBackend::new(config))
            }
        };
        *made = Some(gateway.clone());
        Ok(gateway)
    }
}

impl Gateway {
    /// Waits until what is under way on it is done, for a while.
    pub(super) async fn close(&self) {
        match self.known() {
            Some(MadeGateway::External(gateway)) => gateway.close().await,
            Some(MadeGateway::Local(gateway)) => gateway.close().await,
            None => {}
        }
    }

    fn known(&self) -> Option<MadeGateway> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl MadeGateway {
    /// Whether it is one of this machine, which runs the interpreter that is chosen here.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, MadeGateway::Local(_))
    }

    /// The files of a server that is somebody else's.
    pub(crate) fn documents(&self) -> Option<ServerContents> {
        match self {
            MadeGateway::External(gateway) => Some(gateway.contents()),
            MadeGateway::Local(_) => None,
        }
    }

    /// A problem with its kernels, in its words.
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

    /// What starts the kernel of this name there, or a Python.
    pub(crate) fn running(&self, kernel: Option<String>) -> Arc<dyn Backend> {
        match self {
            MadeGateway::External(gateway) => Arc::new(gateway.running(kernel)),
            MadeGateway::Local(gateway) => Arc::new(gateway.running(kernel)),
        }
    }

    /// The kernels it has, as if they were installed here. A gateway of this machine is started for it.
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

/// How they are started is the gateway's, so that nothing is said of it.
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
