//! What working interpreters answered, kept in memory and in one small file, so that a start does not
//! cost two.
//!
//! Owns the file and what makes an answer still true. Only answers of Pythons that work are kept. A cache
//! that cannot be read or written is no error: the question is asked again.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::probe::Probed;

const FILE: &str = "interpreters.json";
const FORMAT: u32 = 1;
const MOST_ENTRIES: usize = 64;
const MOST_BYTES: u64 = 1024 * 1024;

/// What tells that a file is another one than before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Stamp {
    mtime_seconds: i64,
    mtime_nanos: i64,
    size_bytes: u64,
}

impl Stamp {
    /// Of the file behind all links; none when there is none.
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        let found = fs::metadata(path).ok()?;
        Some(Stamp {
            mtime_seconds: found.mtime(),
            mtime_nanos: found.mtime_nsec(),
            size_bytes: found.size(),
        })
    }
}

/// What an answer rests on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Evidence {
    program: Stamp,
    /// Of the `pyvenv.cfg` beside it, which says whose environment it is.
    venv: Option<Stamp>,
    /// What a shim decides by; none for a program that decides nothing.
    circumstances: Option<u64>,
}

impl Evidence {
    /// None when the program is not there, and then no old answer holds.
    pub(super) fn now(
        program: &Path,
        venv: Option<&Path>,
        circumstances: Option<u64>,
    ) -> Option<Evidence> {
        let venv = venv.and_then(|venv| Stamp::of(&venv.join("pyvenv.cfg")));
        Some(Evidence { program: Stamp::of(program)?, venv, circumstances })
    }
}

/// An answer and what is started because of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) probed: Probed,
    pub(super) start: PathBuf,
    evidence: Evidence,
    /// Of the program that is started, which behind a shim is another file.
    start_stamp: Option<Stamp>,
}

impl Known {
    pub(super) fn new(probed: Probed, start: PathBuf, evidence: Evidence) -> Known {
        let start_stamp = Stamp::of(&start);
        Known { probed, start, evidence, start_stamp }
    }

    fn holds(&self, evidence: &Evidence) -> bool {
        self.evidence == *evidence
            && self.start_stamp.is_some()
            && Stamp::of(&self.start) == self.start_stamp
    }
}

/// Whether an answer may be kept longer than the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    InMemory,
    OnDisk,
}

/// The folder a kernel is to work in and the program that was found.
type Key = (PathBuf, PathBuf);

/// Answers in memory, and the folder of the file.
#[derive(Debug, Default)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
    memory: Mutex<HashMap<Key, Known>>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    program: PathBuf,
    known: Known,
}

impl Cache {
    pub(super) fn new(folder: Option<PathBuf>) -> Cache {
        Cache { folder, memory: Mutex::default() }
    }

    /// An answer that still holds.
    pub(super) fn get(&self, cwd: &Path, program: &Path, evidence: &Evidence) -> Option<Known> {
        let key = (cwd.to_owned(), program.to_owned());
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = memory.get(&key).filter(|known| known.holds(evidence)) {
            return Some(known.clone());
        }
        let fits = |entry: &Entry| entry.program == program && entry.known.holds(evidence);
        let known = self.load().into_iter().find(fits)?.known;
        memory.insert(key, known.clone());
        Some(known)
    }

    pub(super) fn put(&self, cwd: &Path, program: &Path, known: &Known, keep: Keep) {
        let key = (cwd.to_owned(), program.to_owned());
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(key, known.clone());
        if keep == Keep::OnDisk {
            // Another program may write at the same time; the last one wins and nothing is torn.
            let _not_kept = self.store(program, known);
        }
    }

    fn load(&self) -> Vec<Entry> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let path = folder.join(FILE);
        if fs::metadata(&path).map_or(true, |found| found.len() > MOST_BYTES) {
            return Vec::new();
        }
        let stored: Option<Stored> =
            fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        stored.filter(|stored| stored.format == FORMAT).map_or_else(Vec::new, |s| s.entries)
    }

    fn store(&self, program: &Path, known: &Known) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut entries = self.load();
        // A shim has one answer for each of its circumstances; any other program has one.
        entries.retain(|entry| {
            entry.program != program
                || (known.evidence.circumstances.is_some()
                    && entry.known.evidence.circumstances != known.evidence.circumstances)
        });
        entries.push(Entry { program: program.to_owned(), known: known.clone() });
        let excess = entries.len().saturating_sub(MOST_ENTRIES);
        entries.drain(..excess);
        // A path that is not UTF-8 has no place in JSON; then nothing is written.
        let bytes = serde_json::to_vec(&Stored { format: FORMAT, entries })?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let beside = folder.join(format!(".{FILE}.{}.{now}", std::process::id()));
        let written = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&beside, folder.join(FILE)));
        if written.is_err() {
            let _never_made = fs::remove_file(&beside);
        }
        written
    }
}
