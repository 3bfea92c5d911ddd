//! The facts about an artifact, and the small file beside it that holds them.
//!
//! Owns the form of that file: one JSON object, padded to a fixed size, so that the final record can overwrite the
//! first one even on a full disk. It must not know folders or locks.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::id::ArtifactId;

/// Size of the file. All parts are bounded so that they fit.
pub(super) const SIZE: usize = 2048;
/// Bytes kept of a name, a title or a MIME type.
const MAX_TEXT_BYTES: usize = 200;

/// The reason why an artifact is incomplete. Faces show these words after "artifact incomplete:".
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The disk, or the system's quota for this user, is full.
    DiskFull,
    /// The session has no more room.
    SessionQuota {
        /// Room for the session, in bytes.
        limit_bytes: u64,
    },
    /// All sessions together have no more room.
    TotalQuota {
        /// Room for all sessions, in bytes.
        limit_bytes: u64,
    },
    /// The file or its folder was removed during the write.
    Gone,
    /// The file system is read-only or denies access.
    ReadOnly,
    /// The execution was abandoned before its output ended.
    Abandoned,
    /// The writing process ended without a final record.
    WriterDied,
    /// Another error, in the words of the system.
    Failed(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: &u64| crate::output::size(*bytes);
        match self {
            Cause::DiskFull => f.write_str("disk full"),
            Cause::SessionQuota { limit_bytes } => {
                write!(f, "the session's quota of {} is used up", size(limit_bytes))
            }
            Cause::TotalQuota { limit_bytes } => {
                write!(f, "the quota of {} for all artifacts is used up", size(limit_bytes))
            }
            Cause::Gone => f.write_str("the file was removed while it was written"),
            Cause::ReadOnly => f.write_str("the artifact folder cannot be written"),
            Cause::Abandoned => f.write_str("the execution was given up"),
            Cause::WriterDied => f.write_str("the process that wrote it ended"),
            Cause::Failed(problem) => f.write_str(problem),
        }
    }
}

impl From<&std::io::Error> for Cause {
    fn from(error: &std::io::Error) -> Cause {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Cause::DiskFull,
            ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => Cause::ReadOnly,
            ErrorKind::NotFound => Cause::Gone,
            _ => Cause::Failed(bounded(&error.to_string())),
        }
    }
}

/// Marks an artifact that holds only the beginning of its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incomplete {
    /// Number of bytes that it holds.
    pub after_bytes: u64,
    /// The reason for the end.
    pub cause: Cause,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "artifact incomplete: {} after {} bytes", self.cause, self.after_bytes)
    }
}

/// Says if an artifact holds all of its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArtifactState {
    /// All content is in the file.
    Complete,
    /// A process is writing it.
    Writing,
    /// It holds only the beginning.
    Incomplete(Incomplete),
}

/// Facts about an artifact, known without reading it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ArtifactInfo {
    /// The id, which is also the stem of the file name.
    pub id: ArtifactId,
    /// Name of the session it belongs to.
    pub session: String,
    /// The ending of the file name, such as `md` or `png`.
    pub kind: String,
    /// The title for people.
    pub title: String,
    /// Time of its first byte.
    pub created: SystemTime,
    /// Time of its last byte; `None` while it is written or if its writer did not say.
    pub ended: Option<SystemTime>,
    /// Size of the data file in bytes.
    pub bytes: u64,
    /// Number of lines, if it is text and they were counted. A last line without a line end counts as well.
    pub lines: Option<u64>,
    /// Says if it holds all of its content.
    pub state: ArtifactState,
    /// Path of the file (`fullOutputPath`).
    pub path: PathBuf,
}

impl ArtifactInfo {
    /// Start of its age.
    pub(super) fn aged_from(&self) -> SystemTime {
        self.ended.unwrap_or(self.created)
    }
}

/// Returns true if a MIME type is text with lines.
pub fn is_text_kind(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            kind.as_str(),
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-ndjson"
        )
}

/// The file extensions of data files.
pub(super) const ENDINGS: [&str; 8] = ["md", "png", "jpg", "gif", "webp", "svg", "pdf", "bin"];

/// File extension for a MIME type. Python's `output` looks for `<id>.md`, so all text gets that extension. Files for
/// other programs get the extension that those know.
pub(super) fn ending(kind: &str) -> &'static str {
    match kind.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "application/pdf" => "pdf",
        kind if is_text_kind(kind) => "md",
        _ => "bin",
    }
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    Writing,
    Complete,
    Incomplete,
}

/// Content of the record file.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) kind: String,
    pub(super) title: String,
    created_ms: u64,
    ended_ms: Option<u64>,
    pub(super) bytes: u64,
    pub(super) lines: Option<u64>,
    pub(super) stage: Stage,
    pub(super) cause: Option<Cause>,
}

impl Record {
    pub(super) fn begin(
        id: &ArtifactId,
        session: &str,
        kind: &str,
        title: &str,
        now: SystemTime,
    ) -> Record {
        Record {
            id: id.as_str().to_owned(),
            session: bounded(session),
            kind: bounded(kind),
            title: bounded(title),
            created_ms: to_ms(now),
            ended_ms: None,
            bytes: 0,
            lines: None,
            stage: Stage::Writing,
            cause: None,
        }
    }

    pub(super) fn end(&mut self, now: SystemTime, cause: Option<Cause>) {
        self.ended_ms = Some(to_ms(now));
        self.stage = if cause.is_some() { Stage::Incomplete } else { Stage::Complete };
        self.cause = cause;
    }

    /// The bytes of the file, always [`SIZE`] of them.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.resize(SIZE - 1, b' ');
        bytes.push(b'\n');
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
        serde_json::from_slice(bytes).ok()
    }

    /// The facts, given the current size of the file. `is_written` says if a writer holds it.
    pub(super) fn info(
        &self,
        id: &ArtifactId,
        size: u64,
        is_written: bool,
        path: PathBuf,
    ) -> ArtifactInfo {
        let incomplete = |cause| ArtifactState::Incomplete(Incomplete { after_bytes: size, cause });
        let state = match self.stage {
            Stage::Writing if is_written => ArtifactState::Writing,
            Stage::Writing => incomplete(Cause::WriterDied),
            // The file was changed afterwards, so the counts no longer hold.
            _ if size != self.bytes => {
                incomplete(Cause::Failed("the file was changed afterwards".to_owned()))
            }
            Stage::Complete => ArtifactState::Complete,
            Stage::Incomplete => {
                incomplete(self.cause.clone().unwrap_or(Cause::Failed("unknown".to_owned())))
            }
        };
        ArtifactInfo {
            id: id.clone(),
            session: self.session.clone(),
            kind: self.kind.clone(),
            title: self.title.clone(),
            created: from_ms(self.created_ms),
            ended: self.ended_ms.map(from_ms),
            bytes: size,
            lines: self.lines.filter(|_| size == self.bytes),
            state,
            path,
        }
    }
}

/// Shortens a name to the limit and replaces control characters, so that it fits on one line.
fn bounded(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    text[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn to_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn from_ms(ms: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(ms)).unwrap_or(UNIX_EPOCH)
}
