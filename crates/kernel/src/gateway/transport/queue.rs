//! Messages that wait for the reader, whole and in order, on a spool that knows only bytes.
//!
//! Owns the boundaries between messages. The task that drains a websocket adds pieces without
//! waiting, up to a bound that no machine suffers from. Of a large message only one copy is ever in
//! memory.

use std::future::poll_fn;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::gateway::transport::websocket::Kind;
use crate::gateway::transport::wire::Frame;
use crate::jupyter::spool::{Bounds, Spool};

/// Bytes in front of each piece: its kind and its size.
const HEAD_BYTES: usize = 9;
const MORE: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;

pub(crate) struct Queue {
    spool: Spool,
    begun: Mutex<PartialMessage>,
}

/// A message of which a part has been taken from the spool.
#[derive(Default)]
struct PartialMessage {
    head: Option<(u8, usize)>,
    /// The received bytes of an incomplete piece.
    piece: BytesMut,
    /// The received pieces of an incomplete message.
    message: BytesMut,
    /// Bytes taken from the spool and not read yet.
    rest: Bytes,
}

impl Queue {
    pub(crate) fn new(folder: &Path) -> Queue {
        Queue::bounded(folder, Bounds::USUAL)
    }

    fn bounded(folder: &Path, bounds: Bounds) -> Queue {
        Queue { spool: Spool::new(folder, bounds), begun: Mutex::default() }
    }

    /// Adds the next piece of a message, once there is room. `ends` is the kind of message for its
    /// last piece.
    pub(crate) async fn push(&self, data: &[u8], ends: Option<Kind>) {
        let what = match ends {
            None => MORE,
            Some(Kind::Text) => TEXT,
            Some(Kind::Binary) => BINARY,
        };
        self.spool.room().await;
        let mut bytes = Vec::with_capacity(data.len() + HEAD_BYTES);
        bytes.push(what);
        bytes.extend_from_slice(&(data.len() as u64).to_le_bytes());
        bytes.extend_from_slice(data);
        self.spool.hold().push(&bytes);
    }

    /// Marks the end: no more messages will come.
    pub(crate) fn close(&self) {
        self.spool.hold().close();
    }

    fn begun(&self) -> MutexGuard<'_, PartialMessage> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next message, or `None` after the last one. Cancel-safe: bytes already taken
    /// stay.
    pub(crate) async fn next(&self) -> Option<Frame> {
        loop {
            let frame = self.begun().take();
            if frame.is_some() {
                return frame;
            }
            let more = poll_fn(|context| {
                let mut held = self.spool.hold();
                match held.pop() {
                    Some(bytes) => Poll::Ready(Some(bytes)),
                    None if held.is_closed() => Poll::Ready(None),
                    None => {
                        held.wake_by(context);
                        Poll::Pending
                    }
                }
            });
            let more = more.await?;
            self.begun().rest = more;
        }
    }
}

impl PartialMessage {
    /// Returns the next message if it is complete.
    fn take(&mut self) -> Option<Frame> {
        loop {
            let (what, size) = match self.head {
                Some(head) => head,
                None => {
                    let head = self.part(HEAD_BYTES)?;
                    let size = u64::from_le_bytes(head[1..].try_into().ok()?);
                    *self.head.insert((head[0], usize::try_from(size).ok()?))
                }
            };
            let data = self.part(size)?;
            self.head = None;
            if what == MORE {
                self.message.extend_from_slice(&data);
                continue;
            }
            let data = if self.message.is_empty() {
                data
            } else {
                self.message.extend_from_slice(&data);
                // Take the buffer: one that is split would keep the memory of the largest message
                // for ever.
                std::mem::take(&mut self.message).freeze()
            };
            return Some(if what == TEXT { Frame::Text(data) } else { Frame::Binary(data) });
        }
    }

    /// Returns `size` bytes once they are there. A piece that came whole is not copied.
    fn part(&mut self, size: usize) -> Option<Bytes> {
        if self.piece.is_empty() && self.rest.len() >= size {
            return Some(self.rest.split_to(size));
        }
        let missing = size - self.piece.len();
        let more = missing.min(self.rest.len());
        self.piece.extend_from_slice(&self.rest[..more]);
        self.rest.advance(more);
        (self.piece.len() == size).then(|| std::mem::take(&mut self.piece).freeze())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: Kind, data: &[u8]) -> Frame {
        let data = Bytes::from(data.to_vec());
        if kind == Kind::Text { Frame::Text(data) } else { Frame::Binary(data) }
    }

    fn bounds(memory_bytes: usize, file_bytes: u64) -> Bounds {
        Bounds { memory_bytes, file_bytes }
    }

    proptest! {
        /// Messages come out whole and in order, from memory or from a file, however they were cut.
        #[test]
        fn messages_come_as_they_went(
            all in prop::collection::vec(
                (any::<bool>(), prop::collection::vec(any::<u8>(), 0..300), 1usize..200), 0..60),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let queue = Queue::bounded(folder.path(), bounds(500, 1 << 20));
                let kind = |is_text: bool| if is_text { Kind::Text } else { Kind::Binary };
                for (is_text, data, cut) in &all {
                    let mut pieces = data.chunks(*cut).peekable();
                    while let Some(piece) = pieces.next() {
                        let ends = pieces.peek().is_none().then(|| kind(*is_text));
                        queue.push(piece, ends).await;
                    }
                    if data.is_empty() {
                        queue.push(b"", Some(kind(*is_text))).await;
                    }
                }
                queue.close();
                for (is_text, data, _) in &all {
                    assert_eq!(queue.next().await, Some(frame(kind(*is_text), data)));
                }
                assert_eq!(queue.next().await, None);
            });
        }
    }

    /// F-035: a piece without room waits for it. Nothing is lost, even of a message larger than the
    /// room.
    #[tokio::test]
    async fn a_full_queue_holds_up_whoever_fills_it() {
        let folder = tempfile::tempdir().unwrap();
        let queue = Queue::bounded(folder.path(), bounds(1000, 4000));
        let fill = async {
            for number in 0..50 {
                queue.push(&[number; 500], Some(Kind::Binary)).await;
            }
            for _ in 0..100 {
                queue.push(&[7; 500], None).await;
            }
            queue.push(b"", Some(Kind::Text)).await;
            queue.close();
        };
        let empty = async {
            for number in 0..50 {
                assert_eq!(queue.next().await, Some(frame(Kind::Binary, &[number; 500])));
            }
            assert_eq!(queue.next().await, Some(frame(Kind::Text, &[7; 50_000])));
            assert_eq!(queue.next().await, None);
        };
        tokio::join!(fill, empty);
    }
}
