//! Asking for what there already is: a call by its id, or a part of stored output.
//!
//! Owns the shapes. How artifacts are read is in `artifact/`.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ExecutionId, PythonReport};

/// What is asked for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ResultRequest {
    /// A call.
    Execution {
        /// Its id.
        id: ExecutionId,
        /// How long its end is waited for; not at all when nothing is said.
        #[serde(default, with = "crate::encoding::seconds_option")]
        wait: Option<Duration>,
    },
    /// Stored output.
    Artifact {
        /// Its id, with or without `artifact://`.
        id: String,
        /// Which part.
        part: ArtifactPart,
        /// As a reader sees it, or as it was written.
        #[serde(default)]
        form: ArtifactForm,
    },
}

/// Whether stored text is cleaned when it is read (B:O-08). Parts by bytes and by JSON path are always exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactForm {
    /// Without escape sequences, as a terminal would show it.
    #[default]
    Clean,
    /// Byte by byte.
    Raw,
}

/// Which part of stored output. Each answer has a limit and says where to go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArtifactPart {
    /// All of it, from a place on.
    Whole {
        /// The first byte.
        #[serde(default)]
        offset: u64,
    },
    /// Lines, from 1, both ends included.
    Lines {
        /// The first.
        start: usize,
        /// The last; to the end when nothing is said.
        #[serde(default)]
        end: Option<usize>,
    },
    /// Lines in which a regular expression is found.
    Grep {
        /// The expression.
        pattern: String,
    },
    /// The value at a path such as `.rows[0]["name"]`.
    Json {
        /// The path.
        path: String,
    },
}

/// What there is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultReport {
    /// A call, as far as it has come.
    Execution(Box<PythonReport>),
    /// A part of stored output.
    Artifact(Box<ArtifactReport>),
}

/// A part of stored output, and what it is a part of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArtifactReport {
    /// Its id.
    pub id: String,
    /// Its MIME type.
    pub kind: String,
    /// What it is, for people.
    pub title: String,
    /// How many bytes it has.
    pub total_bytes: u64,
    /// What is wrong with it, or that it is still being written.
    pub problem: Option<String>,
    /// The file.
    #[serde(with = "crate::encoding::path")]
    pub path: PathBuf,
    /// The part.
    pub found: ArtifactFound,
}

/// A part of stored output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactFound {
    /// Bytes that follow each other.
    Bytes {
        /// Where they begin.
        offset: u64,
        /// The bytes.
        #[serde(with = "crate::encoding::base64")]
        bytes: Vec<u8>,
        /// Where to go on; none at the end.
        next_offset: Option<u64>,
    },
    /// Lines.
    Lines {
        /// What was asked for, as far as it is there and fits.
        pieces: Vec<LinesPiece>,
        /// How many lines there are.
        total_lines: u64,
        /// The last line of the answer, when it is not all there.
        cut: Option<LineCut>,
        /// The first line that was asked for and did not fit.
        next_line: Option<u64>,
    },
    /// Lines that match.
    Grep {
        /// The first of them.
        hits: Vec<LineHit>,
        /// How many there are.
        matching_lines: u64,
        /// How many lines there are at all.
        total_lines: u64,
    },
    /// A value.
    Json {
        /// What it is.
        kind: String,
        /// The value as it is spelled, or its beginning.
        #[serde(with = "crate::encoding::base64")]
        bytes: Vec<u8>,
        /// Where it begins.
        offset: u64,
        /// How many bytes it has.
        value_bytes: u64,
        /// How many entries an object or array has.
        entries: Option<u64>,
    },
    /// The path leads nowhere.
    NoValue {
        /// How many of its steps could be followed.
        followed: usize,
        /// What is there.
        kind: String,
        /// How many entries it has.
        entries: Option<u64>,
        /// The first of its keys.
        keys: Vec<String>,
    },
}

/// Lines that follow each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinesPiece {
    /// The number of the first, from 1.
    pub first: u64,
    /// The number of the last.
    pub last: u64,
    /// The lines with their ends.
    #[serde(with = "crate::encoding::base64")]
    pub bytes: Vec<u8>,
}

/// A line that alone is more than an answer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LineCut {
    /// Its number.
    pub line: u64,
    /// How many bytes of it are in the answer.
    pub shown_bytes: u64,
    /// How many it has.
    pub line_bytes: u64,
    /// Where the rest begins.
    pub next_offset: Option<u64>,
}

/// A line that matches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LineHit {
    /// Its number.
    pub line: u64,
    /// It, or the part of it around the match.
    pub text: String,
    /// Whether that is not all of it.
    pub is_cut: bool,
}
