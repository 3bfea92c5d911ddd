//! The record of our kernels on gateways, written so that a later process can remove them.
//!
//! Owns one file for each host, below the state folder. The system's lock on it tells if its host
//! lives; a process id never does. This module must not know how a kernel is removed.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::gateway::Whose;
use crate::gateway::transport::rest::{RemoteId, Rest};
use crate::jupyter::home::random_hex;
use crate::new_file::NewFile;
use crate::private_folder::make_private_folder;

/// Longest file that is read. Our own files stay far below; others must not fill memory.
const FILE_BYTES: u64 = 4 << 20;

/// Bytes after which a file is rewritten with only the kernels that are still to be removed.
const COMPACT_BYTES: usize = 1 << 20;

/// A kernel on a gateway.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct KernelEntry {
    /// Address of the gateway.
    pub(crate) url: String,
    /// Id of the kernel on it.
    pub(crate) id: String,
    /// Owner of the gateway. A shared gateway of this machine takes its kernels along when it ends;
    /// of another one that is not known.
    #[serde(default = "external")]
    pub(crate) whose: Whose,
}

fn external() -> Whose {
    Whose::External
}

impl KernelEntry {
    /// Returns the entry for this kernel of this gateway.
    pub(crate) fn on(rest: &Rest, id: &RemoteId) -> KernelEntry {
        KernelEntry { url: rest.url.to_string(), id: id.as_str().to_owned(), whose: rest.whose }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Made(KernelEntry),
    Removed(KernelEntry),
}

/// Kernels that this host has started. Its file stays locked while this lives, and is removed when
/// empty.
pub(crate) struct Record {
    folder: PathBuf,
    open: Mutex<Option<Open>>,
}

struct Open {
    path: PathBuf,
    file: File,
    left: BTreeSet<KernelEntry>,
    /// Unused kernels that could not be removed.
    stuck: BTreeSet<KernelEntry>,
    /// Bytes written since the file was created.
    written: usize,
}

impl Record {
    pub(crate) fn new(state: &Path) -> Record {
        Record { folder: folder(state), open: Mutex::new(None) }
    }

    /// Records that a kernel was started.
    pub(crate) fn made(&self, made: &KernelEntry) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            *open = Some(Open::new(&self.folder)?);
        }
        let Some(open) = open.as_mut() else { return Ok(()) };
        open.left.insert(made.clone());
        open.append(&Line::Made(made.clone()))
    }

    /// Remembers an unused kernel that could not be removed.
    pub(crate) fn stuck(&self, made: KernelEntry) {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = slot.as_mut().filter(|open| open.left.contains(&made)) {
            open.stuck.insert(made);
        }
    }

    /// Takes the kernels that could not be removed; the caller tries again.
    pub(crate) fn take_stuck(&self) -> BTreeSet<KernelEntry> {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_mut().map(|open| std::mem::take(&mut open.stuck)).unwrap_or_default()
    }

    /// Records that a kernel is gone.
    pub(crate) fn removed(&self, made: &KernelEntry) {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = slot.as_mut() else { return };
        if open.left.remove(made) {
            // If this fails, a later removal asks for the kernel again and does not find it.
            let _ = open.append(&Line::Removed(made.clone()));
        }
        if open.left.is_empty() {
            let _ = fs::remove_file(&open.path);
            *slot = None;
        } else if open.written > COMPACT_BYTES
            && let Ok(fresh) = open.compacted(&self.folder)
        {
            let _ = fs::remove_file(&open.path);
            *slot = Some(fresh);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let slot = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = slot.take().filter(|open| open.left.is_empty()) {
            let _ = fs::remove_file(&open.path);
        }
    }
}

