//! Kernels on gateways whose host is no more: counted, and removed.
//!
//! Owns when that is done: whenever somebody asks, and once when a gateway is used for the first time. What is
//! written down, and whose host lives, is known to `record.rs`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use crate::gateway::error::{GatewayError, Refused, Whose};
use crate::gateway::launch::GatewayBackend;
use crate::gateway::record::{Leftover, Made};
use crate::gateway::rest::RemoteId;

/// What dead hosts left on one gateway.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftBehind {
    /// Where the gateway is.
    pub url: String,
    /// Whose it is.
    pub whose: Whose,
    /// How many kernels.
    pub kernels: usize,
}

/// Where hosts of ours left kernels when they died. Nothing is asked of any gateway; to remove them, ask a
/// backend of each.
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
    /// Removes the kernels that hosts of ours left on this gateway when they died; says how many. Those on
    /// other gateways stay written down.
    pub async fn remove_leftovers(&self) -> Result<usize, GatewayError> {
        let unreadable = |source: io::Error| GatewayError::Unreachable {
            at: self.rest.named(),
            reason: format!("the record of kernels cannot be read: {source}"),
            refused: Refused::Unknown,
        };
        let (url, whose) = (self.rest.url.to_string(), self.rest.whose);
        let (mut removed, mut failed) = (0, None);
        for mut left in Leftover::find(&self.config.state_dir).map_err(unreadable)? {
            let is_here = |made: &Made| made.url == url && made.whose == whose;
            for made in left.kernels().into_iter().filter(is_here) {
                if let Some(id) = RemoteId::parse(&made.id) {
                    match self.rest.delete(&id).await {
                        // Where nobody listens any more, the gateway of this machine has ended and its kernels
                        // with it. Of a way to another machine that is not known.
                        Err(GatewayError::Unreachable { refused: Refused::Yes, .. })
                            if whose == Whose::Shared => {}
                        // It did not like this one; the others may go.
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

    /// The same, once and beside what is being done. Where it fails, it is done the next time.
    pub(crate) fn sweep(&self) {
        if !self.is_swept.swap(true, Ordering::SeqCst) {
            let backend = self.clone();
            tokio::spawn(async move { backend.remove_leftovers().await });
        }
    }
}
