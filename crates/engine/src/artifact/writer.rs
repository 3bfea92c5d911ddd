//! Writing an artifact: every byte in order until something is in the way, and then the truth about it.
//!
//! Owns an artifact from its first byte to the last word in its record. A failure stops the writing and
//! is a fact, not an error: the cell whose output it is goes on (F-034, F-035). It must not know what
//! the bytes mean.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use rustix::io::Errno;

use super::entry::{lines_name, record_name};
use super::error::ArtifactError;
use super::folder::{Folder, IfAbsent};
use super::id::{ArtifactId, ArtifactSession};
use super::lines::LineIndex;
use super::record::{ArtifactInfo, Cause, Incomplete, Record, ending, is_text_kind};
use super::{ArtifactSpec, Artifacts};

/// How often another id is tried when somebody is in the way.
const TRIES: usize = 10;

/// An artifact that is being written.
///
/// [`ArtifactWriter::append`] never fails; as a [`Write`] it fails from the first failure on. When it is
/// dropped it is complete if it was flushed after the last byte, and otherwise says that it was given up.
pub struct ArtifactWriter {
    store: Artifacts,
    session: ArtifactSession,
    folder: Folder,
    name: String,
    id: ArtifactId,
    record: Record,
    record_file: File,
    /// The data file; its lock tells others that it is being written.
    file: Arc<File>,
    /// Where bytes go: the same file, or in tests something that fails.
    out: Box<dyn Write + Send>,
    index: LineIndex,
    /// How much may be written before room is asked for again.
    room: u64,
    failed: Option<Cause>,
    is_settled: bool,
    is_closed: bool,
}

/// What became of an artifact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The artifact; none when nothing of use is there.
    pub info: Option<ArtifactInfo>,
    /// Why it does not hold everything.
    pub incomplete: Option<Incomplete>,
}

