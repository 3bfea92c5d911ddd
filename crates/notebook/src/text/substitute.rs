//! Replaces text inside virtual text, but not in its markers.
//!
//! Owns the choice of matches where one touches a marker.

use std::ops::Range;

use crate::edit::{Matches, substitute};
use crate::error::SubError;
use crate::marker::parse_marker;
/// [`substitute`] for virtual text. A match that cuts into a marker line does not count: inkcell wrote
/// the words there, and replacing one would change what a cell is. A match that spans a whole marker
/// counts.
pub fn substitute_between_markers(
    text: &str,
    old: &str,
    new: &str,
    matches: Matches,
) -> Result<(String, usize), SubError> {
    let mut markers: Vec<Range<usize>> = Vec::new();
    let mut blanked = String::with_capacity(text.len());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        if parse_marker(bare).is_some() {
            markers.push(start..start + bare.len());
            blanked.push_str(&line[bare.len()..]);
        } else {
            blanked.push_str(line);
        }
        start += line.len();
    }
    let is_cut = |found: &Range<usize>| {
        let first = markers.partition_point(|marker| marker.end <= found.start);
        let overlapping = markers[first..].iter().take_while(|marker| marker.start < found.end);
        overlapping.into_iter().any(|marker| found.start > marker.start || found.end < marker.end)
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    if !old.is_empty() {
        let range = |(at, _): (usize, &str)| at..at + old.len();
        found = text.match_indices(old).map(range).filter(|range| !is_cut(range)).collect();
    }
    match (found.len(), matches) {
        (1, _) => {}
        (2.., Matches::All) => {}
        // The error names lines of sources, never markers.
        (0, _) => return substitute(&blanked, old, new, matches),
        (_, Matches::One) => return substitute(text, old, new, matches),
    }
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in &found {
        out.push_str(&text[end..range.start]);
        out.push_str(new);
        end = range.end;
    }
    out.push_str(&text[end..]);
    Ok((out, found.len()))
}
