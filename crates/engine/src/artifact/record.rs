//! What is known of an artifact, and the small file beside it that says so.
//!
//! Owns the form of that file: one JSON object, padded to a fixed size, so that the last word about an
//! artifact can be written over the first one on a disk that has no room left. It must not know folders
//! or locks.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::id::ArtifactId;

/// How large the file is. Everything in it is bounded so that it fits.
pub(super) const SIZE: usize = 2048;
/// How much is kept of a name, a title or a MIME type.
const MAX_TEXT_BYTES: usize = 200;

/// Why an artifact does not hold everything. Faces show these words after "artifact incomplete:".
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The disk, or what the system lets us use of it, is full.
    DiskFull,
    /// The session has no more room.
    SessionQuota {
        /// How much it may use.
        limit_bytes: u64,
    },
    /// All sessions together have no more room.
    TotalQuota {
        /// How much they may use.
        limit_bytes: u64,
    },
    /// The file or its folder was removed while it was written.
    Gone,
    /// Nothing can be written there.
    ReadOnly,
    /// The execution was given up before its output had ended.
    Abandoned,
    /// The process that wrote it ended without a word.
    WriterDied,
    /// Anything else.
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

/// That an artifact holds only the beginning of what was given to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incomplete {
    /// How many bytes it holds.
    pub after_bytes: u64,
    /// Why there are no more.
    pub cause: Cause,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "artifact incomplete: {} after {} bytes", self.cause, self.after_bytes)
    }
}

/// Whether an artifact holds everything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArtifactState {
    /// It does.
    Complete,
    /// It is still being written.
    Writing,
    /// It holds only the beginning.
    Incomplete(Incomplete),
}

/// What is known of an artifact without reading it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArtifactInfo {
    /// Its id.
    pub id: ArtifactId,
    /// The name of the session it belongs to.
    pub session: String,
    /// Its MIME type.
    pub kind: String,
    /// What it is, for people.
    pub title: String,
    /// When it was begun.
    pub created: SystemTime,
    /// When its last byte was written; none while that goes on or when nobody said so.
    pub ended: Option<SystemTime>,
    /// How many bytes it holds.
    pub bytes: u64,
    /// How many lines it holds, where it is text and they were counted. A last line without a line end
    /// counts as well.
    pub lines: Option<u64>,
    /// Whether it holds everything that was given to it.
    pub state: ArtifactState,
    /// The file (`fullOutputPath`).
    pub path: PathBuf,
}

impl ArtifactInfo {
    /// From when its age is counted.
    pub(super) fn aged_from(&self) -> SystemTime {
        self.ended.unwrap_or(self.created)
    }
}

/// Whether a MIME type is text that has lines.
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

/// The endings that data files have.
pub(super) const ENDINGS: [&str; 8] = ["md", "png", "jpg", "gif", "webp", "svg", "pdf", "bin"];

/// The ending of a data file. Python's `output` looks for `<id>.md`, so all text is called that; what
/// is opened by other programs has the ending they know.
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

/// The content of the file.
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

    /// The file's bytes, always [`SIZE`] of them.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.resize(SIZE - 1, b' ');
        bytes.push(b'\n');
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
        serde_json::from_slice(bytes).ok()
    }

    /// What is known, given what the file itself says now. `is_written` tells whether somebody holds it.
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
            // Somebody changed the file: what was counted is not true of it any more.
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

/// A text on one line and of a size that fits, whatever somebody called a thing.
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
