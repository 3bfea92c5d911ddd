//! Finds the texts in a list that are most similar to a missing one.
//!
//! Owns the measure of similarity and the time spent on comparisons. It must not know cells.

use similar::{DiffTag, TextDiff};

/// The longest text to compare, because a comparison takes time quadratic in the length.
const MAX_CHARS: usize = 400;
/// The most texts to compare, and the most bytes of them.
const MAX_COMPARED: usize = 2_000;
const MAX_COMPARED_BYTES: usize = 256 * 1024;

/// The similarity of two texts or a bound of it: the second number breaks ties of the first.
type Likeness = (f32, f32);

/// Ranks the candidates worth comparing with `wanted`, the most promising first, as many as the time
/// limits allow. `bound` is the highest similarity of a text with that many shared bytes and
/// characters, and `least` is the lowest that counts.
fn rank_candidates<'a>(
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
        // Shared characters are shared bytes, so the bound never excludes a text that is similar
        // enough.
        let bound = bound(shared, chars);
        if bound.0 >= least {
            found.push((bound, at, text));
        }
    }
    found.sort_by(|one, other| compare_likeness(one.0, other.0));
    let mut bytes = 0;
    let is_in_time = |(_, _, text): &&(Likeness, usize, &str)| {
        bytes += text.len();
        bytes <= MAX_COMPARED_BYTES
    };
    let compared = found.iter().take(MAX_COMPARED).take_while(is_in_time).count();
    found.truncate(compared);
    found
}

fn compare_likeness(one: Likeness, other: Likeness) -> std::cmp::Ordering {
    other.partial_cmp(&one).unwrap_or(std::cmp::Ordering::Equal)
}

/// The share of characters that two texts have in common.
fn share_of_characters(shared: usize, chars: usize) -> f32 {
    2.0 * shared as f32 / chars.max(1) as f32
}

/// Finds the position of the candidate most similar to `wanted`, if any is similar enough.
pub fn nearest<'a>(candidates: impl Iterator<Item = &'a str>, wanted: &str) -> Option<usize> {
    nearest_few(candidates, wanted, 1).first().copied()
}

/// Finds the positions of the candidates most similar to `wanted`, the best first and at most `most`.
pub fn nearest_few<'a>(
    candidates: impl Iterator<Item = &'a str>,
    wanted: &str,
    most: usize,
) -> Vec<usize> {
    const LEAST: f32 = 0.5;
    let length = wanted.chars().count();
    if length > MAX_CHARS {
        return Vec::new();
    }
    let bound = |shared, chars| (share_of_characters(shared, chars + length), 0.0);
    let mut best: Vec<(f32, usize)> = Vec::new();
    for (bound, at, candidate) in rank_candidates(candidates, wanted, LEAST, bound) {
        if best.len() == most && best.last().is_some_and(|(worst, _)| bound.0 < *worst) {
            break;
        }
        let found = TextDiff::from_chars(candidate, wanted).ratio();
        if found >= LEAST {
            best.push((found, at));
            best.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            best.truncate(most);
        }
    }
    best.into_iter().map(|(_, at)| at).collect()
}

/// Finds the lines of a text most similar to a pattern that it does not contain, best first, with line
/// numbers from 1: lines that contain most of its characters in order, and little else.
pub(crate) fn nearest_lines(text: &str, pattern: &str) -> Vec<(usize, String)> {
    const SHOWN: usize = 2;
    const LEAST: f32 = 0.6;
    let wanted = pattern.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let wanted: String = wanted.chars().take(MAX_CHARS).collect();
    let length = wanted.chars().count();
    let share = |held: usize| held as f32 / length.max(1) as f32;
    let bound =
        |shared, chars| (share(shared).min(1.0), share_of_characters(shared, chars + length));
    let mut found: Vec<(Likeness, usize, &str)> = Vec::new();
    for (bound, at, line) in rank_candidates(text.lines(), &wanted, LEAST, bound) {
        if found.len() == SHOWN && compare_likeness(bound, found[SHOWN - 1].0).is_gt() {
            break;
        }
        let diff = TextDiff::from_chars(wanted.as_str(), line);
        let equal = diff.ops().iter().filter(|op| op.tag() == DiffTag::Equal);
        let likeness = (share(equal.map(|op| op.old_range().len()).sum()), diff.ratio());
        if likeness.0 >= LEAST {
            found.push((likeness, at, line));
            found.sort_by(|one, other| compare_likeness(one.0, other.0).then(one.1.cmp(&other.1)));
            found.truncate(SHOWN);
        }
    }
    found.into_iter().map(|(_, at, line)| (at + 1, line.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests;
