//! What happened, numbered, for whoever watches: a ring that forgets its oldest part.
//!
//! Owns the numbers and the forgetting. A watcher that is late is told how much it missed; it never slows
//! down what is watched.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The number of an entry; the first is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seq(pub u64);

/// What a watcher gets.
#[derive(Clone, PartialEq, Debug)]
pub enum Item<T> {
    /// The next thing that happened.
    Entry(Seq, T),
    /// Things that happened and are forgotten.
    Gap {
        /// How many.
        missed: u64,
    },
}

/// A ring of what happened. Clones are the same journal.
pub struct Journal<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Clone for Journal<T> {
    fn clone(&self) -> Journal<T> {
        Journal { shared: Arc::clone(&self.shared) }
    }
}

struct Shared<T> {
    ring: Mutex<Ring<T>>,
    changed: Notify,
    capacity_bytes: usize,
}

struct Ring<T> {
    entries: VecDeque<(T, usize)>,
    /// The number of the first entry that is still there.
    first: u64,
    bytes: usize,
    is_closed: bool,
}

impl<T> Shared<T> {
    fn ring(&self) -> MutexGuard<'_, Ring<T>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Journal<T> {
    /// A journal that keeps about this much; the newest entry is kept whatever its size.
    pub fn new(capacity_bytes: usize) -> Journal<T> {
        let ring = Ring { entries: VecDeque::new(), first: 0, bytes: 0, is_closed: false };
        let shared = Shared { ring: Mutex::new(ring), changed: Notify::new(), capacity_bytes };
        Journal { shared: Arc::new(shared) }
    }

    /// Notes what happened; `size_bytes` is about what it weighs.
    pub fn push(&self, entry: T, size_bytes: usize) -> Seq {
        let seq = {
            let mut ring = self.shared.ring();
            ring.entries.push_back((entry, size_bytes));
            ring.bytes += size_bytes;
            while ring.bytes > self.shared.capacity_bytes && ring.entries.len() > 1 {
                if let Some((_, size)) = ring.entries.pop_front() {
                    ring.bytes -= size;
                    ring.first += 1;
                }
            }
            Seq(ring.first + ring.entries.len() as u64 - 1)
        };
        self.shared.changed.notify_waiters();
        seq
    }

    /// Nothing more will happen; watchers end after what is there.
    pub fn close(&self) {
        self.shared.ring().is_closed = true;
        self.shared.changed.notify_waiters();
    }

    /// Forgets all entries. Later entries get the same numbers as without that.
    pub fn forget(&self) {
        let mut ring = self.shared.ring();
        ring.first += ring.entries.len() as u64;
        // A new queue, so that the memory is freed too.
        (ring.entries, ring.bytes) = (VecDeque::new(), 0);
    }

    /// About what the entries weigh that are still there.
    pub fn size_bytes(&self) -> usize {
        self.shared.ring().bytes
    }

    /// The number the next entry will have.
    pub fn end(&self) -> Seq {
        let ring = self.shared.ring();
        Seq(ring.first + ring.entries.len() as u64)
    }

    /// Watches from this entry on: first what is there, then what comes.
    pub fn watch(&self, from: Seq) -> Watch<T> {
        Watch { shared: Arc::clone(&self.shared), next: from.0 }
    }
}

/// One watcher.
pub struct Watch<T> {
    shared: Arc<Shared<T>>,
    next: u64,
}

impl<T: Clone> Watch<T> {
    /// The next item; none when the journal is closed and all of it was seen. Cancel-safe.
    pub async fn next(&mut self) -> Option<Item<T>> {
        loop {
            let shared = Arc::clone(&self.shared);
            let changed = shared.changed.notified();
            tokio::pin!(changed);
            // Registered before looking, so that nothing that happens in between is slept through.
            changed.as_mut().enable();
            match self.look() {
                Look::Item(item) => return Some(item),
                Look::Closed => return None,
                Look::Nothing => changed.await,
            }
        }
    }

    /// The next item, if it is there already.
    pub fn ready(&mut self) -> Option<Item<T>> {
        match self.look() {
            Look::Item(item) => Some(item),
            Look::Nothing | Look::Closed => None,
        }
    }

    fn look(&mut self) -> Look<T> {
        let ring = self.shared.ring();
        if self.next < ring.first {
            let missed = ring.first - self.next;
            self.next = ring.first;
            return Look::Item(Item::Gap { missed });
        }
        let at = usize::try_from(self.next - ring.first).unwrap_or(usize::MAX);
        match ring.entries.get(at) {
            Some((entry, _)) => {
                let seq = Seq(self.next);
                self.next += 1;
                Look::Item(Item::Entry(seq, entry.clone()))
            }
            None if ring.is_closed => Look::Closed,
            None => Look::Nothing,
        }
    }
}

enum Look<T> {
    Item(Item<T>),
    Nothing,
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64, text: &str) -> Option<Item<String>> {
        Some(Item::Entry(Seq(seq), text.to_owned()))
    }

    #[tokio::test]
    async fn a_watcher_sees_what_was_and_what_comes() {
        let journal = Journal::new(100);
        journal.push("a".to_owned(), 10);
        let mut watch = journal.watch(Seq(0));
        assert_eq!(watch.next().await, entry(0, "a"));
        let later = async {
            tokio::task::yield_now().await;
            journal.push("b".to_owned(), 10);
            journal.close();
        };
        let (seen, ()) = tokio::join!(watch.next(), later);
        assert_eq!(seen, entry(1, "b"));
        assert_eq!(watch.next().await, None);
        assert_eq!(journal.watch(Seq(1)).next().await, entry(1, "b"), "also from the middle");
    }

    /// F-096: a watcher that is late is told what it missed, and nothing waits for it.
    #[tokio::test]
    async fn a_late_watcher_is_told_of_the_gap() {
        let journal = Journal::new(30);
        let mut watch = journal.watch(Seq(0));
        for n in 0..10 {
            assert_eq!(journal.push(n.to_string(), 10), Seq(n));
        }
        assert_eq!(watch.next().await, Some(Item::Gap { missed: 7 }));
        assert_eq!(watch.next().await, entry(7, "7"));
        journal.push("huge".to_owned(), 1000);
        assert_eq!(watch.next().await, Some(Item::Gap { missed: 2 }));
        assert_eq!(watch.next().await, entry(10, "huge"), "the newest is always there");
        assert_eq!(journal.end(), Seq(11));
        journal.push("gone".to_owned(), 10);
        journal.forget();
        assert_eq!((journal.size_bytes(), journal.end()), (0, Seq(12)));
        assert_eq!(watch.next().await, Some(Item::Gap { missed: 1 }));
        journal.push("next".to_owned(), 10);
        assert_eq!(watch.next().await, entry(12, "next"));
    }
}
