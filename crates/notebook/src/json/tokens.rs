//! The tokens of JSON that arrives in blocks of any size.
//!
//! Owns the grammar, as Python's `json` reads it, for readers of one value that they do not load: nesting is counted
//! instead of recursed, and at most one token is kept between two blocks. It checks neither escapes nor UTF-8, and of
//! a number only its characters. It must not know where the blocks come from.

use super::scan::{MAX_DEPTH, TOO_DEEP};

/// The longest number or word, in bytes, if spellings are shorter still.
const MAX_WORD_BYTES: usize = 8192;
/// Bytes of a string that are checked one by one before `memchr` takes over: most strings are short.
const NEAR: usize = 16;

/// The type of a JSON value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonKind {
    /// Keys with values, in braces.
    Object,
    /// Values in square brackets.
    Array,
    /// Text in double quotes.
    String,
    /// A number, `NaN`, `Infinity` or `-Infinity`; only Python writes the last three.
    Number,
    /// The word `true` or `false`.
    Bool,
    /// The word `null` alone.
    Null,
}

impl JsonKind {
    /// The name that JSON's own documents use.
    pub fn name(self) -> &'static str {
        match self {
            JsonKind::Object => "object",
            JsonKind::Array => "array",
            JsonKind::String => "string",
            JsonKind::Number => "number",
            JsonKind::Bool => "boolean",
            JsonKind::Null => "null",
        }
    }
}

/// The part that a token plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonRole {
    /// The bracket that opens an object or array.
    Open,
    /// The bracket that closes one.
    Close,
    /// The key of a member, a string.
    Key,
    /// A value without brackets.
    Scalar,
}

/// A token; commas, colons and blanks are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonToken<'t> {
    /// The part that it plays.
    pub role: JsonRole,
    /// The type of the value, also for the brackets of one.
    pub kind: JsonKind,
    /// The number of objects and arrays around it. A closing bracket has the number of its opening one.
    pub depth: usize,
    /// True for a key and for an item of an array: as many as the container has entries.
    pub is_entry: bool,
    /// Offset of its first byte in the text.
    pub start: u64,
    /// Offset behind its last byte.
    pub end: u64,
    /// The token as spelled; none if it is longer than the limit.
    pub spelled: Option<&'t [u8]>,
}

impl JsonToken<'_> {
    /// The same token with another spelling.
    pub fn spelled_as(self, spelled: Option<&[u8]>) -> JsonToken<'_> {
        let JsonToken { role, kind, depth, is_entry, start, end, .. } = self;
        JsonToken { role, kind, depth, is_entry, start, end, spelled }
    }
}

/// The reason why a text is not JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonFault {
    /// Offset of the byte that does not fit.
    pub at: u64,
    /// What is wrong there.
    pub problem: &'static str,
}

/// What a scanner allows and keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonLimits {
    /// The most objects and arrays around a value.
    pub depth: usize,
    /// The longest token whose spelling is returned, in bytes. A longer number is a fault.
    pub spelled: usize,
}

impl JsonLimits {
    /// The nesting that Python's `json` reads, and no spelling longer than this.
    pub fn of_python(spelled: usize) -> JsonLimits {
        JsonLimits { depth: MAX_DEPTH, spelled }
    }
}

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
    Inside(JsonRole),
    /// The rest of a number or a word.
    Word(JsonKind),
    /// Nothing but blanks, because the value is complete.
    Blank,
}

/// Reads the tokens of one value. Stands still after a fault.
#[derive(Clone, Debug)]
pub struct JsonScanner {
    limits: JsonLimits,
    next: Next,
    open: Nesting,
    /// Offset of the next byte, and of the token that is being read.
    at: u64,
    start: u64,
    /// True if the last block of a string ended in a backslash.
    is_escaped: bool,
    /// The current token's bytes in earlier blocks.
    kept: Vec<u8>,
}

/// The open objects and arrays, one bit each: a text of brackets must not take more memory than itself.
#[derive(Clone, Debug, Default)]
struct Nesting {
    is_object: Vec<u64>,
    depth: usize,
}

impl Nesting {
    fn push(&mut self, is_object: bool) {
        let (word, bit) = (self.depth / 64, 1 << (self.depth % 64));
        if word == self.is_object.len() {
            self.is_object.push(0);
        }
        let word = &mut self.is_object[word];
        *word = if is_object { *word | bit } else { *word & !bit };
        self.depth += 1;
    }

    fn last(&self) -> Option<JsonKind> {
        let at = self.depth.checked_sub(1)?;
        let is_object = self.is_object[at / 64] >> (at % 64) & 1 == 1;
        Some(if is_object { JsonKind::Object } else { JsonKind::Array })
    }
}

impl JsonScanner {
    /// A scanner for a value that begins at this offset, after blanks.
    pub fn new(at: u64, limits: JsonLimits) -> JsonScanner {
        JsonScanner {
            limits,
            next: Next::Value,
            open: Nesting::default(),
            at,
            start: at,
            is_escaped: false,
            kept: Vec::new(),
        }
    }

