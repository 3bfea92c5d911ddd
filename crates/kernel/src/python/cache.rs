//! Caches the answers of working interpreters, in memory and in one small file, so that starting a kernel
//! does not run Python twice.
//!
//! Owns the file, and the rule for when an answer still holds. It caches only answers of Pythons that work.
//! If the cache cannot be read or written, the interpreter is simply probed again.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::probe::PythonFacts;
use crate::new_file::replace_file;
use crate::private_folder::make_private_folder;

const FILE: &str = "interpreters.json";
const FORMAT: u32 = 1;
const MOST_ENTRIES: usize = 64;
const MOST_BYTES: u64 = 1024 * 1024;

/// Identifies the state of a file: a changed file has another stamp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Stamp {
    mtime_seconds: i64,
    mtime_nanos: i64,
    size_bytes: u64,
}

impl Stamp {
    /// The stamp of the file behind all links; `None` if it does not exist.
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        let found = fs::metadata(path).ok()?;
        Some(Stamp {
            mtime_seconds: found.mtime(),
            mtime_nanos: found.mtime_nsec(),
            size_bytes: found.size(),
        })
    }
}

/// The state of the files that an answer depends on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Evidence {
    program: Stamp,
    /// The stamp of the `pyvenv.cfg` of its virtual environment.
    venv: Option<Stamp>,
    /// The hash of everything a shim decides by; `None` for a program that decides nothing.
    circumstances: Option<u64>,
}

impl Evidence {
    /// `None` if the program does not exist, and then no old answer holds.
    pub(super) fn now(
        program: &Path,
        venv: Option<&Path>,
        circumstances: Option<u64>,
    ) -> Option<Evidence> {
        let venv = venv.and_then(|venv| Stamp::of(&venv.join("pyvenv.cfg")));
        Some(Evidence { program: Stamp::of(program)?, venv, circumstances })
    }
}

/// An answer, and the program to start because of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct CachedAnswer {
    pub(super) probed: PythonFacts,
    pub(super) start: PathBuf,
    evidence: Evidence,
    /// The stamp of the program to start, which behind a shim is another file.
    start_stamp: Option<Stamp>,
}

impl CachedAnswer {
    pub(super) fn new(probed: PythonFacts, start: PathBuf, evidence: Evidence) -> CachedAnswer {
        let start_stamp = Stamp::of(&start);
        CachedAnswer { probed, start, evidence, start_stamp }
    }

    fn holds(&self, evidence: &Evidence) -> bool {
        self.evidence == *evidence
            && self.start_stamp.is_some()
            && Stamp::of(&self.start) == self.start_stamp
    }
}

/// The lifetime of an answer in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    InMemory,
    OnDisk,
}

/// The working folder of a kernel, and the program of a candidate.
type Key = (PathBuf, PathBuf);

/// Answers in memory, and the folder of the file.
#[derive(Debug, Default)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
    memory: Mutex<HashMap<Key, CachedAnswer>>,
}

#[derive(Serialize, Deserialize)]
struct CacheFile {
    format: u32,
    entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    program: PathBuf,
    known: CachedAnswer,
}

impl Cache {
    pub(super) fn new(folder: Option<PathBuf>) -> Cache {
        Cache { folder, memory: Mutex::default() }
    }

    /// Finds an answer that still holds.
    pub(super) fn get(
        &self,
        cwd: &Path,
        program: &Path,
        evidence: &Evidence,
    ) -> Option<CachedAnswer> {
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

    pub(super) fn put(&self, cwd: &Path, program: &Path, known: &CachedAnswer, keep: Keep) {
        let key = (cwd.to_owned(), program.to_owned());
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(key, known.clone());
        if keep == Keep::OnDisk {
            // Another process may write at the same time; the last one wins, and the file stays whole.
            let _not_kept = self.store(program, known);
        }
    }

    fn load(&self) -> Vec<Entry> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let path = folder.join(FILE);
        if fs::metadata(&path).map_or(true, |found| found.len() > MOST_BYTES) {
            return Vec::new();
        }
        let stored: Option<CacheFile> =
            fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        stored.filter(|stored| stored.format == FORMAT).map_or_else(Vec::new, |s| s.entries)
    }

    fn store(&self, program: &Path, known: &CachedAnswer) -> io::Result<()> {
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
        // JSON cannot hold a path that is not UTF-8, so such an answer is not written.
        let bytes = serde_json::to_vec(&CacheFile { format: FORMAT, entries })?;
        make_private_folder(folder)?;
        replace_file(&folder.join(FILE), &bytes, 0o600)
    }
}
