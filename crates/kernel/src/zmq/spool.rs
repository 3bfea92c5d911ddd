//! Bytes that wait to be looked at: in memory up to a bound, then in a file.
//!
//! Owns the queue between whoever drains a socket, who must never wait long (a kernel drops what is not taken
//! from it in time), and whoever reports events, who may have to. It must not know what the bytes mean.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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
    filled: Notify,
    emptied: Condvar,
}

#[derive(Default)]
struct Waiting {
    memory: VecDeque<Bytes>,
    memory_bytes: usize,
    /// What came after those in memory.
    file: Option<Overflow>,
    is_closed: bool,
    is_unwanted: bool,
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
    /// They had to wait, and their kernel may have dropped others meanwhile.
    Late,
    /// Nobody wants them any more.
    None,
}

impl Spool {
    pub(crate) fn new(folder: &Path, bounds: Bounds) -> Spool {
        Spool {
            bounds,
            folder: folder.to_owned(),
            waiting: Mutex::default(),
            filled: Notify::new(),
            emptied: Condvar::new(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes, if need be when there is room for them. Blocks the thread only then.
    pub(crate) fn push(&self, bytes: &[u8]) -> Room {
        let mut room = Room::AtOnce;
        let mut waiting = self.waiting();
        while !self.add(&mut waiting, bytes) {
            room = Room::Late;
            if waiting.is_unwanted {
                return Room::None;
            }
            waiting = self.emptied.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        drop(waiting);
        self.filled.notify_one();
        room
    }

    fn add(&self, waiting: &mut Waiting, bytes: &[u8]) -> bool {
        let fits = waiting.memory_bytes + bytes.len() <= self.bounds.memory_bytes;
        // What is larger than the bound is taken when nothing else waits: it is there already.
        if waiting.file.is_none() && (fits || waiting.memory.is_empty()) {
            waiting.memory_bytes += bytes.len();
            waiting.memory.push_back(Bytes::copy_from_slice(bytes));
            return true;
        }
        self.spill(waiting, bytes).is_ok()
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

    /// No more will come.
    pub(crate) fn close(&self) {
        self.waiting().is_closed = true;
        self.filled.notify_one();
    }

    /// No more will be taken.
    pub(crate) fn give_up(&self) {
        self.waiting().is_unwanted = true;
        self.emptied.notify_all();
    }

    /// What came first of that which waits; none where nothing waits now.
    fn pop(&self) -> Option<Bytes> {
        let mut waiting = self.waiting();
        let bytes = match waiting.memory.pop_front() {
            Some(bytes) => {
                waiting.memory_bytes -= bytes.len();
                Some(bytes)
            }
            None => {
                let read = waiting.file.as_mut().and_then(|overflow| overflow.take().ok());
                // A file that was read to its end, or cannot be read, is done with.
                if read.is_none() || waiting.file.as_ref().is_some_and(Overflow::is_empty) {
                    waiting.file = None;
                }
                read
            }
        };
        drop(waiting);
        if bytes.is_some() {
            self.emptied.notify_one();
        }
        bytes
    }

    /// The same, when there is something; none when no more will come. Cancel-safe.
    pub(crate) async fn next(&self) -> Option<Bytes> {
        loop {
            let filled = self.filled.notified();
            if let Some(bytes) = self.pop() {
                return Some(bytes);
            }
            if self.waiting().is_closed {
                return None;
            }
            filled.await;
        }
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
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn numbered(numbers: std::ops::Range<u32>) -> Vec<u8> {
        numbers.flat_map(u32::to_le_bytes).collect()
    }

    /// Trap 1: whoever drains does not wait for whoever reads, up to a bound; then nothing is lost either.
    #[tokio::test]
    async fn what_finds_no_room_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = Bounds { memory_bytes: 1000, file_bytes: 5000 };
        let spool = Arc::new(Spool::new(folder.path(), bounds));
        let into = Arc::clone(&spool);
        let drained = tokio::task::spawn_blocking(move || {
            let rooms: Vec<Room> =
                (0..100).map(|n| into.push(&numbered(n * 25..n * 25 + 25))).collect();
            into.close();
            rooms
        });
        let mut read = Vec::new();
        while let Some(bytes) = spool.next().await {
            assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "no file is left");
            read.extend_from_slice(&bytes);
        }
        assert!(read == numbered(0..2500), "{} bytes", read.len());
        assert_eq!(drained.await.unwrap().len(), 100);
    }

    /// What nobody will take holds nobody up.
    #[test]
    fn a_spool_that_was_given_up_takes_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let spool =
            Arc::new(Spool::new(folder.path(), Bounds { memory_bytes: 10, file_bytes: 10 }));
        assert_eq!(spool.push(&[0; 1000]), Room::AtOnce, "a giant is there already");
        assert_eq!(spool.push(&[1; 1000]), Room::AtOnce, "and one more goes to the file");
        let into = Arc::clone(&spool);
        let blocked = std::thread::spawn(move || into.push(&[2; 1000]));
        spool.give_up();
        assert_eq!(blocked.join().unwrap(), Room::None);
        assert_eq!((spool.pop().unwrap().len(), spool.pop().unwrap()[0]), (1000, 1));
        assert_eq!(spool.pop(), None);
    }

    proptest! {
        /// However they come and go, bytes leave in the order in which they came.
        #[test]
        fn order_is_kept(steps in prop::collection::vec((any::<bool>(), 0u32..80), 0..200)) {
            let folder = tempfile::tempdir().unwrap();
            let spool = Spool::new(folder.path(), Bounds { memory_bytes: 1000, file_bytes: 1 << 20 });
            let (mut next, mut read) = (0, Vec::new());
            for (is_push, size) in steps {
                if is_push {
                    spool.push(&numbered(next..next + size));
                    next += size;
                } else if let Some(bytes) = spool.pop() {
                    read.extend_from_slice(&bytes);
                }
            }
            while let Some(bytes) = spool.pop() {
                read.extend_from_slice(&bytes);
            }
            prop_assert!(read == numbered(0..next));
        }
    }
}
