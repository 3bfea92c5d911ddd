//! Messages that wait to be looked at, whole and in order, on a spool that knows only bytes.
//!
//! Owns where one message ends and the next begins. Whoever drains a websocket adds pieces of them and does not
//! wait, up to a bound that harms no machine; of a large message only one copy is ever in memory.

use std::future::poll_fn;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::gateway::websocket::Kind;
use crate::gateway::wire::Frame;
use crate::jupyter::spool::{Bounds, Spool};

/// A piece begins with what it is and its size.
const HEAD_BYTES: usize = 9;
const MORE: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;

pub(crate) struct Queue {
    spool: Spool,
    begun: Mutex<Begun>,
}

/// A message of which a part has been taken from the spool.
#[derive(Default)]
struct Begun {
    head: Option<(u8, usize)>,
    /// What there is of a piece that came in parts.
    piece: BytesMut,
    /// What there is of a message that came in pieces.
    message: BytesMut,
    /// What was taken and not looked at.
    rest: Bytes,
}

impl Queue {
    pub(crate) fn new(folder: &Path) -> Queue {
        Queue::bounded(folder, Bounds::USUAL)
    }

    fn bounded(folder: &Path, bounds: Bounds) -> Queue {
        Queue { spool: Spool::new(folder, bounds), begun: Mutex::default() }
    }

    /// Adds the next piece of a message, when there is room for it; with its kind, the last one.
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

    /// No more will come.
    pub(crate) fn close(&self) {
        self.spool.hold().close();
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message; none when no more will come. Cancel-safe: what has been taken of one stays.
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

impl Begun {
    /// A message, once it is whole.
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
                // A buffer that was split would keep the memory of the largest message for ever.
                std::mem::take(&mut self.message).freeze()
            };
            return Some(if what == TEXT { Frame::Text(data) } else { Frame::Binary(data) });
        }
    }

    /// So many bytes, once they are there. What came in one piece is not copied.
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
        /// Whether they wait in memory or in a file, and however they were cut, messages come whole and in
        /// order.
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

    /// F-035: what finds no room waits for it, and nothing is lost, also of a message that is larger than the
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
