//! Frames that wait to be looked at, whole and in order, on a spool that knows only bytes.
//!
//! Owns where one frame ends and the next begins. Whoever drains a websocket adds to it and does not wait, up to
//! a bound that harms no machine.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::sync::Notify;

use crate::gateway::wire::Frame;
use crate::zmq::spool::{Bounds, Spool};

/// A frame begins with its kind and its size.
const HEAD_BYTES: usize = 9;
const TEXT: u8 = 0;
const BINARY: u8 = 1;

pub(crate) struct Queue {
    spool: Arc<Spool>,
    /// How many bytes may wait in memory, and in all.
    memory: u64,
    bound: u64,
    waiting: AtomicU64,
    emptied: Notify,
    begun: Mutex<Begun>,
}

/// A frame of which a part has been taken from the spool.
#[derive(Default)]
struct Begun {
    head: Option<(u8, usize)>,
    bytes: BytesMut,
    /// What was taken and not looked at.
    rest: Bytes,
}

impl Queue {
    pub(crate) fn new(folder: &Path) -> Queue {
        Queue::bounded(folder, Bounds::USUAL)
    }

    fn bounded(folder: &Path, bounds: Bounds) -> Queue {
        Queue {
            spool: Arc::new(Spool::new(folder, bounds)),
            memory: bounds.memory_bytes as u64,
            bound: bounds.memory_bytes as u64 + bounds.file_bytes / 2,
            waiting: AtomicU64::new(0),
            emptied: Notify::new(),
            begun: Mutex::default(),
        }
    }

    /// Adds a frame, when there is room for it.
    pub(crate) async fn push(&self, frame: &Frame) {
        let (kind, data) = match frame {
            Frame::Text(data) => (TEXT, data),
            Frame::Binary(data) => (BINARY, data),
        };
        let size = (data.len() + HEAD_BYTES) as u64;
        loop {
            let emptied = self.emptied.notified();
            let waiting = self.waiting.load(Ordering::SeqCst);
            // The spool takes one giant when nothing else waits, and so does this.
            if waiting == 0 || waiting + size <= self.bound {
                break;
            }
            emptied.await;
        }
        let waiting = self.waiting.fetch_add(size, Ordering::SeqCst);
        let mut head = [kind; HEAD_BYTES];
        head[1..].copy_from_slice(&(data.len() as u64).to_le_bytes());
        let (spool, data) = (Arc::clone(&self.spool), data.clone());
        let push = move || {
            spool.push(&head);
            if !data.is_empty() {
                spool.push(&data);
            }
        };
        // A disk that is full holds up a thread, which must not be one that others need.
        if waiting + size > self.memory {
            let _ = tokio::task::spawn_blocking(push).await;
        } else {
            push();
        }
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.spool.close();
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next frame; none when no more will come. Cancel-safe: what has been taken of one stays.
    pub(crate) async fn next(&self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.begun().take() {
                let (Frame::Text(data) | Frame::Binary(data)) = &frame;
                self.waiting.fetch_sub((data.len() + HEAD_BYTES) as u64, Ordering::SeqCst);
                self.emptied.notify_one();
                return Some(frame);
            }
            let more = self.spool.next().await?;
            self.begun().rest = more;
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.spool.give_up();
    }
}

impl Begun {
    /// A frame, once it is whole.
    fn take(&mut self) -> Option<Frame> {
        let (kind, size) = match self.head {
            Some(head) => head,
            None => {
                let head = self.part(HEAD_BYTES)?;
                let size = u64::from_le_bytes(head[1..].try_into().ok()?);
                *self.head.insert((head[0], usize::try_from(size).ok()?))
            }
        };
        let data = self.part(size)?;
        self.head = None;
        Some(if kind == TEXT { Frame::Text(data) } else { Frame::Binary(data) })
    }

    /// So many bytes, once they are there. What came in one piece is not copied.
    fn part(&mut self, size: usize) -> Option<Bytes> {
        if self.bytes.is_empty() && self.rest.len() >= size {
            return Some(self.rest.split_to(size));
        }
        let missing = size - self.bytes.len();
        let more = missing.min(self.rest.len());
        self.bytes.extend_from_slice(&self.rest[..more]);
        self.rest.advance(more);
        (self.bytes.len() == size).then(|| self.bytes.split().freeze())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame((is_text, data): &(bool, Vec<u8>)) -> Frame {
        let data = Bytes::from(data.clone());
        if *is_text { Frame::Text(data) } else { Frame::Binary(data) }
    }

    fn bounds(memory_bytes: usize, file_bytes: u64) -> Bounds {
        Bounds { memory_bytes, file_bytes }
    }

    proptest! {
        /// Whether they wait in memory or in a file, frames come whole and in order.
        #[test]
        fn frames_come_as_they_went(
            all in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..300)), 0..60),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let queue = Queue::bounded(folder.path(), bounds(500, 1 << 20));
                for each in &all {
                    queue.push(&frame(each)).await;
                }
                queue.close();
                for each in &all {
                    assert_eq!(queue.next().await, Some(frame(each)));
                }
                assert_eq!(queue.next().await, None);
            });
        }
    }

    /// F-035: what finds no room waits for it, and nothing is lost.
    #[tokio::test]
    async fn a_full_queue_holds_up_whoever_fills_it() {
        let folder = tempfile::tempdir().unwrap();
        let queue = Queue::bounded(folder.path(), bounds(1000, 4000));
        let one = |number: u8| Frame::Binary(Bytes::from(vec![number; 500]));
        let fill = async {
            for number in 0..50 {
                queue.push(&one(number)).await;
            }
            queue.close();
        };
        let empty = async {
            for number in 0..50 {
                assert_eq!(queue.next().await, Some(one(number)));
            }
            assert_eq!(queue.next().await, None);
        };
        tokio::join!(fill, empty);
    }
}
