//! Requests for existing results: a call by its id, or a part of stored output.
//!
//! Owns the shapes. `artifact/` reads the artifacts.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PythonReport;
use crate::types::ExecutionId;

/// A request for an existing result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ResultRequest {
    Execution {
        id: ExecutionId,
        /// How long to wait for the end of the call; the default is not to wait.
        #[serde(default, with = "crate::types::encoding::seconds_option")]
        wait: Option<Duration>,
    },
    Artifact {
        /// The id, with or without `artifact://`.
        id: String,
        part: ArtifactPart,
        /// Cleaned as a reader sees it, or exactly as it was written.
        #[serde(default)]
        form: ArtifactForm,
    },
}

/// The form of stored text in an answer (B:O-08). Parts by bytes and by JSON path are always exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactForm {
    /// Without escape sequences, as a terminal would show it.
    #[default]
    Clean,
    Raw,
}

/// A part of stored output. Each answer has a limit, and says where the next one starts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArtifactPart {
    /// The whole content, from this byte on.
    Whole {
        #[serde(default)]
        offset: u64,
    },
    /// Lines, from 1, both ends included.
    Lines {
        start: usize,
        /// The last line; the default is the end of the content.
        #[serde(default)]
        end: Option<usize>,
    },
    /// Lines that match a regular expression.
    Grep { pattern: String },
    /// The value at a path such as `.rows[0]["name"]`.
    Json { path: String },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultReport {
    /// A call in its current state.
    Execution(Box<PythonReport>),
    /// A part of stored output.
    Artifact(Box<ArtifactReport>),
}

/// A part of stored output, with the artifact that it belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArtifactReport {
    pub id: String,
    pub kind: String,
    /// The title of the artifact, for people.
    pub title: String,
    /// The size of the artifact in bytes.
    pub total_bytes: u64,
    /// The fault of the artifact, or a note that it is still being written.
    pub problem: Option<String>,
    #[serde(with = "crate::types::encoding::path")]
    pub path: PathBuf,
    pub found: ArtifactFound,
}

/// A part of stored output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactFound {
    /// Consecutive bytes from `offset` on.
    Bytes {
        offset: u64,
        #[serde(with = "crate::types::encoding::base64")]
        bytes: Vec<u8>,
        /// Where the next answer starts; none at the end.
        next_offset: Option<u64>,
    },
    Lines {
        /// The requested lines that exist and fit.
        pieces: Vec<LinesPiece>,
        /// The number of lines in the artifact.
        total_lines: u64,
        /// The last line of the answer, if only a part of it fits.
        cut: Option<LineCut>,
        /// The first requested line that did not fit.
        next_line: Option<u64>,
    },
    Grep {
        /// The first matching lines.
        hits: Vec<LineHit>,
        /// The number of matching lines.
        matching_lines: u64,
        /// The number of lines in the artifact.
        total_lines: u64,
    },
    Json {
        kind: String,
        /// The value as it is spelled, or its beginning.
        #[serde(with = "crate::types::encoding::base64")]
        bytes: Vec<u8>,
        offset: u64,
        /// The size of the value in bytes.
        value_bytes: u64,
        /// The number of entries of an object or array.
        entries: Option<u64>,
    },
    /// The path leads to no value.
    NoValue {
        /// The number of steps that could be followed.
        followed: usize,
        kind: String,
        /// The number of entries where the path ends, for an object or array.
        entries: Option<u64>,
        /// The first keys where the path ends.
        keys: Vec<String>,
    },
}

/// Consecutive lines, from `first` to `last`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinesPiece {
    /// The number of the first line, from 1.
    pub first: u64,
    /// The number of the last line.
    pub last: u64,
    /// The lines with their line ends.
    #[serde(with = "crate::types::encoding::base64")]
    pub bytes: Vec<u8>,
}

/// A line that alone is larger than an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LineCut {
    pub line: u64,
    /// How many bytes of the line are in the answer.
    pub shown_bytes: u64,
    /// The size of the line in bytes.
    pub line_bytes: u64,
    /// The offset of the rest.
    pub next_offset: Option<u64>,
}

/// A line that matches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LineHit {
    pub line: u64,
    /// The line, or the part of it around the match.
    pub text: String,
    /// Whether `text` is only a part of the line.
    pub is_cut: bool,
}
