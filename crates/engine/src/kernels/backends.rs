//! The backends of an engine: the runner, and the clients of Jupyter kernels.
//!
//! Owns which backends exist. A backend that most callers never need is created on its first use.

use std::sync::{Arc, Mutex, PoisonError};

use inkcell_kernel::{
    Backend, BackendKind, KernelTrace, LaunchError, Program, ZmqBackend, ZmqConfig,
};

use crate::error::EngineError;

mod gateway;

use gateway::Gateway;
pub use gateway::GatewayChoice;
pub(crate) use gateway::MadeGateway;

/// The backends of an engine, and the default among them.
#[derive(Clone)]
pub struct Backends {
    runner: Arc<dyn Backend>,
    zmq: Option<Arc<Zmq>>,
    gateway: Option<Arc<Gateway>>,
    usual: BackendKind,
}

struct Zmq {
    config: Box<dyn Fn() -> ZmqConfig + Send + Sync>,
    trace: Option<Arc<dyn KernelTrace>>,
    made: Mutex<Option<ZmqBackend>>,
}

impl Backends {
    /// Backends with this one alone, which is then the usual one.
    pub fn only(runner: Arc<dyn Backend>) -> Backends {
        let usual = runner.kind();
        Backends { runner, zmq: None, gateway: None, usual }
    }

    /// Adds Jupyter kernels that are started here. `config` is called before the first of them starts.
    pub fn with_zmq(
        self,
        config: impl Fn() -> ZmqConfig + Send + Sync + 'static,
        trace: Option<Arc<dyn KernelTrace>>,
    ) -> Backends {
        let zmq = Zmq { config: Box::new(config), trace, made: Mutex::default() };
        Backends { zmq: Some(Arc::new(zmq)), ..self }
    }

    /// Adds kernels on a gateway. `config` is called when the first of them is requested.
    pub fn with_gateway(
        self,
        config: impl Fn() -> Result<GatewayChoice, EngineError> + Send + Sync + 'static,
        trace: Option<Arc<dyn KernelTrace>>,
    ) -> Backends {
        let gateway = Gateway { config: Box::new(config), trace, made: Mutex::default() };
        Backends { gateway: Some(Arc::new(gateway)), ..self }
    }

    /// Sets the default backend.
    pub fn usually(self, usual: BackendKind) -> Backends {
        Backends { usual, ..self }
    }

    /// Ends kernels that no session uses yet, and waits a while for the ends of others.
    pub(crate) async fn close(&self) {
        let made = self
            .zmq
            .as_ref()
            .and_then(|zmq| zmq.made.lock().unwrap_or_else(PoisonError::into_inner).clone());
        if let Some(made) = made {
            made.close().await;
        }
        if let Some(gateway) = &self.gateway {
            gateway.close().await;
        }
    }

    /// The backend for requests that name none.
    pub(crate) fn usual(&self) -> BackendKind {
        self.usual
    }

    /// The runner, or the backend in its place.
    pub(crate) fn runner(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.runner)
    }

    /// The backend that starts this Jupyter kernel.
    pub(crate) fn zmq(&self, program: Program) -> Result<Arc<dyn Backend>, EngineError> {
        let Some(zmq) = &self.zmq else {
            return Err(EngineError::NoBackend { backend: BackendKind::Zmq });
        };
        let made = zmq.backend().map_err(EngineError::from)?;
        Ok(Arc::new(made.running(program)))
    }

    /// The gateway, created on the first use.
    pub(crate) fn gateway(&self) -> Result<MadeGateway, EngineError> {
        let backend = BackendKind::Gateway;
        self.gateway.as_ref().ok_or(EngineError::NoBackend { backend })?.made()
    }
}

impl Zmq {
    fn backend(&self) -> Result<ZmqBackend, LaunchError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made {
            return Ok(made.clone());
        }
        let config = (self.config)();
        let backend = match &self.trace {
            Some(trace) => ZmqBackend::traced(config, Arc::clone(trace)),
            None => ZmqBackend::new(config),
        }?;
        *made = Some(backend.clone());
        Ok(backend)
    }
}
