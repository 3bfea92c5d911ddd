//! The end of a kernel on a gateway: requested once, awaited, and written to the record.
//!
//! Owns the promise that no kernel of ours is forgotten: a kernel that could not be removed stays
//! in the record, and the next kernel that the gateway starts triggers another try.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::error::gateway::{GatewayError, RefusalCause, Whose};
use crate::gateway::record::{KernelEntry, Record};
use crate::gateway::transport::rest::{RemoteId, Rest};

/// Longest wait for a gateway to remove a kernel. The removal itself goes on after that.
const WAIT: Duration = Duration::from_secs(8);

/// A kernel that we have started and must remove. Dropping this removes it.
pub(crate) struct Ending {
    pub(crate) rest: Arc<Rest>,
    pub(crate) record: Arc<Record>,
    pub(crate) id: RemoteId,
    under_way: Option<JoinHandle<()>>,
    is_done: bool,
    is_abandoned: bool,
}

impl Ending {
    /// Records that the kernel is ours. If that fails the kernel works, but a later process cannot
    /// find and remove it.
    pub(crate) fn of(rest: Arc<Rest>, record: Arc<Record>, id: RemoteId) -> Ending {
        let _ = record.made(&KernelEntry::on(&rest, &id));
        for stuck in record.take_stuck() {
            if let Some(id) = RemoteId::parse(&stuck.id) {
                rest.under_way.spawn(remove(Arc::clone(&rest), Arc::clone(&record), id));
            }
        }
        Ending { rest, record, id, under_way: None, is_done: false, is_abandoned: false }
    }

    /// Starts the removal without waiting for it.
    pub(crate) fn begin(&mut self) {
        if self.is_done || self.under_way.is_some() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (rest, record) = (Arc::clone(&self.rest), Arc::clone(&self.record));
            let work = remove(rest, record, self.id.clone());
            self.under_way = Some(self.rest.under_way.spawn_on(work, &runtime));
        }
    }

    /// Waits for the removal that [`Ending::begin`] started.
    pub(crate) async fn wait(&mut self) {
        if let Some(work) = self.under_way.as_mut() {
            let _ = tokio::time::timeout(WAIT, work).await;
        }
        self.is_done = true;
    }

    /// Gives up: the gateway cannot be reached. The record keeps the kernel in case the gateway
    /// comes back.
    pub(crate) fn abandon(&mut self) {
        let made = KernelEntry::on(&self.rest, &self.id);
        match self.rest.whose {
            // A gateway that inkcell started on this machine took its kernels along.
            Whose::Shared => self.record.removed(&made),
            Whose::External => self.record.stuck(made),
        }
        (self.is_done, self.is_abandoned) = (true, true);
    }

    /// Returns `true` if the kernel may live on with its gateway, out of our reach.
    pub(crate) fn may_live_on(&self) -> bool {
        self.is_abandoned && self.rest.whose == Whose::External
    }
}

async fn remove(rest: Arc<Rest>, record: Arc<Record>, id: RemoteId) {
    let made = KernelEntry::on(&rest, &id);
    match rest.delete(&id).await {
        Ok(()) => record.removed(&made),
        // A gateway on this machine that has ended took its kernels along.
        Err(GatewayError::Unreachable { refused: RefusalCause::Yes, .. })
            if made.whose == Whose::Shared =>
        {
            record.removed(&made);
        }
        Err(_) => record.stuck(made),
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.begin();
    }
}
