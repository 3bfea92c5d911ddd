//! Kernels on the gateway that is shared on this machine: found or started, and asked once more
//! when it fails.
//!
//! Owns the meaning of the gateway's failures. `shared.rs` holds the gateway itself; its kernels
//! behave as those of any gateway.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::error::gateway::GatewayError;
use crate::gateway::launch::{GatewayBackend, GatewayConfig};
use crate::gateway::lifecycle::shared::{START_LIMIT, SharedConfig, SharedGateway};
use crate::gateway::transport::rest::RemoteKernels;
use crate::gateway::transport::url::{GatewayUrl, Token};
use crate::kernel::{Backend, BackendKind, KernelSpec, LaunchedKernel};
use crate::trace::KernelTrace;

/// Configuration of the backend, without defaults.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// Folder for the files of gateways, and for the files that go into kernels.
    pub state_dir: PathBuf,
    /// Folder for output that arrives faster than it is read.
    pub runtime_dir: PathBuf,
    /// Permission to start a gateway.
    pub sharing: Sharing,
    /// Time without a kernel after which a gateway ends by itself; `None` means never.
    pub idle_stop: Option<Duration>,
}

/// Permission for the hosts on this machine to share a gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Hosts share one gateway for each interpreter.
    Allowed,
    /// Hosts do not share one, and there is no other local gateway.
    Refused,
}

/// Starts kernels on the gateways that hosts on this machine share, one for each interpreter.
#[derive(Clone)]
pub struct LocalGatewayBackend {
    config: LocalConfig,
    trace: Option<Arc<dyn KernelTrace>>,
    /// Current backend of each interpreter. One backend keeps all kernels of a gateway in one
    /// record.
    used: Arc<Mutex<HashMap<PathBuf, (Token, GatewayBackend)>>>,
    /// Name of the kernelspec to start; `None` means Python.
    kernel_name: Option<String>,
}

impl LocalGatewayBackend {
    /// Creates a backend that starts gateways when they are needed.
    pub fn new(config: LocalConfig) -> LocalGatewayBackend {
        LocalGatewayBackend::traced(config, None)
    }

    /// Creates a backend that reports its traffic to `trace`.
    pub fn traced(config: LocalConfig, trace: Option<Arc<dyn KernelTrace>>) -> LocalGatewayBackend {
        LocalGatewayBackend { config, trace, used: Arc::default(), kernel_name: None }
    }

    /// Returns the same backend for another kernelspec, or for the gateway's Python.
    pub fn running(&self, kernel_name: Option<String>) -> LocalGatewayBackend {
        LocalGatewayBackend { kernel_name, ..self.clone() }
    }

    /// Lists the kernels that the gateway of this interpreter can start. Starts the gateway if it
    /// does not run, which may take as long as the start of a kernel.
    pub async fn kernelspecs(&self, spec: &KernelSpec) -> Result<RemoteKernels, LaunchError> {
        let shared = self.shared(spec)?;
        let look = async {
            let found = shared.acquire().await?;
            Ok(self.backend(&spec.python, &found).kernelspecs().await?)
        };
        let looked = tokio::time::timeout(spec.start_timeout, look).await;
        looked.unwrap_or_else(|_| Err(late(spec)))
    }

    /// Returns the gateway of an interpreter, unless sharing is refused.
    pub fn shared(&self, spec: &KernelSpec) -> Result<SharedGateway, LaunchError> {
        if self.config.sharing == Sharing::Refused {
            return Err(LaunchError::no_local_gateway());
        }
        Ok(SharedGateway::new(SharedConfig {
            state_dir: self.config.state_dir.clone(),
            python: spec.python.clone(),
            venv: spec.env.get("VIRTUAL_ENV").map(PathBuf::from),
            env: spec.env.clone(),
            idle_stop: self.config.idle_stop,
            start_limit: spec.start_timeout.max(START_LIMIT),
        }))
    }

    /// Waits, up to a limit, for requests under way.
    pub async fn close(&self) {
        let used: Vec<GatewayBackend> = {
            let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.values().map(|(_, backend)| backend.clone()).collect()
        };
        for backend in used {
            backend.close().await;
        }
    }

