//! JSON as kernels send it, which is not always valid.
//!
//! Owns the two errors that are common and harmless: text that is not UTF-8, and halves of
//! surrogate pairs, which Python's strings can hold. Both become the replacement character;
//! everything else is an error.

use std::borrow::Cow;

/// Result of reading a part of a message.
pub(crate) type ContentResult<T> = Result<T, serde_json::Error>;

/// Reads JSON text. If that fails, repairs the text and reads it once more.
pub(crate) fn read<T>(raw: &[u8], parse: impl Fn(&str) -> ContentResult<T>) -> ContentResult<T> {
    // Check the text as a whole first: that is many times faster than a search for bytes to
    // replace.
    let text = std::str::from_utf8(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::from);
    parse(&text).or_else(|error| match without_lone_surrogates(&text) {
        Cow::Owned(repaired) => parse(&repaired),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Returns the text with `\ufffd` in the place of every half of a pair.
fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut kept = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let (first, second) = (unit(bytes, at), unit(bytes, at + 6));
        match (first, second) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                repaired.push_str(&text[kept..at]);
                repaired.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            // Another escape; skip the character after the backslash, which begins no escape of its
            // own.
            _ => at += 2,
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(text.get(kept..).unwrap_or(""));
    Cow::Owned(repaired)
}

/// Returns the code unit of an escape `\uXXXX` that begins at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some((unit << 4) | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn string(raw: &[u8]) -> Result<String, serde_json::Error> {
        read(raw, |text| serde_json::from_str(text))
    }

    /// F-033
    #[test]
    fn halves_of_pairs_and_broken_bytes_are_replaced() {
        let check = |raw: &[u8], wanted: &str| assert_eq!(string(raw).unwrap(), wanted);
        check(br#""plain""#, "plain");
        check(br#""\ud83d\ude00 whole""#, "\u{1f600} whole");
        check(br#""a\ud800b""#, "a\u{fffd}b");
        check(br#""\udc00\ud800""#, "\u{fffd}\u{fffd}");
        check(br#""\ud800\ud83d\ude00""#, "\u{fffd}\u{1f600}");
        check(br#""\\ud800 \ud800 \n""#, "\\ud800 \u{fffd} \n");
        check(b"\"a\xffb\"", "a\u{fffd}b");
        assert!(string(br#""\ud800"#).is_err());
        assert!(string(b"\"open").is_err());
        assert!(string(b"").is_err());
    }

    proptest! {
        /// Valid JSON is not changed, and no text does harm.
        #[test]
        fn any_bytes_are_read_or_refused(raw in prop::collection::vec(any::<u8>(), 0..40), text in any::<String>()) {
            let _ = string(&raw);
            let _ = without_lone_surrogates(&text);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(string(json.as_bytes()).unwrap(), text);
        }
    }
}
