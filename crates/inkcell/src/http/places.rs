//! Places for connections: which clients get one, and which make room.
//!
//! Owns the order among clients that have not shown a token yet. A client that has shown one keeps its place. Of
//! the others, the oldest makes room for the next, so silent connections, however many, do not keep out a client
//! with a token.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a newcomer has before it must make room. A client sends its token at once, but a busy machine is slow.
const GRACE: Duration = Duration::from_millis(250);

/// How long a newcomer may stay if there is room.
const NEWCOMER_TIME: Duration = Duration::from_secs(5);

/// Places for a number of connections. Clones share them.
#[derive(Clone)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    newcomers: Arc<Mutex<Newcomers>>,
}

/// The connections that have shown no token yet, the oldest first.
#[derive(Default)]
struct Newcomers {
    waiting: VecDeque<Newcomer>,
    next: u64,
}

struct Newcomer {
    number: u64,
    since: Instant,
    dismissed: CancellationToken,
}

/// A place that no connection has taken yet.
pub(crate) struct FreePlace {
    places: Places,
    permit: OwnedSemaphorePermit,
}

/// The place of a connection. Dropping it frees the place.
pub(crate) struct Place {
    pass: Pass,
    since: Instant,
    dismissed: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

/// Marks the client of a connection as one that may stay.
#[derive(Clone)]
pub(crate) struct Pass {
    newcomers: Arc<Mutex<Newcomers>>,
    number: u64,
}

impl Places {
    pub(crate) fn new(count: usize) -> Places {
        Places { free: Arc::new(Semaphore::new(count)), newcomers: Arc::default() }
    }

    /// A place for the next connection. If none is free, the oldest newcomer loses its place; if there are no
    /// newcomers, this waits. Ask for it before you accept the connection, so that clients wait in the system's queue.
    pub(crate) async fn free(&self) -> Option<FreePlace> {
        let taken = || Arc::clone(&self.free).acquire_owned();
        loop {
            tokio::select! {
                biased;
                permit = taken() => return permit.ok().map(|permit| self.of(permit)),
                () = self.oldest_is_due() => {}
            }
            if locked(&self.newcomers).dismiss_oldest() {
                // A newcomer frees its place in a moment, so no other has to go.
                return taken().await.ok().map(|permit| self.of(permit));
            }
        }
    }

    fn of(&self, permit: OwnedSemaphorePermit) -> FreePlace {
        FreePlace { places: self.clone(), permit }
    }

    /// Returns when the oldest newcomer may be sent away; never if there is none.
    async fn oldest_is_due(&self) {
        let since = locked(&self.newcomers).waiting.front().map(|newcomer| newcomer.since);
        match since {
            Some(since) => tokio::time::sleep_until(since + GRACE).await,
            None => std::future::pending().await,
        }
    }
}

impl FreePlace {
    /// The place of a connection that has just come.
    pub(crate) fn taken(self) -> Place {
        let FreePlace { places, permit } = self;
        let (since, dismissed) = (Instant::now(), CancellationToken::new());
        let mut newcomers = locked(&places.newcomers);
        let number = newcomers.next;
        newcomers.next += 1;
        newcomers.waiting.push_back(Newcomer { number, since, dismissed: dismissed.clone() });
        drop(newcomers);
        Place {
            pass: Pass { newcomers: places.newcomers, number },
            since,
            dismissed,
            _permit: permit,
        }
    }
}

impl Place {
    /// The pass for the code that checks the client's token.
    pub(crate) fn pass(&self) -> Pass {
        self.pass.clone()
    }

    /// Returns when the connection must end: its client has shown no token for too long, or another needs the place.
    pub(crate) async fn is_lost(&self) {
        tokio::select! {
            () = self.dismissed.cancelled() => return,
            () = tokio::time::sleep_until(self.since + NEWCOMER_TIME) => {}
        }
        if !locked(&self.pass.newcomers).forget(self.pass.number) {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.pass.admit();
    }
}

impl Pass {
    /// The client may come in, and keeps its place.
    pub(crate) fn admit(&self) {
        locked(&self.newcomers).forget(self.number);
    }
}

impl Newcomers {
    /// Removes a newcomer. Returns whether it was one.
    fn forget(&mut self, number: u64) -> bool {
        let at = self.waiting.iter().position(|newcomer| newcomer.number == number);
        at.and_then(|at| self.waiting.remove(at)).is_some()
    }

    /// Sends the oldest away if it has been there for long enough. Returns whether it did.
    fn dismiss_oldest(&mut self) -> bool {
        let is_due = |newcomer: &Newcomer| newcomer.since.elapsed() >= GRACE;
        match self.waiting.pop_front() {
            Some(oldest) if is_due(&oldest) => {
                oldest.dismissed.cancel();
                true
            }
            Some(oldest) => {
                self.waiting.push_front(oldest);
                false
            }
            None => false,
        }
    }
}

fn locked(newcomers: &Mutex<Newcomers>) -> MutexGuard<'_, Newcomers> {
    newcomers.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S-018 Issue 21, 30: a client that shows no token has five seconds, and one that has shown a token stays.
    #[tokio::test(start_paused = true)]
    async fn newcomers_have_little_time() {
        let places = Places::new(2);
        let stranger = places.free().await.unwrap().taken();
        let guest = places.free().await.unwrap().taken();
        guest.pass().admit();
        let short = Duration::from_secs(6);
        tokio::time::timeout(short, stranger.is_lost()).await.expect("its time is over");
        assert!(tokio::time::timeout(100 * short, guest.is_lost()).await.is_err());
    }
}
