//! The number of requests that one gateway gets from us at once, and which of them wait for each
//! other.
//!
//! Owns the lanes. The caller of a request names its lane: an interrupt must not wait behind a
//! hundred starts, nor behind ends and files, which take their time.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Requests that may run in one lane at the same time.
pub(crate) const AT_ONCE: usize = 8;

/// The purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// Starts a kernel: list of kernelspecs, new kernel, its websocket.
    Begin,
    /// Interrupts a running kernel or asks for it.
    Control,
    /// Ends a running kernel.
    End,
    /// Reads or writes files of a server.
    Files,
}

/// The free places in every lane.
pub(crate) struct Lanes([Semaphore; 4]);

impl Lanes {
    pub(crate) fn new() -> Lanes {
        Lanes(std::array::from_fn(|_| Semaphore::new(AT_ONCE)))
    }

    /// Waits for a free place. The place stays taken until the caller drops the result.
    pub(crate) async fn room(&self, lane: Lane) -> Option<SemaphorePermit<'_>> {
        let [begin, control, end, files] = &self.0;
        let lane = match lane {
            Lane::Begin => begin,
            Lane::Control => control,
            Lane::End => end,
            Lane::Files => files,
        };
        // No semaphore is ever closed.
        lane.acquire().await.ok()
    }
}
