//! The futures that a session's loop waits for; each stays pending while there is nothing to wait
//! for.
//!
//! Owns the clock of the loop. Every future here can be dropped and created again without losing
//! anything.

use std::time::Instant;

use futures_util::future::BoxFuture;
use inkcell_kernel::{Kernel, KernelEvent, KernelEvents};

use super::outbox::Outbox;

/// The clock of the timers: a test that pauses the timers also pauses decisions.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

pub(super) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

pub(super) async fn next_event(
    kernel: Option<&mut (Box<dyn Kernel>, KernelEvents)>,
) -> Option<KernelEvent> {
    match kernel {
        Some((_, events)) => events.next().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn last_event(events: Option<&mut KernelEvents>) -> Option<KernelEvent> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn pending_or<T>(future: Option<&mut BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

pub(super) async fn room(outbox: Option<&mut Outbox>) {
    match outbox {
        Some(outbox) => outbox.room().await,
        None => std::future::pending().await,
    }
}
