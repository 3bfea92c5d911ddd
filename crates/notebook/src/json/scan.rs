//! The scanner that checks a text. It accepts exactly what Python's `json.loads` accepts.
//!
//! Owns the grammar and the nesting limit.

use super::Span;
use super::string::{hex4, unescape};

/// The deepest nesting of values. CPython's scanner recurses and, at its default recursion limit,
/// accepts 995 levels and refuses the 996th; the same limit keeps the two in step.
pub(crate) const MAX_DEPTH: usize = 995;
pub(crate) const TOO_DEEP: &str = "values are nested more than 995 deep";

/// The longest decimal integer. CPython refuses longer ones to guard against quadratic conversion.
const MAX_INTEGER_DIGITS: usize = 4300;

/// The position at which a text stops being JSON, and the problem there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SyntaxError {
    /// Byte offset of the first byte that does not fit.
    pub offset: usize,
    /// The problem as the end of a sentence.
    pub problem: &'static str,
}

/// The validating scanner. It also records how the file spells non-ASCII text.
pub(crate) struct Scanner<'a> {
    pub(crate) bytes: &'a [u8],
    /// A string contained a byte above 0x7F.
    pub(crate) raw_non_ascii: bool,
    /// A string contained an escape such as `\u00e9` for a character that could be raw.
    pub(crate) escaped_non_ascii: bool,
}

/// The open containers: one bit a level, set for objects.
struct Nesting {
    bits: [u64; MAX_DEPTH / 64 + 1],
    depth: usize,
}

impl Nesting {
    fn push(&mut self, object: u64, offset: usize) -> Result<(), SyntaxError> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError { offset, problem: TOO_DEEP });
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

    /// Fails at `at`; at the end of the file the problem is that the file ends in the middle.
    pub(crate) fn fail<T>(&self, at: usize, problem: &'static str) -> Result<T, SyntaxError> {
        let problem = if at >= self.bytes.len() { "the file ends in the middle" } else { problem };
        Err(SyntaxError { offset: at, problem })
    }

    /// Checks one value that starts at `at` and returns the offset past it. `outer` is the number of
    /// open containers around it.
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
                        at = self.key(at)?.1;
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
                        at = self.key(at)?.1;
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

    /// Checks `"key" :` and returns the key and the offset of the value.
    fn key(&mut self, at: usize) -> Result<(Span, usize), SyntaxError> {
        if self.peek(at) != Some(b'"') {
            return self.fail(at, "expected a key in double quotes here");
        }
        let end = self.string(at)?;
        let colon = self.skip_space(end);
        if self.peek(colon) != Some(b':') {
            return self.fail(colon, "expected ':' after this key");
        }
        Ok((Span::new(at, end), self.skip_space(colon + 1)))
    }

    /// Walks the object that opens at `open` and returns the offset past it. For each member, calls
    /// `member` with the key and the offset of its value; `member` checks the value and returns the
    /// offset past it.
    pub(crate) fn object(
        &mut self,
        open: usize,
        mut member: impl FnMut(&mut Self, Span, usize) -> Result<usize, SyntaxError>,
    ) -> Result<usize, SyntaxError> {
        self.entries(open, b'}', "expected ',' or '}' here", |scanner, at| {
            let (key, value) = scanner.key(at)?;
            member(scanner, key, value)
        })
    }

    /// [`Scanner::object`] for an array; the callback gets the offset of each item.
    pub(crate) fn array(
        &mut self,
        open: usize,
        item: impl FnMut(&mut Self, usize) -> Result<usize, SyntaxError>,
    ) -> Result<usize, SyntaxError> {
        self.entries(open, b']', "expected ',' or ']' here", item)
    }

    fn entries(
        &mut self,
        open: usize,
        close: u8,
        problem: &'static str,
        mut entry: impl FnMut(&mut Self, usize) -> Result<usize, SyntaxError>,
    ) -> Result<usize, SyntaxError> {
        let mut at = self.skip_space(open + 1);
        if self.peek(at) == Some(close) {
            return Ok(at + 1);
        }
        loop {
            at = entry(self, at)?;
            at = self.skip_space(at);
            match self.peek(at) {
                Some(b',') => at = self.skip_space(at + 1),
                Some(byte) if byte == close => return Ok(at + 1),
                _ => return self.fail(at, problem),
            }
        }
    }

    /// Checks the string whose opening quote is at `open` and returns the offset past its closing
    /// quote.
    fn string(&mut self, open: usize) -> Result<usize, SyntaxError> {
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
                    // A pair of surrogates is one character; a lone surrogate cannot be raw.
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

/// Finds the next quote, backslash or control character; ORs the bytes it passed into `seen`.
fn find_special(bytes: &[u8], at: usize, seen: &mut u8) -> usize {
    // Two passes over a stretch that is still in the cache beat one pass that looks for everything:
    // the search is hand-tuned, and the check has no early exit, so it compiles to vector
    // instructions.
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

/// Checks that `text` is one JSON value and nothing else. `outer` is the number of containers that
/// will be open around it.
pub(crate) fn check(text: &[u8], outer: usize) -> Result<(), SyntaxError> {
    let mut scanner = Scanner::new(text);
    let start = scanner.skip_space(0);
    let end = scanner.value(start, outer)?;
    let end = scanner.skip_space(end);
    if end < text.len() { scanner.fail(end, "text follows the value") } else { Ok(()) }
}

/// Parses a whole number, also one spelled `4.0`, as Python would compare it.
pub(crate) fn whole_number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let number: f64 = text.parse().ok()?;
    ((0.0..1e15).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}
