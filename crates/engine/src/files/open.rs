//! Reads a file without blocking on devices or pipes, and detects later changes.
//!
//! Owns the stamp: the identity of the file and its last change. It must not know versions.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::EngineError;
use crate::files::Target;

pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    pub(crate) metadata: Metadata,
}

/// Identity and state of a file at the time of the read.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    stamp: Stamp,
    /// True if the last change is so recent that another change could have the same time stamp.
    is_racy: bool,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u64,
    pub(crate) file: std::sync::Arc<File>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    // Field widths differ between systems; these types hold them all.
    dev: i128,
    ino: i128,
    size: u64,
    mtime: (i128, u32),
    ctime: (i128, u32),
}

impl Stamp {
    fn of(stat: &Stat) -> Stamp {
        Stamp {
            dev: i128::from(stat.st_dev),
            ino: i128::from(stat.st_ino),
            size: stat.st_size as u64,
            mtime: (i128::from(stat.st_mtime), stat.st_mtime_nsec as u32),
            ctime: (i128::from(stat.st_ctime), stat.st_ctime_nsec as u32),
        }
    }

    /// The clocks of file systems tick, and two changes within a tick get the same time. Ordinary clocks tick every few
    /// milliseconds. Some tick only every second or two, and their times have no fractions.
    fn is_racy(&self, now: SystemTime) -> bool {
        let coarse = self.ctime.1 == 0 && self.mtime.1 == 0;
        let tick = if coarse { Duration::from_secs(3) } else { Duration::from_millis(50) };
        let changed = UNIX_EPOCH + Duration::new(self.ctime.0.max(0) as u64, self.ctime.1);
        now.duration_since(changed).is_ok_and(|age| age < tick) || changed > now
    }
}

/// From this size on, two threads read faster than one: most of the time goes into giving memory to the process.
const TWO_READERS_BYTES: u64 = 16 << 20;

fn read_all(file: &File, size: u64, limit_bytes: u64) -> io::Result<Vec<u8>> {
    if size >= TWO_READERS_BYTES
        && let Ok(bytes) = read_halves(file, size as usize)
    {
        return Ok(bytes);
    }
    // A small file, or one that has just changed its size, is read from start to end.
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize + 1).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    file.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Fails if the size of the file is not exactly `size`.
fn read_halves(file: &File, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let (front, back) = bytes.split_at_mut(size / 2);
    std::thread::scope(|scope| {
        let at = front.len() as u64;
        let other = scope.spawn(move || file.read_exact_at(back, at));
        file.read_exact_at(front, 0)?;
        other.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })?;
    match file.read_at(&mut [0], size as u64)? {
        0 => Ok(bytes),
        _ => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

/// Turns a missing file into `None`: it is an answer, not a failure.
fn there<T>(found: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Metadata {
    /// Returns true if the last change is so recent that another program may still be writing.
    pub(crate) fn is_young(&self) -> bool {
        let changed =
            UNIX_EPOCH + Duration::new(self.stamp.mtime.0.max(0) as u64, self.stamp.mtime.1);
        SystemTime::now()
            .duration_since(changed)
            .map_or(true, |age| age < Duration::from_millis(300))
    }
}

/// Result of comparing a file with an earlier read.
pub(crate) enum Still {
    Same,
    /// The file may have changed; its bytes must be compared.
    Unsure,
}

impl Target {
    /// Opens the file for reading; `None` if it does not exist. Never blocks, and follows no link.
    fn open(&self) -> Result<Option<File>, Errno> {
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        there(rustix::fs::openat(self.dir(), &self.name, flags, Mode::empty()).map(File::from))
    }

    fn stat(&self) -> Result<Option<Stat>, Errno> {
        there(rustix::fs::statat(self.dir(), &self.name, AtFlags::SYMLINK_NOFOLLOW))
    }

    /// Returns true if anything has this name.
    pub(crate) fn exists(&self) -> bool {
        matches!(self.stat(), Ok(Some(_)))
    }

    /// Examines the file without reading it; `None` if it does not exist.
    pub(crate) fn examine(&self) -> Result<Option<Metadata>, EngineError> {
        let fail = |source: Errno| self.io("read it")(source.into());
        // Check before opening: opening a device can already have effects.
        let Some(stat) = self.stat().map_err(fail)? else { return Ok(None) };
        self.must_be_file(&stat)?;
        let Some(file) = self.open().map_err(fail)? else { return Ok(None) };
        let now = SystemTime::now();
        let stat = rustix::fs::fstat(&file).map_err(fail)?;
        self.must_be_file(&stat)?;
        let stamp = Stamp::of(&stat);
        Ok(Some(Metadata {
            stamp,
            is_racy: stamp.is_racy(now),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            links: stat.st_nlink as u64,
            file: std::sync::Arc::new(file),
        }))
    }

    /// Reads the file; `None` if it does not exist.
    pub(crate) fn read(&self, limit_bytes: u64) -> Result<Option<Content>, EngineError> {
        let Some(metadata) = self.examine()? else { return Ok(None) };
        let too_large = |size_bytes| EngineError::TooLarge {
            path: self.shown.clone(),
            size_bytes,
            limit_bytes,
        };
        let size = metadata.stamp.size;
        if size > limit_bytes {
            return Err(too_large(size));
        }
        let bytes = read_all(&metadata.file, size, limit_bytes).map_err(self.io("read it"))?;
        if bytes.len() as u64 > limit_bytes {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(Some(Content { bytes, metadata }))
    }

    fn must_be_file(&self, stat: &Stat) -> Result<(), EngineError> {
        let what = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Ok(()),
            FileType::Directory => "a folder",
            FileType::Fifo => "a FIFO",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Symlink => "a link that was put there just now",
            _ => "something special",
        };
        Err(EngineError::NotAFile { path: self.shown.clone(), what })
    }

    /// Returns true if the file holds exactly these bytes.
    pub(crate) fn holds(&self, bytes: &[u8]) -> io::Result<bool> {
        let Some(mut file) = self.open()? else { return Ok(false) };
        let mut rest = bytes;
        let mut piece = vec![0; 1 << 16];
        loop {
            let size = file.read(&mut piece)?;
            if size == 0 {
                return Ok(rest.is_empty());
            }
            match rest.strip_prefix(&piece[..size]) {
                Some(after) => rest = after,
                None => return Ok(false),
            }
        }
    }

    /// Compares the file with an earlier read; `None` if it is gone.
    pub(crate) fn still(&self, read: &Metadata) -> io::Result<Option<Still>> {
        let Some(stat) = self.stat()? else { return Ok(None) };
        let is_same = Stamp::of(&stat) == read.stamp && !read.is_racy;
        Ok(Some(if is_same { Still::Same } else { Still::Unsure }))
    }
}
