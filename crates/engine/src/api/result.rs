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
    /// A call that was started before, also one that is over.
    Execution {
        /// The id in the call's report.
        id: ExecutionId,
        /// How long to wait for the end of the call; the default is not to wait.
        #[serde(default, with = "crate::types::encoding::seconds_option")]
        wait: Option<Duration>,
    },
    /// Output that was too long for its report.
    Artifact {
        /// The id, with or without `artifact://`.
        id: String,
        /// The part to read; the whole may take several requests.
        part: ArtifactPart,
        /// Cleaned as a reader sees it, or exactly as it was written.
        #[serde(default)]
        form: ArtifactForm,
        /// Bytes of the content that the answer holds at most; the default is 50 KiB.
        #[serde(default)]
        max_bytes: Option<usize>,
    },
}

/// The form of stored text in an answer (B:O-08). Parts by bytes and by JSON path are always exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactForm {
    /// Without escape sequences, as a terminal would show it.
    #[default]
    Clean,
    /// Byte for byte, with all escape sequences.
    Raw,
}

/// A part of stored output. Each answer has a limit, and says where the next one starts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArtifactPart {
    /// The whole content, from this byte on.
    Whole {
        /// The first byte to return, from 0.
        #[serde(default)]
        offset: u64,
    },
    /// Lines, from 1, both ends included.
    Lines {
        /// The first line to return, from 1.
        start: usize,
        /// The last line; the default is the end of the content.
        #[serde(default)]
        end: Option<usize>,
    },
    /// Lines that match a regular expression.
    Grep {
        /// The expression, in the syntax of the `regex` crate.
        pattern: String,
        /// The lines to search, each range as its first and last line; all if there are none.
        #[serde(default)]
        lines: Vec<(usize, Option<usize>)>,
        /// How many lines to return around each match.
        #[serde(default)]
        context: u64,
    },
    /// The value at a path such as `.rows[0]["name"]`, or several as with `.rows[2:5].name`.
    Json {
        /// The path from the root of the content.
        path: String,
    },
}

/// The answer to a request for a result.
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
#[non_exhaustive]
pub struct ArtifactReport {
    /// The id, without `artifact://`.
    pub id: String,
    /// The ending of the artifact's file name, such as `md` or `png`.
    pub kind: String,
    /// The title of the artifact, for people.
    pub title: String,
    /// The size of the artifact in bytes.
    pub total_bytes: u64,
    /// The fault of the artifact, or a note that it is still being written.
    pub problem: Option<String>,
    /// The artifact's file, for programs of the same user.
    #[serde(with = "crate::types::encoding::path")]
    pub path: PathBuf,
    /// The part that was asked for.
    pub found: ArtifactFound,
}

/// A part of stored output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactFound {
    /// Consecutive bytes from `offset` on.
    Bytes {
        /// The first byte in this answer, from 0.
        offset: u64,
        /// The bytes as they are stored.
        #[serde(with = "crate::types::encoding::base64")]
        bytes: Vec<u8>,
        /// Where the next answer starts; none at the end.
        next_offset: Option<u64>,
    },
    /// Consecutive lines; a line that alone exceeds the answer is cut.
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
    /// Lines that match the pattern, in order.
    Grep {
        /// The first matching lines.
        hits: Vec<LineHit>,
        /// The number of matching lines.
        matching_lines: u64,
        /// The number of lines in the artifact.
        total_lines: u64,
        /// The matching lines that fit, with the lines around them; empty unless these were asked for.
        context: Vec<LinesPiece>,
    },
    /// The value at the end of the path.
    Json {
        /// The JSON type of the value, such as `object`.
        kind: String,
        /// The value as it is spelled, or its beginning.
        #[serde(with = "crate::types::encoding::base64")]
        bytes: Vec<u8>,
        /// Where the value starts in the artifact, in bytes.
        offset: u64,
        /// The size of the value in bytes.
        value_bytes: u64,
        /// The number of entries of an object or array.
        entries: Option<u64>,
    },
    /// Several values as an array, or facts about a value: its keys, its length or its skeleton.
    Made {
        /// The answer, or its beginning.
        text: String,
        /// The number of values or keys in the text.
        shown: u64,
        /// The number of all of them.
        count: u64,
    },
    /// The path leads to no value.
    NoValue {
        /// The number of steps that could be followed.
        followed: usize,
        /// The JSON type of the value where the path ends.
        kind: String,
        /// The number of entries where the path ends, for an object or array.
        entries: Option<u64>,
        /// The first keys where the path ends.
        keys: Vec<String>,
    },
}

/// Consecutive lines, from `first` to `last`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct LineCut {
    /// The number of the line, from 1.
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
#[non_exhaustive]
pub struct LineHit {
    /// The number of the line, from 1.
    pub line: u64,
    /// The line, or the part of it around the match.
    pub text: String,
    /// Whether `text` is only a part of the line.
    pub is_cut: bool,
}
