//! Passes over one JSON value that arrives in blocks.
//!
//! Owns the grammar, as Python's `json` reads it. Nesting is counted instead of recursed, and little is kept between
//! two blocks. It must not know where the blocks come from.

use super::json_path::JsonKind;

/// The nesting limit of notebooks.
const MAX_DEPTH: usize = 995;
/// Longest number or word that is read.
const MAX_WORD_BYTES: usize = 8192;
/// Bytes of a string that are checked one by one before `memchr` takes over: most strings are short.
const NEAR: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Value,
    /// A value, or the end of an array that has just begun.
    ValueOrEnd,
    Key,
    /// A key, or the end of an object that has just begun.
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    /// The rest of a string.
    Inside(Text),
    /// The character after a backslash in a string.
    Escaped(Text),
    /// The rest of a number or a word.
    Word,
}

/// The kind of string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Text {
    Key,
    Value,
}

/// Result of reading a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// The value goes on in the next block.
    More,
    /// The value ended; this many bytes of the block belong to it.
    Done(usize),
}

/// A syntax error, with its position in the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) problem: &'static str,
}

/// A walk over one value.
#[derive(Debug)]
pub(super) struct Scan {
    next: Next,
    open: Vec<JsonKind>,
    /// The beginning of a number or word that a block cut.
    word: Vec<u8>,
    kind: JsonKind,
    entries: u64,
}

impl Default for Scan {
    fn default() -> Scan {
        Scan {
            next: Next::Value,
            open: Vec::new(),
            word: Vec::new(),
            kind: JsonKind::Null,
            entries: 0,
        }
    }
}

impl Scan {
    /// Gets ready for another value.
    pub(super) fn begin(&mut self) {
        (self.next, self.entries) = (Next::Value, 0);
        self.open.clear();
        self.word.clear();
    }

    /// The kind of the value, once it has begun.
    pub(super) fn kind(&self) -> JsonKind {
        self.kind
    }

    /// Entries so far, for an object or array.
    pub(super) fn entries(&self) -> Option<u64> {
        matches!(self.kind, JsonKind::Object | JsonKind::Array).then_some(self.entries)
    }

    /// Reads the next block.
    pub(super) fn feed(&mut self, block: &[u8]) -> Result<Progress, Wrong> {
        let mut at = 0;
        loop {
            match self.next {
                Next::Inside(text) => {
                    let Some(found) = string_stop(&block[at..]) else { return Ok(Progress::More) };
                    at += found + 1;
                    if block[at - 1] == b'\\' {
                        self.next = Next::Escaped(text);
                        continue;
                    }
                    match text {
                        Text::Key => self.next = Next::Colon,
                        Text::Value if self.open.is_empty() => return Ok(Progress::Done(at)),
                        Text::Value => self.next = Next::CommaOrEnd,
                    }
                }
                Next::Escaped(text) => {
                    if at == block.len() {
                        return Ok(Progress::More);
                    }
                    at += 1;
                    self.next = Next::Inside(text);
                }
                Next::Word => {
                    let length = block[at..].iter().take_while(|byte| is_word(**byte)).count();
                    let word = &block[at..at + length];
                    if at + length == block.len() || !self.word.is_empty() {
                        if self.word.len() + length > MAX_WORD_BYTES {
                            return Err(Wrong { at, problem: "a number is too long" });
                        }
                        self.word.extend_from_slice(word);
                    }
                    at += length;
                    if at == block.len() {
                        return Ok(Progress::More);
                    }
                    let is_one = if self.word.is_empty() {
                        is_scalar(word)
                    } else {
                        is_scalar(&std::mem::take(&mut self.word))
                    };
                    if !is_one {
                        return Err(Wrong { at, problem: "a value is wanted" });
                    }
                    if self.open.is_empty() {
                        return Ok(Progress::Done(at));
                    }
                    self.next = Next::CommaOrEnd;
                }
                _ => {
                    while block.get(at).is_some_and(|byte| is_space(*byte)) {
                        at += 1;
                    }
                    let Some(&byte) = block.get(at) else { return Ok(Progress::More) };
                    let is_end = self.step(byte).map_err(|problem| Wrong { at, problem })?;
                    at += usize::from(self.next != Next::Word);
                    if is_end {
                        return Ok(Progress::Done(at));
                    }
                }
            }
        }
    }