    /// Offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Reads the next token and moves `block` behind it; none if the token goes on in the next block.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or exceeds a limit.
    pub fn next<'t, 'b: 't>(
        &'t mut self,
        block: &mut &'b [u8],
    ) -> Result<Option<JsonToken<'t>>, JsonFault> {
        loop {
            match self.next {
                Next::Inside(role) => {
                    let (length, ends) = self.string_length(block);
                    let part = self.take(block, length);
                    if !ends {
                        self.keep(part, self.limits.spelled);
                        return Ok(None);
                    }
                    return Ok(Some(self.end_text(role, JsonKind::String, part)));
                }
                Next::Word(kind) => {
                    let length = block.iter().take_while(|byte| is_word(**byte)).count();
                    let limit = self.limits.spelled.max(MAX_WORD_BYTES) as u64;
                    if self.at + length as u64 - self.start > limit {
                        return Err(self.misfit("a number is too long"));
                    }
                    if length == block.len() {
                        let part = self.take(block, length);
                        self.keep(part, usize::MAX);
                        return Ok(None);
                    }
                    if !self.is_scalar(&block[..length]) {
                        return Err(self.misfit("a value is wanted"));
                    }
                    let part = self.take(block, length);
                    return Ok(Some(self.end_text(JsonRole::Scalar, kind, part)));
                }
                _ => {
                    let blanks = block.iter().take_while(|byte| is_blank(**byte)).count();
                    self.take(block, blanks);
                    let Some(&byte) = block.first() else { return Ok(None) };
                    (self.start, self.is_escaped) = (self.at, false);
                    self.kept.clear();
                    match self.step(byte)? {
                        Step::Begin(next) => self.next = next,
                        Step::Over(next) => {
                            self.next = next;
                            self.take(block, 1);
                        }
                        Step::Open(kind) => {
                            let (depth, is_entry) = (self.open.depth, self.is_item());
                            self.open.push(kind == JsonKind::Object);
                            self.next = match kind {
                                JsonKind::Object => Next::KeyOrEnd,
                                _ => Next::ValueOrEnd,
                            };
                            let part = self.take(block, 1);
                            return Ok(Some(self.token(
                                JsonRole::Open,
                                kind,
                                depth,
                                is_entry,
                                part,
                            )));
                        }
                        Step::Close(kind) => {
                            self.open.depth -= 1;
                            self.end_value();
                            let (depth, part) = (self.open.depth, self.take(block, 1));
                            return Ok(Some(self.token(JsonRole::Close, kind, depth, false, part)));
                        }
                    }
                }
            }
        }
    }

    /// Says that no block follows. A number at the very end of the text ends only there.
    ///
    /// # Errors
    ///
    /// The text ends in the middle of the value.
    pub fn finish(&mut self) -> Result<Option<JsonToken<'_>>, JsonFault> {
        match self.next {
            Next::Blank => Ok(None),
            Next::Word(kind) if self.open.depth == 0 && self.is_scalar(&[]) => {
                Ok(Some(self.end_text(JsonRole::Scalar, kind, &[])))
            }
            _ => Err(self.fault("the text ends in the middle")),
        }
    }

    fn fault(&self, problem: &'static str) -> JsonFault {
        JsonFault { at: self.at, problem }
    }

    /// The fault of the word that is being read, wherever blocks cut it.
    fn misfit(&self, problem: &'static str) -> JsonFault {
        JsonFault { at: self.start, problem }
    }

    fn take<'b>(&mut self, block: &mut &'b [u8], length: usize) -> &'b [u8] {
        let (part, rest) = block.split_at(length);
        *block = rest;
        self.at += length as u64;
        part
    }

    /// Keeps the part of a token that the end of a block cuts, if the token can still be within the limit.
    fn keep(&mut self, part: &[u8], limit: usize) {
        if self.kept.len() + part.len() <= limit {
            self.kept.extend_from_slice(part);
        }
    }

    /// The length of the current string in this block, and whether it ends there.
    fn string_length(&mut self, block: &[u8]) -> (usize, bool) {
        // The opening quote, or the character after a backslash.
        let is_passed = self.at == self.start || self.is_escaped;
        let mut at = usize::from(is_passed).min(block.len());
        self.is_escaped &= block.is_empty();
        while let Some(found) = string_stop(&block[at..]) {
            at += found + 1;
            if block[at - 1] == b'"' {
                return (at, true);
            }
            if at == block.len() {
                self.is_escaped = true;
                return (at, false);
            }
            at += 1;
        }
        (block.len(), false)
    }

    /// True if the current word, which ends with this part, is a number or one that JSON knows. The check of numbers
    /// is loose: `1.2.3` passes.
    fn is_scalar(&self, part: &[u8]) -> bool {
        let joined;
        let word = if self.kept.is_empty() {
            part
        } else {
            joined = [&self.kept, part].concat();
            &joined
        };
        let digits = word.strip_prefix(b"-").unwrap_or(word);
        if digits.first().is_some_and(u8::is_ascii_digit) {
            return digits
                .iter()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
        }
        let words: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
        words.contains(&word)
    }

    /// What a byte outside of strings and words does.
    fn step(&self, byte: u8) -> Result<Step, JsonFault> {
        let outer = self.open.last();
        Ok(match (self.next, byte) {
            (Next::CommaOrEnd, b',') if outer == Some(JsonKind::Object) => Step::Over(Next::Key),
            (Next::CommaOrEnd, b',') => Step::Over(Next::Value),
            (Next::Colon, b':') => Step::Over(Next::Value),
            (Next::Key | Next::KeyOrEnd, b'"') => Step::Begin(Next::Inside(JsonRole::Key)),
            (Next::CommaOrEnd | Next::KeyOrEnd, b'}') if outer == Some(JsonKind::Object) => {
                Step::Close(JsonKind::Object)
            }
            (Next::CommaOrEnd | Next::ValueOrEnd, b']') if outer == Some(JsonKind::Array) => {
                Step::Close(JsonKind::Array)
            }
            (Next::Value | Next::ValueOrEnd, _) => match kind_of(byte) {
                None => return Err(self.fault("a value is wanted")),
                Some(JsonKind::Object | JsonKind::Array)
                    if self.open.depth >= self.limits.depth =>
                {
                    let problem = match self.limits.depth {
                        MAX_DEPTH => TOO_DEEP,
                        _ => "values are nested too deep",
                    };
                    return Err(self.fault(problem));
                }
                Some(kind @ (JsonKind::Object | JsonKind::Array)) => Step::Open(kind),
                Some(JsonKind::String) => Step::Begin(Next::Inside(JsonRole::Scalar)),
                Some(kind) => Step::Begin(Next::Word(kind)),
            },
            (Next::CommaOrEnd, _) => return Err(self.fault("a comma or the end is wanted")),
            (Next::Colon, _) => return Err(self.fault("a colon is wanted")),
            (Next::Blank, _) => return Err(self.fault("text follows the value")),
            _ => return Err(self.fault("a key in double quotes is wanted")),
        })
    }

    fn is_item(&self) -> bool {
        self.open.last() == Some(JsonKind::Array)
    }

    fn end_value(&mut self) {
        self.next = if self.open.depth == 0 { Next::Blank } else { Next::CommaOrEnd };
    }

    /// Ends a key or a scalar with this part.
    fn end_text<'t, 'b: 't>(
        &'t mut self,
        role: JsonRole,
        kind: JsonKind,
        part: &'b [u8],
    ) -> JsonToken<'t> {
        let (depth, is_entry) = (self.open.depth, role == JsonRole::Key || self.is_item());
        match role {
            JsonRole::Key => self.next = Next::Colon,
            _ => self.end_value(),
        }
        self.token(role, kind, depth, is_entry, part)
    }

    fn token<'t, 'b: 't>(
        &'t mut self,
        role: JsonRole,
        kind: JsonKind,
        depth: usize,
        is_entry: bool,
        part: &'b [u8],
    ) -> JsonToken<'t> {
        let (start, end) = (self.start, self.at);
        let spelled = if end - start > self.limits.spelled as u64 {
            None
        } else if self.kept.is_empty() {
            Some(part)
        } else {
            self.kept.extend_from_slice(part);
            Some(&*self.kept)
        };
        JsonToken { role, kind, depth, is_entry, start, end, spelled }
    }
}

