//! Tables of what terminals do, and the laws of cleaning.

use proptest::prelude::*;

use super::*;

fn clean_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (String, u64) {
    let mut cleaner = Cleaner::default();
    let mut text = String::new();
    for chunk in chunks {
        cleaner.push(chunk, &mut |piece| text.push_str(piece));
    }
    cleaner.finish(&mut |piece| text.push_str(piece));
    (text, cleaner.invalid())
}

fn clean(bytes: &[u8]) -> String {
    clean_chunks([bytes]).0
}

/// Checks a text as a whole, cut at every position, and byte by byte.
fn check(bytes: &[u8], expected: &str) {
    assert_eq!(clean(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
    for at in 0..=bytes.len() {
        let (text, _) = clean_chunks([&bytes[..at], &bytes[at..]]);
        assert_eq!(text, expected, "{:?} cut at {at}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(clean_chunks(bytes.chunks(1)).0, expected, "byte by byte");
}

/// B:O-02, B:O-03: every kind of escape sequence is removed, wherever it is cut.
#[test]
fn escape_sequences_are_removed() {
    let table: [(&[u8], &str); 26] = [
        (b"\x1b[31mred\x1b[0m\r\n", "red\n"),
        (b"\x1b[38;2;1;2;3mx\x1b[m", "x"),
        (b"\x1b[4:3mx", "x"),
        (b"\x1b[?25lx\x1b[?25h", "x"),
        (b"\x1b[0 qx", "x"),
        (b"\x1b[!px", "x"),
        (b"\x1b]0;title\x07x", "x"),
        (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]0;t\xc2\x9cx", "x"),
        (b"\x1bPq#0;2;0\n#1~~\x1b\\x", "\nx"),
        (b"\x1b_Gf=100;AAAA\x1b\\x", "x"),
        (b"\x1b^private\x1b\\x", "x"),
        (b"\x1bXstart\x07still\x1b\\x", "x"),
        (b"\x1b7\x1b8\x1bcx\x1bMy", "xy"),
        (b"\x1b(Bx\x1b#8y", "xy"),
        (b"\x1b(0x", "x"),
        (b"\xc2\x9b31mred\xc2\x9b0m", "red"),
        (b"\xc2\x9d0;t\x07x", "x"),
        (b"\xc2\x90q~\xc2\x9cx", "x"),
        (b"\x1b\x1b[31mx", "x"),
        (b"\x1b[31\x1b[32mx", "x"),
        (b"a\x1b[12\x18b", "ab"),
        (b"a\x1b[12\nb", "a\nb"),
        (b"a\x1b]0;never ends\nb", "a\nb"),
        (b"a\x1b[", "a"),
        (b"a\x1b\xc3\xa9", "a\u{e9}"),
    ];
    for (bytes, expected) in table {
        check(bytes, expected);
    }
}

/// B:O-02: control characters are removed, including those beyond ASCII.
#[test]
fn control_characters_are_left_out() {
    check(b"a\x00b\x07c\x0bd\x0ce\x7ff", "abcdef");
    check("a\u{80}b\u{85}c\u{9c}d\u{a0}e".as_bytes(), "abcd\u{a0}e");
    check("a\u{fff9}b\u{fffa}c\u{fffb}d\u{fffc}".as_bytes(), "abcd\u{fffc}");
    check("\u{feff}a\tb\n".as_bytes(), "\u{feff}a\tb\n");
}

/// Carriage return, backspace and the sequences that move on a line take effect.
#[test]
fn a_line_is_played_as_a_terminal_would() {
    let table: [(&[u8], &str); 24] = [
        (b"10%\r20%\r100%\n", "100%\n"),
        (b"abc\rX\n", "Xbc\n"),
        (b"abc\r\n", "abc\n"),
        (b"abc\r\r\n", "abc\n"),
        (b"abc\r", "abc"),
        (b"\rabc\r\n\rdef", "abc\ndef"),
        (b"abc\n\rdef", "abc\ndef"),
        (b"abc\x08\x08X", "aXc"),
        (b"\x08\x08a", "a"),
        (b"a\x08a_\x08_b", "a_b"),
        (b"long line\r\x1b[Kok\n", "ok\n"),
        (b"long line\r\x1b[2Kok\n", "ok\n"),
        (b"long line\x1b[2K\rok\n", "ok\n"),
        (b"abcdef\x1b[3D\x1b[Kx\n", "abcx\n"),
        (b"abcdef\x1b[3D\x1b[1Kx\n", "   xef\n"),
        (b"abc\x1b[1GX\n", "Xbc\n"),
        (b"ab\x1b[3Cc\n", "ab   c\n"),
        (b"\x1b[5Ga\n", "    a\n"),
        (b"abc\x1b[2GX\x1b[999999999999G\n", "aXc\n"),
        ("进度 1%\r进度 2%\n".as_bytes(), "进度 2%\n"),
        ("███\r  a\n".as_bytes(), "  a\n"),
        ("é\x08e\n".as_bytes(), "e\n"),
        (b"a\rb\nc\rd\n", "b\nd\n"),
        (b"10%\r\x1b[31m20%\x1b[0m\r\n30%", "20%\n30%"),
    ];
    for (bytes, expected) in table {
        check(bytes, expected);
    }
}

/// B:O-15, F-033: characters cut by a chunk stay complete; invalid bytes are marked and counted.
#[test]
fn invalid_bytes_are_marked() {
    let table: [(&[u8], &str, u64); 9] = [
        ("a😀b é 进".as_bytes(), "a😀b é 进", 0),
        (b"a\xffb", "a\u{fffd}b", 1),
        (b"a\xf0\x9f\x98b", "a\u{fffd}b", 1),
        (b"a\xf0\x9f\x98", "a\u{fffd}", 1),
        (b"\xe2\x82\x1b[0mx", "\u{fffd}x", 1),
        (b"\xe2\n", "\u{fffd}\n", 1),
        (b"\x9b31m", "\u{fffd}31m", 1),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}", 3),
        (b"\xc0\xaf", "\u{fffd}\u{fffd}", 2),
    ];
    for (bytes, expected, invalid) in table {
        check(bytes, expected);
        assert_eq!(clean_chunks(bytes.chunks(1)).1, invalid, "{bytes:?}");
    }
}

/// A string sequence without an end swallows a bounded part of the output.
#[test]
fn an_endless_string_does_not_swallow_everything() {
    let mut bytes = b"a\x1bP".to_vec();
    bytes.extend(std::iter::repeat_n(b'z', 3 << 20));
    let text = clean(&bytes);
    assert_eq!(text.len(), 1 + (3 << 20) - MAX_STRING_BYTES as usize);
}

/// F-031: only a bounded part of an endless line is held back.
#[test]
fn an_endless_line_is_handed_on() {
    let mut cleaner = Cleaner::default();
    let (mut handed, mut longest) = (0, 0);
    let chunk = [b'x'; 50_000];
    for _ in 0..100 {
        cleaner.push(&chunk, &mut |piece| {
            handed += piece.len();
            longest = longest.max(piece.len());
        });
        assert!(cleaner.pending().len() <= 16 * 1024);
    }
    cleaner.push(b"\rover", &mut |piece| handed += piece.len());
    cleaner.finish(&mut |piece| handed += piece.len());
    assert_eq!(handed, 5_000_000);
    assert!(longest <= 16 * 1024);
}

#[test]
fn the_pending_line_is_seen() {
    let mut cleaner = Cleaner::default();
    let mut text = String::new();
    cleaner.push(b"done\n10%\r20", &mut |piece| text.push_str(piece));
    assert_eq!((text.as_str(), cleaner.pending().as_str()), ("done\n", "20%"));
    cleaner.flush(&mut |piece| text.push_str(piece));
    assert_eq!((text.as_str(), cleaner.pending().as_str()), ("done\n20%", ""));
}

/// Random bytes, many of them with a meaning.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z ]{0,12}".prop_map(String::into_bytes),
        2 => "[é😀进█\u{80}-\u{9f}\u{fff9}-\u{fffc}]{1,4}".prop_map(String::into_bytes),
        4 => prop::sample::select(vec![
            "\n", "\r", "\r\n", "\x08", "\t", "\x1b", "\x1b[", "\x1b[31m", "\x1b[K", "\x1b[2K", "\x1b[3D",
            "\x1b[4G", "\x1b[C", "\x1b]0;t\x07", "\x1b]8;;x\x1b\\", "\x1bPq", "\x1b\\", "\x1b(", "\x18",
            "\x07", "\x00", "\x7f", "0", ";", "?", "m",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => (16_000usize..17_000).prop_map(|n| vec![b'x'; n]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// The text does not depend on how the bytes were cut.
    #[test]
    fn any_chunking_gives_the_same_text(bytes in bytes(), sizes in prop::collection::vec(1usize..40, 1..30)) {
        let mut chunks = Vec::new();
        let mut rest = &bytes[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        prop_assert_eq!(clean_chunks(chunks), clean_chunks([&bytes[..]]));
    }

    /// Clean text is clean, and cleaning it again changes nothing.
    #[test]
    fn cleaning_is_idempotent(bytes in bytes()) {
        let once = clean(&bytes);
        let is_clean = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
        prop_assert!(once.chars().all(is_clean), "{:?}", once);
        prop_assert_eq!(clean(once.as_bytes()), once);
    }

    /// B:O-08: every line feed stays, so a line has the same number before and after.
    #[test]
    fn line_feeds_stay(bytes in bytes()) {
        let feeds = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(feeds(clean(&bytes).as_bytes()), feeds(&bytes));
    }

    /// Text with nothing to clean is passed on unchanged.
    #[test]
    fn plain_text_is_unchanged(text in "[ -~é😀\n\t]{0,300}") {
        prop_assert_eq!(clean(text.as_bytes()), text);
    }
}
