//! Makes the bytes of a stream fit to read: decodes them, removes escape sequences and control characters, and applies
//! carriage returns and backspaces.
//!
//! Owns the effect of bytes on the current line of a terminal. It must not know budgets, streams or where the text
//! goes. The text does not depend on how the bytes were cut into chunks, cleaning clean text changes nothing, and every
//! line feed stays.

use memchr::{memchr2, memrchr};

use super::line::Line;
use super::plain::is_plain_block;

/// Bytes skipped of a device control string, title or link without an end. Binary garbage that happens to contain the
/// start of one must not swallow the rest of an output.
const MAX_STRING_BYTES: u32 = 1024 * 1024;

/// Bytes cleaned at a time: few enough to stay in a processor's first cache.
const NEAR_BYTES: usize = 16 * 1024;

/// Position of the stream relative to an escape sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ground,
    Escape,
    /// After ESC and an intermediate character.
    Intermediate,
    /// In a control sequence: its first number, whether that number is complete, and whether the sequence is of the
    /// plain kind that moves the cursor.
    Control {
        number: u32,
        number_ended: bool,
        is_plain: bool,
    },
    /// In a string that is skipped to its end.
    Text {
        kind: Kind,
        skipped: u32,
        before: Before,
    },
}

/// The kind of string to skip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A title or a link: it may also end with BEL, and never spans lines.
    OperatingSystem,
    /// Device control, application, privacy, start of string: these carry pictures.
    Other,
}

/// The previous byte, where a string ends with two bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Before {
    Nothing,
    Escape,
    /// The first byte of U+009C in UTF-8.
    Lead,
}

/// Turns the bytes of one stream into the text that a terminal would show.
#[derive(Debug)]
pub struct Cleaner {
    state: State,
    /// The bytes of an incomplete character.
    partial: Vec<u8>,
    line: Line,
    invalid: u64,
}

impl Default for Cleaner {
    fn default() -> Cleaner {
        Cleaner { state: State::Ground, partial: Vec::new(), line: Line::default(), invalid: 0 }
    }
}