impl std::fmt::Debug for ArtifactWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArtifactWriter")
            .field("id", &self.id)
            .field("bytes", &self.index.bytes())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl ArtifactWriter {
    pub(super) fn create(
        store: &Artifacts,
        spec: &ArtifactSpec,
    ) -> Result<ArtifactWriter, ArtifactError> {
        for _ in 0..TRIES {
            let folder = store.session_folder(&spec.session, IfAbsent::Make)?;
            let folder = folder.ok_or_else(|| store.vanished())?;
            let id = ArtifactId::random(store.config.random);
            let name = format!("{id}.{}", ending(&spec.kind));
            let failed = ArtifactError::io(&folder.path().join(&name), "make an artifact");
            let file = match folder.create(&name) {
                Ok(file) => file,
                // The id is taken, or a clean-up removed the empty folder at this moment.
                Err(Errno::EXIST | Errno::NOENT) => continue,
                Err(error) => return Err(failed(error.into())),
            };
            // A clean-up may have come between and taken the file for a remnant, or is about to.
            let locked = match file.try_lock() {
                Ok(()) => file.metadata().map_err(&failed)?.nlink() > 0,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => {
                    let _ = folder.remove(&name);
                    return Err(failed(error));
                }
            };
            if !locked {
                // Nobody else has made a file of this name; if it cannot be removed it is a remnant.
                let _ = folder.remove(&name);
                continue;
            }
            let now = (store.config.now)();
            let session = spec.session.name();
            let record = Record::begin(&id, session, &spec.kind, &spec.title, now);
            let recorded = folder.create(&record_name(&id)).map_err(io::Error::from);
            let recorded = recorded.and_then(|mut made| {
                made.write_all(&record.to_bytes())?;
                Ok(made)
            });
            let record_file = match recorded {
                Ok(file) => file,
                Err(error) => {
                    // Without a record it is a remnant, which is swept later if this does not work.
                    let _ = folder.remove(&record_name(&id));
                    let _ = folder.remove(&name);
                    return Err(failed(error));
                }
            };
            let file = Arc::new(file);
            return Ok(ArtifactWriter {
                store: store.clone(),
                session: spec.session.clone(),
                folder,
                name,
                id,
                record,
                record_file,
                out: Box::new(Arc::clone(&file)),
                file,
                index: LineIndex::default(),
                room: 0,
                failed: None,
                is_settled: false,
                is_closed: false,
            });
        }
        Err(store.vanished())
    }

    /// The id to speak of.
    pub fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// How many bytes are in the file.
    pub fn bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// Why it does not hold everything so far.
    pub fn incomplete(&self) -> Option<Incomplete> {
        let cause = self.failed.clone()?;
        Some(Incomplete { after_bytes: self.bytes(), cause })
    }

    /// Takes bytes. After a failure they are let go, and [`ArtifactWriter::incomplete`] tells.
    pub fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.failed.is_none() {
            // An interrupted write is tried again; any other failure is noted there and ends this.
            if let Ok(written) = self.write_some(bytes) {
                bytes = &bytes[written..];
            }
        }
    }

    /// Writes as much as goes at once. A failure is noted, once and for all: a gap in the middle would
    /// be worse than an end.
    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_settled = false;
        if let Some(cause) = &self.failed {
            return Err(to_io(cause));
        }
        if self.room == 0 {
            match self.more_room() {
                Ok(room) => self.room = room,
                Err(cause) => return Err(to_io(self.failed.insert(cause))),
            }
        }
        let fits = bytes.len().min(usize::try_from(self.room).unwrap_or(usize::MAX));
        let failed = match self.out.write(&bytes[..fits]) {
            Ok(0) if fits > 0 => io::ErrorKind::WriteZero.into(),
            Ok(written) => {
                let written = written.min(fits);
                self.index.add(&bytes[..written]);
                self.room -= written as u64;
                return Ok(written);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => error,
        };
        self.failed = Some(Cause::from(&failed));
        Err(failed)
    }

    fn more_room(&self) -> Result<u64, Cause> {
        if !self.is_there() {
            return Err(Cause::Gone);
        }
        self.store.take_room(&self.session)
    }

    fn is_there(&self) -> bool {
        self.folder.is_there() && self.folder.names_file(&self.name, &self.file).unwrap_or(false)
    }

    /// Ends the artifact. What is written after the last byte is the truth about it.
    pub fn finish(mut self) -> Written {
        self.is_settled = true;
        self.close()
    }

    fn close(&mut self) -> Written {
        self.is_closed = true;
        self.store.return_room(&self.session, std::mem::take(&mut self.room));
        let is_there = self.is_there();
        let unsettled = || (!self.is_settled).then_some(Cause::Abandoned);
        let cause = match self.failed.take() {
            Some(cause) => Some(cause),
            None if !is_there => Some(Cause::Gone),
            None => unsettled(),
        };
        let is_text = is_text_kind(&self.record.kind);
        // The beginning of a text is of use; nothing at all, or a part of a picture, is not.
        if !is_there || (cause.is_some() && (self.bytes() == 0 || !is_text)) {
            for name in [&record_name(&self.id), &self.name] {
                // What cannot be removed now is incomplete to everybody and goes with age.
                let _ = self.folder.remove(name);
            }
            let incomplete = cause.map(|cause| Incomplete { after_bytes: 0, cause });
            return Written { info: None, incomplete };
        }
        if is_text {
            self.record.lines = Some(self.index.lines());
            self.keep_index();
        }
        self.record.bytes = self.bytes();
        self.record.end((self.store.config.now)(), cause.clone());
        // The room is there since the beginning. If this fails all the same, the record goes on saying
        // that it is being written, which without a lock means that it is incomplete.
        let _ = self.record_file.write_all_at(&self.record.to_bytes(), 0);
        let path = self.folder.path().join(&self.name);
        let info = self.record.info(&self.id, self.bytes(), false, path);
        let incomplete = cause.map(|cause| Incomplete { after_bytes: self.bytes(), cause });
        Written { info: Some(info), incomplete }
    }

    /// Keeps where lines are, for a text that is long. Without it lines are found by counting.
    fn keep_index(&self) {
        let Some(bytes) = self.index.to_bytes() else { return };
        let name = lines_name(&self.id);
        let kept = self.folder.create(&name).map_err(io::Error::from);
        if kept.and_then(|mut file| file.write_all(&bytes)).is_err() {
            let _ = self.folder.remove(&name);
        }
    }
}

impl Write for ArtifactWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        self.write_some(bytes)
    }

    /// Says that everything was written so far, unless it is gone.
    fn flush(&mut self) -> io::Result<()> {
        if self.failed.is_none() && !self.is_there() {
            self.failed = Some(Cause::Gone);
        }
        match &self.failed {
            Some(cause) => Err(to_io(cause)),
            None => {
                self.is_settled = true;
                Ok(())
            }
        }
    }
}

impl Drop for ArtifactWriter {
    fn drop(&mut self) {
        if !self.is_closed {
            self.close();
        }
    }
}

fn to_io(cause: &Cause) -> io::Error {
    let kind = match cause {
        Cause::DiskFull => io::ErrorKind::StorageFull,
        Cause::SessionQuota { .. } | Cause::TotalQuota { .. } => io::ErrorKind::QuotaExceeded,
        Cause::Gone => io::ErrorKind::NotFound,
        Cause::ReadOnly => io::ErrorKind::ReadOnlyFilesystem,
        Cause::Abandoned | Cause::WriterDied | Cause::Failed(_) => io::ErrorKind::Other,
    };
    io::Error::new(kind, cause.to_string())
}

#[cfg(test)]
mod tests;
