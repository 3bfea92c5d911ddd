//! JSON as bytes with positions: a scanner that accepts exactly what Python's `json.loads` accepts,
//! and walkers that hand out the span of every member and item.
//!
//! Owns the grammar, the escapes and the nesting limit. It must not know what a notebook is, and it
//! never builds a tree: values stay where they are in the file, as they are spelled there.

use std::borrow::Cow;

/// How deep values may nest. CPython's own scanner recurses and, at its default recursion limit,
/// takes 995 levels and refuses the 996th; counting to the same number keeps the two in step.
pub(crate) const MAX_DEPTH: usize = 995;

/// CPython refuses to convert a longer decimal integer (its guard against quadratic conversion).
const MAX_INTEGER_DIGITS: usize = 4300;

/// A range of bytes. Files are held below 4 GiB, so 32 bits are enough and keep cells small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The same range seen from `origin`.
    pub(crate) fn relative_to(self, origin: u32) -> Span {
        Span { start: self.start - origin, end: self.end - origin }
    }
}

/// Where the text stops being JSON, and what was wanted there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// Byte offset of the first byte that cannot be.
    pub offset: usize,
    /// What is wrong, as the end of a sentence.
    pub problem: &'static str,
}

/// The validating scanner. Besides checking it notices how the file spells non-ASCII text.
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    /// A byte above 0x7F was seen inside a string.
    pub(crate) raw_non_ascii: bool,
    /// An escape such as `\u00e9` was seen for a character that could have been written raw.
    pub(crate) escaped_non_ascii: bool,
}

/// Which containers are open: one bit a level, set for objects.
struct Nesting {
    bits: [u64; MAX_DEPTH / 64 + 1],
    depth: usize,
}