impl Cleaner {
    /// Cleans bytes and passes settled text to `out`. The current line is held back, since it may still be overwritten.
    /// It comes complete unless it is very long.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut dyn FnMut(&str)) {
        // Text is read several times before it leaves, and each pass is much faster while the text is in the cache. The
        // place of the cut does not change the text; at a line end it costs nothing.
        while bytes.len() > NEAR_BYTES {
            let last = memrchr(b'\n', &bytes[..NEAR_BYTES]);
            let (now, later) = bytes.split_at(last.map_or(NEAR_BYTES, |last| last + 1));
            self.take(now, out);
            bytes = later;
        }
        self.take(bytes, out);
    }

    fn take(&mut self, mut bytes: &[u8], out: &mut dyn FnMut(&str)) {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Ground => self.ground(bytes, out),
                State::Escape => self.escape(bytes),
                State::Intermediate => self.intermediate(bytes),
                State::Control { number, number_ended, is_plain } => {
                    self.control(bytes, number, number_ended, is_plain)
                }
                State::Text { kind, skipped, before } => {
                    self.skip(bytes, kind, skipped, before, out)
                }
            };
        }
    }

    /// Passes the current line on as it stands, because something else follows it. The state of an unfinished sequence
    /// or character is kept.
    pub fn flush(&mut self, out: &mut dyn FnMut(&str)) {
        self.line.flush(out);
    }

    /// Ends the stream: an unfinished character is marked, an unfinished sequence is dropped.
    pub fn finish(&mut self, out: &mut dyn FnMut(&str)) {
        if !self.partial.is_empty() {
            self.partial.clear();
            self.mark_invalid(out);
        }
        self.state = State::Ground;
        self.line.flush(out);
    }

    /// Number of invalid sequences marked so far.
    pub fn invalid(&self) -> u64 {
        self.invalid
    }

    /// The current line, as a flush would pass it on.
    pub fn pending(&self) -> String {
        self.line.visible_text()
    }

    /// Returns true between lines, characters and sequences.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.state == State::Ground && self.partial.is_empty() && self.line.is_empty()
    }

    fn mark_invalid(&mut self, out: &mut dyn FnMut(&str)) {
        self.invalid += 1;
        self.line.write("\u{FFFD}", out);
    }

    /// Reads text up to the next control character, then that character. Called outside of sequences.
    fn ground<'a>(&mut self, bytes: &'a [u8], out: &mut dyn FnMut(&str)) -> &'a [u8] {
        if !self.partial.is_empty() {
            return self.complete(bytes, out);
        }
        let run = text_run(bytes);
        if run.len > 0 {
            let (text, rest) = bytes.split_at(run.len);
            if run.is_ascii {
                // Checked again, because safe code cannot state that it was checked already.
                self.line.write(std::str::from_utf8(text).unwrap_or_default(), out);
                return rest;
            }
            return match self.decode(text, rest.is_empty(), out) {
                Some(at) => &bytes[at..],
                None => rest,
            };
        }
        match bytes[0] {
            0x1b => match colour_len(bytes) {
                0 => self.state = State::Escape,
                len => return &bytes[len..],
            },
            b'\r' => self.line.carriage_return(),
            0x08 => self.line.backspace(),
            _ => {}
        }
        &bytes[1..]
    }

    /// Decodes text with characters beyond ASCII. Returns the position of a sequence that begins in it.
    fn decode(&mut self, text: &[u8], is_end: bool, out: &mut dyn FnMut(&str)) -> Option<usize> {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let (valid, problem) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, None),
                Err(error) => {
                    let valid = std::str::from_utf8(&rest[..error.valid_up_to()]);
                    (valid.unwrap_or_default(), Some(error.error_len()))
                }
            };
            if let Some(stopped) = self.characters(valid, out) {
                return Some(at + stopped);
            }
            at += valid.len();
            match problem {
                None => {}
                Some(None) if is_end => {
                    self.partial.extend_from_slice(&text[at..]);
                    at = text.len();
                }
                Some(None) => {
                    self.mark_invalid(out);
                    at = text.len();
                }
                Some(Some(len)) => {
                    self.mark_invalid(out);
                    at += len;
                }
            }
        }
        None
    }

    /// Writes decoded text without control characters beyond ASCII. Returns the position of one that begins a sequence.
    fn characters(&mut self, text: &str, out: &mut dyn FnMut(&str)) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut written = 0;
        let mut from = 0;
        while let Some(found) = memchr2(0xc2, 0xef, &bytes[from..]) {
            let at = from + found;
            // A character that starts with these has two or three bytes, and the text is valid.
            let state = match (bytes[at], bytes[at + 1]) {
                (0xc2, second) if second < 0xa0 => begins(second),
                (0xef, 0xbf) if (0xb9..=0xbb).contains(&bytes[at + 2]) => State::Ground,
                _ => {
                    from = at + 2;
                    continue;
                }
            };
            let end = at + if bytes[at] == 0xc2 { 2 } else { 3 };
            self.line.write(&text[written..at], out);
            if state != State::Ground {
                self.state = state;
                return Some(end);
            }
            written = end;
            from = end;
        }
        self.line.write(&text[written..], out);
        None
    }

    /// Continues a character that the end of a chunk cut.
    fn complete<'a>(&mut self, bytes: &'a [u8], out: &mut dyn FnMut(&str)) -> &'a [u8] {
        let mut taken = 0;
        while taken < bytes.len() {
            self.partial.push(bytes[taken]);
            taken += 1;
            match std::str::from_utf8(&self.partial) {
                Ok(_) => {
                    let whole = std::mem::take(&mut self.partial);
                    self.characters(std::str::from_utf8(&whole).unwrap_or_default(), out);
                    return &bytes[taken..];
                }
                Err(error) if error.error_len().is_some() => {
                    // The new byte does not belong to it and is read again.
                    self.partial.clear();
                    self.mark_invalid(out);
                    return &bytes[taken - 1..];
                }
                Err(_) => {}
            }
        }
        &[]
    }

    fn escape<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let string = |kind| State::Text { kind, skipped: 0, before: Before::Nothing };
        self.state = match bytes[0] {
            b'[' => State::Control { number: 0, number_ended: false, is_plain: true },
            b']' => string(Kind::OperatingSystem),
            b'P' | b'X' | b'^' | b'_' => string(Kind::Other),
            0x20..=0x2f => State::Intermediate,
            0x1b => State::Escape,
            0x18 | 0x1a | 0x7f | 0x30..=0x7e => State::Ground,
            _ => return self.abandon(bytes),
        };
        &bytes[1..]
    }

    /// After ESC and an intermediate character the sequence runs up to its final character, so `[` and the like have no
    /// meaning of their own there.
    fn intermediate<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        self.state = match bytes[0] {
            0x20..=0x2f => State::Intermediate,
            0x1b => State::Escape,
            0x18 | 0x1a | 0x30..=0x7e => State::Ground,
            _ => return self.abandon(bytes),
        };
        &bytes[1..]
    }

    /// Ends an invalid sequence; its next byte is read as text.
    fn abandon<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        self.state = State::Ground;
        bytes
    }

    fn control<'a>(
        &mut self,
        bytes: &'a [u8],
        mut number: u32,
        mut number_ended: bool,
        mut is_plain: bool,
    ) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'0'..=b'9' if !number_ended => {
                    number = number.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
                }
                b'0'..=b'9' => {}
                b';' | b':' => number_ended = true,
                0x20..=0x2f | 0x3c..=0x3f => is_plain = false,
                0x40..=0x7e => {
                    self.state = State::Ground;
                    if is_plain {
                        self.line.control(byte, number);
                    }
                    return &bytes[at + 1..];
                }
                0x18 | 0x1a => {
                    self.state = State::Ground;
                    return &bytes[at + 1..];
                }
                _ => return self.abandon(&bytes[at..]),
            }
        }
        self.state = State::Control { number, number_ended, is_plain };
        &[]
    }

    fn skip<'a>(
        &mut self,
        bytes: &'a [u8],
        kind: Kind,
        mut skipped: u32,
        mut before: Before,
        out: &mut dyn FnMut(&str),
    ) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            if before == Before::Escape {
                // ESC ends the string in any case; with a backslash it is the proper end.
                self.state = if byte == b'\\' { State::Ground } else { State::Escape };
                return &bytes[at + usize::from(byte == b'\\')..];
            }
            let is_end = match byte {
                0x07 => kind == Kind::OperatingSystem,
                0x18 | 0x1a => true,
                0x9c => before == Before::Lead,
                b'\n' if kind == Kind::OperatingSystem => return self.abandon(&bytes[at..]),
                _ => false,
            };
            if byte == b'\n' {
                // Every line end stays, so that a line has the same number here and in the raw bytes.
                self.line.write("\n", out);
            }
            skipped += 1;
            before = match byte {
                0x1b => Before::Escape,
                0xc2 => Before::Lead,
                _ => Before::Nothing,
            };
            if is_end || (skipped >= MAX_STRING_BYTES && before == Before::Nothing) {
                self.state = State::Ground;
                return &bytes[at + 1..];
            }
        }
        self.state = State::Text { kind, skipped, before };
        &[]
    }
}