    /// Returns true if the value is complete at the end of the text. Only a number or word can end there.
    pub(super) fn ends(&self) -> bool {
        self.open.is_empty() && self.next == Next::Word && is_scalar(&self.word)
    }

    /// Handles a structural byte; returns true if it ends the value. The first byte of a word is left to be read with
    /// the rest.
    fn step(&mut self, byte: u8) -> Result<bool, &'static str> {
        match (self.next, byte) {
            (Next::CommaOrEnd, b',') => {
                let inner = self.open.last();
                self.next = if inner == Some(&JsonKind::Object) { Next::Key } else { Next::Value };
                self.entries += u64::from(self.open.len() == 1);
                Ok(false)
            }
            (Next::Key | Next::KeyOrEnd, b'"') => {
                if self.next == Next::KeyOrEnd {
                    self.entries += u64::from(self.open.len() == 1);
                }
                self.next = Next::Inside(Text::Key);
                Ok(false)
            }
            (Next::Colon, b':') => {
                self.next = Next::Value;
                Ok(false)
            }
            (Next::KeyOrEnd, b'}') | (Next::ValueOrEnd, b']') => Ok(self.close()),
            (Next::CommaOrEnd, b'}' | b']') => {
                let kind = if byte == b'}' { JsonKind::Object } else { JsonKind::Array };
                if self.open.last() == Some(&kind) {
                    Ok(self.close())
                } else {
                    Err("a comma or the end is wanted")
                }
            }
            (Next::Value | Next::ValueOrEnd, _) => self.value(byte).map(|()| false),
            (Next::CommaOrEnd, _) => Err("a comma or the end is wanted"),
            (Next::Colon, _) => Err("a colon is wanted"),
            _ => Err("a key in double quotes is wanted"),
        }
    }

    fn value(&mut self, byte: u8) -> Result<(), &'static str> {
        let kind = kind_of(byte).ok_or("a value is wanted")?;
        if self.open.is_empty() {
            self.kind = kind;
        }
        if self.next == Next::ValueOrEnd {
            self.entries += u64::from(self.open.len() == 1);
        }
        self.next = match kind {
            JsonKind::Object | JsonKind::Array => {
                if self.open.len() == MAX_DEPTH {
                    return Err("values are nested more than 995 deep");
                }
                self.open.push(kind);
                if kind == JsonKind::Object { Next::KeyOrEnd } else { Next::ValueOrEnd }
            }
            JsonKind::String => Next::Inside(Text::Value),
            JsonKind::Number | JsonKind::Bool | JsonKind::Null => Next::Word,
        };
        Ok(())
    }

    /// Leaves an object or array; returns true if that ended the value.
    fn close(&mut self) -> bool {
        self.open.pop();
        self.next = Next::CommaOrEnd;
        self.open.is_empty()
    }
}

/// The kind of value that begins with this byte.
pub(super) fn kind_of(byte: u8) -> Option<JsonKind> {
    Some(match byte {
        b'{' => JsonKind::Object,
        b'[' => JsonKind::Array,
        b'"' => JsonKind::String,
        b't' | b'f' => JsonKind::Bool,
        b'n' => JsonKind::Null,
        b'-' | b'0'..=b'9' | b'N' | b'I' => JsonKind::Number,
        _ => return None,
    })
}

/// Position of the first quote or backslash.
fn string_stop(bytes: &[u8]) -> Option<usize> {
    let is_stop = |byte: &u8| matches!(byte, b'"' | b'\\');
    let near = &bytes[..bytes.len().min(NEAR)];
    if let Some(found) = near.iter().position(is_stop) {
        return Some(found);
    }
    memchr::memchr2(b'"', b'\\', &bytes[near.len()..]).map(|found| near.len() + found)
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Returns true for a number or a known word. The check is loose, because the walk needs no more: `1.2.3` passes.
fn is_scalar(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    if digits.first().is_some_and(u8::is_ascii_digit) {
        return digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    }
    let words: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
    words.contains(&word)
}