impl Nesting {
    fn push(&mut self, object: u64, offset: usize) -> Result<(), SyntaxError> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError { offset, problem: "values are nested more than 995 deep" });
        }
        let (word, bit) = (self.depth / 64, self.depth % 64);
        self.bits[word] = self.bits[word] & !(1 << bit) | object << bit;
        self.depth += 1;
        Ok(())
    }

    fn in_object(&self) -> bool {
        let level = self.depth - 1;
        self.bits[level / 64] >> (level % 64) & 1 == 1
    }
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Scanner<'a> {
        Scanner { bytes, raw_non_ascii: false, escaped_non_ascii: false }
    }

    pub(crate) fn peek(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(crate) fn skip_space(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(at) {
            at += 1;
        }
        at
    }

    /// Fails at `at`, saying "ends too early" when that is the end of the file.
    pub(crate) fn fail<T>(&self, at: usize, problem: &'static str) -> Result<T, SyntaxError> {
        let problem = if at >= self.bytes.len() { "the file ends in the middle" } else { problem };
        Err(SyntaxError { offset: at, problem })
    }

    /// Checks one value that starts at `at` and gives the offset just past it. `outer` is how many
    /// containers are open around it.
    pub(crate) fn value(&mut self, at: usize, outer: usize) -> Result<usize, SyntaxError> {
        let mut open = Nesting { bits: [0; MAX_DEPTH / 64 + 1], depth: outer };
        let mut at = at;
        loop {
            match self.peek(at) {
                Some(b'"') => at = self.string(at)?,
                Some(b'{') => {
                    open.push(1, at)?;
                    at = self.skip_space(at + 1);
                    if self.peek(at) != Some(b'}') {
                        at = self.key(at)?;
                        continue;
                    }
                }
                Some(b'[') => {
                    open.push(0, at)?;
                    at = self.skip_space(at + 1);
                    if self.peek(at) != Some(b']') {
                        continue;
                    }
                }
                _ => at = self.scalar(at)?,
            }
            loop {
                if open.depth == outer {
                    return Ok(at);
                }
                at = self.skip_space(at);
                match (self.peek(at), open.in_object()) {
                    (Some(b','), true) => {
                        at = self.skip_space(at + 1);
                        at = self.key(at)?;
                        break;
                    }
                    (Some(b','), false) => {
                        at = self.skip_space(at + 1);
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        open.depth -= 1;
                        at += 1;
                    }
                    (_, true) => return self.fail(at, "expected ',' or '}' here"),
                    (_, false) => return self.fail(at, "expected ',' or ']' here"),
                }
            }
        }
    }

    /// Checks `"key" :` and gives the offset of the value.
    fn key(&mut self, at: usize) -> Result<usize, SyntaxError> {
        if self.peek(at) != Some(b'"') {
            return self.fail(at, "expected a key in double quotes here");
        }
        let end = self.string(at)?;
        self.colon(end)
    }

    /// Steps over the colon after a key and gives the offset of the value.
    pub(crate) fn colon(&self, at: usize) -> Result<usize, SyntaxError> {
        let at = self.skip_space(at);
        if self.peek(at) != Some(b':') {
            return self.fail(at, "expected ':' after this key");
        }
        Ok(self.skip_space(at + 1))
    }

    /// Checks the string whose opening quote is at `open`; gives the offset past its closing quote.
    pub(crate) fn string(&mut self, open: usize) -> Result<usize, SyntaxError> {
        let mut seen = 0u8;
        let mut at = open + 1;
        loop {
            at = find_special(self.bytes, at, &mut seen);
            match self.peek(at) {
                Some(b'"') => break,
                Some(b'\\') => at = self.escape(at)?,
                Some(_) => {
                    let problem = "a control character stands unescaped in a string";
                    return Err(SyntaxError { offset: at, problem });
                }
                None => {
                    let problem = "the file ends inside a string";
                    return Err(SyntaxError { offset: at, problem });
                }
            }
        }
        if seen >= 0x80 {
            self.raw_non_ascii = true;
            if let Err(error) = std::str::from_utf8(&self.bytes[open..at]) {
                let offset = open + error.valid_up_to();
                return Err(SyntaxError { offset, problem: "these bytes are not UTF-8" });
            }
        }
        Ok(at + 1)
    }

    fn escape(&mut self, at: usize) -> Result<usize, SyntaxError> {
        match self.peek(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => match self.bytes.get(at + 2..at + 6).and_then(hex4) {
                Some(unit) => {
                    // A pair of surrogates is one character; a lone one cannot be written raw.
                    let could_be_raw = match unit {
                        0xD800..0xE000 => unescape(&self.bytes[at..]).0.is_some(),
                        _ => unit >= 0x80,
                    };
                    self.escaped_non_ascii |= could_be_raw;
                    Ok(at + 6)
                }
                None if self.bytes[at + 2..].iter().all(u8::is_ascii_hexdigit) => {
                    self.fail(self.bytes.len(), "")
                }
                None => self.fail(at, "expected four hexadecimal digits after \\u"),
            },
            None => self.fail(at + 1, ""),
            _ => self.fail(at, "this escape is not one of JSON's"),
        }
    }

    fn scalar(&self, at: usize) -> Result<usize, SyntaxError> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let words: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
        if let Some(word) = words.iter().find(|word| rest.starts_with(word)) {
            return Ok(at + word.len());
        }
        let digits = |from: usize| {
            let tail = rest.get(from..).unwrap_or_default();
            from + tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let start = usize::from(rest.first() == Some(&b'-'));
        let mut end = match rest.get(start) {
            Some(b'0') => start + 1,
            Some(b'1'..=b'9') => digits(start),
            None => return self.fail(at + start, ""),
            _ if words.iter().any(|word| word.starts_with(rest)) => {
                return self.fail(self.bytes.len(), "");
            }
            _ => return self.fail(at, "expected a value here"),
        };
        let integer_end = end;
        if rest.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
            end = digits(end + 1);
        }
        if let Some(b'e' | b'E') = rest.get(end) {
            let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            if digits(end + 1 + sign) > end + 1 + sign {
                end = digits(end + 1 + sign);
            }
        }
        if end == integer_end && end - start > MAX_INTEGER_DIGITS {
            return self.fail(at, "an integer has more than 4300 digits, which Python refuses");
        }
        Ok(at + end)
    }
}

