//! Text that is looked for in other text: replaced where it stands, and where it does not, what comes
//! near it.
//!
//! Owns how alike two texts are and how much time is spent on telling. It must not know cells.

use similar::{DiffTag, TextDiff};

use crate::edit::Matches;
use crate::error::SubError;

/// How many lines an error names.
const LINES_SHOWN: usize = 20;

/// Replaces a text and says in how many places.
pub fn substitute(
    text: &str,
    old: &str,
    new: &str,
    matches: Matches,
) -> Result<(String, usize), SubError> {
    if old.is_empty() {
        return Err(SubError::Empty);
    }
    match (text.matches(old).count(), matches) {
        (0, _) => Err(SubError::NoMatch { nearest: nearest_lines(text, old) }),
        (count @ 1, _) | (count, Matches::All) => Ok((text.replace(old, new), count)),
        (count, Matches::One) => Err(SubError::Many { count, lines: match_lines(text, old) }),
    }
}

/// The lines the first matches begin on, from 1.
fn match_lines(text: &str, old: &str) -> Vec<usize> {
    let (mut line, mut counted) = (1, 0);
    let matches = text.match_indices(old).take(LINES_SHOWN);
    matches
        .map(|(at, _)| {
            line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..at]).count();
            counted = at;
            line
        })
        .collect()
}

/// Longer texts are not compared: it takes the square of their length.
const MAX_CHARS: usize = 400;
/// How many texts are compared, and how many bytes of them.
const MAX_COMPARED: usize = 2_000;
const MAX_COMPARED_BYTES: usize = 256 * 1024;

/// How alike two texts are, or at most can be: what counts first, and what counts where that is equal.
type Likeness = (f32, f32);

/// The candidates worth comparing with `wanted`, the most promising first, as many as there is time
/// for. `bound` says how alike a text of so many characters can be that shares so many bytes, and
/// `least` how alike it must be.
fn promising<'a>(
    candidates: impl Iterator<Item = &'a str>,
    wanted: &str,
    least: f32,
    bound: impl Fn(usize, usize) -> Likeness,
) -> Vec<(Likeness, usize, &'a str)> {
    let mut counts = [0u16; 256];
    for byte in wanted.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let mut found = Vec::new();
    for (at, text) in candidates.enumerate() {
        let chars = text.chars().count();
        if chars > MAX_CHARS || text.trim().is_empty() {
            continue;
        }
        let mut left = counts;
        let mut shared = 0;
        for byte in text.bytes() {
            let left = &mut left[usize::from(byte)];
            shared += usize::from(*left > 0);
            *left = left.saturating_sub(1);
        }
        // Characters in common are bytes in common, so no text is passed over that would do.
        let bound = bound(shared, chars);
        if bound.0 >= least {
            found.push((bound, at, text));
        }
    }
    found.sort_by(|one, other| best_first(one.0, other.0));
    let mut bytes = 0;
    let is_in_time = |(_, _, text): &&(Likeness, usize, &str)| {
        bytes += text.len();
        bytes <= MAX_COMPARED_BYTES
    };
    let compared = found.iter().take(MAX_COMPARED).take_while(is_in_time).count();
    found.truncate(compared);
    found
}

fn best_first(one: Likeness, other: Likeness) -> std::cmp::Ordering {
    other.partial_cmp(&one).unwrap_or(std::cmp::Ordering::Equal)
}

/// The share of their characters that two texts have in common.
fn ratio(shared: usize, chars: usize) -> f32 {
    2.0 * shared as f32 / chars.max(1) as f32
}

/// The position of the candidate that looks most like `wanted`, if any looks like it at all.
pub fn nearest<'a>(candidates: impl Iterator<Item = &'a str>, wanted: &str) -> Option<usize> {
    const LEAST: f32 = 0.5;
    let length = wanted.chars().count();
    if length > MAX_CHARS {
        return None;
    }
    let bound = |shared, chars| (ratio(shared, chars + length), 0.0);
    let mut best: Option<(f32, usize)> = None;
    for (bound, at, candidate) in promising(candidates, wanted, LEAST, bound) {
        if best.is_some_and(|(found, _)| bound.0 < found) {
            break;
        }
        let found = TextDiff::from_chars(candidate, wanted).ratio();
        let is_better = |(than, place)| found > than || found == than && at < place;
        if found >= LEAST && best.is_none_or(is_better) {
            best = Some((found, at));
        }
    }
    best.map(|(_, at)| at)
}

/// The lines of a text that look most like a pattern that is not in it, best first, with their numbers
/// from 1: those that hold most of its characters in order, and little else.
fn nearest_lines(text: &str, pattern: &str) -> Vec<(usize, String)> {
    const SHOWN: usize = 2;
    const LEAST: f32 = 0.6;
    let wanted = pattern.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let wanted: String = wanted.chars().take(MAX_CHARS).collect();
    let length = wanted.chars().count();
    let share = |held: usize| held as f32 / length.max(1) as f32;
    let bound = |shared, chars| (share(shared).min(1.0), ratio(shared, chars + length));
    let mut found: Vec<(Likeness, usize, &str)> = Vec::new();
    for (bound, at, line) in promising(text.lines(), &wanted, LEAST, bound) {
        if found.len() == SHOWN && best_first(bound, found[SHOWN - 1].0).is_gt() {
            break;
        }
        let diff = TextDiff::from_chars(wanted.as_str(), line);
        let equal = diff.ops().iter().filter(|op| op.tag() == DiffTag::Equal);
        let likeness = (share(equal.map(|op| op.old_range().len()).sum()), diff.ratio());
        if likeness.0 >= LEAST {
            found.push((likeness, at, line));
            found.sort_by(|one, other| best_first(one.0, other.0).then(one.1.cmp(&other.1)));
            found.truncate(SHOWN);
        }
    }
    found.into_iter().map(|(_, at, line)| (at + 1, line.trim().to_owned())).collect()
}

#[cfg(test)]
#[path = "search/tests.rs"]
mod tests;
