//! A walk over JSON in a file, without loading it.
//!
//! Owns a small buffer and the steps from token to token. It must not know paths or the grammar.

use inkcell_notebook::{JsonKind, JsonLimits, JsonRole, JsonScanner, JsonToken};

use super::error::ArtifactError;
use super::read::Artifact;

const BUFFER: usize = 64 * 1024;
/// Longer keys are not compared.
const MAX_KEY_BYTES: usize = 64 * 1024;

/// A position in an artifact.
pub(super) struct JsonWalk<'a> {
    artifact: &'a Artifact,
    buffer: Vec<u8>,
    /// File offset of the buffer, and its filled length.
    start: u64,
    filled: usize,
    scanner: JsonScanner,
    /// The last key, if a path can name it.
    key: Option<String>,
}

/// A place to which the walk can return.
pub(super) struct Mark(JsonScanner);

/// Facts about a value that the walk has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PassedValue {
    pub(super) kind: JsonKind,
    pub(super) end: u64,
    /// Number of entries of an object or array.
    pub(super) entries: Option<u64>,
}

/// What to do with the keys that the walk meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keys {
    Decode,
    Skip,
}

fn scanner(offset: u64) -> JsonScanner {
    JsonScanner::new(offset, JsonLimits::of_python(MAX_KEY_BYTES))
}

impl<'a> JsonWalk<'a> {
    /// Starts at the first value.
    pub(super) fn new(artifact: &'a Artifact) -> Result<JsonWalk<'a>, ArtifactError> {
        let has_mark = artifact.block(0, 3)? == b"\xef\xbb\xbf";
        Ok(JsonWalk {
            artifact,
            buffer: vec![0; BUFFER],
            start: 0,
            filled: 0,
            scanner: scanner(if has_mark { 3 } else { 0 }),
            key: None,
        })
    }

    /// The place behind the last token.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.scanner.clone())
    }

    /// Goes on behind the token after which the mark was made.
    pub(super) fn return_to(&mut self, mark: Mark) {
        self.scanner = mark.0;
    }

    /// Goes to a value, and returns its first token. No token follows behind the value.
    pub(super) fn enter(&mut self, offset: u64) -> Result<JsonToken<'static>, ArtifactError> {
        self.scanner = scanner(offset);
        self.next()
    }

    /// The last key; none if it is too long, or contains half of a surrogate pair.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Reads the next token, without its spelling. The value must go on.
    pub(super) fn next(&mut self) -> Result<JsonToken<'static>, ArtifactError> {
        self.read(Keys::Decode)
    }

    fn read(&mut self, keys: Keys) -> Result<JsonToken<'static>, ArtifactError> {
        loop {
            let offset = self.scanner.offset();
            let at = offset.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
            let mut rest = at.and_then(|at| self.buffer[..self.filled].get(at..)).unwrap_or(&[]);
            let is_end = rest.is_empty() && {
                self.filled = self.artifact.fill(offset, &mut self.buffer)?;
                self.start = offset;
                rest = &self.buffer[..self.filled];
                rest.is_empty()
            };
            let found = match is_end {
                true => self.scanner.finish(),
                false => self.scanner.next(&mut rest),
            };
            match found {
                Ok(Some(token)) => {
                    if token.role == JsonRole::Key && keys == Keys::Decode {
                        self.key = token.spelled.and_then(|key| serde_json::from_slice(key).ok());
                    }
                    return Ok(token.spelled_as(None));
                }
                Ok(None) if !is_end => {}
                Ok(None) => return Err(self.not_json(offset, "the text ends in the middle")),
                Err(fault) => return Err(self.not_json(fault.at, fault.problem)),
            }
        }
    }

    fn not_json(&self, offset: u64, problem: &'static str) -> ArtifactError {
        ArtifactError::NotJson { id: self.artifact.info().id.clone(), problem, offset }
    }

    /// Passes over the value that begins with this token.
    pub(super) fn pass(&mut self, first: JsonToken<'_>) -> Result<PassedValue, ArtifactError> {
        let JsonToken { kind, mut end, .. } = first;
        if first.role != JsonRole::Open {
            return Ok(PassedValue { kind, end, entries: None });
        }
        let mut entries = 0;
        loop {
            let token = self.read(Keys::Skip)?;
            entries += u64::from(token.is_entry && token.depth == first.depth + 1);
            if token.depth == first.depth {
                end = token.end;
                return Ok(PassedValue { kind, end, entries: Some(entries) });
            }
        }
    }
}
