//! The end of a kernel on a gateway: asked for once, seen to, and written down.
//!
//! Owns that no kernel of ours is forgotten: what could not be removed stays in the record, and is tried again when
//! the gateway has made the next one. And that what it said before its end is passed on.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::gateway::error::{GatewayError, Refused, Whose};
use crate::gateway::pump::Pump;
use crate::gateway::record::{Made, Record};
use crate::gateway::rest::{RemoteId, Rest};

/// How long a gateway may take before nobody waits for it any more. It goes on.
const WAIT: Duration = Duration::from_secs(8);

/// How long output may still come of a kernel that is gone.
const AFTERMATH: Duration = Duration::from_millis(300);

/// How long it is passed on, however much there is.
const ALL_OF_IT: Duration = Duration::from_secs(2);

/// How long a slow gateway may take to have its turn.
const SLOW: Duration = Duration::from_secs(10);

/// A kernel that we have made and must remove. Dropped, it is removed.
pub(crate) struct Ending {
    pub(crate) rest: Arc<Rest>,
    pub(crate) record: Arc<Record>,
    pub(crate) id: RemoteId,
    under_way: Option<JoinHandle<()>>,
    is_done: bool,
    is_abandoned: bool,
}

impl Ending {
    /// Writes down that the kernel is ours. Where that fails, nobody can remove it after us, but it works.
    pub(crate) fn of(rest: Arc<Rest>, record: Arc<Record>, id: RemoteId) -> Ending {
        let _ = record.made(&Made::on(&rest, &id));
        for stuck in record.take_stuck() {
            if let Some(id) = RemoteId::parse(&stuck.id) {
                rest.under_way.spawn(remove(Arc::clone(&rest), Arc::clone(&record), id));
            }
        }
        Ending { rest, record, id, under_way: None, is_done: false, is_abandoned: false }
    }

    /// Asks for the end; nobody waits for it.
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

    /// Waits for the end that was asked for.
    pub(crate) async fn wait(&mut self) {
        if let Some(work) = self.under_way.as_mut() {
            let _ = tokio::time::timeout(WAIT, work).await;
        }
        self.is_done = true;
    }

    /// There is nobody to ask. What is written down stays, should the gateway come back.
    pub(crate) fn abandon(&mut self) {
        let made = Made::on(&self.rest, &self.id);
        match self.rest.whose {
            // What inkcell started on this machine took its kernels along.
            Whose::Shared => self.record.removed(&made),
            Whose::External => self.record.stuck(made),
        }
        (self.is_done, self.is_abandoned) = (true, true);
    }

    /// Whether the kernel may live on with its gateway, out of our reach.
    pub(crate) fn may_live_on(&self) -> bool {
        self.is_abandoned && self.rest.whose == Whose::External
    }
}

async fn remove(rest: Arc<Rest>, record: Arc<Record>, id: RemoteId) {
    let made = Made::on(&rest, &id);
    match rest.delete(&id).await {
        Ok(()) => record.removed(&made),
        // A gateway of this machine that has ended took its kernels along.
        Err(GatewayError::Unreachable { refused: Refused::Yes, .. })
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

impl Pump {
    /// What was sent before the end. A gateway can have much of it, so there is a bound for all.
    pub(crate) async fn rest(&mut self) {
        self.rest_until(Instant::now() + ALL_OF_IT).await;
        // We can see the end of a process before its gateway has passed on what came before it. One that is slow to
        // do so is slow to answer, too: when it has, it had its turn.
        if self.near.is_some() {
            let _ = self.talk.rest.has(&self.talk.id, SLOW).await;
            self.rest_until(Instant::now() + ALL_OF_IT).await;
        }
    }

    async fn rest_until(&mut self, until: Instant) {
        while let Ok(Some(read)) = tokio::time::timeout(AFTERMATH, self.talk.next()).await {
            if Instant::now() > until {
                self.notice("output from before the end of the kernel was left out".to_owned())
                    .await;
                break;
            }
            if let Ok((channel, message)) = read {
                self.heard(channel, &message).await;
            }
        }
    }
}
