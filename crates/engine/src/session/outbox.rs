//! Events on their way to whoever listens to a run.
//!
//! Owns the one event that may wait for room. A listener without room holds the kernel up, as a full pipe
//! would; it is not waited for once the run must stop, so that nobody can keep a session by not reading.

use std::time::{Duration, Instant};

use inkcell_kernel::{ExecEvent, KernelEvent};
use tokio::sync::mpsc;

/// How long a listener that takes nothing is waited for once the code must stop.
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

    /// Whether the kernel may be heard.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.is_none()
    }

    /// Bytes of output the listener did not take.
    pub(super) fn undelivered_bytes(&self) -> u64 {
        self.undelivered_bytes
    }

    pub(super) fn put(&mut self, now: Instant, event: KernelEvent) {
        // Only one can wait, and they go out in order.
        self.flush();
        match self.listener.try_send(event) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(event)) if !self.has_given_up => {
                self.waiting = Some((event, now));
            }
            Err(error) => self.lose(&error.into_inner()),
        }
    }

    /// Returns when what waited is gone. Cancel-safe.
    pub(super) async fn room(&mut self) {
        let Ok(permit) = self.listener.reserve().await else {
            self.give_up();
            return;
        };
        if let Some((event, _)) = self.waiting.take() {
            permit.send(event);
        }
    }

    /// When a listener that still takes nothing counts as stuck, if the code must stop since then.
    pub(super) fn stuck_at(&self, stopping: Instant) -> Option<Instant> {
        self.waiting.as_ref().map(|(_, since)| stopping.max(*since) + STUCK)
    }

    /// From here on only what there is room for is delivered.
    pub(super) fn give_up(&mut self) {
        self.has_given_up = true;
        if let Some((event, _)) = self.waiting.take() {
            self.lose(&event);
        }
    }

    /// What still waits goes out now or not at all.
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

/// How much a program wrote, in the eyes of whoever is told that it was lost.
pub(crate) fn written_bytes(event: &KernelEvent) -> u64 {
    match event {
        KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. }
        | KernelEvent::Orphan(ExecEvent::Stream { data, .. }) => data.len() as u64,
        _ => 0,
    }
}
