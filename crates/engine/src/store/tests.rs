use std::path::Path;
use std::time::SystemTime;

use inkcell_notebook::{Form, LineRange, PageLimits};
use proptest::prelude::*;
use tempfile::TempDir;

use super::lines::{LineIndex, Marks, STRIDE};
use super::read::whole_characters;
use super::record::{Record, SIZE};
use super::*;

pub(super) fn store_in(state: &Path) -> Artifacts {
    Artifacts::new(ArtifactsConfig {
        state_dir: state.to_owned(),
        limits: ArtifactLimits::STANDARD,
        random: crate::types::system_random,
        now: SystemTime::now,
    })
}

pub(super) fn spec(kind: &str) -> ArtifactSpec {
    let session = ArtifactSession::new("default", &[b"/work"]);
    ArtifactSpec { session, kind: kind.to_owned(), title: "cell 1".to_owned() }
}

/// An artifact with this content; the folder must outlive it.
pub(super) fn artifact(content: &[u8]) -> (TempDir, Artifact) {
    let state = tempfile::tempdir().expect("a folder");
    let store = store_in(state.path());
    let written = store.store(&spec("text/plain"), content).expect("stored");
    assert_eq!(written.incomplete, None);
    let found = store.find(&written.info.expect("kept").id, Scope::All).expect("found");
    (state, found)
}

/// Storing the same again gives the same artifact; anything else is another.
#[test]
fn content_is_stored_once_for_each_title() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store_in(state.path());
    let id = |spec: &ArtifactSpec, bytes: &[u8]| {
        store.store_once(spec, bytes).expect("stored").expect("kept").id
    };
    let one = spec("image/png");
    let first = id(&one, b"abc");
    assert_eq!(id(&one, b"abc"), first);
    assert_ne!(id(&one, b"abd"), first);
    assert_ne!(id(&spec("image/jpeg"), b"abc"), first);
    assert_ne!(id(&ArtifactSpec { title: "cell 2".to_owned(), ..one.clone() }, b"abc"), first);
    let session = ArtifactSession::new("other", &[b"/work"]);
    assert_ne!(id(&ArtifactSpec { session, ..one }, b"abc"), first);
    assert_eq!(store.list(Scope::All).expect("a list").len(), 5);
}

/// S-040 B:O-09
#[test]
fn an_id_is_sixteen_letters_and_digits() {
    let id = "0123456789abcxyz";
    assert_eq!(ArtifactId::parse(id).expect("an id").as_str(), id);
    let reference = format!("artifact://{id}");
    assert_eq!(ArtifactId::from_reference(&reference).expect("an id").reference(), reference);
    let long = "a".repeat(10 * 1024);
    let table = [
        "",
        "../x",
        "../../etc/passwd",
        "/etc/passwd000000",
        "%2e%2e%2fabcdefgh",
        "..%2f..%2f..%2fab",
        "0123456789abcde",
        "0123456789abcdefg",
        "0123456789ABCDEF",
        "0123456789abcde\0",
        "0123456789abcde\n",
        "0123456789abcde.",
        "0123456789abcd/x",
        "0123456789abc/..",
        " 123456789abcdef",
        "０１２３４５",
        "con",
        "artifact://0123456789abcxyz",
        &long,
    ];
    for text in table {
        let error = ArtifactId::parse(text).expect_err(text);
        assert!(error.to_string().len() < 400, "{error}");
        assert_eq!(error.kind(), crate::Kind::Invalid);
        if !text.starts_with("artifact://") {
            assert!(ArtifactId::from_reference(text).is_err(), "{text}");
            assert!(ArtifactId::from_reference(&format!("artifact://{text}")).is_err(), "{text}");
        }
    }
}

/// B:O-09: every generated id is accepted, even from extreme random numbers.
#[test]
fn ids_that_are_made_are_ids() {
    for random in [(|| 0) as fn() -> u64, || u64::MAX, crate::types::system_random] {
        let id = ArtifactId::random(random);
        assert_eq!(ArtifactId::parse(id.as_str()).expect("an id"), id);
    }
    assert_ne!(
        ArtifactId::random(crate::types::system_random),
        ArtifactId::random(crate::types::system_random)
    );
}

