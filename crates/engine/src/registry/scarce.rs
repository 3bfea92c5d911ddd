//! Kernels where the system has none to give: sessions that nobody uses make room, and it is tried once more
//! (B:K-15).
//!
//! Owns which failures are of that sort and whose sessions may go for it: idle ones of the same owner, never
//! one that is at work or that somebody else uses. It must not know what a kernel is made of.

use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inkcell_kernel::{Backend, BackendKind, KernelSpec, LaunchError, Launched};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::{CloseReason, OwnerId, Registry, Shared};

/// A backend that asks a registry for room when there is none.
struct Scarce {
    inner: Arc<dyn Backend>,
    /// The registry holds the sessions and these hold their backend, so this must not hold the registry.
    shared: Weak<Shared>,
    owner: OwnerId,
}

impl Registry {
    /// The same backend for sessions of this owner, whose idle sessions may go when the system is short of
    /// descriptors or processes.
    pub fn sparing(&self, inner: Arc<dyn Backend>, owner: OwnerId) -> Arc<dyn Backend> {
        Arc::new(Scarce { inner, shared: Arc::downgrade(&self.shared), owner })
    }

    /// Closes the idle sessions that this owner alone uses; how many there were.
    async fn spare(&self, owner: OwnerId) -> usize {
        let idle = {
            let mut state = self.shared.state();
            let idle = state.idle_of(owner);
            state.begin_closing(&idle, CloseReason::Evicted);
            idle
        };
        let count = idle.len();
        let closing = idle
            .into_iter()
            .map(|(key, session)| self.close_idle(key, session, CloseReason::Evicted));
        futures_util::future::join_all(closing).await;
        count
    }
}

impl Scarce {
    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<Launched, LaunchError> {
        let failed = match self.inner.launch(spec, cancel).await {
            Err(error) if is_scarcity(&error) => error,
            other => return other,
        };
        let Some(shared) = self.shared.upgrade() else { return Err(failed) };
        let registry = Registry { shared };
        // A session whose caller has gone is idle while its kernel starts, and may be closed here itself.
        let spared = tokio::select! {
            spared = registry.spare(self.owner) => spared,
            () = cancel.cancelled() => return Err(LaunchError::Cancelled),
        };
        if spared == 0 {
            return Err(failed);
        }
        self.inner.launch(spec, cancel).await
    }
}

impl Backend for Scarce {
    fn kind(&self) -> BackendKind {
        self.inner.kind()
    }

    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Launched, LaunchError>> {
        self.start(spec, cancel).boxed()
    }
}

/// Whether the system had no more descriptors or processes.
fn is_scarcity(error: &LaunchError) -> bool {
    let (LaunchError::Spawn { source, .. }
    | LaunchError::Resources { source, .. }
    | LaunchError::StateFolder { source, .. }) = error
    else {
        return false;
    };
    let scarce = [Errno::MFILE, Errno::NFILE, Errno::AGAIN];
    Errno::from_io_error(source).is_some_and(|errno| scarce.contains(&errno))
}
