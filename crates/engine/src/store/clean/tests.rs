use proptest::prelude::*;

use super::super::tests::artifact;
use super::*;

fn whole(found: &Artifact) -> String {
    let mut text = String::new();
    let passed: Result<(), ArtifactError> = found.cleaned().pass(&mut |piece| {
        text.push_str(piece);
        Ok(())
    });
    passed.expect("read");
    text
}

fn lines_of(found: &Artifact, first: usize, last: Option<usize>) -> String {
    let mut text = String::new();
    let range = LineRange { start: first, end: last };
    let passed: Result<u64, ArtifactError> = found.cleaned().pass_lines(&[range], &mut |piece| {
        text.push_str(piece);
        Ok(())
    });
    passed.expect("read");
    text
}

/// The result of cleaning all bytes at once.
fn cleaned(bytes: &[u8]) -> String {
    let (mut cleaner, mut text) = (Cleaner::default(), String::new());
    cleaner.push(bytes, &mut |piece| text.push_str(piece));
    cleaner.finish(&mut |piece| text.push_str(piece));
    text
}

fn matches(found: &Artifact, pattern: &str) -> (Vec<(u64, String)>, u64) {
    let mut hits: Vec<(u64, String)> = Vec::new();
    let pattern = SearchPattern::new(pattern).expect("a pattern");
    let read: Result<GrepRead, ArtifactError> =
        found.cleaned().pass_matches(&pattern, &mut |line, text| {
            match hits.last_mut() {
                Some((last, whole)) if *last == line => whole.push_str(text),
                _ => hits.push((line, text.to_owned())),
            }
            Ok(())
        });
    let matching = read.expect("read").matching_lines;
    (hits, matching)
}

/// B:O-08: cleaned when it is read, as a whole, by lines and by pattern.
#[test]
fn an_artifact_is_cleaned_when_it_is_read() {
    let raw =
        b"\x1b[31mred\x1b[0m\r\n10%\r50%\r100% done\n\x1b]0;title\x07a\xffb\nlast \x1b[1mbold";
    let (_state, found) = artifact(raw);
    assert_eq!(whole(&found), "red\n100% done\na\u{fffd}b\nlast bold");
    assert_eq!(lines_of(&found, 2, Some(3)), "100% done\na\u{fffd}b\n");
    assert_eq!(lines_of(&found, 4, None), "last bold");
    assert_eq!(lines_of(&found, 5, None), "");
    // Only the final text of a line counts, not what it overwrote.
    assert_eq!(matches(&found, "^red$"), (vec![(1, "red".to_owned())], 1));
    assert_eq!(matches(&found, "50%"), (Vec::new(), 0));
    assert_eq!(matches(&found, "la?st bold$").0, [(4, "last bold".to_owned())]);
    let limits = GrepLimits { max_hits: 1, max_hit_bytes: 6 };
    let read =
        found.cleaned().grep(&SearchPattern::new("e|o").expect("a pattern"), limits).expect("read");
    assert_eq!((read.matching_lines, read.total_lines, read.hits.len()), (3, 4, 1));
    assert_eq!((read.hits[0].line, read.hits[0].text.as_str()), (1, "red"));
    // The file is unchanged.
    let mut bytes = Vec::new();
    let all: Result<(), ArtifactError> = found.pass_bytes(0, u64::MAX, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    });
    all.expect("read");
    assert_eq!(bytes, raw);
}

/// B:O-08: a picture for terminals hides its lines, even if reading starts among them.
#[test]
fn a_line_inside_of_a_sequence_is_hidden_wherever_reading_begins() {
    let mut raw = b"before\n\x1bPq".to_vec();
    for _ in 0..40_000 {
        raw.extend(b"#0;2;0;0;0~~~~\n");
    }
    raw.extend(b"\x1b\\after\nend\n");
    let (_state, found) = artifact(&raw);
    assert_eq!(lines_of(&found, 30_000, Some(30_001)), "\n\n");
    assert_eq!(lines_of(&found, 40_002, None), "after\nend\n");
    assert_eq!(matches(&found, "after"), (vec![(40_002, "after".to_owned())], 1));
    assert_eq!(matches(&found, "~"), (Vec::new(), 0));
}

/// F-031: a matching line longer than any buffer is passed on complete.
#[test]
fn a_long_line_that_matches_is_handed_on_whole() {
    let mut raw = b"short\n".to_vec();
    for _ in 0..360_000 {
        raw.extend(b"\x1b[1mxyz");
    }
    raw.extend(b" needle\nshort needle\n");
    let (_state, found) = artifact(&raw);
    let (hits, matching) = matches(&found, "needle$");
    assert_eq!((matching, hits.len(), hits[0].0, hits[1].0), (2, 2, 2, 3));
    assert!(hits[0].1 == "xyz".repeat(360_000) + " needle");
    let mut pieces = 0;
    let pattern = SearchPattern::new("needle").expect("a pattern");
    let read: Result<GrepRead, ArtifactError> = found.pass_matches(&pattern, &mut |line, text| {
        pieces += usize::from(line == 2) * text.len();
        Ok(())
    });
    assert_eq!((read.expect("read").matching_lines, pieces), (2, 360_000 * 7 + 7));
}

