//! The destination of output that does not fit: bytes are held until a file is needed, and then written as they come.
//!
//! Owns the seam to the store of artifacts, and the handling of write failures. It must not know ids, folders or
//! quotas: the store opens a file on request and may refuse.

use std::collections::VecDeque;
use std::io::{self, Write};

use crate::output::model::{ArtifactRef, Notice, size};

/// The purpose of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content<'a> {
    /// The raw bytes of an execution's streams and the text of its displays, in order.
    Text,
    /// One form of a display.
    Form {
        /// The media type of the form.
        mime: &'a str,
    },
}

/// A file that was opened.
pub struct SpillFile {
    /// The id of the artifact.
    pub id: String,
    /// Receives the bytes. It is flushed at the end and then dropped.
    pub file: Box<dyn Write + Send>,
}

type Open = dyn FnMut(Content<'_>) -> io::Result<SpillFile> + Send;

/// Opens files for output that does not fit.
pub struct Spill {
    open: Option<Box<Open>>,
}

impl std::fmt::Debug for Spill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spill").field("is_there", &self.open.is_some()).finish()
    }
}

impl Spill {
    /// Opens files with `open`, which may be called several times: once for the text of an execution and once for every
    /// large form of a display.
    pub fn new(open: impl FnMut(Content<'_>) -> io::Result<SpillFile> + Send + 'static) -> Spill {
        Spill { open: Some(Box::new(open)) }
    }

    /// Keeps nothing: output that does not fit is lost, and no artifact is mentioned.
    pub fn none() -> Spill {
        Spill { open: None }
    }

    fn open(&mut self, content: Content<'_>) -> Option<io::Result<SpillFile>> {
        self.open.as_mut().map(|open| open(content))
    }

    /// Stores one form of a display completely. The notice says if that failed.
    pub(crate) fn store(
        &mut self,
        mime: &str,
        bytes: &[u8],
    ) -> (Option<ArtifactRef>, Option<Notice>) {
        let Some(opened) = self.open(Content::Form { mime }) else {
            return (None, None);
        };
        let written = opened.and_then(|mut opened| {
            opened.file.write_all(bytes)?;
            opened.file.flush()?;
            Ok(opened.id)
        });
        match written {
            Ok(id) => (Some(ArtifactRef { id, bytes: bytes.len() as u64 }), None),
            // Half an image or half a JSON text is useless, so it is not named.
            Err(error) => {
                let cause = cause_of(&error);
                (None, Some(Notice::ArtifactIncomplete { cause, after_bytes: 0, artifact: None }))
            }
        }
    }
}

/// A limit for one artifact (B:O-13): this much of its beginning and of its end is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArtifactLimit {
    /// Bytes of the beginning.
    pub head_bytes: u64,
    /// Bytes of the end, held in memory until then.
    pub tail_bytes: usize,
}

enum State {
    /// No file is open yet; the bytes are held.
    Held,
    Open(SpillFile),
    /// Writing failed, or no store exists.
    Failed {
        id: Option<String>,
        cause: Option<String>,
    },
}

/// All bytes of an execution in order, in memory first and in a file once needed.
pub(crate) struct RawLog {
    spill: Spill,
    state: State,
    held: Vec<u8>,
    held_limit: usize,
    limit: Option<ArtifactLimit>,
    /// The end of an artifact that exceeds its limit.
    tail: VecDeque<u8>,
    total: u64,
    /// Bytes that the file accepted.
    written: u64,
}

impl std::fmt::Debug for RawLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawLog").field("total", &self.total).finish_non_exhaustive()
    }
}

