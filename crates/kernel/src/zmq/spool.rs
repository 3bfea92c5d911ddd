//! Messages that wait to be looked at: in memory up to a bound, then in a file.
//!
//! Owns the queue between whoever drains a socket, who must never wait long (a kernel drops what is not taken
//! from it in time), and whoever reports events, who may have to. It must not know what a message says.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

/// How much waits in memory and in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) memory_bytes: usize,
    pub(crate) file_bytes: u64,
}

impl Bounds {
    /// Enough for a reader that stops for a while, too little to harm the machine.
    pub(crate) const USUAL: Bounds = Bounds { memory_bytes: 32 << 20, file_bytes: 4 << 30 };
}

pub(crate) struct Spool {
    bounds: Bounds,
    /// Where the file is made, should one be needed.
    folder: PathBuf,
    waiting: Mutex<Waiting>,
    filled: Notify,
    emptied: Notify,
}

#[derive(Default)]
struct Waiting {
    memory: VecDeque<Vec<Bytes>>,
    memory_bytes: usize,
    file: Option<Overflow>,
    is_closed: bool,
}

/// Messages that came after those in memory.
struct Overflow {
    file: File,
    read_at: u64,
    write_at: u64,
}

fn size(frames: &[Bytes]) -> usize {
    frames.iter().map(Bytes::len).sum()
}

