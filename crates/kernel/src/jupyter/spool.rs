//! Bytes that wait to be looked at: in memory up to a bound, then in a file.
//!
//! Owns the queue between whoever drains a socket, who must never wait long (a kernel drops what is not taken
//! from it in time), and whoever reports events, who may have to. It must not know what the bytes mean.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

/// How much is read back from the file at once.
const READ_BYTES: u64 = 1 << 20;

/// How much waits in memory and in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) memory_bytes: usize,
    pub(crate) file_bytes: u64,
}

impl Bounds {
    /// Enough for a reader that stops for a while, too little to harm the machine.
    pub(crate) const USUAL: Bounds = Bounds { memory_bytes: 8 << 20, file_bytes: 2 << 30 };
}

pub(crate) struct Spool {
    bounds: Bounds,
    /// Where the file is made, should one be needed.
    folder: PathBuf,
    waiting: Mutex<Waiting>,
    roomy: Notify,
}

#[derive(Default)]
struct Waiting {
    memory: VecDeque<Bytes>,
    memory_bytes: usize,
    /// What came after those in memory.
    file: Option<Overflow>,
    /// What came after all these and found no room.
    late: Vec<u8>,
    is_closed: bool,
    /// Whoever waits for more.
    reader: Option<Waker>,
}

struct Overflow {
    file: File,
    read_at: u64,
    write_at: u64,
}

/// Whether bytes found room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    AtOnce,
    /// They are the last until others have left, and their kernel may drop some meanwhile.
    Late,
}

/// A spool that nobody else changes now. Held while its source is read, it keeps the order of what comes.
pub(crate) struct Held<'a> {
    spool: &'a Spool,
    waiting: MutexGuard<'a, Waiting>,
}

impl Spool {
    pub(crate) fn new(folder: &Path, bounds: Bounds) -> Spool {
        let folder = folder.to_owned();
        Spool { bounds, folder, waiting: Mutex::default(), roomy: Notify::new() }
    }

    pub(crate) fn hold(&self) -> Held<'_> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        Held { spool: self, waiting }
    }

    /// Waits until more may be added.
    pub(crate) async fn room(&self) {
        while !self.hold().has_room() {
            self.roomy.notified().await;
        }
    }

    fn spill(&self, waiting: &mut Waiting, bytes: &[u8]) -> io::Result<()> {
        if waiting.file.is_none() {
            let path = self.folder.join("output");
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            // It has no name any more, so nothing of it can be left.
            std::fs::remove_file(&path)?;
            waiting.file = Some(Overflow { file, read_at: 0, write_at: 0 });
        }
        let Some(overflow) = &mut waiting.file else { return Ok(()) };
        let size = bytes.len() as u64;
        if overflow.write_at > 0 && overflow.write_at + size > self.bounds.file_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        overflow.file.write_all_at(bytes, overflow.write_at)?;
        overflow.write_at += size;
        Ok(())
    }
}

impl Held<'_> {
    /// Whether more may be added.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.late.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let waiting = &self.waiting;
        waiting.memory.is_empty() && waiting.file.is_none() && waiting.late.is_empty()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.waiting.is_closed
    }

    /// Adds bytes. They are there already, so what finds no room is kept too, and is the last for now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Room {
        let room = if self.has_room() && self.add(bytes) {
            Room::AtOnce
        } else {
            self.waiting.late.extend_from_slice(bytes);
            Room::Late
        };
        self.wake();
        room
    }

    fn add(&mut self, bytes: &[u8]) -> bool {
        let waiting = &mut *self.waiting;
        let fits = waiting.memory_bytes + bytes.len() <= self.spool.bounds.memory_bytes;
        // What is larger than the bound is taken when nothing else waits.
        if waiting.file.is_none() && (fits || waiting.memory.is_empty()) {
            waiting.memory_bytes += bytes.len();
            waiting.memory.push_back(Bytes::copy_from_slice(bytes));
            return true;
        }
        self.spool.spill(waiting, bytes).is_ok()
    }

    /// No more will come.
    pub(crate) fn close(&mut self) {
        self.waiting.is_closed = true;
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(reader) = self.waiting.reader.take() {
            reader.wake();
        }
    }

    /// Has this task woken when more is added.
    pub(crate) fn wake_by(&mut self, context: &Context<'_>) {
        match &mut self.waiting.reader {
            Some(reader) => reader.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
    }

    /// What came first of that which waits; none where nothing waits now.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let waiting = &mut *self.waiting;
        if let Some(bytes) = waiting.memory.pop_front() {
            waiting.memory_bytes -= bytes.len();
            return Some(bytes);
        }
        // The queue of a kernel that says little now is as small as if it had never said much.
        waiting.memory = VecDeque::new();
        let read = waiting.file.as_mut().and_then(|overflow| overflow.take().ok());
        // A file that was read to its end, or cannot be read, is done with.
        if read.is_none() || waiting.file.as_ref().is_some_and(Overflow::is_empty) {
            waiting.file = None;
        }
        if read.is_some() {
            return read;
        }
        let late = std::mem::take(&mut waiting.late);
        if late.is_empty() {
            return None;
        }
        self.spool.roomy.notify_one();
        Some(Bytes::from(late))
    }
}

