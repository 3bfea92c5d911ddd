//! The backends of an engine: the runner, and the clients of Jupyter kernels.
//!
//! Owns which backends exist. A backend that most callers never need is created on its first use.

use std::sync::{Arc, Mutex, PoisonError};

use inkcell_kernel::{Backend, BackendKind, KernelTrace, Program, ZmqBackend, ZmqConfig};

use crate::error::EngineError;

mod gateway;

pub use gateway::GatewayChoice;
pub(crate) use gateway::MadeGateway;

/// The backends of an engine, and the default among them.
#[derive(Clone)]
pub struct Backends {
    runner: Arc<dyn Backend>,
    zmq: Option<Arc<Lazy<ZmqBackend>>>,
    gateway: Option<Arc<Lazy<MadeGateway>>>,
    usual: BackendKind,
}

/// A backend that is made on its first use.
struct Lazy<B> {
    make: Box<dyn Fn() -> Result<B, EngineError> + Send + Sync>,
    made: Mutex<Option<B>>,
}

impl<B: Clone> Lazy<B> {
    fn new(make: impl Fn() -> Result<B, EngineError> + Send + Sync + 'static) -> Option<Arc<Self>> {
        Some(Arc::new(Lazy { make: Box::new(make), made: Mutex::default() }))
    }

    fn get(&self) -> Result<B, EngineError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made {
            return Ok(made.clone());
        }
        let new = (self.make)()?;
        *made = Some(new.clone());
        Ok(new)
    }

    /// The backend, if it was ever used.
    fn known(&self) -> Option<B> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
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
        let make = move || Ok(ZmqBackend::traced(config(), trace.clone())?);
        Backends { zmq: Lazy::new(make), ..self }
    }

    /// Adds kernels on a gateway. `config` is called when the first of them is requested.
    pub fn with_gateway(
        self,
        config: impl Fn() -> Result<GatewayChoice, EngineError> + Send + Sync + 'static,
        trace: Option<Arc<dyn KernelTrace>>,
    ) -> Backends {
        let make = move || Ok(MadeGateway::of(config()?, trace.clone()));
        Backends { gateway: Lazy::new(make), ..self }
    }

    /// Sets the default backend.
    pub fn usually(self, usual: BackendKind) -> Backends {
        Backends { usual, ..self }
    }

    /// Ends kernels that no session uses yet, and waits a while for the ends of others.
    pub(crate) async fn close(&self) {
        if let Some(made) = self.zmq.as_ref().and_then(|zmq| zmq.known()) {
            made.close().await;
        }
        if let Some(made) = self.gateway.as_ref().and_then(|gateway| gateway.known()) {
            made.close().await;
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
        Ok(Arc::new(zmq.get()?.running(program)))
    }

    /// The gateway, created on the first use.
    pub(crate) fn gateway(&self) -> Result<MadeGateway, EngineError> {
        let backend = BackendKind::Gateway;
        self.gateway.as_ref().ok_or(EngineError::NoBackend { backend })?.get()
    }
}