/// S-006: a record holds any session name and title, on one line, and keeps its size.
#[test]
fn a_record_has_one_size_whatever_it_holds() {
    let id = ArtifactId::parse("0123456789abcdef").expect("an id");
    for name in ["", "a", "\"\\\"\\", "\u{1b}[31m\n\0", "😀\"", "<img src=x>"] {
        let name = name.repeat(1000);
        let mut record = Record::begin(&id, &name, &name, &name, SystemTime::now());
        record.end(SystemTime::now(), Some(Cause::Failed("\"".repeat(200))));
        let bytes = record.to_bytes();
        assert_eq!(bytes.len(), SIZE);
        let read = Record::parse(&bytes).expect("a record");
        assert!(!read.title.contains(char::is_control) && read.title.len() <= 200);
        assert!(name.starts_with(&read.title) || name.contains(char::is_control));
    }
}

#[test]
fn a_cut_falls_between_characters() {
    let text = "aé€😀z".as_bytes();
    let starts = [0, 1, 3, 6, 10, 11];
    for end in 0..=text.len() {
        let cut = whole_characters(&text[..end]);
        let wanted = starts.iter().rev().find(|start| **start <= end).expect("a start");
        assert_eq!(cut, *wanted, "{end}");
    }
    // Bytes that are not UTF-8 are not cut off.
    for odd in [&b"\x80\x80\x80\x80"[..], b"a\xff", b"\xc0", b"\xf8\x80"] {
        assert_eq!(whole_characters(odd), odd.len());
    }
}

/// B:O-08: bytes from any offset on, in pieces that fit together.
#[test]
fn bytes_are_read_in_pieces() {
    let content = "aé€😀z\n".repeat(50);
    let (_state, found) = artifact(content.as_bytes());
    for size in 4..20 {
        let (mut offset, mut all) = (Some(0), Vec::new());
        while let Some(at) = offset {
            let read = found.bytes(at, size, Form::Text).expect("read");
            assert!(std::str::from_utf8(&read.bytes).is_ok(), "{size} {at}");
            assert_eq!((read.offset, read.total_bytes), (at, content.len() as u64));
            all.extend(read.bytes);
            offset = read.next_offset;
        }
        assert_eq!(all, content.as_bytes());
    }
    // An offset inside a character means the next one; raw bytes are not moved.
    let read = found.bytes(2, 5, Form::Text).expect("read");
    assert_eq!((read.offset, &*read.bytes), (3, "€".as_bytes()));
    assert_eq!(found.bytes(2, 3, Form::Raw).expect("read").bytes, &content.as_bytes()[2..5]);
    let past = found.bytes(u64::MAX, 10, Form::Text).expect("read");
    assert_eq!((past.bytes.len(), past.next_offset), (0, None));
    let whole = found.bytes(0, content.len() + 1, Form::Text).expect("read");
    assert_eq!(whole.bytes, content.as_bytes());
}

fn range(start: usize, end: Option<usize>) -> LineRange {
    LineRange { start, end }
}

