//! Errors of artifacts, for callers that request one.
//!
//! Owns these errors and their kinds. A failure while writing an artifact is not an error but a fact about it: see
//! `record.rs`.

use std::io;
use std::path::{Path, PathBuf};

use super::id::ArtifactId;
use crate::types::{Kind, Suggestion};

/// Characters of the caller's input that an error repeats.
const SHOWN_CHARS: usize = 40;

/// The reason why an artifact is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The text does not have the form of an id.
    #[error(
        "{shown:?} is not an artifact ID (16 letters and digits, as in artifact://ID){}", Suggestion::words(.near)
    )]
    BadId {
        /// The given text, shortened.
        shown: String,
        /// Ids that the caller may have meant.
        near: Vec<Suggestion>,
    },
    /// No artifact has this id.
    #[error(
        "no artifact {id}: it was removed because of its age or to make room, or it belongs to \
         another session{}", Suggestion::words(.near)
    )]
    Unknown {
        /// The id as the caller gave it.
        id: ArtifactId,
        /// Ids that the caller may have meant.
        near: Vec<Suggestion>,
    },
    /// Lines were requested of an artifact without lines.
    #[error("artifact {id} is {kind}, which has no lines; read the whole artifact, or open {}", .path.display())]
    NotText {
        /// The artifact without lines.
        id: ArtifactId,
        /// The ending of its file name.
        kind: String,
        /// Its file, to open elsewhere.
        path: PathBuf,
    },
    /// A process is writing the artifact.
    #[error("artifact {id} is still being written; try again when its execution has ended")]
    Busy {
        /// The artifact that is being written.
        id: ArtifactId,
    },
    /// The folder for artifacts cannot be trusted.
    #[error("{}: {problem}; remove it or choose another state folder", .path.display())]
    Refused {
        /// The folder or file in question.
        path: PathBuf,
        /// The reason for the refusal.
        problem: &'static str,
    },
    /// The pattern is not valid.
    #[error("the pattern is not a regular expression: {problem}")]
    Pattern {
        /// The fault, as the parser reports it.
        problem: String,
    },
    /// The JSON path is not valid.
    #[error(
        "invalid JSON path {path:?} at {rest:?}; use .key, [0], [-1], [\"key\"], [2:5] or [*], \
         and at the end | keys, | length or | skeleton"
    )]
    JsonPath {
        /// The path as the caller gave it.
        path: String,
        /// The rest of the path from the error on, shortened.
        rest: String,
    },
    /// A JSON path was given for an artifact that is not JSON.
    #[error(
        "artifact {id} is not JSON: {problem} at byte {offset}; read it by lines or by pattern instead"
    )]
    NotJson {
        /// The artifact that was read.
        id: ArtifactId,
        /// The fault in its content.
        problem: &'static str,
        /// The place of the fault, in bytes.
        offset: u64,
    },
    /// The system refused an operation on a file.
    #[error("{}: cannot {what}: {source}", .path.display())]
    Io {
        /// The file or folder in question.
        path: PathBuf,
        /// The operation, to follow "cannot".
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

impl ArtifactError {
    pub(super) fn bad_id(given: &str) -> ArtifactError {
        ArtifactError::BadId { shown: shortened(given), near: Vec::new() }
    }

    pub(super) fn io(
        path: &Path,
        what: &'static str,
    ) -> impl Fn(io::Error) -> ArtifactError + use<> {
        let path = path.to_owned();
        move |source| ArtifactError::Io { path: path.clone(), what, source }
    }

    /// The kind of failure.
    pub fn kind(&self) -> Kind {
        match self {
            ArtifactError::BadId { .. }
            | ArtifactError::Refused { .. }
            | ArtifactError::Pattern { .. }
            | ArtifactError::JsonPath { .. }
            | ArtifactError::NotText { .. }
            | ArtifactError::NotJson { .. } => Kind::Invalid,
            ArtifactError::Unknown { .. } => Kind::NotFound,
            ArtifactError::Busy { .. } => Kind::Busy,
            ArtifactError::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory => Kind::Invalid,
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::ReadOnlyFilesystem => Kind::Unavailable,
                _ => Kind::Internal,
            },
        }
    }
}

/// For callers that use a plain writer. The kind of a system error stays.
impl From<ArtifactError> for io::Error {
    fn from(error: ArtifactError) -> io::Error {
        let kind = match &error {
            ArtifactError::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// The beginning of a caller's text.
pub(super) fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
