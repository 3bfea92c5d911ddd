//! Calls that go on after their answer, as resources: `execution://ID`.
//!
//! Owns the notification at their end. The caller of such a call counts as a subscriber, since it has no request that
//! waits for the end; other clients subscribe. The text is that of `result`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use inkcell_engine::api::ExecutionId;
use inkcell_engine::{CallHandle, EngineError};
use rmcp::model::{ResourceContents, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, RoleServer};
use tokio_util::sync::CancellationToken;

use super::answer::cleaned;
use crate::mcp::desk::Desk;
use crate::view::reply;

/// The scheme of their addresses.
pub(super) const SCHEME: &str = "execution://";

/// The form of these addresses.
pub(super) const TEMPLATE: &str = "execution://{id}";

/// The most calls that one client is notified of at a time. It hears nothing of further ones.
const MOST: usize = 256;

/// The calls whose end one client is notified of. Clones share them.
#[derive(Clone, Default)]
pub(super) struct EndWatch(Arc<Mutex<HashSet<ExecutionId>>>);

impl EndWatch {
    /// Tells a client no more of the end of this call.
    pub(super) fn forget(&self, id: &str) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.remove(&ExecutionId(id.to_owned()));
    }

    /// Tells the client once when this call is over, unless everything ends before.
    pub(super) fn tell_end(
        &self,
        call: CallHandle,
        client: Peer<RoleServer>,
        ending: CancellationToken,
    ) {
        let id = call.id().clone();
        {
            let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if watched.len() == MOST || !watched.insert(id.clone()) {
                return;
            }
        }
        let watched = Arc::clone(&self.0);
        tokio::spawn(async move {
            tokio::select! {
                _ = call.settled() => {
                    let uri = format!("{SCHEME}{}", id.0);
                    // A client that is gone needs no notification.
                    let told = ResourceUpdatedNotificationParam::new(uri);
                    let is_wanted = |watched: &Mutex<HashSet<ExecutionId>>| {
                        watched.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
                    };
                    if is_wanted(&watched) {
                        let _ = client.notify_resource_updated(told).await;
                    }
                }
                () = ending.cancelled() => {}
            }
            watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        });
    }
}

/// The call at this address.
pub(super) fn find(desk: &Desk, id: &str) -> Result<CallHandle, EngineError> {
    desk.engine.find_call(&ExecutionId(id.to_owned()))
}

/// The call at this address in its current state, in the words of `result`.
pub(super) fn read(desk: &Desk, id: &str) -> Result<ResourceContents, EngineError> {
    let report = find(desk, id)?.report();
    let room = reply::Room {
        max_bytes: desk.settings.calls(desk.exposure.profile()).call_bytes,
        is_end: false,
    };
    let kernel = reply::Afterwards::of(&report);
    let terms = reply::Terms { kernel, room, told: 0, is_whole: false };
    let reply = reply::of_report_with(&report, terms);
    let contents = ResourceContents::text(cleaned(&reply.text), format!("{SCHEME}{id}"));
    Ok(contents.with_mime_type("text/plain"))
}