impl Overflow {
    fn is_empty(&self) -> bool {
        self.read_at == self.write_at
    }

    fn take(&mut self) -> io::Result<Bytes> {
        let size = (self.write_at - self.read_at).min(READ_BYTES);
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, self.read_at)?;
        self.read_at += size;
        Ok(Bytes::from(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::task::Poll;

    use proptest::prelude::*;

    use super::*;

    fn numbered(numbers: std::ops::Range<u32>) -> Vec<u8> {
        numbers.flat_map(u32::to_le_bytes).collect()
    }

    async fn next(spool: &Spool) -> Option<Bytes> {
        poll_fn(|context| {
            let mut held = spool.hold();
            match held.pop() {
                None if held.is_closed() => Poll::Ready(None),
                None => {
                    held.wake_by(context);
                    Poll::Pending
                }
                some => Poll::Ready(some),
            }
        })
        .await
    }

    /// Trap 1: whoever drains does not wait for whoever reads, up to a bound; then nothing is lost either.
    #[tokio::test]
    async fn what_finds_no_room_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = Bounds { memory_bytes: 1000, file_bytes: 5000 };
        let spool = Arc::new(Spool::new(folder.path(), bounds));
        let into = Arc::clone(&spool);
        let drained = tokio::spawn(async move {
            let mut late = 0;
            for n in 0..100 {
                into.room().await;
                let room = into.hold().push(&numbered(n * 25..n * 25 + 25));
                late += u32::from(room == Room::Late);
            }
            into.hold().close();
            late
        });
        // Nobody reads before it is full.
        while spool.hold().has_room() {
            tokio::task::yield_now().await;
        }
        let mut read = Vec::new();
        while let Some(bytes) = next(&spool).await {
            assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "no file is left");
            read.extend_from_slice(&bytes);
        }
        assert!(read == numbered(0..2500), "{} bytes", read.len());
        assert!(drained.await.unwrap() > 0);
    }

    /// One that cannot be kept in a file is kept all the same.
    #[test]
    fn what_has_no_folder_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = Bounds { memory_bytes: 10, file_bytes: 10 };
        let spool = Spool::new(&folder.path().join("absent"), bounds);
        assert_eq!(spool.hold().push(&[0; 1000]), Room::AtOnce, "a giant is there already");
        assert_eq!(spool.hold().push(&[1; 1000]), Room::Late);
        assert_eq!(spool.hold().push(&[2]), Room::Late, "also from who did not look for room");
        assert_eq!(spool.hold().pop().unwrap()[0], 0);
        assert!(!spool.hold().has_room(), "what came before it has left, itself it has not");
        assert_eq!(spool.hold().pop().unwrap().len(), 1001);
        assert!(spool.hold().has_room());
        assert!(spool.hold().is_empty());
        assert_eq!(spool.hold().pop(), None);
    }

    proptest! {
        /// However they come and go, bytes leave in the order in which they came.
        #[test]
        fn order_is_kept(steps in prop::collection::vec((any::<bool>(), 0u32..80), 0..200)) {
            let folder = tempfile::tempdir().unwrap();
            let spool = Spool::new(folder.path(), Bounds { memory_bytes: 1000, file_bytes: 2000 });
            let (mut next, mut read) = (0, Vec::new());
            for (is_push, size) in steps {
                let mut held = spool.hold();
                if is_push && held.has_room() {
                    held.push(&numbered(next..next + size));
                    next += size;
                } else if let Some(bytes) = held.pop() {
                    read.extend_from_slice(&bytes);
                }
            }
            while let Some(bytes) = spool.hold().pop() {
                read.extend_from_slice(&bytes);
            }
            prop_assert!(read == numbered(0..next));
        }
    }
}