impl Open {
    fn new(folder: &Path) -> io::Result<Open> {
        make_private_folder(folder)?;
        let path = folder.join(format!("{}.jsonl", random_hex::<8>()?));
        // Under its final name, an unlocked file would count as that of a dead host. Nothing looks
        // under this name.
        let mut new = NewFile::beside(&path, 0o600)?;
        new.file().try_lock()?;
        let file = new.put()?;
        Ok(Open { path, file, left: BTreeSet::new(), stuck: BTreeSet::new(), written: 0 })
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.written += text.len();
        self.file.write_all(&text)
    }

    /// Rewrites the record in a new file. A host that dies in between leaves both, and a second
    /// removal does not find the kernel.
    fn compacted(&self, folder: &Path) -> io::Result<Open> {
        let mut fresh = Open::new(folder)?;
        for made in &self.left {
            fresh.append(&Line::Made(made.clone()))?;
        }
        fresh.left.clone_from(&self.left);
        fresh.stuck.clone_from(&self.stuck);
        fresh.written = 0;
        Ok(fresh)
    }
}

fn folder(state: &Path) -> PathBuf {
    state.join("gateway-kernels")
}

/// Record of a dead host. The lock is held meanwhile, so that no other process removes the same
/// kernels.
pub(crate) struct Leftover {
    open: Open,
}

impl Leftover {
    /// Finds the records of all dead hosts.
    pub(crate) fn find(state: &Path) -> io::Result<Vec<Leftover>> {
        let entries = match fs::read_dir(folder(state)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                found.extend(Leftover::open(path)?);
            }
        }
        Ok(found)
    }

    fn open(path: PathBuf) -> io::Result<Option<Leftover>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).open(&path);
        let mut file = match file {
            Ok(file) => file,
            // Its host has just finished with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its host finished with it after we opened it; its entries may be in a new file.
        if file.metadata()?.nlink() == 0 {
            return Ok(None);
        }
        let mut text = Vec::new();
        file.rewind()?;
        // Leave a file that was not read whole: it may name more kernels.
        match (&file).take(FILE_BYTES).read_to_end(&mut text) {
            Ok(size) if (size as u64) < FILE_BYTES => {}
            _ => return Ok(None),
        }
        // A line that was cut off belongs to a kernel whose id was never used.
        let (left, stuck) = (left_in(&text), BTreeSet::new());
        Ok(Some(Leftover { open: Open { path, file, left, stuck, written: 0 } }))
    }

    /// Returns the kernels that are still to be removed.
    pub(crate) fn kernels(&self) -> Vec<KernelEntry> {
        self.open.left.iter().cloned().collect()
    }

    /// Records that a kernel is gone.
    pub(crate) fn removed(&mut self, made: &KernelEntry) -> io::Result<()> {
        self.open.left.remove(made);
        self.open.append(&Line::Removed(made.clone()))
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        if self.open.left.is_empty() {
            let _ = fs::remove_file(&self.open.path);
        }
    }
}

