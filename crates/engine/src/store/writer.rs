//! Writes an artifact: every byte in order until a failure, and then a final record.
//!
//! Owns an artifact from its first byte to its final record. A failure stops the writing and is a fact, not an error:
//! the cell that made the output goes on (F-034, F-035). It must not know what the bytes mean.

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

/// Attempts with another id if the name is taken or the folder vanishes.
const TRIES: usize = 10;

/// An artifact that is being written.
///
/// [`ArtifactWriter::append`] never fails; as a [`Write`] it fails from the first failure on. A dropped writer is
/// complete if it was flushed after the last byte, and otherwise abandoned.
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
    /// Destination of the bytes: the same file, or in tests a writer that fails.
    out: Box<dyn Write + Send>,
    index: LineIndex,
    /// Bytes that may be written before more room is requested.
    room: u64,
    failed: Option<Cause>,
    is_settled: bool,
    is_closed: bool,
}

/// The result of writing an artifact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteResult {
    /// The artifact; `None` if nothing useful was kept.
    pub info: Option<ArtifactInfo>,
    /// The reason why it is incomplete.
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
            // Meanwhile a clean-up may have taken the file for a remnant, or may be about to.
            let locked = match file.try_lock() {
                Ok(()) => file.metadata().map_err(&failed)?.nlink() > 0,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => {
                    let _ = folder.remove(&name);
                    return Err(failed(error));
                }
            };
            if !locked {
                // No other process can have created a file of this name; if the removal fails, it stays as a remnant.
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
                    // Without a record it is a remnant; a sweep removes it if this fails.
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

    /// The id to give to readers.
    pub fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// Number of bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// The failure so far, if any.
    pub fn incomplete(&self) -> Option<Incomplete> {
        let cause = self.failed.clone()?;
        Some(Incomplete { after_bytes: self.bytes(), cause })
    }

    /// Appends bytes. After a failure it drops them, and [`ArtifactWriter::incomplete`] has the reason.
    pub fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.failed.is_none() {
            // Retry an interrupted write. `write_some` records any other failure, which ends the loop.
            if let Ok(written) = self.write_some(bytes) {
                bytes = &bytes[written..];
            }
        }
    }

    /// Writes as much as one call takes. A failure is final: a gap in the middle would be worse than an early end.
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

    /// Ends the artifact. The record written after the last byte is the truth about it.
    pub fn finish(mut self) -> WriteResult {
        self.is_settled = true;
        self.close()
    }

    fn close(&mut self) -> WriteResult {
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
        // The beginning of a text is useful; an empty file or a part of a picture is not.
        if !is_there || (cause.is_some() && (self.bytes() == 0 || !is_text)) {
            for name in [&record_name(&self.id), &self.name] {
                // Files that cannot be removed now look incomplete to all readers and go with age.
                let _ = self.folder.remove(name);
            }
            let incomplete = cause.map(|cause| Incomplete { after_bytes: 0, cause });
            return WriteResult { info: None, incomplete };
        }
        if is_text {
            self.record.lines = Some(self.index.lines());
            self.keep_index();
        }
        self.record.bytes = self.bytes();
        self.record.end((self.store.config.now)(), cause.clone());
        // The file already has this size, so a full disk does not matter. If the write fails all the same, the record
        // still says "writing", which means incomplete without a lock.
        let _ = self.record_file.write_all_at(&self.record.to_bytes(), 0);
        let path = self.folder.path().join(&self.name);
        let info = self.record.info(&self.id, self.bytes(), false, path);
        let incomplete = cause.map(|cause| Incomplete { after_bytes: self.bytes(), cause });
        WriteResult { info: Some(info), incomplete }
    }

    /// Stores the line index of a long text. Without it lines are found by counting.
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

    /// Succeeds if all bytes so far are in the file and the file still exists.
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