/// The offset of the next quote, backslash or control character; ORs what it passed into `seen`.
fn find_special(bytes: &[u8], at: usize, seen: &mut u8) -> usize {
    // Two passes over a stretch that is still in the cache beat one that looks for everything: the
    // search is hand-tuned, and the check has no way out early, so it becomes vector instructions.
    let rest = bytes.get(at..).unwrap_or_default();
    let stretch = &rest[..memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())];
    let (mut control, mut all) = (0u8, 0u8);
    for &byte in stretch {
        control |= u8::from(byte < 0x20);
        all |= byte;
    }
    *seen |= all;
    if control == 0 {
        return at + stretch.len();
    }
    at + stretch.iter().position(|byte| *byte < 0x20).unwrap_or(stretch.len())
}

fn hex4(digits: &[u8]) -> Option<u32> {
    let mut unit = 0;
    for &digit in digits {
        unit = unit * 16 + (digit as char).to_digit(16)?;
    }
    (digits.len() == 4).then_some(unit)
}

/// Checks that `text` is one JSON value and nothing else. `outer` is how many containers will be
/// open around it where it is put.
pub(crate) fn check(text: &[u8], outer: usize) -> Result<(), SyntaxError> {
    let mut scanner = Scanner::new(text);
    let start = scanner.skip_space(0);
    let end = scanner.value(start, outer)?;
    let end = scanner.skip_space(end);
    if end < text.len() { scanner.fail(end, "text follows the value") } else { Ok(()) }
}

// ---------------------------------------------------------------------------------------------
// Walkers over text that has been checked. They look for ends only, so they are several times
// quicker than the scanner, and they cannot fail; on unchecked text they would give wrong spans
// but stay inside it.

/// The offset just past the value at `at`.
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

fn space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// One `"key": value` of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The key with its quotes.
    pub(crate) key: Span,
    pub(crate) value: Span,
}

impl Member {
    /// From the key's opening quote to the end of the value.
    pub(crate) fn whole(self) -> Span {
        Span { start: self.key.start, end: self.value.end }
    }
}

/// The first key of the checked object that starts at `bytes[0]`, and where its value begins. Unlike
/// [`members`] this does not walk over the rest.
pub(crate) fn first_key(bytes: &[u8]) -> Option<(Span, usize)> {
    let at = space(bytes, 1);
    if bytes.first() != Some(&b'{') || bytes.get(at) != Some(&b'"') {
        return None;
    }
    let end = skip_string(bytes, at);
    Some((Span::new(at, end), space(bytes, space(bytes, end) + 1)))
}

/// The members of the checked object that starts at `bytes[0]`; nothing for any other value.
pub(crate) fn members(bytes: &[u8]) -> Vec<Member> {
    let mut found = Vec::new();
    if bytes.first() != Some(&b'{') {
        return found;
    }
    let mut at = space(bytes, 1);
    while bytes.get(at) == Some(&b'"') {
        let key_end = skip_string(bytes, at);
        let value = space(bytes, space(bytes, key_end) + 1);
        let end = skip(bytes, value);
        found.push(Member { key: Span::new(at, key_end), value: Span::new(value, end) });
        at = space(bytes, end);
        if bytes.get(at) != Some(&b',') {
            break;
        }
        at = space(bytes, at + 1);
    }
    found
}

/// The items of the checked array that starts at `bytes[0]`; nothing for any other value.
pub(crate) fn items(bytes: &[u8]) -> Vec<Span> {
    let mut found = Vec::new();
    if bytes.first() != Some(&b'[') {
        return found;
    }
    let mut at = space(bytes, 1);
    while at < bytes.len() && bytes[at] != b']' {
        let end = skip(bytes, at);
        found.push(Span::new(at, end));
        at = space(bytes, end);
        if bytes.get(at) != Some(&b',') {
            break;
        }
        at = space(bytes, at + 1);
    }
    found
}

