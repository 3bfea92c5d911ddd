//! What makes kernels here: the runner, and what speaks to Jupyter's.
//!
//! Owns which backends there are. Those that most callers never need are made when the first one does.

use std::sync::{Arc, Mutex, PoisonError};

use inkcell_kernel::{Backend, BackendKind, LaunchError, Program, Trace, ZmqBackend, ZmqConfig};

use crate::error::EngineError;

mod gateway;

use gateway::Gateway;
pub use gateway::GatewayChoice;
pub(crate) use gateway::MadeGateway;

/// The backends of an engine, and which of them is used where nobody says.
#[derive(Clone)]
pub struct Backends {
    runner: Arc<dyn Backend>,
    zmq: Option<Arc<Zmq>>,
    gateway: Option<Arc<Gateway>>,
    usual: BackendKind,
}

struct Zmq {
    config: Box<dyn Fn() -> ZmqConfig + Send + Sync>,
    trace: Option<Arc<dyn Trace>>,
    made: Mutex<Option<ZmqBackend>>,
}

impl Backends {
    /// This one alone.
    pub fn only(runner: Arc<dyn Backend>) -> Backends {
        let usual = runner.kind();
        Backends { runner, zmq: None, gateway: None, usual }
    }

    /// The same, and Jupyter kernels that are started here. How they are started is asked when the first is.
    pub fn with_zmq(
        self,
        config: impl Fn() -> ZmqConfig + Send + Sync + 'static,
        trace: Option<Arc<dyn Trace>>,
    ) -> Backends {
        let zmq = Zmq { config: Box::new(config), trace, made: Mutex::default() };
        Backends { zmq: Some(Arc::new(zmq)), ..self }
    }

    /// The same, and kernels on a gateway. Which one that is, is asked when the first is wanted.
    pub fn with_gateway(
        self,
        config: impl Fn() -> Result<GatewayChoice, EngineError> + Send + Sync + 'static,
        trace: Option<Arc<dyn Trace>>,
    ) -> Backends {
        let gateway = Gateway { config: Box::new(config), trace, made: Mutex::default() };
        Backends { gateway: Some(Arc::new(gateway)), ..self }
    }

    /// The same, with another one for those who do not say.
    pub fn usually(self, usual: BackendKind) -> Backends {
        Backends { usual, ..self }
    }

    /// Ends kernels that nobody uses yet, and waits for the ends of others, for a while.
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

    /// The one for those who do not say.
    pub(crate) fn usual(&self) -> BackendKind {
        self.usual
    }

    /// The runner, or whatever stands in its place.
    pub(crate) fn runner(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.runner)
    }

    /// What starts this Jupyter kernel.
    pub(crate) fn zmq(&self, program: Program) -> Result<Arc<dyn Backend>, EngineError> {
        let Some(zmq) = &self.zmq else {
            return Err(EngineError::NoBackend { backend: BackendKind::Zmq });
        };
        let made = zmq.backend().map_err(EngineError::from)?;
        Ok(Arc::new(made.running(program)))
    }

    /// The gateway that kernels come from.
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
