//! Walkers over checked JSON text.
//!
//! They only look for ends, so they are several times faster than the scanner and cannot fail. On
//! unchecked text they return wrong spans, but stay inside the text.

use super::Span;
use super::string::decode;

/// Returns the offset past the value at `at`.
pub(crate) fn skip(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'"') => skip_string(bytes, at),
        Some(b'[' | b'{') => {
            let mut depth = 0usize;
            let mut at = at;
            while let Some(byte) = bytes.get(at) {
                match byte {
                    b'"' => {
                        at = skip_string(bytes, at);
                        continue;
                    }
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => {
                        depth -= 1;
                        if depth == 0 {
                            return at + 1;
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            bytes.len()
        }
        _ => {
            let rest = bytes.get(at..).unwrap_or_default();
            let ends =
                |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
            at + rest.iter().position(ends).unwrap_or(rest.len())
        }
    }
}

fn skip_string(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// A `"key": value` pair of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The key with its quotes.
    pub(crate) key: Span,
    pub(crate) value: Span,
}

impl Member {
    /// The span from the key's opening quote to the end of the value.
    pub(crate) fn whole(self) -> Span {
        Span { start: self.key.start, end: self.value.end }
    }
}

/// Finds the first key of the checked object at `bytes[0]`, and the start of its value. Unlike
/// [`members`] it does not walk over the rest.
pub(crate) fn first_key(bytes: &[u8]) -> Option<(Span, usize)> {
    let mut cursor = Cursor { bytes, at: 0 };
    (cursor.enter(b'{') && cursor.next_entry()).then(|| (cursor.key(), cursor.at))
}

/// The members of the checked object at `bytes[0]`; empty for any other value.
pub(crate) fn members(bytes: &[u8]) -> Vec<Member> {
    let mut found = Vec::new();
    let mut cursor = Cursor { bytes, at: 0 };
    if cursor.enter(b'{') {
        while cursor.next_entry() {
            found.push(Member { key: cursor.key(), value: cursor.value() });
        }
    }
    found
}

/// The items of the checked array at `bytes[0]`; empty for any other value.
pub(crate) fn items(bytes: &[u8]) -> Vec<Span> {
    let mut found = Vec::new();
    let mut cursor = Cursor { bytes, at: 0 };
    if cursor.enter(b'[') {
        while cursor.next_entry() {
            found.push(cursor.value());
        }
    }
    found
}

/// A position in checked text that walks into containers, so that nested values are passed only once.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: skip_space(bytes, 0) }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps past this opening bracket; false if another byte is here.
    pub(crate) fn enter(&mut self, bracket: u8) -> bool {
        let is_here = self.peek() == Some(bracket);
        self.at += usize::from(is_here);
        is_here
    }

    /// Steps to the next entry of the current container, or past its closing bracket.
    pub(crate) fn next_entry(&mut self) -> bool {
        self.at = skip_space(self.bytes, self.at);
        if self.peek() == Some(b',') {
            self.at = skip_space(self.bytes, self.at + 1);
        }
        match self.peek() {
            Some(b']' | b'}') => {
                self.at += 1;
                false
            }
            Some(_) => true,
            None => false,
        }
    }

    /// Steps over a key and its colon.
    pub(crate) fn key(&mut self) -> Span {
        let end = skip_string(self.bytes, self.at);
        let key = Span::new(self.at, end);
        self.at = skip_space(self.bytes, skip_space(self.bytes, end) + 1);
        key
    }

    /// Steps over a value, counting its lines when it is a string.
    pub(crate) fn value_lines(&mut self) -> (Span, usize) {
        if self.peek() != Some(b'"') {
            return (self.value(), 0);
        }
        let start = self.at;
        let (mut feeds, mut line_start) = (0, start + 1);
        self.at += 1;
        while let Some(found) =
            self.bytes.get(self.at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
        {
            self.at += found;
            if self.bytes[self.at] == b'"' {
                let lines = feeds + usize::from(line_start < self.at);
                self.at += 1;
                return (Span::new(start, self.at), lines);
            }
            let is_feed = self.bytes.get(self.at + 1) == Some(&b'n');
            self.at += 2;
            if is_feed {
                (feeds, line_start) = (feeds + 1, self.at);
            }
        }
        self.at = self.bytes.len();
        (Span::new(start, self.at), feeds)
    }

    /// Steps over a value and returns its span.
    pub(crate) fn value(&mut self) -> Span {
        let end = skip(self.bytes, self.at);
        let value = Span::new(self.at, end);
        self.at = end;
        value
    }
}

/// The value of `key` in a checked object. The last of duplicate keys counts, as in Python.
pub(crate) fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let is_key = |member: &Member| decode(member.key.of(object)).text == key;
    members(object).into_iter().rfind(is_key).map(|member| member.value.of(object))
}