/// A place in checked text that walks into containers, so that nested values are passed only once.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: space(bytes, 0) }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps behind this opening bracket; stays when something else is here.
    pub(crate) fn enter(&mut self, bracket: u8) -> bool {
        let is_here = self.peek() == Some(bracket);
        self.at += usize::from(is_here);
        is_here
    }

    /// Steps to the next entry of the container the cursor is in, or past its closing bracket.
    pub(crate) fn next_entry(&mut self) -> bool {
        self.at = space(self.bytes, self.at);
        if self.peek() == Some(b',') {
            self.at = space(self.bytes, self.at + 1);
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
        self.at = space(self.bytes, space(self.bytes, end) + 1);
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

    /// Steps over a value.
    pub(crate) fn value(&mut self) -> Span {
        let end = skip(self.bytes, self.at);
        let value = Span::new(self.at, end);
        self.at = end;
        value
    }
}

/// The value of `key` in a checked object. Of duplicate keys the last one counts, as in Python.
pub(crate) fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let is_key = |member: &Member| decode(member.key.of(object)).text == key;
    members(object).into_iter().rfind(is_key).map(|member| member.value.of(object))
}

/// A decoded string, and whether it held something no Rust string can hold.
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    /// A lone surrogate was shown as U+FFFD.
    pub(crate) lossy: bool,
}

/// Decodes a checked string with its quotes; anything else gives the empty string.
pub(crate) fn decode(quoted: &[u8]) -> Decoded<'_> {
    let inner = match quoted {
        [b'"', inner @ .., b'"'] => inner,
        _ => return Decoded { text: Cow::Borrowed(""), lossy: false },
    };
    let Some(first) = memchr::memchr(b'\\', inner) else {
        return Decoded { text: String::from_utf8_lossy(inner), lossy: false };
    };
    let mut text = String::with_capacity(inner.len());
    let mut lossy = false;
    let mut rest = inner;
    let mut next = Some(first);
    while let Some(at) = next {
        text.push_str(&String::from_utf8_lossy(&rest[..at]));
        let (character, used) = unescape(&rest[at..]);
        lossy |= character.is_none();
        text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = rest.get(at + used..).unwrap_or_default();
        next = memchr::memchr(b'\\', rest);
    }
    text.push_str(&String::from_utf8_lossy(rest));
    Decoded { text: Cow::Owned(text), lossy }
}

/// The character an escape stands for (none for a lone surrogate) and the bytes it takes.
fn unescape(escape: &[u8]) -> (Option<char>, usize) {
    let simple = match escape.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let unit = |at: usize| escape.get(at..at + 4).and_then(hex4);
            let Some(high) = unit(2) else { return (None, 2) };
            if let (0xD800..0xDC00, Some(b"\\u"), Some(low @ 0xDC00..0xE000)) =
                (high, escape.get(6..8), unit(8))
            {
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return (char::from_u32(code), 12);
            }
            return (char::from_u32(high), 6);
        }
        Some(&other) => other as char,
        None => return (None, 1),
    };
    (Some(simple), 2)
}

/// Whether text outside ASCII is written as it is or as `\uXXXX`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NonAscii {
    Raw,
    Escaped,
}

/// Appends `text` as a JSON string, spelled as Python's `json.dumps` spells it.
pub(crate) fn encode(out: &mut Vec<u8>, text: &str, habit: NonAscii) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\0'..='\u{1f}' => {
                out.extend_from_slice(format!("\\u{:04x}", character as u32).as_bytes());
            }
            '\u{7f}'.. if habit == NonAscii::Escaped => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
            _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
#[path = "json/tests.rs"]
mod tests;
