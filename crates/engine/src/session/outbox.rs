//! Events on their way to the listener of a run.
//!
//! Owns the one event that may wait for room. A listener without room blocks the kernel, as a full pipe
//! would. Once the run must stop, it is not waited for, so a listener that does not read cannot hold a
//! session.

use std::time::{Duration, Instant};

use inkcell_kernel::{ExecEvent, KernelEvent};
use tokio::sync::mpsc;

/// How long to wait for a listener that reads nothing, once the code must stop.
pub(crate) const STUCK: Duration = Duration::from_secs(1);

pub(super) struct Outbox {
    listener: mpsc::Sender<KernelEvent>,
    waiting: Option<(KernelEvent, Instant)>,
    has_given_up: bool,
    undelivered_bytes: u64,
}

impl Outbox {
    pub(super) fn new(listener: mpsc::Sender<KernelEvent>) -> Outbox {
        Outbox { listener, waiting: None, has_given_up: false, undelivered_bytes: 0 }
    }

    /// Returns whether the kernel's next event may be read.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.is_none()
    }

    /// Bytes of output that did not reach the listener.
    pub(super) fn undelivered_bytes(&self) -> u64 {
        self.undelivered_bytes
    }

    pub(super) fn put(&mut self, now: Instant, event: KernelEvent) {
        // Only one event can wait, and events leave in order.
        self.flush();
        match self.listener.try_send(event) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(event)) if !self.has_given_up => {
                self.waiting = Some((event, now));
            }
            Err(error) => self.lose(&error.into_inner()),
        }
    }

    /// Returns when no event waits. Cancel-safe.
    pub(super) async fn room(&mut self) {
        let Ok(permit) = self.listener.reserve().await else {
            self.give_up();
            return;
        };
        if let Some((event, _)) = self.waiting.take() {
            permit.send(event);
        }
    }

    /// When a listener that still reads nothing counts as stuck, for code that must stop since
    /// `stopping`.
    pub(super) fn stuck_at(&self, stopping: Instant) -> Option<Instant> {
        self.waiting.as_ref().map(|(_, since)| stopping.max(*since) + STUCK)
    }

    /// From here on, an event is dropped if the listener has no room for it.
    pub(super) fn give_up(&mut self) {
        self.has_given_up = true;
        if let Some((event, _)) = self.waiting.take() {
            self.lose(&event);
        }
    }

    /// Sends the waiting event now, or drops it.
    pub(super) fn flush(&mut self) {
        if let Some((event, _)) = self.waiting.take()
            && let Err(error) = self.listener.try_send(event)
        {
            self.lose(&error.into_inner());
        }
    }

    fn lose(&mut self, event: &KernelEvent) {
        self.undelivered_bytes += written_bytes(event);
    }
}

/// The bytes of program output in an event; other events count as 0 when they are lost.
pub(crate) fn written_bytes(event: &KernelEvent) -> u64 {
    match event {
        KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. }
        | KernelEvent::Orphan(ExecEvent::Stream { data, .. }) => data.len() as u64,
        _ => 0,
    }
}