/// The state after the character U+0080 to U+009F with this second byte; most are just left out.
fn begins(second: u8) -> State {
    let string = |kind| State::Text { kind, skipped: 0, before: Before::Nothing };
    match second {
        0x9b => State::Control { number: 0, number_ended: false, is_plain: true },
        0x9d => string(Kind::OperatingSystem),
        0x90 | 0x98 | 0x9e | 0x9f => string(Kind::Other),
        _ => State::Ground,
    }
}

/// Length of the sequence at the front, if it is complete and only sets colours. Most sequences are of this kind and
/// need not be read byte by byte.
fn colour_len(bytes: &[u8]) -> usize {
    let Some(after) = bytes.strip_prefix(b"\x1b[") else {
        return 0;
    };
    let digits = after.iter().take_while(|byte| matches!(byte, b'0'..=b';')).count();
    if after.get(digits) == Some(&b'm') { digits + 3 } else { 0 }
}

/// A stretch of text, and whether it is ASCII.
struct Run {
    len: usize,
    is_ascii: bool,
}

const fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f
}

/// Finds the next control character. In text full of sequences it is near, so the first bytes are checked one by one.
/// The rest is checked in blocks without early exit, where the compiler makes vector code that runs at the speed of
/// memory.
fn text_run(bytes: &[u8]) -> Run {
    const NEAR: usize = 32;
    let mut high = 0;
    for (len, &byte) in bytes.iter().take(NEAR).enumerate() {
        if is_control(byte) {
            return Run { len, is_ascii: high < 0x80 };
        }
        high |= byte;
    }
    let (blocks, _) = bytes.get(NEAR..).unwrap_or_default().as_chunks::<64>();
    let mut len = bytes.len().min(NEAR);
    for block in blocks {
        // Nearly all text is plain, and that test is faster.
        if !is_plain_block(block) {
            let (mut control, mut seen) = (0u8, 0u8);
            for &byte in block {
                control |= u8::from(is_control(byte));
                seen |= byte;
            }
            if control != 0 {
                break;
            }
            high |= seen;
        }
        len += block.len();
    }
    for &byte in &bytes[len..] {
        if is_control(byte) {
            break;
        }
        high |= byte;
        len += 1;
    }
    Run { len, is_ascii: high < 0x80 }
}

#[cfg(test)]
mod tests;
