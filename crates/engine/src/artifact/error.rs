//! What can go wrong with artifacts, for whoever asks for one.
//!
//! Owns these errors and their kinds. A failure while one is written is no error but a fact about the
//! artifact: see `record.rs`.

use std::io;
use std::path::{Path, PathBuf};

use super::id::ArtifactId;
use crate::error::Kind;

/// How much of what a caller gave is shown again.
const SHOWN_CHARS: usize = 40;

/// Why an artifact cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Not an id.
    #[error(
        "{shown:?} is not an artifact id: an id is 16 characters of a-z and 0-9, as an answer gave it \
         behind artifact://{}", near_words(.near)
    )]
    BadId {
        /// What was given, shortened.
        shown: String,
        /// Those it may have been meant for.
        near: Vec<ArtifactId>,
    },
    /// No artifact of this id.
    #[error(
        "there is no artifact {id}: it was removed because of its age or to make room, or it is of \
         another session{}", near_words(.near)
    )]
    Unknown {
        /// The id.
        id: ArtifactId,
        /// Those it may have been meant for.
        near: Vec<ArtifactId>,
    },
    /// Lines of something that has none.
    #[error("artifact {id} is {kind}, which has no lines; read all of it, or open {}", .path.display())]
    NotText {
        /// The artifact.
        id: ArtifactId,
        /// Its MIME type.
        kind: String,
        /// Its file.
        path: PathBuf,
    },
    /// It is being written.
    #[error("artifact {id} is being written; try again when its execution has ended")]
    Busy {
        /// The id.
        id: ArtifactId,
    },
    /// The place where artifacts are kept cannot be trusted.
    #[error("{}: {problem}; remove it or choose another state folder", .path.display())]
    Refused {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A pattern has no meaning.
    #[error("the pattern is not a regular expression: {problem}")]
    Pattern {
        /// What is wrong.
        problem: String,
    },
    /// A JSON path has no meaning.
    #[error(
        "the JSON path {path:?} is not understood at {rest:?}; use .key, [0], [-1] or [\"key\"]"
    )]
    JsonPath {
        /// The path, shortened.
        path: String,
        /// From where on, shortened.
        rest: String,
    },
    /// A JSON path into something that is not JSON.
    #[error(
        "artifact {id} is not JSON: {problem} at byte {offset}; read it by lines or by pattern instead"
    )]
    NotJson {
        /// The artifact.
        id: ArtifactId,
        /// What was wanted.
        problem: &'static str,
        /// Where.
        offset: u64,
    },
    /// The system refused.
    #[error("{}: cannot {what}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
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

    /// The sort of failure.
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

/// For those who take a plain writer: the kind of the system's error stays.
impl From<ArtifactError> for io::Error {
    fn from(error: ArtifactError) -> io::Error {
        let kind = match &error {
            ArtifactError::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

fn near_words(near: &[ArtifactId]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; the nearest is {one}"),
        some => {
            let ids: Vec<&str> = some.iter().map(ArtifactId::as_str).collect();
            format!("; it may be one of {}", ids.join(", "))
        }
    }
}

/// The beginning of a text that somebody gave.
pub(super) fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