/// B:O-09: line selectors return the lines, their numbers, and the next line.
#[test]
fn lines_are_read_by_number() {
    let limits = PageLimits { max_lines: 3, max_bytes: 20 };
    let all = usize::MAX;
    // Content, ranges, the pieces, total lines, next line, the line that is cut.
    type Row<'a> =
        (&'a str, &'a [LineRange], &'a [(u64, u64, &'a str)], u64, Option<u64>, Option<u64>);
    let table: [Row<'_>; 14] = [
        ("", &[], &[], 0, None, None),
        ("a", &[], &[(1, 1, "a")], 1, None, None),
        ("a\n", &[], &[(1, 1, "a\n")], 1, None, None),
        ("\n\n", &[], &[(1, 2, "\n\n")], 2, None, None),
        ("a\nb\nc", &[range(2, Some(2))], &[(2, 2, "b\n")], 3, None, None),
        ("a\nb\nc", &[range(2, None)], &[(2, 3, "b\nc")], 3, None, None),
        ("a\nb\nc", &[range(3, Some(all))], &[(3, 3, "c")], 3, None, None),
        ("a\nb\nc", &[range(4, None)], &[], 3, None, None),
        ("1\n2\n3\n4\n5\n", &[], &[(1, 3, "1\n2\n3\n")], 5, Some(4), None),
        (
            "1\n2\n3\n4\n5\n",
            &[range(1, Some(2)), range(4, None)],
            &[(1, 2, "1\n2\n"), (4, 4, "4\n")],
            5,
            Some(5),
            None,
        ),
        (
            "1\n2\n3\n4\n5\n",
            &[range(1, Some(3)), range(5, None)],
            &[(1, 3, "1\n2\n3\n")],
            5,
            Some(5),
            None,
        ),
        ("ten bytes\nten bytes\n!\n", &[], &[(1, 2, "ten bytes\nten bytes\n")], 3, Some(3), None),
        ("a line of 19 bytes €\nnext", &[], &[(1, 1, "a line of 19 bytes ")], 2, Some(2), Some(1)),
        ("a\na line of 22 bytes €\n", &[], &[(1, 1, "a\n")], 2, Some(2), None),
    ];
    for (content, ranges, pieces, total, next, cut) in table {
        let (_state, found) = artifact(content.as_bytes());
        assert_eq!(found.info().lines, Some(total), "{content:?}");
        let read = found.lines(ranges, limits).expect("read");
        let got: Vec<(u64, u64, &str)> = read
            .pieces
            .iter()
            .map(|piece| (piece.first, piece.last, std::str::from_utf8(&piece.bytes).unwrap()))
            .collect();
        assert_eq!(got, pieces, "{content:?} {ranges:?}");
        assert_eq!((read.total_lines, read.next_line), (total, next), "{content:?}");
        assert_eq!(read.total_bytes, content.len() as u64);
        assert_eq!(read.cut.map(|cut| cut.line), cut, "{content:?}");
        if let Some(cut) = read.cut {
            assert_eq!((cut.shown_bytes, cut.line_bytes, cut.next_offset), (19, 22, Some(19)));
        }
    }
}

