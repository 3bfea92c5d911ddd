//! Parts of a text that a report holds, as of a stored one.
//!
//! Owns the positions in it. The answers are those that a stored text gives.

use std::path::PathBuf;

use super::results::{GREP, around, hits_within};
use crate::api::{ArtifactFound, ArtifactPart, ArtifactReport, LineCut, LinesPiece};
use crate::error::EngineError;
use crate::store::SearchPattern;
use inkcell_notebook::LineRange;

/// Reads a part of a text that is in memory, in `max_bytes` at most.
pub fn part_of_text(
    text: &str,
    part: &ArtifactPart,
    max_bytes: usize,
) -> Result<ArtifactReport, EngineError> {
    let found = match part {
        ArtifactPart::Whole { offset } => bytes_from(text, *offset, max_bytes),
        ArtifactPart::Lines { start, end } => {
            lines_in(text, &[LineRange { start: *start, end: *end }], max_bytes)
        }
        ArtifactPart::Grep { pattern, lines, context } => {
            let ranges = lines.iter().map(|(start, end)| LineRange { start: *start, end: *end });
            let pattern = SearchPattern::new(pattern)?.within(ranges.collect());
            let read = pattern.find_in(text, GREP)?;
            let context = match &*around(&read.hits, *context) {
                [] => Vec::new(),
                ranges => match lines_in(text, ranges, max_bytes) {
                    ArtifactFound::Lines { pieces, .. } => pieces,
                    _ => Vec::new(),
                },
            };
            ArtifactFound::Grep {
                hits: hits_within(read.hits, max_bytes),
                matching_lines: read.matching_lines,
                total_lines: read.total_lines,
                context,
            }
        }
        ArtifactPart::Json { .. } => {
            let problem = "this output is text, not JSON; give the id of an artifact".to_owned();
            return Err(EngineError::Argument { argument: "json_path".to_owned(), problem });
        }
    };
    Ok(ArtifactReport {
        id: String::new(),
        kind: "text/plain".to_owned(),
        title: String::new(),
        total_bytes: text.len() as u64,
        problem: None,
        path: PathBuf::new(),
        found,
    })
}

fn bytes_from(text: &str, offset: u64, max_bytes: usize) -> ArtifactFound {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
    let start = text.ceil_char_boundary(start);
    let end = text.floor_char_boundary(start.saturating_add(max_bytes).min(text.len()));
    ArtifactFound::Bytes {
        offset: start as u64,
        bytes: text.as_bytes()[start..end].to_vec(),
        next_offset: (end < text.len()).then_some(end as u64),
    }
}

/// The lines of these ranges that fit. A line that alone does not fit is cut.
fn lines_in(text: &str, ranges: &[LineRange], max_bytes: usize) -> ArtifactFound {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut pieces, mut cut, mut next_line, mut left) = (Vec::new(), None, None, max_bytes);
    'all: for range in ranges {
        let first = range.start.max(1);
        let last = range.end.unwrap_or(usize::MAX).min(lines.len());
        let mut piece = LinesPiece { first: first as u64, last: 0, bytes: Vec::new() };
        for number in first..=last {
            let line = lines[number - 1];
            let is_first = pieces.is_empty() && piece.bytes.is_empty();
            if line.len() > left && !is_first {
                next_line = Some(number as u64);
                pieces.extend((piece.last > 0).then_some(piece));
                break 'all;
            }
            let shown = &line[..line.floor_char_boundary(left)];
            piece.bytes.extend_from_slice(shown.as_bytes());
            piece.last = number as u64;
            left -= shown.len();
            if shown.len() < line.len() {
                let before: usize = lines[..number - 1].iter().map(|line| line.len()).sum();
                cut = Some(LineCut {
                    line: number as u64,
                    shown_bytes: shown.len() as u64,
                    line_bytes: line.trim_end_matches('\n').len() as u64,
                    next_offset: Some((before + shown.len()) as u64),
                });
                next_line = (number < last).then_some(number as u64 + 1);
                pieces.push(piece);
                break 'all;
            }
        }
        pieces.extend((piece.last > 0).then_some(piece));
    }
    ArtifactFound::Lines { pieces, total_lines: lines.len() as u64, cut, next_line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, (start, end): (usize, Option<usize>), max_bytes: usize) -> ArtifactFound {
        part_of_text(text, &ArtifactPart::Lines { start, end }, max_bytes).unwrap().found
    }

    #[test]
    fn lines_are_numbered_and_what_does_not_fit_is_told() {
        let text = "one\ntwo\nthree";
        let ArtifactFound::Lines { pieces, total_lines, cut, next_line } =
            lines(text, (2, None), 6)
        else {
            panic!("not lines");
        };
        assert_eq!((pieces[0].first, pieces[0].last, &*pieces[0].bytes), (2, 2, &b"two\n"[..]));
        assert_eq!((total_lines, cut, next_line), (3, None, Some(3)));
        let ArtifactFound::Lines { pieces, cut: Some(cut), .. } = lines("é234\n", (1, None), 2)
        else {
            panic!("not cut");
        };
        assert_eq!(
            (&*pieces[0].bytes, cut.line_bytes, cut.next_offset),
            ("é".as_bytes(), 5, Some(2))
        );
        let ArtifactFound::Lines { pieces, .. } = lines(text, (9, Some(10)), 100) else {
            panic!("not lines");
        };
        assert!(pieces.is_empty());
    }

    #[test]
    fn a_search_finds_lines_with_context_and_an_offset_goes_on() {
        let part = ArtifactPart::Grep { pattern: "^b".to_owned(), lines: Vec::new(), context: 1 };
        let found = part_of_text("a\nb\nc\nd\n", &part, 100).unwrap().found;
        let ArtifactFound::Grep { hits, matching_lines, total_lines, context } = found else {
            panic!("not a search");
        };
        assert_eq!((hits[0].line, hits.len(), matching_lines, total_lines), (2, 1, 1, 4));
        assert_eq!((context[0].first, context[0].last), (1, 3));
        let whole = part_of_text("abcdef", &ArtifactPart::Whole { offset: 2 }, 3).unwrap().found;
        let bytes = b"cde".to_vec();
        assert_eq!(whole, ArtifactFound::Bytes { offset: 2, bytes, next_offset: Some(5) });
        let json = ArtifactPart::Json { path: ".a".to_owned() };
        assert!(part_of_text("x", &json, 100).is_err());
    }
}
