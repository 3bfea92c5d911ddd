//! Converts strings between their JSON spelling and Rust.
//!
//! Owns the escapes, both ways.

use std::borrow::Cow;

/// A decoded string, and whether decoding lost something.
pub(crate) struct DecodedString<'a> {
    pub(crate) text: Cow<'a, str>,
    /// U+FFFD replaced a lone surrogate, which a Rust string cannot hold.
    pub(crate) lossy: bool,
}

/// Decodes a checked string with its quotes; anything else gives the empty string.
pub(crate) fn decode(quoted: &[u8]) -> DecodedString<'_> {
    let inner = match quoted {
        [b'"', inner @ .., b'"'] => inner,
        _ => return DecodedString { text: Cow::Borrowed(""), lossy: false },
    };
    let Some(first) = memchr::memchr(b'\\', inner) else {
        return DecodedString { text: String::from_utf8_lossy(inner), lossy: false };
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
    DecodedString { text: Cow::Owned(text), lossy }
}

/// Decodes an escape: its character (none for a lone surrogate) and its length in bytes.
pub(crate) fn unescape(escape: &[u8]) -> (Option<char>, usize) {
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

/// The spelling of text outside ASCII: raw or as `\uXXXX`.
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

pub(crate) fn hex4(digits: &[u8]) -> Option<u32> {
    let mut unit = 0;
    for &digit in digits {
        unit = unit * 16 + (digit as char).to_digit(16)?;
    }
    (digits.len() == 4).then_some(unit)
}