    /// One limit covers the whole start, with every wait in it.
    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        let shared = self.shared(spec)?;
        tokio::select! {
            started = self.attempts(&shared, spec, cancel) => started,
            () = tokio::time::sleep(spec.start_timeout) => Err(late(spec)),
            () = cancel.cancelled() => Err(LaunchError::Cancelled),
        }
    }

    /// Asks a gateway that failed once more. It may hold kernels of other hosts and fail at this
    /// one alone, so it is replaced only if it does not answer at all.
    async fn attempts(
        &self,
        shared: &SharedGateway,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        let found = shared.acquire().await?;
        let first = self.launch_on(&found, spec, cancel).await;
        let Err(LaunchError::Gateway(problem)) = &first else { return first };
        if !is_fault_of_gateway(problem) {
            return first;
        }
        let found = shared.acquire().await?;
        match self.launch_on(&found, spec, cancel).await {
            Err(LaunchError::Gateway(problem)) if is_fault_of_gateway(&problem) => {
                Err(GatewayError::SharedAgain { reason: problem.to_string() }.into())
            }
            done => done,
        }
    }

    async fn launch_on(
        &self,
        found: &(GatewayUrl, Token),
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        let backend = self.backend(&spec.python, found).running(self.kernel_name.clone());
        backend.launch(spec, cancel).await
    }

    fn backend(&self, python: &Path, (url, token): &(GatewayUrl, Token)) -> GatewayBackend {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        // A different gateway can get the port of one that ended, but not its token.
        if let Some((known, backend)) = used.get(python)
            && known == token
            && backend.url() == url
        {
            return backend.clone();
        }
        let LocalConfig { state_dir, runtime_dir, .. } = &self.config;
        let (state_dir, runtime_dir) = (state_dir.clone(), runtime_dir.clone());
        let config =
            GatewayConfig::shared(url.clone(), Some(token.clone()), state_dir, runtime_dir);
        let backend = GatewayBackend::traced(config, self.trace.clone());
        used.insert(python.to_owned(), (token.clone(), backend.clone()));
        backend
    }
}

fn late(spec: &KernelSpec) -> LaunchError {
    LaunchError::TimedOut {
        python: format!("a kernel on the shared gateway of {}", spec.python.display()),
        seconds: spec.start_timeout.as_secs_f64(),
        stderr_tail: String::new(),
    }
}

/// Returns `true` if another try, or another gateway, may succeed. There is no other try where a
/// kernel may have been started. A busy gateway was already asked again.
fn is_fault_of_gateway(problem: &GatewayError) -> bool {
    match problem {
        GatewayError::Timeout { .. }
        | GatewayError::Unreachable { .. }
        | GatewayError::Nonsense { .. }
        | GatewayError::Authentication { .. } => true,
        GatewayError::Create { status, .. } => *status == 500,
        GatewayError::Status { status, .. } => *status >= 500,
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
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>> {
        self.start(spec, cancel).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However often the gateway of an interpreter is replaced, it has one backend, and that is the
    /// latest.
    #[test]
    fn an_interpreter_has_one_backend() {
        let local = LocalGatewayBackend::new(LocalConfig {
            state_dir: PathBuf::from("/nowhere"),
            runtime_dir: PathBuf::from("/nowhere"),
            sharing: Sharing::Allowed,
            idle_stop: None,
        });
        let found = |port: u16, token: &str| {
            (GatewayUrl::local(port), Token::parse(token).ok().flatten().unwrap())
        };
        let python = Path::new("/python");
        for port in 1..20 {
            let backend = local.backend(python, &found(port, "a"));
            assert_eq!(*backend.url(), GatewayUrl::local(port));
        }
        let first = local.backend(python, &found(7, "a"));
        let again = local.backend(python, &found(7, "a"));
        assert!(Arc::ptr_eq(&first.rest, &again.rest));
        let other = local.backend(python, &found(7, "b"));
        assert!(!Arc::ptr_eq(&first.rest, &other.rest), "another has its port");
        assert_eq!(local.used.lock().unwrap().len(), 1);
    }
}
