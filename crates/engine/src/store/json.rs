//! A walk over JSON in a file, without loading it.
//!
//! Owns a small buffer and the steps from entry to entry; `json_scan.rs` passes over whole values. It must not know
//! paths.

use super::error::ArtifactError;
use super::json_path::JsonKind;
use super::json_scan::{Progress, Scan, Wrong, is_space, kind_of};
use super::read::Artifact;

const BUFFER: usize = 64 * 1024;
/// Longer keys are not compared.
const MAX_KEY_BYTES: usize = 64 * 1024;
/// Error text for JSON that ends too early.
const CUT_OFF: &str = "the text ends in the middle";

/// A position in an artifact.
pub(super) struct JsonWalk<'a> {
    artifact: &'a Artifact,
    buffer: Vec<u8>,
    /// File offset of the buffer, its filled length, and the position of the walk in it.
    start: u64,
    filled: usize,
    at: usize,
    scan: Scan,
    /// The last key as spelled in the file, with its quotes.
    spelled: Vec<u8>,
}

/// Facts about a value that the walk has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Passed {
    pub(super) kind: JsonKind,
    pub(super) end: u64,
    /// Number of entries of an object or array.
    pub(super) entries: Option<u64>,
}

impl<'a> JsonWalk<'a> {
    /// Starts at the first value.
    pub(super) fn new(artifact: &'a Artifact) -> Result<JsonWalk<'a>, ArtifactError> {
        let mut walk = JsonWalk {
            artifact,
            buffer: vec![0; BUFFER],
            start: 0,
            filled: 0,
            at: 0,
            scan: Scan::default(),
            spelled: Vec::new(),
        };
        if artifact.block(0, 3)? == b"\xef\xbb\xbf" {
            walk.seek(3);
        }
        walk.skip_space()?;
        Ok(walk)
    }

    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    pub(super) fn seek(&mut self, offset: u64) {
        if (self.start..self.start + self.filled as u64).contains(&offset) {
            self.at = (offset - self.start) as usize;
        } else {
            (self.start, self.filled, self.at) = (offset, 0, 0);
        }
    }

    /// Reads more of the file if the buffer is used up. At the end of the file it stays empty.
    fn refill(&mut self) -> Result<(), ArtifactError> {
        if self.at == self.filled {
            (self.start, self.at) = (self.offset(), 0);
            self.filled = self.artifact.fill(self.start, &mut self.buffer)?;
        }
        Ok(())
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.filled]
    }

    fn peek(&mut self) -> Result<Option<u8>, ArtifactError> {
        self.refill()?;
        Ok(self.rest().first().copied())
    }

    fn fail<T>(&mut self, problem: &'static str) -> Result<T, ArtifactError> {
        let problem = if self.peek()?.is_none() { CUT_OFF } else { problem };
        let id = self.artifact.info().id.clone();
        Err(ArtifactError::NotJson { id, problem, offset: self.offset() })
    }

    fn skip_space(&mut self) -> Result<(), ArtifactError> {
        while self.peek()?.is_some_and(is_space) {
            let space = self.rest().iter().take_while(|byte| is_space(**byte)).count();
            self.at += space;
        }
        Ok(())
    }

    /// Steps over this byte if it comes next.
    fn step(&mut self, byte: u8) -> Result<bool, ArtifactError> {
        let is_here = self.peek()? == Some(byte);
        self.at += usize::from(is_here);
        Ok(is_here)
    }

    /// The kind of value that begins here.
    pub(super) fn kind(&mut self) -> Result<JsonKind, ArtifactError> {
        match self.peek()?.and_then(kind_of) {
            Some(kind) => Ok(kind),
            None => self.fail("a value is wanted"),
        }
    }

    /// Enters the object or array that begins here, up to its first entry. Returns false if it is empty.
    pub(super) fn enter(&mut self) -> Result<bool, ArtifactError> {
        let close = if self.peek()? == Some(b'{') { b'}' } else { b']' };
        self.at += 1;
        self.skip_space()?;
        Ok(!self.step(close)?)
    }

    /// Moves to the next entry of the current object or array. Returns false after the last.
    pub(super) fn next_entry(&mut self, kind: JsonKind) -> Result<bool, ArtifactError> {
        self.skip_space()?;
        if self.step(b',')? {
            self.skip_space()?;
            return Ok(true);
        }
        let close = if kind == JsonKind::Object { b'}' } else { b']' };
        if self.step(close)? { Ok(false) } else { self.fail("a comma or the end is wanted") }
    }

    /// Reads a key and moves to its value. Returns false for a key that no path can name: it is too long, or contains
    /// half of a surrogate pair.
    pub(super) fn key(&mut self, key: &mut String) -> Result<bool, ArtifactError> {
        if self.peek()? != Some(b'"') {
            return self.fail("a key in double quotes is wanted");
        }
        let has_escapes = self.spell_key()?;
        self.skip_space()?;
        if !self.step(b':')? {
            return self.fail("a colon is wanted");
        }
        self.skip_space()?;
        key.clear();
        let inner = self.spelled.len().saturating_sub(1);
        if inner > MAX_KEY_BYTES {
            return Ok(false);
        }
        if has_escapes {
            let decoded: Option<String> = serde_json::from_slice(&self.spelled).ok();
            key.push_str(decoded.as_deref().unwrap_or_default());
            return Ok(decoded.is_some());
        }
        let text = std::str::from_utf8(&self.spelled[1..inner]);
        key.push_str(text.unwrap_or_default());
        Ok(text.is_ok())
    }

    /// Copies the key that begins here, up to the length limit. Returns true if it contains escapes.
    fn spell_key(&mut self) -> Result<bool, ArtifactError> {
        self.spelled.clear();
        self.spelled.push(b'"');
        self.at += 1;
        let mut has_escapes = false;
        loop {
            self.refill()?;
            let rest = &self.buffer[self.at..self.filled];
            if rest.is_empty() {
                return self.fail(CUT_OFF);
            }
            let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            let length = found.map_or(rest.len(), |found| found + 1);
            let is_end = found.is_some_and(|found| rest[found] == b'"');
            if self.spelled.len() <= MAX_KEY_BYTES {
                self.spelled.extend_from_slice(&rest[..length]);
            }
            self.at += length;
            if is_end {
                return Ok(has_escapes);
            }
            if found.is_some() {
                has_escapes = true;
                let Some(byte) = self.peek()? else { return self.fail(CUT_OFF) };
                self.spelled.push(byte);
                self.at += 1;
            }
        }
    }

    /// Passes over the value that begins here.
    pub(super) fn pass(&mut self) -> Result<Passed, ArtifactError> {
        self.scan.begin();
        loop {
            self.refill()?;
            let rest = &self.buffer[self.at..self.filled];
            if rest.is_empty() {
                if self.scan.ends() {
                    break;
                }
                return self.fail(CUT_OFF);
            }
            match self.scan.feed(rest) {
                Ok(Progress::More) => self.at = self.filled,
                Ok(Progress::Done(length)) => {
                    self.at += length;
                    break;
                }
                Err(Wrong { at, problem }) => {
                    self.at += at;
                    return self.fail(problem);
                }
            }
        }
        Ok(Passed { kind: self.scan.kind(), end: self.offset(), entries: self.scan.entries() })
    }
}
