//! A numbered journal of events for watchers: a ring that drops its oldest entries.
//!
//! Owns the numbers and the dropping. A late watcher learns how many entries it missed; it never slows
//! down the writer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The number of an entry; the first is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seq(pub u64);

/// An entry, or a gap where entries were dropped.
#[derive(Clone, PartialEq, Debug)]
pub enum JournalItem<T> {
    /// The next entry, with its number.
    Entry(Seq, T),
    /// The number of entries that were dropped before the watcher read them.
    Gap {
        /// The number of entries that are gone.
        missed: u64,
    },
}

/// A ring of entries. Clones share the journal.
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
    /// The number of the oldest stored entry.
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
    /// Creates a journal of about this many bytes. The newest entry is kept whatever its size.
    pub fn new(capacity_bytes: usize) -> Journal<T> {
        let ring = Ring { entries: VecDeque::new(), first: 0, bytes: 0, is_closed: false };
        let shared = Shared { ring: Mutex::new(ring), changed: Notify::new(), capacity_bytes };
        Journal { shared: Arc::new(shared) }
    }

    /// Adds an entry; `size_bytes` is its approximate size.
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

    /// Ends the journal: watchers end after the stored entries.
    pub fn close(&self) {
        self.shared.ring().is_closed = true;
        self.shared.changed.notify_waiters();
    }

    /// Drops all entries. Later entries get the same numbers as without that.
    pub fn forget(&self) {
        let mut ring = self.shared.ring();
        ring.first += ring.entries.len() as u64;
        // A new queue, so that the memory is freed too.
        (ring.entries, ring.bytes) = (VecDeque::new(), 0);
    }

    /// The approximate size of the stored entries.
    pub fn size_bytes(&self) -> usize {
        self.shared.ring().bytes
    }

    /// The number of the next entry.
    pub fn end(&self) -> Seq {
        let ring = self.shared.ring();
        Seq(ring.first + ring.entries.len() as u64)
    }

    /// Watches from this entry on: first the stored entries, then new ones.
    pub fn watch(&self, from: Seq) -> Watch<T> {
        Watch { shared: Arc::clone(&self.shared), next: from.0 }
    }
}

/// A reader of a journal at its own pace. A slow reader loses old entries and is told how many.
pub struct Watch<T> {
    shared: Arc<Shared<T>>,
    next: u64,
}

impl<T: Clone> Watch<T> {
    /// Waits for the next item. Returns `None` after the last entry of a closed journal. Cancel-safe.
    pub async fn next(&mut self) -> Option<JournalItem<T>> {
        loop {
            let shared = Arc::clone(&self.shared);
            let changed = shared.changed.notified();
            tokio::pin!(changed);
            // Register before looking, so that an entry in between is not missed.
            changed.as_mut().enable();
            match self.peek() {
                Look::Item(item) => return Some(item),
                Look::Closed => return None,
                Look::Nothing => changed.await,
            }
        }
    }

    /// The next item, if there is one already.
    pub fn ready(&mut self) -> Option<JournalItem<T>> {
        match self.peek() {
            Look::Item(item) => Some(item),
            Look::Nothing | Look::Closed => None,
        }
    }

    fn peek(&mut self) -> Look<T> {
        let ring = self.shared.ring();
        if self.next < ring.first {
            let missed = ring.first - self.next;
            self.next = ring.first;
            return Look::Item(JournalItem::Gap { missed });
        }
        let at = usize::try_from(self.next - ring.first).unwrap_or(usize::MAX);
        match ring.entries.get(at) {
            Some((entry, _)) => {
                let seq = Seq(self.next);
                self.next += 1;
                Look::Item(JournalItem::Entry(seq, entry.clone()))
            }
            None if ring.is_closed => Look::Closed,
            None => Look::Nothing,
        }
    }
}

enum Look<T> {
    Item(JournalItem<T>),
    Nothing,
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64, text: &str) -> Option<JournalItem<String>> {
        Some(JournalItem::Entry(Seq(seq), text.to_owned()))
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

    /// F-096: a late watcher learns how many entries it missed, and the writer never waits for it.
    #[tokio::test]
    async fn a_late_watcher_is_told_of_the_gap() {
        let journal = Journal::new(30);
        let mut watch = journal.watch(Seq(0));
        for n in 0..10 {
            assert_eq!(journal.push(n.to_string(), 10), Seq(n));
        }
        assert_eq!(watch.next().await, Some(JournalItem::Gap { missed: 7 }));
        assert_eq!(watch.next().await, entry(7, "7"));
        journal.push("huge".to_owned(), 1000);
        assert_eq!(watch.next().await, Some(JournalItem::Gap { missed: 2 }));
        assert_eq!(watch.next().await, entry(10, "huge"), "the newest is always there");
        assert_eq!(journal.end(), Seq(11));
        journal.push("gone".to_owned(), 10);
        journal.forget();
        assert_eq!((journal.size_bytes(), journal.end()), (0, Seq(12)));
        assert_eq!(watch.next().await, Some(JournalItem::Gap { missed: 1 }));
        journal.push("next".to_owned(), 10);
        assert_eq!(watch.next().await, entry(12, "next"));
    }
}
