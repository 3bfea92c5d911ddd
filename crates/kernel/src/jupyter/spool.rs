//! Bytes that wait for their reader: in memory up to a bound, then in a file.
//!
//! Owns the queue between the drain of a socket and the reporter of events. The drain must never
//! wait long, because a kernel drops output that is not taken in time. The reporter may have to
//! wait. This module must not know the meaning of the bytes.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

/// Number of bytes read back from the file at once.
const READ_BYTES: u64 = 1 << 20;

/// Bounds for waiting bytes, in memory and in the file.
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
    /// Folder for the file, if one is needed.
    folder: PathBuf,
    waiting: Mutex<Waiting>,
    roomy: Notify,
}

#[derive(Default)]
struct Waiting {
    memory: VecDeque<Bytes>,
    memory_bytes: usize,
    /// Bytes that came after those in memory.
    file: Option<Overflow>,
    /// Bytes that came last and found no room.
    late: Vec<u8>,
    is_closed: bool,
    /// Task that waits for more bytes.
    reader: Option<Waker>,
}

struct Overflow {
    file: File,
    read_at: u64,
    write_at: u64,
}

/// Says if the bytes found room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    AtOnce,
    /// The bytes are kept, and no more fit until others have left. The kernel may drop output
    /// meanwhile.
    Late,
}

/// Exclusive access to a spool. Holding it while the source is read keeps the bytes in order.
pub(crate) struct SpoolGuard<'a> {
    spool: &'a Spool,
    waiting: MutexGuard<'a, Waiting>,
}

impl Spool {
    pub(crate) fn new(folder: &Path, bounds: Bounds) -> Spool {
        let folder = folder.to_owned();
        Spool { bounds, folder, waiting: Mutex::default(), roomy: Notify::new() }
    }

    pub(crate) fn hold(&self) -> SpoolGuard<'_> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        SpoolGuard { spool: self, waiting }
    }

    /// Waits until more bytes may be added.
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
            // The file has no name from here on, so nothing of it can be left behind.
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

impl SpoolGuard<'_> {
    /// Returns `true` if more bytes may be added.
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

    /// Adds bytes. Bytes without room are kept too, and are the last for now.
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
        // A block larger than the bound is accepted when the memory is empty.
        if waiting.file.is_none() && (fits || waiting.memory.is_empty()) {
            waiting.memory_bytes += bytes.len();
            waiting.memory.push_back(Bytes::copy_from_slice(bytes));
            return true;
        }
        self.spool.spill(waiting, bytes).is_ok()
    }

    /// Marks the end: no more bytes will come.
    pub(crate) fn close(&mut self) {
        self.waiting.is_closed = true;
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(reader) = self.waiting.reader.take() {
            reader.wake();
        }
    }

    /// Wakes this task when more bytes are added.
    pub(crate) fn wake_by(&mut self, context: &Context<'_>) {
        match &mut self.waiting.reader {
            Some(reader) => reader.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
    }

    /// Takes the oldest waiting bytes, or returns `None` if none wait now.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let waiting = &mut *self.waiting;
        if let Some(bytes) = waiting.memory.pop_front() {
            waiting.memory_bytes -= bytes.len();
            return Some(bytes);
        }
        // Free the queue, so that a kernel that is quiet now costs no memory.
        waiting.memory = VecDeque::new();
        let read = waiting.file.as_mut().and_then(|overflow| overflow.take().ok());
        // Drop a file that was read to its end, or cannot be read.
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

    /// Trap 1: up to a bound, the drain does not wait for the reader; beyond it nothing is lost
    /// either.
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
        // Read nothing before the spool is full.
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

    /// Bytes that cannot be stored in a file are kept all the same.
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
        /// For any sequence of pushes and pops, bytes leave in the order in which they came.
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