impl Spool {
    pub(crate) fn new(folder: &Path, bounds: Bounds) -> Spool {
        Spool {
            bounds,
            folder: folder.to_owned(),
            waiting: Mutex::default(),
            filled: Notify::new(),
            emptied: Notify::new(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; gives it back when there is no room.
    pub(crate) fn push(&self, frames: Vec<Bytes>) -> Result<(), Vec<Bytes>> {
        let mut waiting = self.waiting();
        let bytes = size(&frames);
        let is_empty = waiting.memory.is_empty() && waiting.file.is_none();
        // One that is larger than the bound is taken when nothing else waits: it is there already.
        let fits = waiting.memory_bytes + bytes <= self.bounds.memory_bytes || is_empty;
        if fits && waiting.file.is_none() {
            waiting.memory_bytes += bytes;
            waiting.memory.push_back(frames);
        } else if self.spill(&mut waiting, &frames).is_err() {
            return Err(frames);
        }
        drop(waiting);
        self.filled.notify_one();
        Ok(())
    }

    fn spill(&self, waiting: &mut Waiting, frames: &[Bytes]) -> io::Result<()> {
        if waiting.file.is_none() {
            let path = self.folder.join("output");
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            // It has no name any more, so nothing of it can be left.
            std::fs::remove_file(&path)?;
            waiting.file = Some(Overflow { file, read_at: 0, write_at: 0 });
        }
        let Some(overflow) = &mut waiting.file else { return Ok(()) };
        let mut record = Vec::with_capacity(size(frames) + 8 * (frames.len() + 1));
        record.extend_from_slice(&(frames.len() as u64).to_le_bytes());
        for frame in frames {
            record.extend_from_slice(&(frame.len() as u64).to_le_bytes());
            record.extend_from_slice(frame);
        }
        let held = overflow.write_at - overflow.read_at;
        if held > 0 && held + record.len() as u64 > self.bounds.file_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        overflow.file.write_all_at(&record, overflow.write_at)?;
        overflow.write_at += record.len() as u64;
        Ok(())
    }

    /// Adds a message, if need be when there is room for it; says whether it had to wait.
    pub(crate) async fn push_when_there_is_room(&self, mut frames: Vec<Bytes>) -> Room {
        let mut room = Room::AtOnce;
        loop {
            let emptied = self.emptied.notified();
            match self.push(frames) {
                Ok(()) => return room,
                Err(back) => frames = back,
            }
            room = Room::Late;
            emptied.await;
        }
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.waiting().is_closed = true;
        self.filled.notify_one();
    }

    /// What came first of those that wait. None where nothing waits now.
    pub(crate) fn pop(&self) -> Option<Vec<Bytes>> {
        let mut waiting = self.waiting();
        let frames = match waiting.memory.pop_front() {
            Some(frames) => {
                waiting.memory_bytes -= size(&frames);
                Some(frames)
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
        if frames.is_some() {
            self.emptied.notify_one();
        }
        frames
    }

    /// The same, when there is one; none when no more will come. Cancel-safe.
    pub(crate) async fn next(&self) -> Option<Vec<Bytes>> {
        loop {
            let filled = self.filled.notified();
            if let Some(frames) = self.pop() {
                return Some(frames);
            }
            if self.waiting().is_closed {
                return None;
            }
            filled.await;
        }
    }
}

/// Whether a message found room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    AtOnce,
    /// It had to wait, and its kernel may have dropped others meanwhile.
    Late,
}

impl Overflow {
    fn is_empty(&self) -> bool {
        self.read_at == self.write_at
    }

    fn take(&mut self) -> io::Result<Vec<Bytes>> {
        let count = self.number()?;
        let mut frames = Vec::new();
        for _ in 0..count {
            let size = usize::try_from(self.number()?).map_err(io::Error::other)?;
            let mut frame = vec![0; size];
            self.file.read_exact_at(&mut frame, self.read_at)?;
            self.read_at += size as u64;
            frames.push(Bytes::from(frame));
        }
        Ok(frames)
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = [0; 8];
        self.file.read_exact_at(&mut number, self.read_at)?;
        self.read_at += 8;
        Ok(u64::from_le_bytes(number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(number: usize, size: usize) -> Vec<Bytes> {
        vec![Bytes::from(number.to_string()), Bytes::from(vec![b'x'; size]), Bytes::new()]
    }

    /// Trap 1: whoever drains never waits for whoever reads, up to a bound; then nothing is lost either.
    #[tokio::test]
    async fn what_finds_no_room_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = Bounds { memory_bytes: 1000, file_bytes: 5000 };
        let spool = Spool::new(folder.path(), bounds);
        let mut pushed = 0;
        while spool.push(message(pushed, 100)).is_ok() {
            pushed += 1;
        }
        assert!((40..60).contains(&pushed), "{pushed}");
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "no file is left");
        let late = spool.push_when_there_is_room(message(pushed, 100));
        let (room, ()) = tokio::join!(late, async {
            // All of memory, and then some of the file.
            for number in 0..12 {
                assert_eq!(spool.next().await.unwrap(), message(number, 100));
            }
        });
        assert_eq!(room, Room::Late);
        spool.close();
        for number in 12..=pushed {
            assert_eq!(spool.next().await.unwrap(), message(number, 100));
        }
        assert_eq!(spool.next().await, None);
    }

    /// A message larger than every bound is taken when nothing else waits.
    #[test]
    fn a_giant_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path(), Bounds { memory_bytes: 10, file_bytes: 10 });
        assert!(spool.push(message(0, 1000)).is_ok());
        assert!(spool.push(message(1, 1000)).is_ok(), "and one more in the file");
        assert!(spool.push(message(2, 1000)).is_err());
        assert_eq!(spool.pop(), Some(message(0, 1000)));
        assert_eq!(spool.pop(), Some(message(1, 1000)));
        assert_eq!(spool.pop(), None);
    }

    proptest! {
        /// However they come and go, messages leave in the order in which they came.
        #[test]
        fn order_is_kept(steps in prop::collection::vec((any::<bool>(), 0usize..300), 0..200)) {
            let folder = tempfile::tempdir().unwrap();
            let spool = Spool::new(folder.path(), Bounds { memory_bytes: 1000, file_bytes: 1 << 20 });
            let mut model = VecDeque::new();
            for (number, (is_push, size)) in steps.into_iter().enumerate() {
                if is_push {
                    let _ = spool.push(message(number, size));
                    model.push_back(message(number, size));
                } else {
                    prop_assert_eq!(spool.pop(), model.pop_front());
                }
            }
            for wanted in model {
                prop_assert_eq!(spool.pop(), Some(wanted));
            }
            prop_assert_eq!(spool.pop(), None);
        }
    }
}
