//! Kernel starts that fail because the system is short of descriptors or processes: idle sessions are closed
//! to make room, one after the other (B:K-15).
//!
//! Owns which failures are of that sort and which sessions may be closed for it: idle ones of the same
//! owner, never a busy one or one that another owner uses. It must not know what a kernel is made of.

use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inkcell_kernel::{Backend, BackendKind, KernelEvent, KernelSpec, LaunchError, LaunchedKernel};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::{Closing, Registry, Shared, names};
use crate::types::{CloseReason, OwnerId, SessionName};

/// A backend that asks the registry to make room when a launch fails for lack of descriptors or processes.
struct Scarce {
    inner: Arc<dyn Backend>,
    /// The registry holds the sessions and these hold their backend, so this must not hold the registry.
    shared: Weak<Shared>,
    owner: OwnerId,
}

impl Registry {
    /// Wraps a backend for sessions of this owner: its idle sessions may be closed when the system is short
    /// of descriptors or processes.
    pub(crate) fn sparing(&self, inner: Arc<dyn Backend>, owner: OwnerId) -> Arc<dyn Backend> {
        Arc::new(Scarce { inner, shared: Arc::downgrade(&self.shared), owner })
    }

    /// Closes the session of this owner that has been idle longest, and returns its name.
    async fn spare(&self, owner: OwnerId, reason: CloseReason) -> Option<SessionName> {
        loop {
            let (key, session) = {
                let mut state = self.shared.state();
                let oldest = state.longest_idle_of(owner)?;
                state.begin_closing(std::slice::from_ref(&oldest), reason);
                oldest
            };
            let name = key.name.clone();
            // A session that a caller has just begun to use stays.
            if self.close_idle(key, session, reason).await == Closing::Closed {
                return Some(name);
            }
        }
    }
}

impl Scarce {
    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        let mut spared = Vec::new();
        let mut short_of = None;
        loop {
            let (failed, reason) = match (self.inner.launch(spec, cancel).await, short_of) {
                (Err(error), _) => match scarcity(&error) {
                    Some(reason) => (error, reason),
                    None => return Err(error),
                },
                (Ok(launched), None) => return Ok(launched),
                (Ok(launched), Some(reason)) => {
                    // The caller gets this notice with the first answer.
                    let said = KernelEvent::Notice(describe_closed(&spared, reason));
                    return Ok(LaunchedKernel { events: launched.events.after(said), ..launched });
                }
            };
            let Some(shared) = self.shared.upgrade() else { return Err(failed) };
            let registry = Registry { shared };
            // A close of this session cancels the wait.
            let closed = tokio::select! {
                closed = registry.spare(self.owner, reason) => closed,
                () = cancel.cancelled() => return Err(LaunchError::Cancelled),
            };
            let Some(closed) = closed else { return Err(failed) };
            spared.push(closed);
            short_of = Some(reason);
        }
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
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>> {
        self.start(spec, cancel).boxed()
    }
}

/// The resource that the system has run out of, as a reason to close sessions.
fn scarcity(error: &LaunchError) -> Option<CloseReason> {
    let (LaunchError::Spawn { source, .. }
    | LaunchError::Resources { source, .. }
    | LaunchError::StateFolder { source, .. }) = error
    else {
        return None;
    };
    match Errno::from_io_error(source)? {
        Errno::MFILE | Errno::NFILE => Some(CloseReason::OpenFiles),
        Errno::AGAIN => Some(CloseReason::Processes),
        _ => None,
    }
}

fn describe_closed(spared: &[SessionName], reason: CloseReason) -> String {
    let (sessions, their) = match spared {
        [_] => ("session", "its"),
        _ => ("sessions", "their"),
    };
    let what = match reason {
        CloseReason::Processes => "too many processes (ulimit -u)",
        _ => "too many open files (ulimit -n)",
    };
    let closed = names(spared);
    format!(
        "{what}: closed idle {sessions} {closed} to make room for this one; {their} variables are gone"
    )
}