enum Step {
    /// This byte begins a string or a word.
    Begin(Next),
    /// This byte separates two tokens.
    Over(Next),
    Open(JsonKind),
    Close(JsonKind),
}

/// The tokens of a text in memory, each with its spelling, up to the end of the value or the first fault.
#[derive(Clone, Debug)]
pub struct JsonTokens<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    scanner: Option<JsonScanner>,
}

/// The tokens of a text in memory that holds one value. Takes every text that is JSON, whatever it is made of.
pub fn json_tokens(text: &[u8]) -> JsonTokens<'_> {
    let limits = JsonLimits { depth: usize::MAX, spelled: usize::MAX };
    JsonTokens { text, rest: text, scanner: Some(JsonScanner::new(0, limits)) }
}

impl<'a> Iterator for JsonTokens<'a> {
    type Item = Result<JsonToken<'a>, JsonFault>;

    fn next(&mut self) -> Option<Result<JsonToken<'a>, JsonFault>> {
        let mut scanner = self.scanner.take()?;
        let whole = |token: JsonToken<'_>| {
            token.spelled_as(self.text.get(token.start as usize..token.end as usize))
        };
        let found = match scanner.next(&mut self.rest).map(|token| token.map(whole)) {
            Ok(None) => scanner.finish().map(|token| token.map(whole)),
            found => found,
        };
        if found.is_ok() {
            self.scanner = Some(scanner);
        }
        found.transpose()
    }
}

/// The kind of value that begins with this byte.
fn kind_of(byte: u8) -> Option<JsonKind> {
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

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests;
