//! Kernels on the gateway that is shared on this machine: found or started, and replaced once when it fails.
//!
//! Owns what a failure of that gateway means. What the gateway is, is in `shared.rs`; kernels on it are as on
//! any other.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::gateway::error::{GatewayError, Whose};
use crate::gateway::guest::Place;
use crate::gateway::launch::{GatewayBackend, GatewayConfig};
use crate::gateway::rest::RemoteKernels;
use crate::gateway::shared::{SharedConfig, SharedGateway};
use crate::gateway::url::{GatewayUrl, Token};
use crate::kernel::{Backend, BackendKind, KernelSpec, Launched};
use crate::trace::Trace;

/// Everything the backend must be told; there are no defaults.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// Where the files of gateways are, and those that are put into kernels.
    pub state_dir: PathBuf,
    /// Where output waits that comes faster than it is taken.
    pub runtime_dir: PathBuf,
    /// Whether a gateway may be started.
    pub sharing: Sharing,
    /// After how long without a kernel a gateway ends by itself; never where there is none.
    pub idle_stop: Option<Duration>,
}

/// Whether hosts on this machine may share a gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// They do.
    Allowed,
    /// They do not, and there is no other local gateway.
    Refused,
}

/// Makes kernels on the gateways that hosts on this machine share, one for each interpreter.
#[derive(Clone)]
pub struct LocalGatewayBackend {
    config: LocalConfig,
    trace: Option<Arc<dyn Trace>>,
    /// The backends of gateways that were used, so that kernels of one are written down in one place.
    used: Arc<Mutex<HashMap<GatewayUrl, (Token, GatewayBackend)>>>,
    /// Which of its kernels is taken; none means Python.
    kernel_name: Option<String>,
}

impl LocalGatewayBackend {
    /// A backend that starts gateways when they are needed.
    pub fn new(config: LocalConfig) -> LocalGatewayBackend {
        LocalGatewayBackend { config, trace: None, used: Arc::default(), kernel_name: None }
    }

    /// The same, and somebody is told what it does.
    pub fn traced(config: LocalConfig, trace: Arc<dyn Trace>) -> LocalGatewayBackend {
        LocalGatewayBackend { trace: Some(trace), ..LocalGatewayBackend::new(config) }
    }

    /// The same for kernels of this name, or for its Python.
    pub fn running(&self, kernel_name: Option<String>) -> LocalGatewayBackend {
        LocalGatewayBackend { kernel_name, ..self.clone() }
    }

    /// Which kernels the gateway of this interpreter can make; it is started where it does not run.
    pub async fn kernelspecs(&self, spec: &KernelSpec) -> Result<RemoteKernels, LaunchError> {
        let (url, token) = self.shared(spec)?.acquire().await?;
        Ok(self.backend(&url, &token).kernelspecs().await?)
    }

    /// The gateway of an interpreter, where there may be one.
    pub fn shared(&self, spec: &KernelSpec) -> Result<SharedGateway, LaunchError> {
        if self.config.sharing == Sharing::Refused {
            let reason = "Shared Python gateway required; local gateways are disabled";
            return Err(LaunchError::Startup { reason: reason.to_owned() });
        }
        Ok(SharedGateway::new(SharedConfig {
            state_dir: self.config.state_dir.clone(),
            python: spec.python.clone(),
            venv: spec.env.get("VIRTUAL_ENV").map(PathBuf::from),
            env: spec.env.clone(),
            idle_stop: self.config.idle_stop,
        }))
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<Launched, LaunchError> {
        let shared = self.shared(spec)?;
        let found = acquired(&shared, cancel).await?;
        let first = self.launch_on(&found, spec, cancel).await;
        let Err(LaunchError::Gateway(problem)) = &first else { return first };
        if !is_fault_of_gateway(problem) {
            return first;
        }
        // Nothing was started by one that failed so. Whether one that could not be asked is still good for
        // anything is looked at when it is acquired again: it may have kernels of others.
        if is_failure(problem) {
            let _ = shared.retire(&found).await;
        }
        let found = acquired(&shared, cancel).await?;
        match self.launch_on(&found, spec, cancel).await {
            Err(LaunchError::Gateway(problem)) if is_fault_of_gateway(&problem) => {
                Err(GatewayError::SharedAgain { reason: problem.to_string() }.into())
            }
            done => done,
        }
    }

    async fn launch_on(
        &self,
        (url, token): &(GatewayUrl, Token),
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<Launched, LaunchError> {
        let backend = self.backend(url, token).running(self.kernel_name.clone());
        backend.launch(spec, cancel).await
    }

    fn backend(&self, url: &GatewayUrl, token: &Token) -> GatewayBackend {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || {
            let config = GatewayConfig {
                url: url.clone(),
                token: Some(token.clone()),
                whose: Whose::Shared,
                place: Place::Here,
                kernel_name: None,
                env: BTreeMap::new(),
                start_limit: None,
                authorities: None,
                state_dir: self.config.state_dir.clone(),
                runtime_dir: self.config.runtime_dir.clone(),
            };
            match &self.trace {
                Some(trace) => GatewayBackend::traced(config, Arc::clone(trace)),
                None => GatewayBackend::new(config),
            }
        };
        // Another gateway can get the port of one that is gone.
        let entry = used.entry(url.clone()).or_insert_with(|| (token.clone(), made()));
        if entry.0 != *token {
            *entry = (token.clone(), made());
        }
        entry.1.clone()
    }
}

async fn acquired(
    shared: &SharedGateway,
    cancel: &CancellationToken,
) -> Result<(GatewayUrl, Token), LaunchError> {
    tokio::select! {
        acquired = shared.acquire() => Ok(acquired?),
        () = cancel.cancelled() => Err(LaunchError::Cancelled),
    }
}

/// Whether another try, or another gateway, may do better.
fn is_fault_of_gateway(problem: &GatewayError) -> bool {
    let is_out_of_reach = matches!(
        problem,
        GatewayError::Timeout { .. }
            | GatewayError::Unreachable { .. }
            | GatewayError::Nonsense { .. }
            | GatewayError::Authentication { .. }
    );
    is_out_of_reach || is_failure(problem)
}

/// Whether the gateway said that it failed.
fn is_failure(problem: &GatewayError) -> bool {
    match problem {
        GatewayError::Create { status, .. } | GatewayError::Status { status, .. } => *status >= 500,
        _ => false,
    }
}

impl Backend for LocalGatewayBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Gateway
    }

    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Launched, LaunchError>> {
        self.start(spec, cancel).boxed()
    }
}
