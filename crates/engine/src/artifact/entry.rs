//! One artifact as it lies in its folder: a data file, a record beside it, and for long text an index of
//! its lines.
//!
//! Owns the names of these files, what a lock on the data file means, and the order of removal. It must
//! not know quotas or ages.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read};

use super::error::ArtifactError;
use super::folder::Folder;
use super::id::ArtifactId;
use super::record::{ArtifactInfo, ENDINGS, Record, SIZE, Stage};

/// The ending of the record.
const RECORD: &str = "json";
/// The ending of the index of lines.
const LINES: &str = "lines";
/// How often a record is read that is being written over at this moment.
const READS: usize = 5;

/// The name of an artifact's record.
pub(super) fn record_name(id: &ArtifactId) -> String {
    format!("{id}.{RECORD}")
}

/// The name of the index of its lines.
pub(super) fn lines_name(id: &ArtifactId) -> String {
    format!("{id}.{LINES}")
}

/// The files of one id that are there.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: ArtifactId,
    /// The name of the data file.
    pub(super) data: Option<String>,
    /// The names of all its files.
    names: Vec<String>,
}

/// Whether an artifact was removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Removal {
    Done,
    /// Somebody is writing it.
    Busy,
}

impl Entry {
    /// What lies in a folder. Files whose names we do not give are not seen, so nothing is done to them.
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

    /// The files of one id, looked up by the few names they can have.
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

    /// How many bytes its files have together.
    pub(super) fn size(&self, folder: &Folder) -> u64 {
        self.names.iter().filter_map(|name| folder.size(name).ok().flatten()).sum()
    }

    /// What is known of it, and its open data file. None when it is not all there: it is just being
    /// made, or somebody who made it was killed.
    pub(super) fn open(&self, folder: &Folder) -> io::Result<Option<(ArtifactInfo, File)>> {
        let Some(name) = &self.data else { return Ok(None) };
        let Some(file) = folder.open(name)? else { return Ok(None) };
        let Some(mut record) = self.record(folder)? else { return Ok(None) };
        // A writer locks the file before it makes the record, and lets go after its last word there. So
        // one that is not locked is ended, and the record is read again for that last word.
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

    /// Removes it, unless somebody is writing it.
    pub(super) fn remove(&self, folder: &Folder) -> io::Result<Removal> {
        match self.hold(folder)? {
            Hold::Busy => Ok(Removal::Busy),
            Hold::Mine(_held) => self.unlink(folder).map(|()| Removal::Done),
        }
    }

    /// Removes it if it is not all there. That is looked at under the lock: since the names were listed
    /// it may have been completed.
    pub(super) fn remove_remnant(&self, folder: &Folder) -> io::Result<Removal> {
        match self.hold(folder)? {
            Hold::Busy => Ok(Removal::Busy),
            Hold::Mine(Some(_)) if self.record(folder)?.is_some() => Ok(Removal::Busy),
            Hold::Mine(_held) => self.unlink(folder).map(|()| Removal::Done),
        }
    }

    fn hold(&self, folder: &Folder) -> io::Result<Hold> {
        let Some(name) = &self.data else {
            // The data file is made before the record. It may have come while names were listed.
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

    /// The record goes first: from then on nobody finds it, and what a crash leaves is a remnant.
    fn unlink(&self, folder: &Folder) -> io::Result<()> {
        folder.remove(&record_name(&self.id))?;
        folder.remove(&lines_name(&self.id))?;
        match &self.data {
            Some(name) => folder.remove(name),
            None => Ok(()),
        }
    }
}

/// Whether others can be kept away from an artifact.
enum Hold {
    /// They are, as long as the file is open.
    Mine(Option<File>),
    /// Somebody is writing it.
    Busy,
}

/// Whether somebody holds the lock of a data file. It is a shared lock that is tried, so that two who
/// look do not take each other for writers.
fn is_written(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
