//! Requests of one client that come by several connections, put into the order in which they were sent.
//!
//! Owns that order. A client that sends requests together sends each by a connection of its own, and they arrive in
//! any order. The ids of requests give the order if the client counts them up, as the official libraries do. A
//! client whose ids have no order loses a moment, a few times.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How long a request waits for missing requests with lower ids.
const PATIENCE: Duration = Duration::from_secs(1);

/// The number of waits in vain after which ids are ignored, until a missing request arrives.
const MOST_MISSES: u32 = 3;

/// The most clients that are remembered.
const MOST_CLIENTS: usize = 1024;

/// The requests of all clients. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Arrivals(Arc<Mutex<HashMap<String, Arc<Client>>>>);

/// The requests of one client.
#[derive(Default)]
struct Client {
    known: Mutex<ArrivalOrder>,
    /// Notified whenever something may have changed for a waiting request.
    moved: Notify,
}

#[derive(Default)]
struct ArrivalOrder {
    /// One more than the highest id that had its turn; none before the first.
    next: Option<i64>,
    waiting: BTreeSet<i64>,
    misses: u32,
}

/// A waiting request; dropping it ends the wait.
struct Waiting<'a> {
    client: &'a Client,
    id: i64,
}

impl Arrivals {
    /// Calls `begin` when the requests with lower ids of this client have had their turn.
    pub(super) async fn in_order<T>(&self, client: &str, id: i64, begin: impl FnOnce() -> T) -> T {
        let client = self.client(client);
        let _waiting = Waiting::new(&client, id);
        let mut due = tokio::time::Instant::now() + PATIENCE;
        loop {
            // Register before the check, so that no change after the check is missed.
            let moved = client.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            {
                let mut known = client.known();
                if known.has_turn(id) {
                    // Call it while the lock is held, so that no other request comes between.
                    let begun = begin();
                    known.begun(id);
                    return begun;
                }
            }
            if tokio::time::timeout_at(due, moved).await.is_err() {
                client.known().pass_over();
                client.moved.notify_waiters();
                due = tokio::time::Instant::now() + PATIENCE;
            }
        }
    }

    fn client(&self, name: &str) -> Arc<Client> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MOST_CLIENTS && !clients.contains_key(name) {
            clients.retain(|_, client| Arc::strong_count(client) > 1);
        }
        Arc::clone(clients.entry(name.to_owned()).or_default())
    }
}

impl Client {
    fn known(&self) -> MutexGuard<'_, ArrivalOrder> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Waiting<'a> {
    fn new(client: &'a Client, id: i64) -> Waiting<'a> {
        client.known().waiting.insert(id);
        Waiting { client, id }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.client.known().waiting.remove(&self.id);
        self.client.moved.notify_waiters();
    }
}

impl ArrivalOrder {
    fn has_turn(&self, id: i64) -> bool {
        let is_next = self.next.is_none_or(|next| id <= next);
        is_next || (self.misses >= MOST_MISSES && self.waiting.first() == Some(&id))
    }

    fn begun(&mut self, id: i64) {
        if self.next == Some(id) && self.waiting.len() > 1 {
            // The wait was of use: the missing request came.
            self.misses = 0;
        }
        let next = id.saturating_add(1);
        self.next = Some(self.next.map_or(next, |now| now.max(next)));
    }

    /// Gives up on the missing requests.
    fn pass_over(&mut self) {
        if let Some(first) = self.waiting.first()
            && self.next.is_some_and(|next| next < *first)
        {
            self.next = Some(*first);
            self.misses += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    /// The order in which requests with these ids begin, given the order of their arrival.
    async fn order(arrivals: &Arrivals, ids: &[i64]) -> Vec<i64> {
        let begun = Mutex::new(Vec::new());
        let requests = ids.iter().map(|id| {
            let begun = &begun;
            async move { arrivals.in_order("one", *id, || begun.lock().unwrap().push(*id)).await }
        });
        join_all(requests).await;
        begun.into_inner().unwrap()
    }

    /// Issue 21, 1: ids that are counted up give the order, in whatever order the requests come.
    #[tokio::test(start_paused = true)]
    async fn requests_begin_in_the_order_of_their_ids() {
        let arrivals = Arrivals::default();
        let start = tokio::time::Instant::now();
        assert_eq!(order(&arrivals, &[0]).await, [0]);
        assert_eq!(order(&arrivals, &[3, 1, 2, 5, 4]).await, [1, 2, 3, 4, 5]);
        // A request that comes late, or twice, does not wait.
        assert_eq!(order(&arrivals, &[2, 6]).await, [2, 6]);
        // Another client counts for itself.
        arrivals.in_order("other", 50, || ()).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    /// A missing request delays the later ones once, and they keep their order.
    #[tokio::test(start_paused = true)]
    async fn requests_that_never_come_are_passed_over() {
        let arrivals = Arrivals::default();
        assert_eq!(order(&arrivals, &[1]).await, [1]);
        let start = tokio::time::Instant::now();
        assert_eq!(order(&arrivals, &[7, 4, 5, 3]).await, [3, 4, 5, 7]);
        assert_eq!(start.elapsed(), PATIENCE * 2, "for 2, then for 6");
        assert_eq!(order(&arrivals, &[9, 8]).await, [8, 9]);
        assert_eq!(start.elapsed(), PATIENCE * 2);
    }

    /// A client that does not count its ids loses only a few moments.
    #[tokio::test(start_paused = true)]
    async fn ids_that_mean_nothing_are_not_waited_for() {
        let arrivals = Arrivals::default();
        let start = tokio::time::Instant::now();
        for number in 0..1000 {
            order(&arrivals, &[number * number * 17]).await;
        }
        assert!(start.elapsed() <= PATIENCE * (MOST_MISSES + 1), "{:?}", start.elapsed());
    }

    /// A request that is given up while it waits holds up no other.
    #[tokio::test(start_paused = true)]
    async fn one_that_is_given_up_is_passed_over() {
        let arrivals = Arrivals::default();
        assert_eq!(order(&arrivals, &[1]).await, [1]);
        {
            let given_up = arrivals.in_order("one", 3, || ());
            assert!(tokio::time::timeout(PATIENCE / 2, given_up).await.is_err());
        }
        assert_eq!(order(&arrivals, &[4, 2]).await, [2, 4]);
    }
}
