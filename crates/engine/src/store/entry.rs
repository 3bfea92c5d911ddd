//! One artifact in its folder: a data file, a record beside it, and for long text an index of its lines.
//!
//! Owns the names of these files, the meaning of a lock on the data file, and the order of removal. It must not know
//! quotas or ages.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read};

use super::error::ArtifactError;
use super::folder::Folder;
use super::id::ArtifactId;
use super::record::{ArtifactInfo, ENDINGS, Record, SIZE, Stage};

/// File extension of the record.
const RECORD: &str = "json";
/// File extension of the line index.
const LINES: &str = "lines";
/// Attempts to read a record that another process is writing.
const READS: usize = 5;

/// File name of an artifact's record.
pub(super) fn record_name(id: &ArtifactId) -> String {
    format!("{id}.{RECORD}")
}

/// File name of an artifact's line index.
pub(super) fn lines_name(id: &ArtifactId) -> String {
    format!("{id}.{LINES}")
}

/// The existing files of one id.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: ArtifactId,
    /// File name of the data.
    pub(super) data: Option<String>,
    /// Names of all files, including the data.
    names: Vec<String>,
}

/// Result of a removal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Removal {
    Done,
    /// A process is writing the artifact.
    Busy,
}

impl Entry {
    /// Lists the artifacts in a folder. Files with other names are ignored and so never removed.
    pub(super) fn list(folder: &Folder) -> Result<Vec<Entry>, ArtifactError> {
        let mut found: BTreeMap<ArtifactId, Entry> = BTreeMap::new();
        for name in folder.names()? {
            let Some((stem, ending)) = name.split_once('.') else { continue };
            let Ok(id) = ArtifactId::parse(stem) else { continue };
            let is_data = ENDINGS.contains(&ending);
            if !is_data && ending != RECORD && ending != LINES {
                continue;
            }
            let empty = || Entry { id: id.clone(), data: None, names: Vec::new() };
            let entry = found.entry(id.clone()).or_insert_with(empty);
            if is_data {
                entry.data = Some(name.clone());
            }
            entry.names.push(name);
        }
        Ok(found.into_values().collect())
    }

    /// Finds the files of one id by the few names they can have.
    pub(super) fn find(folder: &Folder, id: &ArtifactId) -> io::Result<Option<Entry>> {
        let mut found = Entry { id: id.clone(), data: None, names: Vec::new() };
        for ending in ENDINGS.iter().chain(&[RECORD, LINES]) {
            let name = format!("{id}.{ending}");
            if folder.size(&name)?.is_none() {
                continue;
            }
            if ENDINGS.contains(ending) {
                found.data = Some(name.clone());
            }
            found.names.push(name);
        }
        Ok((!found.names.is_empty()).then_some(found))
    }

    /// Size of all its files, in bytes.
    pub(super) fn size(&self, folder: &Folder) -> u64 {
        self.names.iter().filter_map(|name| folder.size(name).ok().flatten()).sum()
    }

    /// Reads its record and opens its data file. Returns `None` if files are missing: a writer is just creating it, or
    /// was killed.
    pub(super) fn open(&self, folder: &Folder) -> io::Result<Option<(ArtifactInfo, File)>> {
        let Some(name) = &self.data else { return Ok(None) };
        let Some(file) = folder.open(name)? else { return Ok(None) };
        let Some(mut record) = self.record(folder)? else { return Ok(None) };
        // A writer locks the file before it creates the record, and unlocks it after the final record. So an unlocked
        // file is finished, and its record is read again for the final state.
        let is_written = record.stage == Stage::Writing && is_written(&file)?;
        if record.stage == Stage::Writing && !is_written {
            match self.record(folder)? {
                Some(last) => record = last,
                None => return Ok(None),
            }
        }
        let size = file.metadata()?.len();
        let path = folder.path().join(name);
        Ok(Some((record.info(&self.id, size, is_written, path), file)))
    }

    fn record(&self, folder: &Folder) -> io::Result<Option<Record>> {
        for _ in 0..READS {
            let Some(file) = folder.open(&record_name(&self.id))? else { return Ok(None) };
            let mut bytes = Vec::with_capacity(SIZE);
            file.take(SIZE as u64).read_to_end(&mut bytes)?;
            let record = Record::parse(&bytes).filter(|record| record.id == self.id.as_str());
            if record.is_some() {
                return Ok(record);
            }
        }
        Ok(None)
    }

    /// Removes it, unless a process is writing it.
    pub(super) fn remove(&self, folder: &Folder) -> io::Result<Removal> {
        match self.hold(folder)? {
            Hold::Busy => Ok(Removal::Busy),
            Hold::Mine(_held) => self.unlink(folder).map(|()| Removal::Done),
        }
    }

    /// Removes it if files are missing. Checks this under the lock: a writer may have completed it since the listing.
    pub(super) fn remove_remnant(&self, folder: &Folder) -> io::Result<Removal> {
        match self.hold(folder)? {
            Hold::Busy => Ok(Removal::Busy),
            Hold::Mine(Some(_)) if self.record(folder)?.is_some() => Ok(Removal::Busy),
            Hold::Mine(_held) => self.unlink(folder).map(|()| Removal::Done),
        }
    }

    fn hold(&self, folder: &Folder) -> io::Result<Hold> {
        let Some(name) = &self.data else {
            // The data file is created before the record. It may have appeared during the listing.
            let has_data = Entry::find(folder, &self.id)?.is_some_and(|now| now.data.is_some());
            return Ok(if has_data { Hold::Busy } else { Hold::Mine(None) });
        };
        let Some(file) = folder.open(name)? else { return Ok(Hold::Mine(None)) };
        match file.try_lock() {
            Ok(()) => Ok(Hold::Mine(Some(file))),
            Err(TryLockError::WouldBlock) => Ok(Hold::Busy),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Removes the record first: from then on no reader finds the artifact, and a crash leaves only a remnant.
    fn unlink(&self, folder: &Folder) -> io::Result<()> {
        folder.remove(&record_name(&self.id))?;
        folder.remove(&lines_name(&self.id))?;
        match &self.data {
            Some(name) => folder.remove(name),
            None => Ok(()),
        }
    }
}

/// Result of keeping others away from an artifact.
enum Hold {
    /// Others are kept away as long as the file is open.
    Mine(Option<File>),
    /// A process is writing the artifact.
    Busy,
}

/// Returns true if a writer holds the lock of a data file. The test takes a shared lock, so that two readers do not
/// mistake each other for writers.
fn is_written(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
