//! The stream of a call's events to the caller that made it.
//!
//! Owns how long such a caller is waited for. A caller without room blocks the code, as a full pipe would, so
//! nothing is lost; it does not delay the end of the code's time. Watchers read the journal instead and block
//! no code.

use inkcell_kernel::KernelEvent;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::session::{STUCK, written_bytes};

/// An event with the index of the cell that it belongs to. Output of a kernel at its end has the index of the
/// last cell.
pub type TapEvent = (usize, KernelEvent);

pub(crate) struct Tap {
    sender: mpsc::Sender<TapEvent>,
    state: TapState,
    undelivered_bytes: u64,
}

/// Whether a caller still reads events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TapState {
    Open,
    Gone,
    /// The caller did not read for too long.
    Stuck,
}

impl Tap {
    pub(crate) fn new(sender: mpsc::Sender<TapEvent>) -> Tap {
        Tap { sender, state: TapState::Open, undelivered_bytes: 0 }
    }

    pub(crate) fn state(&self) -> TapState {
        self.state
    }

    pub(crate) fn undelivered_bytes(&self) -> u64 {
        self.undelivered_bytes
    }

    /// Hands an event over, and waits for room until `given_up` returns. If dropped before it returns,
    /// nothing was handed over.
    pub(crate) async fn pour(&mut self, event: TapEvent, given_up: impl Future<Output = ()>) {
        let event = match self.sender.try_send(event) {
            Ok(()) => return,
            Err(error) => error.into_inner(),
        };
        if self.state == TapState::Open {
            let permit = tokio::select! {
                permit = self.sender.reserve() => permit.map_err(|_| TapState::Gone),
                () = given_up => Err(TapState::Stuck),
            };
            match permit {
                Ok(permit) => return permit.send(event),
                Err(state) => self.state = state,
            }
        }
        self.undelivered_bytes += written_bytes(&event.1);
    }
}

/// Returns when the caller is gone. Stays pending without a caller.
pub(crate) async fn closed(tap: Option<&Tap>) {
    match tap {
        Some(tap) => tap.sender.closed().await,
        None => std::future::pending().await,
    }
}

/// Returns [`STUCK`] after this instant. Stays pending without an instant.
pub(crate) async fn a_while_after(instant: Option<Instant>) {
    match instant.and_then(|instant| instant.checked_add(STUCK)) {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
