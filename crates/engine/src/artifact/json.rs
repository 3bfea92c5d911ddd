//! A walk over JSON in a file, without loading it.
//!
//! Owns a small buffer and the grammar, as Python's `json` reads it. Nesting is counted, not recursed.
//! It must not know paths.

use super::error::ArtifactError;
use super::json_path::JsonKind;
use super::read::Artifact;

const BUFFER: usize = 64 * 1024;
/// As deep as notebooks may nest.
const MAX_DEPTH: usize = 995;
/// The longest number or word that is read.
const MAX_SCALAR_BYTES: usize = 8192;
/// The longest key that is compared.
const MAX_KEY_BYTES: usize = 64 * 1024;

/// A place in an artifact.
pub(super) struct JsonWalk<'a> {
    artifact: &'a Artifact,
    buffer: Vec<u8>,
    /// Where the buffer begins, how much of it is filled, and where in it the walk is.
    start: u64,
    filled: usize,
    at: usize,
}

/// What a value is, found out by going over it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Passed {
    pub(super) kind: JsonKind,
    pub(super) end: u64,
    /// How many entries an object or array has.
    pub(super) entries: Option<u64>,
}

impl<'a> JsonWalk<'a> {
    /// Stands at the first value.
    pub(super) fn new(artifact: &'a Artifact) -> Result<JsonWalk<'a>, ArtifactError> {
        let buffer = vec![0; BUFFER];
        let mut walk = JsonWalk { artifact, buffer, start: 0, filled: 0, at: 0 };
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

    /// What is filled and not yet passed; empty at the end of the file only.
    fn rest(&mut self) -> Result<&[u8], ArtifactError> {
        if self.at == self.filled {
            (self.start, self.at) = (self.offset(), 0);
            self.filled = self.artifact.fill(self.start, &mut self.buffer)?;
        }
        Ok(&self.buffer[self.at..self.filled])
    }

    fn peek(&mut self) -> Result<Option<u8>, ArtifactError> {
        Ok(self.rest()?.first().copied())
    }

    pub(super) fn fail<T>(&mut self, problem: &'static str) -> Result<T, ArtifactError> {
        let problem = if self.peek()?.is_none() { "the text ends in the middle" } else { problem };
        let id = self.artifact.info().id.clone();
        Err(ArtifactError::NotJson { id, problem, offset: self.offset() })
    }

    fn skip_space(&mut self) -> Result<(), ArtifactError> {
        loop {
            let rest = self.rest()?;
            let is_space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
            let space = rest.iter().take_while(is_space).count();
            let goes_on = space > 0 && space == rest.len();
            self.at += space;
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Steps over this byte; stays when something else is here.
    fn step(&mut self, byte: u8) -> Result<bool, ArtifactError> {
        let is_here = self.peek()? == Some(byte);
        self.at += usize::from(is_here);
        Ok(is_here)
    }

    /// The kind of value that begins here.
    pub(super) fn kind(&mut self) -> Result<JsonKind, ArtifactError> {
        Ok(match self.peek()? {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') => JsonKind::Null,
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => JsonKind::Number,
            _ => return self.fail("a value is wanted"),
        })
    }

    /// Goes into the object or array that begins here, to its first entry. False when it is empty.
    pub(super) fn enter(&mut self) -> Result<bool, ArtifactError> {
        let close = if self.peek()? == Some(b'{') { b'}' } else { b']' };
        self.at += 1;
        self.skip_space()?;
        Ok(!self.step(close)?)
    }

    /// Goes on to the next entry of the object or array the walk is in. False after the last.
    pub(super) fn next_entry(&mut self, kind: JsonKind) -> Result<bool, ArtifactError> {
        self.skip_space()?;
        if self.step(b',')? {
            self.skip_space()?;
            return Ok(true);
        }
        let close = if kind == JsonKind::Object { b'}' } else { b']' };
        if self.step(close)? { Ok(false) } else { self.fail("a comma or the end is wanted") }
    }

    /// Reads a key and goes to its value. None for a key that is too long to be compared.
    pub(super) fn key(&mut self) -> Result<Option<String>, ArtifactError> {
        let from = self.offset();
        let length = (self.pass_key()? - from) as usize;
        if length > MAX_KEY_BYTES {
            return Ok(None);
        }
        // Half a surrogate pair is no text, so no path can name such a key.
        Ok(serde_json::from_slice(&self.artifact.block(from, length)?).ok())
    }

    /// Goes over a key to its value; gives where the key ended.
    fn pass_key(&mut self) -> Result<u64, ArtifactError> {
        if self.peek()? != Some(b'"') {
            return self.fail("a key in double quotes is wanted");
        }
        self.string()?;
        let end = self.offset();
        self.skip_space()?;
        if !self.step(b':')? {
            return self.fail("a colon is wanted");
        }
        self.skip_space()?;
        Ok(end)
    }

    fn string(&mut self) -> Result<(), ArtifactError> {
        self.at += 1;
        loop {
            let rest = self.rest()?;
            if rest.is_empty() {
                return self.fail("");
            }
            let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                self.at = self.filled;
                continue;
            };
            let is_end = rest[found] == b'"';
            self.at += found + 1;
            if is_end {
                return Ok(());
            }
            if self.peek()?.is_none() {
                return self.fail("");
            }
            self.at += 1;
        }
    }

    fn scalar(&mut self) -> Result<(), ArtifactError> {
        let rest = self.rest()?;
        let length = rest.iter().take_while(|byte| is_scalar_byte(**byte)).count();
        if length < rest.len() {
            let is_scalar = is_scalar(&rest[..length]);
            self.at += length;
            return if is_scalar { Ok(()) } else { self.fail("a value is wanted") };
        }
        // It goes on behind the buffer, or the text ends with it.
        let mut word = Vec::new();
        while let Some(byte) = self.peek()?.filter(|byte| is_scalar_byte(*byte)) {
            if word.len() == MAX_SCALAR_BYTES {
                return self.fail("a number is too long");
            }
            word.push(byte);
            self.at += 1;
        }
        if is_scalar(&word) { Ok(()) } else { self.fail("a value is wanted") }
    }

    /// Goes over the value that begins here.
    pub(super) fn pass(&mut self) -> Result<Passed, ArtifactError> {
        let kind = self.kind()?;
        let mut entries = 0;
        let mut open: Vec<JsonKind> = Vec::new();
        loop {
            match self.kind()? {
                JsonKind::String => self.string()?,
                inner @ (JsonKind::Object | JsonKind::Array) => {
                    if open.len() == MAX_DEPTH {
                        return self.fail("values are nested more than 995 deep");
                    }
                    if self.enter()? {
                        open.push(inner);
                        entries += u64::from(open.len() == 1);
                        self.key_if(inner)?;
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            loop {
                let Some(&inner) = open.last() else {
                    let has_entries = matches!(kind, JsonKind::Object | JsonKind::Array);
                    let entries = has_entries.then_some(entries);
                    return Ok(Passed { kind, end: self.offset(), entries });
                };
                if self.next_entry(inner)? {
                    entries += u64::from(open.len() == 1);
                    self.key_if(inner)?;
                    break;
                }
                open.pop();
            }
        }
    }

    fn key_if(&mut self, kind: JsonKind) -> Result<(), ArtifactError> {
        if kind == JsonKind::Object { self.pass_key().map(drop) } else { Ok(()) }
    }
}

fn is_scalar_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Whether this is a number or one of the words. Only what the way needs is checked: `1.2.3` passes.
fn is_scalar(word: &[u8]) -> bool {
    let words: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let is_number = digits.first().is_some_and(u8::is_ascii_digit)
        && digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    is_number || words.contains(&word)
}