fn left_in(text: &[u8]) -> BTreeSet<KernelEntry> {
    let mut left = BTreeSet::new();
    for line in text.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::Made(made)) => drop(left.insert(made)),
            Ok(Line::Removed(made)) => drop(left.remove(&made)),
            Err(_) => {}
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(url: &str, id: &str) -> KernelEntry {
        KernelEntry { url: url.to_owned(), id: id.to_owned(), whose: Whose::External }
    }

    fn files(state: &Path) -> usize {
        fs::read_dir(folder(state)).map_or(0, Iterator::count)
    }

    /// F-118: the kernels of a living host are left alone; those of a dead host are found, once.
    #[test]
    fn only_what_the_dead_made_is_found() {
        let state = tempfile::tempdir().unwrap();
        let (living, dead) = (Record::new(state.path()), Record::new(state.path()));
        living.made(&kernel("u", "a")).unwrap();
        dead.made(&kernel("u", "b")).unwrap();
        dead.made(&kernel("v", "c")).unwrap();
        dead.made(&kernel("u", "d")).unwrap();
        dead.removed(&kernel("u", "b"));
        drop(dead);
        let mut found = Leftover::find(state.path()).unwrap();
        assert_eq!(found.len(), 1);
        assert!(Leftover::find(state.path()).unwrap().is_empty(), "another launcher ends it");
        let ids = |left: &Leftover| {
            left.kernels().into_iter().map(|made| made.url + &made.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&found[0]), ["ud", "vc"]);
        let first = found[0].kernels()[0].clone();
        found[0].removed(&first).unwrap();
        drop(found);
        let mut found = Leftover::find(state.path()).unwrap();
        assert_eq!(ids(&found[0]), ["vc"], "what could not be removed stays");
        let last = found[0].kernels()[0].clone();
        found[0].removed(&last).unwrap();
        drop(found);
        assert_eq!(files(state.path()), 1, "that of the host that lives");
        living.removed(&kernel("u", "a"));
        assert_eq!(files(state.path()), 0);
    }

    /// F-118: however many kernels a host has had, its file stays short enough to be read whole.
    #[test]
    fn the_file_of_a_host_that_lives_long_stays_small() {
        let state = tempfile::tempdir().unwrap();
        let record = Record::new(state.path());
        record.made(&kernel("https://hub.example.org/user/me", "first")).unwrap();
        for number in 0..15_000 {
            let other = kernel("https://hub.example.org/user/me", &format!("{number:036}"));
            record.made(&other).unwrap();
            record.removed(&other);
        }
        assert_eq!(files(state.path()), 1);
        let entry = fs::read_dir(folder(state.path())).unwrap().next().unwrap().unwrap();
        assert!(entry.metadata().unwrap().len() < FILE_BYTES / 2);
        drop(record);
        let found = Leftover::find(state.path()).unwrap();
        assert_eq!(found[0].kernels()[0].id, "first");
    }

    /// S-021: the file is for this user alone, and malformed lines do no harm.
    #[test]
    fn the_file_is_private_and_garbage_is_skipped() {
        use std::os::unix::fs::PermissionsExt as _;
        let state = tempfile::tempdir().unwrap();
        let record = Record::new(state.path());
        record.made(&kernel("u", "a")).unwrap();
        let entry = fs::read_dir(folder(state.path())).unwrap().next().unwrap().unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let text = b"nonsense\n\xff\n{\"made\":{\"url\":\"u\",\"id\":\"a\"}}\n{\"made\":{\"ur";
        assert_eq!(left_in(text), BTreeSet::from([kernel("u", "a")]));
    }

    /// F-118: a search for records of dead hosts takes nothing from a host that is creating its
    /// file.
    #[test]
    fn a_file_that_is_just_made_is_not_taken_for_that_of_the_dead() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let state = tempfile::tempdir().unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while !is_done.load(Ordering::SeqCst) {
                        assert!(
                            Leftover::find(state.path()).unwrap().is_empty(),
                            "all of them live"
                        );
                    }
                });
            }
            let mut lost = 0;
            for number in 0..3000 {
                let record = Record::new(state.path());
                let made = kernel("u", &number.to_string());
                let is_made = record.made(&made).is_ok();
                lost += usize::from(!is_made || files(state.path()) == 0);
                record.removed(&made);
            }
            is_done.store(true, Ordering::SeqCst);
            assert_eq!(lost, 0, "files of a host that lives");
        });
    }

    /// F-118: a file that cannot be read whole is left in place.
    #[test]
    fn what_cannot_be_read_stays() {
        let state = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder(state.path())).unwrap();
        let path = folder(state.path()).join("long.jsonl");
        File::create(&path).unwrap().set_len(FILE_BYTES).unwrap();
        assert!(Leftover::find(state.path()).unwrap().is_empty());
        assert!(path.exists());
        // Bytes that are not text hide nothing of the rest.
        fs::write(&path, b"\xff\n{\"made\":{\"url\":\"u\",\"id\":\"a\"}}\n").unwrap();
        assert_eq!(Leftover::find(state.path()).unwrap()[0].kernels(), [kernel("u", "a")]);
        assert!(path.exists());
    }
}