impl RawLog {
    /// Holds at most `held_limit` bytes before a file is opened.
    pub(crate) fn new(spill: Spill, held_limit: usize, limit: Option<ArtifactLimit>) -> RawLog {
        RawLog {
            spill,
            state: State::Held,
            held: Vec::new(),
            held_limit,
            limit,
            tail: VecDeque::new(),
            total: 0,
            written: 0,
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The artifact so far, if a file is open.
    pub(crate) fn so_far(&self) -> Option<ArtifactRef> {
        match &self.state {
            State::Open(opened) => Some(ArtifactRef { id: opened.id.clone(), bytes: self.written }),
            State::Held | State::Failed { .. } => None,
        }
    }

    pub(crate) fn spill(&mut self) -> &mut Spill {
        &mut self.spill
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if matches!(self.state, State::Held) {
            if self.held.len() + bytes.len() <= self.held_limit {
                self.held.extend_from_slice(bytes);
                return;
            }
            self.open();
        }
        self.write(bytes);
    }

    /// Moves everything to a file, from the first byte on.
    pub(crate) fn open(&mut self) {
        if !matches!(self.state, State::Held) {
            return;
        }
        self.state = match self.spill.open(Content::Text) {
            None => State::Failed { id: None, cause: None },
            Some(Err(error)) => State::Failed { id: None, cause: Some(cause_of(&error)) },
            Some(Ok(opened)) => State::Open(opened),
        };
        let held = std::mem::take(&mut self.held);
        self.write(&held);
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(limit) = self.limit else {
            return self.write_through(bytes);
        };
        let room = limit.head_bytes.saturating_sub(self.written);
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.write_through(&bytes[..fits]);
        let rest = &bytes[fits..];
        let rest = &rest[rest.len().saturating_sub(limit.tail_bytes)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(limit.tail_bytes);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    fn write_through(&mut self, mut bytes: &[u8]) {
        // `write_all` does not report how far it came, and that number is promised.
        while !bytes.is_empty() {
            let State::Open(opened) = &mut self.state else {
                return;
            };
            let failed = match opened.file.write(bytes) {
                Ok(0) => io::Error::from(io::ErrorKind::WriteZero),
                Ok(n) => {
                    self.written += n as u64;
                    bytes = &bytes[n.min(bytes.len())..];
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            self.fail(&failed);
        }
    }

    fn fail(&mut self, error: &io::Error) {
        let state = State::Failed { id: None, cause: Some(cause_of(error)) };
        if let State::Open(opened) = std::mem::replace(&mut self.state, state)
            && let State::Failed { id, .. } = &mut self.state
            // A file without content is not worth naming, and a removed one cannot be read.
            && self.written > 0
            && error.kind() != io::ErrorKind::NotFound
        {
            *id = Some(opened.id);
        }
    }

    /// Ends the log. Returns the stored artifact, and a notice if it is incomplete.
    pub(crate) fn finish(&mut self) -> (Option<ArtifactRef>, Option<Notice>) {
        if let Some(limit) = self.limit
            && !self.tail.is_empty()
        {
            let tail: Vec<u8> = std::mem::take(&mut self.tail).into();
            let dropped = self.total - self.written.min(self.total) - tail.len() as u64;
            self.limit = None;
            if dropped > 0 {
                let notice = format!(
                    "\n[ARTIFACT TRUNCATED: kept first {} + last {} of {}; {} elided from the middle]\n",
                    size(limit.head_bytes),
                    size(tail.len() as u64),
                    size(self.total),
                    size(dropped)
                );
                self.write_through(notice.as_bytes());
            }
            self.write_through(&tail);
        }
        if let State::Open(opened) = &mut self.state
            && let Err(error) = opened.file.flush()
        {
            self.fail(&error);
        }
        let bytes = self.written;
        match std::mem::replace(&mut self.state, State::Failed { id: None, cause: None }) {
            State::Held => (None, None),
            State::Open(opened) => (Some(ArtifactRef { id: opened.id, bytes }), None),
            State::Failed { id, cause } => {
                let after_bytes = if id.is_some() { bytes } else { 0 };
                let notice = cause.map(|cause| Notice::ArtifactIncomplete {
                    cause,
                    after_bytes,
                    artifact: None,
                });
                (id.map(|id| ArtifactRef { id, bytes }), notice)
            }
        }
    }
}

/// The cause of a write failure, in the words of the notice.
fn cause_of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "disk full".to_owned(),
        io::ErrorKind::QuotaExceeded => "quota reached".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "the artifact folder cannot be written".to_owned()
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "the artifact folder is gone".to_owned()
        }
        _ => error.to_string(),
    }
}
