//! Kernels on gateways whose host has died: counted and removed.
//!
//! Owns the moments of removal: on every request of a user, and once at the first use of a gateway.
//! `record.rs` knows which kernels are recorded and which hosts live.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use crate::error::gateway::{GatewayError, RefusalCause, Whose};
use crate::gateway::launch::GatewayBackend;
use crate::gateway::record::{KernelEntry, Leftover};
use crate::gateway::transport::rest::RemoteId;

/// Kernels that dead hosts left on one gateway.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftBehind {
    /// Address of the gateway.
    pub url: String,
    /// Owner of the gateway: inkcell or another party.
    pub whose: Whose,
    /// Number of kernels that are left.
    pub kernels: usize,
}

/// Lists the gateways where hosts of ours left kernels when they died. Sends no request. To remove
/// the kernels, use a backend for each gateway.
pub fn left_behind(state_dir: &Path) -> io::Result<Vec<LeftBehind>> {
    let mut counts = BTreeMap::new();
    for left in Leftover::find(state_dir)? {
        for made in left.kernels() {
            *counts.entry((made.url, made.whose)).or_insert(0) += 1;
        }
    }
    let left = |((url, whose), kernels)| LeftBehind { url, whose, kernels };
    Ok(counts.into_iter().map(left).collect())
}

impl GatewayBackend {
    /// Removes the kernels that hosts of ours left on this gateway when they died. Returns their
    /// number. Kernels on other gateways stay in the record.
    pub async fn remove_leftovers(&self) -> Result<usize, GatewayError> {
        let unreadable = |source: io::Error| GatewayError::Unreachable {
            at: self.rest.named(),
            reason: format!("the record of kernels cannot be read: {source}"),
            refused: RefusalCause::Unknown,
        };
        let (url, whose) = (self.rest.url.to_string(), self.rest.whose);
        let (mut removed, mut failed) = (0, None);
        for mut left in Leftover::find(&self.config.state_dir).map_err(unreadable)? {
            let is_here = |made: &KernelEntry| made.url == url && made.whose == whose;
            for made in left.kernels().into_iter().filter(is_here) {
                if let Some(id) = RemoteId::parse(&made.id) {
                    match self.rest.delete(&id).await {
                        // A refused connection means that a gateway on this machine has ended, and
                        // its kernels with it. For the way to another machine that does not follow.
                        Err(GatewayError::Unreachable { refused: RefusalCause::Yes, .. })
                            if whose == Whose::Shared => {}
                        // The gateway refused this kernel; go on with the others.
                        Err(problem @ GatewayError::Status { .. }) => {
                            failed = failed.or(Some(problem));
                            continue;
                        }
                        deleted => deleted?,
                    }
                    removed += 1;
                }
                left.removed(&made).map_err(unreadable)?;
            }
        }
        failed.map_or(Ok(removed), Err)
    }

    /// Runs the removal once, in the background. If it fails, the next caller starts it again.
    pub(crate) fn sweep(&self) {
        if !self.is_swept.swap(true, Ordering::SeqCst) {
            let backend = self.clone();
            tokio::spawn(async move {
                if backend.remove_leftovers().await.is_err() {
                    backend.is_swept.store(false, Ordering::SeqCst);
                }
            });
        }
    }
}