/// B:O-08 F-031: a long text has the same lines with its index, without it and with a wrong one. One line may be most
/// of the text.
#[test]
fn lines_of_a_long_text_are_found_with_and_without_an_index() {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < 6 << 20 {
        number += 1;
        text.push_str(&format!("{number}{}\n", "x".repeat(number * 7919 % 300)));
        if number == 3000 {
            text.push_str(&"y".repeat(3 << 20));
        }
    }
    let (state, found) = artifact(text.as_bytes());
    let store = store_in(state.path());
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let check = |found: &Artifact| {
        let limits = PageLimits { max_lines: 2, max_bytes: 1000 };
        for first in (1..=lines.len()).step_by(4001).chain([3000, 3001, 3002, lines.len()]) {
            let read = found.lines(&[range(first, Some(first))], limits).expect("read");
            assert_eq!(read.total_lines, lines.len() as u64);
            let wanted = &lines[first - 1].as_bytes()[..lines[first - 1].len().min(1000)];
            assert!(read.pieces[0].bytes == wanted, "line {first}");
        }
    };
    check(&found);
    let (id, path) = (found.info().id.clone(), found.info().path.clone());
    let index = path.with_extension("lines");
    let kept = std::fs::read(&index).expect("an index");
    assert_eq!(kept.len() as u64, text.len() as u64 / STRIDE * 8);
    // An index that cannot be true is not used.
    for wrong in [vec![0xff; kept.len()], kept[8..].to_vec(), Vec::new()] {
        std::fs::write(&index, wrong).expect("written");
        check(&store.find(&id, Scope::All).expect("found"));
    }
    std::fs::remove_file(&index).expect("removed");
    check(&store.find(&id, Scope::All).expect("found"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Any split of a text into chunks gives the same line count and correct marks.
    #[test]
    fn chunks_do_not_change_the_count(
        lines in prop::collection::vec(0usize..400_000, 0..30),
        chunk in 1usize..3_000_000,
        is_open in any::<bool>(),
    ) {
        let mut text = Vec::new();
        for length in &lines {
            text.resize(text.len() + length, b'x');
            text.push(b'\n');
        }
        if is_open {
            text.push(b'x');
        }
        let mut index = LineIndex::default();
        text.chunks(chunk).for_each(|chunk| index.add(chunk));
        let total = lines.len() as u64 + u64::from(is_open);
        prop_assert_eq!((index.lines(), index.bytes()), (total, text.len() as u64));
        if let Some(kept) = index.to_bytes() {
            let marks = Marks::parse(&kept, text.len() as u64, total);
            let ends: Vec<u64> = lines.iter().scan(0, |at, length| {
                *at += *length as u64 + 1;
                Some(*at)
            }).collect();
            for line in 1..=total + 1 {
                let (offset, feeds) = marks.before_line(line);
                prop_assert_eq!(ends.partition_point(|end| *end <= offset) as u64, feeds);
                prop_assert!(offset == 0 || feeds + 1 < line, "line {} at {}", line, offset);
            }
        }
    }
}

#[test]
fn lines_that_match_are_found_with_their_numbers() {
    let text = "one\ntwo é\r\nthree\n\nTwo\nlast two";
    let (_state, found) = artifact(text.as_bytes());
    let limits = GrepLimits { max_hits: 2, max_hit_bytes: 6 };
    // Pattern, the hits as (line, text, cut), all matching lines.
    type Row<'a> = (&'a str, &'a [(u64, &'a str, bool)], u64);
    let table: [Row<'_>; 7] = [
        ("one", &[(1, "one", false)], 1),
        ("two", &[(2, "two é", false), (6, "st two", true)], 2),
        ("(?i)two", &[(2, "two é", false), (5, "Two", false)], 3),
        ("^$", &[(4, "", false)], 1),
        ("é$", &[(2, "two é", false)], 1),
        ("e\\s", &[], 0),
        ("nothing", &[], 0),
    ];
    for (pattern, hits, matching) in table {
        let read =
            found.grep(&SearchPattern::new(pattern).expect("a pattern"), limits).expect("read");
        let got: Vec<(u64, &str, bool)> =
            read.hits.iter().map(|hit| (hit.line, hit.text.as_str(), hit.is_cut)).collect();
        assert_eq!(got, hits, "{pattern}");
        assert_eq!((read.matching_lines, read.total_lines), (matching, 6), "{pattern}");
    }
    for bad in ["(", "[z-a]", "a{1000}{1000}{1000}", &"a".repeat(5000)] {
        let error = SearchPattern::new(bad).expect_err("no pattern");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

/// F-031: a line longer than the buffer is searched, too, and counted once.
#[test]
fn a_very_long_line_is_searched() {
    let mut text = vec![b'x'; 5 << 20];
    for at in [0, (1 << 20) + 256 * 1024 - 3, 4 << 20] {
        text[at..at + 6].copy_from_slice(b"needle");
    }
    text.extend(b"\nshort needle\nend");
    let (_state, found) = artifact(&text);
    let limits = GrepLimits { max_hits: 10, max_hit_bytes: 40 };
    let needle = SearchPattern::new("needle").expect("a pattern");
    let read = found.grep(&needle, limits).expect("read");
    assert_eq!((read.matching_lines, read.total_lines), (2, 3));
    assert_eq!(read.hits.iter().map(|hit| hit.line).collect::<Vec<_>>(), [1, 2]);
    assert!(read.hits[0].is_cut && read.hits[0].text.starts_with("needlexx"));
    assert_eq!(read.hits[1].text, "short needle");
    // A match across the border of two parts is found as well.
    for at in [0, 4 << 20] {
        text[at..at + 6].copy_from_slice(b"xxxxxx");
    }
    let (_state, found) = artifact(&text);
    assert_eq!(found.grep(&needle, limits).expect("read").matching_lines, 2);
}
