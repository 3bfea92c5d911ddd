//! Places for connections: who gets one, and who makes room.
//!
//! Owns the order among those who have not shown yet that they may come in. Whoever has keeps its place; of the others the
//! oldest makes room for who comes next, so that any number that says nothing keeps out nobody who has a token.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a newcomer has before it must make room: whoever has a token sends it at once, and a busy machine is slow.
const GRACE: Duration = Duration::from_millis(250);

/// How long a newcomer may stay where there is room.
const NEWCOMER_TIME: Duration = Duration::from_secs(5);

/// Places for so many connections. Clones are the same places.
#[derive(Clone)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    newcomers: Arc<Mutex<Newcomers>>,
}

/// Those who have shown no token yet, the oldest first.
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

/// A place that nobody has taken yet.
pub(crate) struct FreePlace {
    places: Places,
    permit: OwnedSemaphorePermit,
}

/// The place of a connection; free again when it is dropped.
pub(crate) struct Place {
    pass: Pass,
    since: Instant,
    dismissed: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

/// What shows that the client of a connection may come in.
#[derive(Clone)]
pub(crate) struct Pass {
    newcomers: Arc<Mutex<Newcomers>>,
    number: u64,
}

impl Places {
    pub(crate) fn new(count: usize) -> Places {
        Places { free: Arc::new(Semaphore::new(count)), newcomers: Arc::default() }
    }

    /// A place for the next connection. Where none is free, the oldest newcomer loses its own; where there are no
    /// newcomers, this waits. It is asked for before the connection is taken, so that those who wait do so in the system's
    /// queue.
    pub(crate) async fn free(&self) -> Option<FreePlace> {
        let taken = || Arc::clone(&self.free).acquire_owned();
        loop {
            tokio::select! {
                biased;
                permit = taken() => return permit.ok().map(|permit| self.of(permit)),
                () = self.oldest_is_due() => {}
            }
            if locked(&self.newcomers).dismiss_oldest() {
                // Its place is free in a moment, and nobody else need go.
                return taken().await.ok().map(|permit| self.of(permit));
            }
        }
    }

    fn of(&self, permit: OwnedSemaphorePermit) -> FreePlace {
        FreePlace { places: self.clone(), permit }
    }

    /// Returns when somebody could make room; never where nobody is new.
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
    /// For whoever finds out that the client may come in.
    pub(crate) fn pass(&self) -> Pass {
        self.pass.clone()
    }

    /// Returns when the connection is to end: its client has shown nothing for too long, or somebody else needs the place.
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
        self.pass.shown();
    }
}

impl Pass {
    /// The client may come in, and keeps its place.
    pub(crate) fn shown(&self) {
        locked(&self.newcomers).forget(self.number);
    }
}

impl Newcomers {
    /// No newcomer any more; whether it was one.
    fn forget(&mut self, number: u64) -> bool {
        let at = self.waiting.iter().position(|newcomer| newcomer.number == number);
        at.and_then(|at| self.waiting.remove(at)).is_some()
    }

    /// Sends the oldest away if it has been there for long enough; whether that was so.
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