/// A taker can stop the walk with its own error.
#[test]
fn a_taker_can_stop() {
    #[derive(Debug)]
    struct Enough;
    impl From<ArtifactError> for Enough {
        fn from(_: ArtifactError) -> Enough {
            Enough
        }
    }
    let (_state, found) = artifact(&b"line\n".repeat(200_000));
    let mut taken = 0;
    let passed: Result<(), Enough> = found.cleaned().pass(&mut |text| {
        taken += text.len();
        Err(Enough)
    });
    passed.expect_err("stopped");
    assert!(taken > 0 && taken <= PORTION, "{taken}");
}

/// A few bytes that request long lines of blanks do not make a large piece.
#[test]
fn pieces_are_bounded() {
    let (_state, found) = artifact(&b"\x1b[16000Gx\n".repeat(2_000));
    let (mut largest, mut total) = (0, 0);
    let passed: Result<(), ArtifactError> = found.cleaned().pass(&mut |text| {
        largest = largest.max(text.len());
        total += text.len();
        Ok(())
    });
    passed.expect("read");
    assert_eq!(total, 16_001 * 2_000);
    assert!(largest <= 32 << 20, "{largest}");
}

/// B:O-08 B:O-09: pages of cleaned lines say which part of the whole they are.
#[test]
fn pages_are_counted_in_cleaned_text() {
    let raw = b"\x1b[31m1\x1b[0m\nxx\r22\n3\n\x1b[1ma longer line\n5";
    let (_state, found) = artifact(raw);
    let page = |ranges: &[LineRange], max_lines, max_bytes| {
        let limits = PageLimits { max_lines, max_bytes };
        let read = found.cleaned().lines(ranges, limits).expect("read");
        assert_eq!((read.total_lines, read.total_bytes), (5, raw.len() as u64));
        let piece = |piece: &Piece| {
            (piece.first, piece.last, String::from_utf8_lossy(&piece.bytes).into_owned())
        };
        let pieces: Vec<_> = read.pieces.iter().map(piece).collect();
        (pieces, read.next_line, read.cut.map(|cut| (cut.line, cut.shown_bytes, cut.line_bytes)))
    };
    let range = |start, end| LineRange { start, end };
    let text = |text: &str| text.to_owned();
    assert_eq!(page(&[], 9, 100), (vec![(1, 5, text("1\n22\n3\na longer line\n5"))], None, None));
    assert_eq!(page(&[], 2, 100), (vec![(1, 2, text("1\n22\n"))], Some(3), None));
    assert_eq!(page(&[], 9, 8), (vec![(1, 3, text("1\n22\n3\n"))], Some(4), None));
    assert_eq!(
        page(&[range(4, None)], 9, 8),
        (vec![(4, 4, text("a longer"))], Some(5), Some((4, 8, 13)))
    );
    assert_eq!(
        page(&[range(1, Some(1)), range(3, Some(3)), range(5, None)], 2, 100),
        (vec![(1, 1, text("1\n")), (3, 3, text("3\n"))], Some(5), None)
    );
    assert_eq!(page(&[range(5, Some(9))], 9, 100), (vec![(5, 5, text("5"))], None, None));
    assert_eq!(page(&[range(6, None)], 9, 100), (Vec::new(), None, None));
}

/// Bytes of the kinds that cleaning deals with.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => "[a-c ]{0,8}".prop_map(String::into_bytes),
        4 => prop::sample::select(vec![
            "\n", "\r", "\r\n", "\x08", "\x1b[31m", "\x1b[K", "\x1b[4G", "\x1b]0;t\x07", "\x1bPq", "\x1b\\",
            "\x1b", "é",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// B:O-08: a line has the same text and number in every way of reading.
    #[test]
    fn every_reading_gives_the_same_lines(raw in bytes(), first in 1usize..8, count in 0usize..4) {
        let (_state, found) = artifact(&raw);
        let text = whole(&found);
        prop_assert_eq!(&text, &cleaned(&raw));
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let wanted: String = lines.iter().skip(first - 1).take(count + 1).copied().collect();
        prop_assert_eq!(lines_of(&found, first, Some(first + count)), &*wanted);
        let limits = PageLimits { max_lines: 100, max_bytes: 100_000 };
        let range = LineRange { start: first, end: Some(first + count) };
        let read = found.cleaned().lines(&[range], limits).expect("read");
        let paged: Vec<u8> = read.pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
        prop_assert_eq!(String::from_utf8_lossy(&paged), wanted);
        let (hits, matching) = matches(&found, "a");
        let numbered = (1u64..).zip(&lines);
        let wanted: Vec<(u64, String)> = numbered
            .filter(|(_, line)| line.contains('a'))
            .map(|(number, line)| (number, line.trim_end_matches('\n').to_owned()))
            .collect();
        prop_assert_eq!((hits.len() as u64, hits), (matching, wanted));
    }
}
