//! How many requests one gateway gets from us at once, and which of them wait for each other.
//!
//! Owns the lanes. Which one a request is in is said by whoever makes it: what interrupts a kernel must not wait
//! behind a hundred that start, nor behind ends and files that take their time.

use tokio::sync::{Semaphore, SemaphorePermit};

/// How many requests of one lane there are at once.
pub(crate) const AT_ONCE: usize = 8;

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// A kernel is to begin: which ones there are, a new one, its websocket.
    Begin,
    /// A kernel that runs is interrupted or looked for.
    Control,
    /// A kernel is to end.
    End,
    /// The files of a server.
    Files,
}

/// The room in every lane.
pub(crate) struct Lanes([Semaphore; 4]);

impl Lanes {
    pub(crate) fn new() -> Lanes {
        Lanes(std::array::from_fn(|_| Semaphore::new(AT_ONCE)))
    }

    /// Waits until a request may be made; it may as long as the answer is kept.
    pub(crate) async fn room(&self, lane: Lane) -> Option<SemaphorePermit<'_>> {
        let [begin, control, end, files] = &self.0;
        let lane = match lane {
            Lane::Begin => begin,
            Lane::Control => control,
            Lane::End => end,
            Lane::Files => files,
        };
        // None is ever closed.
        lane.acquire().await.ok()
    }
}
