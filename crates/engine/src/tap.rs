//! Whoever made a call and takes everything it says, as it comes.
//!
//! Owns how long such a caller is waited for. One without room holds the code up, as a full pipe would, so
//! nothing is lost; it does not hold up the end of the code's time. Whoever only watches is served by the
//! journal and holds up nobody.

use inkcell_kernel::KernelEvent;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::session::{STUCK, written_bytes};

/// What a caller gets: which of its cells, and what happened. What a kernel says at its end has the number
/// of the last cell.
pub type Tapped = (usize, KernelEvent);

pub(crate) struct Tap {
    sender: mpsc::Sender<Tapped>,
    state: TapState,
    undelivered_bytes: u64,
}

/// Whether a caller still takes what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TapState {
    Open,
    /// It went away.
    Gone,
    /// It did not take anything for too long.
    Stuck,
}

impl Tap {
    pub(crate) fn new(sender: mpsc::Sender<Tapped>) -> Tap {
        Tap { sender, state: TapState::Open, undelivered_bytes: 0 }
    }

    pub(crate) fn state(&self) -> TapState {
        self.state
    }

    pub(crate) fn undelivered_bytes(&self) -> u64 {
        self.undelivered_bytes
    }

    /// Hands an event over. Waits for room until `given_up` returns. Dropped before, nothing was handed over.
    pub(crate) async fn pour(&mut self, event: Tapped, given_up: impl Future<Output = ()>) {
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

/// Returns when a caller takes nothing any more; never when there is none.
pub(crate) async fn gone(tap: Option<&Tap>) {
    match tap {
        Some(tap) => tap.sender.closed().await,
        None => std::future::pending().await,
    }
}

/// Returns a while after this instant; never when there is none.
pub(crate) async fn a_while_after(instant: Option<Instant>) {
    match instant.and_then(|instant| instant.checked_add(STUCK)) {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
